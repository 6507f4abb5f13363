"""The size in the images of what is asked about: the measure `least_px` of an item, and notes for the card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from snellen.core.item import Item

LEAST_PX = "least_px"
"""Name of the measure: the smallest extent, in pixels of the stored image, of what must be seen to answer."""


def with_least_px(items: Iterable[Item], extents: Mapping[str, float]) -> list[Item]:
    """The items with the measure: the least of `extents` (pixels by SHA-256) over the item's images."""
    measured = []
    for item in items:
        pixels = [extents[media.sha256] for media in item.media() if media.sha256 in extents]
        least = {LEAST_PX: round(min(pixels), 1)} if pixels else {}
        measured.append(replace(item, measures={**item.measures, **least}))
    return measured


def least_px_notes(items: Iterable[Item]) -> list[str]:
    """A note for the card: the least value over test items by task; empty if no item has the measure."""
    least: dict[str, float] = {}
    for item in items:
        if item.split == "test" and LEAST_PX in item.measures:
            least[item.task] = min(least.get(item.task, float("inf")), item.measures[LEAST_PX])
    if not least:
        return []
    sizes = ", ".join(f"{task} {pixels:.0f}" for task, pixels in least.items())
    return [f"smallest extent that test items ask about, in pixels: {sizes}"]


def scene_notes(items: Iterable[Item]) -> list[str]:
    """A note for the card: the number of scenes of test items by task, on which intervals depend."""
    scenes: dict[str, set[str]] = {}
    for item in items:
        if item.split == "test":
            scenes.setdefault(item.task, set()).add(item.cluster_id)
    counts = ", ".join(f"{task} {len(clusters)}" for task, clusters in scenes.items())
    return [f"distinct scenes of test items: {counts}"] if scenes else []
