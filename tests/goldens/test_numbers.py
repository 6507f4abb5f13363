"""Every number that `snellen.scoring` computes from uneven samples equals the goldens, to eight digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from snellen.core.item import Item, Media
from snellen.scoring import agreement, crossed, equality, kept_size, metrics, permutation, power, protocols, sequential
from snellen.scoring import clustered_means as formulas
from snellen.scoring import uncertainty as intervals
from snellen_sight.psychometric import Answers
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

NO = math.nan
OWNERS = [
    "p9",
    "p2",
    "p2",
    "p10",
    "p10",
    "p10",
    "p10",
    "p1",
    "p5",
    "p5",
    "p5",
    "p7",
    "p8",
    "p8",
    "p3",
    "p4",
    "p6",
    "p6",
]
"""Names of clusters of one to four units, unsorted."""
RIGHT = [1.0, 0, 0, 1, 1, 1, NO, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1]
PARTIAL = [0.5, 0.25, 0, 1, 0.75, 1, NO, 0.5, 0, 1, 0.8, 0.9, 1, 0.1, 0.6, 0.7, 0, 0.3]
ERRORS = [0.5, 0.2, 3, 1.5, 0.1, 7, NO, 0.4, 0, 2, 0.8, 12, 1, 0.1, 0.6, 4, 0, 0.3]
OTHER = [0.0, 0, 1, 1, 0, 1, 1, NO, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0]
WEIGHTS = [1.0, 2, 2, 3, 1, 1, 1, 4, 1, 1, 2, 1, 1, 3, 1, 1, 1, 2]
SAMPLES: dict[str, tuple[list[float], list[str]]] = {
    "right or wrong": (RIGHT, OWNERS), "partial credit": (PARTIAL, OWNERS), "errors": (ERRORS, OWNERS),
    "all right": ([1.0] * 18, OWNERS), "all wrong": ([0.0] * 18, OWNERS), "none": ([NO, NO], ["a", "b"]),
    "one cluster": ([1.0, 0, 1], ["a"] * 3), "two clusters": ([1.0, 0, 1], ["b", "a", "b"]),
    "nearly all in one": ([*RIGHT, *RIGHT], [*OWNERS, *["p1"] * 18]),
    "twice as many": ([*ERRORS, *PARTIAL], [*OWNERS, *[f"second {name}" for name in OWNERS]]),
    "equal above": ([0.0, 5, 1, 5, 2, 5, 5, 5], list("hgfedcba")),
    "equal below": ([5.0, 0, 4, 0, 3, 0, 0, 0], list("hgfedcba")),
} | {f"the first {n} errors": (ERRORS[:n], list("ihgfedcba")[:n]) for n in range(2, 10)}  # fmt: skip
MEANS = {"share": (0.0, 1.0), "percent": (0.0, 100.0), "sides": (-1.0, 1.0), "uneven": (-2.0, 1.0), "free": None}


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def tried(call: Any, *values: Any, **options: Any) -> str:
    """What a call returns, or its refusal."""
    try:
        return line(call(*values, **options))
    except ValueError as error:
        return f"refused: {error}"


def interval_lines() -> Iterator[str]:
    for name, (values, owners) in SAMPLES.items():
        for bounds_name, bounds in MEANS.items():
            for binary in (True, False):
                ends = tried(intervals.mean_interval, values, owners, bounds, rng(), binary=binary)
                yield f"{name}, {bounds_name}, {'binary' if binary else 'graded'}: {ends}"
            ends = tried(intervals.summary_interval, values, owners, "root mean square", bounds, rng(), binary=False)
            yield f"{name}, {bounds_name}, root mean square: {ends}"
        for level in (0.95, 0.6):
            ends = tried(intervals.summary_interval, values, owners, "median", None, rng(), level=level)
            yield f"{name}, median, {level}: {ends}"
        yield f"{name}, Wilson, 80 %: {tried(intervals.cluster_wilson, values, owners, 0.8)}"
    for name, values in (("right or wrong", RIGHT), ("partial credit", PARTIAL), ("errors", ERRORS)):
        for bounds in (None if name == "errors" else (0.0, 1.0), (-1.0, 20.0)):
            for summary in ("mean", "root mean square"):
                args = values, OWNERS, summary, bounds, rng(), WEIGHTS, 0.9, False
                yield f"{name}, {bounds}, weighted {summary}, 90 %: {tried(intervals.summary_interval, *args)}"
        for bounds in ((0.0, 1.0), (0.0, 12.0), (-1.0, 1.0), None):
            gap = tried(intervals.paired_difference, values, OTHER, OWNERS, rng(), bounds=bounds)
            yield f"{name} less others, {bounds}: {gap}"
        gap = tried(intervals.paired_difference, values, OTHER, OWNERS, rng(), 0.8, (0, 12))
        yield f"{name} less others, 80 %: {gap}"
    values, owners = SAMPLES["twice as many"]
    others = [*OTHER, *reversed(OTHER)]
    yield f"twice as many less others: {tried(intervals.paired_difference, values, others, owners, rng(), bounds=None)}"
    args = values, owners, "root mean square", None, rng(), [*WEIGHTS, *WEIGHTS], 0.9, False
    yield f"twice as many, weighted: {tried(intervals.summary_interval, *args)}"
    yield f"unpaired: {tried(intervals.unpaired_difference, (0.7, 0.5, 0.8), (0.4, 0.35, 0.6))}"
    yield f"at least: {[line(intervals.Interval(-0.2, 0.4, 'kind').above(least)) for least in (0.0, -1.0, 0.1)]}"
    yield f"outside: {line(intervals.outside([-0.1, 0, 1, 1 + 1e-12, 1.1, NO], (0, 1)).tolist())}"
    sample = formulas.grouped(np.array([PARTIAL[:6], OTHER[:6]]), np.array([0, 1, 1, 2, 2, 2]), np.array(WEIGHTS[:6]))
    for call in (formulas.mean_variances, formulas.intraclass_correlations, formulas.ClusteredSamples.unit_variances):
        yield f"{call.__name__}: {line(call(sample).tolist())}"
    yield f"design effects: {line(formulas.design_effects(sample, 0.9).tolist())}"
    yield f"tails: {line([formulas.tails(count, level) for count in (2.0, 8.5, 100.0) for level in (0.8, 0.95)])}"
    people = ["z", "y", "x", "w", "v", "u"] * 6
    for name, (values, owners) in SAMPLES.items():
        if len(values) in (18, 36):
            for count in (1, 2, 3, 6):
                raters = [people[n % count] for n in range(len(values))]
                for summary in ("mean", "median", "root mean square"):
                    for bounds_name, bounds in MEANS.items() if summary != "median" else [("free", None)]:
                        ends = tried(crossed.crossed_interval, values, raters, owners, summary, bounds, rng())
                        yield f"{name}, {bounds_name}, {summary} of {count} people: {ends}"
            weights, raters = (WEIGHTS * 2)[: len(values)], people[: len(values)]
            ends = tried(crossed.crossed_interval, values, raters, owners, "mean", None, rng(), weights, 0.8)
            yield f"{name}, weighted mean of 6 people, 80 %: {ends}"


def significance_lines() -> Iterator[str]:
    gaps = np.array(RIGHT) - np.array(OTHER)
    graded = np.array(PARTIAL) - np.array(OTHER)
    for name, values in (("right or wrong", gaps), ("graded", graded), ("twice", np.tile(graded, 2))):
        owners = np.array((OWNERS * 2)[: len(values)])
        alone = np.array([f"{n}" for n in range(len(values))])
        known = ~np.isnan(values)
        yield f"{name}, clusters: {tried(permutation.sign_flip, values, owners, rng())}"
        yield f"{name}, single, 500 draws: {tried(permutation.sign_flip, values, alone, rng(), 500)}"
        for clusters in (owners, alone):
            yield f"{name}, one side: {tried(permutation.one_sided_p, values[known], clusters[known], rng())}"
            yield f"{name}, noise: {tried(permutation.noise_flips, values[known], clusters[known])}"
    cases = [(20, 0.3, 0.1), (20, 0.9, 0.3), (300, 0.1, 0.05), (7, 0.5, 0.0)]
    yield f"power: {line([permutation.sign_test_power(*case, level) for case in cases for level in (0.05, 0.01)])}"
    yield f"Holm: {line(permutation.holm([0.04, 0.01, NO, 0.03, 0.01, 0.6, 0.02]).tolist())}"
    yield f"detectable: {line([power.detectable(0.4, 0.7), power.detectable(-1, 3)])}"
    needs = [(0.6, 0.5, 0.5, 0.7, 40), (0.5, 0.6, 0.4, 0.9, 7), (3.0, 0.0, 2.0, 5.0, 12)]
    yield f"units needed: {line([power.units_needed(*need) for need in needs])}"
    turns = [4, 2, 2, 7, 7, 7, 7, 0, 5, 5, 5, 1, 8, 8, 3, 9, 6, 6]
    for name, values in (("right or wrong", RIGHT), ("partial credit", PARTIAL), ("errors", ERRORS)):
        for bounds in ((0.0, 1.0), (-1.0, 12.0))[name == "errors" :]:
            for level in (0.95, 0.5):
                ends = tried(sequential.confidence_sequence, values, turns, bounds, level)
                yield f"{name}, {bounds}, sequence of {level}: {[end[:7] for end in ends.strip('[]').split(', ')]}"
        sides = [
            [
                sequential.is_paired_beyond(values, OTHER, turns, (0, 12), mean, side, 0.5)
                for mean in (-0.5, 0.0, 0.1, 0.3, 2)
            ]
            for side in (1, -1)
        ]
        yield f"{name}, beyond: {line(sides)}"
    levels = [
        (f"c{n}", [f"kind={n % 3}", f"kind={n % 2}", *["rare"] * (n % 7 == 3)]) for n in (9, 4, 7, 1, 10, 3, 2, 8, 5)
    ]
    yield f"order: {sequential.asking_order(levels)}"
    ratings = np.array([[3, 1, 3, NO], [1, 1, 2, 1], [NO, 2, NO, NO], [2, 2, 2, NO], [5, 3, 5, 5]])
    counts = agreement.rating_counts(ratings)
    yield f"counts: {line(counts.tolist())}, {line(agreement.percent_agreement(counts))}"
    yield f"kappa: {tried(agreement.fleiss_kappa, [[2, 1, 0], [0, 3, 0], [1, 1, 1], [0, 1, 2]])}"
    yield f"alpha: {tried(agreement.krippendorff_alpha, ratings)}, {tried(agreement.krippendorff_alpha, ratings.T)}"
    scores = np.array([RIGHT[:9], PARTIAL[3:12], OTHER[:9], ERRORS[:9], [0.1, NO, NO, 0.2, 0, 1, 0, NO, 1]])
    yield f"halves: {tried(agreement.split_half, scores, rng())}, {tried(agreement.split_half, scores, rng(), 30)}"


def fit_lines() -> Iterator[str]:
    levels = [-0.9, -0.6, -0.4, -0.2, 0.0]
    for guess in (0.0, 0.25, 0.5):
        grid = kept_size.reduction_grid(levels, guess)
        yield f"grid: {line(grid.sizes[::999].round(8).tolist())}, {line(grid.marginal.prior[::999].tolist())}"
        level_numbers = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 2])
        right = np.array([0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1])
        for images in (np.arange(13), np.array([0, 1, 2, 3, 4, 5, 0, 6, 7, 7, 7, 8, 9])):
            weights = kept_size.posterior_of_images(grid, level_numbers, right, images)
            yield f"guess {guess}: {line(kept_size.reduction(grid, weights))}"
            yield f"next: {kept_size.next_levels(grid, weights, [2, 3, 0, 9, 1], 6)}"
        struck = [kept_size.is_blind([True] * hits + [False] * (4 - hits), guess) for hits in range(5)]
        yield f"blind: {kept_size.blind_orders(guess)}, {struck}"
    yield f"loss: {line(kept_size.paired_loss([True] * 6 + [False] * 3, [True] * 2 + [False] * 5 + [True] * 2))}"
    judged = equality.equality_grid([-0.1, 0.0, 0.1, 0.3])
    yes = [[6, 5, 2, 0], [6, 6, 6, 5], [0, 0, 0, 0], [3, 2, 3, 1]]
    for row in yes:
        yield f"equality: {line(equality.equality(judged, Answers(np.array([6, 6, 7, 5]), np.array(row))))}"


def metric_lines() -> Iterator[str]:
    texts = ["Stop", "stop ahead", "SHOP", "", "a  b\nc", "Ä b c"]
    for call in (metrics.anls, metrics.anls_05, metrics.levenshtein):
        yield f"{call.__name__}: {line([call(text, other) for text in texts for other in texts])}"
    boxes = [
        (0.0, 0.0, 4.0, 2.0),
        (1.0, 1.0, 3.0, 5.0),
        (4.0, 0.0, 6.0, 1.0),
        (2.0, 2.0, 2.0, 2.0),
        (3.0, 3.0, 1.0, 5.0),
    ]
    for measure in (metrics.iou, metrics.giou):
        yield f"{measure.__name__}: {line([measure(box, other) for box in boxes for other in boxes])}"
    colours = [(250, 20, 30), (30, 250, 20), (20, 30, 250), (128, 128, 128), (130, 128, 120), (255, 255, 0)]
    yield f"ciede2000: {line([metrics.ciede2000(colour, other) for colour in colours for other in colours])}"
    counts = [metrics.acc_num(a, b, n) for n in range(1, 7) for a in range(1, n + 1) for b in range(n + 2)]
    yield f"acc_num: {line(counts)}"
    yield f"peers: {[metrics.peers(index, count) for index, count in ((0, 3), (2, 5), (7, 40), (59, 60))]}"
    wide = Media("a" * 64, "image", "png", 300, 50)
    target = Item("i", "s", "t", "Where?", (wide,), (40.0, 20.0), "point", "i", "i", "i", measures={"radius_px": 5.0})
    points = [(40, 20), (44, 23), (44.1, 23), (20, 40), (45, 20)]
    yield f"hit: {[protocols.hit(target, point) for point in points]}, {line(protocols.area_share(target))}"
    yield f"guess: {[protocols.guess(replace(target, answer_kind=kind)) for kind in ('true_false', 'choice')]}"


LINES = {"intervals": interval_lines, "significance": significance_lines, "fits": fit_lines, "metrics": metric_lines}


@pytest.mark.parametrize("part", LINES)
def test_numbers_are_what_they_were(part: str) -> None:
    assert_golden(f"numbers/{part}.txt", "\n".join(LINES[part]()) + "\n")
