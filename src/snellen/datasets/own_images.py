"""The user's own labelled images: one folder per class, a CSV of paths and classes, or a Hugging Face dataset."""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.plain_text import control_character, printable
from snellen.core.storage import files
from snellen.core.storage.user_files import MAX_VALUES, file_fault, read_text, table_header
from snellen.datasets.formats.file_tree import SPLITS, SUFFIXES, name_on_disk
from snellen.datasets.hub_tables import ShardReader, TableRow, TableShard, find_shards, label_text, open_shard
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, Sample, labelled_image

OWN = "own"
"""Name of the source of such images."""
CLASS = "class"
"""Name of the factor that has the class of an item."""
CLAIM = "grades and intervals are about images like these of these classes, not about new classes"
"""Note on a set whose clusters are images with their near copies."""
MAX_LABEL, MAX_LABELS = 200, 10_000
"""Maximum length of a class name, and number of classes; more are probably ids."""
PATH_COLUMNS = ("path", "file", "filename", "file_name", "image")
CLASS_COLUMNS = ("class", "label", "category")
"""Columns of a CSV file, ignoring case; the first that exists counts."""
HIDDEN = (".", "__MACOSX")
"""Prefixes of names that are silently skipped."""


def read_own_images(
    path: Path, images: Path | None = None, columns: Sequence[str] = CLASS_COLUMNS, *, ids: bool = False
) -> Iterator[Sample | Note]:
    """One sample per image, each of one class, always in the same order; a note for what is left out.

    `path` is a folder with one folder per class (the nearest one around an image that is not called train, test, val or
    images), a CSV file with the columns path and class, paths relative to `images` or else to its own folder, or a
    dataset folder of shards (`hub_tables`), in which `columns` are those that may hold the class, including numbers
    with `ids`. No image is opened. Raises SnellenError for other or unreadable files, and for too many classes.
    """
    if shards := find_shards(path) if path.exists() else []:
        return _few_labels(path, _shard_rows(path, shards, columns, ids))
    if path.is_dir():
        return _few_labels(path, _class_folders(path))
    if path.is_file() and path.suffix.lower() in (".csv", ".tsv"):
        return _few_labels(path, _table(path, images or path.parent))
    problem = "neither a folder nor a CSV file" if path.exists() else "no such folder or file"
    forms = "a folder with one folder per class, a CSV with the columns path, class, or a Hugging Face dataset's folder"
    raise SnellenError(f"{path}: {problem}; give {forms}")


def _few_labels(path: Path, records: Iterable[Sample | Note]) -> Iterator[Sample | Note]:
    labels: set[str] = set()
    for record in records:
        if isinstance(record, Sample):
            labels.add(record.label)
            refuse_many_labels(path, labels)
        yield record


def refuse_many_labels(path: Path, labels: Collection[str]) -> None:
    """Raise SnellenError if there are implausibly many classes."""
    if len(labels) > MAX_LABELS:
        raise SnellenError(f"{path}: more than {MAX_LABELS} classes; are these ids? Give the class of each image")


def shard_name(root: Path, path: Path) -> str:
    """A shard's name in records and messages: its path in the given folder."""
    return path.name if path == root else path.relative_to(root).as_posix()


def _shard_rows(root: Path, shards: Sequence[Path], columns: Sequence[str], ids: bool) -> Iterator[Sample | Note]:
    reader = ShardReader()
    for shard in map(open_shard, shards):
        name = shown_name(shard_name(root, shard.path))
        image_column, label_column = shard.image_column(), shard.label_column(columns)
        class_names = shard.class_names(label_column)
        if class_names is None and not ids:
            _refuse_numbers(shard, label_column)
        for number, row in enumerate(shard.rows([label_column])):
            if label := clean_label(label_text(row[label_column], class_names)):
                image = TableRow(reader, shard, image_column, number)
                yield Sample(source=OWN, licence="", **vars(labelled_image(f"{name}#{number}", image, label, "")))
            else:
                yield Note("odd", "row with no class or an invalid one", shown_name(f"{name}#{number}"))


def _refuse_numbers(shard: TableShard, column: str) -> None:
    import pyarrow as pa

    column_type = shard.schema.field(column).type
    text = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
    if not (pa.types.is_string(text) or pa.types.is_large_string(text)):
        problem = f"column {shown_name(column)!r} is {shown_name(str(column_type))[:60]} without class names"
        raise SnellenError(f"{shard.path}: {problem}; cast it to ClassLabel, or write the names as text")


def clean_label(label: str) -> str:
    """A class in display form: normalised accents, single spaces; empty if it is unusable in a prompt."""
    clean = " ".join(unicodedata.normalize("NFC", label).split())
    return clean if len(clean) <= MAX_LABEL and _is_text(clean) else ""


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return control_character(text) is None


def shown_name(name: str) -> str:
    """A path in printable form for messages, at most 200 characters."""
    return printable(name)[-200:]


def _class_folders(root: Path) -> Iterator[Sample | Note]:
    for folder, folder_names, file_names in os.walk(root):
        folder_names[:] = sorted(name for name in folder_names if not name.startswith(HIDDEN))
        for name in [name for name in folder_names if (Path(folder) / name).is_symlink()]:
            yield Note("odd", "link to a folder is not followed", shown_name(name))
        below = Path(folder).relative_to(root)
        name = next((part for part in reversed(below.parts) if part.lower() not in SPLITS), "")
        for file_name in sorted(name for name in file_names if not name.startswith(HIDDEN)):
            record = (below / file_name).as_posix()
            if Path(file_name).suffix.lower() not in SUFFIXES:
                yield Note("odd", "not an image by its suffix", shown_name(record))
            elif not name:
                yield Note("odd", "image outside a class folder", shown_name(record))
            else:
                yield _sample(record, root / record, name)


def _sample(record: str, path: Path, label: str) -> Sample | Note:
    clean = clean_label(label)
    if not clean or not _is_text(record):
        return Note("odd", "empty, overlong or invalid name", shown_name(record))
    if fault := file_fault(path):
        return Note("unreadable", fault, shown_name(record))
    return Sample(source=OWN, licence="", **vars(labelled_image(record, ImageFile(path), clean, "")))


def _table(path: Path, images: Path) -> Iterator[Sample | Note]:
    rows = read_csv(path)
    path_column = find_column(path, rows[0], PATH_COLUMNS)
    class_column = find_column(path, rows[0], CLASS_COLUMNS)
    labels: dict[str, str] = {}
    for number, row in enumerate(rows, 2):
        location = f"{path.name} row {number}"
        record = path_within(images, row[path_column])
        if not record:
            message = "image outside the folder; give --source root=DIR" if row[path_column] else "row without path"
            yield Note("odd", message, location)
        elif record in labels:
            same = labels[record] == row[class_column]
            yield Note("odd", f"image listed twice, {'in one class' if same else 'in two; the first counts'}", location)
        else:
            labels[record] = row[class_column]
            yield _sample(record, images / record, row[class_column])


def path_within(folder: Path, name: str) -> str:
    """A path inside the folder in POSIX form, as on disk if it exists; empty if it leads outside or is invalid."""
    if not name or "\0" in name:
        return ""
    below = Path(os.path.relpath(folder.absolute() / name_on_disk(folder, name), folder.absolute()))
    return "" if below.parts[:1] in ((), (os.pardir,)) else below.as_posix()


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a user's CSV file; column names in lower case, cells stripped of surrounding spaces.

    The separator is the comma, semicolon or tab that is most frequent in the header. Raises SnellenError if it is not
    such a file.
    """
    try:
        text = read_text(path, "utf-8-sig")
        lines = io.StringIO(text, newline="")
        header, separator = table_header(lines)
        with files.long_cells():
            reader = csv.reader(chain([header], lines), delimiter=separator, strict=True)
            names = [name.strip().casefold() for name in next(reader, [])]
            cells = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SnellenError(f"{path}: not a CSV file in UTF-8 ({reason}); save it as CSV in UTF-8") from error
    if not cells:
        raise SnellenError(f"{path}: has no row below its header; write one per image")
    if len(cells) * len(names) > MAX_VALUES:
        raise SnellenError(f"{path}: more than {MAX_VALUES} cells; keep the columns that are needed, or split it")
    if repeated := next((name for name, count in Counter(names).items() if name and count > 1), ""):
        raise SnellenError(f"{path}: two columns are called {shown_name(repeated)[:60]!r}; rename or delete one")
    if surplus := next((n for n, row in enumerate(cells, 2) if any(map(str.strip, row[len(names) :]))), 0):
        raise SnellenError(f"{path}: row {surplus} has more cells than the header; quote cells that have {separator!r}")
    return [{name: row[n].strip() if n < len(row) else "" for n, name in enumerate(names)} for row in cells]


def find_column(path: Path, columns: Collection[str], names: Sequence[str]) -> str:
    """The first of these columns that a table has. Raises SnellenError listing its columns."""
    column = next((name for name in names if name in columns), "")
    if not column:
        existing = shown_name(", ".join(columns))
        raise SnellenError(f"{path}: no column {names[0]!r}; it has {existing}. Name one {' or '.join(names)}")
    return column
