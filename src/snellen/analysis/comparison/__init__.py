"""Comparisons: differences of subjects, conditions and groups of items, and drops."""
