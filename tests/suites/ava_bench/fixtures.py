"""An item of every task, over images that nobody looks at."""

from __future__ import annotations

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


def shown(handle: str = "7", **told: Any) -> ItemSource:
    image = Media(f"{sum(map(ord, handle)):064x}", "image", "png", WIDTH, HEIGHT)
    return ItemSource(**{"handle": handle, "image": image, "cluster": handle, "dataset": "made", **told})


def one_of_each(handle: str = "7", **told: Any) -> dict[str, Item]:
    of = shown(handle, **told)
    box, far = (10.0, 20.0, 50.0, 60.0), (100.0, 70.0, 120.0, 90.0)
    return {
        "localization": localization_item(of, "bicycle", box),
        "counting": counting_item(of, "apples", 7),
        "spatial": spatial_item(of, "bicycle", "towel", box, far),
        "orientation": orientation_item(of, "toy bus", "front left"),
        "absolute-depth": absolute_depth_item(
            of, "car", box, depth_m=4.2, bins=("3-4", "4-5", "5-6"), scene_type="indoor"
        ),
        "relative-depth": relative_depth_item(of, ("car", "cyclist"), (box, far), (9.0, 8.5), "outdoor"),
        "object": object_item(of, "airport", box, ("american robin", "airport", "vulpes vulpes")),
        "fine-grained": fine_grained_item(of, "fungi", "Agarica", ("Agarica", "Boletus edulis")),
        "colour": colour_item(of, box, (232, 9, 10)),
        "texture": texture_item(of, "veined", TEXTURES),
        "ocr": ocr_item(of, box, "STOP"),
        "action": action_item(of, "boxing", ("buying", "catching", "boxing")),
        "emotion": emotion_item(of, "sad", box),
        "scene": scene_item(of, "Lawn", ("Entrance hall", "Lawn", "Snowy Mountain")),
    }
