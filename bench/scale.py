"""How cost grows: CPU seconds, peak memory and bytes of building, asking, scoring and reporting, by number of items.

    python bench/scale.py                    1,000 and 10,000 items
    python bench/scale.py 1000 200000        as many as are given
    python bench/scale.py 50000 --keep DIR   leave item set, run and report in DIR
    python bench/scale.py 1 10 --suites      so many times a checkup's items
    python bench/scale.py 100 --suites combo thresholds

Items of five tasks of AVA-Bench over 2,000 distinct images of 8 x 8 pixels, answered by five fakes (oracle, chance,
first-option and two constants): five responses an item. Every step is a command in a process of its own. "again" is the
command that made the run, given once more: it has nothing to ask. With --suites: generated sets of these suites (all by
default), of so many times the test items of a checkup, with blank images, since drawing has a table of its own, asked
of two fakes. A row a step and size; an item is a test item, and training items are built and stored beside them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
from PIL import Image

IMAGES = 2000
SIZES = (1_000, 10_000)
SUBJECTS = ("fake:oracle", "fake:chance", "fake:first-option", "fake:constant=A", "fake:constant=B")
COLUMNS = ("items", "responses", "step", "CPU s", "of run", "CPU ms a response", "peak MB", "kB a response")
SUITE_COLUMNS = ("set", "times", "items", "step", "CPU s", "CPU ms an item", "peak MB", "kB stored an item")
CHECKUP_ITEMS = {"ava-bench": 108, "combo": 24, "vlm2-bench": 36, "vfm-bench": 24, "thresholds/acuity": 272}
"""Test items per task of a checkup's sets, when all instalments are drawn that it usually needs."""
COMMAND = (sys.executable, "-c", "from snellen.cli import main; main()")


def write_set(root: Path, count: int) -> None:
    """`count` test items of five tasks in turn, images used again and again."""
    from snellen.core.item import Item
    from snellen.core.storage.itemset import write_itemset
    from snellen.core.storage.media import MediaFolder
    from snellen.suites.ava_bench.abilities.action import action_item
    from snellen.suites.ava_bench.abilities.counting import counting_item
    from snellen.suites.ava_bench.abilities.orientation import orientation_item
    from snellen.suites.ava_bench.abilities.scene import scene_item
    from snellen.suites.ava_bench.abilities.texture import texture_item
    from snellen.suites.ava_bench.items import ORIENTATIONS, ItemSource

    scenes, actions, textures = ("Lawn", "Mountain", "Hall"), ("boxing", "buying"), ("banded", "blotchy", "veined")
    makers: Sequence[Callable[[ItemSource, int], Item]] = (
        lambda source, n: texture_item(source, textures[n % 3], textures),
        lambda source, n: counting_item(source, "apples", 1 + n % 9),
        lambda source, n: scene_item(source, scenes[n % 3], scenes),
        lambda source, n: action_item(source, actions[n % 2], actions),
        lambda source, n: orientation_item(source, "toy bus", ORIENTATIONS[n % len(ORIENTATIONS)]),
    )
    media, rng = MediaFolder(root / "media"), np.random.default_rng(0)
    images = [media.add_image(Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))) for _ in range(IMAGES)]
    sources = (
        ItemSource(f"{n:07d}", image, f"cluster {n % IMAGES}", "bench")
        for n, image in enumerate(islice(cycle(images), count))
    )
    items = (makers[n % 5](source, n // 5) for n, source in enumerate(sources))
    write_itemset(root, items, source="bench", recipe={"items": count})


def measured(command: Sequence[str]) -> tuple[float, float]:
    """(CPU seconds, peak MB) of a command that must end well."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def asking(folder: Path, subjects: Sequence[str]) -> dict[str, Sequence[str]]:
    """The commands after the set in `folder` is made, by step."""
    root = str(folder / "run")
    words = (word for name in subjects for word in ("--subject", name))
    run = (*COMMAND, "run", str(folder / "items"), "--out", root, *words)
    report = (*COMMAND, "report", root, "--out", str(folder / "report"))
    return {"run": run, "run again": run, "score": (*COMMAND, "score", root), "report": report}


def suite_rows(folder: Path, suite: str, times: int) -> Iterator[tuple[str, ...]]:
    """One row a step, in the columns of `SUITE_COLUMNS`."""
    from snellen.core.storage.itemset_cards import read_card

    options = ("--renderer", "blank", "--size", "320x240", "--workers", "1", "--n", str(times * CHECKUP_ITEMS[suite]))
    building = {"build": (*COMMAND, "build", suite, *options, "--out", str(folder / "items"))}
    stored, os.environ["SNELLEN_HOME"] = 0.0, str(folder / "home")
    for step, command in (building | asking(folder, SUBJECTS[:2])).items():
        seconds, peak = measured(command)
        counts = read_card(folder / "items").counts
        items = sum(by_split.get("test", 0) for by_split in counts.values())
        before, stored = stored, sum(path.stat().st_size for path in folder.rglob("*") if "home" not in path.parts)
        each = f"{1e3 * seconds / items:.2f}", f"{peak:,.0f}", f"{(stored - before) / 1024 / items:.2f}"
        yield suite, f"{times}", f"{items:,}", step, f"{seconds:.1f}", *each


def rows(folder: Path, count: int) -> Iterator[tuple[str, ...]]:
    """One row a step, in the columns of `COLUMNS`."""
    responses, seconds_of_run = count * len(SUBJECTS), 0.0
    writing = {"write the set": (sys.executable, __file__, str(count), "--write", str(folder / "items"))}
    for step, command in (writing | asking(folder, SUBJECTS)).items():
        seconds, peak = measured(command)
        seconds_of_run = seconds if step == "run" else seconds_of_run
        share = f"{seconds / seconds_of_run:.3f}" if seconds_of_run else ""
        each = f"{1e3 * seconds / responses:.3f}", f"{peak:,.0f}", f"{1024 * peak / responses:.1f}"
        yield f"{count:,}", f"{responses:,}", step, f"{seconds:.1f}", share, *each


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--keep", type=Path, help="Folder to leave everything in.")
    parser.add_argument("--write", type=Path, help="Only write an item set of the first size into this folder.")
    parser.add_argument("--suites", nargs="*", choices=CHECKUP_ITEMS, help="Measure generated sets (default: all).")
    options = parser.parse_args()
    if options.write:
        write_set(options.write, options.sizes[0])
        return
    suites: list[str] | None = options.suites
    columns = COLUMNS if suites is None else SUITE_COLUMNS
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for suite, count in product([""] if suites is None else suites or CHECKUP_ITEMS, options.sizes):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / suite / f"{count}"
            folder.mkdir(parents=True, exist_ok=True)
            for row in suite_rows(folder, suite, count) if suite else rows(folder, count):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
