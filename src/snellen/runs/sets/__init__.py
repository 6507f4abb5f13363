"""Item sets of runs: opened with all checks, or generated on first use."""
