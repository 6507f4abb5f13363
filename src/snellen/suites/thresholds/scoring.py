"""Thresholds of a subject's answers: the metric of every task, and the order in which its items are asked.

A threshold is the level at which half of the answers that are neither guesses nor lapses are right. Judgements with
yes and no have the spread of what is judged in its place, and the point at which both are equally frequent. Half of the
controls or fewer right: the subject did not understand the question, and has no threshold. Of judgements three quarters
or fewer, since a subject that always gives the same answer has half of them right, and one that guesses often more. Of
fewer than four controls, as in studies of people, one right is enough.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.grading import states
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement, Metric, Protocol
from snellen.core.seeds import stream
from snellen.core.suite import Schedule, Trial, replayed
from snellen.scoring.equality import equality, equality_grid
from snellen.scoring.protocols import ACCURACY, HIT, strict
from snellen.suites.thresholds import pointing
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.contrast import FREQUENCIES
from snellen.suites.thresholds.measures.measure import YES_OR_NO, Measure
from snellen_sight.psychometric import (
    CREDIBLE,
    Answers,
    Fit,
    FunctionGrid,
    deviance_p,
    fit,
    next_conditions,
    posterior,
    sensitivity_grid,
    weibull_grid,
)

BATCH, ANSWERS = 8, 40
"""Answers between two choices of levels, and answers to a task besides its controls."""
FIRST_CONTROLS, LATER_CONTROLS = 4, 1
"""Controls in the first batch and in each later one."""
NO_FIT = 0.01
"""The share of simulated data sets below which a note says that the answers fit no psychometric function."""
MODELLED = frozenset(("control", "level", "variant", "canvas"))
"""Factors that the functions account for."""


def error(item: Item, prediction: object) -> float:
    """0.0 if the prediction is the item's answer, or a point within its target, else 1.0."""
    return 1.0 - (HIT if item.answer_kind == "point" else ACCURACY).score(item, prediction)


@cache
def grid_of(task: str, side: int) -> FunctionGrid:
    """The psychometric functions of a task on a canvas of this side."""
    measure = MEASURES[task]
    levels = measure.positions_on(side)
    if measure.is_judgement:
        grid = equality_grid(levels)
        return replace(grid, right=np.vstack([grid.right, 1.0 - grid.lapses / 2]))
    if len(measure.variants) > 1 and not measure.is_pointing:
        return sensitivity_grid(levels, list(FREQUENCIES.values()), len(measure.answers))
    return weibull_grid(levels, measure.alternatives)


def side_of(items: Sequence[Item]) -> int:
    """The side of the canvas of items of one set, in pixels; of several the smallest."""
    return round(min(item.measures["canvas_px"] for item in items))


def condition_of(item: Item) -> int:
    """The index of an item's condition in the grid of its task."""
    measure = MEASURES[item.task]
    count = len(measure.levels)
    if item.factors["control"] == "yes":
        return count * (1 if measure.is_pointing else len(measure.variants))
    if measure.is_pointing:
        return int(item.factors["level"]) - 1
    return measure.variants.index(item.factors["variant"]) * count + int(item.factors["level"]) - 1


class Fitted(NamedTuple):
    """The fit to the answers of a subject to a task, with the grid and the answers themselves."""

    fit: Fit
    functions: FunctionGrid
    answers: Answers
    side: int
    is_judgement: bool

    @property
    def is_understood(self) -> bool:
        """True unless half of the controls (of judgements three quarters) or fewer were answered right.

        Of fewer than `FIRST_CONTROLS`, as in studies, one is enough: a single lapse does not speak against people, who
        have practised until they were right.
        """
        controls, right = int(self.answers.counts[-1]), int(self.answers.right[-1])
        if controls < FIRST_CONTROLS:
            return not controls or right > 0
        return 4 * right > 3 * controls if self.is_judgement else 2 * right > controls


def answers_of(items: Sequence[Item], errors: Sequence[float]) -> Answers:
    """The answers by condition; those without a score are left out. Several answers to an item all count.

    Of items on several canvases only those on the smallest count.
    """
    side = side_of(items)
    counts, right = np.zeros((2, len(grid_of(items[0].task, side).right)), np.int64)
    for _, condition, is_right in _trials(items, errors):
        counts[condition] += 1
        right[condition] += is_right
    return Answers(counts, right)


def _trials(items: Sequence[Item], errors: Sequence[float]) -> Iterator[tuple[Item, int, bool]]:
    """(item, condition, whether right) of each answer with a score on the smallest canvas.

    Of judgements the answers with yes count, whether they are right or not.
    """
    side = side_of(items)
    for item, value in zip(items, errors, strict=True):
        if not math.isnan(value) and item.measures["canvas_px"] == side:
            says_no = MEASURES[item.task].is_judgement and item.factors["control"] != "yes" and item.answer == "no"
            yield item, condition_of(item), (value == 0.0) != says_no


def fitted(items: Sequence[Item], errors: Sequence[float]) -> Fitted:
    """The fit to the answers to items of one task."""
    side = side_of(items)
    grid, answers = grid_of(items[0].task, side), answers_of(items, errors)
    return Fitted(fit(grid, answers), grid, answers, side, MEASURES[items[0].task].is_judgement)


def digits(value: float) -> str:
    """A level without its unit, two or three significant digits."""
    return f"{value:#.{3 if abs(value) >= 1 else 2}g}".rstrip(".")


def amount(value: float, measure: Measure) -> str:
    """A level with its unit."""
    return f"{digits(value)}{'' if measure.unit == '°' else ' '}{measure.unit}"


def with_ends(value: float, low: float, high: float, measure: Measure) -> str:
    """A threshold with its unit and interval: `6.10 px [5.20, 7.00]`."""
    return f"{amount(value, measure)} [{digits(low)}, {digits(high)}]"


def estimate_text(estimate: Any, measure: Measure) -> str:
    """A measurement as a text: with its interval, as a bound, or the reason why there is none."""
    if estimate.reason == MEASURED:
        return with_ends(estimate.value, estimate.low, estimate.high, measure)
    sign = {BELOW: "less than ", ABOVE: "more than "}.get(estimate.reason)
    return f"{sign}{amount(estimate.value, measure)}" if sign else str(estimate.reason)


def threshold(measure: Measure, items: Sequence[Item], errors: Sequence[float], is_point: bool = False) -> Measurement:
    """The threshold of a subject with its 95 % interval; of a judgement the spread, or the PSE."""
    if not items:
        return Measurement(math.nan, math.nan, math.nan, "", "", "")
    result = fitted(items, errors)
    if not result.is_understood:
        right, controls = int(result.answers.right[-1]), int(result.answers.counts[-1])
        return Measurement(
            math.nan, math.nan, math.nan, "", NOT_UNDERSTOOD, f"{right} of {controls} easy questions right"
        )
    if measure.is_judgement:
        estimate = point_and_spread(measure, result)[0 if is_point else 1]
    else:
        levels = measure.levels_on(result.side)
        value, low, high = (float(10**end) for end in result.fit[:3])
        estimate = _within((value, low, high), (levels[0], levels[-1]), measure)
    if estimate.reason != MEASURED:
        return estimate
    faults = ["the answers fit no psychometric function"] * (goodness_of_fit(measure.task, result) < NO_FIT)
    faults += [f"the threshold depends on {factor}" for factor in uneven_factors(result, items, errors)]
    faults += ["its first and its second half have different thresholds"] * has_drift(result, items, errors)
    return replace(estimate, note="; ".join((estimate.note, *faults)))


def uneven_factors(fitted_answers: Fitted, items: Sequence[Item], errors: Sequence[float]) -> list[str]:
    """The factors of the images, such as polarity, by whose levels answers differ from the fit to all of them.

    Answers right beyond those expected are summed for each level of a factor. The sum of their squares over variances
    is compared with chi squared; `NO_FIT` is divided among factors. With 40 answers of a subject with eight
    alternatives, thresholds at a ratio of 4 between two equally frequent kinds are noticed in 85 %, of 2 in 37 %.
    """
    from scipy.stats import chi2

    right, wrong = fitted_answers.functions.logs
    counts, hits = fitted_answers.answers
    expected = fitted_answers.functions.right[:, np.argmax(hits @ right + (counts - hits) @ wrong)]
    sums: dict[str, dict[str, NDArray[np.float64]]] = {}
    for item, condition, is_right in _trials(items, errors):
        p = expected[condition]
        for factor, level in item.factors.items():
            if factor not in MODELLED:
                sums.setdefault(factor, {}).setdefault(level, np.zeros(2))[:] += is_right - p, p * (1 - p)
    several = {factor: list(of_levels.values()) for factor, of_levels in sums.items() if len(of_levels) > 1}
    return [
        factor.replace("_", " ")
        for factor, of_levels in several.items()
        if chi2.sf(sum(beyond**2 / max(variance, 1e-9) for beyond, variance in of_levels), len(of_levels) - 1)
        < NO_FIT / len(several)
    ]


def has_drift(fitted_answers: Fitted, items: Sequence[Item], errors: Sequence[float]) -> bool:
    """True if two thresholds, one of each half of the answers, explain them better than one (likelihood ratio).

    The halves are those of the order of `schedule`; of answers in another order it is unknown, and of contrasts it is
    not tested. Of simulated observers, 45 % with a sudden loss of a factor 2.2 after 20 answers are noticed, 61 % of
    3.2, 17 % who tire by a factor of 2.5 in all, and .5 % who do not change (100 or 200 each). Of observers who do not
    change but have a flat slope or lapse often, 3 to 6 % are noticed (150 each).
    """
    from scipy.stats import chi2

    functions = fitted_answers.functions
    if functions.by_frequency is not None or len(order := _asked_order(items, errors)) < 2:
        return False
    right, wrong = functions.logs
    halves = [answers_of(*zip(*half, strict=True)) for half in (order[: len(order) // 2], order[len(order) // 2 :])]
    logs = [hits @ right + (counts - hits) @ wrong for counts, hits in halves]
    # Slope and lapse rate are the same in both; thresholds are the first axis of a grid.
    best = [part.reshape(len(np.unique(functions.thresholds)), -1).max(0) for part in logs]
    return bool(chi2.sf(2 * (max(best[0] + best[1]) - max(logs[0] + logs[1])), 1) < NO_FIT)


def _asked_order(items: Sequence[Item], errors: Sequence[float]) -> list[tuple[Item, float]]:
    """The items on the smallest canvas with their errors in the order of `schedule`; empty if it was another."""
    side = side_of(items)
    pairs = [pair for pair in zip(items, errors, strict=True) if pair[0].measures["canvas_px"] == side]
    answers = {item.item_id: (item, value) for item, value in pairs}
    order = schedule(items)([Trial((item.view(),)) for item, _ in answers.values()])
    batches = replayed(order, lambda name: answers[name][1])
    in_order = [answers[view.item_id] for batch in batches for trial in batch for view in trial.views]
    return in_order if len(in_order) == len(pairs) else []


def goodness_of_fit(task: str, fitted_answers: Fitted) -> float:
    """The share of simulated observers whose answers fit no better (`deviance_p`)."""
    return deviance_p(fitted_answers.functions, fitted_answers.answers, stream("goodness of fit", task))


def _within(ends: tuple[float, float, float], bounds: tuple[float, float], measure: Measure) -> Measurement:
    """A value with its interval, or the bound that it is beyond."""
    for is_beyond, bound, reason in ((ends[0] < bounds[0], bounds[0], BELOW), (ends[0] > bounds[1], bounds[1], ABOVE)):
        if is_beyond:
            return Measurement(bound, math.nan, math.nan, "", reason, "")
    return Measurement(*ends, CREDIBLE, MEASURED, with_ends(*ends, measure))


def point_and_spread(measure: Measure, fitted_answers: Fitted) -> tuple[Measurement, Measurement]:
    """The point of subjective equality and the spread of a judgement.

    The levels measure points between them, and spreads from half their distance to half their range. Around a point
    beyond them no spread is known.
    """
    judged = equality(fitted_answers.functions, fitted_answers.answers)
    least, most = measure.levels[0], measure.levels[-1]
    point = _within(judged[:3], (least, most), measure)
    if point.reason != MEASURED:
        note = "the point of subjective equality is beyond the levels"
        return point, Measurement(math.nan, math.nan, math.nan, "", states.NO_BASELINE, note)
    narrow, wide = (measure.levels[1] - least) / 2, (most - least) / 2
    return point, _within(judged[3:], (narrow, wide), measure)


def protocols(measure: Measure) -> Mapping[str, Protocol]:
    """The protocols of a task: `strict`, whose main metric is the threshold; of a judgement the spread."""
    metric = Metric(
        "threshold",
        error,
        worst=1.0,
        higher_is_better=False,
        share=False,
        estimate=partial(threshold, measure),
        unit=measure.unit,
        title=f"{'spread' if measure.is_judgement else 'threshold'}, {measure.unit}",
    )
    if measure.is_pointing:
        protocol = strict(metric, *pointing.metrics(), HIT)
        return {"strict": replace(protocol, agrees=lambda item, point: error(item, point) == 0.0, tolerance="on a hit")}
    if not measure.is_judgement:
        return {"strict": strict(metric, ACCURACY)}
    point = replace(
        metric,
        name="point",
        estimate=partial(threshold, measure, is_point=True),
        title=f"point of subjective equality, {measure.unit}",
        remark="point of subjective equality {value}",
    )
    return {"strict": strict(metric, point, ACCURACY)}


def schedule(items: Sequence[Item]) -> Schedule:
    """The order in which test items of a task are asked: batches of eight at the levels that tell most.

    Each batch has easy controls besides, of the first four at least two must be right for others to follow. The
    exemplars of a level come in an order that depends on their ids alone. Decisions depend on whole batches, never on
    which answer arrives first. An item without an answer counts as asked, not as wrong. Of a set with several canvases
    one after the other is asked in this way.
    """
    by_id, by_side = {item.item_id: item for item in items}, dict[float, list[Item]]()
    for item in sorted(items, key=lambda item: item.measures["canvas_px"]):
        by_side.setdefault(item.measures["canvas_px"], []).append(item)

    def order(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        for side, of_side in by_side.items():
            part = [trial for trial in trials if by_id[trial.views[0].item_id].measures["canvas_px"] == side]
            yield from of_canvas(of_side, part)

    def of_canvas(
        items: Sequence[Item], trials: Sequence[Trial]
    ) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        if not trials:
            return
        grid, errors = grid_of(items[0].task, side_of(items)), dict[str, float]()
        queues: list[list[Trial]] = [[] for _ in range(len(grid.right))]
        for trial in sorted(trials, key=lambda trial: digest([trial.views[0].item_id]), reverse=True):
            queues[condition_of(by_id[trial.views[0].item_id])].append(trial)
        if MEASURES[items[0].task].is_judgement:  # as many of each answer, whenever asking ends
            sides = (
                [trial for trial in queues[-1] if by_id[trial.views[0].item_id].answer == key] for key in YES_OR_NO
            )
            queues[-1] = [trial for pair in zip_longest(*sides) for trial in pair if trial is not None]
        controls, count = queues[-1], FIRST_CONTROLS
        for _ in range(ANSWERS // BATCH):
            answers = answers_of([by_id[name] for name in errors] or items[:1], list(errors.values()) or [math.nan])
            may_end = errors and not MEASURES[items[0].task].is_pointing  # bias and spread are known of misses, too
            if may_end and 2 * answers.right[-1] < min(answers.counts[-1], FIRST_CONTROLS):
                return
            available = np.array([len(queue) for queue in queues[:-1]] + [0])
            conditions = next_conditions(grid, posterior(grid, answers), available, BATCH)
            batch = [queues[condition].pop() for condition in conditions]
            batch += [controls.pop() for _ in range(min(count, len(controls)))]
            if not batch:
                return
            count = LATER_CONTROLS
            errors |= yield tuple(batch)

    return order
