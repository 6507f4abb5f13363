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
from snellen.suites.ava_bench.abilities.object import object_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.relative_depth import relative_depth_item
from snellen.suites.ava_bench.abilities.spatial import spatial_item
from snellen.suites.ava_bench.balance import balances, hue, imbalance
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import ItemSource, depth_bin, hull, range_name
from snellen.suites.ava_bench.released_scorers import read_count, read_depth, read_first_colour, whole_number
from tests.suites.ava_bench.fixtures import HEIGHT, WIDTH, item_source

BOX, FAR = (10.0, 20.0, 50.0, 70.0), (100.0, 70.0, 120.0, 90.0)
OTHER = Media("f" * 64, "image", "png", WIDTH, HEIGHT)
LOOK = {"colour": "0"}
WORLDS = [{"look": LOOK, "answer": [200, 20, 30]}, {"look": {"colour": "1"}, "answer": [72, 148, 158]}]
SOURCE: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "handle": ("8", {"item_id": "colour-8", "group_id": "colour-8", "stimulus_id": "colour-8"}),
    "image": (OTHER, {"query": (OTHER,)}),
    "cluster": ("c", {"cluster_id": "c"}),
    "dataset": ("d", {"factors": {"source": "d"}}),
    "domain": ("Bird", {"factors": {"source": "made", "domain": "Bird"}}),
    "split": ("train", {"split": "train"}),
    "stimulus": ("s", {"stimulus_id": "s"}),
    "known": (True, {"requires": ("colour",), "latent": {"worlds": WORLDS}, "measures": {LEAST_PX: 40.0}}),
    "factors": ({"difficulty": "middle"}, {"factors": {"source": "made", "difficulty": "middle"}}),
    "measures": ({"x": 2.0}, {"measures": {"x": 2.0}}),
    "provenance": ({"seed": 1}, {"provenance": {"seed": 1}}),
}
"""Another value of each field of a source, and what changes in the item."""


def coloured(**changes: Any) -> dict[str, Any]:
    return vars(colour_item(item_source(**{"handle": "7", **changes}), BOX, (200, 20, 30)))


@pytest.mark.parametrize("field", [field.name for field in fields(ItemSource)])
def test_every_field_of_a_source_reaches_the_item_and_changes_nothing_else(field: str) -> None:
    value, expected = SOURCE[field]
    cluster = {} if field in ("cluster", "image") else {"image": item_source("7").image, "cluster": "7"}
    usual, changed = coloured(), coloured(**{**cluster, field: value})
    assert {name: changed[name] for name in changed if changed[name] != usual[name]} == expected


def test_measures_and_factors_of_a_source_replace_those_of_the_question() -> None:
    source = item_source(measures={"text_length": 9.0, LEAST_PX: 3.0}, factors={"text_length": "x"}, known=True)
    item = ocr_item(source, BOX, "STOP")
    assert (item.measures, item.factors["text_length"]) == ({LEAST_PX: 3.0, "text_length": 9.0}, "x")
    pair = relative_depth_item(item_source(known=True), ("car", "van"), (BOX, FAR), (9.0, 8.0), "outdoor")
    assert pair.measures == {LEAST_PX: 20.0, "depth_gap_m": 1.0}, "the shortest side of both boxes"
    assert "the object (red box) or the object (blue box)" in pair.question, "names would answer other questions"


@pytest.mark.parametrize(
    "box", [(-0.1, 0, 20, 20), (0, -0.1, 20, 20), (0, 0, 200.1, 20), (0, 0, 20, 100.1), (20, 0, 20, 9), (0, 9, 20, 9)]
)
def test_a_box_ends_at_the_edges_of_its_image(box: tuple[float, ...]) -> None:
    whole = localization_item(item_source(), "cup", (0, 0, WIDTH, HEIGHT))
    assert (whole.answer, whole.factors["box_size"], whole.measures["area_share"]) == ((0, 0, 200, 100), "0.3-0.5", 1)
    with pytest.raises(SnellenError, match=r"item 7: box .* has no area or is outside its image of 200 x 100"):
        localization_item(item_source(), "cup", box)
    assert hull([(5, 40, 20, 60), (10, 30, 15, 50)]) == (5, 30, 20, 60)


def test_limits_of_numbers() -> None:
    assert [counting_item(item_source(), "cups", count).answer for count in (1, 40)] == [1, 40]
    for count in (0, 41):
        with pytest.raises(SnellenError, match=f"{count} things to count"):
            counting_item(item_source(), "cups", count)
    assert [depth_bin(metres) for metres in (0, 9_999.9)] == ["0-1", "9999-10000"]
    for metres in (-0.1, 10_000.0, math.nan):
        with pytest.raises(SnellenError, match="has no bin"):
            depth_bin(metres)
    for depths, answer in (((8.0, 8.5), "red"), ((8.5, 8.0), "blue")):
        item = relative_depth_item(item_source(), ("car", "van"), (BOX, FAR), depths, "outdoor")
        assert (item.answer, item.measures) == (answer, {"depth_gap_m": 0.5})
    for level, is_fine in ((0, True), (255, True), (-1, False), (256, False)):
        for rgb in ((level, 9, 9), (9, 9, level)):
            if is_fine:
                assert colour_item(item_source(), BOX, rgb).answer == rgb
            else:
                with pytest.raises(SnellenError, match="is not an sRGB colour"):
                    colour_item(item_source(), BOX, rgb)


def test_ranges_hold_their_upper_ends() -> None:
    def size(area_px: float) -> str:
        box = (0.0, 0.0, area_px / 100, 100.0)
        things = object_item(item_source(), "cup", box, ("cup", "mug")), localization_item(item_source(), "cup", box)
        (name,) = {item.factors["box_size"] for item in things}
        return name

    assert [size(20_000 * share) for share in (0.1, 0.101, 0.2, 0.201, 0.3, 0.301, 0.6)] == [
        "0-0.1", "0.1-0.2", "0.1-0.2", "0.2-0.3", "0.2-0.3", "0.3-0.5", "0.3-0.5",
    ]  # fmt: skip
    bins = ("4-5", "5-6", "9-10", "10-11", "19-20", "20-21")
    ranges = [distance(bins, float(name.split("-")[0])).factors["depth_range"] for name in bins]
    assert ranges == ["0-5 m", "5-10 m", "5-10 m", "10-20 m", "10-20 m", "20 m and more"]
    lengths = [ocr_item(item_source(), BOX, "x" * count).factors["text_length"] for count in (5, 6, 10, 11)]
    assert lengths[0] != lengths[1] == lengths[2] != lengths[3]
    assert range_name(3, ((1, "a"), (2, "b"))) == "b"


def distance(bins: tuple[str, ...], depth_m: float, lower_edge: float = 70.0) -> Item:
    box = (10.0, 20.0, 50.0, lower_edge)
    return absolute_depth_item(item_source(), "car", box, depth_m=depth_m, bins=bins, scene_type="indoor")


def test_floors_from_boxes_alone() -> None:
    """On one floor lower things are nearer; one over the distance is 0.0613 e^2 + 0.2746 e + 0.071 at a lower edge e.

    At .7 that is .2933, 3.4 m; at 1 it is .4069, 2.5 m; at .5 it is .2236, 4.5 m.
    """
    bins = ("2-3", "3-4", "4-5")
    rule = ability_named("absolute-depth").boxes_only
    assert rule is not None
    assert [rule(distance(bins, 2.5, edge)) for edge in (70.0, 100.0, 50.0)] == ["3-4", "2-3", "4-5"]
    for red, blue, nearer in ((BOX, FAR, "blue"), (FAR, BOX, "red")):
        pair = relative_depth_item(item_source(), ("car", "van"), (red, blue), (9.0, 8.0), "outdoor")
        assert ability_named("relative-depth").boxes_only(pair) == nearer  # type: ignore[misc]
    for red, place in (
        ((0, 0, 40, 30), "Left above"),
        ((0, 60, 40, 80), "Left below"),
        ((60, 0, 90, 30), "Right above"),
    ):
        item = spatial_item(item_source(), "cup", "mug", red, (40, 30, 60, 60))
        assert ability_named("spatial").boxes_only(item) == place == item.answer  # type: ignore[misc]
    for ability in ABILITIES.values():
        if ability.boxes_only is not None:
            assert ability.boxes_only(colour_item(item_source(), BOX, (1, 2, 3))) is None, "no such boxes or options"


def test_colours_belong_to_families() -> None:
    """Both sides of 20, 75, 160, 195, 255 and 345 degrees of full saturation; then saturations of .29 and .31."""
    full = [(255, 0, 0), (255, 85, 0), (255, 90, 0), (255, 255, 0), (192, 255, 0), (180, 255, 0), (0, 255, 0)]
    full += [(0, 255, 170), (0, 255, 255), (0, 192, 255), (0, 180, 255), (0, 0, 255), (63, 0, 255), (255, 0, 255)]
    full += [(255, 0, 64), (255, 0, 40)]
    assert [hue(rgb) for rgb in full] == [
        *(
            "red",
            "red",
            "yellow",
            "yellow",
            "yellow",
            "green",
            "green",
            "green",
            "cyan",
            "cyan",
            "blue",
            "blue",
            "blue",
        ),
        *("purple", "purple", "red"),
    ]
    assert [hue(rgb) for rgb in ((200, 142, 142), (200, 138, 138))] == ["pale", "red"]


def test_splits_may_differ_by_ten_points_and_are_compared_from_twelve_test_items_on() -> None:
    def counts(split: Any, low: int, high: int) -> list[Item]:
        numbers = [1] * low + [7] * high
        return [counting_item(item_source(f"{split}-{n}", split=split), "cups", c) for n, c in enumerate(numbers)]

    test = counts("test", 6, 6)
    assert imbalance([*test, *counts("train", 12, 8)]) == []  # 60 against 50 %
    note = "counting: shares of count_range differ by 11 points between splits"
    assert imbalance([*test, *counts("train", 11, 7)]) == [note]
    assert imbalance([*test[1:], *counts("train", 11, 1)]) == []
    (balance,) = balances([*test, *counts("train", 11, 7)])
    assert (balance.factor, dict(balance.train), dict(balance.test)) == (
        "count_range", {"1-5": 11, "6-10": 7}, {"1-5": 6, "6-10": 6},
    )  # fmt: skip


def test_the_only_test_item_of_a_task_has_no_chance() -> None:
    alone = counting_item(item_source("1"), "cups", 3)
    pair = [ocr_item(item_source(name), BOX, name * 4) for name in "23"]
    first, *others = with_chance([alone, *pair])
    assert first == alone
    assert [item.measures["chance_strict_anls"] for item in others] == [0.0, 0.0]


def test_released_readers_have_limits() -> None:
    """Numbers of over fifteen digits are none; levels of a colour are clipped; the last two numbers are a depth."""
    spec = colour_item(item_source(), BOX, (1, 2, 3)).view().reply
    assert [whole_number("9" * digits) for digits in (15, 16)] == [10**15 - 1, None]
    assert [read_depth("9" * digits, spec) for digits in (15, 16)] == [10**15 - 1, None]
    assert read_depth("1 car, 12 to 14", spec) == 13.0
    assert read_first_colour("-4, 300.5, 17, 9", spec) == (0.0, 255.0, 17.0)
    assert (read_first_colour("1, 2", spec), read_count(" ! ", spec)) == (None, None)
