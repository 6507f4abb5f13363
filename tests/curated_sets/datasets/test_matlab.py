"""Our reader of MATLAB files against SciPy's writer, and on files that crash SciPy's reader."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from snellen.curated_sets.datasets.formats.matlab import read_variable

DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def written(path: Path, variable: Any, *, packed: bool) -> Path:
    scipy.io.savemat(path, {"other": np.ones(3), "x": variable}, do_compression=packed)
    return path


def value_of(path: Path) -> list[Any]:
    value = read_variable(path, "x", list)
    assert isinstance(value, list)
    return value


@pytest.mark.parametrize("packed", [False, True])
def test_values_are_those_written(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.mat"
    for dtype in DTYPES:
        numbers = np.array([[0], [1], [100], [3]], dtype)
        column = read_variable(written(path, numbers, packed=packed), "x", list)
        assert column == [0.0, 1.0, 100.0, 3.0]
    assert read_variable(written(path, "Caf\u00e9 1", packed=packed), "x", str) == "Caf\u00e9 1"
    cells = np.array(["a", np.array([2.0, np.nan]), np.array(["b", "cd"], object)], object)
    text, pair, inner = value_of(written(path, cells, packed=packed))
    assert text == "a"
    assert np.array_equal(pair, [2.0, np.nan], equal_nan=True)
    assert inner == ["b", "cd"]
    rows = np.array([[("one", 1.0), ("two", 2.0)]], [("Name", object), ("Number", object)])
    first, second = value_of(written(path, rows, packed=packed))
    assert (first["Name"](), second["Name"](), second["Number"]().tolist()) == ("one", "two", [2.0])
    assert read_variable(path, "y", list) == "MATLAB file without the variable y"


def test_files_of_the_other_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    content = struct.pack(">4I2I2i", 6, 8, 6, 0, 5, 8, 2, 1) + struct.pack(">HH4s", 1, 1, b"x")
    content += struct.pack(">2I2d", 9, 16, 1.5, -2.0)
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + struct.pack(">2I", 14, len(content)) + content)
    assert read_variable(path, "x", list) == [1.5, -2.0]


def test_more_values_than_fit_in_memory_are_refused(tmp_path: Path) -> None:
    path, cells = tmp_path / "a.mat", struct.pack("<II", 14, 0) * 250_000
    content = struct.pack("<4I2I2i", 6, 8, 1, 0, 5, 8, 250_000, 1) + struct.pack("<HH4s", 1, 1, b"x") + cells
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<2I", 14, len(content)) + content)
    assert "more than 200000 values" in str(read_variable(path, "x", len))


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_a_reason(tmp_path: Path, seed: int) -> None:
    """SciPy 1.17 ends the process on some of these."""
    rng, path = np.random.default_rng(seed), tmp_path / "a.mat"
    raw = written(path, np.array([[1.0], [2.0]]), packed=False).read_bytes()
    for start in range(128, len(raw)):
        path.write_bytes(raw[:start] + bytes([raw[start] ^ 1 << int(rng.integers(8))]) + raw[start + 1 :])
        column = read_variable(path, "x", list)
        assert len(column) == 2 or "MATLAB file" in column


@pytest.mark.parametrize("levels", [50, 51])
def test_endless_nesting_and_unpacking_are_refused(
    tmp_path: Path, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells: Any = "x"
    for _ in range(levels):
        inner, cells = cells, np.empty(1, object)
        cells[0] = inner
    path = written(tmp_path / "a.mat", cells, packed=True)
    result = read_variable(path, "x", lambda value: value)
    assert isinstance(result, list) if levels == 50 else "more than 50 nested levels" in str(result)
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.matlab.MAX_BYTES", path.stat().st_size + 100)
    assert "it unpacks to more than" in str(read_variable(path, "x", list))
