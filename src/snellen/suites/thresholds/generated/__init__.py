"""The recipe `generated` of thresholds."""
