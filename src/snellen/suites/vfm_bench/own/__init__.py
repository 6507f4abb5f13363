"""VFM Bench on the user's images: one folder per class, without judges."""
