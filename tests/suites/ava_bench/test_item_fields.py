"""Every field of an item's source, the limits of what may be asked on both sides, and floors from boxes alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.least_px import LEAST_PX
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.relative_depth import relative_depth_item
from snellen.suites.ava_bench.balance import hue, imbalance
from snellen.suites.ava_bench.items import ItemSource, depth_bin
from tests.helpers.refusals import assert_refused
from tests.suites.ava_bench.fixtures import HEIGHT, WIDTH, item_makers, item_source

BOX, FAR = (10.0, 20.0, 50.0, 70.0), (100.0, 70.0, 120.0, 90.0)
OTHER = Media("f" * 64, "image", "png", WIDTH, HEIGHT)
WORLDS = [{"look": {"colour": "0"}, "answer": [200, 20, 30]}, {"look": {"colour": "1"}, "answer": [72, 148, 158]}]
SOURCE: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "handle": ("8", dict.fromkeys(("item_id", "group_id", "stimulus_id"), "colour-8")),
    "image": (OTHER, {"query": (OTHER,)}), "cluster": ("c", {"cluster_id": "c"}),
    "dataset": ("d", {"factors": {"source": "d"}}), "split": ("train", {"split": "train"}),
    "domain": ("Bird", {"factors": {"source": "made", "domain": "Bird"}}),
    "stimulus": ("s", {"stimulus_id": "s"}), "provenance": ({"seed": 1}, {"provenance": {"seed": 1}}),
    "known": (True, {"requires": ("colour",), "latent": {"worlds": WORLDS}, "measures": {LEAST_PX: 40.0}}),
    "factors": ({"source": "x"}, {"factors": {"source": "x"}}), "measures": ({"x": 2.0}, {"measures": {"x": 2.0}}),
}  # fmt: skip
"""Another value of each field of a source, and what changes in the item."""


@pytest.mark.parametrize("field", [field.name for field in fields(ItemSource)])
def test_every_field_of_a_source_reaches_the_item_and_changes_nothing_else(field: str) -> None:
    value, expected = SOURCE[field]
    usual = {"handle": "7", "image": item_source("7").image, "cluster": "7"}
    before, after = (vars(colour_item(item_source(**u), BOX, (200, 20, 30))) for u in (usual, {**usual, field: value}))
    assert {name: after[name] for name in after if after[name] != before[name]} == expected


@pytest.mark.parametrize(
    "box", [(-0.1, 0, 20, 20), (0, -0.1, 20, 20), (0, 0, 200.1, 20), (0, 0, 20, 100.1), (20, 0, 20, 9), (0, 9, 20, 9)]
)
def test_every_box_of_every_ability_ends_at_the_edges_of_its_image(box: tuple[float, ...]) -> None:
    whole = localization_item(item_source(), "cup", (0, 0, WIDTH, HEIGHT))
    assert (whole.answer, whole.factors["box_size"], whole.measures["area_share"]) == ((0, 0, 200, 100), "0.3-0.5", 1)
    counts = {task: len(make().regions) for task, make in item_makers(item_source(), BOX, FAR).items()}
    boxed = {name for name, ability in ABILITIES.items() if ability.boxes or ability.kind == "box"}
    assert {task for task, count in counts.items() if count} == boxed
    for n, boxes in enumerate(((box, FAR), (FAR, box))):
        makers = item_makers(item_source(), *boxes)
        for task in (task for task, count in counts.items() if n < count):
            assert_refused(makers[task], "has no area or is outside its image of 200 x 100")


def distance(bins: tuple[str, ...], depth_m: float, lower_edge: float = 70.0) -> Item:
    box = (10.0, 20.0, 50.0, lower_edge)
    return absolute_depth_item(item_source(), "car", box, depth_m=depth_m, bins=bins, scene_type="indoor")


def test_limits_of_numbers() -> None:
    assert [counting_item(item_source(), "cups", count).answer for count in (1, 40)] == [1, 40]
    assert [depth_bin(metres) for metres in (0, 9_999.9)] == ["0-1", "9999-10000"]
    with pytest.raises(SnellenError, match="0 things to count"):
        counting_item(item_source(), "cups", 0)
    for metres in (-0.1, 10_000.0, math.nan):
        with pytest.raises(SnellenError, match="has no bin"):
            depth_bin(metres)
    for depths, answer in (((8.0, 8.5), "red"), ((8.5, 8.0), "blue")):
        item = relative_depth_item(item_source(), ("car", "van"), (BOX, FAR), depths, "outdoor")
        assert (item.answer, item.measures) == (answer, {"depth_gap_m": 0.5})
    assert colour_item(item_source(), BOX, (0, 9, 255)).answer == (0, 9, 255)
    for rgb in ((-1, 9, 9), (9, 9, 256)):
        with pytest.raises(SnellenError, match="is not an sRGB colour"):
            colour_item(item_source(), BOX, rgb)
    shares = (0.1, 0.101, 0.2, 0.201, 0.3, 0.301)
    sizes = [localization_item(item_source(), "cup", (0, 0, 200 * share, 100)).factors["box_size"] for share in shares]
    assert sizes == ["0-0.1", "0.1-0.2", "0.1-0.2", "0.2-0.3", "0.2-0.3", "0.3-0.5"]
    bins = ("4-5", "5-6", "9-10", "10-11", "19-20", "20-21")
    ranges = [distance(bins, float(name.split("-")[0])).factors["depth_range"] for name in bins]
    assert ranges == ["0-5 m", "5-10 m", "5-10 m", "10-20 m", "10-20 m", "20 m and more"]


def test_floors_from_boxes_alone() -> None:
    """On one floor lower things are nearer; one over the distance is 0.0613 e^2 + 0.2746 e + 0.071 at a lower edge e.

    At .7 that is .2933, 3.4 m; at 1 it is .4069, 2.5 m; at .5 it is .2236, 4.5 m.
    """
    by_depth, by_order = (ability_named(name).boxes_only for name in ("absolute-depth", "relative-depth"))
    assert by_depth is not None
    assert by_order is not None
    edges = [by_depth(distance(("2-3", "3-4", "4-5"), 2.5, edge)) for edge in (70.0, 100.0, 50.0)]
    assert edges == ["3-4", "2-3", "4-5"]
    tall = (10.0, 5.0, 50.0, 95.0)
    for red, blue, nearer in ((tall, FAR, "red"), (FAR, tall, "blue")):
        pair = relative_depth_item(item_source(known=True), ("car", "van"), (red, blue), (9.0, 8.0), "outdoor")
        assert by_order(pair) == nearer
        assert "the object (red box) or the object (blue box)" in pair.question, "names would answer other questions"


def test_colours_belong_to_families_and_splits_may_differ_by_ten_points() -> None:
    """Both sides of 20, 75, 160, 195, 255 and 345 degrees; saturations of .29 and .31; 60, then 61 against 50 %."""
    full = [(255, 85, 0), (255, 90, 0), (192, 255, 0), (180, 255, 0), (0, 255, 170), (0, 255, 175), (0, 192, 255)]
    full += [(0, 180, 255), (63, 0, 255), (70, 0, 255), (255, 0, 64), (255, 0, 60), (200, 142, 142), (200, 138, 138)]
    families = "red yellow yellow green green cyan cyan blue blue purple purple red pale red"
    assert " ".join(map(hue, full)) == families

    def counts(split: Any, low: int, high: int) -> list[Item]:
        numbers = enumerate([1] * low + [7] * high)
        return [counting_item(item_source(f"{split}-{n}", split=split), "cups", count) for n, count in numbers]

    trained = [imbalance([*counts("test", 6, 6), *counts("train", *low_high)]) for low_high in ((12, 8), (11, 7))]
    assert trained == [[], ["counting: shares of count_range differ by 11 points between splits"]]
