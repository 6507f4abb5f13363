"""Questions about images at several levels of reduction."""
