"""The `generated` recipe: rendered images, each of which serves several abilities.

Tables of up to forty solids serve localization, counting, spatial, both depths, object and colour; displays of toys and
plates serve orientation and ocr; close-ups of towers serve fine-grained and texture. A table or display serves up to
three items per task; a display comes with three close-ups. For `n` test items per task there are two thirds as many
training tables and displays: two training items per test item (four in the paper's curated sets). A third as many are
for testing, but at least `MIN_SCENES`. No image serves both. Composite tasks ask about the same tables and need no
further images. Emotion, action and scene need real images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from snellen.compute import Shard, map_shards
from snellen.core.build_options import SIZE_PX, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Split
from snellen.core.least_px import least_px_notes, scene_notes
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.render import image_seconds, render_for_recipe, size_share
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.balance import imbalance_if_allowed
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import STREAMS, SUITE, ItemSource
from snellen.suites.ava_bench.scenes import display_scenes, table_contents
from snellen.suites.ava_bench.scenes.close_ups import SIDE_SHARE
from snellen.suites.ava_bench.scenes.display_scenes import Display, draw_display, slot_in_turn
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, display_truth
from snellen.suites.ava_bench.scenes.scenes import SLOTS
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table, draw_table
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopQuestions, tabletop_truth

CHECKUP_N, QUICK_N, FULL_N = 36, 4, 1600
"""Test items per task; the paper has 1,600 (orientation, spatial) to 7,000."""
MIN_SCENES = 20
"""The minimum number of tables, and of displays, for test items, if there are as many items: each is one cluster."""
SECONDS_A_IMAGE, BYTES_A_IMAGE = {"fast": 0.85, "good": 2.0, "reference": 2.5}, 250_000
"""CPU seconds by quality, and bytes, per image of the usual size, for plans (`docs/benchmarks.md`)."""
BATCH = 6
"""Images that a process composes at a time."""


def about_tabletops() -> dict[str, TabletopQuestions]:
    """The questions about tables by ability, atomic ones first."""
    return {ability.name: ability.tabletop for ability in _atomic_first() if ability.tabletop is not None}


def about_displays() -> dict[str, DisplayQuestions]:
    """The questions about displays by ability, atomic ones first."""
    return {ability.name: ability.display for ability in _atomic_first() if ability.display is not None}


def generated_tasks() -> tuple[str, ...]:
    """The tasks whose items can be generated: those about tables, about displays, then composites."""
    tasks = (*about_tabletops(), *about_displays())
    return tuple(sorted(tasks, key=lambda task: bool(ABILITIES[task].parts)))


def _atomic_first() -> list[Ability]:
    return sorted(ABILITIES.values(), key=lambda ability: bool(ability.parts))


@dataclass(frozen=True)
class Design:
    """Test items per task, and the number of images of each kind per split."""

    counts: Mapping[str, int]
    tables: Mapping[Split, int]
    displays: Mapping[Split, int]

    def items(self, task: str, split: Split) -> int:
        """The number of items of a task in a split; in training, all that its images serve."""
        images = self.tables if ABILITIES[task].display is None else self.displays
        return self.counts[task] if split == "test" or not self.counts[task] else SLOTS * images[split]

    def images(self) -> int:
        """The number of tables and displays."""
        return sum(self.tables.values()) + sum(self.displays.values())

    def close_ups(self) -> list[list[int]]:
        """The slots with close-ups per display of each split: those that an item is about."""
        tasks = [task for task, questions in about_displays().items() if questions.on_close_ups and self.counts[task]]
        displays: list[list[int]] = []
        for split, count in self.displays.items():
            slots: list[set[int]] = [set() for _ in range(count)]
            for task in tasks:
                for number, slot in self.display_turns(task, split):
                    slots[number].add(slot)
            displays += map(sorted, slots)
        return displays

    def display_turns(self, task: str, split: Split) -> list[tuple[int, int]]:
        """(number of the display in its split, slot) for each item of a task about displays."""
        turns = _turns([SLOTS] * self.displays[split], self.items(task, split))
        return [(index, slot_in_turn(index, turn)) for index, turn in turns]


def counts_of(options: BuildOptions) -> dict[str, int]:
    """Test items per task. Raises SnellenError for tasks that cannot be generated."""
    n = FULL_N if options.full else options.test_items(SUITE, CHECKUP_N, QUICK_N)
    tasks = generated_tasks()
    if unknown := [task for task in options.tasks if task not in tasks]:
        raise SnellenError(
            f"{SUITE}: {unknown[0]!r} cannot be generated; available: {', '.join(tasks)}; use --from curated or "
            f"released for real images"
        )
    return {task: n if task in (options.tasks or tasks) else 0 for task in tasks}


def make_design(options: BuildOptions) -> Design:
    """The numbers of items and images for these options."""
    counts = counts_of(options)
    both = about_tabletops(), about_displays()
    min_scenes = 1 if options.quick else MIN_SCENES
    counts_by_split = (_images(max(counts[task] for task in tasks), min_scenes, options.test_only) for tasks in both)
    return Design(counts, *counts_by_split)


def _images(n: int, min_scenes: int, test_only: bool) -> Mapping[Split, int]:
    """For testing a third as many as test items, but at least `min_scenes`; for training two thirds as many, or one."""
    third = -(-n // SLOTS)
    train = max(1, n - third) if n and not test_only else 0
    return {"test": max(third, min(n, min_scenes)), "train": train}


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, size, renderer."""
        design = make_design(replace(options, test_only=False))
        train = {task: design.items(task, "train") for task in generated_tasks()}
        return {"counts": dict(design.counts), "train_counts": train, **options.rendering()}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images, seconds and bytes. `items` are for testing, `train_items` for training, twice as many."""
        design, scale = make_design(options), size_share(options)
        close_ups, share = sum(map(len, design.close_ups())), SIDE_SHARE**2 * SIZE_PX[1] / SIZE_PX[0]
        seconds = design.images() * image_seconds(SECONDS_A_IMAGE, options)
        seconds += close_ups * image_seconds(SECONDS_A_IMAGE, options, share)
        return {
            "suite": SUITE,
            "tables": sum(design.tables.values()),
            "displays": sum(design.displays.values()),
            "close_ups": close_ups,
            "images": design.images() + close_ups,
            "items": dict(design.counts),
            "train_items": {task: design.items(task, "train") for task in generated_tasks()},
            "seconds": round(seconds / options.workers),
            "bytes": round((design.images() + close_ups * share) * BYTES_A_IMAGE * scale),
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render images missing in the home folder, then write the items."""
        refuse_existing(options.out)
        design = make_design(options)
        media = MediaFolder(options.out / "media")
        tables, displays = draw_tables(design, options), draw_displays(design, options)
        slots = design.close_ups()
        close_ups = [
            display.close_ups[slot]
            for (_, display), display_slots in zip(displays, slots, strict=True)
            for slot in display_slots
        ]
        shots = [*(table.shot for _, table in tables), *(display.shot for _, display in displays), *close_ups]
        renders, drawn_by = render_for_recipe(shots, options)
        images = [media.add_file(*render) for render in renders]
        split_at = len(tables), len(tables) + len(displays)
        unnumbered_items = [
            *_table_items(design, options, tables, images[: split_at[0]], media),
            *_display_items(design, options, displays, images[split_at[0] : split_at[1]], slots, images[split_at[1] :]),
        ]
        items = with_chance(_numbered(unnumbered_items, options.seed))
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            provenance=drawn_by,
            notes=[
                "not covered of the paper: photographs; emotion, action and scene (no faces, people or places are "
                "rendered)",
                *options.size_notes(),
                *scene_notes(items),
                *least_px_notes(items),
                *imbalance_if_allowed(items, options),
            ],
            image_recipes=media.recipes,
        )


Content = TypeVar("Content")
DrawnImage = TypeVar("DrawnImage")
Drawing: TypeAlias = tuple[
    Callable[[Content, int, int, str, tuple[int, int]], DrawnImage],
    tuple[tuple[int, Content], ...],
    Split,
    BuildOptions,
]
"""The function that composes images, their numbers and contents, their split, and the options of the build."""
Tables = list[tuple[Split, Table]]
Displays = list[tuple[Split, Display]]


def draw_tables(design: Design, options: BuildOptions) -> Tables:
    """All tables with their splits."""
    return _draw(design.tables, options, "wanted tables", table_contents.draw_contents, draw_table)


def draw_displays(design: Design, options: BuildOptions) -> Displays:
    """All displays with their splits."""
    return _draw(design.displays, options, "wanted", display_scenes.draw_contents, draw_display)


def _draw(
    counts: Mapping[Split, int],
    options: BuildOptions,
    stream_name: str,
    draw_contents: Callable[[int, np.random.Generator], list[Content]],
    draw_image: Callable[[Content, int, int, str, tuple[int, int]], DrawnImage],
) -> list[tuple[Split, DrawnImage]]:
    """The given number of images per split: first the contents of all, then each image."""
    shards: list[Shard[Drawing[Content, DrawnImage]]] = []
    for split, count in counts.items():
        contents = draw_contents(count, stream(SUITE, STREAMS, options.seed, stream_name, split))
        numbered = tuple(enumerate(contents))
        shards += [
            Shard(f"{stream_name} {split} {start}", (draw_image, numbered[start : start + BATCH], split, options))
            for start in range(0, count, BATCH)
        ]
    # Starting processes costs more than a few images do.
    workers = options.workers if sum(counts.values()) > 2 * BATCH else 1
    return [image for images in map_shards(_draw_images, shards, workers=workers) for image in images]


def _draw_images(drawing: Drawing[Content, DrawnImage]) -> list[tuple[Split, DrawnImage]]:
    draw_image, numbered, split, options = drawing
    return [(split, draw_image(content, number, options.seed, split, options.size_px)) for number, content in numbered]


def _turns(capacities: Sequence[int], count: int) -> list[tuple[int, int]]:
    """(index, slot) of `count` items over images with these capacities: every image once, then again."""
    slots = range(max(capacities, default=0))
    return [(index, slot) for slot in slots for index, capacity in enumerate(capacities) if slot < capacity][:count]


def _table_items(
    design: Design, options: BuildOptions, tables: Tables, images: Sequence[Media], media: MediaFolder
) -> Iterator[Item]:
    readers = [partial(_pixels, media, image) for image in images]
    truths = [tabletop_truth(table, reader) for (_, table), reader in zip(tables, readers, strict=True)]
    for split in design.tables:
        numbers = [n for n, (table_split, _) in enumerate(tables) if table_split == split]
        for task, questions in about_tabletops().items():
            turns = []
            capacities = [questions.capacity(truths[number]) for number in numbers]
            for index, slot in _turns(capacities, design.items(task, split)):
                number = numbers[index]
                source = _source("table", number, images[number], split, options.seed, slot)
                turns.append(ItemSlot(truths[number], slot, source))
            yield from questions.make_items(turns, stream(SUITE, STREAMS, options.seed, "asked", split, task))


def _display_items(
    design: Design,
    options: BuildOptions,
    displays: Displays,
    images: Sequence[Media],
    slots: Sequence[Sequence[int]],
    close_ups: Sequence[Media],
) -> Iterator[Item]:
    remaining = iter(close_ups)
    truths = [
        display_truth(display, {slot: next(remaining) for slot in display_slots})
        for (_, display), display_slots in zip(displays, slots, strict=True)
    ]
    for split in design.displays:
        numbers = [n for n, (display_split, _) in enumerate(displays) if display_split == split]
        for task, questions in about_displays().items():
            rng = stream(SUITE, STREAMS, options.seed, "asked", split, task)
            for index, slot in design.display_turns(task, split):
                number = numbers[index]
                source = _source("display", number, images[number], split, options.seed, slot)
                yield questions.make_item(truths[number], slot, source, rng)


def _source(sort: str, number: int, image: Media, split: Split, seed: int, slot: int) -> ItemSource:
    return ItemSource(
        handle=f"{sort}-{number}-{slot}",
        image=image,
        cluster=f"generated/{sort}-{number:04d}",
        dataset="generated",
        split=split,
        stimulus=f"{sort}-{number:04d}",
        known=True,
        provenance={"source": "generated", "seed": seed, "image": number, "slot": slot},
    )


def _numbered(items: Sequence[Item], seed: int) -> list[Item]:
    """Items sorted by ids with drawn numbers: a number that revealed the slot would reveal the answer."""
    numbered = []
    tasks = generated_tasks()
    for task in tasks:
        task_items = [item for item in items if item.task == task]
        numbers = stream(SUITE, STREAMS, seed, "numbers", task).permutation(len(task_items))
        for item, number in zip(task_items, numbers, strict=True):
            name = f"{task}-{int(number):04d}"
            numbered.append(replace(item, item_id=name, group_id=name))
    return sorted(numbered, key=lambda item: (tasks.index(item.task), item.item_id))


def _pixels(media: MediaFolder, image: Media) -> np.ndarray[Any, np.dtype[np.uint8]]:
    with media.open(image) as opened:
        return np.asarray(opened.convert("RGB"))
