"""VLM²-Bench, generated: items about images rendered here."""
