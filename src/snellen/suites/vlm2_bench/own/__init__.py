"""VLM²-Bench on the user's things: one folder per thing."""
