"""Files of tensors are read as torch reads them; damaged files and pickles of anything else are refused."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.subjects.encoders.torch_files import read_tensors
from tests.helpers.refusals import assert_refused

STORAGE = (6).to_bytes(8, "little") + np.arange(6, dtype="<f4").tobytes()
"""Its length and bytes."""


class Global:
    """Pickled as the name of something in a module."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """Pickled as a call of something in a module."""

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self.function, self.arguments = Global(module, name), arguments


class Storage:
    """Pickled as a reference to a storage."""

    def __init__(self, count: Any = 6, dtype: str = "FloatStorage") -> None:
        self.reference = ("storage", Global("torch", dtype), "7", "cpu", count, None)


PythonPickler: Any = vars(pickle)["_Pickler"]


class Writer(PythonPickler):  # type: ignore[misc]  # the standard library gives it no type
    """Writes names without importing them."""

    def persistent_id(self, value: Any) -> Any:
        return value.reference if isinstance(value, Storage) else None

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Global):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


def tensor(storage: Any = None, start: Any = 0, shape: Any = (2, 3), strides: Any = (3, 1)) -> Call:
    layout: tuple[Any, ...] = (storage or Storage(), start, shape, strides, False, OrderedDict())
    return Call("torch._utils", "_rebuild_tensor_v2", *layout)


def write(path: Path, state: Any, keys: Any = ("7",), raw: bytes = STORAGE) -> Path:
    file = io.BytesIO()
    contents: tuple[Any, ...] = (0x1950A86A20F9469CFC6C, 1001, {}, state, keys)
    for content in contents:
        Writer(file, 2).dump(content)
    path.write_bytes(file.getvalue() + raw)
    return path


def test_tensors_are_views_of_their_storages(tmp_path: Path) -> None:
    state = {"rows": tensor(), "columns": tensor(shape=(3, 2), strides=(1, 3)), "last": tensor(None, 5, (), ())}
    tensors = read_tensors(write(tmp_path / "x", state))
    assert tensors["rows"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["columns"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tensors["last"].tolist() == 5


@pytest.mark.parametrize("is_old", [True, False])
def test_a_file_of_torch_is_read_as_torch_reads_it(tmp_path: Path, is_old: bool) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra 'models'")
    generator = stream("torch file")
    state = OrderedDict(
        weight=torch.from_numpy(generator.normal(size=(4, 3, 5, 5)).astype(np.float32)).permute(2, 0, 1, 3),
        count=torch.tensor(7),
        half=torch.arange(12.0)[6:].view(2, 3).T,
    )
    path = tmp_path / "state.pth"
    torch.save(state, path, _use_new_zipfile_serialization=not is_old)
    if not is_old:
        assert_refused(lambda: read_tensors(path), "no file of tensors")
        return
    tensors = read_tensors(path)
    assert list(tensors) == list(state)
    assert all(np.array_equal(tensors[name], state[name].numpy()) for name in state)


@pytest.mark.parametrize(
    "state",
    [
        {"x": Call("os", "system", "touch owned")},
        {"x": Call("builtins", "exec", "open('owned', 'w')")},
        {"x": Call("builtins", "getattr", Global("os", "system"), "__call__")},
        {"x": Call("collections", "OrderedDict.fromkeys", "ab")},
        {"x": Call("pathlib", "Path", "owned")},
        {"x": Call("torch", "load", "owned")},
        {"x": Call("numpy", "zeros", 3)},
        Call("torch.hub", "load", "owned"),
    ],
)
def test_pickles_with_other_names_are_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "x", state)
    assert_refused(lambda: read_tensors(path), "which is no tensor")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: write(path, {"x": tensor(start=1)}),
        lambda path: write(path, {"x": tensor(start=-1)}),
        lambda path: write(path, {"x": tensor(shape=(2**40, 2**40))}),
        lambda path: write(path, {"x": tensor(shape=(2, -3))}),
        lambda path: write(path, {"x": tensor(strides=(-3, 1))}),
        lambda path: write(path, {"x": tensor(strides=("a", "b"))}),
        lambda path: write(path, {"x": tensor(Storage(2**60))}),
        lambda path: write(path, {"x": tensor(Storage("6"))}),
        lambda path: write(path, {"x": tensor(Storage(6, "LongStorage"))}),
        lambda path: write(path, {"x": tensor(("storage", "O", "7", "cpu", 1, None))}),
        lambda path: write(path, {"x": tensor()}, keys=()),
        lambda path: write(path, {"x": tensor()}, keys=("8",)),
        lambda path: write(path, {"x": tensor()}, raw=b""),
        lambda path: write(path, {"x": 3}),
        lambda path: write(path, [tensor()]),
        lambda path: write(path, None),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
        lambda path: path.write_bytes(pickle.dumps({"x": 1.0}) * 5),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    damage(tmp_path / "x")
    assert_refused(lambda: read_tensors(tmp_path / "x"), "no file of tensors")


def test_any_bytes_are_read_or_refused(tmp_path: Path) -> None:
    raw, generator = write(tmp_path / "x", {"x": tensor()}).read_bytes(), stream("damaged bytes")
    for number in range(200):
        damaged = bytearray(raw)
        for offset in generator.integers(0, len(raw) - 32, 3):
            damaged[offset] = generator.integers(256)
        path = tmp_path / str(number)
        path.write_bytes(damaged)
        with suppress(SnellenError):
            read_tensors(path)
