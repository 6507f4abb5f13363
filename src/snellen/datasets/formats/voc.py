"""Boxes as text: the objects of a Pascal VOC XML file, and four numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from snellen.core.item import Box
from snellen.datasets.sample import Annotation


def read_voc(root: ET.Element) -> tuple[list[Annotation], list[str]]:
    """The annotations of a file, and names or numbers of the objects that are not in Pascal VOC form."""
    annotations: list[Annotation] = []
    malformed: list[str] = []
    for number, tag in enumerate(root.iter("object")):
        label = (tag.findtext("name") or "").strip()
        try:
            sides = [float(tag.findtext(f"bndbox/{side}") or "x") for side in ("xmin", "ymin", "xmax", "ymax")]
        except ValueError:
            sides = []
        if label and sides:
            left, top = (side - (side >= 1) for side in sides[:2])  # some tools count from 0
            annotations.append(Annotation(label, (left, top, sides[2], sides[3])))
        else:
            malformed.append(label or f"object {number}")
    return annotations, malformed


def box_of(cells: Iterable[str]) -> Box | None:
    """The box from four numbers, or None."""
    try:
        x1, y1, x2, y2 = (float(cell) for cell in cells)
    except ValueError:
        return None
    return x1, y1, x2, y2
