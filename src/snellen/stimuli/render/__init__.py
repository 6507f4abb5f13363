"""From render specs to cached picture files: Mitsuba for real pictures, a toy renderer for tests."""

from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.for_recipes import (
    Render,
    image_recipe,
    picture_seconds,
    render_for_recipe,
    render_settings,
    size_share,
)  # fmt: skip
from snellen.stimuli.render.picture_cache import render_pictures

__all__ = [
    "Render", "RenderSettings", "image_recipe", "picture_seconds", "render_for_recipe", "render_pictures",
    "render_settings", "renderer_info", "size_share",
]  # fmt: skip
