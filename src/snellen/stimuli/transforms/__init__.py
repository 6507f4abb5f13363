"""Everything that touches pixels, named and versioned."""
