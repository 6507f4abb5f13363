"""How large what is asked about is in the images: the measure `least_px` of an item, and what a card says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from snellen.core.item import Item

LEAST_PX = "least_px"
"""Name of the measure: the least extent in pixels of the stored image of what must be made out to answer."""


def with_least_px(items: Iterable[Item], extents: Mapping[str, float]) -> list[Item]:
    """The items with the measure: of all images that they show the least of `extents`, pixels by their SHA-256."""
    measured = []
    for item in items:
        pixels = [extents[media.sha256] for media in item.media() if media.sha256 in extents]
        least = {LEAST_PX: round(min(pixels), 1)} if pixels else {}
        measured.append(replace(item, measures={**item.measures, **least}))
    return measured


def least_px_notes(items: Iterable[Item]) -> list[str]:
    """For the card: the least of it in any test item, by task; nothing where no item says."""
    least: dict[str, float] = {}
    for item in items:
        if item.split == "test" and LEAST_PX in item.measures:
            least[item.task] = min(least.get(item.task, float("inf")), item.measures[LEAST_PX])
    if not least:
        return []
    sizes = ", ".join(f"{task} {pixels:.0f}" for task, pixels in least.items())
    return [f"the smallest that test items ask about, in pixels: {sizes}"]


def scene_notes(items: Iterable[Item]) -> list[str]:
    """For the card: how many scenes test items are about, by task; intervals depend on them rather than on items."""
    scenes: dict[str, set[str]] = {}
    for item in items:
        if item.split == "test":
            scenes.setdefault(item.task, set()).add(item.cluster_id)
    counts = ", ".join(f"{task} {len(clusters)}" for task, clusters in scenes.items())
    return [f"distinct scenes of test items: {counts}"] if scenes else []
