"""Results: one row a subject, task, condition and metric, with everything that must travel with a number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.core.item import Item
from snellen.core.itemset import ItemSet
from snellen.core.runfolder import ArmCard
from snellen.core.score import Metric, Protocol
from snellen.core.seeds import stream
from snellen.core.suite import Suite, Task
from snellen.scoring.power import detectable, units_needed
from snellen.scoring.uncertainty import Interval, summary_interval

KEYS = ("subject", "suite", "task", "condition", "split", "protocol", "judge", "metric")
NUMBERS = (
    "value",
    "low",
    "high",
    "interval",
    "value_read",
    "n",
    "clusters",
    "detectable",
    "items_needed",
    "chance",
    "blind",
    "ceiling",
    "no_answer_rate",
    "failure_rate",
    "not_applicable",
    "factor",
    "level",
    "unable",
)

IntervalOf: TypeAlias = Callable[[pd.DataFrame, Metric, tuple[Any, ...]], Interval]
"""From scored units, their metric, and what names their row, to the interval of the row's value."""

UNABLE_RULE = (
    "a subject is marked unable where at least half of its replies hold no readable answer, or where at least ten "
    "questions "
    "with two or more different right answers got one and the same answer throughout"
)


def result_columns(suite: Suite) -> list[str]:
    """The columns of `results.csv`: keys, one column an axis after `condition`, then the numbers."""
    return [*KEYS[:4], *(axis.name for axis in suite.axes), *KEYS[4:], *NUMBERS]


def unit_interval(units: pd.DataFrame, metric: Metric, key: tuple[Any, ...]) -> Interval:
    """The interval that the metric's range and summary call for; of weighed units with their weights."""
    if units.empty:
        return Interval(math.nan, math.nan, "")
    weights = units["weight"].to_numpy(float) if "weight" in units else np.ones(len(units))
    values, clusters = units["value"].to_numpy(float) / weights, units["cluster_id"].to_numpy(str)
    rng = stream("interval", *map(str, key))
    try:
        return summary_interval(values, clusters, metric.summary, metric.bounds, rng, weights)
    except ValueError as error:
        raise ValueError(f"metric {metric.name}: {error}") from error


def results(
    scores: pd.DataFrame,
    items: ItemSet,
    suite: Suite,
    arms: Sequence[ArmCard],
    interval_of: IntervalOf = unit_interval,
) -> pd.DataFrame:
    """Scores put together. What was never asked has no row; a declined arm is one row without value, n = 0.

    Whole-task rows have empty `factor` and `level`; rows of a subgroup name them. `value`, `low`, `high`, `value_read`,
    `chance`, `blind` and `ceiling` are fractions 0 to 1 for metrics that are shares, natural units otherwise.
    `value_read` is the same as `value` over the units all of whose replies were read; NaN where there is none.
    """
    columns = {(arm.subject, arm.condition): arm.columns for arm in arms}
    blind = {score.key: score.value for score in items.blind.scores} if items.blind else {}
    scores = with_python_strings(scores).copy()  # a copy has the columns of a kind in one block, to be cut at once
    rows = []
    for key, arm_scores in scores.groupby(list(KEYS), sort=False):
        keys = dict(zip(KEYS, map(str, key), strict=True))
        task = suite.tasks[keys["task"]]
        protocol = task.protocols[keys["protocol"]]
        axes = columns.get((keys["subject"], keys["condition"]), {})
        for factor, level, part in parts_of(arm_scores, items.by_id, task):
            blind_key = (keys["task"], keys["protocol"], keys["metric"], factor, level)
            unseen = blind.get(blind_key, math.nan)
            numbers = _numbers(part, protocol, keys["metric"], (*key, factor, level), unseen, interval_of)
            facts = {
                "ceiling": _ceiling(suite, keys, factor, level),
                "factor": factor,
                "level": level,
            }
            rows.append({**keys, **axes, **numbers, **facts})
    return pd.DataFrame(rows, columns=result_columns(suite))


def with_python_strings(rows: pd.DataFrame) -> pd.DataFrame:
    """The same with strings and names of columns as Python objects: of Arrow's, small parts cost many times more.

    Equal strings of a column are one object.
    """
    strings = {name: _shared(rows[name]) for name in rows.columns if isinstance(rows[name].dtype, pd.StringDtype)}
    rows = rows.assign(**strings)
    return rows.set_axis(rows.columns.astype(object), axis=1)


def _shared(strings: pd.Series[Any]) -> pd.Series[Any]:
    codes, names = pd.factorize(strings, use_na_sentinel=False)
    return pd.Series(np.asarray(names, object)[codes], index=strings.index, dtype=object)


def baseline(row: Any, metric: Metric) -> float:
    """What a row's subject must be better than to have seen anything: the better of chance and blind; NaN for neither.

    `blind` is what the best attacker gets that does not look (`analysis.blind`).
    """
    return _better(row.chance, row.blind, metric)


def _better(chance: float, blind: float, metric: Metric) -> float:
    known = [float(score) for score in (chance, blind) if not math.isnan(score)]
    return (max if metric.higher_is_better else min)(known) if known else math.nan


def metric_of(protocol: Protocol, name: str) -> Metric:
    """The metric of that name."""
    return next(metric for metric in protocol.metrics if metric.name == name)


def parts_of(
    arm_scores: pd.DataFrame, items: Mapping[str, Item], task: Task
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(factor, level, its scores) of everything that has a row of its own; the whole task first, with empty names.

    `items` are by their id. `requires` splits by what the items need.
    """
    yield "", "", arm_scores
    if (arm_scores["outcome"].to_numpy() == "not_applicable").all():
        return
    items_of_scores = [items[name] for name in arm_scores["item_id"].tolist()]
    for factor in task.split_by:
        levels = np.array([item.factors.get(factor, "") for item in items_of_scores])
        for level in sorted(set(levels) - {""}):
            yield factor, level, arm_scores.take(np.flatnonzero(levels == level))
    for required in sorted({name for item in items_of_scores for name in item.requires}):
        needs = np.array([required in item.requires for item in items_of_scores])
        yield "requires", required, arm_scores.take(np.flatnonzero(needs))
        if not needs.all():
            yield "requires", f"not {required}", arm_scores.take(np.flatnonzero(~needs))


def _numbers(
    scores: pd.DataFrame, protocol: Protocol, name: str, key: tuple[Any, ...], blind: float, interval_of: IntervalOf
) -> dict[str, Any]:
    metric = metric_of(protocol, name)
    count = Counter(scores["outcome"].tolist())
    responded = count["answered"] + count["no_answer"]
    tried = responded + count["failed"]
    units = units_read = units_of(scores, protocol)
    if count["no_answer"]:
        read_values = scores["value"].mask(scores["outcome"] == "no_answer")
        units_read = units_of(scores.assign(value=read_values), protocol)
    low, high, kind = interval_of(units, metric, key)
    value = summary(units["value"].to_numpy(float), metric)
    value_read = value if units_read is units else summary(units_read["value"].to_numpy(float), metric)
    chance = units["chance"].mean() if len(units) else math.nan
    return {
        "value": value,
        "low": low,
        "high": high,
        "interval": kind,
        "value_read": value_read,
        "n": len(units),
        "clusters": len(set(units["cluster_id"].tolist())),
        "detectable": detectable(low, high),
        "items_needed": units_needed(value, _better(chance, blind, metric), low, high, len(units)),
        "chance": chance,
        "blind": blind,
        "no_answer_rate": count["no_answer"] / responded if responded else math.nan,
        "failure_rate": count["failed"] / tried if tried else math.nan,
        "not_applicable": count["not_applicable"],
        "unable": is_unable(scores),
    }


def units_of(scores: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """The scored units of all repeats, as `Protocol.units` gives them; those without a value are left out.

    Of several repeats, with a column `repeat`.
    """
    repeats = scores["repeat"].to_numpy()
    if (repeats != repeats[:1]).any():
        units = pd.concat([protocol.units(once).assign(repeat=n) for n, once in scores.groupby("repeat")])
    else:
        units = protocol.units(scores)
    unscored = np.isnan(units["value"].to_numpy(float))
    return units[~unscored] if unscored.any() else units


def summary(values: np.ndarray[Any, np.dtype[np.float64]], metric: Metric) -> float:
    """Units put together as the metric says; NaN for none."""
    if not len(values):
        return math.nan
    if metric.summary == "median":
        return float(np.median(values))
    if metric.summary == "root mean square":
        return float(np.sqrt(np.mean(values**2)))
    return float(np.mean(values))


def is_unable(scores: pd.DataFrame) -> bool:
    """The flag beside a score, never in its place; the rule stands in `UNABLE_RULE`."""
    count = Counter(scores["outcome"].tolist())
    if count["no_answer"] and count["no_answer"] >= count["answered"]:
        return True
    if count["answered"] < 10:
        return False
    answered = np.flatnonzero(scores["outcome"].to_numpy() == "answered")
    predictions, truths = (scores[name].to_numpy()[answered].tolist() for name in ("prediction", "truth"))
    return len(set(predictions)) == 1 and len(set(truths)) > 1


def _ceiling(suite: Suite, keys: Mapping[str, str], factor: str, level: str) -> float:
    sought = keys["task"], keys["metric"], factor, level
    ceilings = (c.value for c in suite.card.ceilings if (c.task, c.metric, c.factor, c.level) == sought)
    return next(ceilings, math.nan)
