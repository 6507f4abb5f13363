"""Images of many solids on a floor, for questions about number, position, category, distance and colour.

No two solids overlap in the image, so each is fully visible. The camera is always two metres high and looks down by the
same angle, so that the position of a thing on the floor shows its distance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from types import MappingProxyType

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import COLOURS, Camera, Material, RenderSpec, Solid, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M
from snellen.stimuli.scenes.model import Shape, Vec3
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import outer_points
from snellen.stimuli.scenes.vectors import Array, apply_matrix
from snellen.suites.ava_bench.items import SUITE, VERSION
from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS, group_materials
from snellen.suites.ava_bench.scenes.scenes import (
    Rect,
    Tally,
    apart,
    box_round,
    clear,
    dealt,
    evenly,
    extent,
    inside,
    lit,
    seen_box,
    share_of,
    shorter_side,
    stretched_solid,
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
"""Nine kinds of things: a primitive and factors along its axes.

The everyday names exclude each other: a disk is not a drum, though both are cylinders. All kinds can fill a third of
the image, so that size reveals nothing about the kind.
"""
COUNTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"1-5": (1, 5), "6-10": (6, 10), "11-20": (11, 20), "21-40": (21, 40)}
)
"""The four ranges of counting."""
SINGLES, COUNTED, MAX_SOLIDS = 4, 3, 40
"""Kinds with one thing each (the last is a spare one), kinds that are counted, and the maximum of solids in total."""
_FEW, _SIX, _TWELVE, _MANY = COUNTS
FOUR = ((_MANY, _TWELVE, _FEW), (_MANY, _TWELVE, _FEW), (_MANY, _SIX, _SIX), (_TWELVE, _SIX, _FEW))
"""Ranges of counts on four tables: each range three times."""
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
"""The same on twelve tables, each range nine times, with one sparse table: at most 40 solids allow no more of these."""
SIZES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"0.1-0.2": (0.108, 0.15), "0.2-0.3": (0.208, 0.25), "0.3-0.5": (0.308, 0.34)}
)
"""Wanted shares of the image's area for the boxes of large things, by range of the suite."""
_SMALL, _MIDDLE, _LARGE = SIZES
BIG = ((_LARGE,), (_MIDDLE, _SMALL))
"""Sizes of large things, alternating between tables: with small ones three single things per table, each size once in
six."""
HEIGHT_M, DOWN_DEG, FOV_DEG, AHEAD_M = 2.0, 27.0, 50.0, 6.0
"""The camera's height, tilt and field of view; the world's origin is on the floor, `AHEAD_M` in front of it."""
NEAR_M, FAR_M = 2.2, 9.8
"""The range of distances of things from the camera along the floor."""
LARGE_AT_M = (2.3, 4.6)
"""The same for large things, most of them near: a thing as high as the camera hides the floor behind it."""
BINS = tuple(f"{low}-{low + 1}" for low in range(2, 10))
"""Options of absolute depth: the bins of these distances."""
COLOUR_SOURCES = (*COLOURS, "floor", "floor")
"""Sources of colour patches: matt things of each colour, and floors, which have many more colours."""
SCALE, MIN_SCALE, A_METRE = (0.24, 0.40), 0.11, (0.024, 0.075)
"""Scale of small things in metres; its minimum if space is scarce; its bounds per metre of distance."""
TURN_DEG = 40.0
"""The maximum turn to either side: a brick seen end on would look like a cube."""
GAP_SHARE, BORDER_SHARE = 0.008, 0.01
"""Gaps between two things and around all, as shares of the image's width."""
MIN_SIDE, MIN_SINGLE_SIDE = 0.018, 0.042
"""The shortest side of a thing's box, and of the only thing of its kind, as shares of the image's width."""
ROD_M, ROD_AT_M = (1.0, 0.08, 0.08), (3.0, 6.0)
"""Size of the wooden rod across every table, which has a known size; the range of its distance along the floor."""
_TRIES, _TRIES_LARGE, _STARTS = 500, 40, 5000
"""Positions tried for a small and a large thing, and attempts at a table.

With a very large thing, two flat ones and 36 to count, 1 attempt in 250 succeeds (seed 1, n = 100).
"""
_SLACK_PX = 1e-6
"""Tolerance for early rejections, since two computations of the same point differ in the last digits."""


Placed = tuple[Solid, Rect]
"""A solid and its box in the image."""


@dataclass(frozen=True)
class TableContent:
    """The content of a table.

    Kinds with one thing each, with the range of its size ("" for small ones); kinds to be counted, with their numbers;
    the sources of the three colour patches (`COLOUR_SOURCES`); and the colour of most things of each counted kind.
    """

    alone: tuple[str, ...]
    sizes: tuple[str, ...]
    counted: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    shades: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table to render. Solids are named by number, `kinds` are theirs in order, and the last solid is the rod.

    `counted` are kinds to be counted, and `singles` the numbers of things that are the only ones of their kind, large
    ones first.
    """

    shot: RenderSpec
    content: TableContent
    kinds: tuple[str, ...]

    @property
    def counted(self) -> tuple[str, ...]:
        """Kinds to be counted."""
        return self.content.counted

    @property
    def singles(self) -> range:
        """Numbers of things that are the only ones of their kind, large ones first."""
        return range(len(self.content.alone))

    def least_px(self, kind: str, colour: str = "") -> float:
        """The shortest side of any box of a kind, or of those in a colour, in pixels."""
        solids = zip(self.shot.scene.solids, self.kinds, strict=False)  # the rod has no kind
        return min(
            shorter_side(seen_box(solid, self.shot.camera))
            for solid, name in solids
            if name == kind and colour in ("", solid.material.colour)
        )

    def count(self, kind: str) -> int:
        """The number of things of a kind."""
        return self.kinds.count(kind)


def plural(kind: str) -> str:
    """The plural of a kind, e.g. `cubes`."""
    return f"{kind}s"


def draw_contents(count: int, rng: np.random.Generator) -> list[TableContent]:
    """The contents of `count` tables, with equally frequent ranges of counts, sizes, kinds in each, and colours."""
    tally, contents = Tally(), []
    colours = dealt(COLOUR_SOURCES, COUNTED * count, rng)
    for number in range(count):
        ranges = _ranges(number, count)
        free = list(KINDS)
        counted = [_kind(free, "counts", range_name, tally, rng) for range_name in ranges]
        large = BIG[number % len(BIG)]
        sizes = (*large, *[""] * (SINGLES - len(large)))
        alone = [_kind(free, "sizes" if n < COUNTED else "spare", size, tally, rng) for n, size in enumerate(sizes)]
        table_colours = tuple(colours[COUNTED * number : COUNTED * (number + 1)])
        contents.append(TableContent(tuple(alone), sizes, tuple(counted), _counts(ranges, rng), table_colours))
    shades = dealt(COLOURS, COUNTED * count, rng)
    return [
        replace(content, shades=tuple(shades[COUNTED * n : COUNTED * (n + 1)])) for n, content in enumerate(contents)
    ]


def _ranges(number: int, count: int) -> tuple[str, ...]:
    """The ranges of table `number` of `count`: full dozens first, then fours."""
    dozens = len(DOZEN) * (count // len(DOZEN))
    return DOZEN[number % len(DOZEN)] if number < dozens else FOUR[(number - dozens) % len(FOUR)]


def _kind(free: list[str], role: str, level: str, tally: Tally, rng: np.random.Generator) -> str:
    """A kind for a role, removed from those that are free."""
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
    """A number in each range, within `MAX_SOLIDS`: the remainder is distributed in random order."""
    counts = [COUNTS[range_name][0] for range_name in ranges]
    remaining = MAX_SOLIDS - SINGLES - sum(counts)
    for n in rng.permutation(len(ranges)):
        low, high = COUNTS[ranges[n]]
        more = int(rng.integers(min(high - low, remaining) + 1))
        counts[n], remaining = counts[n] + more, remaining - more
    return tuple(counts)


def draw_table(content: TableContent, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Table:
    """Table `number` of a split. Raises SnellenError if there is no room for things, which has not occurred yet."""
    camera = table_camera(size_px)
    groups = _draw_group_materials(content, stream(SUITE, VERSION, seed, "groups", split, number))
    for start in range(_STARTS):
        rng = stream(SUITE, VERSION, seed, "table", split, number, start)
        bands = [int(n) for n in rng.permutation(SINGLES)]
        materials = _draw_materials(content, bands, groups, rng)
        rod = _rod(rng, camera)
        singles = _singles(content, bands, materials, rng, camera, rod)
        if singles and (solids := _with_groups(content, singles, materials, rng, camera, rod)):
            noise = seed_of(SUITE, VERSION, seed, "table noise", split, number)
            return Table(RenderSpec(lit((*solids, rod[0]), rng), camera, noise), content, _kinds(content))
    raise SnellenError(
        f"{SUITE}: no room for the things on table {number} ({split}) in {_STARTS} attempts; give another --seed"
    )


def table_camera(size_px: tuple[int, int]) -> Camera:
    """The camera of every table."""
    down = math.radians(DOWN_DEG)
    eye = (0.0, -AHEAD_M, HEIGHT_M)
    aim = (0.0, -AHEAD_M + math.cos(down), HEIGHT_M - math.sin(down))
    return Camera(eye, aim, horizontal_fov_deg=FOV_DEG, width_px=size_px[0], height_px=size_px[1])


def _kinds(content: TableContent) -> tuple[str, ...]:
    """The kinds of all solids in order."""
    groups = [kind for kind, count in zip(content.counted, content.counts, strict=True) for _ in range(count)]
    return (*content.alone, *groups)


def _rod(rng: np.random.Generator, camera: Camera) -> Placed:
    """The rod at a drawn position across the table."""
    ahead = float(rng.uniform(*ROD_AT_M))
    room = ahead * math.tan(math.radians(FOV_DEG / 2)) - ROD_M[0]
    position = float(rng.uniform(-room, room)), ahead - AHEAD_M, ROD_M[2] / 2 + FLOOR_GAP_M
    rod = stretched_solid("rod", "cube", Material("wood"), position, ROD_M)
    return rod, seen_box(rod, camera)


def _singles(
    content: TableContent,
    bands: Sequence[int],
    materials: Sequence[Material],
    rng: np.random.Generator,
    camera: Camera,
    rod: Placed,
) -> list[Placed]:
    """The only things of their kinds, placed so that each answer of spatial is true of some two of them.

    Empty if one has no room, or if no two are left above and right below each other, or left below and right above.
    """
    placed: list[Placed] = []
    for number, (kind, size) in enumerate(zip(content.alone, content.sizes, strict=True)):
        boxes = [rod[1], *(box for _, box in placed)]
        single = _set_single(str(number), kind, materials[number], boxes, camera, rng, size, bands[number])
        if single is None:
            return []
        placed.append(single)
    pairs = [pair for pair in combinations([box for _, box in placed], 2) if clear(*pair, gap_px=2.0)]
    falling = {(a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs}
    return placed if len(falling) == 2 else []


def _with_groups(
    content: TableContent,
    singles: Sequence[Placed],
    materials: Sequence[Material],
    rng: np.random.Generator,
    camera: Camera,
    rod: Placed,
) -> tuple[Solid, ...]:
    """All things except the rod; empty if one has no room."""
    solids, boxes = [solid for solid, _ in singles], [rod[1], *(box for _, box in singles)]
    for number, kind in list(enumerate(_kinds(content)))[SINGLES:]:
        placed = _set(str(number), kind, materials[number], boxes, camera, rng, (NEAR_M, FAR_M), MIN_SIDE)
        if placed is None:
            return ()
        solids.append(placed[0])
        boxes.append(placed[1])
    return tuple(solids)


def _draw_group_materials(content: TableContent, rng: np.random.Generator) -> list[Material]:
    """The materials of the things to be counted, in order; most things of a kind have one colour."""
    return [
        material
        for n, shade in zip(content.counts, content.shades, strict=True)
        for material in group_materials(n, shade, rng)
    ]


def _draw_materials(
    content: TableContent, bands: Sequence[int], groups: Sequence[Material], rng: np.random.Generator
) -> list[Material]:
    """The materials of things: the nearest single ones matt, in the colours of the content, then the groups."""
    materials = dealt(TABLE_MATERIALS, len(_kinds(content)), rng)
    materials[SINGLES:] = groups
    nearest = sorted(range(SINGLES), key=lambda n: (not content.sizes[n], bands[n]))
    for number, colour in zip(nearest, content.colours, strict=False):
        if matt := [
            material for material in TABLE_MATERIALS if material.kind == "rubber" and material.colour == colour
        ]:
            materials[number] = matt[0]
    return materials


def _set_single(
    name: str,
    kind: str,
    material: Material,
    boxes: list[Rect],
    camera: Camera,
    rng: np.random.Generator,
    size: str,
    band: int,
) -> Placed | None:
    """The only thing of its kind: a large one of a given size, or a small one in one of the bands of depth."""
    if not size:
        step = (FAR_M / NEAR_M) ** (1 / SINGLES)
        near = NEAR_M * step**band
        return _set(name, kind, material, boxes, camera, rng, (near, near * step), MIN_SINGLE_SIDE)
    low, high = SIZES[size]
    for _ in range(_TRIES_LARGE):
        ahead = LARGE_AT_M[0] + (LARGE_AT_M[1] - LARGE_AT_M[0]) * float(rng.uniform()) ** 2
        angle = float(rng.uniform(-TURN_DEG, TURN_DEG))
        across = float(rng.uniform(-0.8, 0.8)) * ahead * math.tan(math.radians(FOV_DEG / 2))
        position, share = (across, ahead - AHEAD_M), float(rng.uniform(low, high))
        if not _point_may_fit((*position, FLOOR_GAP_M), boxes, camera):
            continue
        scale = _scale_for(kind, share, position, angle, camera)
        solid = standing(name, kind, material, position, angle, scale)
        box = seen_box(solid, camera)
        if low <= share_of(box, camera) <= high and _fits(box, boxes, camera):
            return solid, box
    return None


def _set(
    name: str,
    kind: str,
    material: Material,
    boxes: list[Rect],
    camera: Camera,
    rng: np.random.Generator,
    between_m: tuple[float, float],
    min_side: float,
) -> Placed | None:
    """A small thing at a free position between two distances, and its box; smaller if there is no room for it."""
    scale, steps = float(rng.uniform(*SCALE)), math.log(between_m[1] / between_m[0])
    for _ in range(_TRIES):
        ahead = between_m[0] * math.exp(steps * float(rng.uniform()))
        across = float(rng.uniform(-1, 1)) * ahead * math.tan(math.radians(FOV_DEG / 2))
        limited_scale = max(min(scale, A_METRE[1] * ahead), MIN_SCALE, A_METRE[0] * ahead)
        position, angle = (across, ahead - AHEAD_M), float(rng.uniform(-TURN_DEG, TURN_DEG))
        if _may_fit(kind, position, angle, limited_scale, boxes, camera, min_side):
            solid = standing(name, kind, material, position, angle, limited_scale)
            box = seen_box(solid, camera)
            if min(_sides(box)) >= min_side * camera.width_px and _fits(box, boxes, camera):
                return solid, box
        scale *= 0.96
    return None


def _fits(box: Rect, boxes: list[Rect], camera: Camera) -> bool:
    """True if a box is inside the image and apart from all others."""
    gap = GAP_SHARE * camera.width_px
    return inside(box, camera, BORDER_SHARE * camera.width_px) and all(apart(box, other, gap) for other in boxes)


def _sides(box: Rect) -> tuple[float, float]:
    return box[2] - box[0], box[3] - box[1]


def _may_fit(
    kind: str,
    position_m: tuple[float, float],
    turn_deg: float,
    scale: float,
    boxes: list[Rect],
    camera: Camera,
    min_side: float,
) -> bool:
    """False only for things that are too small or do not fit: a cheap test by a few points that ends most draws.

    The middle must fit; the box around the solid must be large enough in the image, since the solid is no larger; and
    some points of the surface must fit, since the whole is no smaller. Most draws end before arrays are used.
    """
    centre = _centre(kind, position_m, scale)
    if not _point_may_fit(centre, boxes, camera):
        return False
    cosine, sine = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    corners = [
        _pixel(
            centre[0] + scale * (u * cosine - v * sine),
            centre[1] + scale * (u * sine + v * cosine),
            centre[2] + scale * w,
            camera,
        )
        for u, v, w in _box_corners(kind)
    ]
    across, along = zip(*corners, strict=True)
    if min(max(across) - min(across), max(along) - min(along)) + _SLACK_PX < min_side * camera.width_px:
        return False
    rotation = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    pixels, _ = project(camera, scale * apply_matrix(rotation, _surface(kind)) + np.array(centre))
    x1, y1, x2, y2 = box_round(pixels)
    return _fits((x1 + _SLACK_PX, y1 + _SLACK_PX, x2 - _SLACK_PX, y2 - _SLACK_PX), boxes, camera)


def _point_may_fit(point_m: Vec3, boxes: list[Rect], camera: Camera) -> bool:
    """False only if no solid that contains this point (its foot, or its middle) fits."""
    x, y = _pixel(*point_m, camera)
    return _fits((x + _SLACK_PX, y + _SLACK_PX, x - _SLACK_PX, y - _SLACK_PX), boxes, camera)


def _pixel(x: float, y: float, z: float, camera: Camera) -> tuple[float, float]:
    """The position of a point in the image of `table_camera`, as by `project`, in plain floats."""
    ahead, below = y + AHEAD_M, HEIGHT_M - z
    cosine, sine = math.cos(math.radians(DOWN_DEG)), math.sin(math.radians(DOWN_DEG))
    scale_px = camera.width_px / 2 / math.tan(math.radians(FOV_DEG / 2)) / (ahead * cosine + below * sine)
    return camera.width_px / 2 + scale_px * x, camera.height_px / 2 - scale_px * (ahead * sine - below * cosine)


@cache
def _surface(kind: str) -> Array:
    """Some points (n, 3) of the surface of a thing at scale 1 about its middle."""
    shape, factors = KINDS[kind]
    return outer_points(shape) * factors


@cache
def _box_corners(kind: str) -> tuple[Vec3, ...]:
    """The corners of the box around a thing at scale 1, about its middle."""
    shape, factors = KINDS[kind]
    x, y, z = (unit * factor / 2 for unit, factor in zip(extent(shape), factors, strict=True))
    return tuple(product((-x, x), (-y, y), (-z, z)))


def standing(
    name: str, kind: str, material: Material, position_m: tuple[float, float], turn_deg: float, scale: float
) -> Solid:
    """A thing on the floor."""
    shape, factors = KINDS[kind]
    x, y, z = (scale * unit * factor for unit, factor in zip(extent(shape), factors, strict=True))
    return stretched_solid(
        name, shape, material, _centre(kind, position_m, scale), (x, y, z), turn((0.0, 0.0, 1.0), turn_deg)
    )


def _centre(kind: str, position_m: tuple[float, float], scale: float) -> Vec3:
    shape, factors = KINDS[kind]
    return *position_m, scale * extent(shape)[2] * factors[2] / 2 + FLOOR_GAP_M


def _scale_for(kind: str, share: float, position_m: tuple[float, float], turn_deg: float, camera: Camera) -> float:
    """The scale at which a thing at this position fills about that share of the image, in two steps."""
    scale = 0.6
    for _ in range(2):
        area_share = share_of(
            seen_box(standing("0", kind, TABLE_MATERIALS[0], position_m, turn_deg, scale), camera), camera
        )
        scale *= math.sqrt(share / area_share)
    return scale
