"""Boxes to zoom into: what a detector is asked about the pictures of an item set (VP-zoom-o, VP-zoom-p)."""

from __future__ import annotations

from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.steps import step_item, table_provenance
from snellen.suites.vlm2_bench.items import SUITE

FAMILIES = {"oc": "", "pc": "face"}
"""What is looked for: in OC pictures what the item calls the object (its factor `type`), in PC pictures the face."""


def zoom_work(options: BuildOptions) -> ItemSet:
    """One detection item for every picture of the OC and PC items in `--source items=ITEMSET`.

    A picture that two items name differently is asked about once a name. Raises SnellenError where there is nothing to
    zoom into.
    """
    if "items" not in options.sources:
        raise SnellenError("vlm2-bench/zoom needs the items whose pictures are looked at: --source items=ITEMSET")
    return write_zoom(read_itemset(Path(options.sources["items"])), options.out)


def write_zoom(items: ItemSet, out: Path) -> ItemSet:
    """Write the detection items about `items`."""
    if items.card.suite != SUITE:
        raise SnellenError(f"{items.root}: a set of {items.card.suite}, not of {SUITE}")
    wanted: dict[tuple[str, str], tuple[Media, list[Item]]] = {}
    for item in items.items:
        family = item.task[:2]
        pictures = [one for one in item.query if one.kind == "picture"]
        for picture in pictures if family in FAMILIES else ():
            phrase = FAMILIES[family] or item.factors.get("type", "object")
            wanted.setdefault((picture.sha256, phrase), (picture, []))[1].append(item)
    if not wanted:
        raise SnellenError(f"{items.root}: no pictures of objects or people to zoom into")
    media = MediaFolder(out / "media")
    asked = [
        _work(n, phrase, _kept(picture, items.media, media), about, items)
        for n, ((_, phrase), (picture, about)) in enumerate(wanted.items())
    ]
    return write_itemset(out, asked, source="zoom", recipe={"about": items.card.content_hash, "pictures": len(asked)})


def _kept(picture: Media, source: MediaFolder, media: MediaFolder) -> Media:
    return media.add(source.read(picture), "picture", picture.format, (picture.width, picture.height))


def _work(n: int, phrase: str, picture: Media, about: list[Item], items: ItemSet) -> Item:
    exact = [item.regions["boxes"][picture.sha256] for item in about if picture.sha256 in item.regions.get("boxes", {})]
    return step_item(
        "detection",
        f"zoom-{n:05d}",
        phrase,
        (picture,),
        "text",
        regions={"boxes": [{"box": list(exact[0]), "label": phrase}]} if exact else {},
        provenance=table_provenance(items, (item.item_id for item in about), picture.sha256),
    )
