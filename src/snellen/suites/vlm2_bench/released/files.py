"""The two released forms of VLM2-Bench: the authors' folder of JSONL and images, and VLMEvalKit's TSV.

The layout of the folder (the unpacked vlm2-bench_dataset.zip of Sterzhang/vlm2-bench) follows the released scripts:
`jsonl/{gc,oc,pc}/vanilla/*.jsonl` (the scripts spell one of them `vallina`) and `data/…` (`FOLDERS`). The TSV is
VLM2Bench_img.tsv from the same source, with columns `COLUMNS` and no videos. Both are unverified, see `records.py`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage import files
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_files import bounded_json, bounded_literal, is_file, leads_outside, unfilled_rows
from snellen.curation.released import read_json_lines
from snellen.suites.vlm2_bench.released.records import MODELS, QuestionRecord, SkippedRecord, record_of, without_slips
from snellen.suites.vlm2_bench.tasks import COUNTS, TRUE_FALSE

JSONL: Mapping[str, tuple[str, str]] = {
    "gc-mat": ("gc", "gc_mat.jsonl"),
    "gc-trk": ("gc", "gc_trk.jsonl"),
    "oc-cpr": ("oc", "oc_cpr.jsonl"),
    "oc-cnt": ("oc", "oc_cnt.jsonl"),
    "oc-grp": ("oc", "oc_grp.jsonl"),
    "pc-cpr": ("pc", "pc_cpr.jsonl"),
    "pc-cnt": ("pc", "pc_cnt.jsonl"),
    "pc-grp": ("pc", "pc_grp.jsonl"),
    "pc-vid": ("pc", "pc_v_open-ended.jsonl"),
}
"""Folder under `jsonl/` and file of each task."""
SPELLINGS = ("vanilla", "vallina")
FOLDERS = {"gc": "data/gc/processed", "oc": "data/oc/original_obj", "pc": "data/pc/image/picks_face"}
"""The base folders of image paths."""
VIDEOS, EXTENSIONS = "data/pc/video/UNI", (".mp4", ".mov", ".avi")
COLUMNS = ("index", "question", "answer", "category", "image")
TSV_MD5 = "16f474bfc4e269c583468bf89139da8f"
"""The file specified by VLMEvalKit (since its pull request 843)."""


def jsonl_path(root: Path, task: str) -> Path:
    """The file of a task, with either spelling; if there is none, the expected path."""
    family, name = JSONL[task]
    paths = [root / "jsonl" / family / spelling / name for spelling in SPELLINGS]
    return next((path for path in paths if path.is_file()), paths[0])


@dataclass
class Slips:
    """The changes of a lenient reading, with counts, and the lines it skipped as the authors' scripts do."""

    changes: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Lines for the card: one per kind of change, and one about skipped records."""
        skipped = f"{len(self.skipped)} records of fewer than two images left out: {', '.join(self.skipped)}"
        lines = [f"{change}: {count} records" for change, count in sorted(self.changes.items())]
        return [f"read leniently: {line}" for line in (*lines, *([skipped] if self.skipped else []))]

    def mend(self, task: str, location: str, fields: Any) -> Any:
        """The corrected fields of a line. Records and raises SkippedRecord for a line to be skipped."""
        try:
            corrected, change = without_slips(task, fields)
        except SkippedRecord:
            self.skipped.append(location)
            raise
        if change:
            self.changes[f"{task}: {change}"] += 1
        return corrected


def read_folder(
    root: Path, tasks: Sequence[str], problems: list[str], slips: Slips | None = None
) -> list[QuestionRecord]:
    """All records of the tasks, in order. Errors and missing files go to `problems`, with file and line.

    With `slips`, answers that are merely written differently are read, and counted there.
    """
    records = []
    for task in tasks:
        path = jsonl_path(root, task)
        for location, fields in read_json_lines(path, str(path.relative_to(root)), problems):
            try:
                corrected = slips.mend(task, location, fields) if slips else fields
                record = record_of(task, location, corrected)
                records.append(replace(record, files=_media_files(root, task, fields)))
            except SkippedRecord:
                continue
            except ValueError as error:
                problems.append(f"{location}: {error}")
    return records


def _media_files(root: Path, task: str, fields: Mapping[str, Any]) -> tuple[Path, ...]:
    return (_video(root, fields["vid"]),) if task == "pc-vid" else _images(root, task, fields["images"])


def _images(root: Path, task: str, names: Sequence[str]) -> tuple[Path, ...]:
    folder = FOLDERS[task[:2]]
    if outside := [name for name in names if leads_outside(name)]:
        raise ValueError(f"images: {', '.join(outside)} is outside {folder}")
    if missing := [name for name in names if not is_file(root / folder / name)]:
        raise ValueError(f"images: {', '.join(missing)} is missing from {folder}")
    return tuple(root / folder / name for name in names)


def _video(root: Path, vid: str) -> Path:
    for extension in EXTENSIONS:
        if not leads_outside(vid) and is_file(path := root / VIDEOS / f"{vid}{extension}"):
            return path
    raise ValueError(f"vid: {vid}{'|'.join(EXTENSIONS)} is missing from {VIDEOS}")


def read_tsv(path: Path, tasks: Sequence[str], problems: list[str], slips: Slips | None = None) -> list[QuestionRecord]:
    """All records of the tasks, in order, streamed; images stay in the file (`store_tsv`).

    With `slips`, answers that are merely written differently are read, and counted there.
    """
    records: list[QuestionRecord] = []
    for line, row in tsv_rows(path, problems):
        task = str(row.get("category")).strip()
        location = f"{path.name} line {line}"
        try:
            if task not in MODELS or task == "pc-vid":
                raise ValueError(f"category: {task!r} is not a task of the TSV")
            if task in tasks:
                fields = _fields(task, row)
                corrected = slips.mend(task, location, fields) if slips else fields
                records.append(record_of(task, location, corrected, line=line))
        except SkippedRecord:
            continue
        except ValueError as error:
            problems.append(f"{location}: {error}")
    present = {record.task for record in records}
    problems += [f"{path.name}: no row of category {task}" for task in tasks if task not in present]
    return records


def _fields(task: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the form of the JSONL line that it was made from."""
    if None in row or any(column not in row for column in COLUMNS):
        raise ValueError("the number of cells differs from the header")
    name = str(row["index"]).removeprefix(f"{task}_")
    if task in TRUE_FALSE and task.startswith("gc"):
        name, separator, _ = name.rpartition("_")  # the two records of a pair differ in the last part of the index
        if not separator:
            raise ValueError(f"index: {row['index']!r} is not {task}_ID_p or {task}_ID_n")
    answer: Any = row["answer"].strip()
    if task in COUNTS:
        with contextlib.suppress(ValueError):  # other values are refused with the other fields
            answer = int(answer)
    return {"q_id": name, "question": row["question"], "gt_answer": answer, "images": _encoded(row["image"])}


def _encoded(cell: str) -> list[str]:
    """The base64 texts of a cell: a list in JSON or in Python's notation."""
    try:
        texts = json.loads(bounded_json(cell))
    except (ValueError, RecursionError):
        try:
            texts = bounded_literal(cell)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise ValueError("image: not a list of base64 texts") from None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("image: not a list of base64 texts")
    return texts


def tsv_rows(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) of a TSV, one at a time; cells contain whole images, so the limit on their length is lifted."""
    try:
        with files.long_cells(), path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, delimiter="\t")
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                problems.append(f"{path.name} line 1: no column {', '.join(missing)}")
                return
            yield from unfilled_rows(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problems.append(f"{path.name}: reading stopped ({error})")


def store_tsv(path: Path, lines: set[int], media: MediaFolder, problems: list[str]) -> dict[int, tuple[Media, ...]]:
    """Store the images of some lines with unchanged bytes, and return them by line."""
    stored = {}
    for line, row in tsv_rows(path, problems):
        if line in lines:
            try:
                stored[line] = tuple(_store(media, text) for text in _encoded(row["image"]))
            except ValueError as error:
                problems.append(f"{path.name} line {line}: {error}")
    return stored


def _store(media: MediaFolder, text: str) -> Media:
    try:
        return media.add_bytes(base64.b64decode(text.rpartition("base64,")[2], validate=True))
    except (OSError, binascii.Error) as error:
        raise ValueError(f"image: not a readable image ({error})") from None


def store_files(records: Sequence[QuestionRecord], media: MediaFolder, problems: list[str]) -> dict[Path, Media]:
    """Store images and videos with unchanged bytes, each once."""
    stored: dict[Path, Media] = {}
    for record in records:
        for path in record.files:
            try:
                if path not in stored:
                    stored[path] = _add_video(media, path) if record.task == "pc-vid" else media.add_file(path)
            except SnellenError as error:
                problems.append(f"{record.location}: {error}")
    return stored


def _add_video(media: MediaFolder, path: Path) -> Media:
    from snellen.stimuli import video

    return video.add_video(media, path)
