"""ComBo, generated: items about images rendered here."""
