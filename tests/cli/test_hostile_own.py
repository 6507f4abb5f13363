"""Damaged or harmful folders and tables of users: one line each, and nothing outside the folder is read."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.helpers.own_images import class_folders, draw_image
from tests.helpers.shards import IMAGE, cell, class_label, labelled_shard, write_shard

Words = tuple[object, ...]


def vfm(path: Path) -> Words:
    """The command that makes episodes from a folder or table."""
    return "build", "vfm-bench", "--from", "own", "--source", f"images={path}", "--out", path.parent / "set"


def table(root: Path, raw: bytes) -> Words:
    (root / "own.csv").write_bytes(raw)
    return vfm(root / "own.csv")


def folder(root: Path, add: Callable[[Path], object]) -> Words:
    """A class of five images plus these files: still too few, unless a bad file counts as an image."""
    class_folders(root / "own", 6, "a")
    add(class_folders(root / "own", 5, "b") / "b")
    return vfm(root / "own")


def sparse(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(3 * 10**9)
    return path


def bomb(path: Path) -> None:
    """A PNG whose header states 60,000 by 60,000 pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)))


def outside(root: Path) -> Words:
    class_folders(root / "secret", 6, "a", "b")
    rows = [f"../secret/{label}/{k}.png,{label}" for label in "ab" for k in range(6)]
    (root / "in").mkdir()
    (root / "in" / "own.csv").write_text("\n".join(["path,class", *rows]))
    return vfm(root / "in" / "own.csv")


def shard(root: Path, images: Sequence[object], labels: Sequence[object], names: tuple[str, ...] = ("a", "b")) -> Words:
    """The command on a dataset folder with these cells."""
    columns = {"image": images, "label": labels}
    write_shard(root / "own" / "data" / "train.parquet", columns, {"image": IMAGE, "label": class_label(*names)})
    return vfm(root / "own")


def bad_cells(root: Path, raw: bytes | None, path: str | None = None) -> Words:
    """A class of six images, and one of five with a bad cell."""
    good = [cell("a", k) for k in range(11)]
    return shard(root, [*good, {"bytes": raw, "path": path}], [0] * 6 + [1] * 6)


def bomb_bytes(root: Path) -> bytes:
    root.mkdir(exist_ok=True)
    bomb(root / "bomb.png")
    return (root / "bomb.png").read_bytes()


def torn(path: Path, share: float) -> Words:
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])
    return vfm(path.parent)


def twisted(root: Path) -> Words:
    """An Arrow file whose byte offsets lead far outside the file."""
    path = labelled_shard(root / "own" / "data-00000-of-00001.arrow", 6, "a", "b")
    raw, length = path.read_bytes(), len(cell("a", 0)["bytes"])
    path.write_bytes(raw.replace(struct.pack("<ii", 0, length), struct.pack("<ii", 0, 2**31 - 1), 1))
    return vfm(path.parent)


def piped(root: Path) -> Words:
    (root / "own").mkdir()
    os.mkfifo(root / "own" / "a.parquet")
    return vfm(root / "own")


SHARDS: dict[str, Callable[[Path], Words]] = {
    "cells that are a page": lambda root: bad_cells(root, b"<html>"),
    "cells that are empty": lambda root: bad_cells(root, None),
    "cells of paths that lead outside": lambda root: bad_cells(root, None, "../../../etc/passwd"),
    "cells of paths that are there": lambda root: bad_cells(root, None, str(draw_image(root / "there.png", 1))),
    "cells that are bombs": lambda root: bad_cells(root, bomb_bytes(root / "b")),
    "no image column": lambda root: vfm(write_shard(
        root / "own" / "a.parquet", {"text": ["a\x1b[2J"], "label": ["a"]}, {}).parent),
    "no column of classes": lambda root: vfm(write_shard(
        root / "own" / "a.parquet", {"image": [cell("a", 0)], "id": ["a"]}, {"image": IMAGE}).parent),
    "numbers in place of classes": lambda root: vfm(write_shard(
        root / "own" / "a.parquet", {"image": [cell("a", 0)], "label": [1]}, {"image": IMAGE}).parent),
    "classes out of range": lambda root: shard(root, [cell("a", k) for k in range(6)], [2, -1, None, 9, 10**9, 3]),
    "classes with an escape": lambda root: shard(root, [cell("a", 0)], [0], ("\x1b[2J", "b")),
    "features that are no JSON": lambda root: vfm(write_shard(
        root / "own" / "a.parquet", {"x": [1]}, {"x": "\ud800"}).parent),
    "more classes than anybody names": lambda root: shard(
        root, [None] * 10_001, list(range(10_001)), tuple(map(str, range(10_001)))),
    "no rows": lambda root: shard(root, [], []),
    "a shard of zeros": lambda root: vfm(sparse(root / "a.parquet").parent),
    "a shard cut short": lambda root: torn(labelled_shard(root / "own" / "a.parquet", 6, "a", "b"), 0.5),
    "an Arrow file cut short": lambda root: torn(labelled_shard(root / "own" / "a.arrow", 6, "a", "b"), 0.5),
    "an Arrow file of wrong offsets": twisted,
    "a pipe by the name of a shard": piped,
}  # fmt: skip


CASES: dict[str, Callable[[Path], Words]] = {
    "no such folder": lambda root: vfm(root / "none"),
    "an empty folder": lambda root: folder(root, lambda _: None),
    "images without classes": lambda root: vfm(draw_image(root / "own" / "a.png", 1).parent),
    "a file that is no table": lambda root: vfm(draw_image(root / "own.png", 1)),
    "a table of no text": lambda root: table(root, b"path,class\n\xff\xfe,\x00"),
    "a table without rows": lambda root: table(root, b"path,class\n"),
    "a table without anything": lambda root: table(root, b""),
    "a table without classes": lambda root: table(root, b"path,colour\x1b[2J\na.png,red\n"),
    "a table of open quotes": lambda root: table(root, b'path,class\n"a.png,red\n'),
    "a table of NUL in paths": lambda root: table(root, b"path,class\na\0.png,red\n"),
    "a table of a cell without end": lambda root: table(root, b"path,class\na.png," + b"x" * 10**6),
    "a table of 3 GB": lambda root: vfm(sparse(root / "own.csv")),
    "a table that leaves its folder": outside,
    "a pipe": lambda root: folder(root, lambda b: os.mkfifo(b / "pipe.png")),
    "an image of 3 GB": lambda root: folder(root, lambda b: sparse(b / "vast.png")),
    "an image that is a page": lambda root: folder(root, lambda b: (b / "page.png").write_text("<html>")),
    "an image of 3.6 thousand million pixels": lambda root: folder(root, lambda b: bomb(b / "bomb.png")),
    "a link to a folder outside": lambda root: folder(
        root, lambda b: (b / "out").symlink_to(class_folders(root / "other", 6, "c"), target_is_directory=True)),
    "a folder that holds itself": lambda root: folder(
        root, lambda b: (b / "again").symlink_to(b.parent, target_is_directory=True)),
    "a link to a device": lambda root: folder(root, lambda b: (b / "zero.png").symlink_to("/dev/zero")),
    "a class with an escape": lambda root: folder(root, lambda b: class_folders(b.parent, 6, "c\x1b[2J")),
    "a class of no text": lambda root: folder(root, lambda b: class_folders(b.parent, 6, os.fsdecode(b"c\xff"))),
}  # fmt: skip


def refuse_in_a_line(answer: tuple[int, str, str], limit: int) -> None:
    """Assert exit code 2 and one line of fewer than `limit` characters without control characters."""
    code, out, message = answer
    assert code == 2, (out, message)
    assert "Traceback" not in out + message
    assert "should not be" not in message
    assert "\x1b" not in out + message
    assert message.count("\n") == 1, message
    assert len(message) < limit


@pytest.mark.parametrize("name", CASES)
def test_bad_folders_and_tables_are_refused_in_one_line(snellen: Command, tmp_path: Path, name: str) -> None:
    refuse_in_a_line(snellen(*CASES[name](tmp_path)), 1500)


@pytest.mark.parametrize("name", SHARDS)
def test_datasets_are_refused_in_one_line(snellen: Command, tmp_path: Path, name: str) -> None:
    refuse_in_a_line(snellen(*SHARDS[name](tmp_path)), 1500)


def test_boxes_of_datasets_are_refused_in_one_line(snellen: Command, tmp_path: Path) -> None:
    labelled_shard(tmp_path / "own" / "a.parquet", 1, "a")
    words = ("build", "ava-bench", "--from", "own", "--source", f"images={tmp_path / 'own'}", "--out", tmp_path / "set")
    refuse_in_a_line(snellen(*words), 500)
    objects = {"bbox": [[float("nan"), 1e30, 1.0, -2.0], [1.0]], "category": [10**9, 0]}
    columns = {"image": [cell("a", 0)], "objects": [objects]}
    write_shard(tmp_path / "own" / "a.parquet", columns, {"image": IMAGE, "objects": {"category": class_label("a")}})
    refuse_in_a_line(snellen(*words), 500)


def ava(root: Path, boxes: Path) -> Words:
    """The command that makes items from boxes in one image."""
    draw_image(root / "images" / "a.png", 1)
    sources = ("--source", f"images={root / 'images'}", "--source", f"boxes={boxes}")
    return "build", "ava-bench/localization", "--from", "own", *sources, "--out", root / "set"


def boxes(root: Path, name: str, raw: bytes) -> Words:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(raw)
    return ava(root, root / name if "/" not in name else root / name.partition("/")[0])


ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "%s">]><annotation>&b;</annotation>""" % (
    b"&a;" * 10_000
)
COLUMNS = b"path,class,x1,y1,x2,y2\n"
BOXES: dict[str, Callable[[Path], Words]] = {
    "no such file": lambda root: ava(root, root / "none.json"),
    "boxes without anything": lambda root: boxes(root, "b.json", b""),
    "COCO nested without end": lambda root: boxes(root, "b.json", b'{"images": ' + b"[" * 10**5),
    "COCO that leaves its folder": lambda root: boxes(
        root, "b.json", b'{"images": [{"id": 1, "width": 9, "height": 9, "file_name": "../../etc/passwd.png"}]}'),
    "a table without boxes": lambda root: boxes(root, "b.csv", b"path,class\na.png,x\n"),
    "a table that leaves its folder": lambda root: boxes(root, "b.csv", COLUMNS + b"/etc/passwd.png,x,1,1,2,2\n"),
    "boxes of no numbers": lambda root: boxes(root, "b.csv", COLUMNS + b"a.png,x,1e999,nan,x,2\n"),
    "boxes that are infinite": lambda root: boxes(root, "b.csv", COLUMNS + b"a.png,x,1,1,inf,nan\n"),
    "a class with an escape": lambda root: boxes(root, "b.csv", COLUMNS + b"a.png,\x1b[2J,1,1,9,9\n"),
    "YOLO without names": lambda root: boxes(root, "labels/a.txt", b"0 0.5 0.5 0.1 0.1\n"),
    "YOLO names that laugh": lambda root: (
        boxes(root, "labels/data.yaml", b"a: &a [x]\nnames: *a\n"), boxes(root, "labels/a.txt", b"0 1 1 1 1"))[1],
    "VOC that grows": lambda root: boxes(root, "xml/a.xml", ENTITIES),
    "VOC of no numbers": lambda root: boxes(root, "xml/a.xml", b"<a><object><name>x</name></object></a>"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOXES)
def test_boxes_are_refused_in_one_line(snellen: Command, tmp_path: Path, name: str) -> None:
    refuse_in_a_line(snellen(*BOXES[name](tmp_path)), 2000)
