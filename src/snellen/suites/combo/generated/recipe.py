"""The `generated` recipe: every picture is rendered here, every truth is exact.

All tasks share one pool of pictures. For `n` test items a task it holds at most max(120, 5 n) pictures: the objects
that Pattern Perception asks about, those of the natural categories, six of each rule-category (which, with what is
left of the budget, are also the train split of Pattern Perception, object-disjoint from its test split).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.compute import Progress
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.home import home
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.stimuli.render import RenderSettings, render_pictures, renderer_info
from snellen.stimuli.scenes import RenderSpec, all_composites
from snellen.suites.combo import alignment, categories, perception
from snellen.suites.combo.categories import OBJECTS_A_RULE, Pair, Rule
from snellen.suites.combo.difficulty import packaged_features
from snellen.suites.combo.generated.objects import SIZE_PX, VERSION, VIEWS, natural_shot, object_shot

TASKS = (perception.TASK, alignment.IMG2TEXT, alignment.TEXT2IMG, categories.TASK)
CHECKUP_N, QUICK_N = 24, 8
QUICK_SIZE_PX = (240, 180)
OBJECTS_A_BATCH = 64
FULL_COUNTS = {perception.TASK: 5000, alignment.IMG2TEXT: 120, alignment.TEXT2IMG: 120, categories.TASK: 400}
"""Questions a task in Table 1; 400 in Category Building are 100 a level."""
SECONDS_A_PICTURE, BYTES_A_PICTURE = 0.9, 115_000
"""CPU time and disk of one 480 x 360 picture, for plans (`docs/benchmarks.md`)."""


@dataclass(frozen=True)
class Design:
    """Which pictures are needed, and for what. Objects are places in `all_composites`, with a view each."""

    counts: Mapping[str, int]
    test: tuple[tuple[int, int], ...]
    train: tuple[tuple[int, int], ...]
    natural: tuple[tuple[str, int], ...]
    rules: Mapping[Rule, tuple[tuple[int, int], ...]]
    pairs: tuple[Pair, ...]

    def objects(self) -> list[tuple[int, int]]:
        """Every (object, view) once."""
        held = [*self.test, *self.train, *(one for shown in self.rules.values() for one in shown)]
        return list(dict.fromkeys(held))

    def pictures(self) -> int:
        """How many pictures are drawn."""
        return len(self.objects()) + len(self.natural)


def budget(n: int) -> int:
    """The most pictures a set of `n` test items a task may take."""
    return max(120, 5 * n)


def design(options: BuildOptions) -> Design:
    """Decide every picture from the seed alone."""
    counts, n = _counts(options), _n(options)
    most = len(all_composites()) * VIEWS if options.full else budget(n)
    natural = _natural(counts, options.seed)
    test = _test_objects(counts[perception.TASK], options.seed)
    rules, pairs = _categories(
        counts[categories.TASK], options.seed, {one for one, _ in test}, most - len(natural) - len(test)
    )
    used = len(natural) + len(test) + len({one for shown in rules.values() for one in shown})
    left = min(most - used, 3 * n if options.quick else most) if counts[perception.TASK] else 0
    train = _train_objects(max(left, 0), options.seed, {one for one, _ in test}, rules)
    return Design(counts, test, train, natural, rules, tuple(pairs))


def _n(options: BuildOptions) -> int:
    return options.test_items("combo", CHECKUP_N, QUICK_N)


def _counts(options: BuildOptions) -> dict[str, int]:
    """Test items a task (objects for Pattern Perception)."""
    tasks, n = options.tasks or TASKS, _n(options)
    if unknown := [task for task in tasks if task not in TASKS]:
        raise SnellenError(f"combo has no task {unknown[0]!r}; there are {', '.join(TASKS)}")
    return {task: (FULL_COUNTS[task] if options.full else n) if task in tasks else 0 for task in TASKS}


def _natural(counts: Mapping[str, int], seed: int) -> tuple[tuple[str, int], ...]:
    """A picture of every category, and of some as many more as it takes to show none twice in img2text."""
    most = max(counts[alignment.IMG2TEXT], counts[alignment.TEXT2IMG])
    if not most:
        return ()
    asked = Counter(alignment.names_for(most, seed, VERSION, alignment.IMG2TEXT))
    names = [category.name for category in alignment.natural_categories().categories]
    return tuple((name, k) for k in range(max(asked.values())) for name in names if k < max(1, asked[name]))


def _view(index: int, seed: int) -> int:
    return int(stream("combo", VERSION, seed, "which view", index).integers(VIEWS))


def _test_objects(count: int, seed: int) -> tuple[tuple[int, int], ...]:
    order = stream("combo", VERSION, seed, perception.TASK, "test").permutation(len(all_composites()))
    return tuple((int(index), _view(int(index), seed)) for index in order[:count])


def _categories(
    count: int, seed: int, tested: set[int], most: int
) -> tuple[dict[Rule, tuple[tuple[int, int], ...]], list[Pair]]:
    """The pairs asked about, and for each rule the objects that show it, in at most `most` pictures.

    What Pattern Perception tests is taken only where a rule has too few other objects (at the full size, once in a
    while).
    """
    if not count:
        return {}, []
    pairs_wanted = -(-count // categories.QUERIES_A_PAIR)
    families = min(-(-pairs_wanted // 3), most // (OBJECTS_A_RULE * categories.RULES_A_FAMILY))
    rules_wanted = max(2, families) * categories.RULES_A_FAMILY
    rules, pairs = categories.choose_pairs(pairs_wanted, rules_wanted, seed, VERSION, packaged_features())
    shown = {}
    for place, rule in enumerate(rules):
        every = [int(k) for k in np.flatnonzero(rule.mask())]
        held = [k for k in every if k not in tested]
        held += [k for k in every if k in tested][: max(0, OBJECTS_A_RULE - len(held))]
        order = stream("combo", VERSION, seed, categories.TASK, "objects", place).permutation(len(held))
        shown[rule] = tuple((held[k], _view(held[k], seed)) for k in order[:OBJECTS_A_RULE])
    return shown, pairs


def _train_objects(
    count: int, seed: int, tested: set[int], rules: Mapping[Rule, Sequence[tuple[int, int]]]
) -> tuple[tuple[int, int], ...]:
    """The pictures of the rules, and random objects with what is left of the budget."""
    held = list(dict.fromkeys(one for shown in rules.values() for one in shown if one[0] not in tested))
    taken = tested | {one for one, _ in held}
    order = stream("combo", VERSION, seed, perception.TASK, "train").permutation(len(all_composites()))
    more = [int(index) for index in order if int(index) not in taken][:count]
    return (*held, *((index, _view(index, seed)) for index in more))


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, size, renderer, the natural categories, and the features that set the levels."""
        return {
            "counts": _counts(options),
            **options.rendering(_size(options)),
            "natural_categories": digest(alignment.natural_categories().model_dump(mode="json"), 16),
            "difficulty": [packaged_features().about["features_digest"], *packaged_features().thresholds],
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Objects, pictures, seconds and bytes; with `full` the paper's 190,080 pictures."""
        made = design(options)
        objects = len(all_composites()) if options.full else len({one for one, _ in made.objects()})
        pictures = len(all_composites()) * VIEWS if options.full else made.pictures()
        return {
            "suite": "combo",
            "objects": objects,
            "pictures": pictures,
            "natural_pictures": len(made.natural),
            "items": {
                task: count * (len(perception.QUESTIONS) if task == perception.TASK else 1)
                for task, count in made.counts.items()
            },
            "seconds": round(pictures * SECONDS_A_PICTURE / options.workers),
            "bytes": pictures * BYTES_A_PICTURE,
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render what the home folder lacks, then write the items."""
        refuse_existing(options.out)
        made = design(options)
        media = MediaFolder(options.out / "media")
        settings = RenderSettings(renderer=options.renderer)  # type: ignore[arg-type]  # checked by RenderSettings itself
        pictures, looks = _draw(made, options, settings, media)
        items = _items(made, options, pictures, looks)
        features = packaged_features()
        info = renderer_info(settings)
        notes = [f"the levels of {categories.TASK} were set by encoder:{features.encoder}"]
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            provenance={"render": info, "difficulty": features.encoder},
            notes=notes,
        )


def _size(options: BuildOptions) -> tuple[int, int]:
    return QUICK_SIZE_PX if options.quick else SIZE_PX


Key = tuple[int, int] | tuple[str, int]


def _draw(
    made: Design, options: BuildOptions, settings: RenderSettings, media: MediaFolder
) -> tuple[dict[Key, Media], dict[Key, dict[str, str]]]:
    """Every picture as stored media, and its look.

    With `full`, all 190,080 views are rendered into the home folder too.
    """
    size, shots, looks = _size(options), dict[Key, RenderSpec](), dict[Key, dict[str, str]]()
    for index, view in made.objects():
        shots[index, view] = object_shot(index, view, options.seed, size)
        looks[index, view] = all_composites()[index].dimensions()
    by_name = {category.name: category for category in alignment.natural_categories().categories}
    for name, number in made.natural:
        shots[name, number], looks[name, number] = natural_shot(by_name[name], number, options.seed, size)
    renders = home() / "renders"
    with Progress("rendering", unit="pictures", shown=options.show_progress) as progress:
        paths = render_pictures(list(shots.values()), settings, renders, workers=options.workers, progress=progress)
        if options.full:
            for start in range(0, len(all_composites()), OBJECTS_A_BATCH):
                batch = range(start, min(start + OBJECTS_A_BATCH, len(all_composites())))
                views = [object_shot(index, view, options.seed, size) for index in batch for view in range(VIEWS)]
                render_pictures(views, settings, renders, workers=options.workers, progress=progress)
    return {key: media.add_file(path) for key, path in zip(shots, paths, strict=True)}, looks


def _items(
    made: Design, options: BuildOptions, pictures: Mapping[Key, Media], looks: Mapping[Key, Mapping[str, str]]
) -> list[Item]:
    seed, items = options.seed, list[Item]()
    train = made.train if made.counts[perception.TASK] else ()
    for split, shown in (("test", made.test), ("train", train)):
        for n, key in enumerate(shown):
            items += perception.items_about(
                f"{split}-{n:04d}",
                pictures[key],
                looks[key],
                split,  # type: ignore[arg-type]
                version=VERSION,
                cluster=f"object-{split}-{n:04d}",
                provenance={"seed": seed, "object": key[0], "view": key[1]},
            )
    by_category: dict[str, list[Key]] = {}
    for name, number in made.natural:
        by_category.setdefault(name, []).append((name, number))
    for n, name in enumerate(alignment.names_for(made.counts[alignment.IMG2TEXT], seed, VERSION, alignment.IMG2TEXT)):
        one = by_category[name][n // len(by_category) % len(by_category[name])]
        items.append(alignment.img2text_item(n, name, pictures[one], looks[one], seed, VERSION))
    for n, name in enumerate(alignment.names_for(made.counts[alignment.TEXT2IMG], seed, VERSION, alignment.TEXT2IMG)):
        rng = stream("combo", VERSION, seed, alignment.TEXT2IMG, "pictures", n)
        chosen = [name, *alignment.distractors(name, rng, coco=False)]
        keys = {one: by_category[one][int(rng.integers(len(by_category[one])))] for one in chosen}
        shown_as = {one: (pictures[key], looks[key]) for one, key in keys.items()}
        items.append(alignment.text2img_item(n, name, shown_as, seed, VERSION))
    ruled = {rule: [(pictures[key], looks[key]) for key in keys] for rule, keys in made.rules.items()}
    asked = [
        item
        for n, pair in enumerate(made.pairs)
        for item in categories.pair_items(
            n,
            pair,
            ruled,
            seed,
            VERSION,
            {"seed": seed, "construction_subjects": [f"encoder:{packaged_features().encoder}"]},
        )
    ]
    return items + asked[: made.counts[categories.TASK]]
