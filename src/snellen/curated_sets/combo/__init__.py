"""ComBo, curated: questions to people about a finished set."""
