"""VFM Bench: what the report shows of its paper."""
