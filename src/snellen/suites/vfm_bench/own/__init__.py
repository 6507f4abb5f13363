"""VFM Bench on images of the user's own: a folder a class, and nobody who judges."""
