"""Cameras of tables: height, tilt and field of view differ from scene to scene, and the horizon is never seen.

With one fixed camera the place of a thing in the image would reveal its distance (99 % of the pairs of relative depth).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snellen.stimuli.scenes import Camera
from snellen.suites.ava_bench.scenes.scenes import log_uniform

AHEAD_M = 6.0
"""The distance along the floor from the camera to the origin of the world."""
HEIGHT_M = (1.5, 4.0)
HALF_FIELD_DEG = (14.0, 22.0)
"""Half of the vertical field of view."""
TOP_DEG = (4.0, 6.0)
"""The angle between the upper edge of the image and the horizon."""


@dataclass(frozen=True)
class Viewpoint:
    """A camera above the floor that looks along +y and down; sizes in pixels."""

    height_m: float
    down_deg: float
    half_field_deg: float
    width_px: int
    height_px: int

    @cached_property
    def _frame(self) -> tuple[float, float, float]:
        """Cosine and sine of the tilt, and the focal length in pixels."""
        down = math.radians(self.down_deg)
        return math.cos(down), math.sin(down), self.height_px / 2 / math.tan(math.radians(self.half_field_deg))

    @cached_property
    def camera(self) -> Camera:
        """The same camera for renderers."""
        cosine, sine, focal_px = self._frame
        eye = (0.0, -AHEAD_M, self.height_m)
        across_deg = 2 * math.degrees(math.atan(self.width_px / 2 / focal_px))
        aim = (0.0, -AHEAD_M + cosine, self.height_m - sine)
        return Camera(eye, aim, horizontal_fov_deg=across_deg, width_px=self.width_px, height_px=self.height_px)

    def pixel(self, x: float, y: float, z: float) -> tuple[float, float]:
        """The position of a point of the world in the image, as by `project`, in plain floats."""
        cosine, sine, focal_px = self._frame
        ahead, below = y + AHEAD_M, self.height_m - z
        scale_px = focal_px / (ahead * cosine + below * sine)
        return self.width_px / 2 + scale_px * x, self.height_px / 2 - scale_px * (ahead * sine - below * cosine)

    def floor_m(self, row: float) -> float:
        """The distance along the floor of the floor in a row of the image, 0 at the top to 1 at the bottom."""
        return self.height_m / self._descent(row)

    def floor_row(self, ahead_m: float) -> float:
        """The row of the image, 0 at the top to 1 at the bottom, of the floor at a distance along it."""
        return self.pixel(0.0, ahead_m - AHEAD_M, 0.0)[1] / self.height_px

    def half_width_m(self, ahead_m: float, height_m: float = 0.0) -> float:
        """Half of the width of the image at a distance along the floor, at a height above it."""
        cosine, sine, focal_px = self._frame
        return self.width_px / 2 / focal_px * (ahead_m * cosine + (self.height_m - height_m) * sine)

    def height_at(self, ahead_m: float, row: float) -> float:
        """The height above the floor that is seen in a row of the image at a distance along the floor."""
        return self.height_m - ahead_m * self._descent(row)

    def _descent(self, row: float) -> float:
        """The metres that the line of sight through a row of the image descends per metre along the floor."""
        cosine, sine, focal_px = self._frame
        rise = (0.5 - row) * self.height_px / focal_px
        return (sine - rise * cosine) / (cosine + rise * sine)


def draw_viewpoint(size_px: tuple[int, int], rng: np.random.Generator) -> Viewpoint:
    """A viewpoint of a table."""
    half = float(rng.uniform(*HALF_FIELD_DEG))
    return Viewpoint(log_uniform(*HEIGHT_M, rng), half + float(rng.uniform(*TOP_DEG)), half, *size_px)
