"""Diversity sampling: the number of queries per industry, and their choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from snellen.core.item import Item, Media
from snellen.curated_sets.vfm_bench.diversity import Floats, choose, shares, typical
from snellen.curated_sets.vfm_bench.recipe import EpisodeCounts, count
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item


def blobs(sizes: Sequence[int], width: int = 8) -> Floats:
    """Groups of points far from each other; in each group the first point is nearest to the centre."""
    rng = np.random.default_rng(0)
    groups = []
    for index, size in enumerate(sizes):
        spread = rng.normal(size=(size - 1, width))
        spread -= spread.mean(axis=0)  # so that the group's centre is the origin, which is its first point
        groups.append(np.vstack([np.zeros(width), spread]) + 1000 * (index + 1) * np.eye(width)[index])
    return np.concatenate(groups)


def test_the_point_nearest_to_each_centre_is_chosen() -> None:
    sizes = (30, 5, 12, 50)
    starts = [0, 30, 35, 47]
    assert typical(blobs(sizes), 4) == starts
    order = np.random.default_rng(1).permutation(sum(sizes))
    assert {int(order[index]) for index in typical(blobs(sizes)[order], 4)} == set(starts)


def test_a_choice_is_repeatable_and_independent_of_other_runs() -> None:
    features = np.random.default_rng(2).normal(size=(400, 16)).astype(np.float32)
    chosen = typical(features, 60)
    assert len(set(chosen)) == 60
    assert typical(features, 60) == chosen
    assert typical(features, 60, random_state=7) != chosen
    items = [item(k, ("Manufacture", "Medical")[k % 2]) for k in range(400)]

    def encode(images: Sequence[Media]) -> Floats:
        return features[[int(image.sha256) for image in images]]

    alone = choose(items, encode, 60, workers=1)
    assert [item.item_id for item in choose(items, encode, 60, workers=2)] == [item.item_id for item in alone]
    assert sum(item.factors["industry"] == "Medical" for item in alone) == 30


def test_images_that_look_the_same_are_chosen_once() -> None:
    assert typical(np.ones((9, 4)), 3) == [0]
    assert typical(np.repeat(np.eye(3), 4, axis=0), 5) == [0, 4, 8]
    assert typical(np.ones((3, 4)), 3) == [0, 1, 2], "no features are needed if all are chosen"


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (None, {"Manufacture": 1050, "E-commerce": 40, "Medical": 1050}),
        (8, {"Manufacture": 3, "E-commerce": 3, "Medical": 2}),
        (1, {"Manufacture": 1, "E-commerce": 0, "Medical": 0}),
        (6000, {"Manufacture": 2000, "E-commerce": 40, "Medical": 1500}),
    ],
)
def test_shares(n: int | None, expected: dict[str, int]) -> None:
    assert shares({"Manufacture": 5000, "E-commerce": 40, "Medical": 1500}, n) == expected


def test_no_image_is_encoded_if_all_are_chosen() -> None:
    def never(images: Sequence[Media]) -> Floats:
        raise AssertionError("encoded")

    items = [item(k, "Medical") for k in range(5)]
    assert choose(items, never, None) == items


def test_counts_by_hand() -> None:
    items = [item(0, "Medical"), item(1, "Medical", ("a", "b", "c")), item(2, "Medical", scene="other")]
    assert count(items) == EpisodeCounts(3, 2, 5, 7 / 3)


def item(k: int, industry: str, names: Sequence[str] = ("a", "b"), scene: str = "scene") -> Item:
    classes = tuple(EpisodeClass(name, ()) for name in names)
    query = Media(str(k), "image", "png", 8, 8)
    return episode_item(Episode(str(k), query, classes, 0, industry, "detail", scene, "made", "made/a"))
