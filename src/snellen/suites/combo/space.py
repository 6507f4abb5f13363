"""The space of 9,504 objects as a table: which objects a constraint allows, and what decides an answer.

A constraint leads from dimensions (`factor/part`, see `stimuli.scenes.DIMENSIONS`) to the values allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes import DIMENSIONS, all_composites

Mask = NDArray[np.bool_]
"""Which of the 9,504 objects, shape (9504,)."""

FACTORS = tuple(dict.fromkeys(dimension.split("/")[0] for dimension in DIMENSIONS))
"""Colour, shape, material and contact point: what an observer may be blind to."""


@cache
def values(dimension: str) -> tuple[str, ...]:
    """Every value a dimension takes, in the order of the objects."""
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
    """The objects a constraint allows; not to be changed."""
    return _members(tuple((dimension, tuple(allowed)) for dimension, allowed in constraint.items()))


@lru_cache(maxsize=1024)
def _members(constraint: tuple[tuple[str, tuple[str, ...]], ...]) -> Mask:
    """Kept, 10 MB of them: the questions about an object ask for the same ones."""
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
    """The objects with one value; kept, for there are only 39 of them, and every item asks for several."""
    if value not in values(dimension):
        return np.zeros(len(table()), bool)
    return np.asarray(table()[:, DIMENSIONS.index(dimension)] == values(dimension).index(value))


@cache
def _members_by_value() -> NDArray[np.bool_]:
    """The objects with each value of each dimension in order, shape (39, 9504)."""
    return np.stack([_having(dimension, value) for dimension in DIMENSIONS for value in values(dimension)])


def claims(allowed: Mask) -> dict[str, list[str]]:
    """What belonging to `allowed` says of each dimension: the values found there, where not every value is.

    An empty set of objects claims what nothing fulfils.
    """
    has_member = iter(np.any(_members_by_value() & allowed, axis=1))
    claimed: dict[str, list[str]] = {}
    for dimension in DIMENSIONS:
        present = [value for value in values(dimension) if next(has_member)]
        if len(present) < len(values(dimension)):
            claimed[dimension] = present
    return claimed


def like(appearance: Mapping[str, str], without: str) -> Mask:
    """The objects that look the same to an observer who misses one factor."""
    return members({d: [value] for d, value in appearance.items() if d.split("/")[0] != without})


def required(options: Sequence[tuple[Mapping[str, str], Mask]]) -> tuple[str, ...]:
    """The factors without which the answer is not fixed.

    Each option comes with the appearance it is judged by and the objects that would fit it. An option remains
    possible for an observer who misses a factor where some object that looks the same to him fits; the answer is
    fixed where exactly one remains. This goes over whole objects, unlike the ideal observers, which hold claims
    against appearances.
    """
    undecided = []
    for factor in FACTORS:
        # Options are mostly judged by one appearance: it is looked up once.
        alike = {id(appearance): like(appearance, factor) for appearance, _ in options}
        possible = sum(bool((alike[id(appearance)] & fits).any()) for appearance, fits in options)
        if possible != 1:
            undecided.append(factor)
    return tuple(undecided)


def as_claims(options: Mapping[str, Mask]) -> dict[str, Any]:
    """The `claims` of an item's latent: option key -> dimension -> values."""
    return {key: claims(fits) for key, fits in options.items()}
