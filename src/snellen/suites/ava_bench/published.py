"""The numbers printed for AVA-Bench, as data with table and row.

The figures with subgroups (7, 8, 21 to 28) print no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from snellen.core.printed import PrintedColumn, PrintedTable

COLUMNS = (
    "absolute-depth", "relative-depth", "ocr", "counting", "localization", "object", "fine-grained", "scene", "action",
    "spatial", "emotion", "orientation", "texture", "colour",
)  # fmt: skip
"""Tasks in the order of Table 5."""
METRIC_OF: Mapping[str, str] = {
    **dict.fromkeys(COLUMNS, "accuracy"),
    "absolute-depth": "mae_over_gt",
    "counting": "mae_over_gt",
    "ocr": "anls_05",
    "localization": "giou",
    "colour": "ciede2000",
}
"""The metric of each column, by the names of the released scorers (`published`); the column of OCR is headed ANLS."""
IN_PERCENT = ("accuracy", "anls_05")
TRAINING_ITEMS = 6000
"""The minimum per ability: typically around 6,000 to 10,000 (section 4)."""


class Row(NamedTuple):
    """A vision tower in Table 5: its `cells` as printed, its printed ranks by column, and its printed average rank."""

    cells: str
    ranks: tuple[int, ...]
    average: float

    @property
    def values(self) -> tuple[float, ...]:
        """The values as numbers."""
        return tuple(map(float, self.cells.split()))


TABLE_5 = {
    "SigLIP-2": Row(
        "0.0843 97.38 81.18 0.225 0.6738 88.19 90.17 72.60 45.33 99.50 58.39 79.2 94.08 12.25",
        (3, 2, 1, 1, 1, 1, 3, 3, 2, 2, 5, 4, 2, 2),
        2.4,
    ),
    "AIMv2": Row(
        "0.1008 95.71 62.44 0.254 0.5896 85.04 91.78 72.86 43.61 99.13 60.68 79.71 94.11 19.61",
        (9, 8, 3, 3, 5, 4, 1, 2, 3, 6, 1, 3, 1, 6),
        3.9,
    ),
    "SigLIP-1": Row(
        "0.0953 96.58 80.3 0.229 0.6103 87.84 90.94 73.4 45.76 99.07 59.6 78.91 93.66 12.64",
        (6, 7, 2, 2, 4, 2, 2, 1, 1, 7, 4, 5, 3, 3),
        3.6,
    ),
    "CLIP": Row(
        "0.08461 97.04 60.44 0.290 0.5787 85.02 86.83 72.32 41.59 99.25 60.42 77.77 93.25 19.85",
        (4, 4, 6, 7, 7, 5, 4, 5, 4, 5, 2, 6, 5, 7),
        4.9,
    ),
    "InternVL-2.5": Row(
        "0.08212 97.00 60.88 0.269 0.5850 83.19 72.83 71.63 36.13 99.5 59.99 75.71 91.21 20.09",
        (2, 5, 5, 5, 6, 7, 7, 6, 7, 4, 3, 7, 7, 8),
        5.4,
    ),
    "RADIOv2.1": Row(
        "0.07645 97.92 62.44 0.257 0.6617 84.90 85.44 72.50 38.77 99.69 56.59 83.71 93.32 17.16",
        (1, 1, 4, 4, 2, 6, 6, 4, 5, 1, 6, 2, 4, 5),
        3.6,
    ),
    "DINOv2": Row(
        "0.08469 97.25 9.97 0.272 0.6598 86.31 85.5 70.99 37.45 99.50 54.44 85.54 93.06 21.54",
        (5, 3, 7, 6, 3, 3, 5, 7, 6, 3, 7, 1, 6, 9),
        5.3,
    ),
    "SAM": Row(
        "0.09792 94.13 9.79 0.313 0.5216 76.68 40.06 58.28 17.25 90.22 36.88 69.37 81.02 9.87",
        (8, 9, 8, 8, 8, 8, 8, 9, 9, 8, 9, 8, 9, 1),
        7.8,
    ),
    "MiDaS-3.0": Row(
        "0.09563 96.63 7.72 0.336 0.4490 75.05 32.83 60.19 18.25 53.58 40.40 67.37 86.38 13.28",
        (7, 6, 9, 9, 9, 9, 9, 8, 8, 9, 8, 9, 8, 4),
        8.0,
    ),
}
"""Table 5 (appendix C.1), all with a Qwen2 of 0.5B. Printed ranks break the ties of OCR (AIMv2, RADIO) and Spatial
(SigLIP-2, DINOv2, InternVL) by no stated rule. The last row is written MiDas-3.0 there."""
RANKS = (
    "Printed ranks break ties by no stated rule, and six of the nine printed averages are not the means of the ranks "
    "beside them (the suite's page lists them)."
)


def published() -> Iterator[PrintedTable]:
    """Table 5, with the rank of every tower in each column."""
    cells = {tower: row.cells.split() for tower, row in TABLE_5.items()}
    columns = []
    for number, task in enumerate(COLUMNS):
        metric, decimals = METRIC_OF[task], max(len(row[number].partition(".")[2]) for row in cells.values())
        scale = 100 if metric in IN_PERCENT else 1
        columns.append(PrintedColumn(task, task, metric, scale=scale, decimals=decimals))
    yield PrintedTable(
        "table-5", "Table 5", tuple(columns), cells, has_mean=False, note=RANKS,
        ranks={tower: row.ranks for tower, row in TABLE_5.items()},
        rank_average={tower: row.average for tower, row in TABLE_5.items()},
    )  # fmt: skip
