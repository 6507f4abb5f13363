"""Tools that construction runs ask: detectors, and language models that say how likely a text is."""
