"""Comparisons of two pairs of categories: which pair is harder to tell apart (appendix C.3).

The paper's 40 questions have two options each, and each option shows representative images of two categories. Here
the options are pairs from Category Building; `measures` has the distance of each.
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
from snellen.suites.combo.published import PAPER_COMPARISONS
from snellen.suites.combo.questions import categories

COLUMNS = 2
"""Columns of the sheet of one category: the paper's four images are 2 x 2 (appendix D.3)."""


class CategoryPair(NamedTuple):
    """A pair of categories of a set: the items about it, its distance, and the four examples of each category."""

    name: str
    item_ids: tuple[str, ...]
    distance: float
    images: tuple[tuple[Media, ...], ...]


def category_pairs(items: ItemSet) -> list[CategoryPair]:
    """The pairs of categories in a set. Raises SnellenError for fewer than two."""
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
            f"{items.root}: {len(pairs)} pairs of categories, but comparisons need two; build "
            f"{SUITE}/{categories.TASK} with --n 4 or more"
        )
    return pairs


def choose_comparisons(
    pairs: list[CategoryPair], count: int | None, rng: np.random.Generator
) -> list[tuple[CategoryPair, CategoryPair]]:
    """`count` different comparisons that use pairs as evenly as possible; without a count, 40 or all possible ones.

    The order within a comparison is random. Pairs at the same distance are not compared. Raises SnellenError if fewer
    comparisons are possible.
    """
    candidates = [two for two in combinations(pairs, 2) if two[0].distance != two[1].distance]
    wanted = min(PAPER_COMPARISONS, len(candidates)) if count is None else count
    if wanted > len(candidates):
        raise SnellenError(
            f"{SUITE}: {len(pairs)} pairs of categories give {len(candidates)} comparisons, not {wanted}; build a "
            "larger set, or request fewer"
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
    """One item per comparison; if `media` is given, the examples of a category are combined into one image there."""
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
