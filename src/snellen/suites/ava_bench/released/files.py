"""The two released forms of AVA-Bench: Parquet files of the hub, and the JSON tree to which they are unpacked.

Layout (OSU-MLB/AVA-Bench): `train/ABILITY/train-0000i-of-0000n.parquet` with columns `COLUMNS`, or
`train/ABILITY/train.json`, a list of {id, image, conversations} with `image` below `train/`. Only `train` is published;
`test/ABILITY/test.json` or `test/ABILITY/test-….parquet` of the same form are read if a user has them. Unverified: no
released data file was available when this was written.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.item import Split
from snellen.core.storage.files import batch_rows, bounded_batches
from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import (
    MAX_DATASET_BYTES,
    bounded_json,
    bounded_list,
    leads_outside,
    read_file,
    read_text,
)
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.abilities.ability import ReleasedForm

COLUMNS = ("id", "image", "conversations")
SOURCES = ("dataset_type", "dataset", "source")
"""Fields that may name the dataset of a record."""
SPLITS: tuple[Split, ...] = ("train", "test")
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.parquet$")


class _Turn(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    who: str = Field(alias="from")
    value: str


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    conversations: list[_Turn]


@dataclass(frozen=True)
class Shelf:
    """The files of one ability in one split: `paths` are one JSON file, or the Parquet files in order."""

    task: str
    split: Split
    paths: tuple[Path, ...]

    @property
    def is_json(self) -> bool:
        """True if images are separate files."""
        return self.paths[0].suffix == ".json"


@dataclass(frozen=True)
class ReleasedRecord:
    """One released record. `location` is its file and row; `name` its id; `question` and `answer` its two turns.

    `file` is the image, or with a `row` of 0 or more the Parquet file with the image in that row. `wrong` is the reason
    if there are no two turns.
    """

    location: str
    task: str
    split: Split
    name: str
    question: str
    answer: str
    source: str
    file: Path
    row: int = -1
    wrong: str = ""


def released_form(task: str) -> ReleasedForm:
    """The released form of a task. Raises SnellenError for a task that was not released."""
    form = ability_named(task).released
    if form is None:
        raise SnellenError(f"ava-bench/{task}: was not released; build it --from generated or curated")
    return form


def base_of(root: Path) -> Path | None:
    """The folder that holds `train/`: the one given, or `AVA-Bench` in it."""
    return next((base for base in (root, root / "AVA-Bench") if (base / "train").is_dir()), None)


def find_shelves(base: Path, tasks: Sequence[str], problems: list[str]) -> list[Shelf]:
    """The existing files, in order of tasks. Missing shards of Parquet files are added to `problems`."""
    shelves = []
    for task in tasks:
        for split in SPLITS:
            folder = base / split / released_form(task).folder
            json_path = folder / f"{split}.json"
            shards = filter(Path.is_file, folder.glob(f"{split}*.parquet"))
            paths = (json_path,) if json_path.is_file() else tuple(sorted(shards))
            if paths:
                shelves.append(Shelf(task, split, paths))
            if len(paths) > 1 or (paths and not shelves[-1].is_json):
                problems += _missing(base, paths)
    return shelves


def _missing(base: Path, paths: Sequence[Path]) -> Iterator[str]:
    """A line for each missing file, by the names of the others (`…-of-0000n`)."""
    matches = [match for path in paths if (match := _SHARD.search(path.name))]
    if not matches:
        return
    count, first = int(matches[0][2]), min(int(match[1]) for match in matches)
    numbers = {int(match[1]) for match in matches}
    # The hub counts from 0; if a file has the count itself as its number, they count from 1.
    start = 1 if first >= 1 and count in numbers else 0
    stem = _SHARD.sub("", paths[0].name)
    for number in sorted(set(range(start, start + count)) - numbers):
        yield f"{paths[0].parent.relative_to(base)}/{stem}-{number:05d}-of-{count:05d}.parquet: missing"


def read_shelf(base: Path, shelf: Shelf, problems: list[str]) -> list[ReleasedRecord]:
    """Every record, in order, without its image. Errors in the files are added to `problems`."""
    return _read_json(base, shelf, problems) if shelf.is_json else _read_parquet(base, shelf, problems)


def _read_json(base: Path, shelf: Shelf, problems: list[str]) -> list[ReleasedRecord]:
    path = shelf.paths[0]
    name = str(path.relative_to(base))
    try:
        json_records = json.loads(bounded_json(read_text(path, "utf-8-sig", regular=True)))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{name}: not JSON ({error})")
        return []
    if not isinstance(json_records, list):
        problems.append(f"{name}: not a list of records")
        return []
    records = []
    for number, fields in enumerate(json_records):
        location = f"{name} record {number + 1}"
        try:
            if not isinstance(fields, dict):
                raise ValueError("not a record with id, image and conversations")
            file = _image(base, shelf.split, fields.get("image"))
            records.append(_record(shelf, location, number, fields, file))
        except ValueError as error:
            problems.append(f"{location}: {error}")
    return records


def _image(base: Path, split: Split, image: object) -> Path:
    if not isinstance(image, str) or not image:
        raise ValueError("image: not a path")
    if leads_outside(image):
        raise ValueError(f"image: {image} leads out of {split}/")
    path = base / split / image
    if not path.is_file():
        raise ValueError(f"image: {split}/{image} is missing")
    return path


def _read_parquet(base: Path, shelf: Shelf, problems: list[str]) -> list[ReleasedRecord]:
    records = list[ReleasedRecord]()
    for path in shelf.paths:
        name, number = str(path.relative_to(base)), 0
        try:
            with pq.ParquetFile(path) as file:
                columns = file.schema_arrow.names
                if missing := [column for column in COLUMNS if column not in columns]:
                    problems.append(f"{name}: no column {', '.join(missing)}")
                    continue
                read_columns = ["id", "conversations", *(column for column in SOURCES if column in columns)]
                for batch in bounded_batches(file, read_columns):
                    for fields in batch_rows(batch):
                        location = f"{name} row {number + 1}"
                        records.append(_record(shelf, location, len(records), fields, path, number))
                        number += 1
        except (OSError, ValueError, pa.ArrowException) as error:
            problems.append(f"{name}: not a readable Parquet file ({error})")
    return records


def _record(
    shelf: Shelf, location: str, number: int, fields: Mapping[str, Any], file: Path, row: int = -1
) -> ReleasedRecord:
    name = fields.get("id")
    record_id = f"{released_form(shelf.task).folder}_{number:08d}" if name in (None, "") else str(name)
    source = next((str(fields[key]) for key in SOURCES if fields.get(key)), "AVA-Bench")
    try:
        question, answer = _turns(fields.get("conversations"))
        wrong = ""
    except ValueError as error:
        question, answer, wrong = "", "", str(error)
    return ReleasedRecord(location, shelf.task, shelf.split, record_id, question, answer, source, file, row, wrong)


def _turns(conversations: object) -> tuple[str, str]:
    """Question and answer. Raises ValueError unless there are two turns, one of a human and one of the model."""
    try:
        turns_json = bounded_list(conversations) if isinstance(conversations, str) else conversations
        turns = _Line.model_validate({"conversations": turns_json}).conversations
    except (ValidationError, ValueError, RecursionError):
        raise ValueError("conversations is not a list of turns with from and value") from None
    if [turn.who for turn in turns] != ["human", "gpt"]:
        raise ValueError("conversations is not one turn of a human and one of gpt")
    return turns[0].value, turns[1].value


def used_twice(records: Sequence[ReleasedRecord]) -> set[tuple[str, Split, str]]:
    """(task, split, id) of duplicate ids: images of the tree are named after them."""
    counts = Counter((record.task, record.split, record.name) for record in records)
    return {key for key, count in counts.items() if count > 1}


def images(records: Sequence[ReleasedRecord], problems: list[str]) -> Iterator[tuple[int, bytes, str, tuple[int, int]]]:
    """(index in `records`, bytes, format, (width, height) in pixels) of each image, a few in memory at a time.

    Missing and undecodable images are added to `problems`.
    """
    for index, raw in _raw(records, problems):
        try:
            yield index, raw, *_decoded(raw)
        except (OSError, SyntaxError, ValueError) as error:
            problems.append(f"{records[index].location}: image: truncated or unreadable ({error})")


def _raw(records: Sequence[ReleasedRecord], problems: list[str]) -> Iterator[tuple[int, bytes]]:
    in_tables: dict[Path, dict[int, int]] = {}
    for index, record in enumerate(records):
        if record.row >= 0:
            in_tables.setdefault(record.file, {})[record.row] = index
            continue
        try:
            yield index, read_file(record.file)
        except OSError as error:
            problems.append(f"{record.location}: image: cannot be read ({error})")
    for path, indices in in_tables.items():
        for row, raw in _cells(path, set(indices), problems):
            if raw is None:
                problems.append(f"{records[indices[row]].location}: image: missing, the cell has no bytes")
            else:
                yield indices[row], raw


def _cells(path: Path, rows: set[int], problems: list[str]) -> Iterator[tuple[int, bytes | None]]:
    """(row, bytes of its image) of the given rows; row groups without any are not read."""
    try:
        with pq.ParquetFile(path) as file:
            start = 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                row = start
                if rows.isdisjoint(range(start, end)):
                    start = end
                    continue
                for batch in bounded_batches(file, ["image"], MAX_DATASET_BYTES, group):
                    for cell in batch.column(0):
                        if row in rows:
                            image = cell.as_py()
                            yield row, image.get("bytes") if isinstance(image, dict) else _bytes(image)
                        row += 1
                start = end
    except (OSError, ValueError, pa.ArrowException) as error:
        problems.append(f"{path.parent.name}/{path.name}: not a readable Parquet file ({error})")


def _bytes(image: object) -> bytes | None:
    return image if isinstance(image, bytes) else None


def _decoded(raw: bytes) -> tuple[str, tuple[int, int]]:
    """(format, (width, height) in pixels). Raises OSError for truncated or invalid images."""
    with open_image(io.BytesIO(raw)) as image:
        size, format = image.size, (image.format or "").lower()
        # An eighth of the size is enough to detect truncated JPEGs.
        image.draft("RGB", (max(1, size[0] // 8), max(1, size[1] // 8)))
        image.load()
    return {"jpeg": "jpg", "mpo": "jpg"}.get(format, format), size


def count_rows(path: Path) -> int:
    """The number of records in a file, 0 if it cannot be read."""
    try:
        if path.suffix == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        records = json.loads(bounded_json(read_text(path, "utf-8-sig", regular=True)))
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return 0
    return len(records) if isinstance(records, list) else 0


def footer(path: Path) -> bytes:
    """The footer of a Parquet file, which lists every column chunk with its position and size."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(8)[:4], "little")
        file.seek(max(0, size - 8 - length))
        return file.read()
