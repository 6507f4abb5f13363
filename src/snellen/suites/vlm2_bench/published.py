"""The numbers printed for VLM2-Bench, as data with table and row. Percent as printed; `published()` gives fractions.

The preprint of February 2025 (its Table 1) and the camera-ready of ACL 2025 differ; both are here. `sequences.py` has
the numbers of sequences by pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from snellen.core.printed import PrintedColumn, PrintedTable

COLUMNS = ("gc-mat", "gc-trk", "oc-cpr", "oc-cnt", "oc-grp", "pc-cpr", "pc-cnt", "pc-grp", "pc-vid")
"""Tasks in the order of Table 1; the last is the column of open questions."""
TASK_ORDER = (*COLUMNS, "oc-vid")
"""Tasks in the order of our tables; oc-vid, the twin of pc-vid that the paper lacks, comes last."""
METRIC_OF = {
    "gc-mat": "pair_accuracy",
    "gc-trk": "pair_accuracy",
    "oc-cpr": "pair_accuracy",
    "oc-cnt": "acc_num",
    "oc-grp": "accuracy",
    "pc-cpr": "pair_accuracy",
    "pc-cnt": "acc_num",
    "pc-grp": "accuracy",
    "pc-vid": "judge_score",
}
"""The metric of each column."""


class Row(NamedTuple):
    """A row of Table 1: scores by column (None if not given), the printed average, and its difference from humans."""

    scores: tuple[float | None, ...]
    average: float
    delta_human: float | None = None


CHANCE = Row((25.00, 25.00, 50.00, 34.88, 25.00, 50.00, 34.87, 25.00, None), 33.72, -61.44)
"""As printed. Cpr: the authors let one guess decide both statements (two guesses get 25.00)."""
HUMAN = Row((95.06, 98.11, 96.02, 94.23, 91.92, 97.08, 92.87, 91.17, 100.00), 95.16, 0.00)
TABLE_1 = {
    "LLaVA-OneVision-7B": Row((16.60, 13.70, 47.22, 56.17, 27.50, 62.00, 46.67, 37.00, 47.25), 39.35, -55.81),
    "LLaVA-Video-7B": Row((18.53, 12.79, 54.72, 62.47, 28.50, 62.00, 66.91, 25.00, 59.00), 43.32, -51.84),
    "LongVA-7B": Row((14.29, 19.18, 26.67, 42.53, 18.50, 21.50, 38.90, 18.00, 3.75), 22.59, -72.57),
    "mPLUG-Owl3-7B": Row((17.37, 18.26, 49.17, 62.97, 31.00, 63.50, 58.86, 26.00, 13.50), 37.85, -57.31),
    "Qwen2-VL-7B": Row((27.80, 19.18, 68.06, 45.99, 35.00, 61.50, 58.59, 49.00, 16.25), 42.37, -52.79),
    "Qwen2.5-VL-7B": Row((35.91, 43.38, 71.39, 41.72, 47.50, 80.00, 57.98, 69.00, 46.50), 54.82, -40.34),
    "InternVL2.5-8B": Row((21.24, 26.03, 53.33, 55.23, 46.50, 51.50, 60.00, 52.00, 5.25), 41.23, -53.93),
    "InternVL2.5-26B": Row((30.50, 30.59, 43.33, 51.48, 52.50, 59.50, 59.70, 61.00, 21.75), 45.59, -49.57),
    "GPT-4o": Row((37.45, 39.27, 74.17, 80.62, 57.50, 50.00, 90.50, 47.00, 66.75), 60.36, -34.80),
}
"""Table 1 of the preprint. Its averages are means of nine columns, although its footnote excludes VID; only the average
of the chance row is a mean of eight."""
CAMERA_READY = {
    "Claude-3.7-sonnet": Row((33.72, 36.41, 74.44, 73.02, 64.50, 67.50, 67.00, 60.00, 61.25), 59.57),
    "Gemini-2.0-flash": Row((1.54, 14.61, 51.67, 35.57, 23.00, 49.00, 30.24, 21.00, None), 28.33),
    "GPT-4o-2024-11-20": Row((18.53, 29.68, 81.67, 77.08, 57.50, 56.00, 78.39, 47.00, 76.55), 55.73),
}
"""Rows added in the camera-ready."""
AVERAGES = (
    "Rows are those of the preprint, the last three those that the camera-ready adds. The preprint's averages are over "
    "nine columns (chance: eight), the camera-ready's over the first eight."
)

QUERIES = {
    "gc-mat": 520,
    "gc-trk": 440,
    "oc-cpr": 720,
    "oc-cnt": 360,
    "oc-grp": 200,
    "pc-cpr": 400,
    "pc-cnt": 120,
    "pc-grp": 100,
    "pc-vid": 200,
}
"""Questions per task (appendix 1): 3,060 in total."""
PAIRS = {"gc-mat": 260, "gc-trk": 220, "oc-cpr": 360, "pc-cpr": 200}
"""Pairs of statements (appendix 1)."""
SCORED_PAIRS = {**PAIRS, "gc-mat": 259, "gc-trk": 219}
"""Distinct ids: in each GC file two pairs share one. Every Mat and Trk score of Table 1 is a multiple of 1/259 or
1/219, none of 1/260 or 1/220."""
PEOPLE_ABOVE_OBJECTS = {"cpr": 7.65, "cnt": 9.75, "grp": 11.83}
"""Finding III: PC - OC in points, the mean over the three models of `FINDING_III_MODELS`."""
FINDING_III_MODELS = ("Qwen2.5-VL-7B", "InternVL2.5-8B", "InternVL2.5-26B")
"""The text names Qwen2.5-VL-8B, which does not exist; the numbers are those of the 7B."""


def published() -> Iterator[PrintedTable]:
    """Table 1 of the preprint and the rows that the camera-ready adds."""
    columns = [PrintedColumn(task, task, METRIC_OF[task], scale=100) for task in COLUMNS]
    yield PrintedTable(
        "table-1", "Table 1", tuple(columns), {name: _cells(row) for name, row in {**TABLE_1, **CAMERA_READY}.items()},
        _cells(HUMAN), _cells(CHANCE), ("printed average", "printed difference from people"), note=AVERAGES,
    )  # fmt: skip


def _cells(row: Row) -> list[str]:
    numbers = (*row.scores, row.average, row.delta_human)
    return ["" if number is None else f"{number:.2f}" for number in numbers]
