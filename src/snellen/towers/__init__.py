"""Vision towers: heads and probes on many towers, and the models that ComBo trains for comparison."""
