"""The item sets of a checkup: how they are built, in which order, and which earlier ones are moved aside."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.compute import Shard, map_ahead
from snellen.compute.progress import counting_into
from snellen.core.build_options import CHECKUP_SIZE_PX, BuildOptions
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.itemset_cards import is_itemset, read_blind, read_card
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.suite import recorded_parameters
from snellen.exam.items import build
from snellen.runs.planning.options import CheckupOptions
from snellen.suites import SUITES

CHECKUP_SUITES: Mapping[str, tuple[str, ...]] = {
    "thresholds": ("acuity",), "vfm-bench": (), "ava-bench": (), "combo": (), "vlm2-bench": (),
}  # fmt: skip
"""Suites with their tasks (none: all), in the order of asking.

Those that are drawn soon come first, so that there is something to see. The slowest follows, since others are drawn
while it is asked.
"""
INSTALMENTS = {"ava-bench": (36, 3, 10), "combo": (32, 1, 5), "vlm2-bench": (24, 2, 10), "vfm-bench": (24, 1, 10)}
"""Test items per task in an instalment of a set, the most instalments that are drawn, and the most with `more`."""
LOOKS = {"ava-bench": (3, 6), "combo": (1, 3), "vlm2-bench": (2, 5), "vfm-bench": (1, 4)}
"""Instalments after which scores are planned to be looked at: at the end of a checkup, and once with `more`."""
INSTALMENT_TASKS = {"vlm2-bench": ("oc-cpr", "oc-cnt", "oc-grp")}
"""Tasks of further instalments (otherwise all): those that the packaged subjects can be asked."""
EARLIER = "earlier"
"""Folder of sets and runs of earlier checkups with other options or versions."""


@dataclass(frozen=True)
class Battery:
    """A generated set of the checkup: its suite, how it is built, the folder of its run, and the file of its progress.

    In the file `counts` are the numbers of images drawn and to be drawn.
    """

    suite: str
    options: BuildOptions
    run_root: Path
    counts: Path


def battery_of(name: str, options: CheckupOptions, folder: Path) -> Battery:
    """The set of a suite in a checkup; its images are counted in a file in `folder`."""
    root, quick = options.out / "items" / name, options.quick
    count, _, instalments = (None, 1, 1) if quick or name not in INSTALMENTS else INSTALMENTS[name]
    build_options = BuildOptions(
        root,
        n=count,
        instalments=instalments,
        seed=int(time.time()) if options.fresh else _existing_seed(root),
        tasks=CHECKUP_SUITES[name],
        planned_looks=LOOKS.get(name, ()) if instalments > 1 else (),
        instalment_tasks=() if quick else INSTALMENT_TASKS.get(name, ()),
        quick=quick,
        size=None if quick else CHECKUP_SIZE_PX,
        workers=options.workers,
        renderer=options.renderer,
        quality=options.quality,
        allow_unmatched=True,  # a fresh seed is not chosen, and the card says so
        show_progress=False,  # the board shows it
    )
    return Battery(name, build_options, options.out / "run" / name, folder / name)


def is_built(battery: Battery) -> bool:
    """True if the existing set has the wanted version and parameters."""
    options, suite = battery.options, SUITES.get(battery.suite)
    if not is_itemset(options.out) or read_blind(options.out) is None:  # which is written last
        return False
    card, parameters = read_card(options.out), recorded_parameters(suite.recipes["generated"], options)
    return (card.version, card.recipe) == (suite.card.version, parameters)


def build_set(battery: Battery) -> float:
    """Build the set, counting its images in `battery.counts`; returns the time in seconds."""
    start = time.monotonic()
    with counting_into(battery.counts):
        build(SUITES.get(battery.suite), "generated", battery.options)
    return time.monotonic() - start


def set_aside(batteries: Sequence[Battery], out: Path, *, with_items: bool = True) -> None:
    """Move sets that are not the wanted ones, and the runs about them, to the first free `out/earlier/N`, and say so.

    The set goes last, and the card of the run names the set's new folder before anything is moved, so that the next
    checkup completes what a kill interrupted.
    """
    kept = dict[Path, list[str]]()
    for battery in batteries:
        folders = {"run": battery.run_root} | ({"items": battery.options.out} if with_items else {})
        folders = {name: folder for name, folder in folders.items() if folder.exists()}
        numbered = (out / EARLIER / str(number) for number in itertools.count(1))
        root = next(root for root in numbered if not any((root / name / battery.suite).exists() for name in folders))
        if with_items and (card := battery.run_root / RunCard.file).is_file():
            address = str((root / "items" / battery.suite).resolve())
            moved = read_run_card(battery.run_root).model_copy(update={"itemset": address})
            files.write_text(card, moved.model_dump_json(indent=1) + "\n")
        for name, folder in folders.items():
            (root / name).mkdir(parents=True, exist_ok=True)
            folder.rename(root / name / battery.suite)
        kept.setdefault(root, []).append(battery.suite)
    for root, names in kept.items():
        products = "sets and runs" if with_items else "runs"
        sys.stderr.write(
            f"snellen: {', '.join(names)}: {products} of an earlier checkup, made with other options or by another "
            f"version, were moved to {root}; nothing was deleted\n"
        )


def plan_of(options: BuildOptions) -> Mapping[str, Any]:
    """The recipe's plan of a set of the checkup."""
    return SUITES.get(options.out.name).recipes["generated"].plan(options)


def drawing_seconds(plan: Mapping[str, Any]) -> float:
    """The planned seconds of drawing a set, at least 1."""
    return max(1.0, float(plan["seconds"]))


def _existing_seed(folder: Path) -> int:
    """The seed of an existing set, which stays until `fresh` replaces it; else 0."""
    return int(read_card(folder).recipe.get("seed", 0)) if is_itemset(folder) else 0


def item_sets(batteries: Sequence[Battery]) -> Generator[tuple[ItemSet, float]]:
    """The set of each battery, with the time of building it in seconds, 0 if it existed.

    The first missing one is built at once, the others while earlier ones are used.
    """
    missing = [battery for battery in batteries if not is_built(battery)]
    count = 1 if batteries[0].options.workers > 1 else len(missing)
    seconds = {battery.suite: build_set(battery) for battery in missing[:count]}
    shards = [Shard(battery.suite, battery) for battery in missing[count:]]
    with map_ahead(build_set, shards) as builds:
        for battery in batteries:
            if battery in missing[count:]:
                seconds[battery.suite] = next(builds)
            yield read_itemset(battery.options.out), seconds.get(battery.suite, 0.0)
