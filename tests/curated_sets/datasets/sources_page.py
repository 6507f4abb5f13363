"""Tables of two pages from cards of datasets; `python -m tests.curated_sets.datasets.sources_page` rewrites them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.dataset import DatasetCard
from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET

INDUSTRY, TASKS, EVIDENCE = "| source | industry |", "| source | tasks |", "| source | known by |"
DOCS = Path(__file__).parents[3] / "docs"
HEADERS: Mapping[Path, tuple[str, ...]] = {
    DOCS / "sources.md": (INDUSTRY, TASKS),
    DOCS / "measurements" / "datasets.md": (EVIDENCE,),
}
"""The tables of each page, by the beginning of their headers."""


def tables() -> Mapping[str, list[str]]:
    """Lines of every table by the beginning of its header; the header stays as on the page."""
    cards = [DATASETS.get(name).card for name in DATASETS]
    return {
        INDUSTRY: [
            _row(card.name, row.industry, row.level, _licence(card), card.layout, _origin(card))
            for card in cards
            if (row := ROW_OF_DATASET.get(card.name))
        ],
        TASKS: [
            _row(card.name, ", ".join(tasks), _licence(card), card.layout, _origin(card))
            for card in cards
            if (tasks := TASKS_OF_DATASET.get(card.name))
        ],
        EVIDENCE: [_row(card.name, card.verified, "<br>".join(_evidence(card)), card.caveat) for card in cards],
    }


def rewritten(path: Path) -> str:
    """The page with its tables and the counts of layouts by evidence, from the cards."""
    page, rows_by_header = path.read_text("utf-8"), tables()
    for header in HEADERS[path]:
        rows = rows_by_header[header]
        start = page.index(f"\n{header}") + 1
        body = page.index("\n", page.index("\n", start) + 1) + 1  # after the header and its rule
        end = page.find("\n\n", body - 1)
        page = page[:body] + "\n".join(rows) + ("\n" if end < 0 else page[end:])
    statuses = [DATASETS.get(name).card.verified for name in DATASETS]
    counts = (f"{statuses.count(status)} {status}" for status in ("listing", "loaders", "assumed"))
    return re.sub(r"Of \d+ datasets: .*\n", f"Of {len(statuses)} datasets: {', '.join(counts)}.\n", page)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _licence(card: DatasetCard) -> str:
    return card.licence.replace(DatasetCard.licence, "–")


def _origin(card: DatasetCard) -> str:
    return f"[page]({card.homepage})" if card.homepage else card.citation


def _evidence(card: DatasetCard) -> Iterator[str]:
    for entry in card.evidence:
        yield f"{entry.kind} [{entry.publisher}]({entry.url})"


if __name__ == "__main__":
    for path in HEADERS:
        path.write_text(rewritten(path), "utf-8")
