"""Phantom eyes: small models trained on drawn questions, whole or with a defect that their training pairs plant."""

__version__ = "0.2.0"
