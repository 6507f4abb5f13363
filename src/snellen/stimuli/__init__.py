"""Stimuli: scenes and their truth (`scenes`), the renderers of their images (`render`), transforms and videos."""
