"""Scores of a run: its replies scored, verdicts of judges, units of boxes, and blind scores."""
