"""The `own` recipe: the user's own images and boxes, under the rules of every ability that has truth.

    snellen build ava-bench --from own --source images=DIR --source boxes=FILE --out SET
    snellen build ava-bench --from own --source images=DATASET --out SET

`boxes` is a COCO JSON, a CSV file, or a folder of YOLO labels or of Pascal VOC's XML (`snellen.datasets.own_boxes`). A
Hugging Face dataset folder has its boxes with the images (`snellen.datasets.hub_boxes`).
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media, Split
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.own.curations import NEEDS, OwnChoices, missing_truth, own_groups, stated_colours
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext, thinned
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.completeness import NOT_EXHAUSTIVE
from snellen.curated_sets.ava_bench.selection.images import ImageStore
from snellen.curated_sets.ava_bench.selection.making import complete, make_items
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.ava_bench.selection.splits import CuratedGroup, SelectedCandidate, balances, split_up
from snellen.curated_sets.rules import Caps, changed_rules, in_words, read_rules
from snellen.curated_sets.splitting import check_splits
from snellen.curation.ledger import ANY_TASK, listed
from snellen.curation.near_copies import near_pairs, thumbnail
from snellen.datasets.hub_tables import find_shards
from snellen.datasets.own_boxes import FORMS, OwnBoxes
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Note, Sample
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import SUITE

IMAGES, BOXES = "images", "boxes"
EXHAUSTIVE: Settings = {"exhaustive": ("as-usual", "yes", "no")}
"""Completeness of annotations: `as-usual` means yes for COCO, YOLO and VOC, and no for CSV files."""
OWN_RULES = Rules(
    test_share=0.5,
    fewest=4,
    counted_open=Caps(2, 30, 2),
    spatial_references=1,
    spatial_rows=4,
    coloured_images=200,
    depth_indoor=Caps(4, 30, 2),
    pairs_indoor=Caps(4, 30),
    orientation=Caps(4, 40, 2),
)
"""Rules for a few hundred images: half for testing, and fewer per class and bin than the paper's 10 to 30."""
ONE_NAME = "needs boxes of two classes or more, so that there is a choice"


@dataclass(frozen=True)
class Built:
    """The result of a build before writing: items, their candidates, tasks without items with reasons, and samples."""

    items: tuple[Item, ...]
    ready: tuple[tuple[SelectedCandidate, Split], ...]
    without: Mapping[str, str]
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Own:
    """The recipe `own`; `--rules FILE` may change some of its rules."""

    rules: Rules = field(default_factory=lambda: OWN_RULES)
    settings: Settings = field(default_factory=lambda: EXHAUSTIVE)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, bound on the number of items, every rule. The images are recorded in the card."""
        return {
            "tasks": list(options.tasks),
            "seed": options.seed,
            "n": options.n,
            **options.changed(self.settings),
            **asdict(read_rules(options.rules, self.rules)),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images, things per class, items, and reasons for tasks without items. Images are read, nothing is written."""
        _refuse_others(options)
        with tempfile.TemporaryDirectory() as folder:
            image_store = ImageStore(MediaFolder(Path(folder)))
            context, built = self._build(options, image_store)
            look_notes = _look_notes(built, image_store)
        counts = Counter(f"{item.task} ({item.split})" for item in built.items)
        things = Counter(thing.label for sample in built.samples for thing in sample.annotations)
        return {
            "suite": SUITE,
            "images": len(built.samples),
            "things": dict(sorted(things.items())),
            "items": dict(counts),
            "without": [f"{task}: {reason}" for task, reason in built.without.items()],
            "left_out": _left_out(context),
            "notes": look_notes,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read images and boxes, choose by the rules, split, and write the items."""
        refuse_existing(options.out)
        _refuse_others(options)
        image_store = ImageStore(MediaFolder(options.out / "media"))
        context, built = self._build(options, image_store)
        if not built.items:
            reasons = "; ".join(f"{task}: {reason}" for task, reason in built.without.items() if task in NEEDS)
            raise SnellenError(f"{_truth_path(options)}: no items are left ({reasons[:1200]})")
        check_splits(built.items)
        prune_media(image_store.media, built.items)
        files.write_csv(options.out / "curation.csv", context.ledger.table())
        changes = changed_rules(context.rules, Rules())
        return write_itemset(
            options.out,
            built.items,
            source=OWN,
            recipe={
                **self.parameters(options),
                "media": digest(sorted({selected.image.sha256 for selected, _ in built.ready}), 16),
            },
            provenance={"curation": context.ledger.as_card(), "balance": balances(built.ready)},
            notes=[
                f"{len(built.samples)} images of your own, with unchanged bytes; the truth is that of the boxes",
                *(f"without {task}: {reason}" for task, reason in built.without.items()),
                *_look_notes(built, image_store),
                f"rules that differ from the paper's: {in_words(changes)}",
                "curation.csv lists what was left out, by rule",
            ],
        )

    def _build(self, options: BuildOptions, image_store: ImageStore) -> tuple[CurationContext, Built]:
        samples, context = self._read(options)
        without = missing_truth(samples)
        groups = _groups(options, samples, without)
        selection = [(group, _select(group, samples, options, context)) for group in groups]
        selection = [_with_choice(group, candidates, without) for group, candidates in selection]
        ready = split_up(list(complete(selection, image_store, options, context)), context)
        items = with_chance(list(make_items(ready, context, CURATIONS)))
        tasks = {item.task for item in items}
        for group in groups:
            for task in group.tasks:
                if task not in tasks:
                    without.setdefault(task, _reasons(group, context, samples))
        absent = {task: without[task] for task in sorted(without) if not options.tasks or task in options.tasks}
        return context, Built(tuple(items), tuple(ready), absent, tuple(samples))

    def _read(self, options: BuildOptions) -> tuple[list[Sample], CurationContext]:
        exhaustive = {"yes": True, "no": False}.get(options.setting("exhaustive", self.settings))
        boxes = OwnBoxes(options.sources[IMAGES], options.sources.get(BOXES), exhaustive)
        context = CurationContext(read_rules(options.rules, self.rules), read_choices(), options.seed)
        samples: dict[str, Sample] = {}
        with Progress("reading", unit="images", visible=options.show_progress) as progress:
            for sample in boxes.samples():
                if isinstance(sample, Note):
                    context.ledger.drop(ANY_TASK, OWN, f"{sample.kind}: {sample.message}", sample.location)
                elif sample.record_id in samples:
                    context.ledger.drop(ANY_TASK, OWN, "second image of one path", sample.record_id)
                else:
                    samples[sample.record_id] = sample
                    progress.advance()
        if not any(sample.annotations for sample in samples.values()):
            reasons = "; ".join(_left_out(context)) or "it has none"
            raise SnellenError(f"{_truth_path(options)}: no box in a readable image ({reasons[:1200]})")
        labels = frozenset(thing.label for sample in samples.values() for thing in sample.annotations)
        return list(samples.values()), replace(context, choices=OwnChoices(context.choices.files, labels))


def _refuse_others(options: BuildOptions) -> None:
    options.need_items(SUITE)
    prefix = f"{SUITE} --from own"
    options.refuse_others(prefix, NEEDS, [IMAGES, BOXES])
    if IMAGES not in options.sources:
        raise SnellenError(f"{prefix}: --source {IMAGES}=PATH is missing; give a folder of images")
    if BOXES not in options.sources and not find_shards(options.sources[IMAGES]):
        raise SnellenError(f"{prefix}: --source {BOXES}=PATH is missing; give {FORMS}")


def _truth_path(options: BuildOptions) -> Path:
    """The file or folder of the boxes."""
    return options.sources.get(BOXES, options.sources[IMAGES])


def _look_notes(built: Built, image_store: ImageStore) -> list[str]:
    """A note on images that look like another one. All stay: their boxes may differ, and video frames are similar."""
    greys: dict[str, bytes] = {}
    for selected, _ in built.ready:
        origin = selected.candidate.origin
        whole = image_store.get(origin)
        if isinstance(whole, Media) and origin.record_id not in greys:
            with image_store.media.open(whole) as image:
                image.draft("L", (64, 64))
                greys[origin.record_id] = thumbnail(image)
    pairs = near_pairs(list(greys.values()))
    if not pairs:
        return []
    names = list(greys)
    examples = listed([f"{names[later]} like {names[earlier]}" for earlier, later in pairs])
    count = f"{len({later for _, later in pairs})} of {len(names)} images look like another one"
    return [f"{count}, and may be on both sides of the split: {examples}"]


def _groups(options: BuildOptions, samples: Sequence[Sample], without: Mapping[str, str]) -> list[CuratedGroup]:
    """The groups to build that have truth."""
    has_colours = any("rgb" in thing.extra for sample in samples for thing in sample.annotations)
    groups = []
    for group in own_groups():
        tasks = tuple(
            task for task in group.tasks if task not in without and (not options.tasks or task in options.tasks)
        )
        if tasks:
            chosen = replace(group, tasks=tasks)
            groups.append(stated_colours(chosen) if has_colours and "colour" in group.tasks else chosen)
    return groups


def _select(
    group: CuratedGroup, samples: Sequence[Sample], options: BuildOptions, context: CurationContext
) -> list[Candidate]:
    candidates = [candidate for sample in samples for candidate in group.curation.find(sample, context)]
    selection = group.curation.select(candidates, context)
    if options.n is None:
        return selection
    return thinned(selection, math.ceil(options.n / context.rules.test_share), group.name, context)


def _with_choice(
    group: CuratedGroup, candidates: list[Candidate], without: dict[str, str]
) -> tuple[CuratedGroup, list[Candidate]]:
    """The group, without the task object if there is only one name."""
    if "object" in group.tasks and candidates and len(candidates[0].truth["among"]) < 2:
        without["object"] = ONE_NAME
        group = replace(group, tasks=tuple(task for task in group.tasks if task != "object"))
    return group, candidates


def _reasons(group: CuratedGroup, context: CurationContext, samples: Sequence[Sample]) -> str:
    """The rules that leave out most, most frequent first, and how to declare that all things are annotated."""
    counts = {rule: count for (name, _, rule), count in context.ledger.dropped.items() if name == group.name}
    commonest = sorted(counts, key=lambda rule: -counts[rule])[:2]
    reasons = "; ".join(f"{rule} ({counts[rule]})" for rule in commonest) or "its subject matter is not annotated"
    open_images = sum(bool(sample.attributes.get(NOT_EXHAUSTIVE_FIELD)) for sample in samples)
    advice = "; if all things of these classes are annotated, add --set exhaustive=yes" if open_images else ""
    return f"nothing is left: {reasons}{advice if NOT_EXHAUSTIVE in commonest else ''}"


def _left_out(context: CurationContext) -> list[str]:
    return context.ledger.notes("things, pairs or images")
