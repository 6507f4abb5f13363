"""AVA-Bench, generated: items about images rendered here."""
