"""People as subjects and as judges: study bundles, the server that runs them, and their results as ordinary runs."""
