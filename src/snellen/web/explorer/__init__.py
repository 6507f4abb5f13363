"""The explorer: a page next to a report with every item, which works from a file and without a network."""

from snellen.web.explorer.page import explorer_writer, write_explorer

__all__ = ["explorer_writer", "write_explorer"]
