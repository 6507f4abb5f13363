"""What a checkup asks phantoms: the questions that the whole one has learnt."""

from __future__ import annotations

import json
from pathlib import Path

from snellen.exam.checkup_parts import CheckupPart
from snellen_phantoms.questions import CHECKUP_SEED, OWN, WHOLE
from snellen_phantoms.store import write_table
from snellen_phantoms.weights import PACKED

TWIN = "red-green"
LEARNT = 0.75
"""The least share of right answers to questions held out."""


def learnt() -> list[str]:
    """The abilities asked as a table that the whole phantom has learnt, by its card."""
    scores = json.loads((PACKED / WHOLE / "card.json").read_text("utf-8"))["scores"]
    return [name for name in OWN if scores[name] >= LEARNT]


def write_questions(folder: Path, count: int) -> Path:
    """Write so many questions of each of these abilities; returns the table."""
    return write_table(folder, 0, CHECKUP_SEED, dict.fromkeys(learnt(), count))


NAMES = tuple(f"phantom:{name}" for name in (WHOLE, TWIN) if (PACKED / name).is_dir())
PART = CheckupPart(NAMES, write_questions, suites=("thresholds",))
