"""Images of six things in two rows: three plates with a word in front, three toys with a direction behind.

No thing covers another. Each display has the close-ups of three towers (`close_ups`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import Camera, Material, RenderSpec, Solid, chain, move, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, tuple_of
from snellen.stimuli.scenes.model import COLOURS, Colour, Matrix3
from snellen.stimuli.scenes.shapes import lowest_m
from snellen.suites.ava_bench.items import DIFFICULTIES, ORIENTATIONS, STREAMS, SUITE, hull
from snellen.suites.ava_bench.scenes import pseudo_words
from snellen.suites.ava_bench.scenes.close_ups import SPECIES, TEXTURES, TOWERS, CloseUpContent, draw_close_up, on_floor
from snellen.suites.ava_bench.scenes.scenes import (
    SLOTS,
    Rect,
    T,
    Tally,
    apart,
    dealt,
    evenly,
    inside,
    lit,
    seen_box,
    stretched_solid,
    towards,
)

TOYS = ("toy train", "toy bird", "toy rocket")
"""Each has a front recognisable by its shape: chimney, beak, tip."""
HEADINGS = ORIENTATIONS[:-1]
"""The directions of toys, in steps of 45 degrees. None shows its top: a toy that is tipped towards the viewer also has
a heading, and the question does not say which is meant."""
SWAY_DEG = 9.0
"""The maximum deviation of a toy from the middle of its direction, which spans 22.5 to either side."""
LETTERS_M: Mapping[str, float] = dict(zip(DIFFICULTIES, (0.45, 0.21, 0.155), strict=True))
"""Heights of letters by difficulty, at most; those that are easy to see fill the plate. None is below six pixels in an
image of 240 x 180 pixels."""
INKS: tuple[tuple[Colour, Colour], ...] = (
    ("yellow", "blue"),
    ("yellow", "purple"),
    ("yellow", "red"),
    ("blue", "yellow"),
    ("purple", "yellow"),
    ("red", "yellow"),
)
"""Colours of plate and letters, which differ much in lightness."""
TOY_SCALE = 1.05
PLATE_M, LEAN_DEG, PLATE_SWAY_DEG = (1.72, 0.07, 0.62), 32.0, 12.0
CELL_M = (2.0, 2.05)
"""Cell size across and along the floor."""
ELEVATION_DEG, DISTANCE_M, FOV_DEG = (40.0, 48.0), 10.9, 34.0
GAP_SHARE, BORDER_SHARE = 0.012, 0.006
"""Gaps between two things and around all, as shares of the image's width."""
_TRIES = 200
_LYING: Matrix3 = turn((0.0, 1.0, 0.0), 90.0)
"""Rotates a solid's own axis to +x."""


@dataclass(frozen=True)
class DisplayContent:
    """The content of one display, three of each in order.

    Toys have directions, towers close-ups, plates words with their typefaces and the difficulties of their sizes.
    """

    directions: tuple[str, ...]
    towers: tuple[CloseUpContent, ...]
    words: tuple[str, ...]
    faces: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Display:
    """A display to render, and its three close-ups.

    A solid's name begins with that of its object, e.g. `toy bird/0`; plates are `plate 0`.
    """

    shot: RenderSpec
    content: DisplayContent
    close_ups: tuple[RenderSpec, ...] = ()


def object_names() -> tuple[str, ...]:
    """The names of the six toys and plates."""
    return (*TOYS, *(f"plate {n}" for n in range(3)))


def draw_contents(count: int, rng: np.random.Generator) -> list[DisplayContent]:
    """The contents of `count` displays.

    Every direction, species, texture and word length is equally frequent, overall and on each toy, tower and plate.
    """
    tally, contents = Tally(), []
    lengths = tuple(range(pseudo_words.SHORTEST, pseudo_words.LONGEST + 1))
    slots = range(SLOTS)
    for number in range(count):
        level = partial(_level, number, tally, rng)
        directions = [level(HEADINGS, "direction", slot) for slot in slots]
        # All nine pairs of difficulties occur among nine displays.
        sizes = [DIFFICULTIES[(number // 3 + slot) % 3] for slot in slots]
        contrasts = [DIFFICULTIES[(number // 3 + 2 * slot) % 3] for slot in slots]
        species = [level(tuple(SPECIES), "species", slot, sizes[slot]) for slot in slots]
        textures = [level(TEXTURES, "texture", slot, contrasts[slot]) for slot in slots]
        towers = map(CloseUpContent, TOWERS, species, textures, sizes, contrasts)
        letters = [level(DIFFICULTIES, "letters", slot) for slot in slots]
        words = [pseudo_words.draw_word(level(lengths, "length", slot, letters[slot]), rng) for slot in slots]
        faces = [level(tuple(pseudo_words.FACES), "face", slot) for slot in slots]
        contents.append(DisplayContent(tuple(directions), tuple(towers), tuple(words), tuple(faces), tuple(letters)))
    return contents


def _level(
    number: int,
    tally: Tally,
    rng: np.random.Generator,
    values: Sequence[T],
    factor: str,
    slot: int,
    other_level: str = "",
) -> T:
    """A rarely used value for a slot of display `number`, considering the slot and the combination with `other_level`.

    Small test sets ask about one slot of each display (`slot_in_turn`), so values are balanced within turns too.
    """
    of_slot, with_other = f"{factor} of {slot}", f"{factor} with another"
    in_turn = next(f"{factor} in turn {turn}" for turn in range(SLOTS) if slot_in_turn(number, turn) == slot)
    return evenly(
        values,
        lambda value: {factor: value, in_turn: value, of_slot: value, with_other: (other_level, value)},
        {factor: 9 * len(values), in_turn: 9 * len(values), of_slot: 3 * len(values), with_other: len(values)},
        tally,
        rng,
    )


def slot_in_turn(number: int, turn: int) -> int:
    """The slot of display `number` that items are about in a turn.

    Slots rotate, so that a few items are not all about one thing.
    """
    return (turn + number) % SLOTS


def draw_display(content: DisplayContent, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Display:
    """Display `number` of a split. Raises SnellenError if no draw keeps things apart, which has not occurred yet."""
    for start in range(_TRIES):
        rng = stream(SUITE, STREAMS, seed, "display", split, number, start)
        camera = _camera(rng, size_px)
        solids = _solids(content, camera, rng)
        boxes = _boxes(solids, camera)
        free = BORDER_SHARE * camera.width_px
        pairs = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
        if all(inside(box, camera, free) for box in boxes) and all(
            apart(a, b, GAP_SHARE * camera.width_px) for a, b in pairs
        ):
            noise = seed_of(SUITE, STREAMS, seed, "display noise", split, number)
            close_ups = tuple(
                draw_close_up(tower, (number, slot), seed, split, size_px) for slot, tower in enumerate(content.towers)
            )
            return Display(RenderSpec(lit(solids, rng), camera, noise), content, close_ups)
    raise SnellenError(f"{SUITE}: no draw out of {_TRIES} keeps the things of display {number} apart")


def without_letters(solids: Sequence[Solid]) -> tuple[Solid, ...]:
    """All solids except letters, which are within their plates."""
    return tuple(solid for solid in solids if not solid.name.startswith("letter"))


def object_of(solid: str) -> str:
    """The toy or plate that a solid belongs to."""
    return solid.partition("/")[0]


def _boxes(solids: Sequence[Solid], camera: Camera) -> list[Rect]:
    boxes_by_object: dict[str, list[Rect]] = {}
    for solid in without_letters(solids):
        boxes_by_object.setdefault(object_of(solid.name), []).append(seen_box(solid, camera))
    return [hull(boxes) for boxes in boxes_by_object.values()]


def _camera(rng: np.random.Generator, size_px: tuple[int, int]) -> Camera:
    up = math.radians(float(rng.uniform(*ELEVATION_DEG)))
    eye = (0.0, -DISTANCE_M * math.cos(up), 0.35 + DISTANCE_M * math.sin(up))
    wider = max(1.0, 3 * size_px[0] / (4 * size_px[1]))  # than 4:3, with the same vertical field of view
    across_deg = 2 * math.degrees(math.atan(wider * math.tan(math.radians(FOV_DEG / 2))))
    return Camera(eye, (0.0, 0.0, 0.35), horizontal_fov_deg=across_deg, width_px=size_px[0], height_px=size_px[1])


def _solids(content: DisplayContent, camera: Camera, rng: np.random.Generator) -> tuple[Solid, ...]:
    """All solids in position: plates in front, toys behind; positions in a row are drawn."""
    solids: list[Solid] = []
    for row, make_row in enumerate((_plates, _toys)):
        columns = rng.permutation(3)
        jitter = rng.uniform(-0.06, 0.06, (3, 2))
        positions = [
            (CELL_M[0] * (int(columns[n]) - 1) + float(jitter[n, 0]), CELL_M[1] * (row - 0.5) + float(jitter[n, 1]))
            for n in range(3)
        ]
        solids += make_row(content, positions, camera, rng)
    return tuple(solids)


Positions = Sequence[tuple[float, float]]


def _toys(content: DisplayContent, positions: Positions, camera: Camera, rng: np.random.Generator) -> list[Solid]:
    solids: list[Solid] = []
    colours = dealt(COLOURS, 3, rng)
    for name, direction, position, colour in zip(TOYS, content.directions, positions, colours, strict=True):
        pose = _pose(direction, position, camera, rng)
        parts_of_toy = _TOY_BUILDERS[name](
            colour, COLOURS[(COLOURS.index(colour) + 1 + int(rng.integers(4))) % len(COLOURS)]
        )
        grown = [_grown(part, TOY_SCALE) for part in parts_of_toy]
        solids += on_floor(name, [move(part, pose) for part in grown], position)
    return solids


def _pose(direction: str, position: tuple[float, float], camera: Camera, rng: np.random.Generator) -> Matrix3:
    """The rotation of a toy that faces +x."""
    sway, viewer = float(rng.uniform(-SWAY_DEG, SWAY_DEG)), towards(camera, *position)
    return turn((0.0, 0.0, 1.0), viewer + 45.0 * HEADINGS.index(direction) + sway)


def _grown(solid: Solid, factor: float) -> Solid:
    pose = solid.pose
    return replace(
        solid, pose=replace(pose, position_m=tuple_of(factor * np.array(pose.position_m)), scale=factor * pose.scale)
    )


def _plates(content: DisplayContent, positions: Positions, camera: Camera, rng: np.random.Generator) -> list[Solid]:
    solids: list[Solid] = []
    for n, position in enumerate(positions):
        plate, ink = INKS[int(rng.integers(len(INKS)))]
        facing = towards(camera, *position) + float(rng.uniform(-PLATE_SWAY_DEG, PLATE_SWAY_DEG))
        # Own axes: x to the reader's right, z up, y away from the reader; leaning back, then turned.
        frame = chain(turn((0.0, 0.0, 1.0), facing + 90.0), turn((1.0, 0.0, 0.0), -LEAN_DEG))
        upright = [
            stretched_solid("plate", "cube", Material("rubber", plate), (0.0, 0.0, 0.0), PLATE_M),
            *_letters(content.words[n], content.faces[n], LETTERS_M[content.sizes[n]], ink),
        ]
        turned = [move(part, frame) for part in upright]
        shift = (*position, FLOOR_GAP_M - lowest_m(turned))
        names = [f"plate {n}", *(f"letter {n}/{k}" for k in range(len(upright) - 1))]
        solids += [replace(move(part, shift_m=shift), name=name) for part, name in zip(turned, names, strict=True)]
    return solids


def _letters(word: str, face: str, height_m: float, ink: Colour) -> list[Solid]:
    """The bars of a word on the front of an upright plate about the origin, of this height if they fit."""
    bars, width = pseudo_words.word_bars(word, face)
    high = min(height_m, 0.93 * PLATE_M[0] / width, 0.72 * PLATE_M[2])
    deep, material = min(0.03, high / 6), Material("rubber", ink)
    solids = []
    for left, low, right, top in bars:
        centre = high * (left + right - width) / 2, 0.005 - (PLATE_M[1] + deep) / 2, high * (low + top - 1) / 2
        solids.append(stretched_solid("", "cube", material, centre, (high * (right - left), deep, high * (top - low))))
    return solids


def _train(body: Colour, cab: Colour) -> list[Solid]:
    """Faces +x: the boiler with its chimney in front, the cab behind."""
    main, other, wheel = Material("rubber", body), Material("rubber", cab), Material("wood")
    across = turn((1.0, 0.0, 0.0), 90.0)
    return [
        stretched_solid("", "cube", other, (0.0, 0.0, 0.26), (1.26, 0.44, 0.10)),
        stretched_solid("", "cylinder", main, (0.22, 0.0, 0.50), (0.40, 0.40, 0.78), _LYING),
        stretched_solid("", "cube", other, (-0.38, 0.0, 0.60), (0.42, 0.50, 0.62)),
        stretched_solid("", "cylinder", other, (0.46, 0.0, 0.80), (0.15, 0.15, 0.36)),
        *(
            stretched_solid("", "cylinder", wheel, (x, y, 0.15), (0.30, 0.30, 0.09), across)
            for x in (-0.42, 0.0, 0.42)
            for y in (-0.27, 0.27)
        ),
    ]


def _bird(body: Colour, wing: Colour) -> list[Solid]:
    """Faces +x: the beak in front, the tail behind."""
    main, other = Material("rubber", body), Material("rubber", wing)
    return [
        stretched_solid("", "sphere", main, (0.0, 0.0, 0.36), (1.0, 0.62, 0.60)),
        stretched_solid("", "sphere", main, (0.38, 0.0, 0.80), (0.42, 0.40, 0.42)),
        stretched_solid("", "cone", other, (0.68, 0.0, 0.78), (0.22, 0.22, 0.34), _LYING),
        stretched_solid("", "cube", other, (-0.58, 0.0, 0.50), (0.46, 0.34, 0.07), turn((0.0, 1.0, 0.0), 25.0)),
    ]


def _rocket(body: Colour, tip: Colour) -> list[Solid]:
    """Faces +x: lies on the floor, its tip in front, its four fins behind and a hatch on top."""
    main, other = Material("rubber", body), Material("rubber", tip)
    fins = []
    for angle in (45.0, 135.0, 225.0, 315.0):
        y, z = 0.30 * math.cos(math.radians(angle)), 0.30 * math.sin(math.radians(angle))
        fins.append(
            stretched_solid("", "cube", other, (-0.46, y, 0.34 + z), (0.30, 0.34, 0.06), turn((1.0, 0.0, 0.0), angle))
        )
    return [
        stretched_solid("", "cylinder", main, (-0.12, 0.0, 0.34), (0.38, 0.38, 0.86), _LYING),
        stretched_solid("", "cone", other, (0.50, 0.0, 0.34), (0.42, 0.42, 0.44), _LYING),
        stretched_solid("", "cube", other, (0.0, 0.0, 0.53), (0.30, 0.20, 0.10)),
        *fins,
    ]


_TOY_BUILDERS: Mapping[str, Callable[[Colour, Colour], list[Solid]]] = dict(
    zip(TOYS, (_train, _bird, _rocket), strict=True)
)
