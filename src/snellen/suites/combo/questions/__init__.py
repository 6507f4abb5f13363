"""The three kinds of task of ComBo: their questions, axes and items."""
