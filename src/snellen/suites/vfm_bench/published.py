"""The numbers printed for VFM Bench, as data with table and row: accuracies are fractions, changes percent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from snellen.core.lazy import lazy_function
from snellen.core.printed import PrintedColumn, PrintedTable
from snellen.suites.vfm_bench.items import SHOTS, TASK
from snellen.suites.vfm_bench.shot_curves import Curve


class Row(NamedTuple):
    """A row of Table 1: accuracy at 0 to 5 shots, and the shots whose place in the row is certain.

    Our copy of the table has displaced cells. The numbers of each row are certain, since they give the printed means
    and claims; so are places that Table 4 repeats or a claim needs. The others are in the order of the text, and no
    printed number depends on it.
    """

    curve: Curve
    certain: frozenset[int]


def _row(zero_shot: float, one_shot: float, *later: float, certain: tuple[int, ...] = (0, 1)) -> Row:
    return Row(dict(enumerate((zero_shot, one_shot, *later))), frozenset(certain))


TABLE_1 = {
    "GPT-o3": _row(0.30, 0.56, 0.59, 0.59, 0.60, 0.61),
    "GPT-4o": _row(0.16, 0.42, 0.48, 0.51, 0.54, 0.54),
    "Claude-3.7-Sonnet-thinking": _row(0.19, 0.39, 0.43, 0.44, 0.46, 0.47),
    "Claude-3.7-Sonnet": _row(0.16, 0.30, 0.38, 0.41, 0.40, 0.42),
    "QVQ-72B": _row(0.21, 0.32, 0.41, 0.48, 0.47, 0.47, certain=(0,)),
    "Qwen2.5-VL-72B": _row(0.14, 0.26, 0.28, 0.32, 0.33, 0.37, certain=(0,)),
    "Gemini-2.5-pro": _row(0.26, 0.47, 0.56, 0.59, 0.58, 0.62),
    "Doubao-1.5-vision-pro": _row(0.06, 0.22, 0.34, 0.39, 0.39, 0.39),
    "DeepSeek-VL2": _row(0.19, 0.24, 0.33, 0.42, 0.42, 0.42, certain=()),
}
"""Models of Table 1."""
HUMAN = Row({0: 0.44, 1: 0.72, 3: 0.79, 5: 0.79}, frozenset((0, 1, 3, 5)))
"""People were not asked at 2 and 4 shots (appendix E)."""
RANDOM = Row(dict(enumerate((0.27, 0.27, 0.27, 0.27, 0.28, 0.27))), frozenset())
"""The random policy: one of its six values is .28; which one is not printed."""
PLACES = (
    "A question mark: the number is in this row, but its column is not certain, since our copy has displaced cells."
)


class PrintedChanges(NamedTuple):
    """A row of Table 4: two accuracies, and changes in percent (None: not given)."""

    base: float
    vdpi: int
    hkfi: int
    dipi: int | None
    ava: float
    fdli: int
    ichi: int
    ndni: int


TABLE_4 = {
    "GPT-o3": PrintedChanges(0.30, 87, 10, -13, 0.54, -15, -3, -37),
    "Claude-3.7-Sonnet-thinking": PrintedChanges(0.19, 105, 16, None, 0.40, -8, -17, -47),
    "GPT-4o": PrintedChanges(0.16, 163, 31, 56, 0.44, -2, -4, -63),
    "Claude-3.7-Sonnet": PrintedChanges(0.16, 88, 19, 6, 0.35, 6, -24, -43),
    "Gemini-2.5-pro": PrintedChanges(0.26, 81, 15, None, 0.51, -9, -17, -37),
    "Doubao-1.5-vision-pro": PrintedChanges(0.06, 267, 50, 133, 0.30, 13, -21, -69),
}
"""Table 4. It calls `ichi` (Table 2) phi_idhi; the 50 of Doubao has no sign there."""
CHANGES = (
    "Base: accuracy at 0 shots; ava: its mean over 0 to 5 shots. The changes are relative to these, vdpi, hkfi and "
    "dipi to the base, the others to ava; own ones are on the items scored with and without the change. The paper "
    "gives no sign to Doubao's 50."
)
ETA_GAIN, DELTA_GAIN = 4.8, 4.4
"""Section 4.2: means of three reasoning models minus those of three others; printed as percent, they are points."""


class Ablation(NamedTuple):
    """A row of Table 2 or 3: the change from the main setting, as a condition here, and its shots."""

    strategy: str
    condition: str
    shots: tuple[int, ...]
    table: str


ABLATIONS = {
    "ndni": Ablation("inter-class distinctiveness", "images=negative-noise", tuple(range(6)), "Table 2"),
    "ichi": Ablation("intra-class prototype formation", "images=replicated", tuple(range(6)), "Table 2"),
    "fdli": Ablation("prior knowledge utilization", "labels=fabricated", tuple(range(6)), "Table 2"),
    "hkfi": Ablation("fine-grained detection", "query=enhance", (0,), "Table 3"),
    "vdpi": Ablation("alignment inadequacy", "shots=1", (1,), "Table 3"),
    "dipi": Ablation("lack of knowledge", "instruction=detailed", (0,), "Table 3"),
}
"""Each phi_NAME. `shots` are those of equation 4 (the released function leaves out 0). `vdpi` is no phi: its printed
values are `curves.gain_at(curve, 1)`."""


class Source(NamedTuple):
    """A row of Table 7: query images, objects, classes, and mean classes per task."""

    industry: str
    level: str
    name: str
    samples: int
    objects: int
    classes: int
    average: float


TABLE_7 = tuple(
    Source(industry, *rest)
    for industry, rows in {
        "Manufacture": (
            ("object", "VisA", 286, 11, 22, 2.00),
            ("detail", "MVTec-AD", 304, 8, 48, 6.37),
            ("detail", "MVTec-AD-2", 59, 2, 4, 2.00),
            ("detail", "MVTec-LOCO", 35, 1, 3, 3.00),
            ("detail", "ITD", 74, 9, 18, 2.00),
            ("detail", "ISP-AD", 43, 1, 3, 3.00),
            ("pattern", "BTAD", 100, 3, 6, 2.00),
            ("pattern", "NEU-DET", 149, 1, 6, 6.00),
        ),
        "E-commerce": (
            ("detail", "MVTec-AD", 23, 4, 25, 6.09),
            ("detail", "MVTec-AD-2", 9, 3, 6, 2.00),
            ("detail", "WFDD", 15, 2, 4, 2.00),
            ("detail", "AITEX", 6, 1, 2, 2.00),
            ("pattern", "Product1M", 402, 6, 47, 13.44),
            ("pattern", "SceneryWatermark", 18, 1, 2, 2.00),
            ("pattern", "RiceImage", 100, 1, 5, 5.00),
            ("pattern", "Fabrics", 24, 1, 10, 10.00),
            ("pattern", "Products-10K", 29, 1, 2, 2.00),
            ("style", "ImageExposures", 8, 1, 3, 3.00),
            ("style", "ClothingAttributesDataset", 416, 1, 3, 3.00),
        ),
        "Agriculture": (
            ("detail", "Rice-Leaf-Disease", 30, 1, 3, 3.00),
            ("detail", "TomatoLeaf", 173, 1, 5, 5.00),
            ("pattern", "CAMO", 92, 1, 2, 2.00),
            ("pattern", "COD10K", 27, 1, 2, 2.00),
            ("pattern", "NC4K", 30, 1, 2, 2.00),
            ("pattern", "25-Indian-Bird", 42, 3, 13, 4.07),
            ("pattern", "EPLID", 128, 1, 8, 8.00),
            ("pattern", "V2-Plant-Seedlings", 440, 1, 10, 10.00),
            ("pattern", "MeatDataset", 88, 1, 3, 3.00),
        ),
        "Medical": (
            ("detail", "GMAI-MMBench", 155, 21, 85, 4.11),
            ("detail", "MSD Brain", 47, 1, 3, 3.00),
            ("detail", "MSD Spleen", 31, 1, 3, 3.00),
            ("pattern", "GMAI-MMBench", 469, 45, 153, 3.91),
            ("pattern", "GMAI-MMBench", 263, 26, 95, 3.94),
            ("style", "GMAI-MMBench", 85, 8, 26, 3.35),
        ),
    }.items()
    for rest in rows
)
"""Table 7; MVTec-AD is printed as MVTecAD under E-commerce."""


class Industry(NamedTuple):
    """A row of Table 8."""

    datasets: int
    samples: int
    tasks: int
    concepts: int
    average: float


TABLE_8 = {
    "Manufacture": Industry(8, 1050, 36, 110, 3.91),
    "E-commerce": Industry(11, 1050, 22, 109, 7.34),
    "Agriculture": Industry(9, 1050, 11, 48, 6.77),
    "Medical": Industry(3, 1050, 102, 246, 2.37),
}
"""Table 8. Its averages weight sources by samples; Table 7 gives Medical 365 classes and an average of 3.83."""
QUERIES = 4200
"""From the abstract and section 3.2."""
VOTERS = ("Qwen2.5-VL-72B", "Doubao-1.5-vision-pro-32k-250115", "DeepSeek-VL2", "GPT-4o", "Gemini-2.5-pro-exp-03-25")
"""The "five" models that voted on difficulty (section 3.2). Images that most of them knew were left out, so their
zero-shot accuracy is low by construction."""


def published() -> Iterator[PrintedTable]:
    """Table 1 with all shots, people and the random policy, and Table 4, whose own cells the report makes."""
    shots = range(SHOTS + 1)
    columns = [PrintedColumn(f"{k}-shot", TASK, setting="shots", level=str(k)) for k in shots]
    rows = {name: _cells(row) for name, row in TABLE_1.items()}
    yield PrintedTable("table-1", "Table 1", tuple(columns), rows, _cells(HUMAN), _cells(RANDOM), note=PLACES)
    changes = {
        name: [
            "" if number is None else f"{number:+d} %" if isinstance(number, int) else f"{number:.2f}" for number in row
        ]
        for name, row in TABLE_4.items()
    }
    own = lazy_function("snellen.suites.vfm_bench.report.ablations:own_changes")
    heads = tuple(PrintedColumn(name if name in ("base", "ava") else f"φ {name}") for name in PrintedChanges._fields)
    yield PrintedTable("table-4", "Table 4", heads, changes, has_mean=False, note=CHANGES, own_cells=own)


def _cells(row: Row) -> list[str]:
    marks = {k: "" if k in row.certain else "?" for k in row.curve}
    return [f"{row.curve[k]:.2f}{marks[k]}" if k in row.curve else "" for k in range(SHOTS + 1)]
