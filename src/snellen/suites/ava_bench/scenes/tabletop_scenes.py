"""Pictures of many solids on a floor: how many there are, where, what, how far away, of which colour.

No two solids cover each other in the picture, so that all of each is seen. The camera always stands two metres high and
looks down by the same angle: how far a thing is shows in where it stands on the floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import COLOURS, Camera, Material, RenderSpec, Solid, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M
from snellen.stimuli.scenes.model import Shape, Vec3
from snellen.stimuli.scenes.raster import project
from snellen.suites.ava_bench.items import SUITE, VERSION
from snellen.suites.ava_bench.scenes.materials import STUFFS, group_stuffs
from snellen.suites.ava_bench.scenes.scenes import (
    Rect,
    Tally,
    apart,
    clear,
    dealt,
    evenly,
    extent,
    inside,
    lit,
    piece,
    seen_box,
    share_of,
)

KINDS: Mapping[str, tuple[Shape, Vec3]] = MappingProxyType(
    {
        "cube": ("cube", (1.0, 1.0, 1.0)),
        "ball": ("sphere", (1.0, 1.0, 1.0)),
        "drum": ("cylinder", (1.0, 1.0, 1.0)),
        "cone": ("cone", (1.0, 1.0, 1.0)),
        "lampshade": ("frustum", (1.0, 1.0, 1.0)),
        "brick": ("cube", (1.7, 0.7, 0.6)),
        "tile": ("cube", (1.3, 1.3, 0.22)),
        "disk": ("cylinder", (1.3, 1.3, 0.22)),
        "egg": ("sphere", (0.85, 0.85, 1.2)),
    }
)
"""Nine kinds of thing: a primitive and factors along its axes.

Everyday names, none of which another kind could claim: a disk is no drum, while both are cylinders. All of them can
fill a third of the picture, so that size tells nothing of the kind.
"""
COUNTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"1-5": (1, 5), "6-10": (6, 10), "11-20": (11, 20), "21-40": (21, 40)}
)
"""The four ranges of counting."""
SINGLES, COUNTED, MOST = 4, 3, 40
"""Kinds of which there is one thing (the last is a spare one); kinds that are counted; solids in all."""
_FEW, _SIX, _TWELVE, _MANY = COUNTS
FOUR = ((_MANY, _TWELVE, _FEW), (_MANY, _TWELVE, _FEW), (_MANY, _SIX, _SIX), (_TWELVE, _SIX, _FEW))
"""Ranges of what is counted on four tables: each range three times."""
DOZEN = (
    *FOUR[:3],
    (_FEW, _FEW, _FEW),
    *FOUR[:3],
    (_TWELVE, _TWELVE, _SIX),
    (_MANY, _TWELVE, _FEW),
    (_MANY, _SIX, _SIX),
    (_MANY, _SIX, _FEW),
    (_TWELVE, _TWELVE, _SIX),
)
"""The same on twelve, nine times each, with one sparse table: more of them are not to be had with 40 solids at most."""
SIZES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"0.1-0.2": (0.108, 0.15), "0.2-0.3": (0.208, 0.25), "0.3-0.5": (0.308, 0.34)}
)
"""Shares of the picture's area wanted for the boxes of large things, by range of the suite."""
_SMALL, _MIDDLE, _LARGE = SIZES
BIG = ((_LARGE,), (_MIDDLE, _SMALL))
"""Large things, from table to table in turn: with little ones three single things a table, each size once in six."""
HEIGHT_M, DOWN_DEG, FOV_DEG, AHEAD_M = 2.0, 27.0, 50.0, 6.0
"""Of the camera; `AHEAD_M` in front of it, on the floor, is the world's origin."""
NEAR_M, FAR_M = 2.2, 9.8
"""How far things stand from the camera along the floor."""
LARGE_AT_M = (2.3, 4.6)
"""The same of large things, most of them near: what is as high as the camera shows no floor behind it."""
BINS = tuple(f"{low}-{low + 1}" for low in range(2, 10))
"""Offered in absolute depth: what comes up at these distances."""
COLOURS_ASKED = (*COLOURS, "floor", "floor")
"""Where a patch of colour is taken from: matt things of each colour, and floors, which come in many more."""
SCALE, MIN_SCALE, A_METRE = (0.24, 0.40), 0.11, (0.024, 0.075)
"""Of little things in metres; where room is scarce down to the second. Least and most for each metre of distance."""
TURN_DEG = 40.0
"""To either side: a brick seen end on would pass for a cube."""
GAP_SHARE, BORDER_SHARE = 0.008, 0.01
"""Between two things, and round all of them, as shares of the picture's width."""
MIN_SIDE, MIN_SINGLE_SIDE = 0.018, 0.042
"""Of the box of any thing, and of one that is alone in its kind, as a share of the picture's width."""
_TRIES, _TRIES_LARGE, _STARTS = 500, 40, 400


Placed = tuple[Solid, Rect]
"""A solid and its box in the picture."""


@dataclass(frozen=True)
class Wanted:
    """What a table is to hold.

    Kinds of which there is one thing, with the range of its size ("" for little ones); kinds to be counted, with their
    numbers; where the three patches of colour are to be taken from (`COLOURS_ASKED`); and the colour that most things
    of each counted kind have.
    """

    alone: tuple[str, ...]
    sizes: tuple[str, ...]
    counted: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    shades: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A picture to be taken. Solids are named by their number; `kinds` are theirs, in order.

    `counted` are kinds to be counted, and `singles` are the numbers of things without another of their kind, large ones
    first.
    """

    shot: RenderSpec
    wanted: Wanted
    kinds: tuple[str, ...]

    @property
    def counted(self) -> tuple[str, ...]:
        """Kinds to be counted."""
        return self.wanted.counted

    @property
    def singles(self) -> range:
        """Numbers of things without another of their kind, large ones first."""
        return range(len(self.wanted.alone))

    def count(self, kind: str) -> int:
        """How many there are of a kind."""
        return self.kinds.count(kind)


def plural(kind: str) -> str:
    """`cubes`."""
    return f"{kind}s"


def wanted(count: int, rng: np.random.Generator) -> list[Wanted]:
    """What so many tables hold: ranges of counts, sizes, kinds in either and colours each as often as any other."""
    tally, found = Tally(), []
    colours = dealt(COLOURS_ASKED, COUNTED * count, rng)
    for place in range(count):
        ranges = _ranges(place, count)
        free = list(KINDS)
        counted = [_kind(free, "counts", one, tally, rng) for one in ranges]
        large = BIG[place % len(BIG)]
        sizes = (*large, *[""] * (SINGLES - len(large)))
        alone = [_kind(free, "sizes" if n < COUNTED else "spare", one, tally, rng) for n, one in enumerate(sizes)]
        mine = tuple(colours[COUNTED * place : COUNTED * (place + 1)])
        found.append(Wanted(tuple(alone), sizes, tuple(counted), _counts(ranges, rng), mine))
    shades = dealt(COLOURS, COUNTED * count, rng)
    return [replace(one, shades=tuple(shades[COUNTED * n : COUNTED * (n + 1)])) for n, one in enumerate(found)]


def _ranges(place: int, count: int) -> tuple[str, ...]:
    """Of table `place` of `count`: as many dozens as there are, then fours."""
    dozens = len(DOZEN) * (count // len(DOZEN))
    return DOZEN[place % len(DOZEN)] if place < dozens else FOUR[(place - dozens) % len(FOUR)]


def _kind(free: list[str], role: str, level: str, tally: Tally, rng: np.random.Generator) -> str:
    """A kind for a role, taken from those that are free."""
    size = len(KINDS) * (len(SIZES) + 1)
    chosen = evenly(
        free,
        lambda kind: {role: kind, f"{role} by level": (level, kind)},
        {role: len(KINDS), f"{role} by level": size},
        tally,
        rng,
    )
    free.remove(chosen)
    return chosen


def _counts(ranges: Sequence[str], rng: np.random.Generator) -> tuple[int, ...]:
    """A number in each range, such that there is room for all: what is left over is shared out in a random order."""
    found = [COUNTS[one][0] for one in ranges]
    left = MOST - SINGLES - sum(found)
    for n in rng.permutation(len(ranges)):
        low, high = COUNTS[ranges[n]]
        more = int(rng.integers(min(high - low, left) + 1))
        found[n], left = found[n] + more, left - more
    return tuple(found)


def draw_table(told: Wanted, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Table:
    """Table `number` of a split. Raises SnellenError where things find no room, which has not been seen."""
    view = camera(size_px)
    groups = _of_groups(told, stream(SUITE, VERSION, seed, "groups", split, number))
    for start in range(_STARTS):
        rng = stream(SUITE, VERSION, seed, "table", split, number, start)
        bands = [int(n) for n in rng.permutation(SINGLES)]
        stuffs = _stuffs(told, bands, groups, rng)
        singles = _singles(told, bands, stuffs, rng, view)
        if singles and (solids := _with_groups(told, singles, stuffs, rng, view)):
            noise = seed_of(SUITE, VERSION, seed, "table noise", split, number)
            return Table(RenderSpec(lit(solids, rng), view, noise), told, _kinds(told))
    raise SnellenError(
        f"{SUITE}: the things of table {number} ({split}) find no room in {_STARTS} starts; give another --seed"
    )


def camera(size_px: tuple[int, int]) -> Camera:
    """The camera of every table."""
    down = math.radians(DOWN_DEG)
    eye = (0.0, -AHEAD_M, HEIGHT_M)
    aim = (0.0, -AHEAD_M + math.cos(down), HEIGHT_M - math.sin(down))
    return Camera(eye, aim, horizontal_fov_deg=FOV_DEG, width_px=size_px[0], height_px=size_px[1])


def _kinds(told: Wanted) -> tuple[str, ...]:
    """Of all solids in order."""
    groups = [kind for kind, count in zip(told.counted, told.counts, strict=True) for _ in range(count)]
    return (*told.alone, *groups)


def _singles(
    told: Wanted, bands: Sequence[int], stuffs: Sequence[Material], rng: np.random.Generator, view: Camera
) -> list[Placed]:
    """Things that are alone in their kind, so placed that each answer of spatial is true of some two of them.

    None where one finds no room, or where no two are left above and right below each other, or left below and right
    above.
    """
    made: list[Placed] = []
    for number, (kind, size) in enumerate(zip(told.alone, told.sizes, strict=True)):
        boxes = [box for _, box in made]
        found = _set_single(str(number), kind, stuffs[number], boxes, view, rng, size, bands[number])
        if found is None:
            return []
        made.append(found)
    pairs = [pair for pair in combinations([box for _, box in made], 2) if clear(*pair, gap_px=2.0)]
    falling = {(a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs}
    return made if len(falling) == 2 else []


def _with_groups(
    told: Wanted, singles: Sequence[Placed], stuffs: Sequence[Material], rng: np.random.Generator, view: Camera
) -> tuple[Solid, ...]:
    """All things; none where one finds no room."""
    solids, boxes = [solid for solid, _ in singles], [box for _, box in singles]
    for number, kind in list(enumerate(_kinds(told)))[SINGLES:]:
        found = _set(str(number), kind, stuffs[number], boxes, view, rng, (NEAR_M, FAR_M), MIN_SIDE)
        if found is None:
            return ()
        solids.append(found[0])
        boxes.append(found[1])
    return tuple(solids)


def _of_groups(told: Wanted, rng: np.random.Generator) -> list[Material]:
    """What the things to be counted are made of, in order: of each kind most in one colour."""
    return [one for n, shade in zip(told.counts, told.shades, strict=True) for one in group_stuffs(n, shade, rng)]


def _stuffs(told: Wanted, bands: Sequence[int], groups: Sequence[Material], rng: np.random.Generator) -> list[Material]:
    """What things are made of: the nearest single ones of matt stuff in the colours wanted, then the groups."""
    found = dealt(STUFFS, len(_kinds(told)), rng)
    found[SINGLES:] = groups
    nearest = sorted(range(SINGLES), key=lambda n: (not told.sizes[n], bands[n]))
    for number, colour in zip(nearest, told.colours, strict=False):
        if matt := [one for one in STUFFS if one.kind == "rubber" and one.colour == colour]:
            found[number] = matt[0]
    return found


def _set_single(
    name: str,
    kind: str,
    stuff: Material,
    boxes: list[Rect],
    view: Camera,
    rng: np.random.Generator,
    size: str,
    band: int,
) -> Placed | None:
    """A thing that is alone in its kind: a large one of a size, or a little one in one of the bands of depth."""
    if not size:
        step = (FAR_M / NEAR_M) ** (1 / SINGLES)
        near = NEAR_M * step**band
        return _set(name, kind, stuff, boxes, view, rng, (near, near * step), MIN_SINGLE_SIDE)
    low, high = SIZES[size]
    for _ in range(_TRIES_LARGE):
        ahead = LARGE_AT_M[0] + (LARGE_AT_M[1] - LARGE_AT_M[0]) * float(rng.uniform()) ** 2
        angle = float(rng.uniform(-TURN_DEG, TURN_DEG))
        across = float(rng.uniform(-0.8, 0.8)) * ahead * math.tan(math.radians(FOV_DEG / 2))
        place, share = (across, ahead - AHEAD_M), float(rng.uniform(low, high))
        scale = _scale_for(kind, share, place, angle, view)
        solid = standing(name, kind, stuff, place, angle, scale)
        box = seen_box(solid, view)
        if low <= share_of(box, view) <= high and _fits(box, boxes, view):
            return solid, box
    return None


def _set(
    name: str,
    kind: str,
    stuff: Material,
    boxes: list[Rect],
    view: Camera,
    rng: np.random.Generator,
    between_m: tuple[float, float],
    least_side: float,
) -> Placed | None:
    """A little thing in a free place between two distances, and its box; smaller where there is no room for it."""
    scale, steps = float(rng.uniform(*SCALE)), math.log(between_m[1] / between_m[0])
    for _ in range(_TRIES):
        ahead = between_m[0] * math.exp(steps * float(rng.uniform()))
        across = float(rng.uniform(-1, 1)) * ahead * math.tan(math.radians(FOV_DEG / 2))
        held = max(min(scale, A_METRE[1] * ahead), MIN_SCALE, A_METRE[0] * ahead)
        place, angle = (across, ahead - AHEAD_M), float(rng.uniform(-TURN_DEG, TURN_DEG))
        if not _taken(_centre(kind, place, held), boxes, view):
            solid = standing(name, kind, stuff, place, angle, held)
            box = seen_box(solid, view)
            large = min(box[2] - box[0], box[3] - box[1]) >= least_side * view.width_px
            if large and _fits(box, boxes, view):
                return solid, box
        scale *= 0.96
    return None


def _fits(box: Rect, boxes: list[Rect], view: Camera) -> bool:
    """Whether a box lies in the picture and apart from all others."""
    gap = GAP_SHARE * view.width_px
    return inside(box, view, BORDER_SHARE * view.width_px) and all(apart(box, other, gap) for other in boxes)


def _taken(centre_m: Vec3, boxes: list[Rect], view: Camera) -> bool:
    """Whether the middle of a thing lies in a box already: most draws are seen to be in vain by that alone."""
    ((x, y),), _ = project(view, np.array([centre_m]))
    return any(x1 <= x <= x2 and y1 <= y <= y2 for x1, y1, x2, y2 in boxes)


def standing(
    name: str, kind: str, stuff: Material, place_m: tuple[float, float], turn_deg: float, scale: float
) -> Solid:
    """A thing on the floor."""
    shape, factors = KINDS[kind]
    x, y, z = (scale * unit * factor for unit, factor in zip(extent(shape), factors, strict=True))
    return piece(name, shape, stuff, _centre(kind, place_m, scale), (x, y, z), turn((0.0, 0.0, 1.0), turn_deg))


def _centre(kind: str, place_m: tuple[float, float], scale: float) -> Vec3:
    shape, factors = KINDS[kind]
    return *place_m, scale * extent(shape)[2] * factors[2] / 2 + FLOOR_GAP_M


def _scale_for(kind: str, share: float, place_m: tuple[float, float], turn_deg: float, view: Camera) -> float:
    """The scale at which a thing in this place fills about that share of the picture; two steps are near enough."""
    scale = 0.6
    for _ in range(2):
        held = share_of(seen_box(standing("0", kind, STUFFS[0], place_m, turn_deg, scale), view), view)
        scale *= math.sqrt(share / held)
    return scale
