"""An item of every task, over pictures that nobody looks at."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Item, Media
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.items import Shown

WIDTH, HEIGHT = 200, 100
TEXTURES = ("banded", "blotchy", "veined")


def shown(handle: str = "7", **told: Any) -> Shown:
    picture = Media(f"{sum(map(ord, handle)):064x}", "picture", "png", WIDTH, HEIGHT)
    return Shown(**{"handle": handle, "picture": picture, "cluster": handle, "source": "made", **told})


def one_of_each(handle: str = "7", **told: Any) -> dict[str, Item]:
    of = shown(handle, **told)
    box, far = (10.0, 20.0, 50.0, 60.0), (100.0, 70.0, 120.0, 90.0)
    return {
        "localization": make.localization_item(of, "bicycle", box),
        "counting": make.counting_item(of, "apples", 7),
        "spatial": make.spatial_item(of, "bicycle", "towel", box, far),
        "orientation": make.orientation_item(of, "toy bus", "front left"),
        "absolute-depth": make.absolute_depth_item(of, "car", box, 4.2, ("3-4", "4-5", "5-6"), "indoor"),
        "relative-depth": make.relative_depth_item(of, ("car", "cyclist"), (box, far), (9.0, 8.5), "outdoor"),
        "object": make.object_item(of, "airport", box, ("american robin", "airport", "vulpes vulpes")),
        "fine-grained": make.fine_grained_item(of, "fungi", "Agarica", ("Agarica", "Boletus edulis")),
        "colour": make.colour_item(of, box, (232, 9, 10)),
        "texture": make.texture_item(of, "veined", TEXTURES),
        "ocr": make.ocr_item(of, box, "STOP"),
        "action": make.action_item(of, "boxing", ("buying", "catching", "boxing")),
        "emotion": make.emotion_item(of, "sad", box),
        "scene": make.scene_item(of, "Lawn", ("Entrance hall", "Lawn", "Snowy Mountain")),
    }
