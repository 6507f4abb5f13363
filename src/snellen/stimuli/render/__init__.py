"""Renders specs to cached image files: Mitsuba for real images, a toy renderer for tests."""

from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.image_cache import (
    Render,
    image_recipe,
    image_seconds,
    render_for_recipe,
    render_images,
    render_settings,
    size_share,
)  # fmt: skip

__all__ = [
    "Render", "RenderSettings", "image_recipe", "image_seconds", "render_for_recipe", "render_images",
    "render_settings", "renderer_info", "size_share",
]  # fmt: skip
