"""The page docs/fidelity.md: which printed numbers of the papers follow from others.

`python -m tests.published.page` compares it with the statements of this folder; with `--write` it rewrites the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from snellen.suites import SUITES
from tests.published import ava_bench, combo, vfm_bench, vlm2_bench
from tests.published.derived import VERDICTS, DerivedNumber, PrintedNumber, Underivable, verdict_counts

PAGE = Path(__file__).parents[2] / "docs" / "fidelity.md"
COMMAND = "python -m tests.published.page --write"
NUMBERS: Mapping[str, Callable[[], Iterable[PrintedNumber]]] = {
    "combo": combo.derived_numbers,
    "vlm2-bench": vlm2_bench.derived_numbers,
    "vfm-bench": vfm_bench.derived_numbers,
    "ava-bench": ava_bench.derived_numbers,
}
"""The numbers of each suite's paper, by the name of the suite."""
INTRODUCTION = f"""\
# Do the papers' numbers follow?

Each printed number that follows from other printed numbers of its paper (means, differences, sums, ranks, chance
levels, steps of scores, claims about all rows) is recomputed from them (`published.py` of the suite, and
`tests/published/`). A *match* agrees to half a unit of the last printed digit. A *known mismatch* does not, for the
reason given. An *unexplained mismatch* would be an error of ours or news about the paper; there is none. *Not
derivable* counts numbers that do not follow from any printed number, in groups.

`make check` verifies this page. It was written by `{COMMAND}`.
"""
SPARE_DECIMALS = 2
"""The number of decimals of recomputed numbers beyond the printed ones."""


def printed(number: DerivedNumber) -> str:
    """The number as the paper prints it."""
    return f"{number.printed:,.{max(number.decimals, 0)}f}"


def recomputed(number: DerivedNumber) -> str:
    """The recomputed number, with more digits than printed, without trailing zeros."""
    text = f"{number.recomputed:,.{max(number.decimals, 0) + SPARE_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")


def title(number: DerivedNumber) -> str:
    """The meaning of a number, and its subject."""
    return f"{number.statement}, {number.subject}" if number.subject else number.statement


def matches(numbers: Iterable[PrintedNumber]) -> dict[tuple[str, str], list[DerivedNumber]]:
    """The numbers that follow, by source and statement."""
    groups: dict[tuple[str, str], list[DerivedNumber]] = {}
    for number in numbers:
        if isinstance(number, DerivedNumber) and number.verdict == "match":
            groups.setdefault((number.source, number.statement), []).append(number)
    return groups


def mismatches(numbers: Iterable[PrintedNumber]) -> list[DerivedNumber]:
    """The numbers that do not follow, those without a reason first."""
    others = [number for number in numbers if isinstance(number, DerivedNumber) and number.verdict != "match"]
    return sorted(others, key=lambda number: number.verdict == "known mismatch")


def underivable(numbers: Iterable[PrintedNumber]) -> list[Underivable]:
    """The groups of numbers that follow from nothing printed."""
    return [number for number in numbers if isinstance(number, Underivable)]


def page_text() -> str:
    """The page as Markdown: counts of all suites, then per suite the numbers by verdict."""
    suites = {name: list(derived_numbers()) for name, derived_numbers in NUMBERS.items()}
    counts = [(name, *verdict_counts(numbers).values()) for name, numbers in suites.items()]
    parts = [INTRODUCTION, _markdown(("suite", *VERDICTS), counts)]
    for name, numbers in suites.items():
        card = SUITES.get(name).card
        parts += [f"## {card.title}\n", f"{card.paper.strip()}.\n", *_section(numbers)]
    return "\n".join(parts)


def _section(numbers: Sequence[PrintedNumber]) -> list[str]:
    wrong = [
        (number.source, title(number), printed(number), recomputed(number), number.known_reason or "UNEXPLAINED")
        for number in mismatches(numbers)
    ]
    right = [
        (source, statement, len(group), ", ".join(map(_entry, group)))
        for (source, statement), group in matches(numbers).items()
    ]
    rest = [(group.source, group.statement, group.numbers or "–", group.why) for group in underivable(numbers)]
    return [
        "### What does not follow\n",
        _markdown(("source", "number", "printed", "follows", "reason"), wrong),
        "### What follows\n",
        _markdown(("source", "number", "numbers", "as printed"), right),
        "### What cannot be derived\n",
        _markdown(("source", "number", "numbers", "why"), rest),
    ]


def _entry(number: DerivedNumber) -> str:
    """A number that follows; a bound with its recomputed value."""
    text = f"{number.subject} {printed(number)}".strip()
    return text if number.relation == "=" else f"{text} ({recomputed(number)})"


def _markdown(head: Sequence[str], cells: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *cells]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def main() -> None:
    """Write or compare the page; exit code 1 if it differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = page_text()
    if parser.parse_args().write:
        PAGE.write_text(text, encoding="utf-8")
    sys.exit(PAGE.read_text("utf-8") != text)


if __name__ == "__main__":
    main()
