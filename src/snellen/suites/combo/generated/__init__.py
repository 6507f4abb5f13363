"""ComBo, generated: items about pictures rendered here."""
