"""Vectors against numpy's own linear algebra, which is right to the last digits."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import snellen.stimuli.scenes
from snellen.stimuli.scenes.vectors import apply_matrix, dot, lengths, unit_vector

numbers = st.floats(-1e3, 1e3)
vectors = arrays(float, (4, 3), elements=numbers)


@given(vectors, vectors, arrays(float, (3, 3), elements=numbers))
def test_results_equal_numpy_s(first: np.ndarray, second: np.ndarray, matrix: np.ndarray) -> None:
    assert dot(first, second) == pytest.approx((first * second).sum(axis=1), abs=1e-8)
    assert lengths(first) == pytest.approx(np.linalg.norm(first, axis=1))
    assert apply_matrix(matrix, first) == pytest.approx(first @ matrix.T, abs=1e-8)
    assert apply_matrix(matrix, first[0]) == pytest.approx(matrix @ first[0], abs=1e-8)


def test_by_hand() -> None:
    assert dot((1, 2, 3), (4, 5, 6)) == 32
    assert lengths([[3, 4, 0], [0, 0, -2]]).tolist() == [5, 2]
    assert unit_vector((0, 3, 4)).tolist() == [0, 0.6, 0.8]
    assert apply_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1, 0, 5)).tolist() == [0, 1, 5]


def test_scenes_do_not_call_blas() -> None:
    """`@`, `dot` and LAPACK differ between processors; norms along an axis are sums of squares, and do not."""
    calls = []
    for path in Path(snellen.stimuli.scenes.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.MatMult):
                calls.append(f"{path.name}: @")
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("np.dot", "np.linalg", "np.einsum")):
                along_axis = {keyword.arg for keyword in node.keywords} >= {"axis"}
                if not (ast.unparse(node.func) == "np.linalg.norm" and along_axis):
                    calls.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not calls
