"""Near copies: the same photograph re-encoded, in another size or exposure, or slightly cropped.

Bytes do not show this. Small grey copies are compared after one has been moved, stretched and adjusted in brightness
and contrast to fit the other, by less than a pixel per step (Gauss-Newton, as in Lucas and Kanade 1981).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snellen.curation.ledger import listed

if TYPE_CHECKING:
    from PIL import Image

SIDE_PX, COARSE_PX, EDGE_PX = 32, 16, 3
"""Side of a small copy, side of the coarse copy for finding candidates, and margin that is not compared."""
MIN_CORRELATION, NEIGHBOURS = 0.75, 3
"""Least correlation of a candidate at the coarse size, and number of candidates compared per image."""
MAX_RESIDUAL = 0.2
"""Greatest remaining difference, as a share of the image's own contrast (both standard deviations)."""
STEPS = 3
MAX_MOVE_PX, MIN_GAIN = 4.0, 0.2
"""Greatest shift or stretch of a small copy, and least gain of its contrast; beyond these the images differ."""
MAX_SHARE = 1 / 3
"""If more of a group look like another image, the images were taken in the same way, and none is a copy."""
MIN_CONTRAST = 2.0
"""Grey levels; images with less contrast are not compared."""
Grey = NDArray[np.float32]


@dataclass(frozen=True)
class NearCopies:
    """Near copies by index: later to earlier in one group, pairs across groups, and groups of similar images."""

    copies: Mapping[int, int]
    across: tuple[tuple[int, int], ...]
    alike: Mapping[str, int]


def thumbnail(image: Image.Image) -> bytes:
    """A small copy of `SIDE_PX` squared grey levels, turned upright by the EXIF orientation."""
    from PIL import Image, ImageOps

    small = image.convert("L").resize((SIDE_PX, SIDE_PX), Image.Resampling.BILINEAR)
    with (
        suppress(Exception),
        warnings.catch_warnings(action="ignore"),
    ):  # Pillow raises any exception at a damaged EXIF block
        small = ImageOps.exif_transpose(small)
    return small.tobytes()


def find_near_copies(thumbnails: Sequence[bytes], labels: Sequence[str]) -> NearCopies:
    """Images that look like an earlier one, by `thumbnail`; `labels` has the class or thing of each image.

    A copy of a copy must also look like the first image. The two are compared here, since `near_pairs` compares an
    image only with those nearest to it, which may all be copies.
    """
    copies: dict[int, int] = {}
    across: list[tuple[int, int]] = []
    for earlier, later in near_pairs(thumbnails):
        if labels[earlier] != labels[later]:
            across.append((earlier, later))
        elif later not in copies:
            first = copies.get(earlier, earlier)
            if first == earlier or residual(_grey(thumbnails[first]), _grey(thumbnails[later])) <= MAX_RESIDUAL:
                copies[later] = first
    sizes, counts = Counter(labels), Counter(labels[later] for later in copies)
    alike = {group: count for group, count in counts.items() if count > MAX_SHARE * sizes[group] and count > 1}
    return NearCopies({k: n for k, n in copies.items() if labels[k] not in alike}, tuple(across), alike)


def near_copy_notes(near_copies: NearCopies, names: Sequence[str], group: str, keep: bool) -> list[str]:
    """Notes for the card on near copies that stay; `group` is the word for a label (class, thing)."""
    notes = []
    if keep and near_copies.copies:
        pairs = [f"{names[later]} like {names[earlier]}" for later, earlier in near_copies.copies.items()]
        notes.append(f"{len(pairs)} images look like another one of their {group} and stay: {listed(pairs)}")
    if near_copies.across:
        pairs = [f"{names[later]} like {names[earlier]}" for earlier, later in near_copies.across]
        notes.append(f"{len(pairs)} pairs of images that differ in {group} look the same and stay: {listed(pairs)}")
    notes += [
        f"{count} images of the {group} {name!r} look like others of it, as from one fixed camera, and stay"
        for name, count in near_copies.alike.items()
    ]
    return notes


def near_pairs(thumbnails: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs (earlier, later) of the same photograph, in order."""
    if len(thumbnails) < 2:
        return []
    greys = np.stack([_grey(raw) for raw in thumbnails])
    factor = SIDE_PX // COARSE_PX
    coarse = greys.reshape(-1, COARSE_PX, factor, COARSE_PX, factor).mean((2, 4)).reshape(len(greys), -1)
    coarse = coarse - coarse.mean(axis=1, keepdims=True)
    contrast = coarse.std(axis=1)
    coarse = coarse / np.maximum(np.linalg.norm(coarse, axis=1, keepdims=True), 1e-6)
    pairs: set[tuple[int, int]] = set()
    for later in range(1, len(greys)):
        if contrast[later] >= MIN_CONTRAST:
            correlation = coarse[:later] @ coarse[later]
            nearest = np.argsort(-correlation, kind="stable")[:NEIGHBOURS]
            pairs |= {(int(n), later) for n in nearest if correlation[n] >= MIN_CORRELATION}
    return sorted(pair for pair in pairs if residual(greys[pair[0]], greys[pair[1]]) <= MAX_RESIDUAL)


def _grey(raw: bytes) -> Grey:
    return np.frombuffer(raw, np.uint8).reshape(SIDE_PX, SIDE_PX).astype(np.float32)


def residual(earlier: Grey, later: Grey) -> float:
    """The remaining difference of two small copies after fitting one to the other: 0 if equal, near 1 if unrelated."""
    inner = np.s_[EDGE_PX:-EDGE_PX, EDGE_PX:-EDGE_PX]
    contrast = min(float(earlier[inner].std()), float(later[inner].std()))
    if contrast < MIN_CONTRAST:
        return 1.0
    return min(_fitted(earlier, later), _fitted(later, earlier)) / contrast


def _fitted(moved: Grey, fixed: Grey) -> float:
    """The least standard deviation of the difference over `STEPS` of fitting `moved` to `fixed`."""
    from scipy.ndimage import map_coordinates

    rows, columns = np.mgrid[:SIDE_PX, :SIDE_PX].astype(float)
    down, right = (rows - (SIDE_PX - 1) / 2) / SIDE_PX, (columns - (SIDE_PX - 1) / 2) / SIDE_PX
    inner = np.s_[EDGE_PX:-EDGE_PX, EDGE_PX:-EDGE_PX]
    goal = fixed[inner].ravel()
    shift, best = np.zeros(4), float(goal.std())
    for _ in range(STEPS + 1):
        places = [rows + shift[1] + shift[3] * down, columns + shift[0] + shift[2] * right]
        current = map_coordinates(moved, places, order=1, mode="nearest")
        dy, dx = np.gradient(current)
        parts = np.stack([dx, dy, right * dx, down * dy, np.ones_like(current), current], axis=-1)[inner].reshape(-1, 6)
        weights = np.linalg.lstsq(parts, goal, rcond=None)[0]
        gain = max(weights[5], MIN_GAIN)
        move = weights[:4] / gain
        if weights[5] > MIN_GAIN and np.abs(shift + move).max() <= MAX_MOVE_PX:
            best = min(best, float((goal - parts @ weights).std()))
        shift = np.clip(shift + np.clip(move, -2, 2), -MAX_MOVE_PX, MAX_MOVE_PX)
    return best
