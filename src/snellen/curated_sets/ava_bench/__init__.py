"""AVA-Bench from real datasets."""
