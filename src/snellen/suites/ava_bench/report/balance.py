"""What the report shows of the balance between training and testing (section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.section import ReportSection, Run
from snellen.suites.ava_bench.balance import FactorBalance, balances


def sections(run: Run) -> Iterator[ReportSection]:
    """The balance of the item set that was asked, training items included."""
    lines = [
        [
            balance.task,
            balance.factor.replace("_", " "),
            str(len(balance.levels)),
            *(_count_range(counts, balance.levels) for counts in (balance.train, balance.test)),
            _same_levels(balance),
            f"{100 * balance.apart():.1f}" if balance.both else DASH,
        ]
        for balance in balances(run.items.items)
    ]
    if not lines:
        return
    note = (
        "Of each factor by which the items of an ability are balanced: how many levels there are, the fewest and the "
        "most items that a level has to train on and to test on (0 where a split lacks one), whether both splits have "
        "the same levels, and the greatest difference, in points, between a level's shares of the two (section 3.3: "
        "what is trained is mirrored in testing). Factors with one level are left out."
    )
    names = ["ability", "factor", "levels", "train items a level", "test items a level", "same levels", "apart"]
    yield ReportSection("Balance of the items", note, pd.DataFrame(lines, columns=names), None, "balance", detail=True)


def _count_range(counts: Mapping[str, int], levels: Sequence[str]) -> str:
    by_level = [counts.get(level, 0) for level in levels]
    return f"{min(by_level)} to {max(by_level)}" if sum(by_level) else DASH


def _same_levels(balance: FactorBalance) -> str:
    if not balance.both:
        return DASH
    lone = [f"{len(levels)} only in {split}" for split in ("train", "test") if (levels := balance.only_in(split))]
    return ", ".join(lone) or "yes"
