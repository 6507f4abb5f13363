"""Runs: arms, the ask loop, resuming by replay, and scoring."""
