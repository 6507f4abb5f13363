"""Models asked in construction runs: detectors, and language models that score how likely a text is."""
