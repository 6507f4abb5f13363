"""How a run grows: CPU seconds and peak memory of asking, asking again, scoring and reporting, by the number of items.

    python bench/scale.py                    1,000 and 10,000 items
    python bench/scale.py 1000 200000        as many as are given
    python bench/scale.py 50000 --keep DIR   leave item set, run and report in DIR

Items of five tasks of AVA-Bench over 2,000 distinct images of 8 x 8 pixels, answered by five fakes (oracle, chance,
first-option and two constants): five responses an item. Every step is a command in a process of its own. "again" is the
command that made the run, given once more: it has nothing to ask.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from PIL import Image

IMAGES = 2000
SIZES = (1_000, 10_000)
SUBJECTS = ("fake:oracle", "fake:chance", "fake:first-option", "fake:constant=A", "fake:constant=B")
COLUMNS = ("items", "responses", "step", "CPU s", "of run", "CPU ms a response", "peak MB", "kB a response")
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


def rows(folder: Path, count: int) -> Iterator[tuple[str, ...]]:
    """One row a step, in the columns of `COLUMNS`."""
    items, root, responses = str(folder / "items"), str(folder / "run"), count * len(SUBJECTS)
    asking = (*COMMAND, "run", items, "--out", root, *(word for name in SUBJECTS for word in ("--subject", name)))
    steps = {
        "write the set": (sys.executable, __file__, str(count), "--write", items),
        "run": asking,
        "run again": asking,
        "score": (*COMMAND, "score", root),
        "report": (*COMMAND, "report", root, "--out", str(folder / "report")),
    }
    seconds_of_run = 0.0
    for step, command in steps.items():
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
    options = parser.parse_args()
    if options.write:
        write_set(options.write, options.sizes[0])
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for count in options.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / f"{count}"
            folder.mkdir(parents=True, exist_ok=True)
            for row in rows(folder, count):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
