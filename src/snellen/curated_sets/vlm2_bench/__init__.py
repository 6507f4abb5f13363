"""VLM²-Bench, curated: the paper's construction on the user's images and videos."""
