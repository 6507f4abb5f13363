"""The recipe `table`: questions from a user's table."""
