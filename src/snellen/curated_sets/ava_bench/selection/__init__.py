"""AVA-Bench, curated: the paper's construction on the user's own datasets."""
