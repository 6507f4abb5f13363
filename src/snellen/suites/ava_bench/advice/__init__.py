"""AVA-Bench: which encoder suits a user's own questions."""
