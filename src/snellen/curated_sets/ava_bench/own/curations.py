"""The curations of AVA-Bench for the user's own boxes: the same rules, and the truth that each task needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.abilities.colour import colour_bin
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    keep_unchanged,
    origin_of,
)
from snellen.curated_sets.ava_bench.selection.choice_files import Category
from snellen.curated_sets.ava_bench.selection.choices import Choices
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curated_sets.ava_bench.selection.splits import CuratedGroup, curated_groups
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.items import ORIENTATIONS

DEPTH, ORIENTATION, TEXT = "nearest_m", "orientation", "text"
NEEDS: Mapping[str, tuple[str, str]] = {
    "localization": ("", ""),
    "object": ("", ""),
    "counting": ("", ""),
    "spatial": ("", ""),
    "colour": ("", ""),
    "absolute-depth": (DEPTH, "a column depth, metres to the closest point of the thing"),
    "relative-depth": (DEPTH, "a column depth, metres to the closest point of the thing"),
    "nearer-localization": (DEPTH, "a column depth, metres to the closest point of the thing"),
    "orientation": (ORIENTATION, f"a column orientation: {', '.join(ORIENTATIONS)}"),
    "ocr": (TEXT, "a column text, what is written in the box"),
}
"""By task: the fact about things that it needs besides class and box, and the column for it."""
WHOLE_IMAGES = "images of one class each, not boxes: `snellen build vfm-bench --from own` asks about these"
COMPOSED = "colours of things, which boxes do not have; generated sets have this task"


@dataclass(frozen=True)
class OwnChoices(Choices):
    """The choices of the package, plus all of the user's own things under their own names."""

    labels: frozenset[str] = field(default_factory=frozenset)

    def categories(self, source: str) -> Mapping[str, Category]:
        """Every label of the user's own things, unchanged."""
        if source != OWN:
            return super().categories(source)
        return {
            label: Category.model_construct(
                source=OWN, domain="Open", label=label, name=label, origin="ours", reason=""
            )
            for label in self.labels
        }

    def orientation(self, source: str, word: str) -> str | None:
        """One of `items.ORIENTATIONS`; own words are taken unchanged."""
        return (word if word in ORIENTATIONS else None) if source == OWN else super().orientation(source, word)


def own_groups() -> list[CuratedGroup]:
    """The abilities that boxes can have truth for, with curations that read the user's own."""
    curations = {task: curation for task, curation in CURATIONS.items() if task in NEEDS}
    return [CuratedGroup(_own_curation(group), group.tasks) for group in curated_groups(curations)]


def _own_curation(group: CuratedGroup) -> Curation:
    curation = replace(group.curation, datasets=(OWN,))
    find = curation.find
    if "ocr" in group.tasks:
        return replace(curation, find=lambda scene, context: find(words_of(scene), context))
    if "orientation" in group.tasks:
        return replace(curation, find=lambda scene, context: find(_known_things(scene, context), context))
    return curation


def _known_things(scene: Sample, context: CurationContext) -> Sample:
    """The scene with things of fully annotated classes only: a question about orientation shows no box."""
    known, things = completeness(scene), []
    for thing in scene.annotations:
        if rule := known.rule(thing.label):
            context.ledger.drop("orientation", scene.source, rule, f"{scene.record_id}: {thing.label}")
        else:
            things.append(thing)
    return replace(scene, annotations=tuple(things))


def words_of(scene: Sample) -> Sample:
    """The scene with its texts instead of its things."""
    words = [replace(thing, label=str(thing.extra[TEXT])) for thing in scene.annotations if TEXT in thing.extra]
    return replace(scene, annotations=tuple(words))


def stated_colours(group: CuratedGroup) -> CuratedGroup:
    """The colour ability about boxes with stated colours, instead of regions found in the pixels."""
    curation = replace(group.curation, find=_find_colours, select=_all, complete=keep_unchanged)
    return replace(group, curation=curation)


def _find_colours(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    for thing in scene.annotations:
        rgb = thing.extra.get("rgb")
        if isinstance(rgb, tuple) and thing.box is not None:
            levels = [round(float(level)) for level in rgb]
            yield Candidate(origin_of(scene), "", colour_bin(levels), {"box": thing.box, "rgb": tuple(levels)})


def _all(candidates: Iterable[Candidate], context: CurationContext) -> list[Candidate]:
    return list(candidates)


def missing_truth(samples: Iterable[Sample]) -> dict[str, str]:
    """The missing truth, by task that cannot be built."""
    stated = {name for sample in samples for thing in sample.annotations for name in thing.extra}
    absent = {task: f"needs {how}" for task, (fact, how) in NEEDS.items() if fact and fact not in stated}
    for task, ability in ABILITIES.items():
        if task not in NEEDS:
            absent[task] = f"needs {COMPOSED if ability.parts else WHOLE_IMAGES}"
    return absent
