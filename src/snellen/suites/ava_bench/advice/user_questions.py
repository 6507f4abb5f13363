"""The user's own questions, read from a file, with the images they are about."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_files import read_text
from snellen.suites.ava_bench.advice.ability_profile import UserQuestion

FORM = (
    "write a CSV file with the columns question_id, question and, if images are to be shown, image; or a JSON "
    "list of objects with these fields (text is accepted for question)"
)


@dataclass(frozen=True)
class QuestionRow:
    """One question of a file. `location` is its file and row; `image` is the image's file, None without one."""

    location: str
    question_id: str
    question: str
    image: Path | None


def read_rows(path: Path) -> list[QuestionRow]:
    """The questions of a CSV file (comma, UTF-8, with a header) or of a JSON list. No image is opened.

    Image paths are relative to the folder of the file. Raises SnellenError, with file and row, for a missing id or
    question, surplus cells and duplicate ids, and for a file without questions.
    """
    if not path.is_file():
        raise SnellenError(f"{path}: no such file; {FORM}")
    rows: dict[str, QuestionRow] = {}
    for location, cells in _json_rows(path) if path.suffix.casefold() == ".json" else _csv_rows(path):
        row = _row(location, cells, path.parent)
        if other := rows.get(row.question_id):
            raise SnellenError(
                f"{location}: question_id {row.question_id!r} is also in {other.location}; give each its own id"
            )
        rows[row.question_id] = row
    if not rows:
        raise SnellenError(f"{path}: no questions; {FORM}")
    return list(rows.values())


def with_images(question_rows: Iterable[QuestionRow], media: MediaFolder) -> list[UserQuestion]:
    """The questions with their images, which are stored in `media`.

    Raises SnellenError, with file and row, for missing and truncated images.
    """
    media_by_path: dict[Path, Media] = {}
    questions = []
    for row in question_rows:
        if row.image is not None and row.image not in media_by_path:
            media_by_path[row.image] = _add_image(row, row.image, media)
        images = () if row.image is None else (media_by_path[row.image],)
        questions.append(UserQuestion(row.question_id, row.question, images))
    return questions


def _add_image(question_row: QuestionRow, image: Path, media: MediaFolder) -> Media:
    try:
        stored = media.add_file(image)
        with media.open(stored) as opened:
            opened.load()
    except SnellenError as error:
        raise SnellenError(f"{question_row.location}: {error}") from error
    except (OSError, ValueError, SyntaxError) as error:  # a damaged PNG is a SyntaxError to Pillow
        raise SnellenError(
            f"{question_row.location}: {image}: a damaged image ({error}); fix it or leave it out"
        ) from error
    return stored


def _row(location: str, cells: Mapping[str, Any], folder: Path) -> QuestionRow:
    name, question = cells.get("question_id"), cells.get("question", cells.get("text"))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    for cell, column in ((name, "question_id"), (question, "question")):
        if not isinstance(cell, str) or not cell.strip():
            raise SnellenError(f"{location}: no {column}; {FORM}")
    image = cells.get("image") or ""
    if not isinstance(image, str):
        raise SnellenError(f"{location}: image {image!r} is not a path; write one path, or none")
    image_path = folder / image.strip() if image.strip() else None
    return QuestionRow(location, str(name).strip(), str(question).strip(), image_path)


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(_text(path), newline=""))
    try:
        for cells in reader:
            location = f"{path} line {reader.line_num}"
            if None in cells:
                raise SnellenError(f"{location}: more cells than columns; quote texts that contain commas")
            yield location, cells
    except csv.Error as error:
        raise SnellenError(f"{path} line {reader.line_num}: not readable as CSV ({error}); {FORM}") from error


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        json_rows = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise SnellenError(f"{path}: not JSON ({error}); {FORM}") from error
    if not isinstance(json_rows, list):
        raise SnellenError(f"{path}: not a JSON list; {FORM}")
    for number, cells in enumerate(json_rows, 1):
        location = f"{path} entry {number}"
        if not isinstance(cells, dict):
            raise SnellenError(f"{location}: not a JSON object; {FORM}")
        yield location, cells


def _text(path: Path) -> str:
    try:
        return read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: not readable as text in UTF-8 ({error})") from error
