"""AVA-Bench on the user's own images and boxes."""
