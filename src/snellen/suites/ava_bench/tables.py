"""Pictures of many solids on a floor: how many there are, where, what, how far away, of which colour.

No two solids cover each other in the picture, so that all of each is seen. The camera always stands two metres high and
looks down by the same angle: how far a thing is shows in where it stands on the floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import COLOURS, Camera, Material, Shot, Solid, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M
from snellen.stimuli.scenes.composites import MATERIAL_LOOKS
from snellen.stimuli.scenes.model import Shape, Vec3
from snellen.stimuli.scenes.raster import project
from snellen.suites.ava_bench.items import SUITE, VERSION
from snellen.suites.ava_bench.scenes import Rect, apart, dealt, extent, inside, lit, piece, seen_box

KINDS: Mapping[str, tuple[Shape, Vec3]] = MappingProxyType(
    {
        "cube": ("cube", (1.0, 1.0, 1.0)),
        "ball": ("sphere", (1.0, 1.0, 1.0)),
        "drum": ("cylinder", (1.0, 1.0, 1.0)),
        "cone": ("cone", (1.0, 1.0, 1.0)),
        "lampshade": ("frustum", (1.0, 1.0, 1.0)),
        "brick": ("cube", (1.7, 0.7, 0.6)),
        "disk": ("cylinder", (1.3, 1.3, 0.22)),
        "egg": ("sphere", (0.8, 0.8, 1.35)),
        "pole": ("cylinder", (0.34, 0.34, 1.5)),
    }
)
"""Nine kinds of thing: a primitive and factors along its axes.

Everyday names, none of which another kind could claim: a disk is no drum, while both are cylinders.
"""
STUFFS: tuple[Material, ...] = tuple(one for one in MATERIAL_LOOKS if one.kind != "glass")
"""What things are made of; little things of glass could not be counted."""
ROUNDS = (((21, 31), (2, 5)), ((6, 10), (11, 18), (2, 5)), ((11, 12), (21, 24)), ((11, 18), (6, 10), (2, 5)))
"""How many of each kind that is counted there are, from table to table in turn: all four ranges of the suite."""
SINGLES = 4
"""Kinds of which there is one thing."""
SHARES = (0.14, 0.24, 0.34)
"""Of the picture's area, wanted for the large thing that every second table has."""
HEIGHT_M, DOWN_DEG, FOV_DEG, AHEAD_M = 2.0, 22.0, 50.0, 6.0
"""Of the camera; `AHEAD_M` in front of it, on the floor, is the world's origin."""
NEAR_M, FAR_M = 2.9, 11.2
"""How far things stand from the camera along the floor."""
BINS = tuple(f"{low}-{low + 1}" for low in range(2, 12))
"""Offered in absolute depth."""
COLOURS_ASKED = (*COLOURS, "floor", "floor")
"""Where a patch of colour is taken from: matt things of each colour, and floors, which come in many more."""
SCALE, LEAST_SCALE = (0.24, 0.40), 0.15
TURN_DEG = 40.0
"""To either side: a brick seen end on would pass for a cube."""
GAP_SHARE, BORDER_SHARE = 0.008, 0.01
"""Between two things, and round all of them, as shares of the picture's width."""
_TRIES, _STARTS = 240, 40


@dataclass(frozen=True)
class Table:
    """A picture to be taken. Solids are named by their number; `kinds` are theirs, in order.

    `counted` are kinds to be counted, and `singles` are the numbers of things without another of their kind, a large
    one first.
    """

    shot: Shot
    kinds: tuple[str, ...]
    counted: tuple[str, ...]
    singles: tuple[int, ...]

    def count(self, kind: str) -> int:
        """How many there are of a kind."""
        return self.kinds.count(kind)


def plural(kind: str) -> str:
    """`cubes`."""
    return f"{kind}s"


def draw_table(place: int, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Table:
    """Table `number` of a split; `place` says where in the turn of counts and sizes it stands.

    Raises SnellenError where things find no room, which has not been seen.
    """
    for start in range(_STARTS):
        rng = stream(SUITE, VERSION, seed, "table", split, number, start)
        if (made := _table(place, rng, size_px)) is not None:
            scene = lit(made[0], rng)
            noise = seed_of(SUITE, VERSION, seed, "table noise", split, number)
            return Table(Shot(scene, camera(size_px), noise), *made[1:])
    raise SnellenError(f"{SUITE}: the things of table {number} find no room in {_STARTS} starts")


def camera(size_px: tuple[int, int]) -> Camera:
    """The camera of every table."""
    down = math.radians(DOWN_DEG)
    eye = (0.0, -AHEAD_M, HEIGHT_M)
    aim = (0.0, -AHEAD_M + math.cos(down), HEIGHT_M - math.sin(down))
    return Camera(eye, aim, horizontal_fov_deg=FOV_DEG, width_px=size_px[0], height_px=size_px[1])


def _table(
    place: int, rng: np.random.Generator, size_px: tuple[int, int]
) -> tuple[tuple[Solid, ...], tuple[str, ...], tuple[str, ...], tuple[int, ...]] | None:
    """Solids, kinds, counted kinds and singles; None where one finds no room."""
    names = dealt(tuple(KINDS), len(KINDS), rng)
    ranges = ROUNDS[place % len(ROUNDS)]
    counted, alone = names[: len(ranges)], names[len(ranges) : len(ranges) + SINGLES]
    groups = [kind for kind, (low, high) in zip(counted, ranges, strict=True) for _ in range(_any(low, high, rng))]
    kinds = (*alone, *groups)
    stuffs = dealt(STUFFS, len(kinds), rng)
    view, boxes, solids = camera(size_px), list[Rect](), list[Solid]()
    far = rng.permutation(len(alone))
    for number, (kind, stuff) in enumerate(zip(kinds, stuffs, strict=True)):
        large = SHARES[(place // 2) % len(SHARES)] if number == 0 and place % 2 else 0.0
        band = (int(far[number]), len(alone)) if number < len(alone) else (0, 1)
        found = _set(str(number), kind, stuff, boxes, view, rng, large, band)
        if found is None:
            return None
        solids.append(found[0])
        boxes.append(found[1])
    return tuple(solids), kinds, tuple(counted), tuple(range(len(alone)))


def _any(low: int, high: int, rng: np.random.Generator) -> int:
    return int(rng.integers(low, high + 1))


def _set(
    name: str,
    kind: str,
    stuff: Material,
    boxes: list[Rect],
    view: Camera,
    rng: np.random.Generator,
    large: float,
    band: tuple[int, int],
) -> tuple[Solid, Rect] | None:
    """A thing in a free place and its box; smaller where there is no room for it. `large`: the share of the picture.

    `band` is (which, of how many) depths it may stand in.
    """
    scale = float(rng.uniform(*SCALE))
    steps, gap = math.log(FAR_M / NEAR_M) / band[1], GAP_SHARE * view.width_px
    for _ in range(_TRIES):
        if large:
            ahead = float(rng.uniform(3.6, 5.0))
            scale, large = _scale_for(kind, large, ahead, view), 0.96 * large
        else:
            ahead = NEAR_M * math.exp(steps * (band[0] + float(rng.uniform())))
        across = float(rng.uniform(-1, 1)) * ahead * math.tan(math.radians(FOV_DEG / 2))
        solid = standing(name, kind, stuff, (across, ahead - AHEAD_M), float(rng.uniform(-TURN_DEG, TURN_DEG)), scale)
        if not _taken(solid, boxes, view):
            box = seen_box(solid, view)
            if inside(box, view, BORDER_SHARE * view.width_px) and all(apart(box, other, gap) for other in boxes):
                return solid, box
        scale = max(LEAST_SCALE, scale * 0.985)
    return None


def _taken(solid: Solid, boxes: list[Rect], view: Camera) -> bool:
    """Whether the middle of a solid lies in a box already: most draws are seen to be in vain by that alone."""
    ((x, y),), _ = project(view, np.array([solid.pose.position_m]))
    return any(x1 <= x <= x2 and y1 <= y <= y2 for x1, y1, x2, y2 in boxes)


def standing(
    name: str, kind: str, stuff: Material, place_m: tuple[float, float], turn_deg: float, scale: float
) -> Solid:
    """A thing on the floor."""
    shape, factors = KINDS[kind]
    x, y, z = (scale * unit * factor for unit, factor in zip(extent(shape), factors, strict=True))
    centre = (*place_m, z / 2 + FLOOR_GAP_M)
    return piece(name, shape, stuff, centre, (x, y, z), turn((0.0, 0.0, 1.0), turn_deg))


def _scale_for(kind: str, share: float, ahead_m: float, view: Camera) -> float:
    """The scale at which a thing so far ahead fills about that share of the picture."""
    box = seen_box(standing("0", kind, STUFFS[0], (0.0, ahead_m - AHEAD_M), 30.0, 0.3), view)
    held = (box[2] - box[0]) * (box[3] - box[1]) / (view.width_px * view.height_px)
    return 0.3 * math.sqrt(share / held)
