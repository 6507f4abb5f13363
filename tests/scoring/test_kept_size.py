"""How far images may be reduced: planted observers whose answers need so many pixels, and blind items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from snellen.core.seeds import stream
from snellen.scoring.kept_size import (
    SHARE,
    Reduction,
    blind_orders,
    is_blind,
    next_levels,
    paired_loss,
    posterior_of_images,
    reduction,
    reduction_grid,
)
from snellen_sight.psychometric import Floats, weibull

LEVELS = np.log10(2.0) / 3 * -np.arange(13)
SPREAD, BATCH = 0.2, 8
"""The planted standard deviation of images' difficulty in log10 units, and questions between two choices of levels."""


class Observer(NamedTuple):
    """A planted observer: threshold (log10), slope, lapse and guess rate; a normal function instead of Weibull's.

    Levels above `limit` are as at the limit, as behind a service that shrinks images.
    """

    threshold: float
    slope: float
    lapse: float
    guess: float
    is_normal: bool = False
    limit: float = 0.0

    def right(self, level: float | Floats, difficulty: Floats) -> Floats:
        """The share right at a level of images of these difficulties."""
        level = np.minimum(level, self.limit)
        if self.is_normal:
            share = norm.cdf((level - self.threshold - difficulty) * self.slope)
            return np.asarray(self.guess + (1 - self.guess - self.lapse) * share)
        return weibull(level, self.threshold + difficulty, self.slope, self.lapse, self.guess)

    def size(self) -> float:
        """The log10 of the size kept."""
        difficulty, levels = norm.ppf((np.arange(400) + 0.5) / 400, 0, SPREAD), np.arange(-1.3, 0.001, 0.005)
        mean = np.array([self.right(level, difficulty).mean() for level in levels])
        return float(levels[np.argmax(mean >= SHARE * mean[-1])])


def observers(count: int, guess: float, rng: np.random.Generator, is_normal: bool = False) -> list[Observer]:
    """Observers of three slopes and three lapse rates, with thresholds from .11 to .56 of full size."""
    slopes, lapses = rng.choice([2.5, 4, 7], count), rng.choice([0.01, 0.04, 0.1], count)
    rows = zip(rng.uniform(-0.95, -0.25, count), slopes, lapses, strict=True)
    return [Observer(float(t), float(s), float(lapse), guess, is_normal) for t, s, lapse in rows]


def estimates(members: list[Observer], questions: int, rng: np.random.Generator) -> list[Reduction]:
    """The estimate of each after so many questions, each about an image of its own, at the levels that tell most."""
    grid, results = reduction_grid(LEVELS.tolist(), members[0].guess), []
    for member in members:
        levels, right = np.zeros(0, np.int64), np.zeros(0, np.int64)
        while len(levels) < questions:
            weights = posterior_of_images(grid, levels, right, np.arange(len(levels)))
            size = min(BATCH, questions - len(levels))
            chosen = np.array(next_levels(grid, weights, [size] * len(LEVELS), size))
            shares = [float(member.right(LEVELS[level], rng.normal(0, SPREAD, 1))[0]) for level in chosen]
            levels, right = np.append(levels, chosen), np.append(right, rng.random(size) < shares)
        results.append(reduction(grid, posterior_of_images(grid, levels, right, np.arange(len(levels)))))
    return results


def errors_of(members: list[Observer], fits: list[Reduction]) -> tuple[Floats, Floats, float, float]:
    """The factors by which thresholds and sizes kept are wrong, and the shares of intervals with the truth."""
    threshold, size = (np.array(v) for v in zip(*((10**m.threshold, 10 ** m.size()) for m in members), strict=True))
    fit = np.array([[*f[:6]] for f in fits])
    inside = [(fit[:, k] - 1e-9 <= v) & (v <= fit[:, k + 1] + 1e-9) for k, v in ((1, threshold), (4, size))]
    factors = [np.exp(np.abs(np.log(fit[:, k] / v))) for k, v in ((0, threshold), (3, size))]
    return factors[0], factors[1], float(inside[0].mean()), float(inside[1].mean())


def test_a_planted_size_is_found() -> None:
    rng = stream("test", "kept size", 0)
    members = observers(12, 0.0, rng)
    threshold, size, *_ = errors_of(members, estimates(members, 60, rng))
    assert np.median(threshold) < 1.2
    assert threshold.max() < 2
    assert np.median(size) < 1.25
    assert size.max() < 2.5


def test_a_service_that_shrinks_images_to_what_is_hardly_enough() -> None:
    """Half is lost to the service, not to lapses. Without a limit in the model, half of the intervals miss the size."""
    rng = stream("test", "kept size", "limit")
    members = [Observer(-0.5, 4.0, 0.02, 0.25, limit=-0.45) for _ in range(16)]
    _, size, _, covered = errors_of(members, estimates(members, 60, rng))
    assert np.median(size) < 1.7
    assert covered >= 0.85


def test_a_subject_that_misses_a_third_at_full_size() -> None:
    """Without lapse rates of that order in the model, half of the intervals of its threshold miss."""
    rng = stream("test", "kept size", "weak")
    members = [Observer(float(t), 4.0, 0.35, 0.25) for t in rng.uniform(-0.9, -0.3, 24)]
    _, _, covered, size_covered = errors_of(members, estimates(members, 60, rng))
    assert covered >= 0.75
    assert size_covered >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guess", "questions", "is_normal", "most"),
    [
        (0.0, 60, False, (1.15, 1.4)),
        (0.25, 60, False, (1.15, 1.4)),
        (0.5, 120, False, (1.25, 2.0)),
        (0.25, 60, True, (1.2, 1.65)),
    ],
)
def test_400_planted_observers(guess: float, questions: int, is_normal: bool, most: tuple[float, float]) -> None:
    rng = stream("test", "kept size", str(guess), is_normal)
    members = observers(400, guess, rng, is_normal)
    threshold, size, covered, size_covered = errors_of(members, estimates(members, questions, rng))
    middle, ends = np.median([threshold, size], 1), np.quantile([threshold, size], 0.95, 1)
    print(
        f"guess {guess}, {questions} questions, normal {is_normal}: threshold x{middle[0]:.3f} (95 % x{ends[0]:.2f}), "
    )
    print(f"size x{middle[1]:.3f} (95 % x{ends[1]:.2f}), coverage {covered:.3f} and {size_covered:.3f}")
    assert middle[0] <= most[0]
    assert ends[0] <= most[1]
    assert middle[1] <= 1.25
    assert ends[1] <= 2
    assert covered >= 0.92
    assert size_covered >= 0.92


def test_answers_to_one_image_share_its_difficulty() -> None:
    """Forty images asked at every level: no narrower than is true, and the number of answers is not that of images."""
    rng, grid = stream("test", "kept size", "repeated"), reduction_grid(LEVELS.tolist(), 0.0)
    member, inside, widths = Observer(-0.5, 4, 0.02, 0.0), 0, []
    images, levels = np.repeat(np.arange(40), 13), np.tile(np.arange(13), 40)
    for _ in range(20):
        difficulty = rng.normal(0, SPREAD, 40)[images]
        right = (rng.random(520) < member.right(LEVELS[levels], difficulty)).astype(np.int64)
        fit = reduction(grid, posterior_of_images(grid, levels, right, images))
        naive = reduction(grid, posterior_of_images(grid, levels, right, np.arange(520)))
        inside += fit.threshold_low <= 10**-0.5 <= fit.threshold_high
        widths.append((fit.threshold_high / fit.threshold_low) / (naive.threshold_high / naive.threshold_low))
    assert inside >= 17
    assert np.mean(widths) > 1.02


def test_nothing_known_is_as_wide_as_the_levels() -> None:
    grid, none = reduction_grid(LEVELS.tolist(), 0.25), np.zeros(0, np.int64)
    fit = reduction(grid, posterior_of_images(grid, none, none, none))
    assert fit.threshold_low < 0.08
    assert fit.threshold_high == 1, "full size, though thresholds of the grid go beyond it"


def test_paired_loss_is_not_certain_without_differences() -> None:
    loss = paired_loss([True] * 40, [True] * 40)
    assert loss.value == 0
    assert -0.1 < loss.low < 0 < loss.high < 0.1
    worse = paired_loss([True] * 40, [True] * 28 + [False] * 12)
    assert worse.value == 0.3
    assert worse.low > 0.1
    # By hand: cells of 1.5 and 0.5 of 6, so 1 / 6 -+ 1.96 sqrt((2 / 6 - 1 / 36) / 6) = 0.1667 -+ 0.4423.
    by_hand = paired_loss([True, True, True, False], [True, True, False, False])
    assert by_hand == pytest.approx((0.25, -0.2756, 0.6090), abs=1e-4)
    # One question of three cells of .5: 1.5 - .5 of 3, 1 / 3 -+ 1.96 sqrt((2 / 3 - 1 / 9) / 3) = .333 -+ .844.
    assert paired_loss([True], [False]) == pytest.approx((1.0, -0.5101, 1.0), abs=1e-4)
    assert paired_loss([False], [True]) == pytest.approx((-1.0, -1.0, 0.5101), abs=1e-4)
    with pytest.raises(ValueError, match="no paired question"):
        paired_loss([], [])


@pytest.mark.parametrize(("guess", "orders"), [(0.2, 2), (0.25, 3), (1 / 3, 3), (0.5, 0), (0.02, 2)])
def test_blind_items_are_struck_and_honest_ones_kept(guess: float, orders: int) -> None:
    assert blind_orders(guess) == orders
    if orders:
        rng = stream("test", "blind", str(guess))
        assert np.mean([is_blind((rng.random(orders) < 0.98).tolist(), guess) for _ in range(4000)]) >= 0.9
        assert np.mean([is_blind((rng.random(orders) < guess).tolist(), guess) for _ in range(4000)]) <= 0.06
    assert not is_blind([False] * 4, guess)


def test_an_item_may_be_blind_although_one_answer_was_wrong() -> None:
    """Three of four right by guessing among five: 4 x .2^3 x .8 + .2^4 = .0272. Two of four: .1808."""
    assert is_blind([True, True, True, False], 0.2)
    assert not is_blind([True, True, False, False], 0.2)
