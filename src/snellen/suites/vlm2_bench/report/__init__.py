"""VLM²-Bench: the report's sections."""
