"""Users' YAML files: plain data, small, without aliases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text

MAX_DIGITS = 100
"""Characters of a number. YAML reads 12:30 in base 60, as 750, which takes long for a long one."""
MAX_DEPTH = 100
"""Levels of nested lists and mappings."""


def read_yaml(path: Path) -> Any:
    """The content of a YAML file. Raises OSError as `read_bytes`, UnicodeDecodeError, and YAMLError as `parse_yaml`."""
    return parse_yaml(read_text(path, limit=MAX_YAML_BYTES))


def parse_yaml(text: str) -> Any:
    """The content of a YAML text. Raises YAMLError for invalid YAML, deep nesting, keys given twice, and aliases.

    Aliases are refused because a few lines of them can expand to a billion.
    """
    try:
        return yaml.load(text, _PlainLoader)  # a SafeLoader that reads less
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # What PyYAML raises for scalars such as 2026-99-99, a number of 100,000 digits, `!!bool x`.
        raise yaml.YAMLError(f"a value cannot be read: {error}") from error


class _PlainLoader(yaml.SafeLoader):
    depth = 0

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        text = super().construct_scalar(node)
        if node.tag.endswith((":int", ":float")) and (len(text) > MAX_DIGITS or ":" in text):
            raise ValueError(f"{text[:20]!r} is a number in base 60 or too long; quote it if it is a text")
        text.encode()  # raises UnicodeEncodeError for half of a surrogate pair, which no file can store
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.MarkedYAMLError(problem="a mapping has a key twice", problem_mark=node.start_mark)
        return mapping

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases are not read: write out their content", problem_mark=event.start_mark
            )
        if self.depth == MAX_DEPTH:  # reading a level takes time in proportion to its depth
            raise yaml.YAMLError(f"nested too deep: more than {MAX_DEPTH} levels")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node
