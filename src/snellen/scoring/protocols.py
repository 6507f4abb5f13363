"""Protocols and units that several suites share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from snellen.core.item import Item
from snellen.core.score import Metric, Protocol
from snellen.scoring.answers import read_answer, read_cut_off
from snellen.scoring.metrics import exact_match

UNIT_COLUMNS = pd.Index(["cluster_id", "value", "chance"], dtype=object)


def by_item(scores: pd.DataFrame) -> pd.DataFrame:
    """Units: every item is one."""
    return scores[UNIT_COLUMNS]


def all_right(scores: pd.DataFrame) -> pd.DataFrame:
    """Units: a group is right if all its items are, and has no value if one is unscored. Guesses are independent."""
    groups, names = pd.factorize(scores["group_id"])
    first = np.unique(groups, return_index=True)[1]
    of_items, known = scores["value"].to_numpy(float), scores["value"].notna().to_numpy()
    value, chance = np.full(len(first), math.inf), np.ones(len(first))
    np.minimum.at(value, groups[known], of_items[known])
    value[groups[~known]] = math.nan
    np.multiply.at(chance, groups, scores["chance"].fillna(1.0).to_numpy(float))
    units = scores[UNIT_COLUMNS].take(first).set_axis(names.rename("group_id"))
    units["value"], units["chance"] = value, chance
    return units


def guess(item: Item) -> float:
    """The probability that a uniform draw among the options is right; NaN without options."""
    offered = 2 if item.answer_kind == "true_false" else len({option.key for option in item.options})
    return 1 / offered if offered else float("nan")


def correct(item: Item, prediction: object) -> float:
    """1.0 if the prediction is the item's answer, else 0.0."""
    return exact_match(item.answer, prediction)


ACCURACY = Metric("accuracy", correct, chance=guess, binary=True)
"""Share of right answers, 0 to 1, higher is better; chance is one over the number of options."""


def hit(item: Item, prediction: Any) -> float:
    """1.0 if a point is within the target's radius, else 0.0."""
    return float(math.dist(item.answer, prediction) <= item.measures["radius_px"])


def area_share(item: Item) -> float:
    """The probability that a uniform draw among the points of the image hits the target."""
    image = item.query[0]
    return min(1.0, math.pi * item.measures["radius_px"] ** 2 / (image.width * image.height))


HIT = Metric("hit", hit, chance=area_share, binary=True)
"""Share of points within the target, 0 to 1, higher is better; chance is the target's share of the image's area."""


def strict(*metrics: Metric, units: Callable[[pd.DataFrame], pd.DataFrame] = by_item) -> Protocol:
    """The default protocol: `read_answer`, with the worst score for unreadable replies."""
    return Protocol("strict", read_answer, metrics or (ACCURACY,), units, read_cut_off=read_cut_off)
