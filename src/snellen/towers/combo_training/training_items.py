"""Training items of Pattern Perception and Category Building about objects that a set does not test.

The paper's LLaVA was trained on 33,656 descriptions and 40,000 task-specific question-answer pairs (appendix E). Images
are shared: descriptions are of random objects, questions on patterns use the same images, and categories use existing
images of their objects before new ones are rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.seeds import seed_of, stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.scenes import all_composites, composite
from snellen.suites.combo.difficulty import packaged_features
from snellen.suites.combo.generated.objects import VIEWS
from snellen.suites.combo.items import STREAMS, SUITE
from snellen.suites.combo.questions import categories, perception
from snellen.suites.combo.questions.categories import OBJECTS_A_RULE, Pair, Rule
from snellen.towers.combo_training.objects import (
    Exclusion,
    Rendering,
    draw_images,
    draw_objects,
    refuse_overlap,
    views_of,
)

PAIRS_A_ROUND = 60
"""Pairs of categories chosen at a time."""
CONDITIONS: Mapping[str, str] = {
    perception.TASK: "samples=1,questions=one",
    categories.TASK: "sheet=single,layout=images-first",
}
"""Conditions in which a question has one image before its words, as in LLaVA's files."""

ObjectView: TypeAlias = tuple[int, int]
Renders: TypeAlias = Mapping[ObjectView, tuple[Media, Mapping[str, str]]]
"""Stored images by object and view, each with the appearance of its object."""


@dataclass(frozen=True)
class TrainingCounts:
    """Numbers of descriptions, and of questions of each task."""

    captions: int
    patterns: int
    categories: int


@dataclass(frozen=True)
class ViewPlan:
    """Views for descriptions and pattern questions, pairs of categories, and views of the objects of their rules."""

    views: tuple[ObjectView, ...]
    pairs: tuple[Pair, ...]
    rules: Mapping[Rule, tuple[ObjectView, ...]]


def design(items: ItemSet, counts: TrainingCounts, exclusion: Exclusion, seed: int) -> ViewPlan:
    """Choose all images from the seed alone, excluding tested objects and tested pairs of categories."""
    questions = len(perception.QUESTIONS) - 1  # the pivot is not asked
    views = tuple(_views(max(counts.captions, -(-counts.patterns // questions)), exclusion, seed))
    pairs = tuple(_pairs(-(-counts.categories // categories.QUERIES_A_PAIR), _tested_pairs(items), exclusion, seed))
    rules = dict.fromkeys(rule for pair in pairs for rule in (pair.first, pair.second))
    view_by_object = dict(reversed(views))  # the first view of each object
    return ViewPlan(views, pairs, {rule: _members(rule, view_by_object, exclusion, seed) for rule in rules})


def _views(count: int, exclusion: Exclusion, seed: int) -> Iterator[ObjectView]:
    """All objects in one view, then in the next, until there are enough."""
    eligible = len(_eligible(exclusion))
    objects = draw_objects(min(count, eligible), exclusion, seed) if count else []
    rounds = -(-count // max(1, len(objects)))
    if rounds > VIEWS:
        raise SnellenError(f"{count} images: {eligible} objects have {VIEWS} views each; choose fewer")
    views = {index: views_of(index, rounds, seed) for index in objects}
    yield from [(index, views[index][k]) for k in range(rounds) for index in objects][:count]


def _eligible(exclusion: Exclusion) -> list[int]:
    return [index for index in range(len(all_composites())) if index not in exclusion.objects]


def _tested_pairs(items: ItemSet) -> set[frozenset[str]]:
    rules = [item.provenance.get("rules") for item in items.task(categories.TASK)]
    return {frozenset(pair.values()) for pair in rules if pair}


def _pairs(count: int, tested_pairs: set[frozenset[str]], exclusion: Exclusion, seed: int) -> Iterator[Pair]:
    """`count` untested pairs of categories with enough objects each, chosen round by round."""
    eligible = np.zeros(len(all_composites()), bool)
    eligible[_eligible(exclusion)] = True
    number = 0
    while count > 0:
        round_seed = seed_of(SUITE, STREAMS, seed, "references", "pairs", number)
        pair_count = min(count, PAIRS_A_ROUND)
        pairs = categories.choose_pairs(pair_count, round_seed, packaged_features())
        number += 1
        for pair in pairs:
            large = all((rule.mask() & eligible).sum() >= OBJECTS_A_RULE for rule in (pair.first, pair.second))
            if large and frozenset((pair.first.text(), pair.second.text())) not in tested_pairs:
                count -= 1
                yield pair


def _members(rule: Rule, view_by_object: Mapping[int, int], exclusion: Exclusion, seed: int) -> tuple[ObjectView, ...]:
    """Objects that follow a rule, those with an existing image first."""
    members = [int(k) for k in np.flatnonzero(rule.mask()) if int(k) not in exclusion.objects]
    order = [members[int(k)] for k in stream(SUITE, STREAMS, seed, "references", rule.text()).permutation(len(members))]
    order.sort(key=lambda index: index not in view_by_object)
    return tuple((index, view_by_object.get(index, views_of(index, 1, seed)[0])) for index in order[:OBJECTS_A_RULE])


def render_design(plan: ViewPlan, exclusion: Exclusion, seed: int, rendering: Rendering, media: MediaFolder) -> Renders:
    """All images of a design, stored in `media`. Raises SnellenError if any is tested."""
    views = list(dict.fromkeys([*plan.views, *(view for views in plan.rules.values() for view in views)]))
    images = draw_images(views, seed, rendering)
    refuse_overlap(images, exclusion)
    return {(p.index, p.view): (media.add_file(p.path), composite(p.index).dimensions()) for p in images}


def pattern_items(plan: ViewPlan, count: int, renders: Renders, seed: int) -> list[Item]:
    """Pattern questions, drawn from all possible ones about the images."""
    items = [
        item
        for index, view in plan.views
        for item in perception.items_about(
            f"learned-{index:04d}-{view:02d}",
            *renders[index, view],
            "train",
            cluster=f"learned-{index:04d}",
            provenance={"seed": seed, "object": index, "view": view},
        )
        if item.factors["question"] != "pivot"
    ]
    order = stream(SUITE, STREAMS, seed, "references", "patterns").permutation(len(items))
    return [items[int(k)] for k in order[:count]]


def training_items(plan: ViewPlan, counts: TrainingCounts, renders: Renders, seed: int) -> dict[str, list[Item]]:
    """The items of a design by task; empty tasks are left out."""
    by_task = {
        perception.TASK: pattern_items(plan, counts.patterns, renders, seed),
        categories.TASK: category_items(plan, counts.categories, renders, seed),
    }
    return {task: items for task, items in by_task.items() if items}


def category_items(plan: ViewPlan, count: int, renders: Renders, seed: int) -> list[Item]:
    """Training questions on the pairs of categories."""
    by_rule = {rule: [renders[view] for view in views] for rule, views in plan.rules.items()}
    items = [
        replace(item, item_id=f"learned-{item.item_id}", split="train")
        for n, pair in enumerate(plan.pairs)
        for item in categories.pair_items(n, pair, by_rule, seed_of("references", seed), {"seed": seed})
    ]
    return items[:count]
