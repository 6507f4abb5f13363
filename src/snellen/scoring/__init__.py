"""From replies to numbers: the one answer parser, metrics, and how sure the numbers are."""
