"""VLM²-Bench, generated: items about pictures rendered here."""
