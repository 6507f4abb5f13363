"""VFM Bench on pictures of the user's own: a folder a class, and nobody who judges."""
