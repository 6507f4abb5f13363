"""The opening of a generated set: its first items, which are asked while the others are drawn.

A recipe names the task and the number of its test items that are the same in the whole set (`Recipe.opening`). They are
a set of their own, with a run of its own in the home folder, whose replies the run about the whole set takes over.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.compute import Progress, Shard, cores, map_ahead
from snellen.compute.pool import sharing_processes
from snellen.compute.progress import counting_into
from snellen.core.hashing import digest
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import is_itemset
from snellen.exam.items import find_items
from snellen.runs.planning.options import RunOptions
from snellen.runs.sets.generated_sets import itemset_folder
from snellen.suites import SUITES

POLL_SECONDS = 0.5


def ask_opening(
    name: str, options: RunOptions, names: Sequence[str], ask: Callable[[ItemSet, Path], object], *, is_code: bool
) -> Path | None:
    """Ask the opening of the generated set of a suite, if it has one and is not drawn yet, and draw the set meanwhile.

    `names` are those of the subjects, `ask` asks them about items and records that in a folder, `is_code`: one of them
    is code, which may have changed. Returns the folder of the opening's run, also if an earlier command left it; None
    if there is none.
    """
    opening = getattr(SUITES.get(name).recipes.get("generated"), "opening", None) if name in set(SUITES) else None
    if opening is None or not _may_open(options):
        return None
    task, count = opening
    limit = min(options.limit or count, count)
    address = f"{name}/{task}"
    key = digest([list(names), options.seed, options.limit, options.repeats], 12)
    folder = home() / "openings" / f"{itemset_folder(address, limit, test_only=True).name}-{key}"
    if is_code:
        shutil.rmtree(folder, ignore_errors=True)
    if is_itemset(itemset_folder(name, options.limit, test_only=True)):
        return folder if folder.is_dir() else None
    items = find_items(address, limit=limit, test_only=True, show_progress=options.show_progress)
    if options.show_progress:
        sys.stderr.write(f"snellen: {task} is asked while the other items are drawn\n")
    with tempfile.TemporaryDirectory() as counts, sharing_processes(cores()):
        count_file = Path(counts) / "images"
        with map_ahead(_draw, [Shard("items", (name, options.limit, count_file))]) as roots:
            ask(items, folder)
            with _counted(count_file, options.show_progress):
                next(roots)
    return folder


def _may_open(options: RunOptions) -> bool:
    """True if the opening is asked as it would be in the whole set, and there is a core to draw meanwhile."""
    is_plain = not (options.until_decided or options.inputs) and options.budget is None
    return is_plain and cores() > 1


def _draw(named: tuple[str, int | None, Path]) -> None:
    name, limit, counts = named
    with counting_into(counts):
        find_items(name, limit=limit, test_only=True, show_progress=False)


@contextmanager
def _counted(file: Path, visible: bool) -> Iterator[None]:
    """Show the count of another process (`counting_into`)."""
    is_over = threading.Event()
    with Progress("rendering", unit="images", visible=visible) as progress:

        def follow() -> None:
            while not is_over.wait(POLL_SECONDS):
                with suppress(OSError, ValueError):  # not begun, or just being written
                    done, total = map(int, file.read_text().split())
                    progress.expect(total - progress.total)
                    progress.advance(done - progress.done)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
