"""The images of generated concepts: a composite block, a pattern of little balls next to it, light, floor and camera.

Each dimension can take any of its values independently, so any of them may decide while the others vary. Sizes, lights
and patterns are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import (
    COLOURS,
    AreaLight,
    Camera,
    Composite,
    Floor,
    Material,
    Pose,
    RenderSpec,
    Scene,
    Solid,
    box_around,
    composite_scene,
    is_within_floor,
    move,
    random_camera,
    relight,
    truth,
    turn,
)
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, SECONDARY_SCALE, tuple_of
from snellen.stimuli.scenes.model import Colour
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import UNIT, Ball, bounds, place_points, reach, unit_mesh
from snellen.stimuli.scenes.vectors import apply_matrix, dot, unit_vector
from snellen.suites.vfm_bench.generated.concepts import Region
from snellen.suites.vfm_bench.items import STREAMS, SUITE

SIZES: Mapping[str, float] = {"small": 0.40, "large": 0.74}
"""Size of the secondary solid relative to the primary."""
FLOORS: Mapping[str, float] = {"pale": 0.56, "dark": 0.06}
"""Reflectance. Without hue, to avoid confusion with tinted light; so different that dusk makes no pale floor dark."""
TINTS: Mapping[str, tuple[float, float, float]] = {
    "warm": (1.22, 0.99, 0.62),
    "neutral": (1.0, 1.0, 1.0),
    "cool": (0.72, 0.98, 1.30),
}
"""Factor on all light per channel (linear RGB)."""
DIM, AROUND = 0.3, 0.3
"""Factor on all light at dusk, and on ambient light if the light comes from one side."""
TILT_DEG = 21.0
MAX_LEVEL_DEG, MIN_LEANING_DEG = 6.0, 14.0
"""Maximum lean of upright things in level views, and minimum lean in tilted ones. Perspective tilts off-centre things,
in high views by 8 degrees. Views in between are redrawn."""
ELEVATION_DEG: Mapping[str, tuple[float, float]] = {"low": (20.0, 27.0), "high": (46.0, 56.0)}
FOV_DEG = 34.0
BELOW_HORIZON_DEG = 5.0
"""Angle below the horizon that the upper corners of an image reach in the highest of the low views, at least."""
FILL = (0.95, 1.3)
"""Share of the image's smaller side that the bounding sphere of the scene spans. Views that cut it off are redrawn."""
BORDER = 0.03
"""Minimum free border, as a share of the image's width."""
BALL_SCALE = 0.125
MIN_VISIBLE: Mapping[str, float] = {"primary": 0.25, "secondary": 0.4}
"""Minimum visible shares. Seen from above under a large part, no more of the primary solid is visible."""
END_ON = 0.86
"""Cosine between line of sight and joint axis above which the shape of the part cannot be recognised."""
BALLS: tuple[tuple[Colour, Colour], ...] = tuple(
    (a, b)
    for a in COLOURS
    for b in COLOURS
    if a != b and {a, b} not in ({"blue", "purple"}, {"red", "purple"}, {"blue", "green"})
)
"""Pairs of pattern colours that can be distinguished in any light."""
_TRIES = 400
MARGIN = 0.04
"""Margin of a deciding region, as a share of its larger side."""


def _pattern(arrangement: str) -> list[tuple[float, float, int]]:
    """Centres of the balls relative to the pattern's middle (x, y in metres), each with its colour index (0 or 1)."""
    if arrangement == "row":
        return [(0.23 * (k - 3), 0.0, k % 2) for k in range(7)]
    if arrangement == "ring":
        return [(0.55 * math.cos(math.tau * k / 8), 0.55 * math.sin(math.tau * k / 8), k % 2) for k in range(8)]
    if arrangement == "cross":
        arms = [(x * k, y * k) for k in (1, 2) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        return [(0.0, 0.0, 0), *((0.3 * x, 0.3 * y, (abs(x) + abs(y)) % 2) for x, y in arms)]
    if arrangement == "block":
        return [(0.26 * x, 0.26 * y, (x + y) % 2) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    if arrangement == "wedge":
        arms = [(k, side) for k in (1, 2, 3) for side in (-1, 1)]
        return [(-0.45, 0.0, 0), *((-0.45 + 0.27 * k, 0.2 * k * side, k % 2) for k, side in arms)]
    middles = [(0.42 * math.cos(math.tau * k / 3), 0.42 * math.sin(math.tau * k / 3)) for k in range(3)]
    around = [(0.122 * math.cos(math.tau * k / 3), 0.122 * math.sin(math.tau * k / 3)) for k in range(3)]
    return [(x + dx, y + dy, int(k == 0)) for x, y in middles for k, (dx, dy) in enumerate(around)]


@dataclass(frozen=True)
class Draft:
    """The dimensions of an image; positions and the exact view are random.

    `balls` are the colours of the pattern, one or two.
    """

    block: Composite
    size: str
    arrangement: str
    balls: tuple[Colour, ...]
    light: str
    tint: str
    tilt: str
    height: str
    floor: str

    def appearance(self) -> dict[str, str]:
        """All dimensions of the image."""
        return {
            **self.block.dimensions(),
            "size/secondary": self.size,
            "arrangement/motif": self.arrangement,
            "colour/motif": ("one", "two")[len(self.balls) - 1],
            "light": self.light,
            "tint": self.tint,
            "tilt": self.tilt,
            "height": self.height,
            "floor": self.floor,
        }


def image_spec(draft: Draft, number: int, seed: int, size_px: tuple[int, int]) -> RenderSpec:
    """Image `number` of a set: the draft with a random rotation and a view that shows both solids clearly.

    Low tilted views that look past the edge of the floor are redrawn. Raises SnellenError if no draw shows both.
    """
    rng = stream(SUITE, STREAMS, seed, "picture", number)
    for _ in range(_TRIES):
        towards = float(rng.uniform(0, 360))
        scene = _scene(draft, towards, rng)
        camera = random_camera(
            scene,
            rng,
            fill=FILL,
            elevation_deg=_elevation_deg(draft, size_px),
            azimuth_deg=(towards, towards),
            horizontal_fov_deg=FOV_DEG,
            size_px=size_px,
        )
        camera = _tilted(camera, draft.tilt)
        is_in_place = _within(scene, camera) and is_within_floor(scene, camera)
        if is_in_place and _leans_clearly(scene, camera, draft.tilt) and _clear(scene, camera):
            return RenderSpec(scene, camera, seed_of(SUITE, STREAMS, seed, "noise", number))
    raise SnellenError(f"{SUITE}: no view of {draft} in {_TRIES} draws shows both solids")


def _elevation_deg(draft: Draft, size_px: tuple[int, int]) -> tuple[float, float]:
    """The range of the camera's elevation; wide enough in tall images for views that show only floor."""
    low, high = ELEVATION_DEG[draft.height]
    tilt = math.radians(TILT_DEG) if draft.tilt != "level" else 0.0
    corner = math.tan(math.radians(FOV_DEG) / 2) * (math.sin(tilt) + size_px[1] / size_px[0] * math.cos(tilt))
    return low, max(high, math.degrees(math.atan(corner)) + BELOW_HORIZON_DEG)


def _scene(draft: Draft, towards_deg: float, rng: np.random.Generator) -> Scene:
    """The scene for a camera in the given direction (azimuth)."""
    scene = composite_scene(draft.block, rotation=turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360))))
    scene = _resized(scene, SIZES[draft.size] / SECONDARY_SCALE)
    # In front of the object and to one side, as seen by the camera, so that the object never hides the pattern.
    aside = towards_deg + float(rng.choice([-1.0, 1.0]) * rng.uniform(45, 75))
    balls = _balls(draft, scene, math.radians(aside), math.radians(float(rng.uniform(0, 360))))
    return _lit(replace(scene, solids=(*scene.solids, *balls)), draft, towards_deg + float(rng.choice([-95.0, 95.0])))


def _within(scene: Scene, camera: Camera) -> bool:
    """True if everything is inside the image."""
    corners = [place_points(unit_mesh(solid.shape, 1).vertices, solid.pose) for solid in scene.solids]
    (x, y), free = project(camera, np.concatenate(corners))[0].T, BORDER * camera.width_px
    return bool(min(x.min(), y.min()) > free and x.max() < camera.width_px - free and y.max() < camera.height_px - free)


def lean_deg(solid: Solid, camera: Camera) -> float:
    """The lean in the image of a vertical line through a solid's middle, in degrees, positive to the right."""
    x, y, z = solid.pose.position_m
    foot, head = project(camera, np.array([[x, y, z - 0.3], [x, y, z + 0.3]]))[0]
    return math.degrees(math.atan2(head[0] - foot[0], foot[1] - head[1]))


def _leans_clearly(scene: Scene, camera: Camera, tilt: str) -> bool:
    """True if both solids of the block lean as the draft requires, with a margin to the other values."""
    for lean in (lean_deg(solid, camera) for solid in scene.solids[:2]):
        if tilt == "level" and abs(lean) > MAX_LEVEL_DEG:
            return False
        if tilt != "level" and lean * {"left": -1, "right": 1}[tilt] < MIN_LEANING_DEG:
            return False
    return True


def _clear(scene: Scene, camera: Camera) -> bool:
    """True if both solids of the block are recognisable: not end on, and enough of each visible.

    Measured at a quarter of the resolution.
    """
    first, second = (np.array(solid.pose.position_m) for solid in scene.solids[:2])
    axis, sight = second - first, np.subtract(camera.position_m, camera.target_m)
    if abs(dot(unit_vector(axis), unit_vector(sight))) > END_ON:
        return False
    visible = truth(replace(scene, solids=scene.solids[:2]), camera.quarter(), detail=1)
    return all(visible[name].visible_fraction >= min_fraction for name, min_fraction in MIN_VISIBLE.items())


def _resized(scene: Scene, factor: float) -> Scene:
    """The block with its secondary solid scaled about the contact point, moved back onto the floor."""
    first, second = scene.solids
    (contact,) = (np.array(point.position_m) for point in scene.points)
    position = contact + factor * (np.array(second.pose.position_m) - contact)
    pose = replace(second.pose, position_m=tuple_of(position), scale=second.pose.scale * factor)
    solids = (first, replace(second, pose=pose))
    low, high = bounds(solids)
    shift = (-float(low[0] + high[0]) / 2, -float(low[1] + high[1]) / 2, FLOOR_GAP_M - float(low[2]))
    return replace(scene, solids=tuple(move(solid, shift_m=shift) for solid in solids), points=())


def _balls(draft: Draft, scene: Scene, aside: float, turned: float) -> tuple[Solid, ...]:
    """The pattern on the floor, clear of the block in the direction `aside`, rotated by `turned` (radians)."""
    ball = UNIT["sphere"]
    assert isinstance(ball, Ball)
    radius, pattern = BALL_SCALE * ball.radius_m, _pattern(draft.arrangement)
    direction = np.array([math.cos(aside), math.sin(aside), 0.0])
    room = max(math.hypot(x, y) for x, y, _ in pattern) + radius
    away = max(reach(solid, direction) for solid in scene.solids) + room + 0.1
    balls = []
    for number, (x, y, turn_index) in enumerate(pattern):
        across = x * math.cos(turned) - y * math.sin(turned)
        along = x * math.sin(turned) + y * math.cos(turned)
        position = (float(away * direction[0]) + across, float(away * direction[1]) + along, radius + FLOOR_GAP_M)
        colour = draft.balls[turn_index % len(draft.balls)]
        balls.append(Solid(f"ball {number}", "sphere", Material("rubber", colour), Pose(position, scale=BALL_SCALE)))
    return tuple(balls)


def _lit(scene: Scene, draft: Draft, side_deg: float) -> Scene:
    """The scene with the draft's light and floor. Light from one side comes from the azimuth `side_deg`."""
    grey = FLOORS[draft.floor]
    scene = replace(scene, floor=Floor((grey, grey, grey)))
    if draft.light != "side":
        return relight(scene, DIM if draft.light == "dim" else 1.0, TINTS[draft.tint])
    x, y = 11.0 * math.cos(math.radians(side_deg)), 11.0 * math.sin(math.radians(side_deg))
    lamp = AreaLight((x, y, 4.6), (0.0, 0.0, 0.4), 1.6, (95.0, 95.0, 93.0))
    return relight(replace(scene, lights=(lamp,)), 1.0, TINTS[draft.tint], dome_factor=AROUND)


def _tilted(camera: Camera, tilt: str) -> Camera:
    """The camera rolled so that upright things lean to the given side."""
    degrees = {"level": 0.0, "left": TILT_DEG, "right": -TILT_DEG}[tilt]
    ahead = np.subtract(camera.target_m, camera.position_m)
    return replace(camera, up=tuple_of(apply_matrix(turn(tuple_of(ahead), degrees), camera.up)))


_SOLIDS: Mapping[Region, tuple[str, ...]] = {
    "object": ("primary", "secondary"),
    "body": ("primary",),
    "part": ("secondary",),
    "motif": ("ball",),
}


def region_box(spec: RenderSpec, region: Region) -> list[float]:
    """The box around the visible part of a region, with a margin, within the image: [x1, y1, x2, y2] in pixels."""
    solids = truth(spec.scene, spec.camera).solids
    boxes = [solid.visible_box for solid in solids if solid.visible_box and solid.name.split()[0] in _SOLIDS[region]]
    return box_around(boxes, MARGIN, spec.camera)
