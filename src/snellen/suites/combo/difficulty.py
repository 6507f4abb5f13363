"""Difficulty of distinguishing two rule-categories (appendix B.4): features, PCA, Gaussians, 2-Wasserstein distance.

The features of all 9,504 objects are packaged (`features/`: one view each, efficientnet-lite2, global PCA to 64
numbers, float16). `python -m snellen.suites.combo.generated.make_features` computes them with any other encoder. The
paper gives neither PCA dimension nor encoder nor thresholds; `design/category-difficulty.md` compares ours with
alternatives.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.suites.combo.space import Mask

Floats = NDArray[np.float64]
LEVELS = ("easy", "medium", "hard", "expert")
PCA_DIMENSIONS = 16
OBJECTS = 9504
ENCODER = "efficientnet-lite2"
OTHER_ENCODERS = ("hog", "colour-histogram")
MAKE = "python -m snellen.suites.combo.generated.make_features"


@dataclass(frozen=True, eq=False)
class Features:
    """Features of all objects, shape (9504, d), with their encoder and the quartiles of `separation`."""

    values: Floats
    encoder: str
    thresholds: tuple[float, float, float]
    about: dict[str, Any]


@cache
def packaged_features() -> Features:
    """The packaged features that set the levels by default."""
    return _packaged(ENCODER)


@cache
def other_features() -> tuple[Features, ...]:
    """Packaged features of untrained encoders, 16 numbers per object; cards compare the levels with them."""
    return tuple(map(_packaged, OTHER_ENCODERS))


def _packaged(encoder: str) -> Features:
    return _unpacked(files("snellen.suites.combo").joinpath("features", f"{encoder}.npz").read_bytes())


@cache
def read_features(path: Path) -> Features:
    """The features in a file written by `make_features`. Raises SnellenError for any other file."""
    try:
        return _unpacked(path.read_bytes())
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SnellenError(
            f"--input features={path}: no features for {OBJECTS} objects ({error}); make them with `{MAKE} --encoder "
            "NAME --out FILE`"
        ) from error


def _unpacked(raw: bytes) -> Features:
    if not raw.startswith(b"PK"):
        raise ValueError("not an .npz file")
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        about, features = json.loads(str(arrays["about"])), arrays["features"].astype(np.float64)
    low, middle, high = (float(x) for x in about["thresholds"])
    if features.ndim != 2 or len(features) != OBJECTS or not np.isfinite(features).all():
        raise ValueError(f"the features have the shape {features.shape}, or are not finite")
    if not low <= middle <= high or not {"encoder", "features_digest"} <= set(about):
        raise ValueError("encoder, digest or ordered thresholds are missing")
    return Features(features, str(about["encoder"]), (low, middle, high), about)


def rank_correlation(distances: Sequence[float], other_distances: Sequence[float]) -> float | None:
    """Spearman's correlation to three digits; None for fewer than three distances, or if either is constant."""
    if len(distances) < 3 or len(set(distances)) == 1 or len(set(other_distances)) == 1:
        return None
    from scipy.stats import spearmanr

    return round(float(spearmanr(distances, other_distances).statistic), 3)


def separation(features: Floats, first: Mask, second: Mask, dimensions: int = PCA_DIMENSIONS) -> float:
    """2-Wasserstein distance between Gaussians fitted to two categories, in units of the features; smaller is harder.

    `features` (9504, d); PCA is fitted on both categories together, with at most `dimensions` and at most their rank.
    """
    both = np.concatenate([features[first], features[second]])
    both -= both.mean(axis=0)
    # A copy, since numpy sums in another order when it multiplies a matrix with itself.
    sizes, axes = np.linalg.eigh(both.T @ both.copy())
    # Axes without variance are rounding error and would get a covariance.
    rank = int((sizes > 1e-12 * sizes[-1]).sum()) or 1
    main_axes = axes[:, ::-1][:, : min(dimensions, rank)]
    of_first = int(first.sum())
    return wasserstein(both[:of_first] @ main_axes, both[of_first:] @ main_axes)


def wasserstein(left: Floats, right: Floats) -> float:
    """2-Wasserstein distance between the Gaussians of two samples, shapes (n, d) and (m, d).

    W^2 = |m1 - m2|^2 + tr(S1 + S2 - 2 (S2^1/2 S1 S2^1/2)^1/2), covariances with n - 1 in the denominator.
    """
    gap = left.mean(axis=0) - right.mean(axis=0)
    s1, s2 = np.atleast_2d(np.cov(left.T)), np.atleast_2d(np.cov(right.T))
    root = _root(s2)
    # The trace of the root is the sum of the roots of the eigenvalues; rounding may make some slightly negative.
    cross = np.sqrt(np.clip(np.linalg.eigvalsh(root @ s1 @ root), 0, None)).sum()
    squared = float(gap @ gap + np.trace(s1) + np.trace(s2) - 2 * cross)
    return float(np.sqrt(max(squared, 0.0)))


def _root(matrix: Floats) -> Floats:
    """The symmetric square root of a covariance."""
    sizes, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.sqrt(np.clip(sizes, 0, None))) @ axes.T)


def level_of(distance: float, thresholds: tuple[float, float, float]) -> str:
    """The level: `expert` below the first quartile of the reference pairs, then `hard`, `medium`, `easy`."""
    return LEVELS[3 - int(np.searchsorted(thresholds, distance, side="right"))]
