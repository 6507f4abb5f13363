"""Counts of a curated set compared with the paper's, for the card (Tables 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.item import Item
from snellen.datasets.layout_notes import layout_notes
from snellen.suites.vfm_bench.items import LEVELS
from snellen.suites.vfm_bench.published import TABLE_7, TABLE_8


class EpisodeCounts(NamedTuple):
    """Queries, tasks, classes over all tasks, and the mean number of classes per query."""

    queries: int
    tasks: int
    classes: int
    mean_classes: float

    def __str__(self) -> str:
        total = f"{self.queries} queries, {self.tasks} tasks, {self.classes} concepts"
        return f"{total}, {self.mean_classes:.2f} classes per query"


def count(items: Sequence[Item]) -> EpisodeCounts:
    """The counts of one or more items."""
    classes = {(item.factors["concept_task"], option.text) for item in items for option in item.options}
    mean_classes = sum(len(item.options) for item in items) / len(items)
    return EpisodeCounts(len(items), len({item.factors["concept_task"] for item in items}), len(classes), mean_classes)


def count_lines(items: Sequence[Item]) -> list[str]:
    """Lines for the card: by industry (Table 8), by concept level, notes on layouts, by source (Table 7)."""
    notes = []
    for name, row in TABLE_8.items():
        of_industry = [item for item in items if item.factors["industry"] == name]
        paper = EpisodeCounts(row.samples, row.tasks, row.concepts, row.average)
        notes.append(f"{name}: {count(of_industry) if of_industry else 'none'} (Table 8: {paper})")
    for level in LEVELS:
        of_level = [item for item in items if item.factors["concept_level"] == level]
        printed = sum(row.samples for row in TABLE_7 if row.level == level)
        notes.append(f"level {level}: {len(of_level)} queries (Table 7: {printed})")
    sources = sorted({item.factors["source"] for item in items})
    notes.extend(layout_notes(sources))
    for source in sources:
        of_source = [item for item in items if item.factors["source"] == source]
        rows = [row for row in TABLE_7 if _letters(row.name) == _letters(source)]
        paper_rows = "; ".join(
            f"{row.industry}, {row.level}: {EpisodeCounts(row.samples, row.objects, row.classes, row.average)}"
            for row in rows
        )
        first = of_source[0].factors
        notes.append(
            f"{source}, {first['industry']}, {first['concept_level']}: {count(of_source)} "
            f"(Table 7: {paper_rows or 'absent'})"
        )
    return notes


def _letters(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())
