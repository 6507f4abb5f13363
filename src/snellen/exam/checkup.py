"""The checkup: generate an item set of every suite, examine the packaged and further subjects, write one report."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.compute import Progress, Shard, cluster, map_ahead
from snellen.core.storage.itemset import ItemSet, is_itemset, read_blind, read_card, read_itemset
from snellen.core.suite import CHECKUP_SIZE_PX, BuildOptions
from snellen.exam.items import build
from snellen.exam.run import Examination, run
from snellen.runs.preflight import Preflight, make_subjects
from snellen.runs.preview import Estimate
from snellen.stimuli.video.opening import pyav
from snellen.suites import SUITES

if TYPE_CHECKING:
    from snellen.reports import Report
    from snellen.reports.writing import Companion

CHECKUP_SUITES: Mapping[str, tuple[str, ...]] = {
    "ava-bench": (), "combo": (), "vlm2-bench": (), "vfm-bench": (), "thresholds": ("acuity",),
}  # fmt: skip
"""Suites with their tasks (none: all), in the order of asking: the slowest first, since others are built meanwhile."""
CHECKUP_SUBJECTS = (
    "encoder:efficientnet-lite0",
    "encoder:conse",
    "encoder:colour-histogram",
    "encoder:hog",
    "fake:chance",
    "fake:oracle",
)


@dataclass(frozen=True)
class Checkup:
    """The result of a checkup: examinations, the report, its duration in seconds, and notes on the images."""

    examinations: Sequence[Examination]
    report: Report
    seconds: float
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class _Battery:
    """A generated set of the checkup: its suite, how it is built, and the folder of its run."""

    suite: str
    options: BuildOptions
    run_root: Path


def checkup(
    subjects: Sequence[str] = (),
    *,
    out: Path = Path("checkup"),
    quick: bool = False,
    fresh: bool = False,
    workers: int = 2,
    renderer: str = "mitsuba",
    quality: str = "fast",
    show_progress: bool = True,
    announce: Callable[[Sequence[Estimate]], None] | None = None,
    explorer: Companion | None = None,
) -> Checkup:
    """Render missing sets, examine the packaged subjects and `subjects`, and write the report.

    All results are in `out`: `items/SUITE`, `run/SUITE`, `report`. `fresh` renders new sets from a new seed. With more
    than one worker, the next sets are built while one is asked. `explorer` is passed to `write_report`.
    """
    start, examinations = time.monotonic(), {}
    batteries = []
    for name, tasks in CHECKUP_SUITES.items():
        folder = out / "items" / name
        seed = int(time.time()) if fresh else _existing_seed(folder)
        options = BuildOptions(
            folder,
            seed=seed,
            tasks=tasks,
            quick=quick,
            size=None if quick else CHECKUP_SIZE_PX,
            workers=workers,
            renderer=renderer,
            quality=quality,
            allow_unmatched=True,  # a fresh seed is not chosen, and the card says so
            show_progress=show_progress,
        )
        batteries.append(_Battery(name, options, out / "run" / name))
    is_complete = all(map(_is_built, batteries))
    if not is_complete:
        pyav()  # vlm2-bench has clips; a missing package is better reported before minutes of rendering
    examined, preflight = make_subjects(list(dict.fromkeys([*CHECKUP_SUBJECTS, *subjects]))), Preflight()
    if not is_complete:
        preflight.check(examined)
    with closing(_item_sets(batteries)) as item_sets:
        for battery, items in zip(batteries, item_sets, strict=True):
            examinations[battery.suite] = run(
                items,
                examined,
                battery.run_root,
                show_progress=show_progress,
                announce=announce,
                preflight=preflight,
            )
    from snellen.reports import write_report

    in_order = [examinations[name] for name in SUITES if name in examinations]
    report = write_report(
        [examination.root for examination in in_order], out / "report", explorer=explorer, workers=workers
    )
    return Checkup(in_order, report, time.monotonic() - start, batteries[0].options.size_notes())


def _existing_seed(folder: Path) -> int:
    """The seed of an existing set, which stays until `fresh` replaces it; else 0."""
    return int(read_card(folder).recipe.get("seed", 0)) if is_itemset(folder) else 0


def _item_sets(batteries: Sequence[_Battery]) -> Generator[ItemSet]:
    """The set of each battery. The first missing one is built at once, the others while earlier ones are used."""
    missing = [battery for battery in batteries if not _is_built(battery)]
    # A cluster is kept busy by one set after the other, and a child process does not belong to it.
    count = 1 if batteries[0].options.workers > 1 and cluster() is None else len(missing)
    for battery in missing[:count]:
        _build(battery)
    # Two progress lines would overwrite each other, so only waiting is shown.
    shards = [
        Shard(battery.suite, replace(battery, options=replace(battery.options, show_progress=False)))
        for battery in missing[count:]
    ]
    with map_ahead(_build, shards) as builds:
        for battery in batteries:
            if battery in missing[count:]:
                with Progress(f"building {battery.suite}", visible=battery.options.show_progress):
                    next(builds)
            yield read_itemset(battery.options.out)


def _is_built(battery: _Battery) -> bool:
    """True if the existing set has the wanted version and parameters."""
    options, suite = battery.options, SUITES.get(battery.suite)
    if not is_itemset(options.out) or read_blind(options.out) is None:  # which is written last
        return False
    card, parameters = read_card(options.out), suite.recipes["generated"].parameters(options)
    return (card.version, json.loads(json.dumps(parameters))) == (suite.card.version, card.recipe)


def _build(battery: _Battery) -> None:
    """Build the set, removing an existing one and its run."""
    if is_itemset(battery.options.out):
        shutil.rmtree(battery.options.out)
    shutil.rmtree(battery.run_root, ignore_errors=True)
    build(SUITES.get(battery.suite), "generated", battery.options)
