"""Examinations: item sets, runs, checkups, judging, time and cost estimates, exams of checkpoints."""
