"""Points on every thing of one class: FSC-147 (Ranjan et al., "Learning To Count Everything", CVPR 2021)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from snellen.sources.formats.lists import rows
from snellen.sources.formats.walking import folders_holding, name_below
from snellen.sources.reading import Note
from snellen.sources.scene_reading import scene_in_file
from snellen.sources.scenes import Marked, Seen


class _Points(BaseModel):
    points: list[tuple[float, float]]


_SPLITS = TypeAdapter(dict[str, list[str]])
ANNOTATIONS, CLASSES, SPLITS = "annotation_FSC147_384.json", "ImageClasses_FSC147.txt", "Train_Test_Val_FSC_147.json"


@dataclass(frozen=True)
class Fsc147:
    """Settings of the layout: annotations by picture, a list of classes (name, tab, class), splits.

    Every point is a thing without a box; its `extra` has `point`, x and y in pixels of the picture in `folder`.
    """

    folder: str = "images_384_VarV2"

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Pictures as the annotations have them."""
        base = next(folders_holding(root, (ANNOTATIONS,)), None)
        if base is None:
            yield Note("missing", f"no annotations {ANNOTATIONS}", str(root))
            return
        classes: dict[str, str] = {}
        for row in rows(base / CLASSES, root, "\t"):
            if isinstance(row, Note) or len(row[1]) < 2:
                yield row if isinstance(row, Note) else Note("unreadable", "picture without class", row[0])
            else:
                classes[row[1][0]] = row[1][1]
        splits: dict[str, str] = {}
        try:
            held = _SPLITS.validate_python(json.loads((base / SPLITS).read_text("utf-8")))
            splits = {name: split for split, names in held.items() for name in names}
        except (OSError, ValueError, RecursionError) as error:
            yield Note("unreadable", "not the JSON of the splits", f"{SPLITS}: {str(error).splitlines()[0]}")
        try:
            annotations = json.loads((base / ANNOTATIONS).read_text("utf-8"))
            pairs = list(annotations.items())
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            yield Note("unreadable", "not the JSON of the points", f"{ANNOTATIONS}: {error}")
            return
        for name, raw in pairs:
            yield from self._picture(root, base, name, raw, classes.get(name, ""), splits.get(name, ""))

    def _picture(self, root: Path, base: Path, name: str, raw: object, label: str, split: str) -> Iterator[Seen | Note]:
        try:
            points = _Points.model_validate(raw).points
        except ValidationError as error:
            yield Note("unreadable", "picture in another form", f"{name}: {error.errors()[0]['msg']}")
            return
        if not label or "/" in name:
            yield Note("unreadable", "picture without class", name)
            return
        things = [Marked(label, None, None, {"point": (float(x), float(y))}) for x, y in points]
        path = base / self.folder / name
        attributes = {"split": split} if split else {}
        yield from scene_in_file(name_below(path, root), path, things, attributes=attributes)
