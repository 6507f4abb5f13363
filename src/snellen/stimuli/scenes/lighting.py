"""Scenes in other light."""

from __future__ import annotations

from dataclasses import replace

from snellen.stimuli.scenes.model import Scene

Rgb = tuple[float, float, float]
WHITE: Rgb = (1.0, 1.0, 1.0)


def relight(scene: Scene, factor: float, tint: Rgb = WHITE, dome_factor: float = 1.0) -> Scene:
    """The scene with every light and the dome times `factor`; the dome times `dome_factor` too.

    `tint` is a factor on linear red, green and blue. Softboxes have one radiance for all three, so that none tints
    them.
    """

    def scaled(colour: Rgb, factor: float) -> Rgb:
        r, g, b = (factor * level * shade for level, shade in zip(colour, tint, strict=True))
        return r, g, b

    lights = tuple(
        replace(light, radiance_linear_rgb=scaled(light.radiance_linear_rgb, factor)) for light in scene.lights
    )
    around = factor * dome_factor
    dome = replace(
        scene.dome,
        horizon_linear_rgb=scaled(scene.dome.horizon_linear_rgb, around),
        zenith_linear_rgb=scaled(scene.dome.zenith_linear_rgb, around),
        softboxes=tuple(replace(box, radiance=box.radiance * around) for box in scene.dome.softboxes),
    )
    return replace(scene, lights=lights, dome=dome)
