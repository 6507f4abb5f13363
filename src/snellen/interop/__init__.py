"""Item sets and runs in the formats of other tools."""
