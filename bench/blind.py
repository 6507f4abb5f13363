"""The table of blind scores in docs/measurements/validity.md, from the packaged files.

`python bench/blind.py --write` renews it; `snellen blind-baseline SUITE --out DIR` measures the scores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from snellen.analysis.blind import too_blind
from snellen.analysis.blind.measure import main_metric
from snellen.reports.words import amount
from snellen.runs.blind import recipe_card
from snellen.suites import SUITES

PAGE = Path(__file__).parents[1] / "docs" / "measurements" / "validity.md"
START, END = "<!-- bench/blind.py writes from here: do not edit -->", "<!-- to here -->"


def table() -> Iterator[str]:
    """The lines: one a task and its main metric; in bold where the blind baseline is above chance."""
    yield "| suite | task | metric | chance | blind | items | by |"
    yield "|---|---|---|---|---|---|---|"
    for name in SUITES:
        suite = SUITES.get(name)
        card = recipe_card(suite, {}) if suite.recipes else None
        named = {score.key for score in too_blind(card.scores, suite)} if card else set()
        for score in card.scores if card else ():
            metric = main_metric(suite.tasks[score.task])
            if (score.protocol, score.metric, score.factor) != ("strict", metric.name, ""):
                continue
            chance = "–" if score.chance is None else amount(score.chance, metric, score.n)
            value = amount(score.value, metric, score.n)
            bold = "**" if score.key in named else ""
            cells = name, score.task, metric.name, chance, f"{bold}{value}{bold}", str(score.n), score.attack
            yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    lines = "\n".join(table())
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        PAGE.write_text(f"{before}{START}\n\n{lines}\n\n{END}{rest.partition(END)[2]}", "utf-8")
    else:
        print(lines)
