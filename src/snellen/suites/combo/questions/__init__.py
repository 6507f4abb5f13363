"""ComBo's three kinds of task: what they ask, their axes, and their items."""
