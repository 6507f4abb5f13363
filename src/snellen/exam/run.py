"""Runs: asking subjects under conditions, scoring the replies, and opening finished runs."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from snellen.analysis.coverage import gaps
from snellen.analysis.deciding import MAX_ITEMS
from snellen.compute import Progress
from snellen.core.box_units import BOX_UNITS, FRACTIONS
from snellen.core.condition import Condition, parse_conditions, refuse_unknown
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.response import Response, Status
from snellen.core.storage.itemset import BLIND_KEY, BlindCard, BlindScore, ItemSet, is_itemset
from snellen.core.storage.runfolder import (
    RunCard,
    default_folder,
    has_tables,
    own_responses,
    read_run_card,
)
from snellen.core.storage.sight import copy_sight
from snellen.core.storage.versions import versions
from snellen.core.subject import Subject
from snellen.core.suite import Suite
from snellen.curation.results import read_tables
from snellen.exam.parts import parts_ahead
from snellen.remote import address_of, published
from snellen.runs.ask import ask
from snellen.runs.box_units import read_box_units, set_box_unit
from snellen.runs.deciding import DropDecider
from snellen.runs.failures import summarize_failures
from snellen.runs.gate import open_run_items
from snellen.runs.generated_sets import itemset_folder, suite_of_items
from snellen.runs.judgements import scores_of
from snellen.runs.on_cluster import ask_workers
from snellen.runs.plan import Arm, Plan, recorded_arms, run_card
from snellen.runs.preflight import Preflight, make_subjects, refuse_unpriced
from snellen.runs.preview import Estimate, asks_remote, estimates, limit_faults
from snellen.runs.recorded_scores import compared_scores
from snellen.runs.replay import is_behind, replay, responses_of
from snellen.runs.score import damaged_scores, own_scores, score_paths, write_scores
from snellen.runs.stamp import read_stamp, run_key, write_stamp
from snellen.runs.stopping import BudgetSpent
from snellen.runs.undecided import is_undecided, undecided_tasks
from snellen.runs.unread import with_judged_reading
from snellen.subjects.recorded import Recording
from snellen.subjects.registry import subjects_of
from snellen.suites import SUITES, suite_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from snellen.reports import Report


@dataclass(frozen=True)
class Examination:
    """A finished run: its folder, suite, items and responses, with tables of results and reports."""

    root: Path
    suite: Suite
    items: ItemSet
    responses: Sequence[Response]
    _results: dict[tuple[Any, ...], pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        subjects = ", ".join(dict.fromkeys(response.subject for response in self.responses))
        failed = f", {self.failed} failed" if self.failed else ""
        address = address_of(self.root)
        head = f"<Examination of {subjects} by {self.suite.name}: {len(self.responses)} responses{failed}; {address}>"
        return "\n".join([head, *self._reasons("failed"), *self._reasons("declined")])

    def _reasons(self, status: Status) -> list[str]:
        """One line per subject and reason."""
        reasons = self.reasons(status).items()
        return [f"{subject} {status}: {reason}" for subject, of_subject in reasons for reason in of_subject]

    def _repr_html_(self) -> str:
        """The table of results and the reasons why calls failed or were declined, for notebooks."""
        from html import escape

        from snellen.reports import print_table

        notes = "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())
        if not self.responses:
            return notes
        return print_table(self.all_results(), suite_of=lambda _: self.suite, unread=self.unread()).html() + notes

    @property
    def failed(self) -> int:
        """Number of items whose calls failed; the same command asks them again."""
        return sum(response.status == "failed" for response in self.responses)

    def reasons(self, status: Status) -> dict[str, list[str]]:
        """The reasons, by subject, why items failed or were declined, each kind with its count.

        Args:
            status: `failed` or `declined`.

        """
        reasons: dict[str, list[str]] = {}
        for response in self.responses:
            if response.status == status:
                reasons.setdefault(response.subject, []).append(response.reason)
        return {subject: summarize_failures(texts) for subject, texts in reasons.items()}

    def unasked(self) -> dict[str, int]:
        """The number of items not asked, by subject, because the run was stopped or the subject failed too often."""
        counts: Counter[str] = Counter()
        for gap in gaps(read_run_card(self.root).arms, self.responses):
            counts[gap.subject] += gap.missing
        return dict(counts)

    def unread(self) -> tuple[str, ...]:
        """Sentences about subjects of whose replies to a task more than a twentieth cannot be read, with examples."""
        from snellen.analysis.unread import unread_sentences

        scores = own_scores(self.root, self.items, self.suite, read_run_card(self.root).arms)
        return unread_sentences([self.root], scores["strict"], self.responses)

    def results(self) -> pd.DataFrame:
        """One row per subject, task, condition and metric, for all scored protocols; studies of people first."""
        rows = self.all_results()
        return rows[rows["factor"] == ""].drop(columns=["factor", "level"]).reset_index(drop=True)

    def results_by_factor(self) -> pd.DataFrame:
        """Like `results`, with one row per level of each factor (size, colour …) of the items."""
        rows = self.all_results()
        return rows[rows["factor"] != ""].reset_index(drop=True)

    def grades(self) -> pd.DataFrame:
        """One row per subject and task: score with 95 % interval, chance, blind baseline, and the grade or a state.

        A grade is how far the score is on the way from the best score without the ability to that of people; a state
        says why there is none ("too few items"). docs/reports.md explains both.
        """
        from snellen.reports.rows import GRADED, whole_tasks

        return whole_tasks(self.all_results())[list(GRADED)]

    def plot(self, kind: Literal["strip", "profile"] = "strip") -> Figure:
        """A matplotlib figure: one square per subject and task, coloured by grade, or scores with their intervals.

        Args:
            kind: `strip` for squares, `profile` for one panel per task with chance, blind baseline and people.

        """
        from snellen.reports.figures import as_png, overview, strip, style
        from snellen.reports.loading import load_run

        with style():
            figure = (strip if kind == "strip" else overview)(load_run(self.root, lambda _: self.suite))
        # Notebooks show figures that pyplot did not make only with this method.
        vars(figure)["_repr_png_"] = partial(as_png, figure)
        return figure

    def all_results(self) -> pd.DataFrame:
        """The rows of `results` and `results_by_factor`; `factor` and `level` of the former are empty."""
        # Computed once for the score files as they are: floors alone take seconds.
        files = [self.root / RunCard.file, *score_paths(self.root).values()]
        key = tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
        if key not in self._results:
            self._results.clear()
            self._results[key] = self._all_results()
        return self._results[key].copy()

    def _all_results(self) -> pd.DataFrame:
        import pandas as pd

        from snellen.analysis.floors import Floors
        from snellen.analysis.people import study_results
        from snellen.analysis.results import results

        card, suite = read_run_card(self.root), with_judged_reading(self.suite)
        scores = own_scores(self.root, self.items, suite, card.arms)
        floors = Floors(self.items, suite)
        tables = [results(rows, self.items, suite, card.arms, floors=floors) for rows in scores.values()]
        studies = study_results(scores, self.items, suite, card.arms)
        return pd.concat([studies, *tables] if len(studies) else tables, ignore_index=True)

    def report(self, out: str | Path = "report", **how: Any) -> Report:
        """Write the report.

        Args:
            out: Folder or URL of the report.
            how: Further parameters of `write_report`, such as `full`.

        """
        from snellen.reports import write_report

        with published(out) as folder:
            return write_report([self.root], folder, **how)


def prepare(
    subjects: Sequence[str | Subject],
    itemsets: Sequence[str | Path],
    conditions: Sequence[str],
    *,
    limit: int | None = None,
    keep_going: bool = False,
) -> tuple[list[str | Subject], Preflight]:
    """Check subjects, conditions, keys and servers before anything is rendered.

    Returns the subjects, and the first questions asked of remote ones, if a set is still to be built. If all sets
    exist, `run` asks the first question, once it knows that calls are left.
    """
    for itemset in itemsets:
        for text in conditions:
            parse_conditions(suite_of_items(itemset).axes, text)
    examined, preflight = make_subjects(subjects), Preflight(keep_going)
    if not all(is_itemset(itemset_folder(itemset, limit)) for itemset in itemsets):
        preflight.check(examined)
    return examined, preflight


def run(
    items: ItemSet,
    subjects: Sequence[str | Subject],
    root: Path,
    *,
    conditions: Sequence[str] = ("vanilla",),
    repeats: int = 1,
    seed: int = 0,
    limit: int | None = None,
    decide: Literal["none", "drop", ""] = "",
    max_items: int = MAX_ITEMS,
    max_parts: int | None = None,
    drop: DropDecider | None = None,
    budget: float | None = None,
    deadline: float | None = None,
    keep_going: bool = False,
    inputs: Mapping[str, Path] | None = None,
    show_progress: bool = True,
    announce: Callable[[Sequence[Estimate]], None] | None = None,
    after_call: Callable[[], None] = lambda: None,
    preflight: Preflight | None = None,
) -> Examination:
    """Ask subjects under conditions, resuming the run in `root`, and score `strict`. A finished run is only read.

    With `decide`, the items of each task are asked until its score is decided, at most `max_items` (`runs.deciding`);
    for "drop" by the rule `drop`. A set in parts grows as long as a task is undecided, to at most `max_parts` of them
    (`exam.parts`).
    `inputs` are annotation tables that some conditions use, by name (`curation.results`). `announce` receives the
    estimates of remote subjects and may stop the run by an error, as may `after_call` after each call. `keep_going`
    continues an arm even if most of its calls fail. Recorded subjects have the conditions and repeats of their files;
    `conditions` other than the default select among them. `deadline` is that of `Plan`. `preflight` knows which
    subjects were asked a first question. Raises SnellenError before anything is asked if a call exceeds the provider's
    limits, or prices for `budget` are unknown, and BudgetSpent and Interrupted after scoring the replies so far.
    """
    suite = suite_of(items)
    points = [point for text in conditions for point in parse_conditions(suite.axes, text)]
    selected = points if tuple(conditions) != ("vanilla",) else ()  # the default
    examined = _subjects(subjects, items)

    def arms_about(items: ItemSet, notify: Callable[[str], None] = lambda line: None) -> list[Arm]:
        """The arms of all subjects; some subjects depend on the items."""
        arms = [replace(arm, decide=decide) for arm in _arms(_subjects(subjects, items), points, repeats)]
        if recordings := [subject for subject in examined if isinstance(subject, Recording)]:
            recorded, line = recorded_arms(recordings, items, suite, selected)
            arms += recorded
            if line:
                notify(line)
        return arms

    arms = arms_about(items, _print_line)
    options: dict[str, Any] = {"conditions": list(conditions), "repeats": repeats, "seed": seed, "limit": limit}
    options |= {"decide": decide, "max_items": max_items} if decide else {}
    # The key covers the whole set on disk, so a run about some of its items gets no stamp.
    is_whole = len(items.items) == items.card.items and SUITES.is_packaged(suite.name)
    key = run_key(items.root, examined, inputs or {}, **options) if is_whole and decide != "drop" else ""
    fingerprints = [subject.card.fingerprint() for subject in examined]
    if read_stamp(root, key) and not damaged_scores(root):
        responses = responses_of(root, arms)
        may_grow = decide and len(items.card.parts) < (max_parts or math.inf)
        if not may_grow or not is_undecided(Plan(items, suite, arms, seed, limit, max_items), responses):
            copy_sight(root, fingerprints, is_finished=True)
            return Examination(root, suite, items, responses)
    refuse_unpriced(examined, budget)
    tables = read_tables(inputs or {}, items)
    plan = Plan(
        items, suite, arms, seed, limit, max_items, budget, deadline, tables, keep_going, versions=versions(), drop=drop
    )
    remote = estimates(plan, root)
    if faults := limit_faults(remote):
        if not keep_going:
            raise SnellenError(f"{faults}; nothing was asked, and --keep-going asks all the same")
        _print_line(faults)
    if announce is not None:
        announce(remote)
    preflight = preflight or Preflight(keep_going)
    if asks_remote(plan, root, remote):
        preflight.check(examined)
    first_replies = preflight.take(subject.card.fingerprint() for subject in examined)
    plan = replace(plan, preflight=first_replies)
    copy_sight(root, fingerprints)
    stop: BudgetSpent | Interrupted | None = None
    responses = []
    with Progress("asking", unit="items", visible=show_progress) as progress:
        progress.expect(sum(sum(arm.test_items.values()) for arm in run_card(plan).arms))
        plan = replace(plan, tick=after_call, count_items=progress.advance, notify=_print_line)
        try:
            with ExitStack() as stack:
                larger_sets = stack.enter_context(parts_ahead(items, max_parts)) if decide else iter(())
                responses = _ask(root, plan)
                while is_undecided(plan, responses) and (larger := next(larger_sets, None)) is not None:
                    progress.restart()
                    items, plan = (
                        larger,
                        replace(plan, items=larger, arms=arms_about(larger), preflight=(), deciders=[]),
                    )
                    responses = _ask(root, plan)
        except (BudgetSpent, Interrupted) as cause:
            stop = cause
    if stop is None or has_tables(root):  # no tables after a second signal
        for protocol in dict.fromkeys(["strict", *damaged_scores(root)]):
            rescore(root, items, suite, protocol)
    if stop is not None:
        raise stop
    examination = Examination(root, suite, items, responses)
    compared, differing = compared_scores(plan.arms, root, suite)
    for name, count in differing.items():
        _print_line(f"{name}: the file's own score differs in {count} of {compared[name]} rows")
    if not examination.failed and not examination.unasked():
        # A set in parts may have grown.
        key = run_key(items.root, examined, inputs or {}, **options) if key and items.card.declaration else key
        write_stamp(root, key, len(responses), examination.reasons("declined"))
    return examination


def _subjects(subjects: Sequence[str | Subject], items: ItemSet) -> list[Subject]:
    lists = [subjects_of(entry, items.items) if isinstance(entry, str) else [entry] for entry in subjects]
    return [subject for several in lists for subject in several]


def _ask(root: Path, plan: Plan) -> list[Response]:
    card = run_card(plan)
    return ask(root, replace(plan, records=ask_workers(root, plan, card)), card)


def _print_line(line: str) -> None:
    sys.stderr.write(f"snellen: {line}\n")


def _arms(subjects: Sequence[Subject], conditions: Sequence[Condition], repeats: int) -> list[Arm]:
    names = [subject.card.name for subject in subjects]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise SnellenError(f"subject {repeated!r} is given twice; give each its own name, or repeat it (--repeats)")
    conditions = list({str(point): point for point in conditions}.values())
    subjects = [subject for subject in subjects if not isinstance(subject, Recording)]
    return [Arm(subject, point, repeat) for subject in subjects for point in conditions for repeat in range(repeats)]


def rescore(root: Path, items: ItemSet, suite: Suite, protocol: str) -> pd.DataFrame:
    """Score all responses of a run under a protocol (`scores_of`), and write the table."""
    scores = scores_of(root, items, suite, protocol)
    write_scores(root, scores, protocol)
    return scores


def score_boxes_in(root: Path, unit: str, subject: str | None = None) -> None:
    """Read the boxes of a subject in another unit at this and every later scoring.

    Without a subject, those whose boxes are in this unit (`analysis.results`). Raises SnellenError for an unknown
    unit or subject, or if no subject's boxes are.
    """
    rows = open_examination(root).all_results()
    if subject is not None:
        refuse_unknown([subject], rows["subject"], f"{root}: no subject")
        return set_box_unit(root, unit, [subject])
    subjects = rows["subject"][rows["boxes_in"] == unit].unique().tolist()
    if unit == FRACTIONS:
        subjects = list(read_box_units(root))
    if not subjects and unit in BOX_UNITS:
        units = ", ".join(f"{row.subject} in {row.boxes_in}" for row in rows[rows["boxes_in"] != ""].itertuples())
        known = f"boxes are given by {units}" if units else "all boxes are in fractions, or there are none"
        raise SnellenError(f"{root}: no subject's boxes are recognised as {unit} ({known}); name one with --subject")
    set_box_unit(root, unit, subjects)
    return None


def undecided(
    examination: Examination, subjects: Sequence[str | Subject], max_items: int
) -> list[tuple[str, str, float]]:
    """The subjects and tasks that are undecided after all drawn items, under no condition (`runs.undecided`).

    The third is about how many times as many items decide whether the grade is *none*.
    """
    items, suite = examination.items, examination.suite
    arms = [Arm(subject, Condition(suite.axes), decide="none") for subject in _subjects(subjects, items)]
    plan = Plan(items, suite, arms, max_items=max_items)
    return [(arm.subject.card.name, task, growth) for arm, task, growth in undecided_tasks(plan, examination.responses)]


def recover(root: Path) -> None:
    """Make the tables and scores of a killed run from its record; other runs are unchanged."""
    if not is_behind(root):
        return
    card, items, suite = open_run_items(root)
    if tables := sorted(card.annotations):
        raise SnellenError(
            f"{root}: the run was interrupted, and it uses {', '.join(tables)}; run the same `snellen run` command "
            f"again to "
            f"finish it"
        )
    replay(root, items, suite, {})
    for protocol in dict.fromkeys(["strict", *score_paths(root)]):
        rescore(root, items, suite, protocol)


def open_examination(root: Path) -> Examination:
    """Open a run folder, finished or stopped. Raises SnellenError if it has no tables."""
    _, items, suite = open_run_items(root)
    return Examination(root, suite, items, own_responses(root, items))


def run_folder(items: ItemSet, subjects: Sequence[str | Subject], conditions: Sequence[str]) -> Path:
    """`runs/SUITE-<8 hex>`, the same for the same item set, subjects and conditions."""
    names = [subject if isinstance(subject, str) else subject.card.name for subject in subjects]
    return default_folder(items.card, names, conditions)


def blind_subject(items: ItemSet, card: BlindCard, subject: str | Subject, root: Path, **how: Any) -> BlindCard:
    """The blind scores of a card, or the subject's scores without images (`images=none`) where they are better."""
    from snellen.analysis.units import metric_of

    suite = suite_of(items)
    rows = run(items, [subject], root, conditions=["images=none"], **how).all_results()
    scores: dict[tuple[str, ...], BlindScore] = {score.key: score for score in card.scores}
    for row in rows[rows["value"].notna()].to_dict("records"):
        task, protocol, metric_name, *_ = key = tuple(str(row[name]) for name in BLIND_KEY)
        metric = metric_of(suite.tasks[task].protocols[protocol], metric_name)
        if key in scores and metric.sign * row["value"] > metric.sign * scores[key].value:
            update = {"value": round(row["value"], 4), "n": row["n"], "attack": row["subject"]}
            scores[key] = scores[key].model_copy(update=update)
    name = subject if isinstance(subject, str) else subject.card.name
    method = f"{card.method}; {name} without images"
    return card.model_copy(update={"method": method, "scores": tuple(scores.values())})
