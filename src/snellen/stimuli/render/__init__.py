"""From shots to picture files: `shoot` with a cache, Mitsuba for real pictures, a toy renderer for tests."""

from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.for_recipes import shoot_for
from snellen.stimuli.render.picture_cache import shoot

__all__ = ["RenderSettings", "renderer_info", "shoot", "shoot_for"]
