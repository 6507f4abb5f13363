"""Whether a subject was trained on a public item set: its scores there against those on a sealed set of one recipe.

The two sets differ in the seed alone, so a subject that saw neither has the same expected score on both. One that was
trained on the public set does better there. The scores are independent, since no item is in both sets; their intervals
respect clusters. Per task and condition the test is one-sided, with Holm's correction over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from snellen.analysis.run_view import main_metric, result_rows, row_by_arm, scored
from snellen.analysis.section import Run
from snellen.core.errors import SnellenError
from snellen.core.storage.seal import SEALED
from snellen.scoring.permutation import ALPHA, holm
from snellen.scoring.power import POWER
from snellen.scoring.uncertainty import unpaired_difference

SIGN, NO_SIGN, UNTESTED = "a sign", "no sign", "no interval"


@dataclass(frozen=True)
class Advantage:
    """How much better a subject is on the public set than on the sealed one, in one task under one condition.

    `public` and `sealed` are the scores of the main metric, `n_public` and `n_sealed` the numbers of units.
    `difference` is public minus sealed with its 95 % interval, in the unit of the metric, with the sign turned if less
    is better. `p` is one-sided and corrected. `detectable` is the least difference that this test finds with a power of
    80 %, infinite if there is none within the metric's range. All are NaN where a score has no interval. `verdict` is
    `SIGN`, `NO_SIGN` or `UNTESTED`.
    """

    task: str
    condition: str
    metric: str
    public: float
    sealed: float
    difference: float
    low: float
    high: float
    p: float
    detectable: float
    n_public: int
    n_sealed: int
    verdict: str = UNTESTED


def advantages(public: Run, sealed: Run) -> list[Advantage]:
    """The advantage in every task and condition that both runs, of one subject each, have scores for.

    Raises SnellenError for another subject or settings, the same items, or sets of different recipes or versions.
    """
    refuse_unlike(public, sealed)
    rows = []
    for task in public.suite.tasks.values():
        public_rows, sealed_rows = (row_by_arm(scored(result_rows(run, task.id))) for run in (public, sealed))
        metric = main_metric(public, task.id)
        for arm in (arm for arm in public_rows if arm in sealed_rows):
            pair = public_rows[arm], sealed_rows[arm]
            ends = [sorted((metric.sign * row.low, metric.sign * row.high)) for row in pair]
            scores = [(metric.sign * row.value, *both) for row, both in zip(pair, ends, strict=True)]
            difference, low, high = unpaired_difference(*scores)
            rows.append(
                Advantage(
                    task.id, arm.condition, metric.name, pair[0].value, pair[1].value, difference, low, high,
                    _one_sided_p(difference, low, high), math.nan, int(pair[0].n), int(pair[1].n),
                )
            )  # fmt: skip
    if not rows:
        raise SnellenError(f"{public.root} and {sealed.root}: no task is scored under the same condition in both")
    tests = sum(not math.isnan(row.p) for row in rows)
    return [
        replace(row, p=float(p), detectable=_detectable(row, tests, public), verdict=_verdict(float(p)))
        for row, p in zip(rows, holm([row.p for row in rows]), strict=True)
    ]


def _one_sided_p(difference: float, low: float, high: float) -> float:
    """p of a difference of at most 0, by the standard error towards 0 that the interval implies."""
    from scipy.special import ndtr, ndtri

    distance = difference - low if difference > 0 else high - difference
    if math.isnan(distance):
        return math.nan
    return float(ndtr(-difference * ndtri(1 - ALPHA / 2) / distance)) if distance > 0 else 0.5


def _detectable(advantage: Advantage, tests: int, run: Run) -> float:
    """(z of the level, shared among the tests, + z of the power) standard errors, as the interval implies them."""
    from scipy.special import ndtri

    error = (advantage.high - advantage.low) / 2 / float(ndtri(1 - ALPHA / 2))
    difference = (float(ndtri(1 - ALPHA / max(tests, 1))) + float(ndtri(POWER))) * error
    bounds = main_metric(run, advantage.task).bounds
    return math.inf if bounds is not None and difference > bounds[1] - bounds[0] else difference


def _verdict(p: float) -> str:
    return UNTESTED if math.isnan(p) else SIGN if p < ALPHA else NO_SIGN


def refuse_unlike(public: Run, sealed: Run) -> None:
    """Raise SnellenError unless two runs are of one subject about different items of one recipe and version."""
    cards = [run.items.card for run in (public, sealed)]
    both = f"{public.root} and {sealed.root}"
    if (cards[0].suite, cards[0].version, cards[0].source) != (cards[1].suite, cards[1].version, cards[1].source):
        kinds = [f"{card.suite} version {card.version} ({card.source})" for card in cards]
        raise SnellenError(f"{both}: {kinds[0]} and {kinds[1]}; compare sets of one recipe and version")
    recipes = [_without_amounts(card.recipe) for card in cards]
    if odd := [name for name in recipes[0] | recipes[1] if recipes[0].get(name) != recipes[1].get(name)]:
        raise SnellenError(
            f"{both}: the recipes differ in {', '.join(odd)}; build the public set with the same options"
        )
    if cards[0].rows_hash == cards[1].rows_hash:
        raise SnellenError(f"{both}: have the same items; give a run about the public set and one about the sealed set")
    arms = [run.card.arms[0] for run in (public, sealed)]
    if (arms[0].subject, arms[0].settings) != (arms[1].subject, arms[1].settings):
        raise SnellenError(
            f"{both}: {arms[0].subject} and {arms[1].subject} are other subjects, or have other settings"
        )


def _without_amounts(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe without seed, commitment, and numbers of items, which change precision but not difficulty."""
    return {
        name: value
        for name, value in recipe.items()
        if name not in ("seed", SEALED) and type(value) is not int and not _are_counts(value)
    }


def _are_counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(type(count) is int for count in value.values())
