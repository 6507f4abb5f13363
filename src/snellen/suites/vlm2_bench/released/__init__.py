"""VLM²-Bench, released: the authors' files."""
