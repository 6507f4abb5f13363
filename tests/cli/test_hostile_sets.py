"""Nonsensical or harmful item sets: each is refused in one line by verify, show, run and report.

Their hashes are valid, as an attacker's would be.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageFile

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.storage.itemset import read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curation.steps import copy_media
from tests.cli.conftest import Command
from tests.helpers.sets import small_set

ROW = 2
Row = dict[str, Any]
Change = Callable[[Row, Path], object]


@pytest.fixture(scope="session")
def good(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six questions about one image."""
    whole, root = small_set("combo", sets_folder), tmp_path_factory.mktemp("good") / "set"
    items = [item for item in whole.task("pattern-perception") if item.split == "test"][:6]
    copy_media(items, whole.media, MediaFolder(root / "media"))
    write_itemset(root, items, source="generated", recipe={"seed": 0})
    return root


def rewrite(root: Path, change: Change) -> None:
    """Change one row and fix the hash, so that only the content of the row is wrong."""
    table = pq.read_table(root / "items.parquet")
    rows = table.to_pylist()
    change(rows[ROW], root)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), root / "items.parquet")
    card = json.loads((root / "itemset.json").read_text())
    (root / "itemset.json").write_text(json.dumps({**card, "content_hash": digest(rows)}))


def cells(**fields: Any) -> Change:
    return lambda row, root: row.update(fields)


def size(width: int, height: int) -> Change:
    return lambda row, root: row["query"][0].update(width=width, height=height)


def media(**fields: Any) -> Change:
    return lambda row, root: row["query"][0].update(fields)


def raw_image(make: Callable[[bytes], bytes], format: str = "png", **fields: Any) -> Change:
    """Other bytes in place of the image, under their own hash."""

    def change(row: Row, root: Path) -> None:
        cell = row["query"][0]
        before = root / "media" / cell["sha256"][:2] / f"{cell['sha256']}.{cell['format']}"
        raw = make(before.read_bytes())
        cell.update(sha256=sha256(raw), format=format, **fields)
        path = root / "media" / cell["sha256"][:2] / f"{cell['sha256']}.{format}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)

    return change


def options(change: Callable[[list[Any]], Any]) -> Change:
    return lambda row, root: change(row["options"])


def bomb(raw: bytes) -> bytes:
    """A PNG of 8 kB whose header states 50,000 x 50,000."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(bytes(8 * 10**6))
    chunks = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, body, b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def as_gif(raw: bytes) -> bytes:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(raw)).save(buffer, "GIF")
    return buffer.getvalue()


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" width="9" height="9"/>'
HOSTILE: dict[str, tuple[Change, str]] = {
    "a card of 50,000 x 50,000": (size(50_000, 50_000), "larger than"),
    "a card of 10^8 x 10^8": (size(10**8, 10**8), "larger than"),
    "a thin image": (size(10**6, 1), "larger than"),
    "another size than the card's": (size(7, 9), "pixels, not 7 x 9"),
    "a negative size": (size(-5, 5), "is empty"),
    "no width": (media(width=None), "missing or of a wrong type"),
    "words as an image": (raw_image(lambda raw: b"hello"), "not an image that can be decoded"),
    "a drawing as an image": (raw_image(lambda raw: SVG, "svg"), "not an image that can be decoded"),
    "a program as an image": (
        raw_image(lambda raw: b"%!PS-Adobe-3.0 EPSF-3.0\n", "eps"),
        "not an image that can be decoded",
    ),
    "half an image": (raw_image(lambda raw: raw[: len(raw) // 2]), "not an image that can be decoded"),
    "a bomb": (raw_image(bomb), "DecompressionBomb"),
    "another format than its name's": (raw_image(as_gif), "a GIF file named png"),
    "words as a video": (raw_image(lambda raw: b"hello", "mp4", kind="video"), "not a readable video"),
    "a path for a hash": (media(sha256="../../../../etc/passwd"), "not 64 hexadecimal digits"),
    "a path for a format": (media(format="png/../../x"), "not 64 hexadecimal digits"),
    "neither image nor video": (media(kind="program"), "neither image nor video"),
    "no image": (cells(query=[]), "shows no image"),
    "no options": (cells(options=[]), "choice has no options"),
    "an option that is nothing": (options(lambda rows: rows.insert(0, None)), "missing or of a wrong type"),
    "an answer that is not offered": (cells(answer='"of another world"'), "not among the options"),
    "no answer": (cells(answer="null"), "has no answer"),
    "an answer of many digits": (cells(answer="9" * 10_000), "field of JSON is invalid"),
    "the same option again": (options(lambda rows: rows.append({**rows[0], "key": "new"})), "show the same"),
    "the same key again": (options(lambda rows: rows.append({**rows[0], "text": "new"})), "have the key"),
    "not a number in a measure": (cells(measures='{"a": NaN}'), "NaN is not a number"),
    "an endless measure": (cells(measures='{"a": 1e999}'), "not a finite number"),
    "not a number in a region": (cells(regions='{"a": [NaN, 1, 2, 3]}'), "NaN is not a number"),
    "a factor that is no text": (cells(factors='{"question": 7}'), "not a text"),
    "half a character": (cells(factors='{"question": "\\ud800"}'), "not valid Unicode"),
    "nested without end": (cells(latent='{"a":' * 5000 + "1" + "}" * 5000), "field of JSON is invalid"),
    "an escape in the question": (cells(question="\x1b[2J"), r"control character \x1b"),
    "an escape in the id": (cells(item_id="\x1b]0;owned\x07"), r"control character \x1b"),
    "a NUL in an option": (options(lambda rows: rows[0].update(text="a\0b")), r"control character \x00"),
    "an id of nothing": (cells(item_id=""), "item_id is empty"),
    "an id without end": (cells(item_id="x" * 10**6), "item_id is empty or longer"),
    "a solved example of nothing": (
        cells(support=[{"media": [], "answer": "of another world", "shot": 0, "caption": ""}]),
        "not among the options",
    ),
    "an unknown task": (cells(task="world-domination"), "no task"),
    "another suite": (cells(suite="vfm-bench"), "a different suite"),
    "the same id twice": (
        lambda row, root: row.update(item_id=pq.read_table(root / "items.parquet")["item_id"][0].as_py()),
        "used twice",
    ),
}


COMMANDS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "show": lambda folder: ("show", folder / "set"),
    "run": lambda folder: ("run", folder / "set", "-s", "fake:first-option", "--out", folder / "new"),
    "report": lambda folder: ("report", folder / "run", "--out", folder / "report"),
    "score": lambda folder: ("score", folder / "run"),
    "verify a run": lambda folder: ("verify", folder / "run"),
}


@pytest.mark.parametrize(("name", "command"), list(zip(HOSTILE, itertools.cycle(COMMANDS), strict=False)))
def test_a_hostile_set_is_refused_in_one_line(
    snellen: Command, good: Path, tmp_path: Path, name: str, command: str
) -> None:
    """In `verify`, and in one of the other commands in turn: all read sets through the same gate."""
    change, message = HOSTILE[name]
    shutil.copytree(good, tmp_path / "set")
    rewrite(tmp_path / "set", change)
    run_of(tmp_path / "set", tmp_path / "run")
    for words in (("verify", tmp_path / "set"), COMMANDS[command](tmp_path)):
        code, out, err = snellen(*words)
        assert (code, out) == (2, ""), (words, err)
        assert err.count("\n") == 1, err
        assert message in err, err
        assert f"items.parquet row {ROW}" in err
        assert len(err) < 1000
        assert "\x1b" not in err
    assert not (tmp_path / "new").exists()


def run_of(itemset: Path, root: Path) -> None:
    """A run folder whose card names this set."""
    card = json.loads((itemset / "itemset.json").read_text())
    root.mkdir()
    fields = {name: card[name] for name in ("schema_version", "suite", "version", "recipe_hash", "content_hash")}
    (root / "run.json").write_text(
        json.dumps({**fields, "itemset": str(itemset), "seed": 0, "limit": None, "arms": []})
    )


def test_invalid_utf_8_is_refused_in_one_line(snellen: Command, good: Path, tmp_path: Path) -> None:
    """Parquet does not validate its UTF-8 columns."""
    shutil.copytree(good, tmp_path / "set")
    path = tmp_path / "set" / "items.parquet"
    table = pq.read_table(path)
    column = pa.array([b"\xff\xfe"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(table.schema.get_field_index("question"), "question", column), path)
    code, out, err = snellen("verify", tmp_path / "set")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cannot be read as Parquet" in err


def test_an_unknown_question_is_named_in_one_line(snellen: Command, good: Path, tmp_path: Path) -> None:
    """ComBo identifies questions by their wording; an unknown one once ended in a traceback of a coroutine."""
    shutil.copytree(good, tmp_path / "set")
    rewrite(tmp_path / "set", cells(question="What is the meaning of all this?"))
    code, _, err = snellen("run", tmp_path / "set", "-s", "fake:chance", "--out", tmp_path / "run")
    assert code == 1, "the other items are asked"
    assert "has no question 'What is the meaning of all this?'" in err.splitlines()[0]


def test_a_good_set_passes_and_its_images_are_decoded_once(
    snellen: Command, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[object] = []
    real = ImageFile.ImageFile.load

    def load(image: ImageFile.ImageFile) -> Any:
        decoded.append(image)
        return real(image)

    shutil.copytree(good, tmp_path / "set")
    monkeypatch.setattr(ImageFile.ImageFile, "load", load)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    for number in range(2):
        assert len(read_itemset(tmp_path / "set").items) == 6
        assert len(decoded) == 1, number
    for words in (
        ("verify", tmp_path / "set"),
        ("show", tmp_path / "set"),
        ("run", tmp_path / "set", "-s", "fake:first-option", "--out", tmp_path / "run"),
        ("verify", tmp_path / "run"),
        ("report", tmp_path / "run", "--out", tmp_path / "report"),
    ):
        assert snellen(*words)[0] == int(words[0] == "verify")  # blind.json is missing


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    """A few bytes on disk, 300 MB when read."""
    with path.open("r+b") as file:
        file.truncate(300_000_000)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


NO_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (pipe, "not a file"),
    "a device without an end": (endless, "not a file"),
    "a folder": (folder, "not a file"),
    "a file of holes": (huge, "file of more than 200 MB"),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_images_that_are_not_regular_files_are_not_read(
    snellen: Command, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replace, message = NO_FILES[name]
    shutil.copytree(good, tmp_path / "set")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    run_of(tmp_path / "set", tmp_path / "run")
    (image,) = (tmp_path / "set" / "media").rglob("*.png")
    replace(image)
    for words in (("verify", tmp_path / "set"), *(make(tmp_path) for make in COMMANDS.values())):
        code, out, err = snellen(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), (words, err)
        assert message in err
    with pytest.raises(SnellenError, match=message):
        MediaFolder(tmp_path / "set" / "media").read(read_itemset(good).items[0].query[0])
    with pytest.raises(SnellenError, match=message):
        MediaFolder(tmp_path / "own").add_file(image)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, pytest.param(device, marks=pytest.mark.slow)], ids=["pipe", "device"])
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("set/notes.txt", (0, 0, 0)),
        pytest.param("run/notes.txt", (0, 0, 0), marks=pytest.mark.slow),
        pytest.param("run/parts/notes", (0, 0, 0), marks=pytest.mark.slow),
        ("run/box_units.json", (2, 0, 2)),
        pytest.param("run/judgements/a", (2, 0, 2), marks=pytest.mark.slow),
        ("run/parts/0009.jsonl", (2, 2, 2)),
        ("run/scores.published.parquet", (2, 2, 0)),
    ],
)
def test_no_other_file_of_a_strangers_folder_is_opened(
    snellen: Command, sets_folder: Path, tmp_path: Path, name: str, codes: tuple[int, ...], make: Callable[[Path], None]
) -> None:
    shutil.copytree(small_set("combo", sets_folder).root, tmp_path / "set")
    ask = ("run", tmp_path / "set", "-s", "fake:chance", "--limit", 1, "--out", tmp_path / "run")
    digest = snellen(*ask)[1].split("Digest of ")[1].split(": ")[1].split()[0]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    make(tmp_path / name)
    for words, code in zip(
        (("verify", tmp_path / "run", "--digest", digest), ("report", tmp_path / "run", "--out", tmp_path / "r"), ask),
        codes,
        strict=True,
    ):
        done, _, err = snellen(*words)
        is_link = words is ask and make is device and name.endswith(".parquet")  # into which no run is written
        assert done == (2 if is_link else code), (words, err)
        assert err.count(name) == (done == 2), err


@pytest.mark.parametrize("card", ["set/itemset.json", "run/run.json", "run/parts/0000.jsonl", "set/blind.json"])
def test_too_large_cards_and_parts_are_not_read(snellen: Command, good: Path, tmp_path: Path, card: str) -> None:
    shutil.copytree(good, tmp_path / "set")
    assert snellen("run", tmp_path / "set", "-s", "fake:chance", "--out", tmp_path / "run")[0] == 0
    with (tmp_path / card).open("ab") as file:
        file.truncate(3_000_000_000)
    code, _, err = snellen("verify", tmp_path / card.split("/")[0])
    assert (code, err.count("\n")) == (2, 1)
    assert "more than" in err
