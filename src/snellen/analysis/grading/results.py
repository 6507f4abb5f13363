"""Results: one row per subject, task, condition and metric, with all numbers that belong to a score."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.answer_forms import box_units
from snellen.analysis.grading.deciding import in_order, look_at, turns
from snellen.analysis.grading.floors import Floors
from snellen.analysis.grading.grades import (
    WITHOUT_SCORE,
    UnitFloor,
    baseline,
    grade_of,
    incomplete,
    look_level,
    without_score,
)
from snellen.analysis.grading.rows import KEYS, Grade, ResultRow, result_columns
from snellen.analysis.units import Places, metric_of, part_places, scored, summary, units_by_place, units_of
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, OUTCOMES, Measurement, Metric, Protocol
from snellen.core.seeds import lazy_stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Ceiling, Suite, Task
from snellen.datasets.own_images import OWN
from snellen.scoring.power import detectable, units_needed
from snellen.scoring.sequential import confidence_sequence
from snellen.scoring.uncertainty import UNTOLD, Interval, summary_interval

SEQUENTIAL = "95 % confidence sequence, by cluster"
"""The kind of intervals of tasks that were asked until decided."""
GROUP = ["repeat", "group_id"]
"""What identifies a group of items that are scored together."""
UNREAD_CODES = [OUTCOMES.index("no_answer"), OUTCOMES.index("cut_off")]

IntervalOf: TypeAlias = Callable[[pd.DataFrame, Metric, tuple[Any, ...]], Interval]
"""Function of scored units, their metric and the key of their row that returns the interval of the row's value."""


def unit_interval(units: pd.DataFrame, metric: Metric, key: tuple[Any, ...], level: float = 0.95) -> Interval:
    """The interval by the method for what the metric declares; weighted if the units have weights.

    At a planned look (columns `look` and `looks`), all planned looks together have the error of `level`.
    """
    if units.empty:
        return Interval(math.nan, math.nan, "")
    weights = units["weight"].to_numpy(float) if "weight" in units else np.ones(len(units))
    if "turn" in units:
        if metric.bounds is None or not metric.is_bounded_mean or "weight" in units:
            return Interval(math.nan, math.nan, f"{UNTOLD}the number of items depends on the answers")
        sequence = confidence_sequence(units["value"].to_numpy(float), units["turn"].to_numpy(), metric.bounds, level)
        return Interval(*sequence, SEQUENTIAL)
    values, clusters = units["value"].to_numpy(float) / weights, units["cluster_id"].to_numpy(str)
    rng = lazy_stream("interval", *map(str, key))
    level = look_level(units, level)
    try:
        interval = summary_interval(values, clusters, metric.summary, metric.bounds, rng, weights, level, metric.binary)
    except ValueError as error:
        raise ValueError(f"metric {metric.name}: {error}") from error
    interval = interval.above(metric.least)
    if "look" not in units or interval.kind.startswith(UNTOLD):
        return interval
    return interval._replace(kind=f"{interval.kind}; look {units['look'].iloc[0]} of {units['looks'].iloc[0]}")


def results(
    scores: pd.DataFrame,
    items: ItemSet,
    suite: Suite,
    arms: Sequence[ArmCard],
    interval_of: IntervalOf = unit_interval,
    floors: Floors | None = None,
) -> pd.DataFrame:
    """The results of all scores. What was never asked has no row; a declined arm has one row without value, n = 0.

    The columns are those of `result_columns` (`ResultRow`). `floors` are those of the items, if other results have
    computed some.
    """
    known = _Known(items, suite, arms, interval_of, floors or Floors(items, suite))
    scores = with_python_strings(scores).copy()  # a copy has all columns of a type in one block, which is faster to cut
    tallies, rows = _tallies(scores, items), list[ResultRow]()
    for key, places in _arm_places(scores):
        rows += _arm_rows(known, key, scores.take(places), tallies[:, places])
    return pd.DataFrame([row.cells() for row in rows], columns=result_columns(suite))


@dataclass(frozen=True)
class _Known:
    """What all rows are made from. `orders` are those of asking, by task and the most items that were asked."""

    items: ItemSet
    suite: Suite
    arms: Sequence[ArmCard]
    interval_of: IntervalOf
    floors: Floors
    orders: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)

    @cached_property
    def by_arm(self) -> dict[tuple[str, str], ArmCard]:
        """The arms by subject and condition."""
        return {(arm.subject, arm.condition): arm for arm in self.arms}

    @cached_property
    def by_subject(self) -> dict[str, ArmCard]:
        """An arm of each subject, for what is the same in all of them."""
        return {arm.subject: arm for arm in self.arms}

    @cached_property
    def unfitted(self) -> frozenset[str]:
        """The fingerprints of subjects without examples."""
        return frozenset(arm.fingerprint for arm in self.arms)

    @cached_property
    def blind(self) -> dict[tuple[str, ...], float]:
        """The blind baselines by task, protocol, metric, factor and level."""
        return {score.key: score.value for score in self.items.blind.scores} if self.items.blind else {}

    @cached_property
    def printed(self) -> Sequence[Ceiling]:
        """The printed scores of people."""
        return printed_ceilings(self.suite, self.items)

    def order(self, task: Task, arm: ArmCard | None) -> dict[str, int] | None:
        """The place of each cluster in the order of asking, of an arm that was asked until decided."""
        if arm is None or not arm.decide:
            return None
        key = task.id, arm.max_items
        if key not in self.orders:
            self.orders[key] = turns(self.items, task, arm.max_items)
        return self.orders[key]


def _arm_rows(known: _Known, key: tuple[Any, ...], scores: pd.DataFrame, tallies: Places) -> Iterator[ResultRow]:
    """The rows of an arm, a task, a protocol and a metric: numbers, floors, grade, row, of each part of the task."""
    keys, items = dict[str, Any](zip(KEYS, map(str, key), strict=True)), known.items
    task = known.suite.tasks[keys["task"]]
    protocol = task.protocols[keys["protocol"]]
    metric, by_place = metric_of(protocol, keys["metric"]), units_by_place(scores, protocol)
    arm, subject = known.by_arm.get((keys["subject"], keys["condition"])), known.by_subject.get(keys["subject"])
    role, source = (subject.role, subject.source) if subject else ("model", "asked")
    has_examples = (subject is not None and subject.fitted) or scores["fingerprint"].iloc[0] not in known.unfitted
    boxes_in, reading = box_units(scores, subject.attributes.get("box_unit", "") if subject else "")
    arm_row = ResultRow(**keys, role=role, source=source, boxes_in=boxes_in, axes=arm.columns if arm else {})
    graded = partial(_graded, known, protocol, metric, has_examples and role != "person")
    # Cutting units by place costs a quarter of cutting whole scores.
    whole = scores if by_place is None else by_place
    scored_units = partial(units_of, protocol=protocol) if by_place is None else scored
    order, item_ids = known.order(task, arm), scores["item_id"]
    look = look_at(known.items, task, arm.columns, item_ids) if arm is not None and arm.decide == "look" else None
    for factor, level, members in part_places(scores, items.by_id, task):
        part = whole if members is None else whole.take(members)
        units, part_tallies = scored_units(part), tallies if members is None else tallies[:, members]
        if order is not None:
            units = in_order(units, order, look)
        blind_key = (keys["task"], keys["protocol"], keys["metric"], factor, level)
        row = replace(
            arm_row, factor=factor, level=level,
            blind=known.blind.get(blind_key, math.nan) if metric.estimate is None else math.nan,
            ceiling=ceiling_of_part(known.printed, keys["task"], keys["metric"], factor, level),
        )  # fmt: skip
        row = _with_numbers(row, part, units, scored_units, part_tallies, metric, known.interval_of)
        row = graded(row, units, item_ids)
        note = "; ".join(filter(None, (row.grade.note, reading)))
        yield replace(row, grade=replace(row.grade, note=note))


def _graded(
    known: _Known, protocol: Protocol, metric: Metric, is_fitted: bool, row: ResultRow, units: pd.DataFrame,
    item_ids: pd.Series[Any],
) -> ResultRow:  # fmt: skip
    """The row with its grade, and with the numbers of its estimate, if its metric has one.

    `item_ids` are those of the scores from which the units were made.
    """
    if metric.estimate is not None:
        # Repeats of a subject that learns take turns with draws of training items.
        by_repeat = units.groupby("repeat") if is_fitted and "repeat" in units else ()
        parts = [part for _, part in by_repeat] or [units]
        names = [item_ids.reindex(part.index) for part in parts]
        estimate = over_draws(
            [
                metric.estimate([known.items.by_id[name] for name in of_part], part["value"].tolist())
                for of_part, part in zip(names, parts, strict=True)
            ]
        )
        row = _of_estimate(row, estimate)
        state = states.THRESHOLD if estimate.reason in states.STATES[states.THRESHOLD] else states.OPEN
        grade = Grade(state=state, reason=estimate.reason, decided_by="all answers", note=estimate.note)
        return replace(row, grade=(incomplete(row) if len(units) else without_score(row)) or grade)
    if protocol.metrics[0].estimate is not None:
        note = "depends on the levels that were asked"
        return replace(row, grade=Grade(state=states.OPEN, reason=states.NO_BASELINE, note=note))
    if protocol.judge is not None and not row.judge and not row.not_applicable and math.isnan(row.value):
        return replace(row, grade=Grade(reason=states.UNJUDGED, decided_by=WITHOUT_SCORE))
    thumbnail = math.nan if is_fitted else known.floors.thumbnail(row.task, protocol, metric)
    floors = _floors(known.floors, protocol, metric, is_fitted, row, units, item_ids)
    return replace(row, grade=grade_of(row, metric, units, floors, thumbnail))


def _floors(
    floors: Floors, protocol: Protocol, metric: Metric, is_fitted: bool, row: ResultRow, units: pd.DataFrame,
    item_ids: pd.Series[Any],
) -> list[UnitFloor]:  # fmt: skip
    """The greatest floor of these units. People have one interval over people and items, so theirs is a number."""
    names = units.index if units.index.name == "group_id" else item_ids.reindex(units.index)
    greatest = floors.greatest(row, protocol, metric, is_fitted, names.tolist())
    if row.role == "person":
        return [replace(floor, values=np.array([floor.value])) for floor in greatest]
    return greatest


def over_draws(estimates: Sequence[Measurement]) -> Measurement:
    """One estimate of several, made after learning from other training items, whose interval covers all of theirs.

    Its value is their mean. If some are beyond the levels, it is a bound: the end of all other intervals. There is none
    if they are beyond both ends, or if the question was not understood after one draw.
    """
    reasons, first = {estimate.reason for estimate in estimates}, estimates[0]
    if len(estimates) == 1 or (len(reasons) == 1 and first.reason != MEASURED):
        return first
    notes = (f"repeat {n}, after its draw of training items, {e.note or e.reason}" for n, e in enumerate(estimates, 1))
    note = "; ".join(notes)
    measured = [estimate for estimate in estimates if estimate.reason == MEASURED]
    if reasons == {MEASURED}:
        value, low, high = fmean(e.value for e in measured), min(e.low for e in measured), max(e.high for e in measured)
        return Measurement(value, low, high, first.interval, MEASURED, note)
    if reasons == {MEASURED, BELOW}:
        return Measurement(max(e.high for e in measured), math.nan, math.nan, "", BELOW, note)
    if reasons == {MEASURED, ABOVE}:
        return Measurement(min(e.low for e in measured), math.nan, math.nan, "", ABOVE, note)
    reason = NOT_UNDERSTOOD if NOT_UNDERSTOOD in reasons else states.NO_BASELINE
    return Measurement(math.nan, math.nan, math.nan, "", reason, note)


def _of_estimate(row: ResultRow, estimate: Measurement) -> ResultRow:
    """The row with the numbers of an estimate; those that follow from a mean of scores are not known."""
    return replace(
        row, value=estimate.value, low=estimate.low, high=estimate.high, interval=estimate.interval,
        value_answered=math.nan, minimum_detectable_effect=math.nan, items_needed=math.nan,
    )  # fmt: skip


def with_python_strings(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with strings and column names as Python objects: cutting small parts of Arrow strings is much slower.

    Equal strings of a column are one object.
    """
    strings = {name: _shared(rows[name]) for name in rows.columns if isinstance(rows[name].dtype, pd.StringDtype)}
    rows = rows.assign(**strings)
    return rows.set_axis(rows.columns.astype(object), axis=1)


def _shared(strings: pd.Series[Any]) -> pd.Series[Any]:
    codes, names = pd.factorize(strings, use_na_sentinel=False)
    return pd.Series(np.asarray(names, object)[codes], index=strings.index, dtype=object)


def _arm_places(scores: pd.DataFrame) -> list[tuple[tuple[Any, ...], Places]]:
    """The keys of rows of results, in the order of the scores, each with the indices of its scores."""
    groups: Mapping[Any, Any] = scores.groupby(list(KEYS)).indices
    return sorted(((key, np.asarray(places)) for key, places in groups.items()), key=lambda group: int(group[1][0]))


def _tallies(scores: pd.DataFrame, items: ItemSet) -> Places:
    """5 x scores: codes of outcome (its index in `OUTCOMES`), prediction and truth, and these two in words."""
    outcomes = pd.Categorical(scores["outcome"], OUTCOMES).codes
    names = ("prediction", "truth")
    answers = [*(scores[name] for name in names), *(_in_words(scores, name, items) for name in names)]
    return np.array([outcomes, *(pd.factorize(column, use_na_sentinel=False)[0] for column in answers)], np.int64)


def _in_words(scores: pd.DataFrame, column: str, items: ItemSet) -> pd.Series[Any]:
    """The answers (JSON) of a column, and instead of an option's key its text, if any, ignoring case and spaces."""
    texts: dict[tuple[str, str], str] = {}
    pairs = list(zip(scores["item_id"], scores[column], strict=True))
    for item_id, answer in dict.fromkeys(pairs):
        key = json.loads(answer) if items.by_id[item_id].options else None
        text = next((option.text for option in items.by_id[item_id].options if option.key == key), "")
        texts[item_id, answer] = " ".join(text.casefold().split()) or answer
    return pd.Series([texts[pair] for pair in pairs], dtype=object)


def _with_numbers(
    row: ResultRow, scores: pd.DataFrame, units: pd.DataFrame, scored_units: Callable[[pd.DataFrame], pd.DataFrame],
    tallies: Places, metric: Metric, interval_of: IntervalOf,
) -> ResultRow:  # fmt: skip
    """The row with the numbers of its scores and units."""
    answered, no_answer, cut_off, failed, not_applicable = np.bincount(tallies[0], minlength=len(OUTCOMES)).tolist()
    responded = answered + no_answer + cut_off
    tried = responded + failed
    units_read = units
    if no_answer or cut_off:
        is_read = ~np.isin(tallies[0], UNREAD_CODES)
        read_values = np.where(is_read, scores["value"].to_numpy(float), math.nan)
        units_read = scored_units(scores.assign(value=read_values))
    low, high, kind = interval_of(units, metric, (*(getattr(row, name) for name in KEYS), row.factor, row.level))
    value = summary(units["value"].to_numpy(float), metric)
    value_answered = value if units_read is units else summary(units_read["value"].to_numpy(float), metric)
    chances = units["chance"].to_numpy(float)
    chances = chances[~np.isnan(chances)]
    row = replace(row, chance=float(np.mean(chances)) if len(chances) else math.nan)
    return replace(
        row,
        value=value,
        low=low,
        high=high,
        interval=kind,
        value_answered=value_answered,
        n=len(units),
        clusters=len(set(units["cluster_id"].tolist())),
        minimum_detectable_effect=detectable(low, high),
        items_needed=units_needed(value, baseline(row, metric), low, high, len(units)),
        no_answer_rate=no_answer / responded if responded else math.nan,
        cut_off_rate=cut_off / responded if responded else math.nan,
        failure_rate=failed / tried if tried else math.nan,
        not_applicable=not_applicable,
        degenerate=_is_degenerate(tallies, answered, no_answer + cut_off),
        items=responded + failed + not_applicable,
        left_out=_left_out(scores, units),
    )


def _left_out(scores: pd.DataFrame, units: pd.DataFrame) -> float:
    """The share of items without a score, or with groups as units, of groups with such an item."""
    is_left_out = np.isnan(scores["value"].to_numpy(float))
    if units.index.name == "group_id" and is_left_out.any():
        return float(pd.Series(is_left_out).groupby([scores[name].to_numpy() for name in GROUP]).any().mean())
    return float(is_left_out.mean())


def _is_degenerate(tallies: Places, answered: int, unread: int) -> bool:
    """True if at least half of the replies hold no readable answer, or if all answers are the same.

    The same: at least ten questions with two or more different right answers all got one answer, by the keys of options
    or by their texts.
    """
    if unread and unread >= answered:
        return True
    if answered < 10:
        return False
    keys, key_truths, words, word_truths = tallies[1:, tallies[0] == OUTCOMES.index("answered")]
    return any(
        bool((answers == answers[0]).all() and (truths != truths[0]).any())
        for answers, truths in ((keys, key_truths), (words, word_truths))
    )


def printed_ceilings(suite: Suite, items: ItemSet) -> Sequence[Ceiling]:
    """The scores of people that the paper prints; none for a user's own images, which these people have not seen."""
    return () if items.card.source == OWN else suite.card.ceilings


def ceiling_of_part(printed: Sequence[Ceiling], task: str, metric: str, factor: str = "", level: str = "") -> float:
    """The score of people on a task or a part of it among those that the paper prints; NaN if there is none."""
    sought = task, metric, factor, level
    return next((c.value for c in printed if (c.task, c.metric, c.factor, c.level) == sought), math.nan)
