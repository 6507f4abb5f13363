"""The user's own boxes: COCO, a CSV file, a folder of YOLO labels or VOC XML, or a Hugging Face dataset."""

from __future__ import annotations

import contextlib
import io
import math
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

from yaml import YAMLError

from snellen.core.errors import SnellenError
from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import MAX_YAML_BYTES, file_fault, own_file, read_text
from snellen.core.storage.user_yaml import read_yaml
from snellen.datasets.fitting import annotated_file, box_of, read_voc
from snellen.datasets.formats.coco_json import CocoFile, CocoJson
from snellen.datasets.formats.file_tree import SUFFIXES, name_below
from snellen.datasets.hub_boxes import read_hub_boxes
from snellen.datasets.hub_tables import find_shards
from snellen.datasets.image_files import ImageFile, image_size, is_turned, levels_fault
from snellen.datasets.own_images import (
    CLASS_COLUMNS,
    OWN,
    PATH_COLUMNS,
    clean_label,
    find_column,
    path_within,
    read_csv,
    refuse_many_labels,
    shown_name,
)
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Annotation, AttributeValue, Note, RawSample, Sample

CORNERS, EXTENTS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax")), ("x", "y", "width", "height")
COLOURS = ("colour", "color", "rgb")
FORMS = "a COCO .json, a .csv with the columns path, class, x1, y1, x2, y2, or a folder of YOLO's .txt or VOC's .xml"
NO_BOX = "line without a class and box"
TURNED = "rotated by EXIF metadata, so that the orientation of boxes is unknown; save it upright"


@dataclass(frozen=True)
class OwnBoxes:
    """Locations of images and boxes; `exhaustive` is True if all objects of a named class are marked.

    None is the default of the format: True for COCO, YOLO, VOC and datasets, and for CSV files only where their column
    `exhaustive` says yes. Without `boxes`, boxes come with the images of a dataset folder.
    """

    images: Path
    boxes: Path | None
    exhaustive: bool | None = None

    def samples(self) -> Iterator[Sample | Note]:
        """One sample per image with all its boxes; notes on the rest. Images' headers are read.

        Raises SnellenError if there is no such file or folder.
        """
        labels: set[str] = set()
        for raw in self._scan():
            if isinstance(raw, Note):
                yield replace(raw, location=shown_name(raw.location))
            elif fault := _image_fault(raw):
                yield Note("unreadable", fault, shown_name(raw.record_id))
            else:
                sample = Sample(source=OWN, licence="", **vars(raw))
                labels.update(annotation.label for annotation in sample.annotations)
                refuse_many_labels(self.boxes or self.images, labels)
                yield from self._clean(sample)

    def _scan(self) -> Iterator[RawSample | Note]:
        if self.boxes is None:
            return _shard_boxes(self.images)
        if not self.images.is_dir():
            raise SnellenError(f"{self.images}: not a folder of images; give --source images=DIR")
        suffix = self.boxes.suffix.lower()
        if self.boxes.is_dir():
            found = (path for path in self.boxes.rglob("*") if path.suffix.lower() in (".xml", ".txt"))
            files = sorted(own_file(self.boxes, path) for path in found)
            if any(path.suffix.lower() == ".xml" for path in files):
                return _voc(self.images, self.boxes, [path for path in files if path.suffix.lower() == ".xml"])
            if files:
                return _yolo(self.images, self.boxes, files)
        elif suffix == ".json" and self.boxes.is_file():
            return _coco(self.images, self.boxes)
        elif suffix in (".csv", ".tsv") and self.boxes.is_file():
            return _table(self.images, self.boxes)
        missing = not self.boxes.exists()
        problem = "no boxes in it" if self.boxes.is_dir() else "no such file" if missing else "unknown format"
        raise SnellenError(f"{self.boxes}: {problem}; give --source boxes={FORMS}")

    def _clean(self, sample: Sample) -> Iterator[Sample | Note]:
        """The sample with classes in display form, and with the classes that are not exhaustively marked."""
        annotations = []
        for annotation in sample.annotations:
            if label := clean_label(annotation.label.replace("_", " ")):
                annotations.append(replace(annotation, label=label))
            else:
                yield Note("odd", "empty, overlong or invalid class", shown_name(sample.record_id))
        lost = sample.lost + len(sample.annotations) - len(annotations)
        attributes = dict(sample.attributes)
        if self.exhaustive is not None and self.boxes and self.boxes.suffix.lower() in (".csv", ".tsv"):
            attributes.pop(NOT_EXHAUSTIVE_FIELD, None)
        names = attributes.get(NOT_EXHAUSTIVE_FIELD, ())
        open_labels = {clean_label(str(name).replace("_", " ")) for name in (names if isinstance(names, tuple) else ())}
        if self.exhaustive is False:
            open_labels = {annotation.label for annotation in annotations}
        attributes[NOT_EXHAUSTIVE_FIELD] = tuple(sorted(open_labels))
        yield replace(sample, annotations=tuple(annotations), lost=lost, attributes=attributes)


def _image_fault(raw: RawSample) -> str:
    is_file = isinstance(raw.image, ImageFile)
    if is_file and (fault := file_fault(raw.image.path)):
        return fault
    try:
        with open_image(raw.image.path if is_file else io.BytesIO(raw.image.read("")[0])) as image:
            return TURNED if is_turned(image) else levels_fault(image)
    except Exception:  # noqa: BLE001  # a damaged image may raise any exception
        return "not a readable image"


def _shard_boxes(images: Path) -> Iterator[RawSample | Note]:
    """Boxes in the same rows as the images, with the facts that a CSV file's columns would give."""
    if not (shards := find_shards(images) if images.exists() else []):
        raise SnellenError(f"{images}: not a Hugging Face dataset; also give --source boxes=PATH, {FORMS}")
    for raw in read_hub_boxes(images, shards):
        if isinstance(raw, Note):
            yield raw
        else:
            objects = (replace(t, extra=_extra({k: str(f) for k, f in t.extra.items()})) for t in raw.annotations)
            yield replace(raw, annotations=tuple(objects))


def _coco(images: Path, path: Path) -> Iterator[RawSample | Note]:
    """Images in the folder by `file_name`, or by its last part alone if none is found."""
    with path.open("rb") as file:
        if file.read(100).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise SnellenError(f"{path}: a list, as of detections; give COCO's annotations, with images and categories")
    for tail in (0, 1):
        reader = CocoJson((CocoFile("", (path.name,), tail=tail),), image_fields=(NOT_EXHAUSTIVE_FIELD,))
        raw_samples = list(reader.read(images, path))
        if counts := Counter(raw.record_id for raw in raw_samples if isinstance(raw, RawSample)):
            break
    for raw in raw_samples:
        if tail and isinstance(raw, RawSample) and counts[raw.record_id] > 1:
            yield Note("missing", "image that only these labels name", raw.record_id)
        else:
            yield raw


def _table(images: Path, path: Path) -> Iterator[RawSample | Note]:
    rows = read_csv(path)
    path_column, class_column = (find_column(path, rows[0], names) for names in (PATH_COLUMNS, CLASS_COLUMNS))
    corners = next((names for names in (*CORNERS, EXTENTS) if set(names) <= set(rows[0])), None)
    if corners is None:
        raise SnellenError(f"{path}: no columns x1, y1, x2, y2 (or x, y, width, height), in pixels from the upper left")
    annotations: dict[str, list[Annotation]] = {}
    lost: dict[str, int] = {}
    open_labels: dict[str, set[str]] = {}
    for number, row in enumerate(rows, 2):
        record = path_within(images, row[path_column])
        if not record:
            yield Note("odd", "image outside the folder", f"{path.name} row {number}")
            continue
        of_image = annotations.setdefault(record, [])
        box = box_of(row[name] for name in corners)
        label = row[class_column] or ("text" if row.get("text") else "")
        if row.get("exhaustive", "").casefold() not in ("1", "yes", "true"):
            open_labels.setdefault(record, set()).add(label)
        if box is None or not label:
            yield Note("odd", "row without a class or four numbers", f"{path.name} row {number}")
            lost[record] = lost.get(record, 0) + 1
            continue
        if corners == EXTENTS:
            box = (box[0], box[1], box[0] + box[2], box[1] + box[3])
        of_image.append(Annotation(label, box, extra=_extra(row)))
    for record, of_image in annotations.items():
        attributes = {NOT_EXHAUSTIVE_FIELD: tuple(sorted(open_labels.get(record, ())))}
        yield from annotated_file(record, images / record, of_image, lost=lost.get(record, 0), attributes=attributes)


def _extra(row: Mapping[str, str]) -> dict[str, AttributeValue]:
    """Optional columns of an object: depth in metres, orientation, text, colour as #rrggbb or `r g b`."""
    extra: dict[str, AttributeValue] = {}
    with contextlib.suppress(ValueError):
        extra["nearest_m"] = float(row.get("depth", ""))
    if orientation := row.get("orientation", ""):
        extra["orientation"] = " ".join(orientation.casefold().replace("-", " ").replace("_", " ").split())
    if text := row.get("text", ""):
        extra["text"] = text
    if rgb := read_colour(next((row[name] for name in COLOURS if row.get(name)), "")):
        extra["rgb"] = rgb
    return extra


def read_colour(text: str) -> tuple[float, ...] | None:
    """`#rrggbb` or three numbers as sRGB, 0 to 255; None for anything else."""
    try:
        if text.startswith("#") and len(text) == 7:
            return tuple(float(level) for level in bytes.fromhex(text[1:]))
        rgb = tuple(float(level) for level in text.replace(",", " ").split())
    except ValueError:
        return None
    return rgb if len(rgb) == 3 and all(0 <= level <= 255 for level in rgb) else None


def _pairs(images: Path, folder: Path, paths: Sequence[Path]) -> Iterator[tuple[Path, Path | None]]:
    """Files of labels, each with the only image of its path without suffix, or else of a stem that no other has."""
    by_name: dict[str, list[Path]] = defaultdict(list)
    for image in images.rglob("*"):
        if image.suffix.lower() in SUFFIXES:
            for name in _names(image, images):
                by_name[name].append(image)
    counts = Counter(_names(path, folder)[1] for path in paths)
    for path in paths:
        name, stem = _names(path, folder)
        matches = by_name.get(name) or (by_name[stem] if counts[stem] == 1 else [])
        yield path, matches[0] if len(matches) == 1 else None


def _names(path: Path, folder: Path) -> tuple[str, str]:
    """The path without suffix, and `/` with the stem, both with composed accents."""
    name = normalize("NFC", path.relative_to(folder).with_suffix("").as_posix())
    return name, f"/{name.rpartition('/')[2]}"


def _yolo(images: Path, folder: Path, paths: Sequence[Path]) -> Iterator[RawSample | Note]:
    """One object per line: class number, then centre and size of the box, or an outline, in shares."""
    names, pose = _yolo_names(folder)
    for path, image_path in _pairs(images, folder, paths):
        if image_path is None:
            if path.name not in ("classes.txt", "names.txt"):
                yield Note("missing", "image of these labels", path.name)
            continue
        size = image_size(image_path)
        annotations, lost = [], 0
        for line in _lines(path):
            annotation = _yolo_annotation(line, size or (0, 0), names, pose)
            if size is None or isinstance(annotation, str):
                lost += 1
                yield Note("odd", str(annotation) if size else NO_BOX, path.name)
            else:
                annotations.append(annotation)
        yield from annotated_file(name_below(image_path, images), image_path, annotations, size=size, lost=lost)


def _lines(path: Path) -> list[str]:
    try:
        return list(filter(str.strip, read_text(path, "utf-8-sig", MAX_YAML_BYTES, regular=True).splitlines()))
    except (OSError, UnicodeDecodeError):
        return ["unreadable"]


def _yolo_names(folder: Path) -> tuple[Mapping[str, str], int]:
    """The classes by number, and how many numbers follow a box in labels of poses (`kpt_shape`)."""
    for near in (folder, *folder.resolve().parents[:2]):
        for name in ("data.yaml", "dataset.yaml"):
            if (near / name).is_file():
                content = _yaml(own_file(near, near / name))
                names, shape = content.get("names"), content.get("kpt_shape")
                pairs = names.items() if isinstance(names, dict) else enumerate(names if type(names) is list else ())
                pose = math.prod(shape) if isinstance(shape, list) and all(type(n) is int for n in shape) else 0
                return {str(number): str(label) for number, label in pairs}, pose
        for name in ("classes.txt", "names.txt", "obj.names"):
            if (near / name).is_file():
                labels = _lines(own_file(near, near / name))
                return {str(number): label.strip() for number, label in enumerate(labels)}, 0
    raise SnellenError(f"{folder}: no class names; put classes.txt there, with one name per line, or YOLO's data.yaml")


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        content = read_yaml(path)
        return content if isinstance(content, dict) else {}
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise SnellenError(f"{path}: cannot be read as YAML: {shown_name(str(error).splitlines()[0])}") from None


def _yolo_annotation(line: str, size: tuple[int, int], names: Mapping[str, str], pose: int) -> Annotation | str:
    """The object of a line, or what is wrong with it; of a pose, whose points have `pose` numbers, the box is read."""
    number, *cells = line.split()
    try:
        shares = [float(cell) for cell in cells]
    except ValueError:
        return NO_BOX
    is_pose = pose > 0 and len(shares) == 4 + pose
    if len(shares) == 5:
        return "box with a fifth number (a confidence: predictions, not labels?)"
    if number not in names or len(shares) < 4 or (len(shares) % 2 and not is_pose):
        is_odd = number in names and len(shares) > 8
        return f"{NO_BOX} (of a pose? Its data.yaml needs kpt_shape)" if is_odd else NO_BOX
    if len(shares) == 4 or is_pose:
        x, y, width, height = shares[:4]
        left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    else:
        left, top, right, bottom = min(shares[::2]), min(shares[1::2]), max(shares[::2]), max(shares[1::2])
    return Annotation(names[number], (left * size[0], top * size[1], right * size[0], bottom * size[1]))


def _voc(images: Path, folder: Path, paths: Sequence[Path]) -> Iterator[RawSample | Note]:
    """One XML file per image, of the same name. VOC counts pixels from 1 and includes the last one."""
    for path, image_path in _pairs(images, folder, paths):
        try:
            root = ET.fromstring(read_text(path, "utf-8-sig", MAX_YAML_BYTES, regular=True))
        except (OSError, UnicodeDecodeError, ET.ParseError, ValueError):
            yield Note("unreadable", "not a Pascal VOC annotation", path.name)
            continue
        if image_path is None or root.tag == "annotations":
            form = "CVAT's form, not Pascal VOC's; export COCO" if root.tag == "annotations" else ""
            yield Note("missing", form or "image of this annotation", path.name)
            continue
        annotations, malformed = read_voc(root)
        yield from (Note("odd", "object without a class or four numbers", path.name) for _ in malformed)
        yield from annotated_file(name_below(image_path, images), image_path, annotations, lost=len(malformed))
