"""Which options an item offers: drawn the same way in every recipe."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def offered(truth: str, names: Iterable[str], count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` of the names, the true one among them, in a random order: what action and scene are asked with.

    With `count` at or above the number of names all of them, as for object and texture.
    """
    others = sorted(set(names) - {truth})
    drawn = [others[int(n)] for n in rng.permutation(len(others))[: max(0, count - 1)]]
    told = [truth, *drawn]
    return tuple(told[int(n)] for n in rng.permutation(len(told)))
