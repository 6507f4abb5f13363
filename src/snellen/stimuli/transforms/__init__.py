"""Transforms of pixels, each named and versioned."""
