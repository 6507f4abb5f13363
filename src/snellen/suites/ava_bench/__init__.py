"""AVA-Bench: fourteen atomic visual abilities, one asked at a time."""
