"""VFM Bench: the report's sections."""
