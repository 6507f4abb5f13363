"""The list of commands that `snellen` alone prints."""

from typing import Any

from typer.core import TyperGroup

from snellen.core.registry import own_entries

WINGS = "snellen.commands"
"""The entry points of the commands that the wings add."""


class Overview(TyperGroup):
    """All commands; those of the wings are listed last, under a heading of their own."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their short help, within the width of the formatter."""
        wings = own_entries(WINGS)
        limit = formatter.width - 6 - max(map(len, self.commands))
        rows = {name: (name, command.get_short_help_str(limit)) for name, command in self.commands.items()}
        for heading, names in (
            ("Commands", rows.keys() - wings),
            ("Curated sets and vision towers", rows.keys() & wings),
        ):
            if names:
                with formatter.section(heading):
                    formatter.write_dl([row for name, row in rows.items() if name in names])
