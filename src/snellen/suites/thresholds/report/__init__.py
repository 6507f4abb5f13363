"""The report's sections of thresholds."""
