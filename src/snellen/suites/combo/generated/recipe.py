"""The `generated` recipe: every image is rendered here, every truth is exact.

All tasks share one pool of images. For `n` test items a task it holds at most max(120, 8 n) images: the objects
that Pattern Perception asks about, those of the natural categories, five of each rule-category (which, with what is
left of the budget, are also the train split of Pattern Perception, object-disjoint from its test split).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from snellen.compute import Progress
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media, Split
from snellen.core.least_px import least_px_notes, with_least_px
from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import BuildOptions, Settings
from snellen.stimuli.render import (
    RenderSettings,
    image_recipe,
    image_seconds,
    render_images,
    render_settings,
    renderer_info,
    size_share,
)
from snellen.stimuli.scenes import RenderSpec, all_composites
from snellen.stimuli.scenes.extents import least_extent_px
from snellen.suites.combo.difficulty import (
    LEVELS,
    Features,
    other_features,
    packaged_features,
    rank_correlation,
    read_features,
    separation,
)
from snellen.suites.combo.generated.objects import VIEWS, natural_spec, object_spec, view_of
from snellen.suites.combo.items import STREAMS, SUITE
from snellen.suites.combo.questions import alignment, categories, perception
from snellen.suites.combo.questions.categories import OBJECTS_A_RULE, Pair, Rule
from snellen.suites.combo.space import table
from snellen.suites.combo.tasks import TASKS

CHECKUP_N, QUICK_N = 24, 8
OBJECTS_A_BATCH = 64
LEVEL_CHOICE = 300
"""Objects among which the next one is chosen where answers are to be level."""
INPUTS = ("features",)
SETTINGS: Settings = {"distractors": alignment.DISTRACTORS}
PAPER_COUNTS = {
    perception.TASK: perception.PAPER_COUNT,
    **{task.id: alignment.PAPER_COUNT for task in alignment.TASKS},
    categories.TASK: categories.PAPER_COUNT,
}
SECONDS_A_IMAGE, BYTES_A_IMAGE = {"fast": 0.36, "good": 0.70, "reference": 1.3}, 115_000
"""CPU time of one image by quality, when quiet, and its disk, for plans (`python bench/render.py --suites`)."""


@dataclass(frozen=True)
class Design:
    """Which images are needed, and for what. Objects are indices into `all_composites`, with a view each."""

    counts: Mapping[str, int]
    test: tuple[tuple[int, int], ...]
    train: tuple[tuple[int, int], ...]
    natural: tuple[tuple[str, int], ...]
    rules: Mapping[Rule, tuple[tuple[int, int], ...]]
    pairs: tuple[Pair, ...]
    distractors: str

    def objects(self) -> list[tuple[int, int]]:
        """Every (object, view) once."""
        of_rules = [view for views in self.rules.values() for view in views]
        return list(dict.fromkeys([*self.test, *self.train, *of_rules]))

    def images(self) -> int:
        """How many images are drawn."""
        return len(self.objects()) + len(self.natural)


def max_images(n: int) -> int:
    """The most images a set of `n` test items a task may take."""
    return max(120, 8 * n)


def design(options: BuildOptions) -> Design:
    """Decide every image from the seed alone."""
    counts, n = _counts(options), _n(options)
    limit = len(all_composites()) * VIEWS if options.full else max_images(n)
    natural = _natural(counts, options.seed)
    test = _test_objects(counts[perception.TASK], options)
    tested = {index for index, _ in test}
    # The budget goes first to what the tasks ask about; training takes what is left, so that it never costs an item.
    pairs = choose_pairs(counts[categories.TASK], options.seed, features_of(options))
    rules = _objects_by_rule(pairs, options.seed, tested)
    used = len(natural) + len(test) + len({view for views in rules.values() for view in views})
    budget = min(limit - used, 3 * n if options.quick else limit) if counts[perception.TASK] else 0
    train = _train_objects(max(budget, 0), options.seed, tested, rules)
    distractors = options.setting("distractors", SETTINGS)
    return Design(counts, test, train, natural, rules, tuple(pairs), distractors)


def _n(options: BuildOptions) -> int:
    return options.test_items(SUITE, CHECKUP_N, QUICK_N)


def _counts(options: BuildOptions) -> dict[str, int]:
    """Test items a task (objects for Pattern Perception)."""
    tasks, n = options.tasks or TASKS, _n(options)
    if unknown := [task for task in tasks if task not in TASKS]:
        raise SnellenError(f"combo has no task {unknown[0]!r}; there are {', '.join(TASKS)}")
    return {task: (PAPER_COUNTS[task] if options.full else n) if task in tasks else 0 for task in TASKS}


def _natural(counts: Mapping[str, int], seed: int) -> tuple[tuple[str, int], ...]:
    """An image of every category, and of some as many more as it takes to show none twice in img2text."""
    count = max(counts[alignment.IMG2TEXT], counts[alignment.TEXT2IMG])
    if not count:
        return ()
    uses = Counter(alignment.names_for(count, seed, alignment.IMG2TEXT))
    names = [category.name for category in alignment.natural_categories().categories]
    return tuple((name, k) for k in range(max(uses.values())) for name in names if k < max(1, uses[name]))


def _test_objects(count: int, options: BuildOptions) -> tuple[tuple[int, int], ...]:
    seed = options.seed
    order = stream(SUITE, STREAMS, seed, perception.TASK, "test").permutation(len(all_composites()))
    indices = [int(index) for index in order]
    chosen = _level_objects(indices, count) if options.balance == "answers" else indices[:count]
    return tuple((index, view_of(index, seed)) for index in chosen)


def _level_objects(order: Sequence[int], count: int) -> list[int]:
    """Objects of which every value of every dimension comes as often as any other, as far as values go together.

    One after the other that of the next `LEVEL_CHOICE` objects is taken whose values were taken least.
    """
    numbers, chosen, left = table(), list[int](), list(order)
    sizes = numbers.max(axis=0) + 1
    tally = np.zeros((numbers.shape[1], int(sizes.max())))
    while left and len(chosen) < count:
        rows = numbers[left[:LEVEL_CHOICE]]
        # A level of few is taken more often than a level of many: each dimension weighs by its size.
        uses = (tally[np.arange(rows.shape[1]), rows] * sizes).sum(axis=1)
        index = left.pop(int(np.argmin(uses)))
        tally[np.arange(rows.shape[1]), numbers[index]] += 1
        chosen.append(index)
    return chosen


def choose_pairs(count: int, seed: int, features: Features) -> list[Pair]:
    """The pairs that so many questions of Category Building are about."""
    return categories.choose_pairs(-(-count // categories.QUERIES_A_PAIR), seed, features)


def features_of(options: BuildOptions) -> Features:
    """The features that set the levels: those of `--input features=FILE`, or the package's."""
    return read_features(options.inputs["features"]) if "features" in options.inputs else packaged_features()


def _notes(plan: Design, difficulty: Mapping[str, Any]) -> list[str]:
    """What to know of the levels of Category Building."""
    if not plan.pairs:
        return []
    notes = [f"the levels of {categories.TASK} are distance by encoder:{difficulty['encoder']}"]
    ranks = [(name, rank) for name, rank in difficulty["agreement"].items() if rank is not None]
    return [*notes, *(f"by rank they agree with distance by encoder:{name} to {rank}" for name, rank in ranks)]


def _about_pairs(pairs: Sequence[Pair], features: Features) -> dict[str, Any]:
    """What the card of a set says of its levels: by whom, how many pairs depend on what, and whether others agree.

    `agreement` is Spearman's rank correlation of the pairs' distances with those by each of the package's features but
    those that set the levels; None for fewer than three pairs.
    """
    counts: dict[str, dict[str, int]] = {level: {} for level in LEVELS}
    for pair in pairs:
        counts[pair.level][pair.difference] = counts[pair.level].get(pair.difference, 0) + 1
    about: dict[str, Any] = {"encoder": features.encoder, "pairs": counts}
    others = [
        other
        for other in (packaged_features(), *other_features())
        if other.about["features_digest"] != features.about["features_digest"]
    ]
    distances = [pair.distance for pair in pairs]
    about["agreement"] = {
        other.encoder: rank_correlation(
            distances, [separation(other.values, pair.first.mask(), pair.second.mask()) for pair in pairs]
        )
        for other in others
    }
    return about


def _objects_by_rule(pairs: Sequence[Pair], seed: int, tested: set[int]) -> dict[Rule, tuple[tuple[int, int], ...]]:
    """For each rule the objects that show it.

    What Pattern Perception tests is taken only where a rule has too few other objects (at the full size, once in a
    while).
    """
    objects = {}
    for number, rule in enumerate(dict.fromkeys(rule for pair in pairs for rule in (pair.first, pair.second))):
        every = [int(k) for k in np.flatnonzero(rule.mask())]
        eligible = [k for k in every if k not in tested]
        eligible += [k for k in every if k in tested][: max(0, OBJECTS_A_RULE - len(eligible))]
        order = stream(SUITE, STREAMS, seed, categories.TASK, "objects", number).permutation(len(eligible))
        objects[rule] = tuple((eligible[k], view_of(eligible[k], seed)) for k in order[:OBJECTS_A_RULE])
    return objects


def _train_objects(
    count: int, seed: int, tested: set[int], rules: Mapping[Rule, Sequence[tuple[int, int]]]
) -> tuple[tuple[int, int], ...]:
    """The images of the rules, and random objects with what is left of the budget."""
    of_rules = list(dict.fromkeys(view for views in rules.values() for view in views if view[0] not in tested))
    used = tested | {index for index, _ in of_rules}
    order = stream(SUITE, STREAMS, seed, perception.TASK, "train").permutation(len(all_composites()))
    others = [int(index) for index in order if int(index) not in used][:count]
    return (*of_rules, *((index, view_of(index, seed)) for index in others))


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    settings: Settings = field(default_factory=lambda: SETTINGS)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, size, renderer, the natural categories, and the features that set the levels."""
        features = features_of(options)
        return {
            "counts": _counts(options),
            **options.rendering(),
            **options.balanced(),
            **options.changed(SETTINGS),
            "natural_categories": digest(alignment.natural_categories().model_dump(mode="json"), 16),
            "difficulty": [features.about["features_digest"], *features.thresholds],
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Objects, images, seconds and bytes; with `full` the paper's 190,080 images."""
        plan = design(options)
        objects = len(all_composites()) if options.full else len({index for index, _ in plan.objects()})
        images = len(all_composites()) * VIEWS if options.full else plan.images()
        return {
            "suite": SUITE,
            "objects": objects,
            "images": images,
            "natural_images": len(plan.natural),
            "items": {
                task: count * (len(perception.QUESTIONS) if task == perception.TASK else 1)
                for task, count in plan.counts.items()
            },
            "seconds": round(images * image_seconds(SECONDS_A_IMAGE, options) / options.workers),
            "bytes": round(images * BYTES_A_IMAGE * size_share(options)),
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render what the home folder lacks, then write the items."""
        refuse_existing(options.out)
        refuse_unknown(options.inputs, INPUTS, f"{SUITE} --from generated: no --input")
        plan = design(options)
        media = MediaFolder(options.out / "media")
        settings = render_settings(options)
        features = features_of(options)
        difficulty = _about_pairs(plan.pairs, features)
        renders, extents = _render(plan, options, settings, media)
        items = with_least_px(_items(plan, options.seed, renders, features.encoder), extents)
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            provenance={"render": renderer_info(settings), "difficulty": difficulty},
            notes=[*_notes(plan, difficulty), *least_px_notes(items), *options.size_notes()],
            image_recipes=media.recipes,
        )


Key: TypeAlias = tuple[int, int] | tuple[str, int]
"""An object and its view, or a natural category and the number of its image."""
Renders: TypeAlias = Mapping[Key, tuple[Media, Mapping[str, str]]]
"""Stored images, each with the appearance of its object."""


def _render(
    plan: Design, options: BuildOptions, settings: RenderSettings, media: MediaFolder
) -> tuple[Renders, dict[str, float]]:
    """Every image, and how large the smaller solid is in it, by its SHA-256.

    With `full`, all 190,080 views are rendered into the home folder too.
    """
    size, specs, appearances = options.size_px, dict[Key, RenderSpec](), dict[Key, dict[str, str]]()
    for index, view in plan.objects():
        specs[index, view] = object_spec(index, view, options.seed, size)
        appearances[index, view] = all_composites()[index].dimensions()
    by_name = {category.name: category for category in alignment.natural_categories().categories}
    for name, number in plan.natural:
        specs[name, number], appearances[name, number] = natural_spec(by_name[name], number, options.seed, size)
    renders = home() / "renders"
    with Progress("rendering", unit="images", visible=options.show_progress) as progress:
        paths = render_images(list(specs.values()), settings, renders, workers=options.workers, progress=progress)
        if options.full:
            # In batches: the scenes of all views at once would fill the memory.
            for start in range(0, len(all_composites()), OBJECTS_A_BATCH):
                batch = range(start, min(start + OBJECTS_A_BATCH, len(all_composites())))
                views = [object_spec(index, view, options.seed, size) for index in batch for view in range(VIEWS)]
                render_images(views, settings, renders, workers=options.workers, progress=progress)
    renders_by_key = {
        key: (media.add_file(path, image_recipe(spec, settings)), appearances[key])
        for (key, spec), path in zip(specs.items(), paths, strict=True)
    }
    extents = {renders_by_key[key][0].sha256: least_extent_px(spec) for key, spec in specs.items()}
    return renders_by_key, extents


def _items(plan: Design, seed: int, renders: Renders, encoder: str) -> list[Item]:
    return [
        *_perception_items(plan, seed, renders),
        *_alignment_items(plan, seed, renders),
        *_category_items(plan, seed, renders, encoder),
    ]


def _perception_items(plan: Design, seed: int, renders: Renders) -> Iterator[Item]:
    by_split: Mapping[Split, Sequence[tuple[int, int]]] = {
        "test": plan.test,
        "train": plan.train if plan.counts[perception.TASK] else (),
    }
    for split, keys in by_split.items():
        for n, key in enumerate(keys):
            yield from perception.items_about(
                f"{split}-{n:04d}",
                *renders[key],
                split,
                cluster=f"object-{split}-{n:04d}",
                provenance={"seed": seed, "object": key[0], "view": key[1]},
            )


def _alignment_items(plan: Design, seed: int, renders: Renders) -> Iterator[Item]:
    by_category: dict[str, list[Key]] = {}
    for name, number in plan.natural:
        by_category.setdefault(name, []).append((name, number))
    for n, name in enumerate(alignment.names_for(plan.counts[alignment.IMG2TEXT], seed, alignment.IMG2TEXT)):
        key = by_category[name][n // len(by_category) % len(by_category[name])]
        yield alignment.img2text_item(n, name, *renders[key], seed, plan.distractors)
    for n, name in enumerate(alignment.names_for(plan.counts[alignment.TEXT2IMG], seed, alignment.TEXT2IMG)):
        rng = stream(SUITE, STREAMS, seed, alignment.TEXT2IMG, "pictures", n)
        names = [name, *alignment.distractors(name, rng)]
        keys = {label: by_category[label][int(rng.integers(len(by_category[label])))] for label in names}
        yield alignment.text2img_item(n, name, {label: renders[key] for label, key in keys.items()}, seed)


def _category_items(plan: Design, seed: int, renders: Renders, encoder: str) -> list[Item]:
    by_rule = {rule: [renders[key] for key in keys] for rule, keys in plan.rules.items()}
    provenance = {"seed": seed, "construction_subjects": [f"encoder:{encoder}"]}
    items = [
        item for n, pair in enumerate(plan.pairs) for item in categories.pair_items(n, pair, by_rule, seed, provenance)
    ]
    return items[: plan.counts[categories.TASK]]  # a pair has two questions: an odd count takes one of the last
