"""The `generated` recipe: rooms before and after an edit, composites with distractors, and clips, all rendered here.

For `n` test items per task there are 2n rooms (two images each) for Mat and Trk, n families of objects with images of
their own for each sequence, some families of eight images for calibration, and one pair of clips per video up to
twelve, more only if these give too few videos. Small sets (the checkup's and quick ones) have a single pair of clips.
No people are rendered. No test question about rooms or objects shares an image with another, except the two statements
of a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from snellen.core.build_options import BALANCE, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.least_px import least_px_notes, with_least_px
from snellen.core.seeds import seed_of, stream
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.render import Render, image_seconds, render_for_recipe, size_share
from snellen.stimuli.scenes import RenderSpec, box_around, truth
from snellen.stimuli.scenes.truth import least_extent_px
from snellen.suites.vlm2_bench.generated import clips, objects, rooms, views
from snellen.suites.vlm2_bench.generated.family_sequences import (
    SEQUENCE_TASKS,
    FamilySequence,
    draw_sequences,
    patterns_of,
)
from snellen.suites.vlm2_bench.generated.general_cues import room_items
from snellen.suites.vlm2_bench.generated.views import CameraPair
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, ImageSequence, sequence_items, sorted_pattern

FULL_COUNTS = {"gc-mat": 260, "gc-trk": 220, "oc-cpr": 360, "oc-cnt": 360, "oc-grp": 200, "oc-vid": 200}
"""Pairs or questions in the paper; `oc-vid` has as many as `pc-vid`."""
TASKS = tuple(FULL_COUNTS)
"""The tasks that can be rendered."""
CHECKUP_N, QUICK_N = 12, 4
MIN_CALIBRATION = 6
"""Minimum number of families for calibration, if there are twice as many test sequences in a task."""
MIN_CLIP_PAIRS = 12
"""Number of pairs of clips (clusters) up to which each video gets its own pair."""
SECONDS_A_IMAGE = {"fast": 0.47, "good": 1.3, "reference": 2.2}
SECONDS_A_FRAME, BYTES_A_IMAGE = {"fast": 0.16, "good": 0.16, "reference": 0.9}, 115_000
"""CPU time by quality, and disk space, for plans (`docs/benchmarks.md`). Frames in `good` are drawn in `fast`."""
NOUN = "object"
MARGIN = 0.04
"""Margin of a crop around the object, as a share of its larger side."""


@dataclass(frozen=True)
class EditedRoom:
    """A room to be rendered before and after its edit, and the task that asks about it.

    `number` is its index among the rooms with the same `stream_name`, the prefix of their random streams.
    """

    stream_name: str
    number: int
    change: rooms.RoomChange
    task: str

    @property
    def handle(self) -> str:
        """A name that is unique in the set."""
        return f"{self.number:04d}" + ("" if self.stream_name == "room" else f"-{self.stream_name.split()[0]}")


@dataclass(frozen=True)
class Design:
    """The images and clips needed, determined by the seed alone."""

    counts: Mapping[str, int]
    rooms: tuple[EditedRoom, ...]
    families: tuple[objects.ObjectFamily, ...]
    calibration: tuple[objects.ObjectFamily, ...]
    clips: tuple[clips.ClipPair, ...]
    sequences: tuple[FamilySequence, ...]

    def images(self) -> int:
        """The number of images to render, without the frames of clips."""
        return 2 * len(self.rooms) + sum(map(len, self.image_numbers()))

    def image_numbers(self) -> list[list[int]]:
        """For each test and calibration family, the numbers of its images that are in a sequence."""
        numbers: list[set[int]] = [set() for _ in (*self.families, *self.calibration)]
        for sequence in self.sequences:
            numbers[sequence.family].update(sequence.images)
        return list(map(sorted, numbers))

    def videos(self) -> int:
        """The number of videos made from the clips."""
        return min(self.counts["oc-vid"], clips.VIDEOS_A_PAIR * len(self.clips))

    def frames(self, options: BuildOptions) -> int:
        """The number of frames to render."""
        return 2 * clips.timing(options)[0] * len(self.clips)


def counts_of(options: BuildOptions) -> dict[str, int]:
    """Test items (or pairs) per task. Raises SnellenError for tasks that need real images, and for no items."""
    n = options.test_items(SUITE, CHECKUP_N, QUICK_N)
    if unknown := [task for task in options.tasks if task not in TASKS]:
        raise SnellenError(
            f"{SUITE}: {unknown[0]!r} cannot be generated (no people are rendered); available: {', '.join(TASKS)}; use "
            f"--from curated or released for real images"
        )
    return {
        task: (FULL_COUNTS[task] if options.full else n) if task in (options.tasks or TASKS) else 0 for task in TASKS
    }


def design(options: BuildOptions) -> Design:
    """Choose everything to be rendered."""
    counts, seed = counts_of(options), options.seed
    tested = max(counts[task] for task in SEQUENCE_TASKS)
    calibrated = max(-(-counts[task] // (2 * len(patterns_of(task, options)))) for task in SEQUENCE_TASKS)
    families = _families(tested + max(calibrated, min(-(-tested // 2), MIN_CALIBRATION)), seed)
    videos = counts["oc-vid"]
    pair_count = min(videos, max(MIN_CLIP_PAIRS, -(-videos // clips.VIDEOS_A_PAIR)))
    if options.size_notes():
        pair_count = min(pair_count, 1)
    pairs = tuple(clips.draw_pair(seed, number) for number in range(pair_count))
    drawn = tuple(draw_sequences(counts, tested, len(families) - tested, options))
    return Design(counts, tuple(_edited_rooms(counts, seed)), families[:tested], families[tested:], pairs, drawn)


def _edited_rooms(counts: Mapping[str, int], seed: int) -> Iterator[EditedRoom]:
    """The rooms of Mat, then those of Trk: statements of one task about a room would tell the answers of the other.

    Mat asks which part of the surroundings changed in colour. Trk asks how they changed, which the mean colour of an
    image would reveal, so there the floor's pattern changes.
    """
    for task in ("gc-mat", "gc-trk"):
        for n in range(counts[task]):
            edit = rooms.EDITS[n % len(rooms.EDITS)]
            is_pattern = (task, edit) == ("gc-trk", "environment")
            name = "pattern room" if is_pattern else "room" if task == "gc-mat" else "track room"
            rng = stream(SUITE, STREAMS, seed, name, n)
            change = rooms.pattern_change(rng) if is_pattern else rooms.random_change(edit, rng)
            exposed = rooms.exposed(change, stream(SUITE, STREAMS, seed, f"{name} exposure", n))
            yield EditedRoom(name, n, exposed, task)


def _families(count: int, seed: int) -> tuple[objects.ObjectFamily, ...]:
    """Families without common objects."""
    families: list[objects.ObjectFamily] = []
    taken: set[int] = set()
    number = 0
    while len(families) < count:
        family = objects.draw_family(stream(SUITE, STREAMS, seed, "family", number))
        number += 1
        if not taken & set(family.all()):
            families.append(family)
            taken |= set(family.all())
    return tuple(families)


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    opening: ClassVar = ("gc-mat", 10)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, sizes, renderer."""
        return {
            "counts": counts_of(options),
            "objects": len(design(options).families),
            "floor_patterns": list(rooms.ROOM_PATTERNS),
            **options.rendering(),
            "balance": options.balance or BALANCE,
            "clip_px": list(options.size_px),
            **({"clip_quality": _for_clips(options).quality} if options.renderer == "mitsuba" else {}),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images, frames, seconds and bytes."""
        plan = design(options)
        seconds = plan.images() * image_seconds(SECONDS_A_IMAGE, options)
        seconds += plan.frames(options) * image_seconds(SECONDS_A_FRAME, options)
        return {
            "suite": SUITE,
            "rooms": len(plan.rooms),
            "objects": len(plan.families) + len(plan.calibration),
            "images": plan.images(),
            "clips": 2 * len(plan.clips),
            "frames": plan.frames(options),
            "items": {**plan.counts, "oc-vid": plan.videos()},
            "seconds": round(seconds / options.workers),
            "bytes": round(plan.images() * BYTES_A_IMAGE * size_share(options)),
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render the images that the home folder lacks, then write the items."""
        refuse_existing(options.out)
        plan = design(options)
        media = MediaFolder(options.out / "media")
        balanced = [_balanced(room, options) for room in plan.rooms]
        plan, cameras = replace(plan, rooms=tuple(room for room, _ in balanced)), [pair for _, pair in balanced]
        specs = [*_room_specs(plan, options, cameras), *_object_specs(plan, options)]
        rendered, provenance = render_for_recipe(specs, options)
        frames, of_clips = render_for_recipe(list(_clip_specs(plan, options)), _for_clips(options))
        renders = iter((*rendered, *frames))
        items = [
            *_rooms(plan, options, cameras, renders, media),
            *_sequences(plan, options, renders, media),
            *clips.video_items(plan.clips, plan.videos(), options, renders, media),
        ]
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            provenance={**provenance, "render_clips": of_clips["render"]},
            notes=[
                "not covered of the paper: photographs; the tasks about people (no people are rendered)",
                *least_px_notes(items),
                *options.size_notes(),
            ],
            image_recipes=media.recipes,
        )


def _for_clips(options: BuildOptions) -> BuildOptions:
    """The options for clips: `fast` instead of `good`, since a clip has many frames."""
    return replace(options, quality="fast") if options.quality == "good" else options


def _room_specs(plan: Design, options: BuildOptions, cameras: Sequence[CameraPair]) -> Iterator[RenderSpec]:
    for edited, pair in zip(plan.rooms, cameras, strict=True):
        for which, (room, camera) in enumerate(zip((edited.change.before, edited.change.after), pair, strict=True)):
            noise = seed_of(SUITE, STREAMS, options.seed, f"{edited.stream_name} noise", edited.number, which)
            yield RenderSpec(room.scene(), camera, noise)


def _balanced(edited: EditedRoom, options: BuildOptions) -> tuple[EditedRoom, CameraPair]:
    rng = stream(SUITE, STREAMS, options.seed, f"{edited.stream_name} view", edited.number)
    change, cameras = views.balanced_views(edited.change, rng, options.size_px)
    return replace(edited, change=change), cameras


def _object_specs(plan: Design, options: BuildOptions) -> Iterator[RenderSpec]:
    families = (*plan.families, *plan.calibration)
    for number, (family, numbers) in enumerate(zip(families, plan.image_numbers(), strict=True)):
        for image in numbers:
            yield objects.image_spec(family.of_image(image), options.seed, (number, image), options.size_px)


def _clip_specs(plan: Design, options: BuildOptions) -> Iterator[RenderSpec]:
    for pair in plan.clips:
        for index in (pair.first, pair.second):
            yield from clips.clip_specs(index, pair, options.seed, clips.timing(options)[0], options.size_px)


def _rooms(
    plan: Design, options: BuildOptions, cameras: Sequence[CameraPair], renders: Iterator[Render], media: MediaFolder
) -> Iterator[Item]:
    for edited, pair in zip(plan.rooms, cameras, strict=True):
        images = media.add_file(*next(renders)), media.add_file(*next(renders))
        cues = "cues" if edited.stream_name == "room" else f"{edited.stream_name} cues"
        rng = stream(SUITE, STREAMS, options.seed, cues, edited.number)
        provenance = {"seed": options.seed, "room": edited.number}
        acuity = rooms.acuity(edited.change, pair)
        yield from room_items(edited.handle, edited.change, images, rng, provenance, edited.task, acuity)


def _sequences(plan: Design, options: BuildOptions, renders: Iterator[Render], media: MediaFolder) -> Iterator[Item]:
    """Items about sequences, task by task."""
    families = (*plan.families, *plan.calibration)
    stored = [
        _Family(number, family, numbers, media, renders, options)
        for number, (family, numbers) in enumerate(zip(families, plan.image_numbers(), strict=True))
    ]
    extents = {sha256: extent for family in stored for sha256, extent in family.extents.items()}
    for sequence in plan.sequences:
        images = stored[sequence.family].sequence(sequence, options.seed)
        yield from with_least_px(sequence_items(sequence.task, images, options.seed), extents)


class _Family:
    """The stored images of a family, with their boxes."""

    def __init__(
        self,
        number: int,
        family: objects.ObjectFamily,
        numbers: Sequence[int],
        media: MediaFolder,
        renders: Iterator[Render],
        options: BuildOptions,
    ) -> None:
        self.number, self.family = number, family
        self.images = {image: media.add_file(*next(renders)) for image in numbers}
        self.appearances, self.extents, self.boxes = {}, {}, {}
        for image, stored in self.images.items():
            index = family.of_image(image)
            spec = objects.image_spec(index, options.seed, (number, image), options.size_px)
            self.appearances[stored.sha256] = objects.appearance_of(index)
            self.extents[stored.sha256], self.boxes[stored.sha256] = least_extent_px(spec), _box(spec)

    def sequence(self, sequence: FamilySequence, seed: int) -> ImageSequence:
        """The image sequence with its truth."""
        images, order = tuple(self.images[number] for number in sequence.images), sequence.order
        appearances = [self.appearances[image.sha256] for image in images]
        return ImageSequence(
            sequence.handle,
            images,
            order,
            sorted_pattern(order),
            NOUN,
            f"object-{sequence.split}-{self.number:03d}",
            shows={image.sha256: self.appearances[image.sha256] for image in images},
            requires={question: objects.required(appearances, question) for question in ("same", "which")},
            provenance={"seed": seed, "family": self.number, "composites": list(self.family.all())},
            regions={"boxes": {image.sha256: self.boxes[image.sha256] for image in images}},
            split=sequence.split,
        )


def _box(spec: RenderSpec) -> list[float]:
    """The box around all solids, with a margin, within the image: [x1, y1, x2, y2] in pixels.

    Measured at half the resolution, since one of its pixels is less than the margin.
    """
    camera = replace(spec.camera, width_px=spec.camera.width_px // 2, height_px=spec.camera.height_px // 2)
    boxes = [solid.visible_box for solid in truth(spec.scene, camera, detail=1).solids if solid.visible_box]
    return box_around([(2 * x1, 2 * y1, 2 * x2, 2 * y2) for x1, y1, x2, y2 in boxes], MARGIN, spec.camera)
