"""Changes of scores between two item sets of one recipe, such as a public set and a sealed one.

No item is in both, so nothing can be paired: the scores are independent, and the interval of a difference combines
those of both, which respect clusters. The tests are two-sided, with Holm's correction over all tasks and conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from snellen.analysis.comparison.changes import without_controls
from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.tables.run_view import main_metric, result_rows, row_by_arm, scored
from snellen.analysis.tables.section import Run
from snellen.core.errors import SnellenError
from snellen.core.storage.seal import SEALED
from snellen.scoring.permutation import ALPHA, holm
from snellen.scoring.power import POWER
from snellen.scoring.uncertainty import unpaired_difference

DROPPED, ROSE, NO_CHANGE, UNTESTED = "dropped", "rose", "no clear change", "no interval"
ONLY_BEFORE, ONLY_AFTER = "only before", "only after"


@dataclass(frozen=True)
class UnpairedChange:
    """How much better or worse the score of a task is on the second set, under one condition.

    `before` and `after` are the scores of the main metric, `n_before` and `n_after` the numbers of units. `difference`
    is after minus before with its 95 % interval, in the unit of the metric, with the sign turned if less is better. `p`
    is two-sided and corrected. `detectable` is the least difference that this test finds with a power of 80 %, infinite
    if there is none within the metric's range. All are NaN where a score has no interval, or one side no score.
    `failure_rate` is the greater share of calls that failed of both sides.
    """

    task: str
    condition: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    n_before: int
    n_after: int
    detectable: float = math.nan
    verdict: str = UNTESTED
    failure_rate: float = 0.0


def unpaired_changes(first_run: Run, second_run: Run) -> list[UnpairedChange]:
    """The change in every task and condition (but controls) that one of the runs, of one subject each, has scores for.

    Raises SnellenError for sets of different recipes or versions, and if no row has both scores.
    """
    first_run, second_run = without_controls(first_run), without_controls(second_run)
    _refuse_unlike(first_run, second_run)
    rows = []
    for task in first_run.suite.tasks.values():
        arms = (row_by_arm(scored(result_rows(run, task.id))) for run in (first_run, second_run))
        former, current = ({arm.condition: row for arm, row in by_arm.items()} for by_arm in arms)
        sign = main_metric(first_run, task.id).sign
        for condition in dict.fromkeys([*former, *current]):
            row, other = former.get(condition, ResultRow()), current.get(condition, ResultRow())
            ends = unpaired_difference(*(_turned(result, sign) for result in (other, row)))
            rows.append(UnpairedChange(
                task.id, condition, row.value, other.value, *ends, _p(*ends), int(row.n), int(other.n),
                failure_rate=max(0.0, row.failure_rate, other.failure_rate),
            ))  # fmt: skip
    if not any(row.n_before and row.n_after for row in rows):
        raise SnellenError(
            f"{first_run.root} and {second_run.root} have different items, and no task and condition in common"
        )
    tests = sum(not math.isnan(row.p) for row in rows)
    return [
        replace(row, p=float(p), detectable=_detectable(row, tests, first_run), verdict=_verdict(row, float(p)))
        for row, p in zip(rows, holm([row.p for row in rows]), strict=True)
    ]


def is_undecided(change: UnpairedChange, run: Run, margin: float | None) -> bool:
    """True if a drop may be missed: without a test, with failed calls, or of `margin`, as a share of the range."""
    bounds = main_metric(run, change.task).bounds or (0.0, math.inf)
    least = (margin or math.inf) * (bounds[1] - bounds[0]) + 1e-9
    return math.isnan(change.p) or change.failure_rate > 0 or change.detectable > least


def _turned(row: ResultRow, sign: float) -> tuple[float, float, float]:
    """The score with its interval, signs turned so that more is better."""
    low, high = sorted((sign * row.low, sign * row.high))
    return sign * row.value, low, high


def _p(difference: float, low: float, high: float) -> float:
    """Two-sided p of no difference, by the standard error towards 0 that the interval implies."""
    from scipy.special import ndtr, ndtri

    distance = difference - low if difference > 0 else high - difference
    if math.isnan(distance):
        return math.nan
    return float(2 * ndtr(-abs(difference) * ndtri(1 - ALPHA / 2) / distance)) if distance > 0 else 1.0


def _detectable(change: UnpairedChange, tests: int, run: Run) -> float:
    """(z of the level, shared among the tests, + z of the power) standard errors, as the interval implies them."""
    from scipy.special import ndtri

    error = (change.high - change.low) / 2 / float(ndtri(1 - ALPHA / 2))
    difference = (float(ndtri(1 - ALPHA / 2 / max(tests, 1))) + float(ndtri(POWER))) * error
    bounds = main_metric(run, change.task).bounds
    return math.inf if bounds is not None and difference > bounds[1] - bounds[0] else difference


def _verdict(change: UnpairedChange, p: float) -> str:
    if math.isnan(p):
        return ONLY_BEFORE if not change.n_after else UNTESTED if change.n_before else ONLY_AFTER
    return NO_CHANGE if p >= ALPHA else ROSE if change.difference > 0 else DROPPED


def _refuse_unlike(first_run: Run, second_run: Run) -> None:
    """Raise SnellenError unless the sets of two runs are of one recipe and version."""
    cards = [run.items.card for run in (first_run, second_run)]
    both = f"{first_run.root} and {second_run.root} have different items"
    if (cards[0].suite, cards[0].version, cards[0].source) != (cards[1].suite, cards[1].version, cards[1].source):
        kinds = [f"{card.suite} version {card.version} ({card.source})" for card in cards]
        raise SnellenError(f"{both}: {kinds[0]} and {kinds[1]}; ask both about the same item set")
    recipes = [_without_amounts(card.recipe) for card in cards]
    if odd := [name for name in recipes[0] | recipes[1] if recipes[0].get(name) != recipes[1].get(name)]:
        raise SnellenError(f"{both}, and their recipes differ in {', '.join(odd)}; ask both about the same item set")
    if cards[0].source != "generated":
        raise SnellenError(f"{both}; ask both about the same item set")


def _without_amounts(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe without seed, commitment, and numbers of items, which change precision but not difficulty."""
    return {
        name: value
        for name, value in recipe.items()
        if name not in ("seed", SEALED) and type(value) is not int and not _are_counts(value)
    }


def _are_counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(type(count) is int for count in value.values())
