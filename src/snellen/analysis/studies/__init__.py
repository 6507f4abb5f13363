"""People: studies as subjects, and their tables."""
