"""Presentation: turns an item under a condition into prompts."""
