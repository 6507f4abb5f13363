"""ComBo from a table of images and questions."""
