"""Examinations: item sets, runs, checkups, judging, exams of checkpoints."""
