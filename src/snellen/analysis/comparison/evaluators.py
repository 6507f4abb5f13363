"""Two evaluators of the same encoders, such as a probe and a language model: agreement of their orders, and the gap.

Orders are those of `rankings`, and their agreement is Kendall's tau-b. Intervals redraw items, the same ones for both
evaluators, but not encoders, so they do not generalise to other encoders. `p` accounts for few encoders: it is the
probability that a random order agrees as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.tables.rankings import (
    ALIKE,
    DRAWS,
    Ranked,
    ScoreMatrix,
    agreement,
    average_agreement,
    fewest_clusters,
    interval,
    kendall,
    observed_signs,
    redrawn_signs,
)
from snellen.analysis.tables.run_view import arms_with_all, main_metric, score_matrix, scored_units, unit_bounds
from snellen.analysis.tables.section import Run
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.clustered_means import Floats
from snellen.scoring.uncertainty import paired_difference

MIN_ENCODERS = 3
"""Fewer encoders have no meaningful order: two agree or disagree by the toss of a coin."""
AVERAGE_RANK, MEAN = "(average rank)", "(mean of abilities)"
"""Used in place of a task: agreement on the average rank, and the mean of the agreement on each ability."""
COLUMNS = (
    *("measure", "task", "encoder", "value", "low", "high", "p"),
    *("score", "other_score", "metric", "encoders", "items", "clusters"),
)


@dataclass(frozen=True)
class EvaluatorPair:
    """Two evaluators by name, and their arms on the same encoders, in the same order."""

    first: str
    second: str
    encoders: tuple[str, ...]
    first_arms: tuple[ArmCard, ...]
    second_arms: tuple[ArmCard, ...]

    def only(self, indices: Sequence[int]) -> EvaluatorPair:
        """The pair with only these encoders."""
        return EvaluatorPair(
            self.first,
            self.second,
            tuple(self.encoders[n] for n in indices),
            tuple(self.first_arms[n] for n in indices),
            tuple(self.second_arms[n] for n in indices),
        )


def pair_of(names: tuple[str, str], arms: Sequence[ArmCard], other_arms: Sequence[ArmCard]) -> EvaluatorPair:
    """Two evaluators with the encoders that both have an arm for, identified by its attribute `tower`."""
    by_tower, others = (
        {name: arm for arm in reversed(part) if (name := arm.attributes.get("tower"))} for part in (arms, other_arms)
    )
    both = [name for name in reversed(by_tower) if name in others]
    return EvaluatorPair(
        *names, tuple(both), tuple(by_tower[name] for name in both), tuple(others[name] for name in both)
    )


def evaluator_pairs(arms: Sequence[ArmCard]) -> Iterator[EvaluatorPair]:
    """Every two evaluators of the arms, identified by the attributes `evaluator` and `tower`."""
    by_evaluator: dict[str, list[ArmCard]] = {}
    for arm in arms:
        if arm.attributes.get("evaluator") and arm.attributes.get("tower"):
            by_evaluator.setdefault(arm.attributes["evaluator"], []).append(arm)
    for first, second in combinations(by_evaluator, 2):
        yield pair_of((first, second), by_evaluator[first], by_evaluator[second])


def evaluator_table(run: Run, pair: EvaluatorPair, tasks: Sequence[str]) -> pd.DataFrame:
    """Agreement and gap of two evaluators, in rows of `COLUMNS`.

    `measure` is `tau` or `rho` (agreement, -1 to 1, by task, `AVERAGE_RANK` and `MEAN`; none for fewer than
    `MIN_ENCODERS`) or `gap`: the mean score of the first evaluator minus that of the second over the items that both
    have, in the unit of the metric, positive if the first is better; for each encoder, and for all together with an
    empty `encoder`. `p` of tau is `order_p`.
    """
    rows = [*_agreement_rows(run, pair, tasks), *_gap_rows(run, pair, tasks)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _agreement_rows(run: Run, pair: EvaluatorPair, tasks: Sequence[str]) -> Iterator[dict[str, Any]]:
    duos = list(zip(pair.first_arms, pair.second_arms, strict=True))
    complete = list(range(len(duos)))
    for task in tasks:
        present = [n for n, duo in enumerate(duos) if len(arms_with_all(run, duo, [task])) == 2]
        complete = [n for n in complete if n in present]
        if len(present) >= MIN_ENCODERS:
            first, second = _matrices(run, pair.only(present), task)
            alike = agreement(first, second, _stream(pair, task))
            p = order_p([observed_signs(first)], [observed_signs(second)], _stream(pair, task, "order"))
            facts = {"task": task, "encoders": len(present), "clusters": fewest_clusters([first])}
            yield {**facts, "measure": "tau", **alike.tau._asdict(), "p": p, "items": first.values.shape[1]}
            yield {**facts, "measure": "rho", **alike.rho._asdict(), "items": first.values.shape[1]}
    if len(tasks) < 2 or len(complete) < MIN_ENCODERS:
        return
    both = [_matrices(run, pair.only(complete), task) for task in tasks]
    firsts, seconds = ([matrices[side] for matrices in both] for side in (0, 1))
    alike, mean = average_agreement(firsts, seconds, _stream(pair)), mean_tau(firsts, seconds, _stream(pair, "mean"))
    signs = [[observed_signs(matrix) for matrix in matrices] for matrices in (firsts, seconds)]
    facts = {"encoders": len(complete), "clusters": fewest_clusters(firsts)}
    yield {**facts, "task": AVERAGE_RANK, "measure": "tau", **alike.tau._asdict()}
    yield {**facts, "task": AVERAGE_RANK, "measure": "rho", **alike.rho._asdict()}
    p = order_p(signs[0], signs[1], _stream(pair, "order"))
    yield {**facts, "task": MEAN, "measure": "tau", **mean._asdict(), "p": p}


def _gap_rows(run: Run, pair: EvaluatorPair, tasks: Sequence[str]) -> Iterator[dict[str, Any]]:
    duos = list(zip(pair.first_arms, pair.second_arms, strict=True))
    for task in tasks:
        present = [n for n, duo in enumerate(duos) if len(arms_with_all(run, duo, [task])) == 2]
        if not present:
            continue
        every = pair.only(present)
        first, second = _matrices(run, every, task)
        bounds, name = unit_bounds(run, task, scored_units(run, task)), main_metric(run, task).name
        rows_by_encoder = {"": list(range(len(present))), **{each: [n] for n, each in enumerate(every.encoders)}}
        for encoder, chosen in rows_by_encoder.items():
            scores, others = mean_scores(first.values[chosen], second.values[chosen])
            left, right = (others, scores) if first.lower_is_better else (scores, others)
            gap = paired_difference(left, right, first.clusters, _stream(pair, task, "gap", encoder), bounds=bounds)
            yield {
                "measure": "gap",
                "task": task,
                "encoder": encoder,
                "metric": name,
                "value": gap.difference,
                "low": gap.low,
                "high": gap.high,
                "score": float(np.nanmean(scores)),
                "other_score": float(np.nanmean(others)),
                "encoders": len(chosen),
                "items": gap.n,
                "clusters": len(set(first.clusters)),
            }


def _stream(pair: EvaluatorPair, *names: str) -> np.random.Generator:
    return stream("evaluators", pair.first, pair.second, *names)


def _matrices(run: Run, pair: EvaluatorPair, task: str) -> tuple[ScoreMatrix, ScoreMatrix]:
    """The scores of both evaluators on the same items, encoders as rows."""
    both = score_matrix(run, task, [*pair.first_arms, *pair.second_arms])
    count = len(pair.encoders)
    first, second = (
        ScoreMatrix(task, values, both.clusters, both.lower_is_better)
        for values in (both.values[:count], both.values[count:])
    )
    return first, second


def mean_scores(scores: Floats, other_scores: Floats) -> tuple[Floats, Floats]:
    """The means over encoders of each item's two scores (encoders x items), of encoders with both; NaN for none."""
    both = ~np.isnan(scores) & ~np.isnan(other_scores)
    count = both.sum(axis=0)
    totals = (np.where(both, part, 0.0).sum(axis=0) for part in (scores, other_scores))
    mean, other = (np.divide(total, count, out=np.full(len(count), math.nan), where=count > 0) for total in totals)
    return mean, other


def mean_tau(
    matrices: Sequence[ScoreMatrix], others: Sequence[ScoreMatrix], rng: np.random.Generator, draws: int = DRAWS
) -> Ranked:
    """The mean of tau over abilities in which both evaluators distinguish encoders; items are redrawn together."""
    both, count = [*matrices, *others], len(matrices)
    observed, again = [observed_signs(matrix) for matrix in both], redrawn_signs(both, rng, draws)

    def mean(signs: Sequence[Floats]) -> Floats:
        return _mean_of_known(np.stack([kendall(*duo) for duo in zip(signs[:count], signs[count:], strict=True)]))

    return interval(float(mean(observed)), mean(again), fewest_clusters(both))


def order_p(
    signs: Sequence[Floats], other_signs: Sequence[Floats], rng: np.random.Generator, draws: int = DRAWS
) -> float:
    """The share of draws with a mean tau as high, with the second evaluator's encoders shuffled alike in all abilities.

    Both hold signs (encoders x encoders) by ability. The observed order counts as a draw; NaN if there is no tau.
    """
    left, right = np.stack(signs), np.stack(other_signs)
    observed = float(_mean_of_known(kendall(left, right)))
    if math.isnan(observed):
        return math.nan
    orders = np.argsort(rng.random((draws, left.shape[-1])), axis=1)
    shuffled = right[:, orders[:, :, None], orders[:, None, :]]
    taus = _mean_of_known(kendall(left[:, None], shuffled))
    return float((1 + (taus >= observed - ALIKE).sum()) / (1 + draws))


def _mean_of_known(taus: Floats) -> Floats:
    """The mean over the first axis without NaN; NaN if nothing is known."""
    known = ~np.isnan(taus)
    count = known.sum(axis=0)
    total = np.where(known, taus, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(np.shape(total), math.nan), where=count > 0))
