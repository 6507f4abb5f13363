"""Analysis: tidy results, contrasts, rankings."""
