"""Inputs of a probe: reduced patch features, their positions, the words of the question, the boxes drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Media, View
from snellen.subjects.encoders.encoder import Floats
from snellen.subjects.encoders.readouts import Doubles
from snellen.towers.probes.answers import shares

Grids: TypeAlias = Callable[[Media], Floats]
"""Returns the patch features of an image, float32 (rows, columns, d)."""

_WORD = re.compile(r"[\w'-]+")
FREQUENCIES = 4
"""Number of sine and cosine pairs: 1, 2, 4 and 8 half turns over the width, and over the height."""


@dataclass(frozen=True)
class ProbeSettings:
    """All that determines a probe except its examples; part of the fingerprint. Our own: no paper gives them.

    `components` of the patch features; `width`, `queries`, `heads` (half of them with softmax) and `layers` of the
    network; `steps` of `batch` examples, `rate` of AdamW with `decay`, `dropout` of tokens and of the readout.
    """

    components: int = 64
    width: int = 64
    queries: int = 4
    heads: int = 4
    layers: int = 2
    steps: int = 240
    batch: int = 32
    rate: float = 2e-3
    decay: float = 0.05
    dropout: float = 0.1
    version: int = 1


@dataclass(frozen=True, eq=False)
class ProbeSample:
    """One view as arrays of float32; P images of R x C patches.

    `tokens` (P, R, C, k), `words` (v,) counts, `coverage` (R, C, m) shares of each patch of the first image inside the
    box of each colour, `boxes` (m, 5): 1 if it exists, and its corners in shares of the image.
    """

    tokens: Floats
    words: Floats
    coverage: Floats
    boxes: Floats


@dataclass(frozen=True, eq=False)
class Inputs:
    """Converts views to samples; fitted to training views.

    Patches are standardised by `mean` and `scale` (d,) and projected on k principal `components` (d, k) of unit
    deviation. `vocabulary` has the words of training questions, `colours` the colours of boxes drawn in them.
    """

    mean: Floats
    scale: Floats
    components: Floats
    vocabulary: tuple[str, ...]
    colours: tuple[str, ...]
    max_images: int

    def refusal(self, view: View) -> str | None:
        """The reason why a view cannot be converted, or None."""
        if unknown := sorted(set(words_of(view)) - set(self.vocabulary)):
            return f"no training example's question has the word {unknown[0]!r}"
        if len(view.query) > self.max_images:
            return f"no training example has {len(view.query)} images"
        return None

    def sample(self, view: View, grids: Grids) -> ProbeSample:
        """The view as arrays."""
        tokens = np.stack([self.reduced(grids(image)) for image in view.query])
        words = np.isin(self.vocabulary, words_of(view)).astype(np.float32)
        boxes = np.zeros((len(self.colours), 5), np.float32)
        coverage = np.zeros((*tokens.shape[1:3], len(self.colours)), np.float32)
        for mark in view.marks:
            if mark.colour in self.colours:
                place, box = self.colours.index(mark.colour), shares(view.query[0], mark.box)
                boxes[place], coverage[..., place] = (1.0, *box), box_coverage(box, *tokens.shape[1:3])
        return ProbeSample(tokens, words, coverage, boxes)

    def reduced(self, grid: Floats) -> Floats:
        """Patch features (rows, columns, d) projected on the components, (rows, columns, k)."""
        return np.asarray(((grid - self.mean) / self.scale) @ self.components, dtype=np.float32)


def fit_inputs(views: Sequence[View], grids: Grids, components: int) -> Inputs:
    """Fit to training views: moments and principal components of their patches, words, colours of boxes.

    `components` are kept, or all if features have fewer dimensions.
    """
    images = list({image.sha256: image for view in views for image in view.query}.values())
    mean, covariance = _moments(grids(image) for image in images)
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 1e-6 * max(float(deviation.max()), 1e-12), deviation, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    values, vectors = values[::-1][:components], vectors[:, ::-1][:, :components]
    used = values > 1e-6 * max(float(values[0]), 1e-12)
    whitened = vectors[:, used] / np.sqrt(values[used]) if used.any() else vectors[:, :1] * 0.0
    return Inputs(
        mean.astype(np.float32),
        scale.astype(np.float32),
        whitened.astype(np.float32),
        tuple(sorted({word for view in views for word in words_of(view)})),
        tuple(sorted({mark.colour for view in views for mark in view.marks})),
        max(len(view.query) for view in views),
    )


def _moments(grids: Iterable[Floats]) -> tuple[Doubles, Doubles]:
    """Mean (d,) and covariance (d, d) of all patches, one image at a time."""
    count, total, products = 0, np.zeros(1), np.zeros((1, 1))
    for grid in grids:
        rows = grid.reshape(-1, grid.shape[-1])
        count += len(rows)
        total = total + rows.sum(0, dtype=np.float64)
        products = products + (rows.T @ rows).astype(np.float64)
    mean = np.asarray(total / count)
    return mean, np.asarray(products / count - np.outer(mean, mean))


def words_of(view: View) -> list[str]:
    """The words of the question, in lower case."""
    return _WORD.findall(view.question.lower())


def box_coverage(box: Sequence[float], rows: int, columns: int) -> Floats:
    """The share of each patch inside a box (in shares of the image): (rows, columns), 0 to 1."""
    x1, y1, x2, y2 = box
    across, down = _overlap(x1, x2, columns), _overlap(y1, y2, rows)
    return np.asarray(np.outer(down, across), dtype=np.float32)


def _overlap(low: float, high: float, cells: int) -> Doubles:
    """The share of each of `cells` equal parts of 0 to 1 that is between two numbers."""
    edges = np.arange(cells + 1) / cells
    return np.asarray(np.clip(np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1]), 0.0, None) * cells)


def positions(rows: int, columns: int) -> Floats:
    """Positions of patch centres: x and y in shares, with sines and cosines; (rows, columns, 18)."""
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    turns: list[NDArray[np.float64]] = [2 * x - 1, 2 * y - 1]
    for power in range(FREQUENCIES):
        turns += [wave(np.pi * 2**power * place) for place in (x, y) for wave in (np.sin, np.cos)]
    return np.stack(turns, -1).astype(np.float32)
