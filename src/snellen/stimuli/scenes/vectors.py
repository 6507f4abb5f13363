"""Linear algebra in three dimensions, element by element, so that every machine computes the same numbers.

`@`, `numpy.dot`, `numpy.linalg.inv` and the norm of a single vector call BLAS or LAPACK, whose kernels depend on the
processor: they sum in different orders and some fuse multiplication with addition. Nothing in `scenes` uses them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]


def dot(first: ArrayLike, second: ArrayLike) -> Array:
    """Inner products (...) of vectors (..., 3)."""
    products = np.asarray(first, float) * np.asarray(second, float)
    return np.asarray(products[..., 0] + products[..., 1] + products[..., 2])


def lengths(vectors: ArrayLike) -> Array:
    """Euclidean lengths (...) of vectors (..., 3)."""
    return np.sqrt(dot(vectors, vectors))


def unit_vector(vector: ArrayLike) -> Array:
    """The vector (3,) scaled to length 1."""
    return np.asarray(np.asarray(vector, float) / lengths(vector))


def apply_matrix(matrix: ArrayLike, vectors: ArrayLike) -> Array:
    """`matrix` (3, 3) times each of the vectors (..., 3)."""
    matrix, vectors = np.asarray(matrix, float), np.asarray(vectors, float)
    if vectors.ndim == 2:  # numpy is slow along short axes
        x, y, z = np.ascontiguousarray(vectors.T)
        return np.asarray(matrix[:, :1] * x + matrix[:, 1:2] * y + matrix[:, 2:] * z).T
    columns = matrix.T
    return np.asarray(vectors[..., :1] * columns[0] + vectors[..., 1:2] * columns[1] + vectors[..., 2:] * columns[2])
