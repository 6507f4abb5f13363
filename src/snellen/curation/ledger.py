"""What was left out while a set was curated: by which rule, how often, and where first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

EXAMPLES = 3
ANY_TASK = "all tasks"
"""Stands for the task of what is wrong with a dataset itself."""


@dataclass
class Ledger:
    """Counts by (task, source, rule), the first few places of each, and what was kept by (task, source)."""

    dropped: dict[tuple[str, str, str], int] = field(default_factory=dict)
    examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    kept: dict[tuple[str, str], int] = field(default_factory=dict)

    def drop(self, task: str, source: str, rule: str, where: str, count: int = 1) -> None:
        """Leave out `count` more."""
        key = task, source, rule
        if key not in self.dropped:
            self.dropped[key], self.examples[key] = 0, []
        self.dropped[key] += count
        if len(held := self.examples[key]) < EXAMPLES:
            held.append(where)

    def keep(self, task: str, source: str, count: int = 1) -> None:
        """Take so many more."""
        self.kept[task, source] = self.kept.get((task, source), 0) + count

    def told(self) -> Mapping[str, Any]:
        """For the card: task -> source -> kept, and dropped by rule with the first examples."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for task, source in sorted({*self.kept, *(key[:2] for key in self.dropped)}):
            found.setdefault(task, {})[source] = {"kept": self.kept.get((task, source), 0), "dropped": {}}
        for (task, source, rule), count in sorted(self.dropped.items()):
            found[task][source]["dropped"][rule] = {"count": count, "examples": self.examples[task, source, rule]}
        return found

    def table(self) -> pd.DataFrame:
        """One row a rule, and one for what was kept: task, source, rule, count, examples."""
        rows = [(task, source, "kept", count, "") for (task, source), count in self.kept.items()]
        rows += [
            (task, source, rule, count, "; ".join(self.examples[task, source, rule]))
            for (task, source, rule), count in self.dropped.items()
        ]
        frame = pd.DataFrame(rows, columns=["task", "source", "rule", "count", "examples"])
        return frame.sort_values(["task", "source", "rule"], ignore_index=True)
