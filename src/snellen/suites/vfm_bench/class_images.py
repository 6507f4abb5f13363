"""The competing classes made from records of real datasets: drawn, read, and without duplicate images."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media
from snellen.core.item_checks import size_fault
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder, open_image
from snellen.curation.draws import Reservoir
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.near_copies import thumbnail
from snellen.datasets.hub_tables import reading_order
from snellen.datasets.image_files import image_oddity, levels_fault
from snellen.datasets.sample import Sample
from snellen.suites.vfm_bench.items import SHOTS, STREAMS, SUITE, Level

MIN_IMAGES, MIN_CLASSES = SHOTS + 1, 2
"""Minimum images per class (five demos and the query), and minimum classes per task."""
READ_AHEAD = 64
"""Number of images whose bytes are in memory at once."""
UNIT = "images, classes or tasks"
"""The unit counted by the ledger."""
NOT_COMPETING = "fewer than two classes"
Industry: TypeAlias = Literal["Manufacture", "E-commerce", "Agriculture", "Medical", "Own"]
"""Spelled as in the release of VFM Bench; `Own` stands for the user's images."""
Sources: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""(source, class) -> other sources that borrow this class."""


@dataclass(frozen=True)
class DatasetRow:
    """Industry and level from Table 7, the number of images from Table 5, and notes on differences."""

    industry: Industry
    level: Level
    images: int
    notes: str = ""


@dataclass(frozen=True)
class ClassImage:
    """One image of a class: its bytes, its record, and the deciding region in pixels.

    `grey` is a small copy (`near_copies.thumbnail`); `oddity` is what of it may not arrive (`image_oddity`).
    `original` is the hash of the image of which it is a near copy, "" if it is none.
    """

    media: Media
    source: str
    record: str
    licence: str
    box: Box | None = None
    grey: bytes = field(default=b"", repr=False)
    oddity: str = ""
    original: str = ""


@dataclass(frozen=True)
class Concept:
    """A class and its images, all with different bytes."""

    label: str
    images: tuple[ClassImage, ...]


@dataclass(frozen=True)
class ConceptTask:
    """A task in the paper's sense: the classes of one object of one source.

    `scene` is its name in the instruction, empty if that follows from object and level.
    """

    source: str
    object: str
    industry: Industry
    level: Level
    classes: tuple[Concept, ...]
    scene: str = ""


Draws = Mapping[tuple[str, str], Mapping[str, Reservoir[Sample]]]
"""(source, object) -> class -> records."""


def draw_records(
    records: Iterable[Sample], sources: Sequence[str], max_images: int, seed: int, borrowers: Sources
) -> Draws:
    """At most `max_images` records of every class, drawn by the seed, separately for those that borrow a class."""
    draws: dict[tuple[str, str], dict[str, Reservoir[Sample]]] = {}
    for record in records:
        for source in (record.source, *borrowers.get((record.source, record.label), ())):
            if source not in sources:
                continue
            classes = draws.setdefault((source, record.object), {})
            if record.label not in classes:
                rng = stream(SUITE, STREAMS, seed, "pictures", source, record.object, record.label)
                classes[record.label] = Reservoir[Sample](max_images, rng)
            classes[record.label].offer(record)
    return draws


def keep_classes(draws: Draws, max_classes: int, seed: int, ledger: Ledger) -> Draws:
    """Classes with enough records and a distinct name, at most `max_classes` per task, drawn by the seed.

    All queries of a task have the same classes, so that one description of them serves all (`instructions`).
    """
    competing: dict[tuple[str, str], dict[str, Reservoir[Sample]]] = {}
    for (source, object_name), classes in draws.items():
        labels_by_name: dict[str, str] = {}
        for label, draw in classes.items():
            name = " ".join(label.casefold().split())
            example = f"{source}/{object_name}/{label}"
            if draw.offered < MIN_IMAGES:
                ledger.drop(UNIT, ANY_SOURCE, f"fewer than {MIN_IMAGES} images", example)
            elif name in labels_by_name:
                rule = f"the name cannot be distinguished from {labels_by_name[name]!r} in a reply"
                ledger.drop(UNIT, ANY_SOURCE, rule, example)
            else:
                labels_by_name[name] = label
        labels = list(labels_by_name.values())
        if len(labels) > max_classes:
            order = stream(SUITE, STREAMS, seed, "classes", source, object_name).permutation(len(labels))
            for n in order[max_classes:]:
                rule = f"more than {max_classes} classes in its task"
                ledger.drop(UNIT, ANY_SOURCE, rule, f"{source}/{object_name}/{labels[int(n)]}")
            labels = [labels[int(n)] for n in sorted(order[:max_classes])]
        if len(labels) < MIN_CLASSES:
            example = f"{source}/{object_name} ({', '.join(labels) or 'no class'})"
            ledger.drop(UNIT, ANY_SOURCE, NOT_COMPETING, example)
        else:
            competing[source, object_name] = {label: classes[label] for label in labels}
    return competing


class RecordContent(NamedTuple):
    """The content of a record: bytes, format, (width, height), deciding region in pixels; see `ClassImage`."""

    raw: bytes
    format: str
    size: tuple[int, int]
    box: Box | None
    grey: bytes
    oddity: str


def _read_bytes(record: Sample) -> tuple[bytes, str] | None:
    try:
        return record.read_image()
    except (SnellenError, OSError, ValueError, SyntaxError):
        return None


def read_content(record: Sample, content: tuple[bytes, str] | None) -> RecordContent | str:
    """The content of a record, or the reason it cannot be used; `content` is bytes and format, None if unreadable.

    The image is decoded once, so that no subject gets a damaged one.
    """
    from PIL import Image

    if content is None:
        return "the image cannot be read"
    raw, format = content
    try:
        with open_image(io.BytesIO(raw)) as image:
            size = image.size
            if size_fault(*size):
                return "the image is larger than 64 million pixels; shrink it first"
            image.draft("L", (64, 64))  # decodes a JPEG at an eighth of its size, enough to detect truncation
            image.load()
            if fault := levels_fault(image):
                return f"the image has {fault}"
            grey, oddity = thumbnail(image), image_oddity(image)
    except (SnellenError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return "the image cannot be read"
    try:
        box = record.annotations[0].find_box()
    except SnellenError:
        return "the mask cannot be read"
    return RecordContent(raw, format, size, None if box is None else _within(box, size), grey, oddity)


def _within(box: Box, size: tuple[int, int]) -> Box | None:
    """The part of a box that is inside the image."""
    x1, y1, x2, y2 = max(0.0, box[0]), max(0.0, box[1]), min(float(size[0]), box[2]), min(float(size[1]), box[3])
    return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None


def read_tasks(
    draws: Draws,
    media: MediaFolder,
    ledger: Ledger,
    workers: int = 1,
    tick: Callable[[int], None] = lambda count: None,
    *,
    row_of_source: Mapping[str, DatasetRow],
) -> list[ConceptTask]:
    """Read and store all images, `READ_AHEAD` at a time; `tick` gets the number of images read.

    `row_of_source` has industry and level.
    """
    tasks = []
    samples = [sample for classes in draws.values() for draw in classes.values() for sample in draw.samples]
    samples.sort(key=lambda sample: reading_order(sample.image))
    by_record: dict[int, ClassImage] = {}
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for start in range(0, len(samples), READ_AHEAD):
            batch = samples[start : start + READ_AHEAD]
            # Bytes are read here in sequence, so that rows of shards are read in order; threads decode.
            contents = pool.map(read_content, batch, map(_read_bytes, batch))
            by_record |= _keep_readable(zip(batch, contents, strict=True), media, ledger)
            tick(len(batch))
    for (source, object_name), classes in draws.items():
        images = {
            label: [by_record[id(sample)] for sample in draw.samples if id(sample) in by_record]
            for label, draw in classes.items()
        }
        concepts = unambiguous(f"{source}/{object_name}", images, ledger)
        if len(concepts) >= MIN_CLASSES:
            row = row_of_source[source]
            tasks.append(ConceptTask(source, object_name, row.industry, row.level, concepts))
        else:
            ledger.drop(UNIT, ANY_SOURCE, NOT_COMPETING, f"{source}/{object_name}")
    return tasks


def _keep_readable(
    contents: Iterable[tuple[Sample, RecordContent | str]], media: MediaFolder, ledger: Ledger
) -> dict[int, ClassImage]:
    """The stored images, by identity of the sample, since a record may be drawn for two tasks."""
    images = {}
    for record, content in contents:
        if isinstance(content, str):
            ledger.drop(UNIT, ANY_SOURCE, content, f"{record.source}/{record.record_id}")
        else:
            stored = media.add(content.raw, "image", content.format, content.size)
            images[id(record)] = ClassImage(
                stored, record.source, record.record_id, record.licence, content.box, content.grey, content.oddity
            )
    return images


def unambiguous(task: str, images: Mapping[str, Sequence[ClassImage]], ledger: Ledger) -> tuple[Concept, ...]:
    """The classes of a task that have enough images after removing duplicates, compared by bytes.

    Images in two classes have no right answer and are all removed; of copies within a class the first is kept.
    """
    classes_of = Counter(sha for of_class in images.values() for sha in {image.media.sha256 for image in of_class})
    concepts = []
    for label, of_class in images.items():
        by_hash: dict[str, ClassImage] = {}
        for image in of_class:
            sha, example = image.media.sha256, f"{image.source}/{image.record}"
            if classes_of[sha] > 1:
                ledger.drop(UNIT, ANY_SOURCE, "the same bytes are in two classes of the task", example)
            elif sha in by_hash:
                ledger.drop(UNIT, ANY_SOURCE, "a copy of another image of its class", example)
            else:
                by_hash[sha] = image
        if len(by_hash) >= MIN_IMAGES:
            concepts.append(Concept(label, tuple(by_hash.values())))
        else:
            ledger.drop(UNIT, ANY_SOURCE, f"fewer than {MIN_IMAGES} different images", f"{task}/{label}")
    return tuple(concepts)
