"""What may become an item of a real dataset: candidates, rules, choices made by hand, regions, depths."""
