"""The checkup: generate an item set of every suite, examine the packaged and further subjects, write one report."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.analysis.grading.rows import rows_of
from snellen.compute.pool import sharing_processes
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.storage.sight import FOLDER, latest_sight
from snellen.core.subject import Subject
from snellen.exam.board import Board
from snellen.exam.checkup_growth import MAX_ITEMS, MORE_SECONDS, expected_decisions, grow
from snellen.exam.checkup_parts import SUITE as PART_SUITE
from snellen.exam.checkup_parts import examine_part, installed_part
from snellen.exam.checkup_sets import (
    CHECKUP_SUITES,
    INSTALMENTS,
    Battery,
    battery_of,
    drawing_seconds,
    is_built,
    item_sets,
    plan_of,
    set_aside,
)
from snellen.exam.examination import Examination
from snellen.exam.instalments import instalments_in_background
from snellen.exam.run import run
from snellen.exam.sight import sight
from snellen.runs.asking.preflight import Preflight, make_subjects
from snellen.runs.asking.preview import Estimate
from snellen.runs.planning.options import CheckupOptions
from snellen.stimuli.video.timeline import pyav
from snellen.suites import SUITES

if TYPE_CHECKING:
    from snellen.reports import Report
    from snellen.reports.growing import GrowingReport
    from snellen.reports.writing import Companion

NICENESS = 10
"""Of the processes that draw, so that what is drawn is asked and reported first."""
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
    """The result of a checkup: examinations, the report, and its duration in seconds.

    `scores` is the number of scores of subjects that are not simulated; of the undecided ones `more` would decide about
    `expected`.
    """

    examinations: Sequence[Examination]
    report: Report
    seconds: float
    scores: int = 0
    expected: int = 0


def checkup(
    subjects: Sequence[str],
    options: CheckupOptions,
    *,
    announce: Callable[[Sequence[Estimate]], None] | None = None,
    explorer: Companion | None = None,
) -> Checkup:
    """Render missing sets, examine the packaged subjects and `subjects`, and write the report.

    Packaged subjects of an extra that is not installed are left out, and a line on stderr says what installs it.
    All results are in `options.out`: `items/SUITE`, `run/SUITE`, `report`, which is written again after each suite.
    `fresh` renders new sets from a new seed. Sets of other options or versions, and their runs, are moved to
    `out/earlier/N`, and a line on stderr says so. With more than one worker, the next sets are built while one is
    asked. What reaches a remote subject is checked first, unless that was done on this machine. The sets are in
    instalments, and each task is asked until it is decided whether its grade is *none*; with `more`, further
    instalments are drawn for about `MORE_SECONDS`, those that are expected to decide the most scores for their time.
    `explorer` is passed to `write_report`.
    """
    start, out = time.monotonic(), options.out
    with tempfile.TemporaryDirectory(prefix="snellen-") as counts:
        batteries = [battery_of(name, options, Path(counts)) for name in CHECKUP_SUITES]
        unwanted = [battery for battery in batteries if not is_built(battery)]
        set_aside([battery for battery in unwanted if is_itemset(battery.options.out)], out)
        if unwanted:
            pyav()  # vlm2-bench has clips; a missing package is better reported before minutes of rendering
        preflight, part = Preflight(), installed_part()
        # Made when the first set is there: their libraries take seconds to load, while further sets are drawn.
        of_part = cache(lambda: _available(part.subjects) if part is not None else [])
        examined = _examined(subjects, out, preflight if unwanted else None)
        suites = {battery.suite: SUITES.get(battery.suite) for battery in batteries}
        with (
            sharing_processes(options.workers, NICENESS),
            Board(suites, Path(counts), visible=options.show_progress) as board,
        ):

            def run_set(battery: Battery, items: ItemSet, most: int | None) -> Examination:
                brought = of_part() if part is not None and battery.suite in part.suites else []
                everyone = [*examined, *brought]
                return run(
                    items, everyone, battery.run_root, until_decided=True, max_items=MAX_ITEMS, max_instalments=most,
                    show_progress=False, progress=board.states[battery.suite].questions, announce=announce,
                    watch=partial(board.graded, battery.suite, battery.run_root), preflight=preflight,
                )  # fmt: skip

            growing, examinations, pace = _examine_all(batteries, out, board, run_set)
            if options.more:
                with instalments_in_background(options.workers) as draw_next:
                    deadline = time.monotonic() + MORE_SECONDS
                    pace = grow(batteries, examined, examinations, deadline, run_set, draw_next)
                growing = None  # whose runs may have grown
            if part is not None and (subjects_of_part := of_part()):
                examinations[PART_SUITE] = examine_part(part, subjects_of_part, options)
            return _reported(batteries, examinations, options, explorer, growing, start, pace)


def _examined(subjects: Sequence[str], out: Path, preflight: Preflight | None) -> list[str | Subject]:
    """The packaged and further subjects, after a first question if there is a `preflight`, and `sight` if remote."""
    examined = _available(dict.fromkeys([*CHECKUP_SUBJECTS, *subjects]), subjects)
    if preflight is not None:
        preflight.check(examined)
    for subject in examined:
        if not isinstance(subject, str) and subject.card.is_remote and not latest_sight(subject.card):
            sight(subject, out / FOLDER / subject.card.fingerprint())
    return examined


def _available(names: Iterable[str], required: Sequence[str] = ()) -> list[str | Subject]:
    """The subjects of these names; one that lacks an extra is left out, with a line, unless it is `required`."""
    made = list[str | Subject]()
    for name in names:
        try:
            made += make_subjects([name])
        except SnellenError as error:
            if name in required:
                raise
            sys.stderr.write(f"snellen: left out: {error}\n")
    return made


def _examine_all(
    batteries: Sequence[Battery],
    out: Path,
    board: Board,
    run_set: Callable[[Battery, ItemSet, int | None], Examination],
) -> tuple[GrowingReport | None, dict[str, Examination], float]:
    """The examination of each set by suite, with the report so far, and the pace of this machine in drawing.

    The pace is the ratio of the time to the planned one of all sets that are drawn, at least 1.
    """
    from snellen.reports import write_report
    from snellen.reports.growing import GrowingReport, write_placeholder

    growing, examinations, times = GrowingReport(), dict[str, Examination](), {"measured": 0.0, "planned": 0.0}
    titles = {battery.suite: SUITES.get(battery.suite).card.title for battery in batteries}
    write_placeholder(out / "report", list(titles.values()))
    with closing(item_sets(batteries)) as sets:
        for battery, (items, seconds) in zip(batteries, sets, strict=True):
            if seconds:
                times["measured"] += seconds
                times["planned"] += drawing_seconds(plan_of(battery.options))
            is_asked = (battery.run_root / RunCard.file).is_file()
            if is_asked and read_run_card(battery.run_root).content_hash != items.card.content_hash:
                set_aside([battery], out, with_items=False)
            most = INSTALMENTS[battery.suite][1] if battery.suite in INSTALMENTS else None
            examinations[battery.suite] = run_set(battery, items, most)
            del titles[battery.suite]
            growing.waiting = list(titles.values())
            board.states[battery.suite].is_over = True
            if titles and board.states[battery.suite].questions.done:  # else nothing is new
                roots = [examinations[name].root for name in SUITES if name in examinations]
                write_report(roots, out / "report", growing=growing)
    return growing, examinations, max(1.0, times["measured"] / max(times["planned"], 1.0))


def _reported(
    batteries: Sequence[Battery],
    examinations: Mapping[str, Examination],
    options: CheckupOptions,
    explorer: Companion | None,
    growing: GrowingReport | None,
    start: float,
    pace: float,
) -> Checkup:
    """The checkup with its report, begun at `start`."""
    from snellen.reports import write_report
    from snellen.reports.rows import whole_tasks

    in_order = [examinations[name] for name in SUITES if name in examinations]
    roots = [examination.root for examination in in_order]
    report = write_report(roots, options.out / "report", explorer=explorer, workers=options.workers, growing=growing)
    rows = whole_tasks(report.results)
    scored = list(rows_of(rows[rows["value"].notna() & (rows["role"] != "simulated")]))
    return Checkup(
        in_order,
        report,
        time.monotonic() - start,
        len(scored),
        expected_decisions([row for row in scored if row.grade.needs_items], batteries, examinations, pace),
    )
