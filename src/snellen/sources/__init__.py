"""Real datasets on the user's disk, as records of labelled pictures."""
