"""Analysis of a scored run: results, contrasts, rankings, verdicts."""
