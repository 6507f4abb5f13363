"""From records of real datasets to the classes that compete: drawn, read, and without a picture in two places."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.curation.draws import Reservoir
from snellen.datasets import DATASETS
from snellen.datasets.declarations.nature import OPEN
from snellen.datasets.sample import Sample
from snellen.suites.vfm_bench.curated.datasets import DATASETS as VFM_DATASETS
from snellen.suites.vfm_bench.curated.datasets import Industry, Level
from snellen.suites.vfm_bench.items import SHOTS, SUITE, VERSION

MIN_PICTURES, MIN_CLASSES = SHOTS + 1, 2
"""Pictures a class needs (five to show beside the one asked about), and classes a task needs."""
EXAMPLES_TOLD = 3
LENT: Mapping[tuple[str, str], tuple[str, ...]] = {("COD10K", OPEN): ("CAMO", "NC4K")}
"""(source, class) -> sources that have only the opposite class and take this one in (Table 7 has two classes there)."""


@dataclass(frozen=True)
class Picture:
    """One picture of a class: its bytes, the record it comes from, and the region that decides, in pixels."""

    media: Media
    source: str
    record: str
    licence: str
    box: Box | None = None


@dataclass(frozen=True)
class Concept:
    """A class and its pictures, no two of the same bytes."""

    label: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class ConceptTask:
    """What the paper calls a task: the classes of one object of one source."""

    source: str
    object: str
    industry: Industry
    level: Level
    classes: tuple[Concept, ...]


@dataclass
class Dropped:
    """What was left out: examples by reason, in the order found."""

    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, name: str) -> None:
        """Leave out one more."""
        self.reasons.setdefault(reason, []).append(name)

    def notes(self, what: str) -> list[str]:
        """One line a reason, for the card: how many, and the first few."""
        return [
            f"{len(names)} {what} left out, {reason}: {', '.join(names[:EXAMPLES_TOLD])}"
            + (", …" if len(names) > EXAMPLES_TOLD else "")
            for reason, names in self.reasons.items()
        ]


Draws = Mapping[tuple[str, str], Mapping[str, Reservoir[Sample]]]
"""(source, object) -> class -> records."""


def read_records(folders: Mapping[str, Path]) -> Iterator[Sample]:
    """The records of all datasets, one after the other."""
    for name, path in folders.items():
        yield from DATASETS.get(name).samples(path)


def draw_records(records: Iterable[Sample], sources: Sequence[str], most: int, seed: int) -> Draws:
    """At most `most` records of every class, drawn by the seed; sources that take a class in draw theirs (`LENT`)."""
    drawn: dict[tuple[str, str], dict[str, Reservoir[Sample]]] = {}
    for record in records:
        for source in (record.source, *LENT.get((record.source, record.label), ())):
            if source not in sources:
                continue
            classes = drawn.setdefault((source, record.object), {})
            if record.label not in classes:
                rng = stream(SUITE, VERSION, seed, "pictures", source, record.object, record.label)
                classes[record.label] = Reservoir[Sample](most, rng)
            classes[record.label].offer(record)
    return drawn


def keep_classes(drawn: Draws, most: int, seed: int, dropped: Dropped) -> Draws:
    """Classes with enough records and a name of their own; of tasks with more than `most` so many, by the seed.

    A task keeps one list of classes for all its queries, so that one description of them serves all (`instructions`).
    """
    kept: dict[tuple[str, str], dict[str, Reservoir[Sample]]] = {}
    for (source, thing), classes in drawn.items():
        names: dict[str, str] = {}
        for label, draw in classes.items():
            where = f"{source}/{thing}/{label}"
            if draw.offered < MIN_PICTURES:
                dropped.add(f"fewer than {MIN_PICTURES} pictures", where)
            elif (bare := " ".join(label.casefold().split())) in names:
                dropped.add(f"no reply could tell the name from that of {names[bare]!r}", where)
            else:
                names[bare] = label
        labels = list(names.values())
        if len(labels) > most:
            order = stream(SUITE, VERSION, seed, "classes", source, thing).permutation(len(labels))
            for n in order[most:]:
                dropped.add(f"more than {most} classes in its task", f"{source}/{thing}/{labels[int(n)]}")
            labels = [labels[int(n)] for n in sorted(order[:most])]
        if len(labels) < MIN_CLASSES:
            dropped.add("nothing to tell them from", f"{source}/{thing} ({', '.join(labels) or 'no class'})")
        else:
            kept[source, thing] = {label: classes[label] for label in labels}
    return kept


class Whole(NamedTuple):
    """What a record holds: bytes as they are, their format, (width, height) and the deciding region in pixels."""

    raw: bytes
    format: str
    size: tuple[int, int]
    box: Box | None


def read_whole(record: Sample) -> Whole | str:
    """What a record holds, or why it cannot be used.

    The picture is decoded once, so that no subject meets a damaged one.
    """
    from PIL import Image

    try:
        raw, format = record.read_picture()
        with Image.open(io.BytesIO(raw)) as picture:
            size = picture.size
            picture.draft("L", (64, 64))  # of JPEG only an eighth is decoded: enough to find where it breaks off
            picture.load()
    except (SnellenError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return "the picture cannot be read"
    try:
        box = record.annotations[0].find_box()
    except SnellenError:
        return "the mask cannot be read"
    return Whole(raw, format, size, None if box is None else _within(box, size))


def _within(box: Box, size: tuple[int, int]) -> Box | None:
    """The part of a box that lies in the picture."""
    x1, y1, x2, y2 = max(0.0, box[0]), max(0.0, box[1]), min(float(size[0]), box[2]), min(float(size[1]), box[3])
    return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None


def read_tasks(
    drawn: Draws,
    media: MediaFolder,
    dropped: Dropped,
    workers: int = 1,
    tick: Callable[[int], None] = lambda count: None,
) -> list[ConceptTask]:
    """Read and keep every picture. `tick` is told of every class how many records it had."""
    tasks = []
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for (source, thing), classes in drawn.items():
            read = {}
            for label, draw in classes.items():
                told = pool.map(read_whole, draw.samples)
                read[label] = _kept(zip(draw.samples, told, strict=True), media, dropped)
                tick(len(draw.samples))
            concepts = unambiguous(f"{source}/{thing}", read, dropped)
            if len(concepts) >= MIN_CLASSES:
                row = VFM_DATASETS[source]
                tasks.append(ConceptTask(source, thing, row.industry, row.level, concepts))
            else:
                dropped.add("nothing to tell them from", f"{source}/{thing}")
    return tasks


def _kept(
    read: Iterable[tuple[Sample, Whole | str]],
    media: MediaFolder,
    dropped: Dropped,
) -> list[Picture]:
    held = []
    for record, told in read:
        if isinstance(told, str):
            dropped.add(told, f"{record.source}/{record.record_id}")
        else:
            one = media.add(told.raw, "picture", told.format, told.size)
            held.append(Picture(one, record.source, record.record_id, record.licence, told.box))
    return held


def unambiguous(where: str, read: Mapping[str, Sequence[Picture]], dropped: Dropped) -> tuple[Concept, ...]:
    """The classes of a task without pictures that two of them share, each picture once, by bytes; those with enough.

    A picture in two classes has no right answer. Of copies within a class the first stays.
    """
    classes_of = Counter(sha for pictures in read.values() for sha in {one.media.sha256 for one in pictures})
    concepts = []
    for label, pictures in read.items():
        kept: dict[str, Picture] = {}
        for one in pictures:
            if classes_of[one.media.sha256] > 1:
                dropped.add("the same bytes are in two classes of the task", f"{one.source}/{one.record}")
            elif one.media.sha256 in kept:
                dropped.add("a copy of another one of its class", f"{one.source}/{one.record}")
            else:
                kept[one.media.sha256] = one
        if len(kept) >= MIN_PICTURES:
            concepts.append(Concept(label, tuple(kept.values())))
        else:
            dropped.add(f"fewer than {MIN_PICTURES} different pictures", f"{where}/{label}")
    return tuple(concepts)
