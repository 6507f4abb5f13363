"""The ledger of a curation: items left out by rule, with counts and the first examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

MAX_EXAMPLES = 3
ANY_TASK = "all tasks"
"""The task of problems with a dataset itself."""
ANY_SOURCE = ""
"""The source if a step does not distinguish sources."""


@dataclass
class Ledger:
    """Dropped items by (task, source, rule) with the first few examples, and kept items by (task, source)."""

    dropped: dict[tuple[str, str, str], int] = field(default_factory=dict)
    examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    selected: dict[tuple[str, str], int] = field(default_factory=dict)

    def drop(self, task: str, source: str, rule: str, example: str, count: int = 1) -> None:
        """Record `count` more items left out."""
        key = task, source, rule
        if key not in self.dropped:
            self.dropped[key], self.examples[key] = 0, []
        self.dropped[key] += count
        if len(self.examples[key]) < MAX_EXAMPLES:
            self.examples[key].append(example)

    def keep(self, task: str, source: str, count: int = 1) -> None:
        """Record `count` more items kept."""
        self.selected[task, source] = self.selected.get((task, source), 0) + count

    def as_card(self) -> Mapping[str, Any]:
        """The entry of the card: task -> source -> kept, and dropped by rule with the first examples."""
        card: dict[str, dict[str, dict[str, Any]]] = {}
        for task, source in sorted({*self.selected, *(key[:2] for key in self.dropped)}):
            card.setdefault(task, {})[source] = {"kept": self.selected.get((task, source), 0), "dropped": {}}
        for (task, source, rule), count in sorted(self.dropped.items()):
            card[task][source]["dropped"][rule] = {"count": count, "examples": self.examples[task, source, rule]}
        return card

    def table(self) -> pd.DataFrame:
        """One row per rule, and one for the items kept: task, source, rule, count, examples."""
        rows = [(task, source, "kept", count, "") for (task, source), count in self.selected.items()]
        rows += [
            (task, source, rule, count, "; ".join(self.examples[task, source, rule]))
            for (task, source, rule), count in self.dropped.items()
        ]
        frame = pd.DataFrame(rows, columns=["task", "source", "rule", "count", "examples"])
        return frame.sort_values(["task", "source", "rule"], ignore_index=True)

    def notes(self, unit: str) -> list[str]:
        """One line per rule for the card: the number of `unit` left out, and the first of them."""
        return [
            f"{count} {unit} left out, {rule}: {examples}" for rule, (count, examples) in self._by_rule(None).items()
        ]

    def task_note(self, task: str, unit: str) -> str:
        """One line about a task for the card: the number of `unit` kept, and dropped by rule."""
        rules = self._by_rule(task)
        selected = sum(count for (name, _), count in self.selected.items() if name == task)
        total = selected + sum(count for count, _ in rules.values())
        reasons = "".join(f"; {count} dropped, {rule} ({examples})" for rule, (count, examples) in rules.items())
        return f"{task}: {selected} of {total} {unit} kept{reasons}"

    def _by_rule(self, task: str | None) -> dict[str, tuple[int, str]]:
        """Count and first examples as text, by rule in order of appearance; of one task, or (None) of all."""
        counts: dict[str, int] = {}
        examples: dict[str, list[str]] = {}
        for (name, source, rule), count in self.dropped.items():
            if task in (None, name):
                counts[rule] = counts.get(rule, 0) + count
                examples.setdefault(rule, []).extend(self.examples[name, source, rule])
        return {rule: (count, listed(examples[rule], count)) for rule, count in counts.items()}


def listed(names: Sequence[str], count: int | None = None) -> str:
    """The first of the names, with an ellipsis if there are more of them (`count`, if it is not all names)."""
    return ", ".join(names[:MAX_EXAMPLES]) + (", …" if (count or len(names)) > MAX_EXAMPLES else "")
