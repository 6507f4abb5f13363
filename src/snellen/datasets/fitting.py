"""Reads boxes, clips annotations to their image, and makes samples of annotated image files."""

from __future__ import annotations

import typing
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from snellen.core.item import Box
from snellen.core.storage.user_files import is_file
from snellen.datasets.image_files import ImageFile, image_size
from snellen.datasets.sample import Annotation, Note, RawSample

SLACK_PX = 1.0
"""Pixels by which a box may exceed its image and be clipped silently, since datasets round differently."""


def fit_box(corners: Iterable[float], size: tuple[float, float]) -> tuple[Box | None, str]:
    """The box clipped to an image of this width and height, and a description of the problem ("" for none).

    The box is None if it is inverted, without area, outside, or not four finite numbers.
    """
    x1, y1, x2, y2 = corners
    if not all(-1e9 < side < 1e9 for side in (x1, y1, x2, y2)):  # NaN fails too
        return None, "box without four numbers"
    if x2 < x1 or y2 < y1:
        return None, "inverted box"
    if x2 == x1 or y2 == y1:
        return None, "box without area"
    width, height = size
    box = (max(x1, 0.0), max(y1, 0.0), min(x2, width), min(y2, height))
    if box[2] <= box[0] or box[3] <= box[1]:
        return None, "box outside its image"
    beyond = max(-x1, -y1, x2 - width, y2 - height)
    return box, "box exceeds its image and is clipped" if beyond > SLACK_PX else ""


def fit_annotations(
    annotations: Iterable[Annotation], size: tuple[float, float], record_id: str
) -> tuple[tuple[Annotation, ...], list[Note]]:
    """The annotations whose boxes fit (clipped if necessary), and a note for each that was dropped or clipped.

    Boxes get their own area if the annotation has none. Annotations without a box are unchanged.
    """
    fitted: list[Annotation] = []
    notes: list[Note] = []
    for annotation in annotations:
        if annotation.box is None:
            fitted.append(annotation)
            continue
        box, problem = fit_box(annotation.box, size)
        if problem:
            notes.append(Note("odd", problem, f"{record_id}: {annotation.label} {list(annotation.box)}"))
        if box is not None:
            area = (box[2] - box[0]) * (box[3] - box[1]) if annotation.area is None else annotation.area
            fitted.append(replace(annotation, box=box, area=area))
    return tuple(fitted), notes


def annotated_file(
    record_id: str,
    path: Path,
    annotations: Iterable[Annotation],
    *,
    size: tuple[int, int] | None = None,
    lost: int = 0,
    **fields: typing.Any,
) -> Iterator[RawSample | Note]:
    """The sample of an image file, with fitted boxes and notes on those that do not fit; a note if there is no file.

    Without `size`, the image's header is read if there is a box. `lost` counts annotations already dropped; those that
    do not fit are added. `fields` are further fields of `RawSample`.
    """
    if not is_file(path):
        yield Note("missing", "image of an annotation", record_id)
        return
    annotations = tuple(annotations)
    if size is None and any(annotation.box is not None for annotation in annotations):
        size = image_size(path)
        if size is None:
            yield Note("unreadable", "not a readable image", f"{record_id}: copy the file again, or leave it out")
            return
    fitted, notes = fit_annotations(annotations, size or (0, 0), record_id)
    yield from notes
    lost += len(annotations) - len(fitted)
    yield RawSample(record_id=record_id, image=ImageFile(path), annotations=fitted, size=size, lost=lost, **fields)


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
