"""The tables of columns, grades and states in the docs, from the code.

`python scripts/meanings.py --write` renews them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from snellen.analysis.grading.meanings import GRADE_MEANINGS, STATE_MEANINGS
from snellen.analysis.grading.rows import column_meanings

DOCS = Path(__file__).parents[1] / "docs"
START, END = "<!-- scripts/meanings.py writes {} from here: do not edit -->", "<!-- to here -->"
TABLES = {
    ("data-schema.md", "columns"): ("column", "meaning"),
    ("reports.md", "grades"): ("grade", "the 95 % interval of the score"),
    ("reports.md", "states"): ("state", "reason", "when"),
}


def rows(name: str) -> list[tuple[str, ...]]:
    """The cells of a table without its head."""
    if name == "columns":
        return [(f"`{column}`", meaning) for column, meaning in column_meanings().items()]
    if name == "grades":
        return list(GRADE_MEANINGS.items())
    return [(*key, meaning) for key, meaning in STATE_MEANINGS.items()]


def page(file: str) -> str:
    """A page with its tables as they should be."""
    text = (DOCS / file).read_text("utf-8")
    for (of_file, name), heads in TABLES.items():
        if of_file == file:
            before, _, rest = text.partition(START.format(name))
            head, *lines = (f"| {' | '.join(cells)} |\n" for cells in (heads, *rows(name)))
            table = "".join((head, "|---" * len(heads) + "|\n", *lines))
            text = f"{before}{START.format(name)}\n\n{table}\n{END}{rest.partition(END)[2]}"
    return text


if __name__ == "__main__":
    for name in dict.fromkeys(file for file, _ in TABLES):
        if "--write" in sys.argv:
            (DOCS / name).write_text(page(name), "utf-8")
        elif page(name) != (DOCS / name).read_text("utf-8"):
            sys.exit(f"docs/{name} is not as the code: python scripts/meanings.py --write")
