"""The checkup: generate an item set of every suite, examine the packaged and further subjects, write one report."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from snellen.analysis.grading.deciding import units_to_decide
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.compute import Progress, Shard, cluster, map_ahead
from snellen.compute.pool import sharing_processes
from snellen.core.build_options import CHECKUP_SIZE_PX, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.itemset_cards import ItemSetCard, is_itemset, read_blind, read_card
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.storage.sight import FOLDER, latest_sight
from snellen.core.subject import Subject
from snellen.core.suite import recorded_parameters
from snellen.exam.examination import Examination
from snellen.exam.instalments import instalments_in_background
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.exam.session import undecided
from snellen.exam.sight import sight
from snellen.runs.asking.preflight import Preflight, make_subjects
from snellen.runs.asking.preview import Estimate
from snellen.runs.planning.options import CheckupOptions
from snellen.stimuli.video.timeline import pyav
from snellen.suites import SUITES

if TYPE_CHECKING:
    from snellen.reports import Report
    from snellen.reports.writing import Companion

CHECKUP_SUITES: Mapping[str, tuple[str, ...]] = {
    "ava-bench": (), "combo": (), "vlm2-bench": (), "vfm-bench": (), "thresholds": ("acuity",),
}  # fmt: skip
"""Suites with their tasks (none: all), in the order of asking: the slowest first, since others are built meanwhile."""
INSTALMENTS = {"ava-bench": (36, 3, 10), "combo": (24, 1, 6), "vlm2-bench": (24, 2, 10), "vfm-bench": (24, 1, 10)}
"""Test items per task in an instalment of a set, the most instalments that are drawn, and the most with `more`."""
INSTALMENT_TASKS = {"vlm2-bench": ("oc-cpr", "oc-cnt", "oc-grp")}
"""Tasks of further instalments (otherwise all): those that the packaged subjects can be asked."""
MAX_ITEMS = 2000
"""More than the instalments have: their number is the limit."""
SECONDS_AN_ITEM = 0.03
"""Seconds in which all packaged subjects are asked about an item, and their scores decided."""
MORE_SECONDS = 180
"""Seconds after which no further instalment is drawn with `more`."""
EARLIER = "earlier"
"""Folder of sets and runs of earlier checkups with other options or versions."""
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
    """The result of a checkup: examinations, the report, its duration in seconds, and notes on the images.

    `decided` of `scores` of subjects that are not simulated are so (`grading.grades.is_decided`); `expected` is about
    the number of others that `more` would decide.
    """

    examinations: Sequence[Examination]
    report: Report
    seconds: float
    notes: Sequence[str] = ()
    decided: int = 0
    scores: int = 0
    expected: int = 0


@dataclass(frozen=True)
class _Battery:
    """A generated set of the checkup: its suite, how it is built, and the folder of its run."""

    suite: str
    options: BuildOptions
    run_root: Path


def checkup(
    subjects: Sequence[str],
    options: CheckupOptions,
    *,
    announce: Callable[[Sequence[Estimate]], None] | None = None,
    explorer: Companion | None = None,
) -> Checkup:
    """Render missing sets, examine the packaged subjects and `subjects`, and write the report.

    Packaged subjects of an extra that is not installed are left out, and a line on stderr says what installs it.
    All results are in `options.out`: `items/SUITE`, `run/SUITE`, `report`. `fresh` renders new sets from a new seed.
    Sets of other options or versions, and their runs, are moved to `out/earlier/N`, and a line on stderr says so. With
    more than one worker, the next sets are built while one is asked. What reaches a remote subject is checked first,
    unless that was done on this machine. The sets are in instalments, and each task is asked until it is decided
    whether its grade is *none*; with `more`, further instalments are drawn for about `MORE_SECONDS`, those that are
    expected to decide the most scores for their time. `explorer` is passed to `write_report`.
    """
    start, out = time.monotonic(), options.out
    batteries = [_battery(name, options) for name in CHECKUP_SUITES]
    built = [_is_built(battery) for battery in batteries]
    unwanted = [battery for battery, is_wanted in zip(batteries, built, strict=True) if not is_wanted]
    _set_aside([battery for battery in unwanted if is_itemset(battery.options.out)], out)
    if unwanted:
        pyav()  # vlm2-bench has clips; a missing package is better reported before minutes of rendering
    examined, preflight = list[str | Subject](), Preflight()
    for name in dict.fromkeys([*CHECKUP_SUBJECTS, *subjects]):
        try:
            examined += make_subjects([name])
        except SnellenError as error:  # a missing extra
            if name in subjects:
                raise
            sys.stderr.write(f"snellen: left out: {error}\n")
    if unwanted:
        preflight.check(examined)
    for subject in examined:
        if not isinstance(subject, str) and subject.card.is_remote and not latest_sight(subject.card.fingerprint()):
            sight(subject, out / FOLDER / subject.card.fingerprint())
    run_set = partial(_run_set, examined, options.show_progress, announce=announce, preflight=preflight)
    with sharing_processes(options.workers):
        examinations, pace = _examine_all(batteries, out, built[0], run_set)
        if options.more:
            with instalments_in_background(options.workers) as draw_next_instalment:
                deadline = time.monotonic() + MORE_SECONDS
                pace = _grow(batteries, examined, examinations, deadline, options.show_progress, draw_next_instalment)
        return _reported(batteries, examinations, options, explorer, start, pace)


def _battery(name: str, options: CheckupOptions) -> _Battery:
    """The set of a suite in a checkup."""
    folder, quick = options.out / "items" / name, options.quick
    count, _, instalments = (None, 1, 1) if quick or name not in INSTALMENTS else INSTALMENTS[name]
    build_options = BuildOptions(
        folder,
        n=count,
        instalments=instalments,
        seed=int(time.time()) if options.fresh else _existing_seed(folder),
        tasks=CHECKUP_SUITES[name],
        instalment_tasks=() if quick else INSTALMENT_TASKS.get(name, ()),
        quick=quick,
        size=None if quick else CHECKUP_SIZE_PX,
        workers=options.workers,
        renderer=options.renderer,
        quality=options.quality,
        allow_unmatched=True,  # a fresh seed is not chosen, and the card says so
        show_progress=options.show_progress,
    )
    return _Battery(name, build_options, options.out / "run" / name)


def _run_set(
    subjects: Sequence[str | Subject], show_progress: bool, items: ItemSet, root: Path, most: int | None, **hooks: Any
) -> Examination:
    return run(
        items, subjects, root, until_decided=True, max_items=MAX_ITEMS, max_instalments=most,
        show_progress=show_progress, **hooks,
    )  # fmt: skip


def _examine_all(
    batteries: Sequence[_Battery], out: Path, is_first_built: bool, run_set: Callable[..., Examination]
) -> tuple[dict[str, Examination], float]:
    """The examination of each set by suite, and the pace of this machine in drawing the first, at least 1."""
    begin, pace, examinations = time.monotonic(), 1.0, dict[str, Examination]()
    with closing(_item_sets(batteries)) as item_sets:
        for battery, items in zip(batteries, item_sets, strict=True):
            if battery is batteries[0] and not is_first_built:  # in this process, with nothing beside it
                pace = max(pace, (time.monotonic() - begin) / _drawing_seconds(_plan(battery.options)))
            is_asked = (battery.run_root / RunCard.file).is_file()
            if is_asked and read_run_card(battery.run_root).content_hash != items.card.content_hash:
                _set_aside([battery], out, with_items=False)
            most = INSTALMENTS[battery.suite][1] if battery.suite in INSTALMENTS else None
            examinations[battery.suite] = run_set(items, battery.run_root, most)
    return examinations, pace


def _reported(
    batteries: Sequence[_Battery],
    examinations: Mapping[str, Examination],
    options: CheckupOptions,
    explorer: Companion | None,
    start: float,
    pace: float,
) -> Checkup:
    """The checkup with its report, begun at `start`."""
    from snellen.reports import write_report
    from snellen.reports.rows import whole_tasks

    in_order = [examinations[name] for name in SUITES if name in examinations]
    roots = [examination.root for examination in in_order]
    report = write_report(roots, options.out / "report", explorer=explorer, workers=options.workers)
    rows = whole_tasks(report.results)
    scored = list(rows_of(rows[rows["value"].notna() & (rows["role"] != "simulated")]))
    return Checkup(
        in_order,
        report,
        time.monotonic() - start,
        batteries[0].options.size_notes(),
        sum(row.grade.is_decided for row in scored),
        len(scored),
        _expected([row for row in scored if row.grade.needs_items], batteries, examinations, pace),
    )


def _grow(
    batteries: Sequence[_Battery],
    subjects: Sequence[str | Subject],
    examinations: dict[str, Examination],
    deadline: float,
    show_progress: bool,
    draw_next_instalment: Callable[[ItemSet], bool],
) -> float:
    """Draw and ask further instalments until the deadline, and replace the examinations.

    The next instalments are those expected to decide the most scores of subjects for their time; if none is, one of the
    set with the most undecided scores. The time of a set's first instalment is planned, at the pace of the others on
    this machine; that of later ones is measured. While instalments of one set are asked, `draw_next_instalment` draws
    one of the set whose turn is next. Returns the pace: the mean ratio of measured to planned times, 1 without any.
    """
    by_suite = {battery.suite: battery for battery in batteries}
    planned = {name: _instalment_seconds(battery.options) for name, battery in by_suite.items()}
    instalments_needed, measured, drawn_ahead = dict[str, list[float]](), dict[str, float](), set[str]()
    while True:
        pace = fmean([measured[name] / planned[name] for name in measured] or [1.0])
        seconds = {name: measured.get(name, pace * planned[name]) for name in by_suite}
        for name in [name for name in by_suite if name not in instalments_needed]:
            card = examinations[name].items.card
            scores = undecided(examinations[name], subjects, MAX_ITEMS) if card.instalments_left else []
            instalments_needed[name] = [
                _instalments_needed(growth, card) for who, _, growth in scores if who.role != "simulated"
            ]
        left = deadline - time.monotonic()
        if not any(instalments_needed.values()) or left <= 0:
            return pace
        most = max(by_suite, key=lambda name: len(instalments_needed[name]) / seconds[name])
        name, count = _next_instalments(instalments_needed, seconds, left) or (most, 1)
        items, start = examinations[name].items, time.monotonic()
        following = _next_instalments({**instalments_needed, name: []}, seconds, left - count * seconds[name])
        is_ahead = following is not None and draw_next_instalment(examinations[following[0]].items)
        before = len(items.card.instalments)
        most_instalments = before + (count if name in measured else 1)
        examinations[name] = _run_set(subjects, show_progress, items, by_suite[name].run_root, most_instalments)
        added = len(examinations[name].items.card.instalments) - before
        if added and name not in drawn_ahead:
            measured[name] = (time.monotonic() - start) / added
        drawn_ahead.discard(name)
        if following is not None and is_ahead:
            drawn_ahead.add(following[0])
        del instalments_needed[name]


def _instalments_needed(growth: float, card: ItemSetCard) -> float:
    """The number of further instalments that make a set this many times as large; infinite if fewer are left."""
    needed = max(1, math.ceil((growth - 1) * len(card.instalments))) if math.isfinite(growth) else math.inf
    return needed if needed <= card.instalments_left else math.inf


def _next_instalments(
    instalments_needed: Mapping[str, Sequence[float]], seconds: Mapping[str, float], left: float
) -> tuple[str, int] | None:
    """The set, and the number of its instalments, that decide the most scores for their time; None if none in `left`.

    `instalments_needed` has the number that each undecided score needs, `seconds` the time of one instalment.
    """
    choices = {
        (name, int(count)): sum(needed <= count for needed in scores) / (count * seconds[name])
        for name, scores in instalments_needed.items()
        for count in scores
        if count * seconds[name] <= left
    }
    return max(choices, key=lambda choice: choices[choice], default=None)


def _expected(
    too_few: Sequence[ResultRow], batteries: Sequence[_Battery], examinations: Mapping[str, Examination], pace: float
) -> int:
    """About the number of these scores that `more` would decide, by the units that they need (`units_to_decide`).

    `pace` is the ratio of the time that instalments take on this machine to the planned one.
    """
    from snellen.reports.rows import metric_in

    instalments_needed: dict[str, list[float]] = {}
    seconds = {battery.suite: pace * _instalment_seconds(battery.options) for battery in batteries}
    for row in too_few:
        examination = examinations[row.suite]
        growth = units_to_decide(row, metric_in(examination.suite, row)) / row.n
        instalments_needed.setdefault(row.suite, []).append(_instalments_needed(growth, examination.items.card))
    left, decided = float(MORE_SECONDS), 0
    while choice := _next_instalments(instalments_needed, seconds, left):
        name, count = choice
        decided += sum(needed <= count for needed in instalments_needed[name])
        instalments_needed[name] = [needed - count for needed in instalments_needed[name] if needed > count]
        left -= count * seconds[name]
    return decided


def _instalment_seconds(options: BuildOptions) -> float:
    """The planned seconds of drawing and asking a further instalment of a set."""
    instalment = replace(options, test_only=True, tasks=options.instalment_tasks or options.tasks)
    plan = _plan(instalment)
    return _drawing_seconds(plan) + SECONDS_AN_ITEM * float(sum(plan["items"].values()))


def _plan(options: BuildOptions) -> Mapping[str, Any]:
    """The recipe's plan of a set of the checkup."""
    return SUITES.get(options.out.name).recipes["generated"].plan(options)


def _drawing_seconds(plan: Mapping[str, Any]) -> float:
    """The planned seconds of drawing a set, at least 1."""
    return max(1.0, float(plan["seconds"]))


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
    card, parameters = read_card(options.out), recorded_parameters(suite.recipes["generated"], options)
    return (card.version, card.recipe) == (suite.card.version, parameters)


def _build(battery: _Battery) -> None:
    build(SUITES.get(battery.suite), "generated", battery.options)


def _set_aside(batteries: Sequence[_Battery], out: Path, *, with_items: bool = True) -> None:
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
