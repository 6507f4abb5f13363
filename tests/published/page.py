"""Which printed numbers of the papers follow from others: as a table in the terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from snellen.core.fidelity import VERDICTS, DerivedNumber, PrintedNumber, Underivable, verdict_counts
from snellen.core.suite import SuiteCard

if TYPE_CHECKING:
    from rich.table import Table

PAGE_COMMAND = "snellen fidelity --out docs/fidelity.md"
INTRODUCTION = f"""\
# Do the papers' numbers follow?

Every number that a paper prints though other printed numbers decide it (means, differences, sums, ranks, chance levels,
steps of scores, claims about all of its rows) is computed again from `published.py` of its suite. A *match* agrees to
half a unit of the last printed digit. A *known mismatch* does not, for the reason beside it. An *unexplained mismatch*
would be a slip of ours or news about the paper: there is none, and a test keeps it so. *Not derivable* is what nothing
printed decides, in groups. `snellen fidelity` prints the same, and ends with 1 where a mismatch is unexplained.

This page was written by `{PAGE_COMMAND}`.
"""
SPARE_DECIMALS = 2
"""By how many decimals what follows is shown beyond those that are printed."""


def printed(number: DerivedNumber) -> str:
    """The number as the paper prints it."""
    return f"{number.printed:,.{max(number.decimals, 0)}f}"


def recomputed(number: DerivedNumber) -> str:
    """What follows, to more digits than are printed, without zeros at their end."""
    text = f"{number.recomputed:,.{max(number.decimals, 0) + SPARE_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")


def title(number: DerivedNumber) -> str:
    """What a number is, and whose."""
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
    """The groups of numbers that nothing printed decides."""
    return [number for number in numbers if isinstance(number, Underivable)]


def counts_line(numbers: Iterable[PrintedNumber]) -> str:
    """How many numbers got each verdict, in one line."""
    return ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(numbers).items())


def fidelity_table(numbers: Sequence[PrintedNumber]) -> Table:
    """One line a group of numbers that follow, one a number that does not, one a group that cannot be derived."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("number", overflow="fold")
    for column in ("printed", "follows", "verdict"):
        table.add_column(column, justify="right", no_wrap=True)
    for (source, statement), group in matches(numbers).items():
        (number, *others) = group
        cells = (f"{len(group)} numbers", "") if others else (printed(number), recomputed(number))
        table.add_row(escape(f"{source}: {statement if others else title(number)}"), *cells, "match")
    for number in mismatches(numbers):
        reason = f"\n  [dim]{escape(number.known_reason)}[/]" * bool(number.known_reason)
        verdict = "known" if number.known_reason else "[red]UNEXPLAINED[/]"
        text = escape(f"{number.source}: {title(number)}") + reason
        table.add_row(text, printed(number), recomputed(number), verdict)
    for rest in underivable(numbers):
        text = f"{escape(f'{rest.source}: {rest.statement}')}\n  [dim]{escape(rest.why)}[/]"
        table.add_row(text, f"{rest.numbers} numbers" if rest.numbers else "", "", "not derivable")
    return table


def fidelity_page(suites: Sequence[tuple[SuiteCard, Sequence[PrintedNumber]]]) -> str:
    """The page as Markdown: counts of all suites, then what does not follow, what does, and what cannot be derived."""
    counts = [(card.name, *verdict_counts(numbers).values()) for card, numbers in suites]
    parts = [INTRODUCTION, _markdown(("suite", *VERDICTS), counts)]
    for card, numbers in suites:
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
    """A number that follows; a bound with what it bounds."""
    text = f"{number.subject} {printed(number)}".strip()
    return text if number.relation == "=" else f"{text} ({recomputed(number)})"


def _markdown(head: Sequence[str], cells: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *cells]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)
