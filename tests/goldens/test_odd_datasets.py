"""What is read and noted of each layout with one change: a file less, a file more, or odd lines, equals the goldens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from snellen.core.hashing import digest
from snellen.curated_sets.datasets import DATASETS
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import Files, write
from tests.curated_sets.datasets.test_damaged_copies import ALL_LAYOUTS, SMALLEST
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

TEXTS = (".csv", ".json", ".lst", ".odgt", ".tsv", ".txt", ".xml")
MAX_FILES = 6
"""Files of a layout that are changed."""
NAMES = list(dict.fromkeys([*SMALLEST.values(), *ANNOTATED_LAYOUTS]))


def odd_json(text: str) -> Iterator[tuple[str, str]]:
    """JSON without its first record, with the last one twice, and with each field of the first one odd or absent."""
    whole = json.loads(text)
    for key in [""] if isinstance(whole, list) else [key for key, part in whole.items() if part]:
        rows = whole[key] if key else whole
        records = rows if isinstance(rows, list) else [*rows.values()] if isinstance(rows, dict) else []
        first: Any = records[0] if records else None
        changes: dict[str, object] = {}
        if isinstance(rows, list):
            changes = {"without the first": rows[1:], "the last twice": [*rows, rows[-1]]}
        for field in first if isinstance(first, dict) else ():
            others = {name: cell for name, cell in first.items() if name != field}
            for odd in (others, {**first, field: -1}, {**first, field: "../x"}):
                cell = odd.get(field, "absent")
                rest = [odd, *rows[1:]] if isinstance(rows, list) else {**rows, next(iter(rows)): odd}
                changes[f"{field} {cell}"] = rest
        for what, changed_rows in changes.items():
            yield f"{key} {what}", json.dumps({**whole, key: changed_rows} if key else changed_rows)


def changed(files: Files) -> Iterator[tuple[str, Files]]:
    """The layout with each change, and what it is."""
    images = [name for name in files if name.lower().endswith((".bmp", ".jpeg", ".jpg", ".mp4", ".png"))]
    others = [*{name if ".xml" not in name else "": name for name in files if name not in images}.values()][:MAX_FILES]
    for name in [*images[:1], *others]:
        yield f"without {name}", {other: raw for other, raw in files.items() if other != name}
    for name in [*images[-1:], *others[-1:]]:
        folder, _, file = name.rpartition("/")
        yield "a file more", {**files, f"{folder}/9{file}".lstrip("/"): files[name]}
    for name in [name for name in others if name.endswith(TEXTS)]:
        text = files[name].decode()
        edits = {
            "last line twice": "".join([text.rstrip("\n"), "\n", text.rstrip("\n").rpartition("\n")[2], "\n"]),
            "short last line": text.rstrip("\n") + "\n7\n", "an empty file": "\n",
            "a word for the last number": re.sub(r"\d+(?=\D*$)", "x", text),
            "a large last number": re.sub(r"\d+(?=\D*$)", "99", text),
            "no last word": re.sub(r"[A-Za-z]+(?=[^A-Za-z]*$)", "", text),
        }  # fmt: skip
        for image in images[-1:]:
            parts = [image[n:] for n, sign in enumerate(f"/{image}") if sign == "/"] + [PurePosixPath(image).stem]
            inside = next((part for part in parts if part in text), "")
            edits["a name outside"] = text.replace(inside, f"../../../{inside}") if inside else text
        edits |= odd_json(text) if name.endswith(".json") else ()
        yield from ((f"{name}: {edit}", {**files, name: odd.encode()}) for edit, odd in edits.items() if odd != text)


@pytest.mark.parametrize("name", NAMES)
def test_odd_layouts_are_read_and_noted_as_they_were(name: str, tmp_path: Path) -> None:
    """Changes without any effect are not listed."""
    lines, dataset, intact = list[str](), DATASETS.get(name), ALL_LAYOUTS[name]()
    root, before = write(tmp_path, intact), list[str]()
    for change, files in [("intact", intact), *changed(intact)]:
        different = {path for path in {**intact, **files} if intact.get(path) != files.get(path)}
        for path in different:
            (root / path).unlink(missing_ok=True)
        write(root, {path: files[path] for path in different if path in files})
        samples = [line(sample).replace(str(root), "") for sample in dataset.samples(root)]
        # What libraries say of damage differs between versions.
        notes = [
            f"{note.kind}: {note.message} ({note.count}): "
            f"{'; '.join(location.replace(str(root), '').split(': ')[0] for location in note.locations)}"
            for note in dataset.check(root).notes
        ]
        if [*samples, *notes] != before:
            lines += [f"== {change}: {len(samples)} {digest(samples, 16)}", *notes]
        before = before or [*samples, *notes]
        for path in different:
            (root / path).unlink(missing_ok=True)
        write(root, {path: intact[path] for path in different if path in intact})
    assert_golden(f"odd datasets/{name}.txt", "\n".join(lines) + "\n")
