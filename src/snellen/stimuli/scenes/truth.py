"""The truth of an image, from geometry alone: boxes, masks, visibility, depth, occlusion.

Everything is measured at pixel centres on the triangles that renderers draw, as if every solid were opaque (glass
hides what is behind it). Pixel coordinates are continuous: pixel i covers [i, i + 1), (0, 0) is the top left corner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes.model import Camera, RenderSpec, Scene
from snellen.stimuli.scenes.raster import distances, project
from snellen.stimuli.scenes.shapes import place_points, unit_mesh

Box = tuple[float, float, float, float]
REDUCTION = 4
"""`least_extent_px` measures at a quarter of the resolution, so it is exact to that many pixels."""


@dataclasses.dataclass(frozen=True, eq=False)
class SolidTruth:
    """One solid in one image. Boxes are [x1, y1, x2, y2] in pixels, distances metres along the ray from the camera.

    amodal_box      of the whole solid, including hidden parts and those outside the image, not rounded to pixels; None
                    if it reaches behind the camera
    visible_box     edges of the visible pixels; None if nothing is visible
    mask            (height, width) visible pixels
    visible_fraction  visible pixels over amodal pixels inside the image, 0 to 1 (0 if outside)
    nearest_m       to the nearest visible point; None if nothing is visible
    """

    name: str
    amodal_box: Box | None
    visible_box: Box | None
    mask: NDArray[np.bool_]
    visible_fraction: float
    nearest_m: float | None


@dataclasses.dataclass(frozen=True, eq=False)
class Truth:
    """The truth of one image.

    solids          in the scene's order
    distance_m      (height, width) along the ray to the nearest solid, inf if there is none (the floor does not count)
    hides           (front, behind) -> pixels of `behind` that `front` covers, nearest cover only
    """

    solids: tuple[SolidTruth, ...]
    distance_m: NDArray[np.float64]
    hides: dict[tuple[str, str], int]

    def __getitem__(self, name: str) -> SolidTruth:
        for solid in self.solids:
            if solid.name == name:
                return solid
        raise SnellenError(f"no solid {name!r} in this image; it shows {[solid.name for solid in self.solids]}")


def truth(scene: Scene, camera: Camera, *, detail: int = 2) -> Truth:
    """Measure a scene as this camera sees it; `detail` 2 uses the rendered meshes, 1 coarser ones."""
    shape = (camera.height_px, camera.width_px)
    nearest, owner = np.full(shape, np.inf), np.full(shape, -1)
    alone: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    boxes: list[Box | None] = []
    for index, solid in enumerate(scene.solids):
        mesh = unit_mesh(solid.shape, detail)
        vertices = place_points(mesh.vertices, solid.pose)
        pixel, distance = distances(camera, vertices, mesh.faces)
        in_front = distance < nearest.flat[pixel]
        nearest.flat[pixel[in_front]], owner.flat[pixel[in_front]] = distance[in_front], index
        alone.append((pixel, distance))
        pixels, depth = project(camera, vertices)
        boxes.append(box_round(pixels) if depth.min() > 0 else None)
    solids = tuple(_solid_truth(scene, camera, index, alone[index], owner, box) for index, box in enumerate(boxes))
    # covered[i, j]: pixels that solid j would fill if it were alone, in which solid i is visible.
    count = len(scene.solids)
    filled = [np.bincount(owner.flat[pixel], minlength=count) for pixel, _ in alone]
    covered = np.array(filled, np.int64).reshape(count, count).T
    hides = {
        (scene.solids[i].name, scene.solids[j].name): int(covered[i, j]) for i, j in np.argwhere(covered) if i != j
    }
    return Truth(solids, nearest, hides)


def _solid_truth(
    scene: Scene,
    camera: Camera,
    index: int,
    alone: tuple[NDArray[np.int64], NDArray[np.float64]],
    owner: NDArray[np.int64],
    box: Box | None,
) -> SolidTruth:
    pixel, distance = alone
    is_seen = owner.flat[pixel] == index
    rows, columns = np.divmod(pixel[is_seen], camera.width_px)
    is_visible = len(rows) > 0
    mask = np.zeros((camera.height_px, camera.width_px), bool)
    mask.flat[pixel[is_seen]] = True
    visible = _box(columns, rows) if is_visible else None
    return SolidTruth(
        name=scene.solids[index].name,
        amodal_box=box,
        visible_box=visible,
        mask=mask,
        visible_fraction=len(rows) / len(pixel) if len(pixel) else 0.0,
        nearest_m=float(distance[is_seen].min()) if is_visible else None,
    )


def box_around(boxes: Sequence[Box], margin_share: float, camera: Camera) -> list[float]:
    """[x1, y1, x2, y2] around all boxes, with a margin (a share of its larger side), within the camera's image."""
    x1, y1 = min(box[0] for box in boxes), min(box[1] for box in boxes)
    x2, y2 = max(box[2] for box in boxes), max(box[3] for box in boxes)
    margin = margin_share * max(x2 - x1, y2 - y1)
    width, height = camera.width_px, camera.height_px
    return [max(0.0, x1 - margin), max(0.0, y1 - margin), min(width, x2 + margin), min(height, y2 + margin)]


def _box(columns: NDArray[np.int64], rows: NDArray[np.int64]) -> Box:
    return float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)


def box_round(pixels: NDArray[np.float64]) -> Box:
    """The box around points (n, 2) of the image."""
    x, y = pixels.T  # numpy is slow along short axes
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def least_extent_px(spec: RenderSpec) -> float:
    """The shortest side, in pixels, of all boxes around the visible parts of solids; 0 without any."""
    camera = spec.camera
    small = dataclasses.replace(
        camera, width_px=max(camera.width_px // REDUCTION, 1), height_px=max(camera.height_px // REDUCTION, 1)
    )
    boxes = [solid.visible_box for solid in truth(spec.scene, small, detail=1).solids if solid.visible_box]
    return min((REDUCTION * float(min(x2 - x1, y2 - y1)) for x1, y1, x2, y2 in boxes), default=0.0)
