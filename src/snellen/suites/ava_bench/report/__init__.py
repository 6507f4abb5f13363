"""AVA-Bench: what the report shows of its paper."""
