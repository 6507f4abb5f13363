"""The space of 9,504 objects as a table: the objects that a constraint allows, and the factors an answer depends on.

A constraint maps dimensions (`factor/part`, see `stimuli.scenes.DIMENSIONS`) to the allowed values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes import DIMENSIONS, all_composites

Mask = NDArray[np.bool_]
"""A subset of the 9,504 objects, shape (9504,)."""

FACTORS = tuple(dict.fromkeys(dimension.split("/")[0] for dimension in DIMENSIONS))
"""Colour, shape, material and contact point: the factors an observer may be blind to."""


@cache
def values(dimension: str) -> tuple[str, ...]:
    """All values of a dimension, in the order of the objects."""
    return tuple(dict.fromkeys(block.dimensions()[dimension] for block in all_composites()))


@cache
def table() -> NDArray[np.int16]:
    """Value numbers (indices into `values`) of every object, shape (9504, 8)."""
    numbers = [{value: n for n, value in enumerate(values(dimension))} for dimension in DIMENSIONS]
    rows = [
        [number[value] for number, value in zip(numbers, block.dimensions().values(), strict=True)]
        for block in all_composites()
    ]
    return np.array(rows, np.int16)


def members(constraint: Mapping[str, Sequence[str]]) -> Mask:
    """The objects that a constraint allows; read-only."""
    return _members(tuple((dimension, tuple(allowed)) for dimension, allowed in constraint.items()))


@lru_cache(maxsize=1024)
def _members(constraint: tuple[tuple[str, tuple[str, ...]], ...]) -> Mask:
    """Cached (10 MB), since the questions about one object need the same masks."""
    mask = np.ones(len(table()), bool)
    for dimension, allowed in constraint:
        if allowed:
            mask &= reduce(np.logical_or, [_having(dimension, value) for value in allowed])
        else:
            mask[:] = False
    mask.setflags(write=False)
    return mask


@cache
def _having(dimension: str, value: str) -> Mask:
    """The objects with one value; cached, since there are only 39 values and every item needs several."""
    if value not in values(dimension):
        return np.zeros(len(table()), bool)
    return np.asarray(table()[:, DIMENSIONS.index(dimension)] == values(dimension).index(value))


@cache
def _members_by_value() -> NDArray[np.bool_]:
    """The objects with each value of each dimension in order, shape (39, 9504)."""
    return np.stack([_having(dimension, value) for dimension in DIMENSIONS for value in values(dimension)])


def claims(allowed: Mask) -> dict[str, list[str]]:
    """The values that the objects in `allowed` have in each dimension; dimensions with all their values are left out.

    An empty set gives claims that no object fulfils.
    """
    has_member = iter(np.any(_members_by_value() & allowed, axis=1))
    claimed: dict[str, list[str]] = {}
    for dimension in DIMENSIONS:
        present = [value for value in values(dimension) if next(has_member)]
        if len(present) < len(values(dimension)):
            claimed[dimension] = present
    return claimed


def like(appearance: Mapping[str, str], without: str) -> Mask:
    """The objects that look the same to an observer that is blind to one factor."""
    return members({d: [value] for d, value in appearance.items() if d.split("/")[0] != without})


def required(options: Sequence[tuple[Mapping[str, str], Mask]]) -> tuple[str, ...]:
    """The factors without which the answer is not determined.

    Each option is an appearance to judge it by and the objects that fit it. For an observer blind to a factor, an
    option remains possible if some object that looks the same to it fits; the answer is determined if exactly one
    option remains. This compares whole objects, unlike the ideal observers, which compare claims with appearances.
    """
    undecided = []
    for factor in FACTORS:
        # Most options share one appearance, which is looked up once.
        alike = {id(appearance): like(appearance, factor) for appearance, _ in options}
        possible = sum(bool((alike[id(appearance)] & fits).any()) for appearance, fits in options)
        if possible != 1:
            undecided.append(factor)
    return tuple(undecided)


def as_claims(options: Mapping[str, Mask]) -> dict[str, Any]:
    """The `claims` in an item's latent: option key -> dimension -> values."""
    return {key: claims(fits) for key, fits in options.items()}
