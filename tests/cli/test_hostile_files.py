"""Damaged or harmful files named by users: one line each, or the inventory's note about them."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
import scipy.io
from PIL import Image

from tests.cli.conftest import Command
from tests.helpers.sets import small_set

DEEP = b"[" * 100_000
Words = tuple[object, ...]
CATEGORIES = [{"id": 1, "name": "Person"}]
IMAGE = {"id": 5, "width": 8, "height": 6, "file_name": "train/patch0/a.jpg"}
BOX = {"id": 1, "image_id": 5, "category_id": 1, "bbox": [1.0, 1.0, 2.0, 2.0], "area": 4.0}


def coco(root: Path, raw: bytes) -> Words:
    """A folder of Objects365 with these bytes as annotations."""
    folder = root / "Objects365"
    (folder / "train" / "patch0").mkdir(parents=True)
    Image.new("RGB", (8, 6)).save(folder / "train" / "patch0" / "a.jpg")
    (folder / "zhiyuan_objv2_train.json").write_bytes(raw)
    return "sources", "check", "--root", root, "Objects365"


def coco_of(root: Path, **lists: Any) -> Words:
    content = {"images": [IMAGE], "annotations": [BOX], "categories": CATEGORIES, **lists}
    return coco(root, json.dumps(content).encode())


def source(root: Path, name: str, files: dict[str, bytes]) -> Words:
    for path, raw in files.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_bytes(raw)
    return "sources", "check", "--root", root, name


def matlab(**variables: Any) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, variables)  # type: ignore[arg-type]  # it takes open files too
    return buffer.getvalue()


def hdf5(**arrays: Any) -> bytes:
    """A file whose arrays have these shapes and no data."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, shape in arrays.items():
            file.create_dataset(name, shape=shape, dtype="u1", chunks=True)
    return buffer.getvalue()


def nested_cells(levels: int) -> bytes:
    """A .mat of nested cells; a few thousand levels crash the process in `loadmat`."""
    content = b""
    for level in range(levels):
        name = struct.pack("<II", 1, 9 * (level == levels - 1)) + b"traindata".ljust(16) * (level == levels - 1)
        content = struct.pack("<4I2I2i", 6, 8, 1, 0, 5, 8, 1, 1) + name + content
        content = struct.pack("<2I", 14, len(content)) + content
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + content


def zlib_bomb() -> bytes:
    """A .mat of 0.9 MB whose only element unpacks to 210 MB of zeros."""
    packer = zlib.compressobj(1)
    chunks = [packer.compress(struct.pack("<2I", 14, 21 * 10**7)), *(packer.compress(bytes(10**7)) for _ in range(21))]
    content = b"".join(chunks) + packer.flush()
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<2I", 15, len(content)) + content


def sparse(root: Path, path: str, size: int) -> None:
    """A sparse file of this many bytes."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    with (root / path).open("wb") as file:
        file.truncate(size)


def vast(root: Path, words: Words, path: str) -> Words:
    """The command, about a file of 3 GB."""
    sparse(root, path, 3 * 10**9)
    return words


def linked(root: Path) -> Words:
    """A folder that contains a link to itself."""
    words = coco_of(root)
    (root / "Objects365" / "train" / "again").symlink_to(root / "Objects365", target_is_directory=True)
    return words


def checkpoint(root: Path, **files: bytes) -> Words:
    folder = root / "model"
    folder.mkdir()
    for name, raw in files.items():
        (folder / name.replace("_json", ".json").replace("_safetensors", ".safetensors")).write_bytes(raw)
    return "run", root / "set", "-s", f"chat:hf/{folder}", "--out", root / "run"


def head(root: Path, raw: bytes) -> Words:
    (root / "head").mkdir()
    (root / "head" / "head.json").write_bytes(raw)
    return "run", root / "set", "-s", f"head:{root / 'head'}", "--out", root / "run"


def script(root: Path, raw: bytes) -> Words:
    (root / "script.json").write_bytes(raw)
    return "run", root / "set", "-s", f"fake:scripted={root / 'script.json'}", "--out", root / "run"


def design(root: Path, raw: bytes) -> Words:
    (root / "design.yaml").write_bytes(raw)
    return "study", "build", root / "set", "--design", root / "design.yaml", "--out", root / "bundle"


def table(root: Path, raw: bytes) -> Words:
    (root / "boxes.csv").write_bytes(raw)
    return "run", root / "set", "-s", "fake:chance", "--input", f"boxes={root / 'boxes.csv'}", "--out", root / "run"


def run_folder(root: Path, raw: bytes) -> Words:
    (root / "old").mkdir()
    (root / "old" / "run.json").write_bytes(raw)
    return "report", root / "old", "--out", root / "report"


def item_card(root: Path, raw: bytes) -> Words:
    (root / "card").mkdir()
    (root / "card" / "itemset.json").write_bytes(raw)
    return "verify", root / "card"


HUGE_TENSOR = struct.pack(
    "<Q", 80
) + b'{"a":{"dtype":"F32","shape":[100000,100000],"data_offsets":[0,40000000000]}}'.ljust(80)
LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + k, 98 + k, b",".join([b"*%c" % (97 + k)] * 9)) for k in range(8)
)
ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "%s">]><annotation>&b;</annotation>""" % (
    b"&a;" * 1000
)
RUN_CARD = json.dumps(
    {
        "schema_version": 2, "suite": "combo", "version": "1", "itemset": "x", "recipe_hash": "x", "content_hash": "x",
        "seed": 0, "limit": None, "arms": [],
    }
).encode()  # fmt: skip
FILES: dict[str, Callable[[Path], Words]] = {
    "COCO nested without end": lambda root: coco(root, b'{"images": ' + DEEP),
    "COCO cut short": lambda root: coco(root, b'{"images": [{"id": 1, "wid'),
    "COCO that is no text": lambda root: coco(root, b"\xff\xfe\x00" * 9),
    "COCO of another shape": lambda root: coco(root, b'{"images": {"a": [1]}, "annotations": 7}'),
    "COCO that leaves its folder": lambda root: coco_of(root, images=[{**IMAGE, "file_name": "../../../etc/passwd"}]),
    "COCO with an absolute name": lambda root: coco_of(root, images=[{**IMAGE, "file_name": "/etc/passwd"}]),
    "COCO with boxes of no numbers": lambda root: coco(
        root, json.dumps({"images": [IMAGE], "annotations": [{**BOX, "bbox": [1e999, 1, 2, "x"]}]}).encode()
    ),
    "COCO with ids of many digits": lambda root: coco_of(root, annotations=[{**BOX, "id": 10**300}]),
    "COCO with an escape in a name": lambda root: coco_of(root, images=[{**IMAGE, "file_name": "\x1b[2J\0"}]),
    "a folder that holds itself": linked,
    "XML that grows": lambda root: source(root, "NEU-DET", {"ANNOTATIONS/a.xml": ENTITIES, "IMAGES/a.jpg": b"x"}),
    "a .mat cut short": lambda root: source(root, "IIIT5K", {"traindata.mat": matlab(traindata=[1.0])[:150]}),
    "a .mat of another shape": lambda root: source(root, "IIIT5K", {"traindata.mat": matlab(traindata=[1.0, 2.0])}),
    "a .mat that is a page": lambda root: source(root, "IIIT5K", {"traindata.mat": b"<html>" * 99}),
    "a .mat of cells in cells": lambda root: source(root, "IIIT5K", {"traindata.mat": nested_cells(3000)}),
    "a .mat that unpacks to 210 MB": lambda root: source(root, "IIIT5K", {"traindata.mat": zlib_bomb()}),
    "a .mat of 3 GB": lambda root: vast(root, source(root, "IIIT5K", {}), "IIIT5K/traindata.mat"),
    "an HDF5 of 10^12 images": lambda root: source(
        root, "NYU-Depth-V2", {"nyu_depth_v2_labeled.mat": hdf5(names=(1, 1), images=(10**12, 3, 8, 6))}),
    "an HDF5 of an image of 10^12 bytes": lambda root: source(
        root, "NYU-Depth-V2", {"nyu_depth_v2_labeled.mat": hdf5(names=(1, 10**12), images=(1, 3, 10**6, 10**6))}),
    "paths in 3 GB": lambda root: vast(root, ("sources", "check", "--root", root), "sources.yaml"),
    "a script of 3 GB": lambda root: vast(root, script(root, b""), "script.json"),
    "a design of 3 GB": lambda root: vast(root, design(root, b""), "design.yaml"),
    "paths nested without end": lambda root: (
        (root / "sources.yaml").write_bytes(DEEP), "sources", "check", "--root", root)[1:],
    "paths that laugh": lambda root: (
        (root / "sources.yaml").write_bytes(LAUGHS), "sources", "check", "--root", root)[1:],
    "a script nested without end": lambda root: script(root, DEEP),
    "a script of numbers": lambda root: script(root, b'{"a": 1e999}'),
    "a checkpoint without a configuration": lambda root: checkpoint(root),
    "a configuration nested without end": lambda root: checkpoint(root, config_json=DEEP),
    "a configuration that is a list": lambda root: checkpoint(root, config_json=b"[1]"),
    "a configuration with code": lambda root: checkpoint(
        root, config_json=b'{"model_type": "x", "auto_map": {"AutoConfig": "evil.C"}}', evil_py=b"raise SystemExit(9)"
    ),
    "weights that claim 40 GB": lambda root: checkpoint(
        root, config_json=b'{"model_type": "llava"}', model_safetensors=HUGE_TENSOR
    ),
    "a head's card nested without end": lambda root: head(root, DEEP),
    "a head's card of no text": lambda root: head(root, b"\xff\xfe"),
    "a design nested without end": lambda root: design(root, DEEP),
    "a design of an odd day": lambda root: design(root, b"a: 2026-99-99"),
    "a design of many digits": lambda root: design(root, b"a: " + b"9" * 100_000),
    "a design of odd tags": lambda root: design(root, b"a: !!bool x\nb: !!int ''\nc: !!timestamp x"),
    "a design of numbers in base 60": lambda root: design(root, b"a: 1" + b":1" * 400_000),
    "a design with a key twice": lambda root: design(root, b"texts: {title: a, title: b}\nblocks: [{name: a}]"),
    "a design that ends in a script": lambda root: design(
        root, b"texts: {title: a, completion_url: 'javascript:alert(1)'}\nblocks: [{name: a}]"),
    "a design of half a character": lambda root: design(root, b'texts: {title: "\\ud800"}\nblocks: [{name: a}]'),
    "a run of a suite with a long name": lambda root: run_folder(root, RUN_CARD.replace(b"combo", b"x" * 2_000_000)),
    "a design that laughs": lambda root: design(root, LAUGHS),
    "a table of no text": lambda root: table(root, b"item_id,box\n\xff\xfe,\x00"),
    "a table of a cell without end": lambda root: table(root, b"item_id,box\n" + b"x" * 10**6),
    "a run's card nested without end": lambda root: run_folder(root, DEEP),
    "a run's card of no text": lambda root: run_folder(root, b"\xff"),
    "a set's card nested without end": lambda root: item_card(root, b'{"suite": ' + DEEP),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_reported_in_one_line(snellen: Command, sets_folder: Path, tmp_path: Path, name: str) -> None:
    built = small_set("combo", sets_folder)
    os.symlink(built.root, tmp_path / "set")  # noqa: PTH211  # a link to a set is a set
    code, out, message = snellen(*FILES[name](tmp_path))
    assert code == (0 if name == "a folder that holds itself" else 2), (out, message)
    assert "Traceback" not in out + message
    assert "should not be" not in message
    assert "\x1b" not in out + message
    if code and not out:
        assert message.count("\n") == 1, message
        assert len(message) <= 301
    assert not list(tmp_path.parent.glob("passwd*"))
