"""An item of every task, with images that are never opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from snellen.core.item import Item, Media
from snellen.suites.ava_bench.abilities import atomic, composites
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.abilities.action import action_item
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.emotion import emotion_item
from snellen.suites.ava_bench.abilities.fine_grained import fine_grained_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.nearer_localization import nearer_localization_item
from snellen.suites.ava_bench.abilities.object import object_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.orientation import orientation_item
from snellen.suites.ava_bench.abilities.relative_depth import relative_depth_item
from snellen.suites.ava_bench.abilities.scene import scene_item
from snellen.suites.ava_bench.abilities.spatial import spatial_item
from snellen.suites.ava_bench.abilities.texture import texture_item
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.tasks import make_tasks

ATOMIC, COMPOSITES, TASK_BY_NAME = atomic(), composites(), make_tasks()
WIDTH, HEIGHT = 200, 100
TEXTURES = ("banded", "blotchy", "veined")


def item_source(handle: str = "7", **fields: Any) -> ItemSource:
    image = Media(f"{sum(map(ord, handle)):064x}", "image", "png", WIDTH, HEIGHT)
    return ItemSource(**{"handle": handle, "image": image, "cluster": handle, "dataset": "made", **fields})


def item_makers(source: ItemSource, box: Sequence[float], far: Sequence[float]) -> dict[str, Callable[[], Item]]:
    """What makes an item of every task that has an atomic ability or boxes."""
    return {
        "localization": lambda: localization_item(source, "bicycle", box),
        "counting": lambda: counting_item(source, "apples", 7),
        "spatial": lambda: spatial_item(source, "bicycle", "towel", box, far),
        "orientation": lambda: orientation_item(source, "toy bus", "front left"),
        "absolute-depth": lambda: absolute_depth_item(
            source, "car", box, depth_m=4.2, bins=("3-4", "4-5", "5-6"), scene_type="indoor"
        ),
        "relative-depth": lambda: relative_depth_item(source, ("car", "cyclist"), (box, far), (9.0, 8.5), "outdoor"),
        "object": lambda: object_item(source, "airport", box, ("american robin", "airport", "vulpes vulpes")),
        "fine-grained": lambda: fine_grained_item(source, "fungi", "Agarica", ("Agarica", "Boletus edulis")),
        "colour": lambda: colour_item(source, box, (232, 9, 10)),
        "texture": lambda: texture_item(source, "veined", TEXTURES),
        "ocr": lambda: ocr_item(source, box, "STOP"),
        "action": lambda: action_item(source, "boxing", ("buying", "catching", "boxing")),
        "emotion": lambda: emotion_item(source, "sad", box),
        "scene": lambda: scene_item(source, "Lawn", ("Entrance hall", "Lawn", "Snowy Mountain")),
        "nearer-localization": lambda: nearer_localization_item(source, ("car", "van"), (box, far), (8, 9), "indoor"),
    }


def one_of_each(handle: str = "7", **fields: Any) -> dict[str, Item]:
    makers = item_makers(item_source(handle, **fields), (10.0, 20.0, 50.0, 60.0), (100.0, 70.0, 120.0, 90.0))
    return {task: makers[task]() for task in ATOMIC}
