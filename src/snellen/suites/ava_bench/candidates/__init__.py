"""Candidates for items in real datasets: rules, choices made by hand, regions, depths."""
