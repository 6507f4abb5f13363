"""Groups images that show the same thing, by a similarity threshold.

Images whose cosine is at least a limit are linked; connected images form a group. Counting questions are answered with
the number of groups, grouping questions with the group of at least two. design/readouts.md states when this is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from snellen.core.item import View
from snellen.subjects.encoders.readouts import Doubles, pairwise_cosines, pick

NONE = "none"
_GROUP = re.compile(rf"{NONE}|\d+(\+\d+)+")

ALL, NOTHING = -2.0, 2.0
"""Limits that link all images or none: outside the range of cosines."""

Pair = tuple[int, int]


def asks_clustering(view: View) -> bool:
    """True if the view asks which of several images show the same thing.

    It offers either counts, or a choice of image numbers from 1 joined by `+` (`1+3`), or `none`.
    """
    offered = view.reply.offered
    if len(view.query) < 2 or not offered:
        return False
    if view.reply.kind == "integer":
        return all(key.isdecimal() for key in offered)
    return view.reply.kind == "choice" and all(_GROUP.fullmatch(key) for key in offered)


@dataclass(frozen=True, eq=False)
class Similarity:
    """Similarity of images: the cosine of each pair, in the order of `pairs`."""

    count: int
    cosines: Doubles

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of image indices, from 0, in the order (0, 1), (0, 2), …, (1, 2), …."""
        return list(combinations(range(self.count), 2))


def pairwise_similarity(features: ArrayLike) -> Similarity:
    """Similarities of features (n, d), one row per image: n * (n - 1) / 2 cosines."""
    return Similarity(len(np.asarray(features)), pairwise_cosines(features))


def linked_groups(similarity: Similarity, limit: float) -> tuple[int, ...]:
    """The group of each image: images connected by cosines of at least `limit` share one."""
    groups = list(range(similarity.count))
    for (first, second), cosine in zip(similarity.pairs, similarity.cosines, strict=True):
        if cosine >= limit:
            groups = [groups[first] if group == groups[second] else group for group in groups]
    return tuple(groups)


def exact_key(groups: Sequence[int], counts: bool) -> str | None:
    """The exact answer for groups: their number, or the images of the only group of at least two (`none` if none).

    None if there are several such groups, so that no single option is exact.
    """
    if counts:
        return str(len(set(groups)))
    places = [[n for n, group in enumerate(groups, 1) if group == label] for label in dict.fromkeys(groups)]
    several = ["+".join(map(str, group)) for group in places if len(group) > 1]
    return (several or [NONE])[0] if len(several) < 2 else None


def choose(view: View, similarity: Similarity, limit: float, rng: np.random.Generator) -> str:
    """The offered key that matches the linked groups, else the nearest one; ties are drawn.

    For counts, the nearest key has the smallest difference. For groups, it is the one that agrees with the links on
    most pairs of images (Rand 1971), where a key links only its own images; ties go to the key for which cosines would
    have to move least across the limit in total.
    """
    keys, groups = view.reply.offered, linked_groups(similarity, limit)
    if view.reply.kind == "integer":
        count = len(set(groups))
        return pick(np.array([-abs(int(key) - count) for key in keys], dtype=np.float64), keys, rng)
    linked = {(first, second) for first, second in similarity.pairs if groups[first] == groups[second]}
    agrees = [-len(linked ^ _pairs(key)) for key in keys]
    best = [key for key, agreed in zip(keys, agrees, strict=True) if agreed == max(agrees)]
    return pick(np.array([-_deficit(_pairs(key), similarity, limit) for key in best]), best, rng)


def _pairs(key: str) -> set[Pair]:
    """The pairs that an option key links, by indices from 0; images that are not shown agree with nothing."""
    return set() if key == NONE else set(combinations(sorted(int(number) - 1 for number in key.split("+")), 2))


def _deficit(linked_pairs: set[Pair], similarity: Similarity, limit: float) -> float:
    """Sum of the distances that cosines would have to move across the limit to link exactly these pairs."""
    sides = [
        limit - cosine if pair in linked_pairs else cosine - limit
        for pair, cosine in zip(similarity.pairs, similarity.cosines, strict=True)
    ]
    return float(sum(max(0.0, side) for side in sides))


@dataclass(frozen=True, eq=False)
class ClusteringExample:
    """A similarity matrix of images, the kind of question (counting or grouping), and the right option key."""

    similarity: Similarity
    counts: bool
    answer: str


def fit_limit(examples: Sequence[ClusteringExample]) -> float:
    """The limit with the most exactly right examples.

    Limits are midpoints between neighbouring cosines of all training examples, or beyond them all (`ALL`, `NOTHING`).
    Among the best, the one in the widest gap is taken, then the lowest, as in `fit_threshold`. Raises ValueError
    without training examples.
    """
    if not examples:
        raise ValueError("no training examples to fit a limit on")
    levels = np.unique(np.concatenate([example.similarity.cosines for example in examples]))
    limits = np.concatenate([[ALL], (levels[:-1] + levels[1:]) / 2, [NOTHING]])
    gaps = np.concatenate([[0.0], np.diff(levels), [0.0]])
    right = np.sum([_is_right(example, limits) for example in examples], axis=0)
    return float(limits[np.lexsort((limits, -gaps, -right))[0]])


def _is_right(example: ClusteringExample, limits: Doubles) -> Doubles:
    """1.0 at each of the limits (m,) at which the example comes out right, else 0.0.

    Links change only at the example's own cosines, so each interval between them is evaluated once.
    """
    cosines = np.unique(example.similarity.cosines)
    steps: Iterable[float] = (*cosines, NOTHING)
    right = [exact_key(linked_groups(example.similarity, step), example.counts) == example.answer for step in steps]
    return np.asarray(right, dtype=np.float64)[np.searchsorted(cosines, limits)]
