"""YAML that users wrote: plain data, small, without aliases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text

MAX_DEPTH = 100
"""Lists and mappings in one another."""


def read_yaml(path: Path) -> Any:
    """What a YAML file says. Raises OSError as `read_bytes` does, UnicodeDecodeError, and YAMLError as `parse_yaml`."""
    return parse_yaml(read_text(path, limit=MAX_YAML_BYTES))


def parse_yaml(text: str) -> Any:
    """What YAML says, without aliases (`*name`), which let a line stand for a billion others.

    Raises YAMLError for them, for what is no YAML, and where it is nested too deep.
    """
    return yaml.load(text, _PlainLoader)  # a SafeLoader that reads less


class _PlainLoader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases are not read: write out what it stands for", problem_mark=event.start_mark
            )
        if self.depth == MAX_DEPTH:  # time to read a level grows with the number of open ones
            raise yaml.YAMLError(f"nested too deep: more than {MAX_DEPTH} levels")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node
