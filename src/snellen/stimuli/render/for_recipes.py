"""Images of generated sets, rendered once into the home folder for all suites."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snellen.compute import Progress
from snellen.core.build_options import SIZE_PX, BuildOptions
from snellen.core.hashing import canonical
from snellen.core.storage.home import home
from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.image_cache import render_images
from snellen.stimuli.scenes.model import RenderSpec, to_json

FIXED_SHARE = 0.14
"""The part of the time of an image of the usual size that does not depend on its pixels.

One object in `fast` took 0.24, 0.22, 0.44 and 1.24 CPU s at 80x60, 160x120, 320x240 and 640x480.
"""


class Render(NamedTuple):
    """The file of a rendered image, and its recipe as JSON text (`image_recipe`)."""

    path: Path
    recipe: str


def render_settings(options: BuildOptions) -> RenderSettings:
    """Render settings of a build. Raises SnellenError for an unknown renderer or quality."""
    return RenderSettings(renderer=options.renderer, quality=options.quality)  # type: ignore[arg-type]  # it checks


def image_recipe(spec: RenderSpec, settings: RenderSettings) -> str:
    """An image's recipe as JSON text: spec and settings, without what differs between machines."""
    chosen = dataclasses.asdict(settings) if settings.renderer == "mitsuba" else {"renderer": settings.renderer}
    chosen.pop("variant", None)
    return canonical({"settings": chosen, "spec": json.loads(to_json(spec))})


def render_for_recipe(specs: Sequence[RenderSpec], options: BuildOptions) -> tuple[list[Render], Mapping[str, Any]]:
    """The image of every spec, in order, and the renderer facts for the card of a set.

    Only images missing in the home folder are rendered. Raises SnellenError for an unknown or missing renderer.
    """
    settings = render_settings(options)
    with Progress("rendering", unit="images", visible=options.show_progress) as progress:
        paths = render_images(specs, settings, home() / "renders", workers=options.workers, progress=progress)
    recipes = (image_recipe(spec, settings) for spec in specs)
    return list(map(Render, paths, recipes)), {"render": renderer_info(settings)}


def image_seconds(by_quality: Mapping[str, float], options: BuildOptions, share: float = 1.0) -> float:
    """CPU seconds per image in the quality and size of this build, from those of the usual size by quality.

    `share` is that of an image in the pixels of a whole one. Raises SnellenError for an unknown quality.
    """
    seconds = by_quality[RenderSettings(quality=options.quality).quality]  # type: ignore[arg-type]  # it checks
    return seconds * (FIXED_SHARE + (1 - FIXED_SHARE) * share * size_share(options))


def size_share(options: BuildOptions) -> float:
    """Pixels of an image of this build, relative to the usual size."""
    return math.prod(options.size_px) / math.prod(SIZE_PX)
