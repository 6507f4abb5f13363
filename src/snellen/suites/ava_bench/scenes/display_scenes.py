"""Pictures of nine things in rows: three toys that face some way, three towers of two solids, three plates with a word.

Nothing covers anything else, and towers can be cut out of the picture: the cut shows one tower alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import (
    MATERIALS,
    Appearance,
    Camera,
    Composite,
    Material,
    RenderSpec,
    Solid,
    chain,
    move,
    turn,
)
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, join_composite, tuple_of
from snellen.stimuli.scenes.model import COLOURED, COLOURS, Colour, Matrix3, Shape
from snellen.stimuli.scenes.shapes import bounds
from snellen.suites.ava_bench.items import ORIENTATIONS, SUITE, VERSION
from snellen.suites.ava_bench.scenes import pseudo_words
from snellen.suites.ava_bench.scenes.scenes import (
    Rect,
    T,
    Tally,
    apart,
    dealt,
    evenly,
    inside,
    lit,
    piece,
    round_all,
    seen_box,
    towards,
)

TOYS = ("toy train", "toy bird", "toy rocket")
"""Each has a front that is told by its form: chimney, beak, tip."""
DIRECTIONS = ORIENTATIONS[:8]
"""Which way a toy faces, as whoever looks sees it, in steps of 45 degrees. Seen from the top there is none."""
SWAY_DEG = 9.0
"""How far a toy may stand off the middle of its direction, which spans 22.5 to either side."""
TOWERS: Mapping[str, tuple[Shape, str]] = MappingProxyType(
    {"cube tower": ("cube", "face"), "drum tower": ("cylinder", "base"), "lampshade tower": ("frustum", "small base")}
)
"""Groups of fine-grained classes: the solid below and where the upper one stands."""
SPECIES: Mapping[str, tuple[Shape, str]] = MappingProxyType(
    {
        "cube on top": ("cube", "face"),
        "ball on top": ("sphere", "surface"),
        "drum on top": ("cylinder", "base"),
        "cone on top, tip up": ("cone", "base"),
        "cone on top, tip down": ("cone", "apex"),
        "lampshade on top": ("frustum", "large base"),
    }
)
"""Classes of every group: they differ in the upper solid alone."""
TEXTURES: tuple[str, ...] = tuple(MATERIALS)
INKS: tuple[tuple[Colour, Colour], ...] = (
    ("yellow", "blue"),
    ("yellow", "purple"),
    ("yellow", "red"),
    ("blue", "yellow"),
    ("purple", "yellow"),
    ("red", "yellow"),
)
"""Plate and letters, far apart in lightness."""
TOWER_SCALE, TOY_SCALE = 0.62, 1.05
PLATE_M, LEAN_DEG, PLATE_SWAY_DEG = (1.72, 0.07, 0.62), 32.0, 12.0
CELL_M = (2.0, 2.05)
"""Across and along the floor."""
ELEVATION_DEG, DISTANCE_M, FOV_DEG = (40.0, 48.0), 10.9, 34.0
GAP_SHARE, BORDER_SHARE = 0.012, 0.006
"""Between two things and round all, as shares of the picture's width."""
CUT_SHARE = 0.01
"""What a cut leaves round a tower, as a share of the picture's width: less than the gap to the next thing."""
_TRIES = 200
_LYING: Matrix3 = turn((0.0, 1.0, 0.0), 90.0)
"""Takes a solid's own axis to +x."""


@dataclass(frozen=True)
class Wanted:
    """What one display shows, three of each in order.

    Of toys the directions, of towers species and materials, of plates words and the faces they are set in.
    """

    directions: tuple[str, ...]
    species: tuple[str, ...]
    textures: tuple[str, ...]
    words: tuple[str, ...]
    faces: tuple[str, ...]


@dataclass(frozen=True)
class Display:
    """A picture to be taken. A solid's name begins with that of its thing, e.g. `toy bird/0`; plates are `plate 0`."""

    shot: RenderSpec
    wanted: Wanted


def things() -> tuple[str, ...]:
    """The nine things by name."""
    return (*TOYS, *TOWERS, *(f"plate {n}" for n in range(3)))


def wanted(count: int, rng: np.random.Generator) -> list[Wanted]:
    """What so many displays show.

    Every direction, species, material and length of word comes as often as any other, in all and on each toy, tower
    and plate.
    """
    tally, found = Tally(), []
    lengths = range(pseudo_words.SHORTEST, pseudo_words.LONGEST + 1)
    for _ in range(count):
        directions = [_level(DIRECTIONS, "direction", toy, tally, rng) for toy in TOYS]
        species = [_level(tuple(SPECIES), "species", tower, tally, rng) for tower in TOWERS]
        textures = [
            _level(TEXTURES, "texture", tower, tally, rng, kind) for tower, kind in zip(TOWERS, species, strict=True)
        ]
        words = [pseudo_words.made_up(_level(lengths, "length", str(n), tally, rng), rng) for n in range(3)]
        faces = [_level(tuple(pseudo_words.FACES), "face", str(n), tally, rng) for n in range(3)]
        found.append(Wanted(tuple(directions), tuple(species), tuple(textures), tuple(words), tuple(faces)))
    return found


def _level(values: Sequence[T], factor: str, thing: str, tally: Tally, rng: np.random.Generator, other: str = "") -> T:
    """A value that was seldom, on this thing and together with the `other` thing's level too."""
    of_thing, with_other = f"{factor} of {thing}", f"{factor} with another"
    return evenly(
        values,
        lambda value: {factor: value, of_thing: value, with_other: (other, value)},
        {factor: 9 * len(values), of_thing: 3 * len(values), with_other: len(values)},
        tally,
        rng,
    )


def draw_display(told: Wanted, number: int, seed: int, split: str, size_px: tuple[int, int]) -> Display:
    """Display `number` of a split. Raises SnellenError where no draw keeps things apart, which has not been seen."""
    for start in range(_TRIES):
        rng = stream(SUITE, VERSION, seed, "display", split, number, start)
        view = _camera(rng, size_px)
        solids = _solids(told, view, rng)
        boxes = _boxes(solids, view)
        free = BORDER_SHARE * view.width_px
        pairs = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
        if all(inside(box, view, free) for box in boxes) and all(
            apart(a, b, GAP_SHARE * view.width_px) for a, b in pairs
        ):
            noise = seed_of(SUITE, VERSION, seed, "display noise", split, number)
            return Display(RenderSpec(lit(solids, rng), view, noise), told)
    raise SnellenError(f"{SUITE}: no draw in {_TRIES} keeps the things of display {number} apart")


def without_letters(solids: Sequence[Solid]) -> tuple[Solid, ...]:
    """All solids but letters, which lie within their plates."""
    return tuple(solid for solid in solids if not solid.name.startswith("letter"))


def thing_of(solid: str) -> str:
    """The thing that a solid belongs to."""
    return solid.partition("/")[0]


def _boxes(solids: Sequence[Solid], view: Camera) -> list[Rect]:
    held: dict[str, list[Rect]] = {}
    for solid in without_letters(solids):
        held.setdefault(thing_of(solid.name), []).append(seen_box(solid, view))
    return [round_all(boxes) for boxes in held.values()]


def _camera(rng: np.random.Generator, size_px: tuple[int, int]) -> Camera:
    up = math.radians(float(rng.uniform(*ELEVATION_DEG)))
    eye = (0.0, -DISTANCE_M * math.cos(up), 0.35 + DISTANCE_M * math.sin(up))
    return Camera(eye, (0.0, 0.0, 0.35), horizontal_fov_deg=FOV_DEG, width_px=size_px[0], height_px=size_px[1])


def _solids(told: Wanted, view: Camera, rng: np.random.Generator) -> tuple[Solid, ...]:
    """Everything in place: towers in front, plates in the middle, toys behind; places in a row are drawn."""
    made: list[Solid] = []
    for row, sort in enumerate((_towers, _plates, _toys)):
        columns = rng.permutation(3)
        jitter = rng.uniform(-0.06, 0.06, (3, 2))
        places = [
            (CELL_M[0] * (int(columns[n]) - 1) + float(jitter[n, 0]), CELL_M[1] * (row - 1) + float(jitter[n, 1]))
            for n in range(3)
        ]
        made += sort(told, places, view, rng)
    return tuple(made)


Places = Sequence[tuple[float, float]]


def _toys(told: Wanted, places: Places, view: Camera, rng: np.random.Generator) -> list[Solid]:
    made: list[Solid] = []
    colours = dealt(COLOURS, 3, rng)
    for name, direction, place, colour in zip(TOYS, told.directions, places, colours, strict=True):
        sway = float(rng.uniform(-SWAY_DEG, SWAY_DEG))
        heading = towards(view, *place) + 45.0 * DIRECTIONS.index(direction) + sway
        parts = _BUILT[name](colour, COLOURS[(COLOURS.index(colour) + 1 + int(rng.integers(4))) % len(COLOURS)])
        grown = [_grown(part, TOY_SCALE) for part in parts]
        made += _on_floor(name, [move(part, turn((0.0, 0.0, 1.0), heading)) for part in grown], place)
    return made


def _grown(solid: Solid, factor: float) -> Solid:
    pose = solid.pose
    return replace(
        solid, pose=replace(pose, position_m=tuple_of(factor * np.array(pose.position_m)), scale=factor * pose.scale)
    )


def _on_floor(name: str, parts: Sequence[Solid], place: tuple[float, float]) -> list[Solid]:
    low, _ = bounds(tuple(parts))
    shift = (*place, FLOOR_GAP_M - float(low[2]))
    return [replace(move(part, shift_m=shift), name=f"{name}/{n}") for n, part in enumerate(parts)]


def _towers(told: Wanted, places: Places, view: Camera, rng: np.random.Generator) -> list[Solid]:
    made: list[Solid] = []
    for n, (name, (below, anchor)) in enumerate(TOWERS.items()):
        kind = next(one for one in MATERIALS if one == told.textures[n])
        colour = COLOURS[int(rng.integers(len(COLOURS)))] if kind in COLOURED else None
        above, pivot = SPECIES[told.species[n]]
        whole = Composite(Appearance(below, kind, colour), anchor, Appearance(above, kind, colour), pivot)
        spin = turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360)))
        made += _on_floor(name, [move(_grown(part, TOWER_SCALE), spin) for part in join_composite(whole)[0]], places[n])
    return made


def _plates(told: Wanted, places: Places, view: Camera, rng: np.random.Generator) -> list[Solid]:
    made: list[Solid] = []
    for n, (word, face, place) in enumerate(zip(told.words, told.faces, places, strict=True)):
        plate, ink = INKS[int(rng.integers(len(INKS)))]
        facing = towards(view, *place) + float(rng.uniform(-PLATE_SWAY_DEG, PLATE_SWAY_DEG))
        # Own axes: x to the reader's right, z up, y away from the reader; leaning back, then turned.
        frame = chain(turn((0.0, 0.0, 1.0), facing + 90.0), turn((1.0, 0.0, 0.0), -LEAN_DEG))
        whole = [
            piece("plate", "cube", Material("rubber", plate), (0.0, 0.0, 0.0), PLATE_M),
            *_letters(word, face, ink),
        ]
        turned = [move(part, frame) for part in whole]
        low, _ = bounds(tuple(turned))
        shift = (*place, FLOOR_GAP_M - float(low[2]))
        names = [f"plate {n}", *(f"letter {n}/{k}" for k in range(len(whole) - 1))]
        made += [replace(move(part, shift_m=shift), name=name) for part, name in zip(turned, names, strict=True)]
    return made


def _letters(word: str, face: str, ink: Colour) -> list[Solid]:
    """The bars of a word on the front of an upright plate about the origin."""
    bars, width = pseudo_words.word_bars(word, face)
    high = min(0.88 * PLATE_M[0] / width, 0.72 * PLATE_M[2])
    deep, stuff = 0.03, Material("rubber", ink)
    made = []
    for left, low, right, top in bars:
        centre = high * (left + right - width) / 2, 0.005 - (PLATE_M[1] + deep) / 2, high * (low + top - 1) / 2
        made.append(piece("", "cube", stuff, centre, (high * (right - left), deep, high * (top - low))))
    return made


def _train(body: Colour, cab: Colour) -> list[Solid]:
    """Faces +x: the boiler with its chimney in front, the cab behind."""
    main, other, wheel = Material("rubber", body), Material("rubber", cab), Material("wood")
    across = turn((1.0, 0.0, 0.0), 90.0)
    return [
        piece("", "cube", other, (0.0, 0.0, 0.26), (1.26, 0.44, 0.10)),
        piece("", "cylinder", main, (0.22, 0.0, 0.50), (0.40, 0.40, 0.78), _LYING),
        piece("", "cube", other, (-0.38, 0.0, 0.60), (0.42, 0.50, 0.62)),
        piece("", "cylinder", other, (0.46, 0.0, 0.80), (0.15, 0.15, 0.36)),
        *(
            piece("", "cylinder", wheel, (x, y, 0.15), (0.30, 0.30, 0.09), across)
            for x in (-0.42, 0.0, 0.42)
            for y in (-0.27, 0.27)
        ),
    ]


def _bird(body: Colour, wing: Colour) -> list[Solid]:
    """Faces +x: the beak in front, the tail behind."""
    main, other = Material("rubber", body), Material("rubber", wing)
    return [
        piece("", "sphere", main, (0.0, 0.0, 0.36), (1.0, 0.62, 0.60)),
        piece("", "sphere", main, (0.38, 0.0, 0.80), (0.42, 0.40, 0.42)),
        piece("", "cone", other, (0.68, 0.0, 0.78), (0.22, 0.22, 0.34), _LYING),
        piece("", "cube", other, (-0.58, 0.0, 0.50), (0.46, 0.34, 0.07), turn((0.0, 1.0, 0.0), 25.0)),
    ]


def _rocket(body: Colour, tip: Colour) -> list[Solid]:
    """Faces +x: lies on the floor, its tip in front and its four fins behind."""
    main, other = Material("rubber", body), Material("rubber", tip)
    fins = []
    for angle in (45.0, 135.0, 225.0, 315.0):
        y, z = 0.30 * math.cos(math.radians(angle)), 0.30 * math.sin(math.radians(angle))
        fins.append(piece("", "cube", other, (-0.46, y, 0.34 + z), (0.30, 0.34, 0.06), turn((1.0, 0.0, 0.0), angle)))
    return [
        piece("", "cylinder", main, (-0.12, 0.0, 0.34), (0.38, 0.38, 0.86), _LYING),
        piece("", "cone", other, (0.50, 0.0, 0.34), (0.42, 0.42, 0.44), _LYING),
        *fins,
    ]


_BUILT: Mapping[str, Callable[[Colour, Colour], list[Solid]]] = MappingProxyType(
    dict(zip(TOYS, (_train, _bird, _rocket), strict=True))
)
