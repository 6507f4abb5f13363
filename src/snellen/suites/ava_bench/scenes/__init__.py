"""Scenes of solids that are rendered here, and what is true of their images."""
