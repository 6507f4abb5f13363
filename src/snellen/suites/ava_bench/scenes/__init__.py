"""Rendered scenes of solids, and the truth of their images."""
