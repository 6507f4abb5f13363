"""Images of many solids on a floor, for questions about number, position, category, distance and colour.

No two things overlap in the image, so each is fully visible. Neither the place of a thing in the image nor its size
reveals its distance: cameras differ (`viewpoints`), sizes in the image do not depend on the distance, and most
small single things stand on posts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import Material, RenderSpec, Solid
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M
from snellen.stimuli.scenes.model import Vec3
from snellen.suites.ava_bench.items import EASY, STREAMS, SUITE
from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS, group_materials
from snellen.suites.ava_bench.scenes.scenes import (
    Rect,
    apart,
    clear,
    dealt,
    inside,
    lit,
    log_uniform,
    seen_box,
    share_of,
    shorter_side,
    stretched_solid,
)
from snellen.suites.ava_bench.scenes.table_contents import SINGLES, TableContent, difficulty
from snellen.suites.ava_bench.scenes.table_objects import TableObject
from snellen.suites.ava_bench.scenes.viewpoints import AHEAD_M, Viewpoint, draw_viewpoint

NEAR_M, FAR_M = 3.2, 9.6
"""The range of distances of single things from the camera along the floor; each of its `BANDS` has one small thing."""
RAISED = (1.0, 0.95, 0.6, 0.4)
"""Shares of small single things on posts by band, nearest first: they appear where far things stand, or above."""
BANDS = len(RAISED)
APPARENT_M = 5.5
"""Things are raised at least to where the floor at this distance is seen."""
EASY_AT_M = (2.4, 6.5)
"""The range of distances of the largest thing, which stands on the floor."""
FARTHEST_M = 14.0
"""The greatest distance of counted things along the floor."""
SIDE_SHARE = (0.022, 0.07)
"""Size of counted things in the image: their scale, as a share of the image's width."""
TURN_DEG = 40.0
"""The maximum turn to either side: a brick seen end on would look like a cube."""
GAP_SHARE, BORDER_SHARE = 0.008, 0.01
"""Gaps between two things and around all, as shares of the image's width."""
MIN_SIDE = 0.018
"""The shortest side of a thing's box as a share of the image's width."""
FRAME_M, BAR_M, FRAME_AT_M = 1.0, 0.06, (2.6, 6.0)
"""Sides of the wooden frame on the floor of every table, which has a known size; the width and height of its bars; the
range of the distance of its near side along the floor."""
POST_SHARE, MIN_POST_M = 0.006, 0.1
"""Width of a post as a share of the image's width, and the least height of one."""
_TRIES, _TRIES_SINGLE, _STARTS = 500, 60, 40_000
"""Positions tried for a counted and a single thing, and attempts at a table."""
_SLACK_PX = 1e-6
"""Tolerance for early rejections, since two computations of the same point differ in the last digits."""


@dataclass(frozen=True)
class Placed:
    """Solids in position, and the boxes around them that nothing else may touch."""

    solids: tuple[Solid, ...]
    boxes: tuple[Rect, ...]


@dataclass(frozen=True)
class Table:
    """A table to render. Things are named by number, `kinds` are theirs in order; posts and the frame follow.

    `counted` are kinds to be counted, and `singles` the numbers of things that are the only ones of their kind.
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
        """Numbers of things that are the only ones of their kind."""
        return range(len(self.content.alone))

    def least_px(self, kind: str, colour: str = "") -> float:
        """The shortest side of any box of a kind, or of those in a colour, in pixels."""
        solids = zip(self.shot.scene.solids, self.kinds, strict=False)  # posts and the frame have no kind
        return min(
            shorter_side(seen_box(solid, self.shot.camera))
            for solid, name in solids
            if name == kind and colour in ("", solid.material.colour)
        )

    def count(self, kind: str) -> int:
        """The number of things of a kind."""
        return self.kinds.count(kind)


def draw_table(content: TableContent, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Table:
    """Table `number` of a split. Raises SnellenError if things have no room; a rare one takes over 4,000 attempts."""
    groups = _draw_group_materials(content, stream(SUITE, STREAMS, seed, "groups", split, number))
    for start in range(_STARTS):
        rng = stream(SUITE, STREAMS, seed, "table", split, number, start)
        viewpoint = draw_viewpoint(size_px, rng)
        if (frame := _draw_frame(viewpoint, rng)) is None:
            continue
        singles = _draw_singles(content, frame, viewpoint, rng)
        if singles and (counted := _draw_groups(content, groups, [frame, *singles], viewpoint, rng)):
            materials = _single_materials(content, singles, viewpoint, rng)
            things = [
                replace(single.solids[0], material=material)
                for single, material in zip(singles, materials, strict=True)
            ]
            posts = [post for single in singles for post in single.solids[1:]]
            scene = lit((*things, *counted, *posts, *frame.solids), rng)
            noise = seed_of(SUITE, STREAMS, seed, "table noise", split, number)
            return Table(RenderSpec(scene, viewpoint.camera, noise), content, content.kinds)
    raise SnellenError(
        f"{SUITE}: no room for the things on table {number} ({split}) in {_STARTS} attempts; give another --seed"
    )


def _draw_frame(viewpoint: Viewpoint, rng: np.random.Generator) -> Placed | None:
    """The wooden frame at a drawn position, parallel to the image; None if it does not fit."""
    near = float(rng.uniform(*FRAME_AT_M))
    room = viewpoint.half_width_m(near) - FRAME_M / 2
    if room <= 0:
        return None
    x, y = float(rng.uniform(-room, room)), near - AHEAD_M + FRAME_M / 2
    middle, inner = (FRAME_M - BAR_M) / 2, FRAME_M - 2 * BAR_M
    bars = [
        *(((0.0, side * middle), (FRAME_M, BAR_M, BAR_M)) for side in (-1, 1)),
        *(((side * middle, 0.0), (BAR_M, inner, BAR_M)) for side in (-1, 1)),
    ]
    solids = tuple(
        stretched_solid(f"frame {n}", "cube", Material("wood"), (x + across, y + along, BAR_M / 2 + FLOOR_GAP_M), size)
        for n, ((across, along), size) in enumerate(bars)
    )
    boxes = tuple(seen_box(solid, viewpoint.camera) for solid in solids)
    return Placed(solids, boxes) if all(_inside(box, viewpoint) for box in boxes) else None


def _draw_singles(content: TableContent, frame: Placed, viewpoint: Viewpoint, rng: np.random.Generator) -> list[Placed]:
    """The only things of their kinds, placed so that each answer of spatial is true of some two of them.

    Empty if one has no room, or if no two are left above and right below each other, or left below and right above.
    """
    singles: list[Placed] = []
    bands = iter(rng.permutation(BANDS).tolist())
    # The largest thing first: it has the fewest places.
    for number in sorted(range(SINGLES), key=lambda n: -content.areas[n][0]):
        boxes = [box for placed in (frame, *singles) for box in placed.boxes]
        if difficulty(content.areas[number][0]) == EASY:
            single = _draw_single(number, content, EASY_AT_M, False, boxes, viewpoint, rng)
        else:
            band, step = next(bands), (FAR_M - NEAR_M) / BANDS
            near, is_raised = NEAR_M + step * band, bool(rng.uniform() < RAISED[band])
            single = _draw_single(number, content, (near, near + step), is_raised, boxes, viewpoint, rng)
        if single is None:
            return []
        singles.append(single)
    singles.sort(key=lambda single: int(single.solids[0].name))
    pairs = [pair for pair in combinations([single.boxes[0] for single in singles], 2) if clear(*pair, gap_px=2.0)]
    falling = {(a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs}
    return singles if len(falling) == 2 else []


def _draw_single(
    number: int,
    content: TableContent,
    between_m: tuple[float, float],
    is_raised: bool,
    boxes: Sequence[Rect],
    viewpoint: Viewpoint,
    rng: np.random.Generator,
) -> Placed | None:
    """A single thing of the wanted area in a band of distances, on the floor or on a post; None if it has no room."""
    kind, (low, high) = content.alone[number], content.areas[number]
    share = log_uniform(low, high, rng)
    for _ in range(_TRIES_SINGLE):
        ahead = float(rng.uniform(*between_m))
        bottom = 0.0
        if is_raised:
            # As high in the image as far things, or higher.
            row = viewpoint.floor_row(float(rng.uniform(max(ahead, APPARENT_M), FAR_M)))
            bottom = viewpoint.height_at(ahead, float(rng.uniform(0.06, row)))
            if bottom < MIN_POST_M:
                continue
        half_width = viewpoint.half_width_m(ahead, bottom)
        position = float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M
        if not _point_may_fit((*position, bottom + FLOOR_GAP_M), boxes, viewpoint):
            continue
        table_object = TableObject(kind, position, float(rng.uniform(-TURN_DEG, TURN_DEG)), bottom)
        if not _may_fit(table_object, table_object.least_scale(low, viewpoint), boxes, viewpoint):
            continue
        posts = (_post(number, position, bottom, viewpoint),) if is_raised else ()
        post_boxes = tuple(seen_box(post, viewpoint.camera) for post in posts)
        if not all(_fits(box, boxes, viewpoint) for box in post_boxes):
            continue
        solid = table_object.solid(str(number), TABLE_MATERIALS[0], table_object.scale_for(share, viewpoint))
        box = seen_box(solid, viewpoint.camera)
        placed = Placed((solid, *posts), (box, *post_boxes))
        if low <= share_of(box, viewpoint.camera) <= high and all(
            _fits(each, boxes, viewpoint) for each in placed.boxes
        ):
            return placed
    return None


def _post(number: int, position_m: tuple[float, float], height_m: float, viewpoint: Viewpoint) -> Solid:
    """A wooden post from the floor to a thing above it, equally wide in the image at any distance."""
    width = POST_SHARE * 2 * viewpoint.half_width_m(position_m[1] + AHEAD_M, height_m / 2)
    centre = (*position_m, height_m / 2 + FLOOR_GAP_M)
    return stretched_solid(f"post {number}", "cube", Material("wood"), centre, (width, width, height_m))


def _draw_groups(
    content: TableContent,
    materials: Sequence[Material],
    placed: Sequence[Placed],
    viewpoint: Viewpoint,
    rng: np.random.Generator,
) -> tuple[Solid, ...]:
    """All things to be counted; empty if one has no room."""
    solids, boxes = list[Solid](), [box for each in placed for box in each.boxes]
    for number, kind in list(enumerate(content.kinds))[SINGLES:]:
        thing = _draw_counted(str(number), kind, materials[number - SINGLES], boxes, viewpoint, rng)
        if thing is None:
            return ()
        solids.append(thing[0])
        boxes.append(thing[1])
    return tuple(solids)


def _draw_group_materials(content: TableContent, rng: np.random.Generator) -> list[Material]:
    """The materials of the things to be counted, in order; most things of a kind have one colour."""
    return [
        material
        for n, shade in zip(content.counts, content.shades, strict=True)
        for material in group_materials(n, shade, rng)
    ]


def _single_materials(
    content: TableContent, singles: Sequence[Placed], viewpoint: Viewpoint, rng: np.random.Generator
) -> list[Material]:
    """The materials of single things: the largest ones matt, in the colours of the content."""
    materials = dealt(TABLE_MATERIALS, len(singles), rng)
    largest = sorted(range(len(singles)), key=lambda n: -share_of(singles[n].boxes[0], viewpoint.camera))
    for number, colour in zip(largest, content.colours, strict=False):
        if matt := [
            material for material in TABLE_MATERIALS if material.kind == "rubber" and material.colour == colour
        ]:
            materials[number] = matt[0]
    return materials


def _draw_counted(
    name: str, kind: str, material: Material, boxes: Sequence[Rect], viewpoint: Viewpoint, rng: np.random.Generator
) -> tuple[Solid, Rect] | None:
    """A counted thing at a free position on the floor, and its box; smaller if there is no room for it."""
    share = log_uniform(*SIDE_SHARE, rng)
    for _ in range(_TRIES):
        # Rows of the image are equally likely, distances are not: far rows are narrow strips of floor.
        ahead = viewpoint.floor_m(float(rng.uniform(viewpoint.floor_row(FARTHEST_M), 1.0)))
        half_width = viewpoint.half_width_m(ahead)
        scale = max(share, MIN_SIDE) * 2 * half_width
        position = float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M
        table_object = TableObject(kind, position, float(rng.uniform(-TURN_DEG, TURN_DEG)))
        least_px = MIN_SIDE * viewpoint.width_px
        if (
            _point_may_fit(table_object.centre(scale), boxes, viewpoint)
            and shorter_side(table_object.outer_box(scale, viewpoint)) + _SLACK_PX >= least_px
            and _may_fit(table_object, scale, boxes, viewpoint)
        ):
            solid = table_object.solid(name, material, scale)
            box = seen_box(solid, viewpoint.camera)
            if shorter_side(box) >= least_px and _fits(box, boxes, viewpoint):
                return solid, box
        share *= 0.97
    return None


def _inside(box: Rect, viewpoint: Viewpoint) -> bool:
    return inside(box, viewpoint.camera, BORDER_SHARE * viewpoint.width_px)


def _fits(box: Rect, boxes: Sequence[Rect], viewpoint: Viewpoint) -> bool:
    """True if a box is inside the image and apart from all others."""
    gap = GAP_SHARE * viewpoint.width_px
    return _inside(box, viewpoint) and all(apart(box, other, gap) for other in boxes)


def _may_fit(table_object: TableObject, scale: float, boxes: Sequence[Rect], viewpoint: Viewpoint) -> bool:
    """False only for things that do not fit at this scale or a larger one: a cheap test that ends most draws.

    The middle, and some points of the surface, must fit, since the whole is no smaller. A larger thing at the same
    position contains the smaller one.
    """
    if not _point_may_fit(table_object.centre(scale), boxes, viewpoint):
        return False
    x1, y1, x2, y2 = table_object.inner_box(scale, viewpoint)
    return _fits((x1 + _SLACK_PX, y1 + _SLACK_PX, x2 - _SLACK_PX, y2 - _SLACK_PX), boxes, viewpoint)


def _point_may_fit(point_m: Vec3, boxes: Sequence[Rect], viewpoint: Viewpoint) -> bool:
    """False only if no solid that contains this point (its foot, or its middle) fits."""
    x, y = viewpoint.pixel(*point_m)
    return _fits((x + _SLACK_PX, y + _SLACK_PX, x - _SLACK_PX, y - _SLACK_PX), boxes, viewpoint)
