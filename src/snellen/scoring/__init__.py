"""Scoring: the answer parser, metrics, and intervals."""
