"""What must be answered, reviewed, split and drawn while an item set is curated."""
