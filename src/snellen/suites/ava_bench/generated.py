"""The `generated` recipe: pictures rendered here, each of which serves several abilities.

Tables of up to forty solids serve localization, counting, spatial, both depths, object and colour; displays of toys,
towers and plates serve orientation, fine-grained, texture and ocr. For `n` test items a task there are enough test
pictures for `n`, and four times as many to train on with 4 `n` items; no picture serves both. Emotion, action and scene
need real pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Split
from snellen.core.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.stimuli.render import shoot_for
from snellen.suites.ava_bench import asked_displays, asked_tables
from snellen.suites.ava_bench.displays import Display, draw_display, wanted
from snellen.suites.ava_bench.items import SUITE, VERSION, Shown
from snellen.suites.ava_bench.scenes import dealt
from snellen.suites.ava_bench.scoring import with_chance
from snellen.suites.ava_bench.tables import Table, draw_table

ON_TABLES = ("localization", "counting", "spatial", "absolute-depth", "relative-depth", "object", "colour")
ON_DISPLAYS = ("orientation", "fine-grained", "texture", "ocr")
TASKS = (*ON_TABLES, *ON_DISPLAYS)
CHECKUP_N, QUICK_N, FULL_N = 12, 4, 1600
"""Test items a task; the paper has 1,600 (orientation, spatial) to 7,000."""
SIZE_PX, QUICK_SIZE_PX = (384, 288), (240, 180)
TRAIN = 4
"""Training items for each test item: 80 percent."""
A_TABLE, A_DISPLAY = 2.5, 3.0
"""Items of a task that a picture serves, on average; of counting there are two and three by turns."""
SECONDS_A_PICTURE, BYTES_A_PICTURE = 2.4, 110_000
"""CPU time and disk of one picture, for plans."""


@dataclass(frozen=True)
class Design:
    """Test items a task, and how many pictures of each kind a split has."""

    counts: Mapping[str, int]
    tables: Mapping[Split, int]
    displays: Mapping[Split, int]

    def pictures(self) -> int:
        """How many pictures are drawn."""
        return sum(self.tables.values()) + sum(self.displays.values())


def counts_of(options: BuildOptions) -> dict[str, int]:
    """Test items a task. Raises SnellenError for tasks that need real pictures, or none at all."""
    n = FULL_N if options.full else options.test_items(SUITE, CHECKUP_N, QUICK_N)
    if unknown := [task for task in options.tasks if task not in TASKS]:
        raise SnellenError(
            f"{SUITE}: {unknown[0]!r} cannot be generated; there are {', '.join(TASKS)}, and --from curated or "
            f"released for real pictures"
        )
    return {task: n if task in (options.tasks or TASKS) else 0 for task in TASKS}


def design(options: BuildOptions) -> Design:
    """Decide how many pictures are needed."""
    counts = counts_of(options)
    tables = _enough(max(counts[task] for task in ON_TABLES), A_TABLE)
    displays = _enough(max(counts[task] for task in ON_DISPLAYS), A_DISPLAY)
    return Design(counts, {"test": tables, "train": TRAIN * tables}, {"test": displays, "train": TRAIN * displays})


def _enough(n: int, each: float) -> int:
    return int(-(-n // each))


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Counts, seed, size, renderer."""
        return {
            "counts": counts_of(options),
            "seed": options.seed,
            "full": options.full,
            "quick": options.quick,
            "size_px": list(_size(options)),
            "renderer": options.renderer,
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Pictures, seconds and bytes. `items` are for testing; there are four times as many to train on."""
        made = design(options)
        return {
            "suite": SUITE,
            "tables": sum(made.tables.values()),
            "displays": sum(made.displays.values()),
            "pictures": made.pictures(),
            "items": dict(made.counts),
            "train_items": {task: TRAIN * count for task, count in made.counts.items()},
            "seconds": round(made.pictures() * SECONDS_A_PICTURE / options.workers),
            "bytes": made.pictures() * BYTES_A_PICTURE,
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render what the home folder lacks, then write the items."""
        refuse_existing(options.out)
        made = design(options)
        media = MediaFolder(options.out / "media")
        tables, displays = draw_tables(made, options), draw_displays(made, options)
        shots = [*(table.shot for _, table in tables), *(display.shot for _, display in displays)]
        paths, drawn_by = shoot_for(shots, options)
        pictures = [media.add_file(path) for path in paths]
        items = [
            *_table_items(made, options, tables, pictures[: len(tables)], media),
            *_display_items(made, options, displays, pictures[len(tables) :], media),
        ]
        return write_itemset(
            options.out,
            with_chance(_numbered(items, options.seed)),
            source="generated",
            recipe=self.parameters(options),
            made_with=drawn_by,
            notes=["no faces, people or kinds of places are rendered, so that emotion, action and scene are absent"],
        )


def _size(options: BuildOptions) -> tuple[int, int]:
    return QUICK_SIZE_PX if options.quick else SIZE_PX


Tables = list[tuple[Split, Table]]
Displays = list[tuple[Split, Display]]


def draw_tables(made: Design, options: BuildOptions) -> Tables:
    """All tables with their splits."""
    return [
        (split, draw_table(n, n, options.seed, split, _size(options)))
        for split, count in made.tables.items()
        for n in range(count)
    ]


def draw_displays(made: Design, options: BuildOptions) -> Displays:
    """All displays with their splits."""
    found: Displays = []
    for split, count in made.displays.items():
        told = wanted(count, stream(SUITE, VERSION, options.seed, "wanted", split))
        found += [(split, draw_display(one, n, options.seed, split, _size(options))) for n, one in enumerate(told)]
    return found


def _turns(caps: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """(place, slot) of `count` items over pictures that serve so many each: every picture once, then again."""
    places = [(place, slot) for slot in range(max(caps, default=0)) for place, cap in enumerate(caps) if slot < cap]
    yield from places[:count]


def _asked(split: Split, n: int) -> int:
    return n if split == "test" else TRAIN * n


def _table_items(
    made: Design, options: BuildOptions, tables: Tables, pictures: Sequence[Media], media: MediaFolder
) -> Iterator[Item]:
    seen = [
        asked_tables.look_at(table, _pixels(media, picture))
        for (_, table), picture in zip(tables, pictures, strict=True)
    ]
    for split in made.tables:
        mine = [n for n, (held, _) in enumerate(tables) if held == split]
        for task in ON_TABLES:
            rng = stream(SUITE, VERSION, options.seed, "asked", split, task)
            turns = list(
                _turns([asked_tables.slots(task, tables[n][1]) for n in mine], _asked(split, made.counts[task]))
            )
            deck = dealt(asked_tables.WANTED[task], len(turns), rng)
            for (place, slot), want in zip(turns, deck, strict=True):
                number = mine[place]
                of = _of("table", number, pictures[number], split, options.seed, slot)
                yield asked_tables.table_item(task, seen[number], slot, want, of, rng)


def _display_items(
    made: Design, options: BuildOptions, displays: Displays, pictures: Sequence[Media], media: MediaFolder
) -> Iterator[Item]:
    cut = any(made.counts[task] for task in asked_displays.ON_CUTS)
    seen = [
        asked_displays.look_at(display, media.open(picture), media, cut)
        for (_, display), picture in zip(displays, pictures, strict=True)
    ]
    for split in made.displays:
        mine = [n for n, (held, _) in enumerate(displays) if held == split]
        for task in ON_DISPLAYS:
            rng = stream(SUITE, VERSION, options.seed, "asked", split, task)
            for place, turn in _turns([asked_displays.SLOTS] * len(mine), _asked(split, made.counts[task])):
                number, slot = mine[place], (turn + place) % asked_displays.SLOTS
                of = _of("display", number, pictures[number], split, options.seed, slot)
                if task in asked_displays.ON_CUTS:
                    of = replace(of, stimulus=f"{of.stimulus}-cut-{slot:02d}")
                yield asked_displays.display_item(task, seen[number], slot, of, rng)


def _of(sort: str, number: int, picture: Media, split: Split, seed: int, slot: int) -> Shown:
    return Shown(
        handle=f"{sort}-{number}-{slot}",
        picture=picture,
        cluster=f"generated/{sort}-{number:04d}",
        source="generated",
        split=split,
        stimulus=f"{sort}-{number:04d}",
        known=True,
        provenance={"source": "generated", "seed": seed, "picture": number, "slot": slot},
    )


def _numbered(items: Sequence[Item], seed: int) -> list[Item]:
    """Items in the order of ids whose numbers are drawn: a number that told the slot would tell the answer."""
    found = []
    for task in TASKS:
        mine = [item for item in items if item.task == task]
        numbers = stream(SUITE, VERSION, seed, "numbers", task).permutation(len(mine))
        for item, number in zip(mine, numbers, strict=True):
            name = f"{task}-{int(number):04d}"
            answer = tuple(item.answer) if isinstance(item.answer, list) else item.answer  # as it is read back
            found.append(replace(item, item_id=name, group_id=name, answer=answer))
    return sorted(found, key=lambda item: (TASKS.index(item.task), item.item_id))


def _pixels(media: MediaFolder, picture: Media) -> np.ndarray[Any, np.dtype[np.uint8]]:
    with media.open(picture) as opened:
        return np.asarray(opened.convert("RGB"))
