"""Studies with people as subjects and judges: bundles, the server that runs them, and results as ordinary runs."""
