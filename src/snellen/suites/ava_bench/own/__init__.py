"""AVA-Bench on pictures and boxes of the user's own."""
