"""The tables of blind scores and of other floors in docs/measurements/, from the packaged files.

`python bench/blind.py --write` renews them; `snellen blind-baseline SUITE --out DIR` measures the scores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from snellen.analysis.blind import too_blind
from snellen.analysis.blind.measure import main_metric
from snellen.reports.words import amount
from snellen.runs.scores.blind import recipe_card
from snellen.suites import SUITES

PAGES = Path(__file__).parents[1] / "docs" / "measurements"
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


def floors() -> Iterator[str]:
    """The lines: one per task and floor, by the main metric."""
    yield "| suite | task | metric | blind | floor | its score | units |"
    yield "|---|---|---|---|---|---|---|"
    for name in SUITES:
        suite = SUITES.get(name)
        card = recipe_card(suite, {}) if suite.recipes else None
        blind = {score.key: score.value for score in card.scores} if card else {}
        for floor in card.floors if card else ():
            metric = main_metric(suite.tasks[floor.task])
            if (floor.protocol, floor.metric) == ("strict", metric.name):
                whole = blind[floor.task, "strict", metric.name, "", ""]
                blind_score, value = (amount(score, metric, floor.n) for score in (whole, floor.value))
                cells = name, floor.task, metric.words, blind_score, floor.name, value, str(floor.n)
                yield f"| {' | '.join(cells)} |"


TABLES = {"validity.md": table, "grades.md": floors}


if __name__ == "__main__":
    for page, lines in TABLES.items():
        if "--write" in sys.argv:
            before, _, rest = (PAGES / page).read_text("utf-8").partition(START)
            text = f"{before}{START}\n\n{chr(10).join(lines())}\n\n{END}{rest.partition(END)[2]}"
            (PAGES / page).write_text(text, "utf-8")
        else:
            print(*lines(), sep="\n")
