"""What phantoms score, and whether `diff` finds the planted defects, on seeds that nothing else has.

    python bench/phantoms.py FOLDER [--sets 3] [--banks 8] [--items 240]

Prints a table of scores, one of verdicts, and the ratio of smallest gaps at half size. Finished parts are kept.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import snellen
from snellen.analysis.comparison.changes import changes
from snellen.core.errors import SnellenError
from snellen.core.storage.home import home
from snellen.core.storage.itemset_cards import is_itemset
from snellen.exam.compare import run_of_subject
from snellen.exam.examination import Examination
from snellen_phantoms.questions import NAMES, TABLE_SEED, WHOLE
from snellen_phantoms.store import write_table
from snellen_phantoms.weights import PACKED

TASKS = ("acuity", "crowded-acuity", "touching", "same-length")
COLOURS = 5
"""So many times as many questions about colour, so that 300 are about red or green things."""


def item_sets(root: Path, number: int, items: int) -> list[Path]:
    """The sets of one number: a table of one's own, and a bank of thresholds."""
    own, thresholds = root / f"own-{number}", root / f"thresholds-{number}"
    if not is_itemset(own):
        table = write_table(root / f"table-{number}", items, TABLE_SEED + number, {"colour": COLOURS * items})
        snellen.build(
            "questions",
            own,
            recipe="table",
            sources={"table": table},
            columns={"factors": "colour"},
            show_progress=False,
        )
    if not is_itemset(thresholds):
        snellen.build(
            "thresholds", thresholds, tasks=TASKS, seed=TABLE_SEED + number, test_only=True, show_progress=False
        )
    return [own, thresholds]


def examined(items: Path, name: str) -> Examination:
    """The run of a phantom on a set."""
    folder = items.with_name(f"{items.name}-{name}")
    return snellen.run(f"phantom:{name}?batch=32", items, folder, show_progress=False)


def verdicts(before: Examination, after: Examination) -> dict[str, Any]:
    """By task, the verdict of `diff` and the change; and the right answers of the items that flipped to worse."""
    try:
        compared = changes(run_of_subject(str(before.root)), run_of_subject(str(after.root)))
    except SnellenError:  # it understands no question
        states = after.grades().set_index("task")["reason"]
        return {"verdicts": {str(task): str(reason) for task, reason in states.items()}}
    rows = compared.table
    tasks = rows[rows["kind"].isin(["task", "estimate"])]
    by_id = before.items.by_id
    worse = [flip.item_id for flip in compared.flips.itertuples() if not flip.is_better]
    answers = Counter(f"{by_id[str(item_id)].task} {by_id[str(item_id)].answer}" for item_id in worse)
    return {
        "verdicts": dict(zip(tasks["name"], tasks["verdict"], strict=True)),
        "changes": dict(zip(tasks["name"], tasks["difference"].round(3), strict=True)),
        "worse": dict(answers.most_common(6)),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--banks", type=int, default=8)
    parser.add_argument("--items", type=int, default=240)
    chosen = parser.parse_args()
    names = [name for name in NAMES if (PACKED / name).is_dir() or (home() / "phantoms" / name / "model").is_dir()]
    for number in range(chosen.sets):
        for items in item_sets(chosen.folder, number, chosen.items):
            whole = examined(items, WHOLE)
            scores = whole.grades()[["task", "value", "low", "high", "grade", "n"]]
            sys.stdout.write(f"{items.name}\n{scores.round(3).to_string(index=False)}\n")
            for name in names:
                if name != WHOLE:
                    found = verdicts(whole, examined(items, name))
                    sys.stdout.write(f"{items.name} {name}: {json.dumps(found)}\n")
    if "half-size" in names:
        ratios = []
        for number in range(chosen.banks):
            items = item_sets(chosen.folder, number, chosen.items)[1]
            grades = [examined(items, name).grades() for name in ("half-size", WHOLE)]
            gaps = [float(rows[rows["task"] == "acuity"]["value"].iloc[0]) for rows in grades]
            ratios.append(gaps[0] / gaps[1])
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        sys.stdout.write(f"smallest gap at half size: x{mean:.2f} of {[round(ratio, 2) for ratio in ratios]}\n")


if __name__ == "__main__":
    main()
