"""Changes from one examined subject to another on the same items: by task, by ability or class, by item.

An ability is what items require (`Item.requires`), over all tasks whose scores are shares. Items that require several
abilities do not separate them: they form their own combination, `colour + shape`. An ability that is required by
exactly the items of one task is reported as that task. Numbers, intervals and tests are those of
`analysis.comparison.contrasts`. Conditions that show no or other images are controls, in which nothing can be lost, and
are left out.

Own images are tested by image, one-sided: did the subject get worse on these images? Each class is tested too, since a
drop in one class can be small in the whole. A test that holds for new classes has classes as clusters, mostly too few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import contrast, item_means
from snellen.analysis.comparison.verdicts import COLUMNS, Comparison, flips, plain_comparison, unpaired, with_verdicts
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.grading.states import DECLINED, THRESHOLD
from snellen.analysis.tables.run_view import (
    ReportArm,
    lines_of,
    main_metric,
    of_first_judge,
    protocol_in,
    result_rows,
    score_rows,
    unit_bounds,
    units_by_condition,
)
from snellen.analysis.tables.section import Run, once_a_run, protocol_of
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import MEASURED, Metric
from snellen.core.seeds import stream
from snellen.datasets.own_images import CLASS, OWN
from snellen.presentation.controls import IMAGES
from snellen.scoring.permutation import one_sided_p
from snellen.scoring.power import NORMAL_END

MARGIN = 0.2
"""Drop that must be detectable with own images, as a share of the metric's range."""
ENDS = ("low", "high", "p")
FEW, OTHERS = 6, "other combinations"
"""Items below which a combination of abilities has no separate row, and the row that it is added to."""


@dataclass(frozen=True, repr=False)
class Changes(Comparison):
    """Changes from the one subject of `before` to the one of `after`.

    `table` has one row per condition and task, estimate of a task besides its main one, ability or class (`kind`):
    `difference` is after minus before with its 95 % interval, `clear` as in contrasts, with Holm's
    correction over all classes, and over all other rows. For own images `clusters` are images, `p` is one-sided in the
    direction of the difference and decides alone, and the columns `class_…` have the two-sided test by class.
    `detectable_drop` (in the unit of the metric; infinite if there is none, NaN for a metric without a range) is the
    smallest drop that the test finds with a power of 80 %, at the strictest level of Holm's correction and with the
    observed noise (`noise_flips`). `items_needed` are the items that detect a drop of the share `margin` of the range:
    NaN if these do, infinite if no number does. `grade_before` and `grade_after` are the grades of a task in the two
    runs, or the states in their place; other rows have none.
    """

    before: Run
    after: Run

    @property
    def is_own(self) -> bool:
        """True for a set of own images, which is tested by image."""
        return self.before.items.card.source == OWN

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the images of both runs are the same files."""
        if self.before.has_images_of(self.after):
            return ()
        return ("The items are the same, but their images were rendered twice: single pixels may differ.",)


def plain_changes(compared: Changes) -> dict[str, Any]:
    """The comparison of two runs as JSON data."""
    return {"suite": compared.before.suite.name, **plain_comparison(compared)}


def changes(former: Run, current: Run, *, margin: float | None = None) -> Changes:
    """Compare two runs of one subject each. Raises SnellenError for different item sets, and if nothing pairs.

    `margin` is the drop that must be detectable: `MARGIN` for own images, infinite for other sets.
    """
    former, current = without_controls(former), without_controls(current)
    if not former.has_items_of(current):
        raise SnellenError(f"{former.root} and {current.root} have different items; run both on the same item set")
    least = margin or (MARGIN if former.items.card.source == OWN else math.inf)
    items = {(task, condition): pair for task, condition, pair in _item_pairs(former, current)}
    pairs = sum(len(pair.dropna()) for pair in items.values())
    rows = [*_task_rows(former, current), *_ability_and_class_rows(former, items)]
    unmeasured = list(_unmeasured(former, current))
    if not rows:
        before, after = _conditions(former), _conditions(current)
        reason = "" if before == after else f" under the same condition; the conditions are {before} and {after}"
        raise SnellenError(f"{former.root} and {current.root}: no item has a score in both runs{reason}")
    table = pd.DataFrame(rows, columns=[*COLUMNS, "family", "gaps", "units"])
    for name, run in (("grade_before", former), ("grade_after", current)):
        grades = _grades(run)
        table[name] = [
            grades.get((row.condition, row.name), "") if row.kind == "task" else "" for row in lines_of(table)
        ]
    metrics = {task: main_metric(former, task) for task in former.suite.tasks}
    is_own, card = former.items.card.source == OWN, former.suite.card
    return Changes(
        card.title,
        (former.card.arms[0].subject, current.card.arms[0].subject),
        metrics,
        {task: known.name for task, known in card.tasks.items()},
        with_verdicts(table, metrics, least, sides=1 if is_own else 2),
        flips(metrics, items),
        pairs,
        {(condition, task): unpaired(pair) for (task, condition), pair in items.items()}
        | {(condition, task): unpaired(pair) for task, condition, _, pair in unmeasured},
        (
            *(f"{task} [{condition}]" for (task, condition), pair in items.items() if pair.dropna().empty),
            *(f"{task} [{condition}] ({states})" for task, condition, states, _ in unmeasured),
        ),
        least,
        former,
        current,
    )


def _grades(run: Run) -> dict[tuple[str, str], str]:
    """The grade or state of each task of the run's subject, by condition and task; empty if its results are."""
    if run.results.empty:
        return {}
    rows = run.results[(run.results["protocol"] == protocol_of(run)) & (run.results["factor"] == "")]
    return {
        (str(row.condition), str(row.task)): row.grade.label
        for row in rows_of(rows)
        if row.metric == main_metric(run, str(row.task)).name
    }


def without_controls(run: Run) -> Run:
    """The run without the conditions that show no or other images."""
    arms = [arm for arm in run.card.arms if arm.columns.get(IMAGES.name, IMAGES.default) == IMAGES.default]
    if len(arms) == len(run.card.arms):
        return run
    conditions = {arm.condition for arm in arms}
    return replace(
        run,
        card=run.card.model_copy(update={"arms": arms}),
        responses=tuple(response for response in run.responses if response.condition in conditions),
        scores={name: rows[rows["condition"].isin(conditions)] for name, rows in run.scores.items()},
        results=run.results if run.results.empty else run.results[run.results["condition"].isin(conditions)],
    )


def _conditions(run: Run) -> str:
    return ", ".join(sorted({arm.condition for arm in run.card.arms})) or "controls alone"


def _item_pairs(former: Run, current: Run) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(task, condition, items with their score `before` and `after`, NaN for none, and `cluster`) of both runs."""
    for task in former.suite.tasks:
        sides = [_item_scores(run, task) for run in (former, current)]
        for condition in dict.fromkeys([*sides[0], *sides[1]]):
            empty = pd.DataFrame({"value": [], "cluster": []}, dtype=object)
            first, second = (side.get(condition, empty) for side in sides)
            pair = pd.DataFrame({"before": first["value"], "after": second["value"]}, dtype=float)
            yield task, condition, pair.assign(cluster=first["cluster"].combine_first(second["cluster"]))


@once_a_run
def _item_scores(run: Run, task: str) -> dict[str, pd.DataFrame]:
    """Mean value (NaN for none) and cluster of each item that was not declined, by condition."""
    if task not in set(run.scores[protocol_of(run)]["task"]) or main_metric(run, task).estimate is not None:
        return {}
    scores = score_rows(run, task)
    scores = scores[scores["outcome"] != "not_applicable"]
    return {
        str(condition): item_means(of_first_judge(part)) for condition, part in scores.groupby("condition", sort=False)
    }


def _task_rows(former: Run, current: Run) -> Iterator[dict[str, Any]]:
    for task in former.suite.tasks:
        yield from _threshold_rows(former, current, task)
        earlier, later = (units_by_condition(run, task) for run in (former, current))
        for condition, first in earlier.items():
            if (second := later.get(condition)) is None:
                continue
            both = first[["value", "cluster"]].join(second["value"].rename("after"), how="inner")
            arms = {ReportArm("before", condition): first, ReportArm("after", condition): second}
            yield from _row(former, condition, "task", task, (task,), both.rename(columns={"value": "before"}),
                            unit_bounds(former, task, arms))  # fmt: skip


def _threshold_rows(former: Run, current: Run, task: str) -> Iterator[dict[str, Any]]:
    """The rows of a task with a threshold in both runs, and of its further estimates (points of subjective equality).

    Logarithms of thresholds differ by a normal distribution whose variance is the sum of both, from the widths of the
    credible intervals. The interval of the difference is that of the ratio times the former threshold. Further
    estimates have signs: they differ by such a distribution themselves.
    """
    for metric in protocol_in(former, task).metrics:
        if metric.estimate is not None:
            yield from _estimate_rows(former, current, task, metric)


def _estimate_rows(former: Run, current: Run, task: str, metric: Metric) -> Iterator[dict[str, Any]]:
    is_main = metric == main_metric(former, task)
    kind, name = ("task", task) if is_main else ("estimate", f"{task}: {metric.words}")
    rows = (result_rows(run, task, metric=metric.name) for run in (former, current))
    earlier, later = ({row.condition: row for row in rows_of(of_run)} for of_run in rows)
    for condition, first in earlier.items():
        second = later.get(condition)
        if second is None or not first.grade.threshold == second.grade.threshold == MEASURED:
            continue
        if is_main:
            step = math.log(second.value / first.value)
            error = math.hypot(*(math.log(row.high / row.low) for row in (first, second))) / (2 * NORMAL_END)
            low, high = (first.value * math.expm1(step + side * NORMAL_END * error) for side in (-1, 1))
        else:
            step = second.value - first.value
            error = math.hypot(*(row.high - row.low for row in (first, second))) / (2 * NORMAL_END)
            low, high = (step + side * NORMAL_END * error for side in (-1, 1))
        count = min(first.n, second.n)
        yield {
            "condition": condition, "kind": kind, "name": name, "tasks": (task,), "family": False,
            "metric": metric.name, "before": first.value, "after": second.value,
            "difference": second.value - first.value, "low": low, "high": high, "n": count, "clusters": count,
            "p": math.erfc(abs(step) / error / math.sqrt(2)), "gaps": np.zeros(0), "units": np.zeros(0, str),
        }  # fmt: skip


def _unmeasured(former: Run, current: Run) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """(task, condition, what it is in each run, unpaired items) of each threshold that is not measured in both runs.

    No items if both are the same: it is not understood, declined or beyond the levels twice, and nothing has changed.
    """
    for task in former.suite.tasks:
        if main_metric(former, task).estimate is None:
            continue
        sides = [{row.condition: row for row in rows_of(result_rows(run, task))} for run in (former, current)]
        for condition in dict.fromkeys([*sides[0], *sides[1]]):
            rows = [side.get(condition, ResultRow()) for side in sides]
            before, after = (row.grade.threshold for row in rows)
            is_same = before == after and rows[0].grade.state in (THRESHOLD, DECLINED)
            known = [1.0 if state == MEASURED else math.nan for state in (before, after)]
            pair = pd.DataFrame([known] * (0 if is_same else max(1, rows[0].n, rows[1].n)), columns=["before", "after"])
            if sum(known) != 2:
                yield task, condition, " → ".join(dict.fromkeys((before, after))), pair


def _ability_and_class_rows(run: Run, pairs: Mapping[tuple[str, str], pd.DataFrame]) -> Iterator[dict[str, Any]]:
    by_condition: dict[str, list[pd.DataFrame]] = {}
    for (task, condition), pair in pairs.items():
        if _is_share(main_metric(run, task)) and len(pair := pair.dropna()):
            by_condition.setdefault(condition, []).append(pair.assign(task=task))
    for condition, parts in by_condition.items():
        whole = pd.concat(parts)
        abilities = pd.Series([" + ".join(sorted(run.items.by_id[item_id].requires)) for item_id in whole.index])
        rare = abilities.str.contains("+", regex=False) & (abilities.map(abilities.value_counts()) < FEW)
        abilities = abilities.mask(rare, OTHERS)
        for ability in sorted(set(abilities) - {""}):
            part = whole[(abilities == ability).to_numpy()]
            tasks = tuple(dict.fromkeys(part["task"]))
            if len(tasks) > 1 or len(part) < (whole["task"] == tasks[0]).sum():
                yield from _row(run, condition, "ability", ability, tasks, part, (0.0, 1.0))
        classes = np.array([_own_class(run, run.items.by_id[item_id]) for item_id in whole.index], object)
        for name in sorted(set(classes) - {""}):
            part = whole[classes == name]
            yield from _row(run, condition, "class", name, tuple(dict.fromkeys(part["task"])), part, (0.0, 1.0))


def _own_class(run: Run, item: Item) -> str:
    """The class of an item of own images; empty if it has none, and for other sets."""
    return item.factors.get(CLASS, "") if run.items.card.source == OWN else ""


def _is_share(metric: Metric) -> bool:
    return metric.share and metric.higher_is_better and metric.bounds == (0.0, 1.0) and metric.summary == "mean"


def _row(
    run: Run, condition: str, kind: str, name: str, tasks: Sequence[str], both: pd.DataFrame, bounds: Any
) -> Iterator[dict[str, Any]]:
    """One row of the table without the columns that depend on all rows; none if nothing pairs."""
    if both.empty:
        return
    first, second = both["before"].to_numpy(float), both["after"].to_numpy(float)
    clusters, key = both["cluster"].to_numpy(str), ("changes", run.card.suite, condition, kind, name)
    metric = main_metric(run, tasks[0])
    if run.items.card.source == OWN:
        classes, clusters = _classes_and_images(run, both)
        by_class = contrast(second, first, classes, *key, bounds=bounds)
        numbers: dict[str, Any] = contrast(second, first, clusters, *key, "by image", bounds=bounds)
        numbers["p"] = one_sided_p(second - first, clusters, stream("permutation", *key, "by image"))
        if kind != "class":
            numbers |= {"classes": by_class["clusters"], **{f"class_{end}": by_class[end] for end in ENDS}}
    else:
        numbers = contrast(second, first, clusters, *key, bounds=bounds)
    yield {
        "condition": condition, "kind": kind, "name": name, "tasks": tuple(tasks), "family": kind == "class",
        "metric": metric.name, "before": first.mean(), "after": second.mean(), **numbers,
        "gaps": second - first, "units": clusters,
    }  # fmt: skip


def _classes_and_images(run: Run, both: pd.DataFrame) -> tuple[Any, Any]:
    """The class (or thing) of each unit, and the image; near copies are one image.

    Items without the factor `class` have their class, or thing, as their cluster.
    """
    groups = {}
    for item in run.items.items:
        name = _own_class(run, item)
        pair = (name, item.cluster_id) if name else (item.cluster_id, item.stimulus_id)
        groups[item.group_id] = groups[item.item_id] = pair
    classes, images = zip(*(groups[unit] for unit in both.index), strict=True)
    return np.array(classes), np.array(images)
