"""Scores that other tools wrote beside recorded answers, compared with those of the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from snellen.core.suite import Suite
from snellen.runs.planning.plan import Arm
from snellen.runs.scores.score import read_scores
from snellen.subjects.recorded import Recorded


def compared_scores(arms: Sequence[Arm], root: Path, suite: Suite) -> tuple[Counter[str], Counter[str]]:
    """The number of answers with a score in the file, by subject, and of those where it is not the run's main score."""
    if not any(arm.is_recorded for arm in arms):
        return Counter(), Counter()
    scores = read_scores(root)["strict"]
    main = {task.id: task.protocols["strict"].metrics[0].name for task in suite.tasks.values()}
    rows = scores[scores["metric"] == scores["task"].map(main)]
    places = zip(rows["subject"], rows["condition"], rows["repeat"], rows["item_id"], strict=True)
    ours = dict(zip(places, rows["value"].astype(float), strict=True))
    compared, differing = Counter[str](), Counter[str]()
    for arm in arms:
        name, answers = arm.subject.card.name, arm.subject.answers if isinstance(arm.subject, Recorded) else {}
        for item_id, answer in answers.items():
            own = ours.get((name, str(arm.condition), arm.repeat, item_id), math.nan)
            if not math.isnan(answer.score) and not math.isnan(own):
                compared[name] += 1
                differing[name] += not math.isclose(answer.score, own, abs_tol=1e-9)
    return compared, +differing
