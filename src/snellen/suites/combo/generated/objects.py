"""The views of objects: the image of object `index` from view `view` under a seed."""

from __future__ import annotations

from snellen.core.build_options import SIZE_PX
from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import RenderSpec, chain, clear_camera, composite, composite_scene, turn
from snellen.suites.combo.items import STREAMS, SUITE
from snellen.suites.combo.questions.alignment import NaturalCategory, dressed

VIEWS = 20
"""Random views of each object (section 3.1)."""


def object_spec(index: int, view: int, seed: int, size_px: tuple[int, int] = SIZE_PX) -> RenderSpec:
    """Object 0..9503 from its view 0..19, a random view that shows both primitives clearly."""
    scene = composite_scene(composite(index))
    rng = stream(SUITE, STREAMS, seed, "view", index, view)
    camera = clear_camera(scene, rng, size_px=size_px)
    return RenderSpec(scene, camera, seed_of(SUITE, STREAMS, seed, "noise", index, view))


def view_of(index: int, seed: int) -> int:
    """The view 0..19 of an object in the item sets of a seed."""
    return int(stream(SUITE, STREAMS, seed, "which view", index).integers(VIEWS))


def natural_spec(
    category: NaturalCategory, number: int, seed: int, size_px: tuple[int, int] = SIZE_PX
) -> tuple[RenderSpec, dict[str, str]]:
    """Image `number` of a natural category, with random materials, colours and view, and the object's appearance."""
    rng = stream(SUITE, STREAMS, seed, "natural", category.name, number)
    block = dressed(category, rng)
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    rotation = chain(*(turn(axes[axis], degrees) for axis, degrees in reversed(category.turn_deg)))
    scene = composite_scene(block, rotation=rotation)
    camera = clear_camera(
        scene, rng, elevation_deg=category.elevation_deg, azimuth_deg=category.azimuth_deg, size_px=size_px
    )
    noise = seed_of(SUITE, STREAMS, seed, "natural noise", category.name, number)
    return RenderSpec(scene, camera, noise), block.dimensions()
