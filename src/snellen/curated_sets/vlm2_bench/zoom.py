"""Boxes to zoom into: questions to a detector about the images of an item set (VP-zoom-o, VP-zoom-p)."""

from __future__ import annotations

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.steps import ITEMS, Argument, ItemStep
from snellen.curation.steps import step_item, table_provenance
from snellen.suites.vlm2_bench.items import SUITE

PHRASES = {"oc": "", "pc": "face"}
"""The phrase to detect: in OC images the noun of the object (the item's factor `type`), in PC images the face."""


def detection_items(items: ItemSet) -> list[Item]:
    """One detection item per image of the OC and PC items.

    An image with different phrases in two items gets one item per phrase. Raises SnellenError if there are no images.
    """
    detections: dict[tuple[str, str], tuple[Media, list[Item]]] = {}
    for item in items.items:
        family = item.task[:2]
        images = [media for media in item.query if media.kind == "image"]
        for image in images if family in PHRASES else ():
            phrase = PHRASES[family] or item.factors.get("type", "object")
            detections.setdefault((image.sha256, phrase), (image, []))[1].append(item)
    if not detections:
        raise SnellenError(f"{items.root}: no images of objects or people to zoom into")
    return [
        _detection_item(n, phrase, image, about, items)
        for n, ((_, phrase), (image, about)) in enumerate(detections.items())
    ]


def _detection_item(n: int, phrase: str, image: Media, about: list[Item], items: ItemSet) -> Item:
    exact = [item.regions["boxes"][image.sha256] for item in about if image.sha256 in item.regions.get("boxes", {})]
    return step_item(
        "detection",
        f"zoom-{n:05d}",
        phrase,
        (image,),
        "text",
        regions={"boxes": [{"box": list(exact[0]), "label": phrase}]} if exact else {},
        provenance=table_provenance(items, (item.item_id for item in about), image.sha256),
    )


ZOOM: ItemStep[ItemSet] = ItemStep(
    suite=SUITE,
    name="zoom",
    needs=(Argument("source", ITEMS, "ITEMSET"),),
    result=Argument("input", "boxes", "RUN"),
    subjects=("detector:hf/PATH_OR_ID",),
    note="then `snellen run ITEMSET --condition visual_prompt=vp-zoom-o --input boxes=RUN`",
    make_items=detection_items,
)
