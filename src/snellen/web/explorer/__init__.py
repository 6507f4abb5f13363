"""The explorer: a page beside a report that leads to every item, works from a file, and asks the network nothing."""

from snellen.web.explorer.page import explorer_writer, write_explorer

__all__ = ["explorer_writer", "write_explorer"]
