"""Labelled pictures of the user's own: a folder a class, or a CSV file of paths and classes."""

from __future__ import annotations

import csv
import io
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from snellen.core import files
from snellen.core.errors import SnellenError
from snellen.core.plain_text import control_character, printable
from snellen.core.user_files import read_text
from snellen.datasets.formats.class_folders import SPLITS
from snellen.datasets.formats.file_tree import SUFFIXES
from snellen.datasets.inventory import Note
from snellen.datasets.picture_files import PictureFile
from snellen.datasets.sample import Sample, labelled_picture

OWN = "own"
"""What the source of such pictures is called."""
MAX_LABEL = 200
"""Characters of a class."""
MAX_FILE_BYTES = 200_000_000
"""Of a picture's file."""
PATH_COLUMNS = ("path", "file", "filename", "file_name", "image")
CLASS_COLUMNS = ("class", "label", "category")
"""Columns of a CSV file, whatever their capitals: the first of each that is there counts."""
HIDDEN = (".", "__MACOSX")
"""How names begin that are left out without a word."""


def read_own_pictures(path: Path, images: Path | None = None) -> Iterator[Sample | Note]:
    """One sample a picture, of one class, always in the same order; a note for what is left out.

    `path` is a folder with one folder a class (the nearest one around a picture that is not called train, test, val or
    images), or a CSV file with the columns path and class, paths from `images` or else from its own folder. Nothing is
    opened. Raises SnellenError for another kind of file, and for a CSV file that cannot be read.
    """
    if path.is_dir():
        return _class_folders(path)
    if path.is_file() and path.suffix.lower() in (".csv", ".tsv"):
        return _table(path, images or path.parent)
    what = "no folder and no CSV file" if path.exists() else "there is no such folder or file"
    raise SnellenError(f"{path}: {what}; give a folder with one folder a class, or a CSV with the columns path, class")


def clean_label(label: str) -> str:
    """A class as it is shown: one form of accents, single spaces; empty where no prompt may hold it."""
    clean = " ".join(unicodedata.normalize("NFC", label).split())
    return clean if len(clean) <= MAX_LABEL and _is_text(clean) else ""


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return control_character(text) is None


def shown_name(name: str) -> str:
    """A path as a message may hold it, at most 200 characters."""
    return printable(name.encode("utf-8", "backslashreplace").decode("utf-8"))[-200:]


def file_fault(path: Path) -> str:
    """Why a file is not read as a picture; empty where it may be one. It is not opened."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return "there is no such file"
    if not stat.S_ISREG(status.st_mode):
        return "not a file"
    return f"file of more than {MAX_FILE_BYTES // 1_000_000} MB" if status.st_size > MAX_FILE_BYTES else ""


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
                yield Note("odd", "not a picture by its suffix", shown_name(record))
            elif not name:
                yield Note("odd", "picture outside a class folder", shown_name(record))
            else:
                yield _sample(record, root / record, name)


def _sample(record: str, path: Path, label: str) -> Sample | Note:
    clean = clean_label(label)
    if not clean or not _is_text(record):
        return Note("odd", "a name that is empty, too long or no text", shown_name(record))
    if fault := file_fault(path):
        return Note("unreadable", fault, shown_name(record))
    return Sample(source=OWN, licence="", **vars(labelled_picture(record, PictureFile(path), clean, "")))


def _table(path: Path, images: Path) -> Iterator[Sample | Note]:
    rows = read_csv(path)
    path_column = find_column(path, rows[0], PATH_COLUMNS)
    class_column = find_column(path, rows[0], CLASS_COLUMNS)
    labels: dict[str, str] = {}
    for number, row in enumerate(rows, 2):
        location = f"{path.name} row {number}"
        record = path_within(images, row[path_column])
        if not record:
            message = "picture outside the folder; give --source images=DIR" if row[path_column] else "row without path"
            yield Note("odd", message, location)
        elif record in labels:
            same = labels[record] == row[class_column]
            yield Note("odd", f"a picture twice, {'in one class' if same else 'in two classes; the first'}", location)
        else:
            labels[record] = row[class_column]
            yield _sample(record, images / record, row[class_column])


def path_within(folder: Path, name: str) -> str:
    """A path as it is written, below the folder and in POSIX form; empty where it leads outside, or is none."""
    if not name or "\0" in name:
        return ""
    below = Path(os.path.relpath(folder.absolute() / name, folder.absolute()))
    return "" if below.parts[:1] in ((), (os.pardir,)) else below.as_posix()


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of the user's own, columns by name in small letters, cells without spaces around them.

    Cells are cut at commas, semicolons or tabs, whichever the header has most of. Raises SnellenError where it is no
    such file.
    """
    try:
        text = read_text(path, "utf-8-sig")
        header = text.partition("\n")[0]
        with files.long_cells():
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), strict=True)
            names = [name.strip().casefold() for name in next(reader, [])]
            cells = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SnellenError(f"{path}: not a CSV file in UTF-8 ({reason}); save it again") from error
    if not cells:
        raise SnellenError(f"{path}: has no row below its header; write one a picture")
    return [{name: row[n].strip() if n < len(row) else "" for n, name in enumerate(names)} for row in cells]


def find_column(path: Path, columns: Iterable[str], names: Sequence[str]) -> str:
    """The first of these columns that a table has. Raises SnellenError with those it has."""
    columns = list(columns)
    column = next((name for name in names if name in columns), "")
    if not column:
        there = shown_name(", ".join(columns))
        raise SnellenError(f"{path}: no column {names[0]!r}; there are: {there}. Name one {' or '.join(names)}")
    return column
