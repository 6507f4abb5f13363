"""Points on all objects of one class: FSC-147, and heads in the frames of VSCrowd.

Ranjan et al., "Learning To Count Everything", CVPR 2021; Li et al., "Video Crowd Localization With Multifocus Gaussian
Neighborhood Attention and a Large-Scale Benchmark", IEEE Transactions on Image Processing 31, 2022.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from snellen.core.storage.user_files import bounded_json, read_text
from snellen.curated_sets.datasets.formats.lists import rows
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import entries, images, layout_folder, name_below, subfolders
from snellen.datasets.sample import Annotation, Note, RawSample


class _Points(BaseModel):
    points: list[tuple[float, float]]


_SPLITS = TypeAdapter(dict[str, list[str]])
ANNOTATIONS, CLASSES, SPLITS = "annotation_FSC147_384.json", "ImageClasses_FSC147.txt", "Train_Test_Val_FSC_147.json"


@dataclass(frozen=True)
class Fsc147:
    """Settings of the layout: annotations by image, a list of classes (name, tab, class), splits.

    Each point is an annotation without a box; its `extra` has `point`, x and y in pixels of the image.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images in the order of the annotations."""
        base = layout_folder(root, (ANNOTATIONS,), "annotations")
        classes: dict[str, str] = {}
        for row in rows(base / CLASSES, root, "\t"):
            if isinstance(row, Note) or len(row[1]) < 2:
                yield row if isinstance(row, Note) else Note("unreadable", "image without class", row[0])
            else:
                classes[row[1][0]] = row[1][1]
        splits: dict[str, str] = {}
        try:
            names_by_split = _SPLITS.validate_python(json.loads(bounded_json(read_text(base / SPLITS, regular=True))))
            splits = {name: split for split, names in names_by_split.items() for name in names}
        except (OSError, ValueError, RecursionError) as error:
            yield Note("unreadable", "not the JSON of the splits", f"{SPLITS}: {str(error).splitlines()[0]}")
        try:
            annotations = json.loads(bounded_json(read_text(base / ANNOTATIONS, regular=True)))
            pairs = list(annotations.items())
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            yield Note("unreadable", "not the JSON of the points", f"{ANNOTATIONS}: {error}")
            return
        for name, raw in pairs:
            yield from self._image(root, base, name, raw, classes.get(name, ""), splits.get(name, ""))

    def _image(
        self, root: Path, base: Path, name: str, raw: object, label: str, split: str
    ) -> Iterator[RawSample | Note]:
        try:
            points = _Points.model_validate(raw).points
        except ValidationError as error:
            yield Note("unreadable", "image in another form", f"{name}: {error.errors()[0]['msg']}")
            return
        if not label or "/" in name:
            yield Note("unreadable", "image without class", name)
            return
        annotations = [Annotation(label, None, None, {"point": (float(x), float(y))}) for x, y in points]
        path = base / "images_384_VarV2" / name
        attributes = {"split": split} if split else {}
        yield from annotated_file(name_below(path, root), path, annotations, attributes=attributes)


@dataclass(frozen=True)
class VsCrowd:
    """Settings of the layout: `annotations/VIDEO.txt` with one line per frame, `videos/VIDEO/FRAME.jpg`.

    Homepage of VSCrowd: a line has the number of its frame, and for each head its id in the video, its box (left, top,
    right, bottom) and its centre. The page writes frames with four digits, users of the files with six: frames and
    images are matched by number, however it is written. The name of a video starts with its split.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Videos by name, frames in the order of their lines."""
        base = layout_folder(root, ("annotations",), "folder")
        videos = [text for text in entries(base / "annotations") if text.suffix == ".txt"]
        for text in videos:
            yield from self._video(root, text, base / "videos" / text.stem)
        for folder in subfolders(base / "videos"):
            if folder.name not in {text.stem for text in videos}:
                yield Note("odd", "video without annotations", name_below(folder, root))

    def _video(self, root: Path, text: Path, folder: Path) -> Iterator[RawSample | Note]:
        by_number = {path.stem.lstrip("0"): path for path in images(folder)}
        split = text.stem.split("_")[0]
        attributes = {"video": text.stem, **({"split": split} if split in ("train", "test") else {})}
        frames = set[str]()
        for row in rows(text, root):
            if isinstance(row, Note):
                yield row
                continue
            frame, *numbers = row[1]
            name = frame.lstrip("0")
            if not (frame.isascii() and frame.isdigit()):
                yield Note("unreadable", "line without the number of a frame", row[0])
                continue
            if name in frames:
                yield Note("odd", "frame twice; the first counts", row[0])
                continue
            frames.add(name)
            path = by_number.pop(name, folder / f"{frame}.jpg")
            if (heads := self._heads(numbers)) is None:
                yield Note("unreadable", "line without seven numbers per head", row[0])
                continue
            if lost := len(numbers) // 7 - len(heads):
                yield Note("odd", "head twice in a frame; the first counts", row[0])
            yield from annotated_file(name_below(path, root), path, heads, lost=lost, attributes=attributes)
        for path in by_number.values():
            yield Note("odd", "image without annotation", name_below(path, root))

    def _heads(self, cells: list[str]) -> list[Annotation] | None:
        """The heads of a frame, the first of each id; None if the cells are invalid."""
        heads: dict[str, Annotation] = {}
        if len(cells) % 7:
            return None
        for first in range(0, len(cells), 7):
            try:
                _, x1, y1, x2, y2, x, y = (float(cell) for cell in cells[first : first + 7])
            except ValueError:
                return None
            head = cells[first]
            heads.setdefault(head, Annotation("person", (x1, y1, x2, y2), None, {"head": head, "point": (x, y)}))
        return list(heads.values())
