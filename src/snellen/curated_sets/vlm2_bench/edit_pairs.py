"""Reader for pairs of original and edited images in the user's folder (ImagenHub, OmniEdit and similar).

Two layouts are read. Paths of images are relative to the folder; any format that Pillow opens is accepted.

1. `metadata.jsonl` (one object per line) or `metadata.csv`, one row per pair. A field may have any of the names in
   `FIELDS`. So rows of ImagenHub's text-guided editing (`img_id`, `turn_index`, `source_img`, `target_img`,
   `instruction`) and of OmniEdit-Filtered (`omni_edit_id`, `src_img`, `edited_img`, `edited_prompt_list`, `task`) can
   be read once their images are saved as files. Of a list of instructions the first is used. The default id is the
   line number.
2. One folder per pair with a source image, an edited image and a text file with the instruction, named as in `FIELDS`
   (`source.jpg`, `edited.jpg`, `instruction.txt`).

Field names follow the datasets' cards from memory; no file of either was available.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage.user_files import bounded_json, is_file, leads_outside, read_text, unfilled_rows

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "omni_edit_id", "img_id", "image_id"),
    "turn": ("turn_index", "turn"),
    "source": ("source", "source_img", "src_img", "source_image", "input", "input_image", "original", "original_image"),
    "edited": (
        "edited",
        "edited_img",
        "edited_image",
        "target",
        "target_img",
        "target_image",
        "output",
        "output_image",
    ),
    "instruction": ("instruction", "edit_prompt", "edited_prompt_list", "prompt"),
    "kind": ("edit_type", "edit", "task"),
}
"""Accepted names of each field; the first one present in a row is used."""
LAYOUT = (
    "give a folder with metadata.jsonl or metadata.csv (fields id, source, edited, instruction), or one folder per "
    "pair with source.jpg, edited.jpg and instruction.txt"
)
METADATA = ("metadata.jsonl", "metadata.csv")
KINDS: Mapping[str, tuple[str, ...]] = {
    "add": ("add", "addition", "object_add", "obj_add"),
    "remove": ("remove", "removal", "object_removal", "obj_remove"),
    "swap": ("swap", "replace", "object_swap", "obj_swap"),
    "attribute": ("attribute", "attribute_modification", "attr_modification"),
    "environment": ("environment", "env", "background", "background_swap"),
}
"""Kinds of edit, and their names in datasets."""


@dataclass(frozen=True)
class EditPair:
    """One image before and after an edit. `kind` is one of `KINDS`, or empty if the source does not state it.

    `scene` is common to pairs that are not independent: successive edits of one image.
    """

    name: str
    scene: str
    original: Path
    edited: Path
    instruction: str
    kind: str = ""

    @property
    def handle(self) -> str:
        """An opaque id, since names of the source (`add-red-cup`) may reveal the answer."""
        return digest(["edit pair", self.name], 10)

    @property
    def scene_handle(self) -> str:
        """An opaque id of the scene."""
        return digest(["edited scene", self.scene], 10)


def read_edit_pairs(root: Path) -> tuple[EditPair, ...]:
    """All pairs, in the order of the file or of the folders' names.

    Raises SnellenError naming file and line for a row without a required field, a missing image, or a repeated id.
    """
    pairs: dict[str, EditPair] = {}
    for location, row, base in _rows(root):
        pair = _pair(location, row, base)
        if pair.name in pairs:
            raise SnellenError(f"{location}: id {pair.name!r} is used twice; each pair needs a different id")
        pairs[pair.name] = pair
    if not pairs:
        raise SnellenError(f"{root}: no pairs of images; {LAYOUT}")
    return tuple(pairs.values())


def _rows(root: Path) -> Iterator[tuple[str, Mapping[str, Any], Path]]:
    """(location, row, base folder of paths); folders are ignored if there is a file of rows."""
    for name in METADATA:
        if (path := root / name).is_file():
            lines = _csv_lines(path) if name.endswith(".csv") else _json_lines(path)
            yield from ((f"{path} line {number}", _with_id(row, number), root) for number, row in lines)
            return
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")):
        yield str(folder), _folder_row(folder), folder


def _with_id(row: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    return row if any(name in row for name in FIELDS["id"]) else {"id": number, **row}


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(bounded_json(line))
        except (ValueError, RecursionError) as error:
            raise SnellenError(f"{path} line {number}: not JSON ({error}); write one object per line") from error
        if not isinstance(row, dict):
            raise SnellenError(f"{path} line {number}: not a JSON object; write one object per line")
        yield number, row


def _csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, row in unfilled_rows(csv.DictReader(io.StringIO(_text(path), newline=""))):
        yield number, {name: text for name, text in row.items() if name and text}


def _text(path: Path) -> str:
    try:
        return read_text(path, "utf-8-sig", regular=True)
    except (OSError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: not readable as text in UTF-8 ({error})") from error


def _folder_row(folder: Path) -> Mapping[str, Any]:
    row: dict[str, Any] = {"id": folder.name}
    for path in sorted(folder.iterdir()):
        if path.stem in FIELDS["instruction"] and path.suffix == ".txt":
            row[path.stem] = _text(path).strip()
        elif path.stem in FIELDS["source"] + FIELDS["edited"]:
            row[path.stem] = path.name
    return row


def _pair(location: str, row: Mapping[str, Any], base: Path) -> EditPair:
    scene = _field(location, row, "id")
    turn = next((str(row[name]) for name in FIELDS["turn"] if name in row), "")
    kind = next((str(row[name]).strip().lower() for name in FIELDS["kind"] if name in row), "")
    return EditPair(
        f"{scene}/{turn}" if turn else scene,
        scene,
        _image(location, row, "source", base),
        _image(location, row, "edited", base),
        _field(location, row, "instruction"),
        next((name for name, theirs in KINDS.items() if kind in theirs), ""),
    )


def _field(location: str, row: Mapping[str, Any], field: str) -> str:
    text = next((row[name] for name in FIELDS[field] if name in row), None)
    if isinstance(text, list) and text:
        text = text[0]
    if isinstance(text, bool) or not isinstance(text, str | int) or not str(text).strip():
        raise SnellenError(f"{location}: no {field}; give a field or file named {', '.join(FIELDS[field])}")
    return str(text).strip()


def _image(location: str, row: Mapping[str, Any], field: str, base: Path) -> Path:
    name = _field(location, row, field)
    path = base / name
    if leads_outside(name) or not is_file(path):
        raise SnellenError(f"{location}: {path} is no file in {base}, to which paths of images are relative")
    return path
