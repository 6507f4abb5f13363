"""VLM²-Bench on things of the user's own: a folder a thing."""
