"""Runs: arms, the ask loop, resume by replay, and the scoring of what came back."""
