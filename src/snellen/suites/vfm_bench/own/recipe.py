"""The `own` recipe: episodes of the user's classes, without judges and without a dataset's name.

    snellen build vfm-bench --from own --source images=DIR --out SET
    snellen build vfm-bench --from own --source images=FILE.csv --source root=DIR --set level=detail --out SET

DIR may also be a Hugging Face dataset folder (`snellen.datasets.hub_tables`).

The paper's difficulty filter and review can still be applied: judges answer the set under `shots=0`, and the recipe
`curated` continues from their run (`vfm-bench/select`, `vfm-bench/review`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, media_digest, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curation.draws import level_shares, shuffled
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.near_copies import find_near_copies, near_copy_notes
from snellen.datasets.image_files import oddity_notes
from snellen.datasets.own_images import CLAIM, CLASS, OWN, read_own_images
from snellen.datasets.sample import Note, Sample
from snellen.suites.vfm_bench import class_images as images
from snellen.suites.vfm_bench.class_images import MIN_CLASSES, MIN_IMAGES, UNIT, ClassImage, ConceptTask
from snellen.suites.vfm_bench.episodes import QueryIndex, draw_episode
from snellen.suites.vfm_bench.items import LEVELS, STREAMS, SUITE, TASK, Level, episode_item
from snellen.suites.vfm_bench.items import OWN as OWN_INDUSTRY
from snellen.suites.vfm_bench.prompts import FOR_PEOPLE, OWN_SCENE

IMAGES, ROOT = "images", "root"
NEAR_COPIES, INSTRUCTION = "near-copies", "instruction"
MAX_IMAGES, MAX_CLASSES = 60, 20
"""As in the curated recipe: maximum images per class, and maximum classes per episode."""
OBJECT = "images"


@dataclass(frozen=True)
class Own:
    """The recipe `own`. `--set level=` is the level of Table 6 that distinguishes the classes.

    `--set near-copies=keep` keeps images that look like another image of their class. `--set instruction=paper` asks by
    the paper's instruction, spelling errors included, which names the level.
    """

    settings: Settings = field(
        default_factory=lambda: {"level": LEVELS, NEAR_COPIES: ("drop", "keep"), INSTRUCTION: ("plain", "paper")}
    )

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Seed, count and other settings. The card also identifies the images."""
        return {
            "seed": options.seed,
            "n": options.n,
            "images_a_class": MAX_IMAGES,
            "classes_a_task": MAX_CLASSES,
            **({"balance": "answers"} if options.balance == "answers" else {}),
            **options.changed(self.settings),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images per class, number of items, and exclusions. All images are read, none is written."""
        _refuse_others(options)
        ledger = Ledger()
        with tempfile.TemporaryDirectory() as folder:
            tasks, look_notes = self._read(options, MediaFolder(Path(folder)), ledger)
        return {
            "suite": SUITE,
            "classes": {concept.label: len(concept.images) for task in tasks for concept in task.classes},
            "items": {TASK: len(draw_queries(tasks, options))},
            "left_out": ledger.notes(UNIT),
            "notes": look_notes,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read the images and write the items. Raises SnellenError if no two classes have enough images."""
        refuse_existing(options.out)
        _refuse_others(options)
        media, ledger = MediaFolder(options.out / "media"), Ledger()
        tasks, look_notes = self._read(options, media, ledger)
        items = make_items(tasks, options)
        if options.setting(INSTRUCTION, self.settings) == "plain":
            items = [replace(item, question=FOR_PEOPLE) for item in items]
        prune_media(media, items)
        return write_itemset(
            options.out,
            items,
            source=OWN,
            recipe={**self.parameters(options), "media": media_digest(items)},
            notes=[*_notes(tasks, items), *look_notes, *ledger.notes(UNIT)],
        )

    def _read(self, options: BuildOptions, media: MediaFolder, ledger: Ledger) -> tuple[list[ConceptTask], list[str]]:
        """The competing classes, and notes on their images."""
        draws = group_classes(_draw(options, ledger), options.seed)
        row = images.DatasetRow(OWN_INDUSTRY, cast(Level, options.setting("level", self.settings)), 0)
        with Progress("reading", unit="images", visible=options.show_progress) as progress:
            progress.expect(sum(len(draw.samples) for classes in draws.values() for draw in classes.values()))
            tasks = images.read_tasks(draws, media, ledger, options.workers, progress.advance, row_of_source={OWN: row})
        notes = _image_notes(tasks)
        keep = options.setting(NEAR_COPIES, self.settings) == "keep"
        tasks = [unlike for task in tasks if (unlike := without_near_copies(task, keep, ledger, notes))]
        if not tasks:
            reasons = "; ".join(ledger.notes(UNIT)) or "no image was found"
            raise SnellenError(
                f"{options.sources[IMAGES]}: needs at least {MIN_CLASSES} classes of at least {MIN_IMAGES} different "
                f"images each, one folder per class ({reasons})"
            )
        return [replace(task, scene=OWN_SCENE) for task in tasks], notes


def _refuse_others(options: BuildOptions) -> None:
    options.need_items(SUITE)
    prefix = f"{SUITE} --from own"
    options.refuse_others(prefix, [TASK], [IMAGES, ROOT])
    if IMAGES not in options.sources:
        raise SnellenError(
            f"{prefix}: give --source {IMAGES}=DIR with one folder per class, or --source {IMAGES}=FILE.csv with the "
            "columns path, class"
        )


def _draw(options: BuildOptions, ledger: Ledger) -> images.Draws:
    """The images of all classes that have enough, at most `MAX_IMAGES` each, with all classes in one task."""
    records: list[Sample] = []
    for record in read_own_images(options.sources[IMAGES], options.sources.get(ROOT)):
        if isinstance(record, Note):
            ledger.drop(UNIT, ANY_SOURCE, f"{record.kind}: {record.message}", record.location)
        else:
            records.append(replace(record, object=OBJECT))
    draws = images.draw_records(records, (OWN,), MAX_IMAGES, options.seed, {})
    for (_, _), classes in draws.items():
        for label, draw in classes.items():
            if rest := draw.offered - len(draw.samples):
                rule = f"more than {MAX_IMAGES} images in a class; sampled by the seed"
                ledger.drop(UNIT, ANY_SOURCE, rule, label, rest)
    return images.keep_classes(draws, len(records), options.seed, ledger)


def group_classes(draws: images.Draws, seed: int) -> images.Draws:
    """The classes in competing groups of at most `MAX_CLASSES`, of nearly equal size, drawn by the seed."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for (source, object_name), classes in draws.items():
        count = -(-len(classes) // MAX_CLASSES)
        order = shuffled(list(classes), stream(SUITE, STREAMS, seed, "groups"))
        for n in range(count):
            name = object_name if count == 1 else f"{object_name}-{n + 1}"
            groups[source, name] = {label: classes[label] for label in sorted(order[n::count])}
    return groups


def without_near_copies(task: ConceptTask, keep: bool, ledger: Ledger, notes: list[str]) -> ConceptTask | None:
    """The task without images that look like an earlier one of their class; None if too few are left.

    With `keep` they stay, with the `original` of each. `notes` names them, and images like one of another class.
    """
    every = [(concept.label, image) for concept in task.classes for image in concept.images]
    near = find_near_copies([image.grey for _, image in every], [label for label, _ in every])
    records = [image.record for _, image in every]
    notes += near_copy_notes(near, records, "class", keep)
    if keep:
        originals = {id(every[later][1]): every[earlier][1].media.sha256 for later, earlier in near.copies.items()}

        def with_original(image: ClassImage) -> ClassImage:
            return replace(image, original=originals.get(id(image), ""))

        concepts = [replace(concept, images=tuple(map(with_original, concept.images))) for concept in task.classes]
        return replace(task, classes=tuple(concepts))
    for later, earlier in near.copies.items():
        rule = f"it looks like another image of its class (--set {NEAR_COPIES}=keep keeps it)"
        ledger.drop(UNIT, ANY_SOURCE, rule, f"{records[later]} like {records[earlier]}")
    dropped = {id(every[later][1]) for later in near.copies}
    concepts = []
    for concept in task.classes:
        rest = tuple(image for image in concept.images if id(image) not in dropped)
        if len(rest) >= MIN_IMAGES:
            concepts.append(replace(concept, images=rest))
        else:
            rule = f"fewer than {MIN_IMAGES} images that look different"
            ledger.drop(UNIT, ANY_SOURCE, rule, f"{task.source}/{task.object}/{concept.label}")
    return replace(task, classes=tuple(concepts)) if len(concepts) >= MIN_CLASSES else None


def _image_notes(tasks: Sequence[ConceptTask]) -> list[str]:
    every = [image for task in tasks for concept in task.classes for image in concept.images]
    return oddity_notes({image.record: image.oddity for image in every}, len(every))


def draw_queries(tasks: Sequence[ConceptTask], options: BuildOptions) -> list[QueryIndex]:
    """The query images in an order drawn by the seed: all, or `n`, distributed evenly over the classes.

    With balanced answers, each class has as many as the smallest one.
    """
    rng = stream(SUITE, STREAMS, options.seed, "queries")
    sizes = {(t, c): len(concept.images) for t, task in enumerate(tasks) for c, concept in enumerate(task.classes)}
    if options.balance == "answers":
        sizes = dict.fromkeys(sizes, min(sizes.values()))
    total = sum(sizes.values())
    shares = level_shares(sizes, total if options.n is None else min(options.n, total))
    chosen = [
        QueryIndex(t, c, query)
        for (t, c), share in shares.items()
        for query in shuffled(range(len(tasks[t].classes[c].images)), rng)[:share]
    ]
    return shuffled(chosen, rng)


def make_items(tasks: Sequence[ConceptTask], options: BuildOptions) -> list[Item]:
    """The items, numbered in their random order, so that ids reveal nothing.

    An image and its near copies are a cluster, and the class is a factor: the set is a sample of images of these
    classes, not of classes.
    """
    queries = draw_queries(tasks, options)
    digits = max(5, len(str(len(queries))))
    items = []
    for k, query in enumerate(queries):
        concept = tasks[query.task].classes[query.truth]
        image = concept.images[query.query]
        episode = draw_episode(tasks[query.task], query, f"{k:0{digits}d}", options.seed)
        cluster = f"image-{(image.original or image.media.sha256)[:16]}"
        items.append(episode_item(replace(episode, cluster=cluster, factors={**episode.factors, CLASS: concept.label})))
    return items


def _notes(tasks: Sequence[ConceptTask], items: Sequence[Item]) -> list[str]:
    classes = [concept for task in tasks for concept in task.classes]
    count = sum(len(concept.images) for concept in classes)
    answers = Counter(item.factors[CLASS] for item in items)
    most = max(answers.values())
    notes = [
        f"{count} images of {len(classes)} classes of your own, with unchanged bytes; not screened by judges",
        "the truth comes from folders or the CSV; check it with `snellen study build ITEMSET --design check-keys`",
        CLAIM,
    ]
    if len(tasks) > 1:
        notes.append(f"{len(classes)} classes in {len(tasks)} groups; only classes of the same group compete")
    if most > min(answers.values()):
        notes.append(
            f"{most} of {len(items)} questions are about the most frequent class; --balance uniform makes classes "
            "equally frequent"
        )
    return notes
