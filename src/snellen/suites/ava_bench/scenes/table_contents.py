"""What is on each table: kinds, sizes, counts and colours, drawn for all tables of a split before any is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import COLOURS
from snellen.stimuli.scenes.model import Shape, Vec3
from snellen.suites.ava_bench.items import DIFFICULTIES, HARD, MIDDLE, SUITE
from snellen.suites.ava_bench.scenes.scenes import Tally, dealt, evenly

KINDS: Mapping[str, tuple[Shape, Vec3]] = {
    "cube": ("cube", (1.0, 1.0, 1.0)),
    "ball": ("sphere", (1.0, 1.0, 1.0)),
    "drum": ("cylinder", (1.0, 1.0, 1.0)),
    "cone": ("cone", (1.0, 1.0, 1.0)),
    "lampshade": ("frustum", (1.0, 1.0, 1.0)),
    "brick": ("cube", (1.7, 0.7, 0.6)),
    "tile": ("cube", (1.3, 1.3, 0.22)),
    "disk": ("cylinder", (1.3, 1.3, 0.22)),
    "egg": ("sphere", (0.85, 0.85, 1.2)),
    "pebble": ("sphere", (1.3, 1.3, 0.4)),
    "plank": ("cube", (2.2, 0.6, 0.2)),
    "pillar": ("cube", (0.5, 0.5, 1.7)),
}
"""Twelve kinds of things: a primitive and factors along its axes.

The everyday names exclude each other: a disk is not a drum, though both are cylinders. All kinds occur in all sizes, so
that size reveals nothing about the kind.
"""
COUNTS: Mapping[str, tuple[int, int]] = {"1-5": (1, 5), "6-10": (6, 10), "11-20": (11, 20), "21-40": (21, 40)}
"""The four ranges of counting."""
SINGLES, COUNTED, MAX_SOLIDS = 5, 3, 60
"""Kinds with one thing each (the last two are spare ones), kinds that are counted, and the maximum of things in
total."""
_FEW, _SIX, _TWELVE, _MANY = COUNTS
RANGES = ((_MANY, _TWELVE, _FEW), (_FEW, _MANY, _TWELVE), (_SIX, _MANY, _SIX), (_TWELVE, _SIX, _FEW))
"""Ranges of counts on four successive tables: each range three times, and at most one kind of 21 to 40 per table."""
_BOUNDS = (
    (0.0755, 0.0995, 0.1005, 0.1995, 0.2005, 0.2995, 0.3005, 0.4),
    (0.0131, 0.0203, 0.0203, 0.0314, 0.0314, 0.0487, 0.0487, 0.0755),
    (0.0023, 0.0036, 0.0036, 0.0055, 0.0055, 0.0085, 0.0085, 0.0131),
)
AREAS: Mapping[str, tuple[tuple[float, float], ...]] = {
    name: tuple(zip(bounds[::2], bounds[1::2], strict=True)) for name, bounds in zip(DIFFICULTIES, _BOUNDS, strict=True)
}
"""Bounds of the areas of single things' boxes, as shares of the image, by difficulty, each equally frequent.

They are spread evenly on a logarithmic scale between the paper's bounds (0.002 to 0.5); large ones match the ranges of
`BOX_SIZES`.
"""
STEPS = 4
"""Ranges of areas per difficulty."""
COLOUR_SOURCES = (*COLOURS, "floor", "floor")
"""Sources of colour patches: matt things of each colour, and floors, which have many more colours."""
_TRIES = 200


@dataclass(frozen=True)
class TableContent:
    """The content of a table.

    Kinds with one thing each and the bounds of the area of its box; kinds to be counted, with their numbers; the
    sources of the three colour patches (`COLOUR_SOURCES`); and the colour of most things of each counted kind.
    """

    alone: tuple[str, ...]
    areas: tuple[tuple[float, float], ...]
    counted: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    shades: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of all things in order, single ones first."""
        groups = [kind for kind, count in zip(self.counted, self.counts, strict=True) for _ in range(count)]
        return (*self.alone, *groups)


def plural(kind: str) -> str:
    """The plural of a kind, e.g. `cubes`."""
    return f"{kind}s"


def difficulty(area_share: float) -> str:
    """The difficulty of finding a thing whose box has this share of the image: one of `DIFFICULTIES`."""
    return next((name for name, steps in AREAS.items() if area_share >= steps[0][0]), HARD)


def draw_contents(count: int, rng: np.random.Generator) -> list[TableContent]:
    """The contents of `count` tables, with equally frequent ranges of counts, sizes, kinds in each, and colours."""
    tally = Tally()
    ranges = [RANGES[number % len(RANGES)] for number in range(count)]
    counts = _counts(ranges, rng)
    colours = dealt(COLOUR_SOURCES, COUNTED * count, rng)
    shades = dealt(COLOURS, COUNTED * count, rng)
    contents = []
    for number in range(count):
        free = list(KINDS)
        counted = [_kind(free, "counts", n, range_name, tally, rng) for n, range_name in enumerate(ranges[number])]
        areas = _areas(number)
        roles = ["sizes"] * COUNTED + ["spare"] * (SINGLES - COUNTED)
        alone = [
            _kind(free, role, n, str(area), tally, rng) for n, (role, area) in enumerate(zip(roles, areas, strict=True))
        ]
        part = slice(COUNTED * number, COUNTED * (number + 1))
        contents.append(
            TableContent(tuple(alone), areas, tuple(counted), counts[number], tuple(colours[part]), tuple(shades[part]))
        )
    return contents


def _areas(number: int) -> tuple[tuple[float, float], ...]:
    """The bounds of areas on table `number`: one of each difficulty, in turns, and two spare ones that are not easy."""
    names, step = tuple(AREAS), number // len(AREAS)
    levels = [AREAS[names[(number + n) % len(names)]][(step + n) % STEPS] for n in range(COUNTED)]
    return (*levels, *(AREAS[name][(step + COUNTED) % STEPS] for name in (MIDDLE, HARD)))


def _kind(free: list[str], role: str, slot: int, level: str, tally: Tally, rng: np.random.Generator) -> str:
    """A kind for a role, removed from those that are free."""
    size = len(KINDS) * (len(AREAS) + 1)
    chosen = evenly(
        free,
        lambda kind: {role: kind, f"{role} {slot}": kind, f"{role} by level": (level, kind)},
        {role: len(KINDS), f"{role} {slot}": len(KINDS), f"{role} by level": size},
        tally,
        rng,
    )
    free.remove(chosen)
    return chosen


def _counts(ranges: Sequence[Sequence[str]], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Numbers of things to count on each table, uniform within each range, with no table above `MAX_SOLIDS`."""
    limit = MAX_SOLIDS - SINGLES
    for _ in range(_TRIES):
        tables = _dealt_counts(ranges, rng)
        for _ in range(_TRIES * len(ranges) + 1):
            excesses = [max(0, sum(counts) - limit) for counts in tables]
            if not any(excesses):
                return [tuple(counts) for counts in tables]
            # Exchange two numbers of one range, unless this makes matters worse.
            full, other = int(np.argmax(excesses)), int(rng.integers(len(tables)))
            n, m = int(rng.integers(COUNTED)), int(rng.integers(COUNTED))
            if ranges[full][n] != ranges[other][m] or tables[full][n] <= tables[other][m]:
                continue
            more = tables[full][n] - tables[other][m]
            if max(0, sum(tables[other]) + more - limit) < excesses[full]:
                tables[full][n], tables[other][m] = tables[other][m], tables[full][n]
    raise SnellenError(f"{SUITE}: no counts of at most {limit} things per table; give another --seed")


def _dealt_counts(ranges: Sequence[Sequence[str]], rng: np.random.Generator) -> list[list[int]]:
    uses = Counter(name for names in ranges for name in names)
    numbers = {
        name: dealt(tuple(range(low, high + 1)), uses[name], rng) for name, (low, high) in COUNTS.items() if uses[name]
    }
    return [[numbers[name].pop() for name in names] for names in ranges]
