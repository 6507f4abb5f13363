"""Comparisons of two pairs of categories: which pair is harder to tell apart (appendix C.3).

The paper's 40 questions have two options each, and each option shows representative images of two categories. Here
they are the pairs that Category Building asks about, with the distance of either in `measures`.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Montage, Option
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.curation.results import DECISION
from snellen.curation.steps import step_item, table_provenance
from snellen.stimuli.transforms.montage import lay_out
from snellen.suites.combo import prompts
from snellen.suites.combo.items import STREAMS, SUITE
from snellen.suites.combo.questions import categories

PAPER_COUNT = 40
"""Comparisons of one participant (appendix C.3)."""
COLUMNS = 2
"""Of the images of one category, laid out as one: the paper's four are 2 x 2 (appendix D.3)."""


class CategoryPair(NamedTuple):
    """A pair of categories of a set: the items about it, its distance, and the four examples of either category."""

    name: str
    item_ids: tuple[str, ...]
    distance: float
    images: tuple[tuple[Media, ...], ...]


def category_pairs(items: ItemSet) -> list[CategoryPair]:
    """The pairs that a set asks about. Raises SnellenError for fewer than two."""
    groups: dict[str, list[Item]] = {}
    for item in items.task(categories.TASK):
        groups.setdefault(item.group_id, []).append(item)
    pairs = []
    for name, (item, *others) in groups.items():
        images = tuple(tuple(m for demo in item.support if demo.answer == key for m in demo.media) for key in "AB")
        ids = tuple(member.item_id for member in (item, *others))
        pairs.append(CategoryPair(name, ids, item.measures["distance"], images))
    if len(pairs) < 2:
        raise SnellenError(
            f"{items.root}: {len(pairs)} pairs of categories, and two are compared; build {SUITE}/{categories.TASK} "
            "with --n 4 or more"
        )
    return pairs


def choose_comparisons(
    pairs: list[CategoryPair], count: int | None, rng: np.random.Generator
) -> list[tuple[CategoryPair, CategoryPair]]:
    """`count` comparisons, none twice and no pair oftener than need be; without a count 40, or all there are.

    Which pair comes first is drawn. Pairs at the same distance are not compared. Raises SnellenError where there are
    fewer comparisons.
    """
    candidates = [two for two in combinations(pairs, 2) if two[0].distance != two[1].distance]
    wanted = min(PAPER_COUNT, len(candidates)) if count is None else count
    if wanted > len(candidates):
        raise SnellenError(
            f"{SUITE}: {len(pairs)} pairs of categories make {len(candidates)} comparisons, not {wanted}; build a "
            "larger set, or ask for fewer"
        )
    remaining = [candidates[int(k)] for k in rng.permutation(len(candidates))]
    uses, chosen = dict[str, int](), list[tuple[CategoryPair, CategoryPair]]()
    while len(chosen) < wanted:
        best = min(remaining, key=lambda two: sum(uses.get(pair.name, 0) for pair in two))
        remaining.remove(best)
        for pair in best:
            uses[pair.name] = uses.get(pair.name, 0) + 1
        chosen.append(best if rng.random() < 0.5 else (best[1], best[0]))
    return chosen


def comparison_items(items: ItemSet, count: int | None, seed: int, media: MediaFolder | None) -> list[Item]:
    """One item a comparison; the examples of a category are laid out as one image in `media`, where it is given."""
    rng = stream(SUITE, STREAMS, seed, "pair comparisons")
    comparisons = choose_comparisons(category_pairs(items), count, rng)
    return [_item(n, two, items, media) for n, two in enumerate(comparisons)]


def _item(n: int, two: tuple[CategoryPair, CategoryPair], items: ItemSet, media: MediaFolder | None) -> Item:
    options = []
    for key, pair in zip(("first", "second"), two, strict=True):
        pages = () if media is None else tuple(lay_out(Montage(p, COLUMNS), media) for p in pair.images)
        options.append(Option(key, "", pages))
    return step_item(
        DECISION,
        f"comparison-{n:03d}",
        prompts.COMPARISON_QUESTION,
        (),
        "choice",
        options=tuple(options),
        measures={option.key: pair.distance for option, pair in zip(options, two, strict=True)},
        provenance=table_provenance(items, [name for pair in two for name in pair.item_ids], "pair-comparison")
        | {"pairs": [pair.name for pair in two]},
    )
