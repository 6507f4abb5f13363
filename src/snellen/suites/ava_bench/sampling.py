"""Which options an item offers, and which items are for training: drawn the same way in every recipe."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from snellen.core.item import Split


def offered(truth: str, names: Iterable[str], count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` of the names, the true one among them, in a random order: what action and scene are asked with.

    With `count` at or above the number of names all of them, as for object and texture.
    """
    others = sorted(set(names) - {truth})
    drawn = [others[int(n)] for n in rng.permutation(len(others))[: max(0, count - 1)]]
    told = [truth, *drawn]
    return tuple(told[int(n)] for n in rng.permutation(len(told)))


def splits(strata: Sequence[Hashable], rng: np.random.Generator) -> list[Split]:
    """80 percent train and 20 percent test within every stratum, e.g. (class, bin): one name an item, in order.

    Section 3.3: classes and bins in training are mirrored in testing. A stratum's test share is rounded to the nearest
    number, halves up, so that fewer than three items are all for training.
    """
    told: list[Split] = ["train"] * len(strata)
    for stratum in dict.fromkeys(strata):
        places = [n for n, one in enumerate(strata) if one == stratum]
        for n in rng.permutation(len(places))[: int(len(places) / 5 + 0.5)]:
            told[places[int(n)]] = "test"
    return told
