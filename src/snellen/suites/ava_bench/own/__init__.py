"""AVA-Bench on images and boxes of the user's own."""
