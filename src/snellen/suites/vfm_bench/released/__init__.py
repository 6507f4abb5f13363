"""VFM Bench, released: the authors' files."""
