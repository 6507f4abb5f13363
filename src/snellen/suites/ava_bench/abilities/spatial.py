"""Spatial reasoning: the position of one thing relative to another (appendix A.2).

Images of LVIS and Objects365 have millions of such pairs. `find` keeps the things of an image, and `select` computes
all pairs at once; only chosen pairs become candidates.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Item
from snellen.curation.draws import grouped, least_used, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.suites.ava_bench.curated.completeness import completeness
from snellen.suites.ava_bench.curated.depths import EXCLUDED, ROOMS, excluded, name_of, recording
from snellen.suites.ava_bench.items import ItemSource, box_area, checked_box
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import read_first_token
from snellen.suites.ava_bench.scenes.scenes import clear
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    ItemSlot,
    TabletopQuestions,
    TabletopTruth,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import choice_protocols

NAME = "spatial"
POSITIONS = ("Left above", "Left below", "Right above", "Right below")
"""Section A.2; section 3.2.3 writes top-left, top-right, bottom-left, bottom-right."""
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


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Pairs of single things (appendix A.2), so that the question can also be asked without boxes."""
    return [
        ((red, blue), {"position": relative_position(red.box, blue.box), "red": red.kind, "blue": blue.kind})
        for red, blue in permutations(table.singles, 2)
        if clear(red.box, blue.box)
    ]


def _tabletop_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
    sizes = {"position": len(POSITIONS), "red": len(KINDS), "blue": len(KINDS)}
    pairs = evenly_chosen(NAME, turns, _tabletop_candidates, sizes, rng)
    for turn, (red, blue) in zip(turns, pairs, strict=True):
        yield spatial_item(turn.source, red.kind, blue.kind, red.box, blue.box)


# Items


def spatial_item(
    item_source: ItemSource, red: str, blue: str, red_box: Sequence[float], blue_box: Sequence[float]
) -> Item:
    """An item about the position of the red box (the target) relative to the blue one (the reference)."""
    boxes = {"red": list(checked_box(item_source, red_box)), "blue": list(checked_box(item_source, blue_box))}
    answer = position(item_source, red_box, blue_box)
    return SPATIAL.item(
        item_source,
        SPATIAL.question.format(red=red, blue=blue),
        answer,
        POSITIONS,
        regions=boxes,
        factors={"thing": red, "reference": blue, "position": answer},
    )


def position(item_source: ItemSource, red: Sequence[float], blue: Sequence[float]) -> str:
    """The position of the red box relative to the blue one, one of `POSITIONS`.

    Raises SnellenError for boxes that share a column or row of pixels, which the paper leaves out (appendix A.2).
    """
    (rx1, ry1, rx2, ry2), (bx1, by1, bx2, by2) = red, blue
    if (rx1 < bx2 and bx1 < rx2) or (ry1 < by2 and by1 < ry2):
        raise SnellenError(
            f"ava-bench item {item_source.handle}: boxes {list(red)} and {list(blue)} share columns or rows, so none "
            f"of the four positions is right; leave the pair out"
        )
    return relative_position(red, blue)


def relative_position(red: Sequence[float], blue: Sequence[float]) -> str:
    """The position of a red box that shares neither rows nor columns of pixels with the blue one."""
    return f"{'Left' if red[2] <= blue[0] else 'Right'} {'above' if red[3] <= blue[1] else 'below'}"


def _by_boxes_only(item: Item) -> str | None:
    """The position of the centre of the red box relative to that of the blue one; None if no box is known."""
    if not {"red", "blue"} <= item.regions.keys():
        return None
    red, blue = (item.regions[name] for name in ("red", "blue"))
    is_left, is_above = red[0] + red[2] < blue[0] + blue[2], red[1] + red[3] < blue[1] + blue[3]
    return f"{'Left' if is_left else 'Right'} {'above' if is_above else 'below'}"


SPATIAL = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["spatial"],
    options_wording=OPTION_LISTS["spatial"],
    option_labels="letters",
    requires=("layout",),
    protocols=choice_protocols(read_first_token),
    subgroups={"source": (), "position": POSITIONS},
    balanced_by=("thing", "reference", "answer"),
    boxes=("red", "blue"),
    is_named=lambda item: True,  # things are the only ones of their class in an image (appendix A.2)
    boxes_reveal_answer=True,
    boxes_only=_by_boxes_only,
    cheap_sight="a relation needs the positions of two objects",
    meaning="the relative position of two objects in the image (left, right, above, below)",
    curation=CURATION,
    tabletop=TabletopQuestions(make_items=_tabletop_items),
    released=ReleasedForm(folder="Spatial", levels=level_of_answer("position")),
)
