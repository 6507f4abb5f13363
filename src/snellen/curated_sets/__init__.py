"""The papers' sets, made again from the user's copies of real datasets: a package per suite, and what only they use."""
