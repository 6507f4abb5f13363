"""VFM Bench, generated: items about pictures rendered here."""
