"""The `curated` recipe: what is taken from real datasets, by which rules."""
