"""The `generated` recipe: all images are rendered here, so the truth is exact.

All tasks share one pool of images. For `n` test items per task it has at most max(120, 8 n) images: the objects of
Pattern Perception, those of the natural categories, and five of each rule-category. The last, with random objects up to
the budget, are also the train split of Pattern Perception; it shares no object with the test split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from snellen.compute import Progress
from snellen.core.build_options import BALANCE, BuildOptions, Settings
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import digest
from snellen.core.item import Item, Media, Split
from snellen.core.least_px import least_px_notes, with_least_px
from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
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
from snellen.stimuli.scenes.truth import least_extent_px
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
"""Number of objects from which the next one is chosen if answers are balanced."""
INPUTS = ("features",)
SETTINGS: Settings = {"distractors": alignment.DISTRACTORS}
PAPER_COUNTS = {
    perception.TASK: perception.PAPER_COUNT,
    **{task.id: alignment.PAPER_COUNT for task in alignment.TASKS},
    categories.TASK: categories.PAPER_COUNT,
}
SECONDS_A_IMAGE, BYTES_A_IMAGE = {"fast": 0.36, "good": 0.70, "reference": 1.3}, 115_000
"""CPU time per image by quality on an idle machine, and disk space, for plans (`python bench/render.py --suites`)."""


@dataclass(frozen=True)
class Design:
    """The images needed, by use. Objects are pairs of an index into `all_composites` and a view."""

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
        """The number of images to render."""
        return len(self.objects()) + len(self.natural)


def max_images(n: int) -> int:
    """The largest number of images in a set of `n` test items per task; fewer than 6 are a trial run."""
    return max(min(120, 30 + 10 * n), 8 * n)


def design(options: BuildOptions) -> Design:
    """Choose all images, from the seed alone."""
    counts, n = _counts(options), options.test_items(SUITE, CHECKUP_N, QUICK_N)
    limit = len(all_composites()) * VIEWS if options.full else max_images(n)
    natural = _natural(counts, options.seed)
    test = _test_objects(counts[perception.TASK], options)
    tested = {index for index, _ in test}
    # Test images are taken from the budget first; training gets the rest, so it never costs an item.
    pair_count = -(-counts[categories.TASK] // categories.QUERIES_A_PAIR)
    pairs = categories.choose_pairs(pair_count, options.seed, features_of(options))
    rules = _objects_by_rule(pairs, options.seed, tested)
    used = len(natural) + len(test) + len({view for views in rules.values() for view in views})
    has_training = counts[perception.TASK] and not options.test_only
    budget = min(limit - used, 3 * n if options.quick else limit) if has_training else 0
    train = _train_objects(max(budget, 0), options.seed, tested, rules)
    distractors = options.setting("distractors", SETTINGS)
    return Design(counts, test, train, natural, rules, tuple(pairs), distractors)


def _counts(options: BuildOptions) -> dict[str, int]:
    """Test items per task (objects for Pattern Perception)."""
    tasks, n = options.tasks or TASKS, options.test_items(SUITE, CHECKUP_N, QUICK_N)
    if unknown := [task for task in tasks if task not in TASKS]:
        raise SnellenError(f"combo has no task {unknown[0]!r}; available: {', '.join(TASKS)}")
    return {task: (PAPER_COUNTS[task] if options.full else n) if task in tasks else 0 for task in TASKS}


def _natural(counts: Mapping[str, int], seed: int) -> tuple[tuple[str, int], ...]:
    """One image of each category, and as many more as img2text needs to show no image twice."""
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
    chosen = _level_objects(indices, count) if (options.balance or BALANCE) == "answers" else indices[:count]
    return tuple((index, view_of(index, seed)) for index in chosen)


def _level_objects(order: Sequence[int], count: int) -> list[int]:
    """Objects in which all values of a dimension are about equally frequent, as far as possible.

    Greedy: each step takes the object whose values are least used so far, among the next `LEVEL_CHOICE` objects.
    """
    numbers, chosen, left = table(), list[int](), list(order)
    sizes = numbers.max(axis=0) + 1
    tally = np.zeros((numbers.shape[1], int(sizes.max())))
    while left and len(chosen) < count:
        rows = numbers[left[:LEVEL_CHOICE]]
        # A value is used more often if its dimension has few values, so each dimension is weighted by its size.
        uses = (tally[np.arange(rows.shape[1]), rows] * sizes).sum(axis=1)
        index = left.pop(int(np.argmin(uses)))
        tally[np.arange(rows.shape[1]), numbers[index]] += 1
        chosen.append(index)
    return chosen


def features_of(options: BuildOptions) -> Features:
    """The features that set the levels: those of `--input features=FILE`, or the packaged ones."""
    return read_features(options.inputs["features"]) if "features" in options.inputs else packaged_features()


def _notes(plan: Design, difficulty: Mapping[str, Any]) -> list[str]:
    """Notes for the card on the levels of Category Building."""
    if not plan.pairs:
        return []
    notes = [f"the levels of {categories.TASK} are distance by encoder:{difficulty['encoder']}"]
    ranks = [(name, rank) for name, rank in difficulty["agreement"].items() if rank is not None]
    return [*notes, *(f"their rank correlation with distance by encoder:{name} is {rank}" for name, rank in ranks)]


def _about_pairs(pairs: Sequence[Pair], features: Features) -> dict[str, Any]:
    """The provenance of the levels: their encoder, counts of pairs by level and difference, and agreement with others.

    `agreement` is Spearman's rank correlation of the pairs' distances with those by each other packaged encoder; None
    for fewer than three pairs.
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
    """The objects that show each rule.

    Test objects of Pattern Perception are used only if a rule has too few others (occasionally at the full size).
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
    """The images of the rules, and random objects for the rest of the budget."""
    of_rules = list(dict.fromkeys(view for views in rules.values() for view in views if view[0] not in tested))
    used = tested | {index for index, _ in of_rules}
    order = stream(SUITE, STREAMS, seed, perception.TASK, "train").permutation(len(all_composites()))
    others = [int(index) for index in order if int(index) not in used][:count]
    return (*of_rules, *((index, view_of(index, seed)) for index in others))


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    settings: Settings = field(default_factory=lambda: SETTINGS)
    leaves_out_training: ClassVar = True
    opening: ClassVar = (perception.TASK, 20)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, size, renderer, natural categories, and the features that set the levels."""
        features = features_of(options)
        return {
            "counts": _counts(options),
            **options.rendering(),
            "balance": options.balance or BALANCE,
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
        """Render the images that the home folder lacks, then write the items."""
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
            notes=[
                "not covered of the paper: its own images, wordings, options, categories and levels, which were not "
                "released",
                *_notes(plan, difficulty),
                *least_px_notes(items),
                *options.size_notes(),
            ],
            image_recipes=media.recipes,
        )


Key: TypeAlias = tuple[int, int] | tuple[str, int]
"""An object and its view, or a natural category and the number of its image."""
Renders: TypeAlias = Mapping[Key, tuple[Media, Mapping[str, str]]]
"""Stored images, each with the appearance of its object."""


def _render(
    plan: Design, options: BuildOptions, settings: RenderSettings, media: MediaFolder
) -> tuple[Renders, dict[str, float]]:
    """All images, and the extent of the smaller solid in each, by its SHA-256.

    With `full`, all 190,080 views are also rendered into the home folder.
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
            # In batches, since the scenes of all views at once would exhaust the memory.
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
    by_category = lists_by_key((name, (name, number)) for name, number in plan.natural)
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
    return items[: plan.counts[categories.TASK]]  # each pair has two questions; an odd count drops one
