"""Answers of people to items whose true mean is known: how often `crossed_interval` holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from snellen.scoring.clustered_means import Floats
from snellen.scoring.crossed import crossed_interval

FORMS: tuple[Literal["all", "a third", "own"], ...] = ("all", "a third", "own")
"""What a person is asked: all items, a random third of them, or items that nobody else is asked."""
ABILITIES = {"middle": (0.0, 1.0, 1.0), "good": (3.0, 0.5, 1.0), "near perfect": (4.0, 1.0, 1.0), "alike": (2.0, 0, 0)}
"""Of right answers: logit of a usual person on a usual item, and standard deviations between people and items."""


@dataclass(frozen=True)
class Panel:
    """So many people asked so many items, two of a cluster, by a form; right or wrong by `ability`, or an error.

    With `ability` empty answers are errors without end: lognormal, so that few are large.
    """

    people: int
    items: int
    form: Literal["all", "a third", "own"]
    ability: str = "middle"

    @property
    def truth(self) -> float:
        """The mean over all people and items there could be."""
        if not self.ability:
            return float(np.exp(0.3**2 / 2 + 0.3**2 / 2 + 0.8**2 / 2))
        logit, between_people, between_items = ABILITIES[self.ability]
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        spread = float(np.hypot(between_people, between_items))
        return float((expit(logit + spread * nodes) * weights).sum() / weights.sum())

    def sample(self, rng: np.random.Generator) -> Floats:
        """people x items, NaN where a person was not asked."""
        shape = self.people, self.items
        if self.ability:
            logit, between_people, between_items = ABILITIES[self.ability]
        else:
            logit, between_people, between_items = 0.0, 0.3, 0.3
        person = rng.normal(0, between_people, self.people)[:, None]
        item = np.repeat(rng.normal(0, between_items, self.items // 2), 2)[None, :]
        if self.ability:
            values = (rng.random(shape) < expit(logit + person + item)).astype(float)
        else:
            values = np.exp(person + item + rng.normal(0, 0.8, shape))
        if self.form == "a third":
            values[rng.random(shape) > 1 / 3] = np.nan
        elif self.form == "own":
            values[(np.arange(self.items)[None, :] // 2) % self.people != np.arange(self.people)[:, None]] = np.nan
        return values


def coverage(panel: Panel, samples: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """(share of intervals that hold the truth, mean width, share of samples with an interval)."""
    people = np.repeat(np.arange(panel.people), panel.items)
    clusters = np.tile(np.arange(panel.items) // 2, panel.people)
    bounds, ends = ((0.0, 1.0) if panel.ability else None), []
    for _ in range(samples):
        low, high, _ = crossed_interval(panel.sample(rng).ravel(), people, clusters, "mean", bounds, rng)
        ends.append((low, high))
    low, high = np.array(ends).T
    inside = (low <= panel.truth) & (panel.truth <= high)
    known = ~np.isnan(low)
    return float(inside[known].mean()), float((high - low)[known].mean()), float(known.mean())
