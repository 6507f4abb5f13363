"""Boxes in one file per image: Pascal VOC XML (DIOR, NEU-DET), text (CARPK, KITTI); or one line each (CrowdHuman)."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import MAX_YAML_BYTES, is_file, leads_outside, read_file
from snellen.curated_sets.datasets.formats.lists import rows
from snellen.datasets.fitting import annotated_file, box_of, read_voc
from snellen.datasets.formats.file_tree import (
    entries,
    files_below,
    folders_holding,
    images,
    images_below,
    layout_folder,
    name_below,
)
from snellen.datasets.image_files import ImageFile, inspect_file
from snellen.datasets.sample import Annotation, AttributeValue, Note, RawSample, labelled_image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KITTI_PER_METRE = 256.0


@dataclass(frozen=True)
class VocObjects:
    """Settings of the layout: DIOR. Each XML file of `annotations`, and the image of its stem in one of `images`.

    Everingham et al., "The Pascal Visual Object Classes Challenge", IJCV 2010: `object/name`, `object/bndbox`; pixels
    count from 1 and the last one is included.
    """

    annotations: str
    images: tuple[str, ...]

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Annotations by name."""
        base = layout_folder(root, (self.annotations,), "folder")
        by_stem = {path.stem: path for folder in self.images for path in images(base / folder)}
        for xml in entries(base / self.annotations):
            if xml.suffix.lower() != ".xml":
                continue
            path = by_stem.pop(xml.stem, base / self.images[0] / f"{xml.stem}.jpg")
            try:
                annotations, malformed = read_voc(ET.fromstring(read_file(xml, MAX_YAML_BYTES)))
            except (OSError, ET.ParseError, LookupError, ValueError) as error:
                yield Note("unreadable", "not a Pascal VOC annotation", f"{xml.name}: {error}")
                continue
            yield from (Note("unreadable", "object in another form", f"{xml.name}: {name}") for name in malformed)
            yield from annotated_file(name_below(path, root), path, annotations, lost=len(malformed))
        for path in by_stem.values():
            yield Note("odd", "image without annotation", name_below(path, root))


@dataclass(frozen=True)
class VocBoxes:
    """Settings of the layout: every XML file in the folder, and the image of the same stem wherever it is.

    The class of an image is the common name of all its objects, the box surrounds all of them. Images with objects of
    several classes are left out.
    """

    object: str

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Annotations by name."""
        by_stem: dict[str, Path] = {}
        for path in images_below(root):
            by_stem.setdefault(path.stem, path)
        xml_files = list(files_below(root, (".xml",)))
        if not xml_files:
            yield Note("missing", "no annotation (*.xml)", str(root))
        for xml in xml_files:
            yield self._annotation(root, xml, by_stem.pop(xml.stem, None))
        for path in by_stem.values():
            yield Note("odd", "image without annotation", name_below(path, root))

    def _annotation(self, root: Path, xml: Path, image_path: Path | None) -> RawSample | Note:
        if image_path is None:
            return Note("missing", "image of this annotation", name_below(xml, root))
        try:
            labels, box = _read_surrounding(xml)
        except (OSError, ET.ParseError, LookupError, ValueError, OverflowError):
            return Note("unreadable", "not a Pascal VOC annotation", name_below(xml, root))
        if len(labels) > 1:
            return Note("left out", "objects of several classes in one image", name_below(image_path, root))
        return labelled_image(name_below(image_path, root), ImageFile(image_path), labels.pop(), self.object, None, box)


def _read_surrounding(xml: Path) -> tuple[set[str], Box]:
    """Names and surrounding box of all objects. VOC counts pixels from 1 and includes the last one."""
    objects = ET.fromstring(read_file(xml, MAX_YAML_BYTES)).findall("object")
    labels = {(tag.findtext("name") or "").strip() for tag in objects}
    boxes = [[float(tag.findtext(f"bndbox/{side}") or "x") for side in ("xmin", "ymin", "xmax", "ymax")]
             for tag in objects]  # fmt: skip
    if not boxes or "" in labels:
        raise ValueError("no object")
    x1, y1, x2, y2 = zip(*boxes, strict=True)
    return labels, (max(min(x1) - 1, 0.0), max(min(y1) - 1, 0.0), max(x2), max(y2))


@dataclass(frozen=True)
class TextBoxes:
    """Settings of the layout: CARPK. `annotations/NAME.txt` of lines x1 y1 x2 y2 class, `images/NAME.png`.

    Every object is a `label`: the class is a constant number.
    """

    annotations: str
    images: str
    label: str

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Annotations by name."""
        base = layout_folder(root, (self.annotations,), "folder")
        by_stem = {path.stem: path for path in images(base / self.images)}
        for text in entries(base / self.annotations):
            if text.suffix != ".txt":
                continue
            path = by_stem.pop(text.stem, base / self.images / f"{text.stem}.png")
            annotations: list[Annotation] = []
            lost = 0
            for row in rows(text, root):
                if isinstance(row, Note):
                    yield row
                elif (box := box_of(row[1][:4])) is None:
                    lost += 1
                    yield Note("unreadable", "line without a box", row[0])
                else:
                    annotations.append(Annotation(self.label, box))
            yield from annotated_file(name_below(path, root), path, annotations, lost=lost)
        for path in by_stem.values():
            yield Note("odd", "image without annotation", name_below(path, root))


@dataclass(frozen=True)
class Kitti:
    """Settings of the layout: KITTI objects, with depth if the depth benchmark and the devkit's mapping are present.

    Devkit of the object benchmark, readme.txt: `training/label_2/000000.txt` of lines type, truncated, occluded, alpha,
    box (left, top, right, bottom), height, width, length, x, y, z (metres, camera), rotation_y. Its folder `mapping`
    maps images to frames of the raw data, by which the depth benchmark names its files. In regions DontCare objects
    were left unmarked, often because they are far away.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images by number."""
        base = layout_folder(root, ("training/label_2",), "folder")
        frames = _frames(root)
        by_stem = {path.stem: path for path in images(base / "training/image_2")}
        for text in entries(base / "training/label_2"):
            path = by_stem.pop(text.stem, base / f"training/image_2/{text.stem}.png")
            annotations: list[Annotation] = []
            unmarked: list[float] = []
            lost = 0
            for row in rows(text, root):
                if isinstance(row, Note):
                    yield row
                elif isinstance(annotation := _read_kitti(row[1]), str):
                    lost += 1
                    yield Note("unreadable", annotation, row[0])
                elif annotation is not None:
                    annotations.append(annotation)
                elif box := box_of(row[1][4:8]):
                    unmarked += box
            depth = _depth(base, frames, text.stem)
            attributes: dict[str, AttributeValue] = {"unmarked": tuple(unmarked)} if unmarked else {}
            if text.stem in frames:
                attributes["drive"] = frames[text.stem][0]
            yield from annotated_file(
                name_below(path, root), path, annotations, lost=lost, depth=depth, attributes=attributes
            )
        for path in by_stem.values():
            yield Note("odd", "image without annotation", name_below(path, root))


def _read_kitti(cells: list[str]) -> Annotation | str | None:
    """The annotation of a line, or the problem with it; None for a region DontCare."""
    if len(cells) < 15:
        return "line with too few columns"
    if cells[0] == "DontCare":
        return None
    try:
        truncated, occluded, _, *numbers = (float(cell) for cell in cells[1:15])
    except ValueError:
        return "line with a cell that is not a number"
    x1, y1, x2, y2, height, width, length, x, y, z, turn = numbers
    # The near side of the box on the ground: half its length and width projected on the camera's axis.
    nearest = z - (length * abs(math.sin(turn)) + width * abs(math.cos(turn))) / 2
    extra: dict[str, AttributeValue] = {"truncated": truncated, "occluded": occluded, "size_m": (height, width, length),
                               "at_m": (x, y, z), "rotation_y": turn, "nearest_m": nearest}  # fmt: skip
    return Annotation(cells[0], (x1, y1, x2, y2), None, extra)


def _frames(root: Path) -> dict[str, tuple[str, str]]:
    """Number of a training image -> (drive, frame) in the raw data; empty without the devkit's mapping."""
    base = next(folders_holding(root, ("mapping/train_rand.txt",)), None)
    if base is None:
        return {}
    order = [cell for row in rows(base / "mapping/train_rand.txt", root, ",") if not isinstance(row, Note)
             for cell in row[1] if cell.isdecimal() and len(cell) < 10]  # fmt: skip
    named = [row[1] for row in rows(base / "mapping/train_mapping.txt", root) if not isinstance(row, Note)]
    # The devkit counts the lines of its mapping from 1; the first image is 000000.
    return {f"{number:06}": (named[int(line) - 1][1], named[int(line) - 1][2])
            for number, line in enumerate(order)
            if 0 < int(line) <= len(named) and len(named[int(line) - 1]) == 3
            and not any(map(leads_outside, named[int(line) - 1]))}  # fmt: skip


def _depth(base: Path, frames: dict[str, tuple[str, str]], stem: str) -> DepthPng | None:
    if stem not in frames:
        return None
    drive, frame = frames[stem]
    for split in ("train", "val"):
        path = base / "data_depth_annotated" / split / drive / "proj_depth/groundtruth/image_02" / f"{frame}.png"
        if is_file(path):
            return DepthPng(path, KITTI_PER_METRE)
    return None


class _OdgtExtra(BaseModel):
    ignore: int = 0


class _OdgtBox(BaseModel):
    tag: str
    fbox: tuple[float, float, float, float]
    vbox: tuple[float, float, float, float] | None = None
    hbox: tuple[float, float, float, float] | None = None
    extra: _OdgtExtra = _OdgtExtra()


class _OdgtLine(BaseModel):
    ID: str
    gtboxes: list[_OdgtBox]


@dataclass(frozen=True)
class CrowdHuman:
    """Settings of the layout: `annotation_{train,val}.odgt`, one JSON object per line, and `Images/ID.jpg`.

    Shao et al. 2018 and the dataset's download page: boxes [x, y, width, height] of the whole person (`fbox`, which may
    reach far beyond the image), of the visible part (`vbox`) and of the head (`hbox`). A person's box is the visible
    one; `mask` and `ignore` mark regions that are not single persons.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Train, then val; lines in file order."""
        names = ("annotation_train.odgt", "annotation_val.odgt")
        base = layout_folder(root, names, "annotations")
        by_stem = {path.stem: path for path in images_below(base)}
        for name in names:
            if not (base / name).is_file():
                yield Note("odd", "annotations are missing", name)
                continue
            for row in rows(base / name, root, "\n"):
                if isinstance(row, Note):
                    yield row
                    continue
                try:
                    line = _OdgtLine.model_validate(json.loads(row[1][0]))
                except (ValidationError, ValueError, RecursionError) as error:
                    yield Note("unreadable", "not a line of annotations", f"{row[0]}: {str(error).splitlines()[0]}")
                    continue
                path = by_stem.get(line.ID, base / "Images" / f"{line.ID.replace('/', '_')}.jpg")
                split = {"split": name.removeprefix("annotation_").removesuffix(".odgt")}
                annotations = [_person(box) for box in line.gtboxes]
                yield from annotated_file(name_below(path, root), path, annotations, attributes=split)


def _person(person: _OdgtBox) -> Annotation:
    extra: dict[str, AttributeValue] = {"full_box": _corners(person.fbox)}
    if person.hbox:
        extra["head_box"] = _corners(person.hbox)
    if person.extra.ignore or person.tag == "mask":
        extra["ignore"] = True
    return Annotation(person.tag, _corners(person.vbox or person.fbox), None, extra)


def _corners(box: tuple[float, float, float, float]) -> Box:
    """[x1, y1, x2, y2] of [x, y, width, height]."""
    x, y, width, height = box
    return x, y, x + width, y + height


@dataclass(frozen=True)
class DepthPng:
    """A 16-bit PNG of depths: value / `per_metre` metres, 0 for no measurement (KITTI: 256)."""

    path: Path
    per_metre: float

    def read(self) -> NDArray[np.float32]:
        """See `Depth`."""
        import numpy as np

        try:
            with open_image(self.path) as image:
                values = np.asarray(image)
        except Exception as error:  # a damaged image may raise any exception
            raise SnellenError(f"{self.path}: not a readable PNG of depths; copy the file again") from error
        if values.ndim != 2 or values.dtype.itemsize < 2:
            raise SnellenError(f"{self.path}: not a 16-bit grey PNG of depths; copy the file again")
        depths = values.astype(np.float32) / np.float32(self.per_metre)
        return np.where(values > 0, depths, np.float32("nan"))

    def inspect(self) -> None:
        """See `Depth` and `inspect_file`."""
        try:
            inspect_file(self.path)
        except SnellenError as error:
            raise SnellenError(f"{self.path}: {error}") from error
