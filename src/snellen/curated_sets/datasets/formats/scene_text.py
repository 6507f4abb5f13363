"""Words in images: COCO-Text (Veit et al. 2016, JSON) and IIIT5K (Mishra et al. 2012, .mat of version 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from snellen.core.storage.user_files import leads_outside
from snellen.curated_sets.datasets.formats.matlab import read_variable
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import layout_folder, name_below
from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.sample import Annotation, Note, RawSample

COCO_TEXT = "cocotext.v2.json"


class _Image(BaseModel):
    id: int
    width: int
    height: int
    file_name: str
    set: str = ""


class _Word(BaseModel):
    image_id: int
    bbox: tuple[float, float, float, float]
    utf8_string: str = ""
    legibility: str = ""
    language: str = ""


@dataclass(frozen=True)
class CocoText:
    """Settings of the layout: `cocotext.v2.json` with objects `imgs` and `anns` by id, images of COCO 2014.

    An annotation is a word; illegible words have no text and are left out, which counts as lost.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images and words in file order."""
        base = layout_folder(root, (COCO_TEXT,), "annotations")
        images: dict[int, _Image] = {}
        words: dict[int, list[Annotation]] = {}
        lost: dict[int, int] = {}
        try:
            for key, id, raw in stream_json(base / COCO_TEXT, frozenset({"imgs", "anns"})):
                if key in ("imgs", "anns"):
                    yield from _add(key, str(id), raw, images, words, lost)
        except (OSError, ValueError, RecursionError) as error:
            # No samples at all: an image with some of its words looks like one with all.
            yield Note("unreadable", "not JSON of annotations; copy it again", f"{COCO_TEXT}: {error}")
            return
        if not images:
            yield Note("missing", "no imgs", COCO_TEXT)
        for image_id in [*words, *lost]:
            if image_id not in images:
                yield Note("odd", "word of an image that is not listed", str(image_id))
        for image_id, image in images.items():
            path = base / "train2014" / Path(image.file_name).name
            yield from annotated_file(
                name_below(path, root), path, words.get(image_id, []), size=(image.width, image.height),
                lost=lost.get(image_id, 0), attributes={"split": image.set},
            )  # fmt: skip


def _add(
    key: str, id: str, raw: Any, images: dict[int, _Image], words: dict[int, list[Annotation]], lost: dict[int, int]
) -> Iterator[Note]:
    try:
        if key == "imgs":
            image = _Image.model_validate(raw)
            if images.setdefault(image.id, image) is not image:
                yield Note("odd", "two images with one id; the first counts", str(image.id))
            return
        word = _Word.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        if key == "anns" and isinstance(raw, dict) and isinstance(raw.get("image_id"), int):
            lost[raw["image_id"]] = lost.get(raw["image_id"], 0) + 1
        yield Note("unreadable", f"element of {key} in another form", f"{id}: {first['loc']}: {first['msg']}")
        return
    text = word.utf8_string.strip()
    if not text:
        lost[word.image_id] = lost.get(word.image_id, 0) + 1
        yield Note("left out", "word without its text", id)
        return
    x, y, width, height = word.bbox
    extra = {"legibility": word.legibility, "language": word.language, "class": str(raw.get("class") or "")}
    words.setdefault(word.image_id, []).append(Annotation(text, (x, y, x + width, y + height), None, extra))


@dataclass(frozen=True)
class Iiit5k:
    """Settings of the layout: `traindata.mat`, `testdata.mat` with a struct of ImgName and GroundTruth; whole images.

    The published files are of version 5; a note on a MATLAB 7.3 file says how to convert it.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Files as declared, rows in file order."""
        base = layout_folder(root, ("traindata.mat", "testdata.mat"), "list")
        for split in ("train", "test"):
            variable = f"{split}data"
            table = read_variable(base / f"{variable}.mat", variable, _words_of)
            if isinstance(table, str):
                yield Note("unreadable", table, f"{variable}.mat")
                continue
            for name, word in table:
                path = base / name
                if leads_outside(name) or not word.strip():
                    yield Note("unreadable", "row without image or word", f"{variable}.mat: {name}")
                    continue
                annotation = Annotation(word.strip())
                yield from annotated_file(name_below(path, root), path, (annotation,), attributes={"split": split})


def _words_of(rows: Any) -> list[tuple[str, str]]:
    """The image and the word of each row of a struct array."""
    return [("".join(row["ImgName"]()), "".join(row["GroundTruth"]())) for row in rows]
