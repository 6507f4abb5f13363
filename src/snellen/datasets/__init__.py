"""The user's own images, boxes and tables: readers of their files, and samples."""
