"""Spatial reasoning: the position of one thing relative to another (appendix A.2).

Images of LVIS and Objects365 have millions of such pairs. `find` keeps the things of an image, and `select` computes
all pairs at once; only chosen pairs become candidates.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Box, Item
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curated_sets.ava_bench.selection.depths import EXCLUDED, ROOMS, excluded, name_of, recording
from snellen.curation.draws import grouped, least_used, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.spatial import NAME, POSITIONS, spatial_item
from snellen.suites.ava_bench.items import ItemSource, box_area

DATASETS = (ROOMS, "LVIS", "Objects365")
SEVERAL = "several things of the category in the image"
NO_BOX = "thing without a box in an image of known size"
SMALL = "box too small a part of the image"
ALONE = "thing without another to compare it with"
OVERLAP = "target and reference that share columns or rows of the image"
CHUNK = 2_000_000
"""Pairs computed at a time, which bounds memory."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """All things of an image that may form pairs, as one candidate: large enough, and the only ones of their class.

    `boxes` holds four numbers per thing, in the order of `labels`.
    """
    left_out, known = excluded(scene, context), completeness(scene)
    share = context.rules.spatial_indoor_area if scene.source == ROOMS else context.rules.spatial_open_area
    min_area = share * scene.size[0] * scene.size[1] if scene.size else 0.0
    counts = Counter([annotation.label for annotation in scene.annotations])
    rule_counts: dict[str, int] = {}
    labels, boxes = [], array("d")
    for annotation in scene.annotations:
        label, box = annotation.label, annotation.box
        if label in left_out:
            rule = EXCLUDED
        elif known.rule(label):
            rule = known.rule(label)
        elif counts[label] > 1:
            rule = SEVERAL
        elif box is None or scene.size is None:
            rule = NO_BOX
        elif box_area(box) < min_area:
            rule = SMALL
        else:
            labels.append(label)
            boxes.extend(box)
            continue
        rule_counts[rule] = rule_counts.get(rule, 0) + 1
    if len(labels) == 1:
        rule_counts[ALONE] = 1
    for rule, count in rule_counts.items():
        context.ledger.drop(NAME, scene.source, rule, scene.record_id, count)
    if len(labels) > 1:
        yield Candidate(origin_of(scene, recording(scene)), "", "", {"labels": tuple(labels), "boxes": boxes})


@dataclass(frozen=True)
class PairTable:
    """All pairs of a dataset that can be asked about, as codes and images, sorted by code.

    `codes` are cell x labels + reference, with cell = target x 4 + position: numbers into `labels` and `POSITIONS`. A
    class identifies a box, since it occurs once per image.
    """

    labels: tuple[str, ...]
    codes: NDArray[np.int64]
    images: NDArray[np.int32]

    def in_cell(self, cell: int) -> dict[int, list[int]]:
        """The images of a target class in a position, by reference class."""
        begin, end = np.searchsorted(self.codes, (cell * len(self.labels), (cell + 1) * len(self.labels)))
        references, starts = np.unique(self.codes[begin:end] - cell * len(self.labels), return_index=True)
        image_groups = np.split(self.images[begin:end], starts[1:])
        return {int(reference): images.tolist() for reference, images in zip(references, image_groups, strict=True)}

    def name(self, cell: int) -> tuple[str, str]:
        """The target class and position of a cell."""
        target, position = divmod(cell, len(POSITIONS))
        return self.labels[target], POSITIONS[position]


def pairs_of(candidates: Sequence[Candidate], context: CurationContext) -> PairTable:
    """The pairs that share no column and no row; the ledger records the number of the others.

    Images with equally many things are processed together.
    """
    labels = tuple(sorted({label for candidate in candidates for label in candidate.truth["labels"]}))
    numbers = {label: number for number, label in enumerate(labels)}
    codes, owners, apart = [np.empty(0, np.int64)], [np.empty(0, np.int32)], np.zeros(len(candidates), np.int64)
    for count, indices in grouped(range(len(candidates)), lambda n: len(candidates[n].truth["labels"])).items():
        step = max(1, CHUNK // count**2)
        for chunk in (indices[n : n + step] for n in range(0, len(indices), step)):
            kinds = np.array([[numbers[label] for label in candidates[n].truth["labels"]] for n in chunk], np.int64)
            boxes = np.array([candidates[n].truth["boxes"] for n in chunk], np.float64).reshape(len(chunk), count, 4)
            chunk_rows, target, reference, position = positions(boxes)
            cells = kinds[chunk_rows, target] * len(POSITIONS) + position
            codes.append(cells * len(labels) + kinds[chunk_rows, reference])
            owners.append(np.array(chunk, np.int32)[chunk_rows])
            apart += np.bincount(owners[-1], minlength=len(candidates))
    for candidate, clear_count in zip(candidates, apart.tolist(), strict=True):
        if overlapping := len(candidate.truth["labels"]) * (len(candidate.truth["labels"]) - 1) - clear_count:
            context.ledger.drop(NAME, candidate.origin.source, OVERLAP, candidate.origin.record_id, overlapping)
    coded = np.concatenate(codes)
    order = np.argsort(coded, kind="stable")
    return PairTable(labels, coded[order], np.concatenate(owners)[order])


def positions(boxes: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
    """The pairs of boxes [images, things, 4] that share no column and no row: image, target, reference, position.

    Positions are numbers into `POSITIONS`, as `position` gives them for a pair.
    """
    x1, y1, x2, y2 = (boxes[..., side] for side in range(4))
    left, above = x2[:, :, None] <= x1[:, None, :], y2[:, :, None] <= y1[:, None, :]
    right, below = left.swapaxes(1, 2), above.swapaxes(1, 2)
    clear_pairs = np.nonzero((left | right) & (above | below))
    return *clear_pairs, 2 * right[clear_pairs] + below[clear_pairs]


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The rules' number of reference classes and images per target class and position, or none."""
    selected: list[Candidate] = []
    for source, images in grouped(candidates, lambda candidate: candidate.origin.source).items():
        pair_table = pairs_of(images, context)
        used = Counter[Hashable]()
        for target, cells in grouped(
            cells_of(pair_table, source, context), lambda cell: cell // len(POSITIONS)
        ).items():
            cell_references = {cell: _with_enough_images(pair_table.in_cell(cell), context) for cell in cells}
            order = _references(
                list(cell_references.values()), context.rng(NAME, "references", source, pair_table.labels[target])
            )
            for cell, images_by_reference in cell_references.items():
                references = {
                    reference: images_by_reference[reference] for reference in order if reference in images_by_reference
                }
                selected += _draw_candidates(cell, references, pair_table, images, used, context)
    return selected


def _with_enough_images(images_by_reference: Mapping[int, list[int]], context: CurationContext) -> dict[int, list[int]]:
    """The reference classes with at least as many images as are drawn."""
    return {
        reference: images
        for reference, images in images_by_reference.items()
        if len(images) >= context.rules.spatial_rows
    }


def _references(cell_references: Sequence[Mapping[int, list[int]]], rng: np.random.Generator) -> list[int]:
    """Reference classes of a target, those in most of its positions first, otherwise in random order.

    The paper's eight per position may be any. If they were drawn position by position, most pairs of classes would
    occur in one position only, and their names would reveal the answer.
    """
    positions = Counter(reference for references in cell_references for reference in references)
    return sorted(shuffled(sorted(positions), rng), key=lambda reference: -positions[reference])


def cells_of(pair_table: PairTable, source: str, context: CurationContext) -> list[int]:
    """The cells with enough references and images, of target classes with enough such positions.

    With more classes than wanted, those in more positions come first, then chance decides. A cell that could only be
    filled by other numbers of references and images is left out, so that all cells are equal.
    """
    rules, four = context.rules, len(POSITIONS)
    requirement = f"{rules.spatial_references} references of {rules.spatial_rows} images"
    codes, counts = np.unique(pair_table.codes, return_counts=True)
    cells = codes // max(1, len(pair_table.labels))
    pair_counts = np.bincount(cells, counts, four * len(pair_table.labels)).astype(np.int64)
    references = np.bincount(cells[counts >= rules.spatial_rows], minlength=four * len(pair_table.labels))
    full = (references >= rules.spatial_references).reshape(-1, four)
    ranked = shuffled(range(len(full)), context.rng(NAME, "classes", source))
    ranked = sorted((n for n in ranked if full[n].sum() >= rules.spatial_positions), key=lambda n: -full[n].sum())
    chosen = set(ranked[: rules.spatial_classes])
    max_images = rules.spatial_references * rules.spatial_rows
    for cell in np.flatnonzero(pair_counts).tolist():
        target, count = cell // four, int(pair_counts[cell])
        if not full[target, cell % four]:
            rule = f"target class in a position without {requirement}"
        elif full[target].sum() < rules.spatial_positions:
            rule = f"target class in fewer than {rules.spatial_positions} positions"
        elif target not in chosen:
            rule = f"more than {rules.spatial_classes} target classes of a dataset"
        else:
            rule, count = f"more than {max_images} images of a target class in a position", count - max_images
        if count:
            context.ledger.drop(NAME, source, rule, ", ".join(pair_table.name(cell)), count)
    return [target * four + n for target in sorted(chosen) for n in range(four) if full[target, n]]


def _draw_candidates(
    cell: int,
    images_by_reference: Mapping[int, list[int]],
    pair_table: PairTable,
    candidates: Sequence[Candidate],
    used: Counter[Hashable],
    context: CurationContext,
) -> Iterator[Candidate]:
    """Images of a target class in a position, with the first reference classes of `images_by_reference`."""
    rules, (target, position) = context.rules, pair_table.name(cell)
    rng = context.rng(NAME, "drawn", candidates[0].origin.source, target, position)
    for number in list(images_by_reference)[: rules.spatial_references]:
        reference = pair_table.labels[number]
        for image in least_used(images_by_reference[number], rules.spatial_rows, lambda n: n, used, rng):
            candidate = candidates[image]
            truth = {
                "red": name_of(candidate.origin.source, target, context),
                "blue": name_of(candidate.origin.source, reference, context),
                "red_box": _box(candidate, target),
                "blue_box": _box(candidate, reference),
            }
            yield Candidate(candidate.origin, f"{target} / {reference}", position, truth)


def _box(candidate: Candidate, label: str) -> Box:
    begin = 4 * candidate.truth["labels"].index(label)
    x1, y1, x2, y2 = candidate.truth["boxes"][begin : begin + 4]
    return x1, y1, x2, y2


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item about the position of the red box relative to the blue one."""
    truth = candidate.truth
    return spatial_item(item_source, truth["red"], truth["blue"], truth["red_box"], truth["blue_box"])


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
