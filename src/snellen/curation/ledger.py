"""What was left out while a set was curated: by which rule, how often, and which were the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

MAX_EXAMPLES = 3
ANY_TASK = "all tasks"
"""Stands for the task of what is wrong with a dataset itself."""
ANY_SOURCE = ""
"""Stands for the source where a step does not ask which it was."""


@dataclass
class Ledger:
    """Counts by (task, source, rule), the first few examples of each, and what stays, by (task, source)."""

    dropped: dict[tuple[str, str, str], int] = field(default_factory=dict)
    examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    selected: dict[tuple[str, str], int] = field(default_factory=dict)

    def drop(self, task: str, source: str, rule: str, example: str, count: int = 1) -> None:
        """Leave out `count` more."""
        key = task, source, rule
        if key not in self.dropped:
            self.dropped[key], self.examples[key] = 0, []
        self.dropped[key] += count
        if len(self.examples[key]) < MAX_EXAMPLES:
            self.examples[key].append(example)

    def keep(self, task: str, source: str, count: int = 1) -> None:
        """Take so many more."""
        self.selected[task, source] = self.selected.get((task, source), 0) + count

    def as_card(self) -> Mapping[str, Any]:
        """For the card: task -> source -> kept, and dropped by rule with the first examples."""
        card: dict[str, dict[str, dict[str, Any]]] = {}
        for task, source in sorted({*self.selected, *(key[:2] for key in self.dropped)}):
            card.setdefault(task, {})[source] = {"kept": self.selected.get((task, source), 0), "dropped": {}}
        for (task, source, rule), count in sorted(self.dropped.items()):
            card[task][source]["dropped"][rule] = {"count": count, "examples": self.examples[task, source, rule]}
        return card

    def table(self) -> pd.DataFrame:
        """One row a rule, and one for what was kept: task, source, rule, count, examples."""
        rows = [(task, source, "kept", count, "") for (task, source), count in self.selected.items()]
        rows += [
            (task, source, rule, count, "; ".join(self.examples[task, source, rule]))
            for (task, source, rule), count in self.dropped.items()
        ]
        frame = pd.DataFrame(rows, columns=["task", "source", "rule", "count", "examples"])
        return frame.sort_values(["task", "source", "rule"], ignore_index=True)

    def notes(self, unit: str) -> list[str]:
        """One line a rule, for the card: how many `unit` were left out, and the first of them."""
        return [
            f"{count} {unit} left out, {rule}: {examples}" for rule, (count, examples) in self._by_rule(None).items()
        ]

    def task_note(self, task: str, unit: str) -> str:
        """One line about a task, for the card: how many `unit` were kept, and how many were dropped by which rule."""
        rules = self._by_rule(task)
        selected = sum(count for (name, _), count in self.selected.items() if name == task)
        total = selected + sum(count for count, _ in rules.values())
        reasons = "".join(f"; {count} dropped, {rule} ({examples})" for rule, (count, examples) in rules.items())
        return f"{task}: {selected} of {total} {unit} kept{reasons}"

    def _by_rule(self, task: str | None) -> dict[str, tuple[int, str]]:
        """Count and first examples as text, by rule in the order met; of one task, or (None) of all."""
        counts: dict[str, int] = {}
        examples: dict[str, list[str]] = {}
        for (name, source, rule), count in self.dropped.items():
            if task in (None, name):
                counts[rule] = counts.get(rule, 0) + count
                examples.setdefault(rule, []).extend(self.examples[name, source, rule])
        return {rule: (count, _first(examples[rule], count)) for rule, count in counts.items()}


def _first(examples: list[str], count: int) -> str:
    """The first examples of `count` in all, and a sign that there are more."""
    return ", ".join(examples[:MAX_EXAMPLES]) + (", …" if count > MAX_EXAMPLES else "")
