"""Renders specs to cached image files: Mitsuba for real images, a toy renderer for tests."""

from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.for_recipes import (
    Render,
    image_recipe,
    image_seconds,
    render_for_recipe,
    render_settings,
    size_share,
)  # fmt: skip
from snellen.stimuli.render.image_cache import render_images

__all__ = [
    "Render", "RenderSettings", "image_recipe", "image_seconds", "render_for_recipe", "render_images",
    "render_settings", "renderer_info", "size_share",
]  # fmt: skip
