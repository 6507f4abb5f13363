"""AVA-Bench, released: the authors' files."""
