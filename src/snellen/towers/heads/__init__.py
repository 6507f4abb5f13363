"""Vision towers with a small language model: AVA-Bench's protocol (arXiv 2506.09082, sections 4 and 5)."""
