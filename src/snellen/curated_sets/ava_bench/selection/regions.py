"""Regions of one colour in photographs, for questions about their colour (appendix A.2, "Color").

The paper's steps: compute superpixels by SLIC; merge adjacent superpixels of similar colour (in Lab) to regions; take
the region whose colour varies least; draw a red box on it; its most frequent RGB value is the answer. The paper prints
no threshold, nor how to draw a box on a region of any shape: those are `RegionSettings`, and ours.

Regions are found in a smaller copy, each of whose pixels is the mean of a square block, which also reduces noise that
no superpixel should follow. The variation of a colour is measured on original pixels, one per block; answers on all of
them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.colour import srgb_to_lab
from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.curated_sets.rules import OURS
from snellen.subjects.loading import import_extra

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


def _setting(default: float, what: str, origin: str = OURS) -> Any:
    return field(default=default, metadata={"what": what, "origin": origin})


@dataclass(frozen=True, kw_only=True)
class RegionSettings:
    """The thresholds for regions of one colour, each with its meaning and origin, as in `Rules`.

    Distances and spreads are Euclidean in Lab (D65), where 2.3 is just noticeable.
    """

    working_px: int = _setting(160, "pixels along the longer side of the copy that regions are found in, at most")
    superpixels: int = _setting(200, "superpixels that SLIC is asked for")
    compactness: float = _setting(10.0, "compactness of superpixels", "default of scikit-image")
    rounds: int = _setting(10, "rounds of SLIC", "default of scikit-image; enough, say SLIC's authors")
    merge_distance: float = _setting(6.0, "mean colours of two regions that touch are similar below this distance")
    min_share: float = _setting(0.005, "share of the image that a region, and its box, must cover at least")
    min_side_share: float = _setting(0.04, "shorter side of a box, of the shorter side of the image, at least")
    min_filled: float = _setting(0.95, "share of its box that a region must fill at least")
    inset_px: int = _setting(1, "pixels of the copy that a box keeps from the edge of its region, where colours mix")
    max_spread: float = _setting(5.0, "root mean square distance of a box's pixels from their mean, at most")
    max_answer_distance: float = _setting(4.0, "distance of the answer from the mean colour of the box, at most")


DEFAULTS = RegionSettings()


@dataclass(frozen=True)
class Region:
    """A region of one colour, the box drawn on it, and the answer.

    `box` is [x1, y1, x2, y2] in pixels, ends excluded. `rgb` is the most frequent sRGB value of the region's pixels in
    the box, 0 to 255 each, and `rgb_share` its share of them. `variance` is that of the whole region, summed over L, a
    and b. `area_px` is the area of the whole region, and `share_of_box` the share of the box that it fills, 0 to 1.
    """

    box: Box
    rgb: tuple[int, int, int]
    variance: float
    area_px: int
    share_of_box: float
    rgb_share: float


NO_LARGE = "no region of one colour is large enough"
NO_BOX = "no box of the wanted size fits into the region"
VARIED = "colours in the box vary too much"
OFF = "the most frequent colour of the box differs from its mean"


def best_region(pixels: Pixels, settings: RegionSettings = DEFAULTS) -> Region | str:
    """The paper's choice: the region whose colour varies least, of those that can be asked for; or the reason for none.

    The reason is that of the region that varies least of all. Regions after the chosen one are not examined. Raises
    SnellenError for anything but an image of 8-bit RGB.
    """
    reason = NO_LARGE
    for rank, region in enumerate(examined_regions(pixels, settings)):
        if isinstance(region, Region):
            return region
        reason = region if rank == 0 else reason
    return reason


def examined_regions(pixels: Pixels, settings: RegionSettings) -> Iterator[Region | str]:
    """Every region that is large enough, or the reason against it: least variation first, of equal ones the larger.

    `pixels` are sRGB, (height, width, 3), 0 to 255; others raise SnellenError.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise SnellenError(
            f"regions of a colour: {pixels.dtype} {pixels.shape} is not an image; give (height, width, 3) uint8"
        )
    copy = _WorkingCopy.from_image(pixels, settings)
    labels = merged(copy.superpixels(settings), copy.mean, settings.merge_distance)
    sizes = np.bincount(labels.ravel())
    variances = _variances(labels, copy, sizes)
    min_px = max(1.0, settings.min_share * labels.size)
    for label in sorted(np.flatnonzero(sizes >= min_px).tolist(), key=lambda n: (variances[n], -sizes[n], n)):
        yield _make_region(copy, labels == label, float(variances[label]), settings)


@dataclass(frozen=True)
class _WorkingCopy:
    """An image and its smaller copies: the mean, and the middle pixel, of every block of `block` x `block` pixels.

    Rows and columns beyond the last whole block are left out. `mean` and `sharp` are Lab, (rows, columns, 3).
    """

    pixels: Pixels
    block: int
    small: Pixels
    mean: Floats = field(repr=False)
    sharp: Floats = field(repr=False)

    @classmethod
    def from_image(cls, pixels: Pixels, settings: RegionSettings) -> _WorkingCopy:
        height, width = pixels.shape[:2]
        block = min(max(1, -(-max(height, width) // settings.working_px)), height, width)
        whole_blocks = np.ascontiguousarray(pixels[: height - height % block, : width - width % block])
        small = np.asarray(Image.fromarray(whole_blocks).reduce(block))
        sharp = whole_blocks[block // 2 :: block, block // 2 :: block]
        return cls(pixels, block, small, srgb_to_lab(small), srgb_to_lab(sharp))

    def superpixels(self, settings: RegionSettings) -> Labels:
        segmentation = import_extra("skimage.segmentation", "regions of one colour", "curation")
        rows, columns = self.small.shape[:2]
        count = max(1, min(settings.superpixels, rows * columns // 16))
        labels = segmentation.slic(
            self.small, count, settings.compactness, max_num_iter=settings.rounds, start_label=0, channel_axis=-1
        )
        return np.asarray(labels, np.int64)


def merged(labels: Labels, lab: Floats, distance: float) -> Labels:
    """Regions (rows, columns), numbered from 0: the two most similar adjacent ones are merged, repeatedly.

    `labels` are superpixels, `lab` the pixels' colours; merging ends when no mean colours are closer than `distance`. A
    region counts as its mean, so that a long gradient does not become one region by small steps.
    """
    sizes = np.bincount(labels.ravel()).astype(float)
    sums = np.stack([np.bincount(labels.ravel(), lab[..., n].ravel()) for n in range(3)], axis=1)
    neighbours: list[set[int]] = [set() for _ in sizes]
    for first, second in _neighbour_pairs(labels):
        neighbours[first].add(second)
        neighbours[second].add(first)
    means = sums / np.maximum(sizes, 1)[:, None]
    queue = [
        (_colour_distance(means, first, second), first, second, 0, 0)
        for first, adjacent in enumerate(neighbours)
        for second in adjacent
        if first < second
    ]
    heapq.heapify(queue)
    parent, merge_counts = list(range(len(sizes))), [0] * len(sizes)
    while queue and queue[0][0] < distance:
        _, first, second, *queued_counts = heapq.heappop(queue)
        # A pair stays in the queue when one of the two merges or grows; its distance is then outdated. Their merge
        # counts show this, so that the two most similar current regions are merged, whatever the order of pairs.
        if (
            parent[first] != first
            or parent[second] != second
            or queued_counts != [merge_counts[first], merge_counts[second]]
        ):
            continue
        parent[second] = first
        sizes[first] += sizes[second]
        sums[first] += sums[second]
        means[first] = sums[first] / sizes[first]
        merge_counts[first] += 1
        neighbours[first] = {
            neighbour
            for neighbour in neighbours[first] | neighbours[second]
            if parent[neighbour] == neighbour and neighbour != first
        }
        for neighbour in neighbours[first]:
            neighbours[neighbour].add(first)
            low, high = min(first, neighbour), max(first, neighbour)
            heapq.heappush(
                queue, (_colour_distance(means, low, high), low, high, merge_counts[low], merge_counts[high])
            )
    for label, lower in enumerate(parent):  # a region is always merged into one with a lower number
        parent[label] = parent[lower]
    return np.asarray(np.unique(parent, return_inverse=True)[1][labels], np.int64)


def _neighbour_pairs(labels: Labels) -> list[tuple[int, int]]:
    """Pairs of labels that are horizontal or vertical neighbours, each pair once, the lower label first."""
    count = int(labels.max()) + 1
    codes = []
    for first, second in ((labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])):
        differ = first != second
        low, high = np.minimum(first[differ], second[differ]), np.maximum(first[differ], second[differ])
        codes.append(low * count + high)
    return [divmod(int(code), count) for code in np.unique(np.concatenate(codes))]


def _colour_distance(means: Floats, label: int, other_label: int) -> float:
    (l1, a1, b1), (l2, a2, b2) = means[label].tolist(), means[other_label].tolist()
    return float(((l1 - l2) ** 2 + (a1 - a2) ** 2 + (b1 - b2) ** 2) ** 0.5)


def _variances(labels: Labels, copy: _WorkingCopy, sizes: NDArray[np.int64]) -> Floats:
    """By label, the mean square distance of its pixels from its mean colour: the sum of the variances of L, a and b."""
    means = np.stack([np.bincount(labels.ravel(), copy.mean[..., n].ravel()) for n in range(3)], axis=1)
    distances = ((copy.sharp - (means / sizes[:, None])[labels]) ** 2).sum(axis=-1)
    # Rounded, so that flat regions are equal whatever their colour, and the larger one comes first.
    return np.asarray((np.bincount(labels.ravel(), distances.ravel()) / sizes).round(6), np.float64)


def _make_region(copy: _WorkingCopy, region: Mask, variance: float, settings: RegionSettings) -> Region | str:
    """The region with its box and answer, or the reason why it cannot be asked for."""
    rows, columns = region.shape
    x1, y1, x2, y2 = _inner_box(region, settings.inset_px)
    wide, high = x2 - x1, y2 - y1
    too_small = wide * high < settings.min_share * region.size
    if too_small or min(wide, high) < max(1.0, settings.min_side_share * min(rows, columns)):
        return NO_BOX
    within = region[y1:y2, x1:x2]
    mean = copy.mean[y1:y2, x1:x2].mean(axis=(0, 1))
    spread = ((copy.sharp[y1:y2, x1:x2] - mean) ** 2).sum(axis=-1).mean() ** 0.5
    if spread > settings.max_spread or within.mean() < settings.min_filled:
        return VARIED
    rgb, frequent = _most_frequent(copy, within, (x1, y1, x2, y2), mean)
    if np.linalg.norm(srgb_to_lab(rgb) - mean) > settings.max_answer_distance:
        return OFF
    box = tuple(float(side * copy.block) for side in (x1, y1, x2, y2))
    area_px = int(region.sum()) * copy.block**2
    return Region((box[0], box[1], box[2], box[3]), rgb, variance, area_px, float(within.mean()), frequent)


def _inner_box(region: Mask, inset: int) -> tuple[int, int, int, int]:
    """The largest rectangle in the region, less the inset on every side; without area if there is none."""
    from scipy.ndimage import binary_closing

    y, x = (np.flatnonzero(region.any(axis=axis)) for axis in (1, 0))
    # Specks of a pixel or two would fragment the box; `share_of_box` accounts for them.
    padded = np.pad(region[y[0] : y[-1] + 1, x[0] : x[-1] + 1], 2)
    x1, y1, x2, y2 = largest_rectangle(binary_closing(padded, np.ones((3, 3), bool))[2:-2, 2:-2])
    return int(x[0]) + x1 + inset, int(y[0]) + y1 + inset, int(x[0]) + x2 - inset, int(y[0]) + y2 - inset


def largest_rectangle(mask: Mask) -> tuple[int, int, int, int]:
    """The largest rectangle of only True, (x1, y1, x2, y2), ends excluded; of several the first found.

    The search goes from the top down by the lowest row, then from the left. Without any True all four are 0.
    """
    rows, columns = mask.shape
    across = np.arange(columns)
    # By row: the begin and the end of a pixel's stretch of True.
    begins = np.maximum.accumulate(np.where(mask, 0, across + 1), axis=1)
    ends = np.minimum.accumulate(np.where(mask, columns, across)[:, ::-1], axis=1)[:, ::-1]
    height, left, right = np.zeros(columns, int), np.zeros(columns, int), np.full(columns, columns)
    best_area, rectangle = 0, (0, 0, 0, 0)
    for row in range(rows):
        above = height > 0
        left = np.where(above, np.maximum(left, begins[row]), begins[row])
        right = np.where(above, np.minimum(right, ends[row]), ends[row])
        height = np.where(mask[row], height + 1, 0)
        areas = height * (right - left)
        column = int(areas.argmax())
        if areas[column] > best_area:
            best_area, rectangle = (
                int(areas[column]),
                (int(left[column]), row + 1 - int(height[column]), int(right[column]), row + 1),
            )
    return rectangle


def _most_frequent(
    copy: _WorkingCopy, within: Mask, box: Sequence[int], mean: Floats
) -> tuple[tuple[int, int, int], float]:
    """The most frequent RGB value of the region's pixels in the box, and its share of them.

    Of equally frequent values, as are many in a photograph, it is the one nearest to the box's mean colour in Lab, then
    the lowest by red, green and blue.
    """
    x1, y1, x2, y2 = (side * copy.block for side in box)
    inside = copy.pixels[y1:y2, x1:x2]
    mask = within.repeat(copy.block, axis=0).repeat(copy.block, axis=1)
    red, green, blue = (inside[..., n][mask].astype(np.uint32) for n in range(3))
    codes, counts = np.unique(red << 16 | green << 8 | blue, return_counts=True)
    frequent = codes[counts == counts.max()]
    tied = np.stack([frequent >> 16, frequent >> 8 & 255, frequent & 255], axis=1).astype(np.uint8)
    distances = np.linalg.norm(srgb_to_lab(tied) - mean, axis=1).round(6)
    r, g, b = (int(value) for value in tied[distances.argmin()])
    return (r, g, b), float(counts.max() / counts.sum())
