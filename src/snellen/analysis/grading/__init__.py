"""Results: the numbers of each score, floors without the ability, and grades."""
