"""ComBo: what the report shows of its paper."""
