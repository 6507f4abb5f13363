"""The `generated` recipe: one pool of images, divided differently by every episode.

All dimensions of an image vary independently (`concepts`, `block_images`). So an image is an example of a class at
every concept level, and only the dimensions of the tested level distinguish the classes of an episode. A query stands
nowhere else in the set: the first `n` images of the pool are the queries of `n` episodes, the others are demos, five
for each class of the largest episode at least (`demo_count`), and are shown by several episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias, TypeVar

import numpy as np

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.least_px import least_px_notes
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.render import image_seconds, render_for_recipe, size_share
from snellen.stimuli.scenes import COLOURS, MATERIAL_VARIANTS, MATERIALS, Composite, RenderSpec
from snellen.stimuli.scenes import Appearance as Surface
from snellen.stimuli.scenes.composites import joints
from snellen.stimuli.scenes.model import COLOURED, Material
from snellen.suites.vfm_bench.generated import block_images, concepts
from snellen.suites.vfm_bench.generated.concepts import FAMILIES, ConceptFamily, Values
from snellen.suites.vfm_bench.items import (
    GENERATED,
    LEVELS,
    SHOTS,
    STREAMS,
    SUITE,
    TASK,
    Episode,
    EpisodeClass,
    Level,
    episode_item,
    key,
)
from snellen.suites.vfm_bench.transforms import with_mean_regions

CHECKUP_N, QUICK_N, FULL_N = 12, 4, 4200
"""Numbers of items; the paper has 4,200 (section 3.2)."""
MIN_WAYS, MAX_WAYS = 2, 10
MAX_IMAGES = 400
"""Maximum size of a pool, unless there are many queries."""
SECONDS_A_IMAGE, BYTES_A_IMAGE = {"fast": 0.94, "good": 1.45, "reference": 1.45}, 75_000
"""CPU time per image by quality on an idle machine, and disk space, for plans (`python bench/render.py --suites`)."""
T = TypeVar("T")
Classes: TypeAlias = Mapping[Values, list[int]]
"""Classes of a family, with the numbers of their images."""


@dataclass(frozen=True)
class EpisodePlan:
    """One episode: a family, its classes in the order of the options, the index of the true one, and its images.

    Images are numbers in the pool; `demos` are five of each class.
    """

    family: ConceptFamily
    classes: tuple[Values, ...]
    truth: int
    query: int
    demos: tuple[tuple[int, ...], ...]

    @property
    def concept(self) -> tuple[str, Values]:
        """The true class: the handle of its family, and its values."""
        return self.family.handle, self.classes[self.truth]


@dataclass(frozen=True)
class Design:
    """The images needed and the episodes about them, determined by the seed alone."""

    drafts: tuple[block_images.Draft, ...]
    episodes: tuple[EpisodePlan, ...]

    @cached_property
    def appearances(self) -> tuple[Mapping[str, str], ...]:
        """The appearance of every image, by dimension."""
        return tuple(draft.appearance() for draft in self.drafts)


def count_of(options: BuildOptions) -> int:
    """The number of items. Raises SnellenError for zero, and for unknown tasks."""
    if unknown := [task for task in options.tasks if task != TASK]:
        raise SnellenError(f"{SUITE} has no task {unknown[0]!r}; there is {TASK}")
    return FULL_N if options.full else options.test_items(SUITE, CHECKUP_N, QUICK_N)


def max_ways(n: int) -> int:
    """The largest number of classes per episode in a set of `n` items, smaller in small sets."""
    return min(MAX_WAYS, max(4, n + 1))


def demo_count(n: int) -> int:
    """The number of images that are demos in a set of `n` items: at least five per class."""
    return max(SHOTS * max_ways(n), min(2 * n, MAX_IMAGES - n), n // 4)


def design(options: BuildOptions) -> Design:
    """Choose all images and episodes."""
    n, seed = count_of(options), options.seed
    drafts = draw_pool(n, demo_count(n), seed)
    return Design(drafts, draw_episodes(n, [draft.appearance() for draft in drafts], seed))


def draw_pool(queries: int, demos: int, seed: int) -> tuple[block_images.Draft, ...]:
    """Images whose dimensions vary independently, with all values (or combinations of values) equally frequent.

    First the queries, then the demos. The numbers of joints, kinds of part, patterns and lights are limited so that
    each has five demos.
    """
    rng = stream(SUITE, STREAMS, seed, "pool")

    def dealt(values: Sequence[T]) -> list[T]:
        max_values = min(len(values), demos // SHOTS)
        chosen = [values[int(k)] for k in rng.permutation(len(values))[:max_values]]
        return [chosen[int(k) % max_values] for count in (queries, demos) for k in rng.permutation(count)]

    dimensions = zip(
        dealt(tuple(joints())),
        dealt(tuple(product((*COLOURS, "glass", "wood"), block_images.SIZES))),
        dealt(MATERIALS),
        dealt(tuple(product(concepts.ARRANGEMENTS, concepts.BEATS))),
        dealt(tuple(product(concepts.LIGHTS, concepts.TINTS))),
        dealt(tuple(product(concepts.TILTS, concepts.HEIGHTS))),
        dealt(tuple(block_images.FLOORS)),
        strict=True,
    )
    drafts = []
    for joint, (surface, size), kind, (arrangement, beat), (light, tint), (tilt, height), floor in dimensions:
        first, anchor, second, pivot = joint
        part = _any([variant for variant in MATERIAL_VARIANTS if surface in (variant.colour, variant.kind)], rng)
        body = _body(kind, part, rng)
        block = Composite(
            Surface(first, body.kind, body.colour), anchor, Surface(second, part.kind, part.colour), pivot
        )
        balls = _any(block_images.BALLS, rng)[: 1 if beat == "one" else 2]
        drafts.append(block_images.Draft(block, size, arrangement, balls, light, tint, tilt, height, floor))
    return tuple(drafts)


def _body(kind: str, part_material: Material, rng: np.random.Generator) -> Material:
    """A material for the larger solid that contrasts with the part: never glass on glass, nor the same colour."""
    kinds = (kind,) if (kind != part_material.kind or kind in COLOURED) else COLOURED
    return _any(
        [
            variant
            for variant in MATERIAL_VARIANTS
            if variant.kind in kinds and variant.colour != (part_material.colour or "")
        ],
        rng,
    )


def _any(values: Sequence[T], rng: np.random.Generator) -> T:
    return values[int(rng.integers(len(values)))]


def draw_episodes(n: int, appearances: Sequence[Mapping[str, str]], seed: int) -> tuple[EpisodePlan, ...]:
    """`n` episodes about the first `n` images: levels in turn, numbers of classes spread evenly."""
    classes = {family.handle: classes_of(family, appearances, n) for family in FAMILIES}
    unasked, used = {f.handle: _by_class(f, appearances, range(n), classes[f.handle]) for f in FAMILIES}, Counter[str]()
    way_counts = [int(w) for turn in range(n) for w in _way_counts(turn, n, seed)][:n]
    episode_plans = []
    for k in range(n):
        rng = stream(SUITE, STREAMS, seed, "episode", k)
        family = _family(LEVELS[k % len(LEVELS)], way_counts[k], classes, unasked, used, rng)
        episode_plan = _draw_episode(family, way_counts[k], classes[family.handle], unasked[family.handle], rng)
        for numbers in (numbers for by_class in unasked.values() for numbers in by_class.values()):
            if episode_plan.query in numbers:
                numbers.remove(episode_plan.query)
        used[family.handle] += 1
        episode_plans.append(episode_plan)
    return tuple(episode_plans)


def _way_counts(turn: int, n: int, seed: int) -> Sequence[int]:
    """Every number of classes once, in a new random order for each turn."""
    lowest, highest = MIN_WAYS, max_ways(n)
    return [lowest + int(k) for k in stream(SUITE, STREAMS, seed, "ways", turn).permutation(highest - lowest + 1)]


def classes_of(family: ConceptFamily, appearances: Sequence[Mapping[str, str]], queries: int) -> Classes:
    """The classes of a family that have enough demos, with their numbers; the first `queries` images are no demos."""
    demos = _by_class(family, appearances, range(queries, len(appearances)))
    return {values: numbers for values, numbers in sorted(demos.items()) if len(numbers) >= SHOTS}


def _by_class(
    family: ConceptFamily,
    appearances: Sequence[Mapping[str, str]],
    numbers: Iterable[int],
    among: Container[Values] | None = None,
) -> Classes:
    """The images with these numbers by their classes in a family: all classes, or those in `among`."""
    by_class: dict[Values, list[int]] = {}
    for number in numbers:
        values = family.class_of(appearances[number])
        if values is not None and (among is None or values in among):
            by_class.setdefault(values, []).append(number)
    return by_class


def _family(
    level: Level,
    way_count: int,
    classes: Mapping[str, Classes],
    unasked: Mapping[str, Classes],
    used: Counter[str],
    rng: np.random.Generator,
) -> ConceptFamily:
    """A least used family of the level, among those with enough classes and an unused query."""
    open_families = [family for family in FAMILIES if family.level == level and any(unasked[family.handle].values())]
    enough = min(way_count, max(len(classes[family.handle]) for family in open_families))
    # If no family has that many classes, those with the most are used.
    able = [family for family in open_families if len(classes[family.handle]) >= enough]
    least_used = [family for family in able if used[family.handle] == min(used[other.handle] for other in able)]
    return _any(least_used, rng)


def _draw_episode(
    family: ConceptFamily, way_count: int, classes: Classes, unasked: Classes, rng: np.random.Generator
) -> EpisodePlan:
    """An episode with `way_count` classes, or as many as the family has, about an image in `unasked`."""
    truth = _any(sorted(values for values, numbers in unasked.items() if numbers), rng)
    others = [values for values in classes if values != truth]
    chosen = [truth, *(others[int(k)] for k in rng.permutation(len(others))[: way_count - 1])]
    order = tuple(chosen[int(k)] for k in rng.permutation(len(chosen)))
    demos = tuple(tuple(int(k) for k in rng.permutation(classes[values])[:SHOTS]) for values in order)
    return EpisodePlan(family, order, order.index(truth), _any(unasked[truth], rng), demos)


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Count, seed, size, renderer."""
        return {"counts": {TASK: count_of(options)}, **options.rendering()}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images, concepts, seconds and bytes."""
        plan = design(options)
        return {
            "suite": SUITE,
            "images": len(plan.drafts),
            "concepts": len({episode_plan.concept for episode_plan in plan.episodes}),
            "items": {TASK: len(plan.episodes)},
            "seconds": round(len(plan.drafts) * image_seconds(SECONDS_A_IMAGE, options) / options.workers),
            "bytes": round(len(plan.drafts) * BYTES_A_IMAGE * size_share(options)),
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render the images that the home folder lacks, then write the items."""
        refuse_existing(options.out)
        plan = design(options)
        media = MediaFolder(options.out / "media")
        specs = [
            block_images.image_spec(draft, k, options.seed, options.size_px) for k, draft in enumerate(plan.drafts)
        ]
        renders, provenance = render_for_recipe(specs, options)
        images = [media.add_file(*render) for render in renders]
        items = with_mean_regions(list(episode_items(plan, specs, images, options.seed)))
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            provenance=provenance,
            notes=[
                "not covered of the paper: photographs of its 31 datasets; concepts are rules on composite blocks, "
                "patterns, lights and views, one pool of images for all",
                *options.size_notes(),
                *least_px_notes(items),
            ],
            image_recipes=media.recipes,
        )


def episode_items(plan: Design, specs: Sequence[RenderSpec], images: Sequence[Media], seed: int) -> list[Item]:
    """The items, with items and concepts numbered in an order drawn from the seed."""
    numbers = stream(SUITE, STREAMS, seed, "numbers").permutation(len(plan.episodes))
    concept_number = _concept_numbers(plan, seed)
    items = []
    for index, episode_plan in enumerate(plan.episodes):
        cluster = f"generated/concept-{concept_number[episode_plan.concept]:04d}"
        items.append(_item(f"{int(numbers[index]):04d}", cluster, episode_plan, plan, specs, images, seed))
    return sorted(items, key=lambda item: item.item_id)


def _concept_numbers(plan: Design, seed: int) -> dict[tuple[str, Values], int]:
    """A number for every concept, which reveals nothing about it."""
    all_concepts = sorted({(episode.family.handle, values) for episode in plan.episodes for values in episode.classes})
    numbers = stream(SUITE, STREAMS, seed, "concepts").permutation(len(all_concepts))
    return {concept: int(number) for concept, number in zip(all_concepts, numbers, strict=True)}


def _item(
    handle: str,
    cluster: str,
    episode_plan: EpisodePlan,
    plan: Design,
    specs: Sequence[RenderSpec],
    images: Sequence[Media],
    seed: int,
) -> Item:
    family = episode_plan.family
    claims = {key(index): family.claims(values) for index, values in enumerate(episode_plan.classes)}
    classes = tuple(_class(episode_plan, index, plan, images) for index in range(len(episode_plan.classes)))
    numbers = (episode_plan.query, *(number for demos in episode_plan.demos for number in demos))
    episode = Episode(
        handle,
        images[episode_plan.query],
        classes,
        episode_plan.truth,
        GENERATED,
        family.level,
        family.scene,
        "generated",
        cluster,
        box=block_images.region_box(specs[episode_plan.query], family.region) if family.region else None,
        latent={
            "shows": {images[number].sha256: dict(plan.appearances[number]) for number in numbers},
            "claims": claims,
            "learned": True,
            "named": {episode_class.name: claim for episode_class, claim in zip(classes, claims.values(), strict=True)},
        },
        factors={"family": family.handle},
        provenance={
            "source": "generated",
            "seed": seed,
            "image": episode_plan.query,
            "rule": claims[key(episode_plan.truth)],
        },
    )
    item = episode_item(episode)
    return replace(item, requires=concepts.required(plan.appearances[episode_plan.query], str(item.answer), claims))


def _class(episode_plan: EpisodePlan, index: int, plan: Design, images: Sequence[Media]) -> EpisodeClass:
    """The class at an index of an episode."""
    family, values, demos = episode_plan.family, episode_plan.classes[index], episode_plan.demos[index]
    return EpisodeClass(
        family.name(family.value_by_dimension(values)),
        tuple(images[number] for number in demos),
        tuple(concepts.caption(plan.appearances[number]) for number in demos),
        family.definition(values),
    )
