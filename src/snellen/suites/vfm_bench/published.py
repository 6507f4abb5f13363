"""The numbers printed for VFM Bench, as data with table and row: accuracies are fractions, changes percent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from snellen.analysis.shot_curves import Curve
from snellen.core.suite import printed_number
from snellen.suites.vfm_bench.items import SHOTS, TASK


class Row(NamedTuple):
    """A row of Table 1: accuracy at 0 to 5 shots, and the shots whose place in the row is certain.

    The table's text came out of its page with cells displaced. Which numbers a row has is certain, since their means
    and the claims below come out; so are places that Table 4 repeats or a claim needs. The others stand in the order
    in which the text gives them, and no printed number depends on it.
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
RANDOM = _row(0.27, 0.27, 0.27, 0.27, 0.28, 0.27, certain=())
"""The random policy: one of its six values is .28, no one knows which."""
REASONING = ("GPT-o3", "QVQ-72B", "Claude-3.7-Sonnet-thinking")
TRADITIONAL = ("GPT-4o", "Qwen2.5-VL-72B", "Claude-3.7-Sonnet")
"""The groups that section 4.2 compares."""
ETA_GAIN, DELTA_GAIN = 4.8, 4.4
"""Section 4.2: means of `REASONING` above those of `TRADITIONAL`; printed as percent, they are points."""
RANDOM_ACCURACY = min(RANDOM.curve.values())
"""What the random policy gets, at every number of shots but one (Table 1)."""
HUMAN_DELTA_GAP, HUMAN_MAX_GAP = 16.9, 19.0
"""Section 4.2: people above GPT-o3 in delta and in largest accuracy, in points. The second does not follow from Table
1, which gives 18 (.79 and .61), and 17 above Gemini-2.5-pro."""


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


class Ablation(NamedTuple):
    """A row of Table 2 or 3: what is changed against the main setting, as our axes call it, and at which shots."""

    strategy: str
    denotation: str
    condition: str
    shots: tuple[int, ...]
    table: str


ABLATIONS = {
    "ndni": Ablation(
        "inter-class distinctiveness", "w/ negative noisy demo", "images=negative-noise", tuple(range(6)), "Table 2"
    ),
    "ichi": Ablation(
        "intra-class prototype formation", "w/ replicate demo", "images=replicated", tuple(range(6)), "Table 2"
    ),
    "fdli": Ablation(
        "prior knowledge utilization", "w/ fabricated demo", "labels=fabricated", tuple(range(6)), "Table 2"
    ),
    "hkfi": Ablation("fine-grained detection", "w/ mask + enhance", "query=enhance", (0,), "Table 3"),
    "vdpi": Ablation("alignment inadequacy", "w/ K shots", "shots=1", (1,), "Table 3"),
    "dipi": Ablation("lack of knowledge", "w/ detailed instruction", "instruction=detailed", (0,), "Table 3"),
}
"""Each phi_NAME. `shots` are those of equation 4 (the released function leaves out 0). `vdpi` is no phi: its printed
values are `curves.gain_at(curve, 1)`."""


class RawSource(NamedTuple):
    """A row of Table 5: images, objects and classes of a dataset as its authors give it."""

    name: str
    images: int
    objects: int
    classes: int


TABLE_5 = {
    "Manufacture": (
        RawSource("VisA", 10_821, 12, 24),
        RawSource("MVTec-AD", 5_354, 15, 88),
        RawSource("MVTec-AD-2", 5_174, 8, 16),
        RawSource("MVTec-LOCO", 3_644, 5, 15),
        RawSource("MVTec-3D", 4_147, 10, 50),
        RawSource("ITD", 5_868, 10, 20),
        RawSource("ISP-AD", 559_049, 3, 9),
        RawSource("GoodsAD", 6_124, 6, 21),
        RawSource("BTAD", 2_830, 3, 6),
        RawSource("NEU-DET", 1_800, 1, 6),
    ),
    "E-commerce": (
        RawSource("MVTec-AD", 5_354, 15, 88),
        RawSource("MVTec-AD-2", 5_174, 8, 16),
        RawSource("WFDD", 444, 4, 11),
        RawSource("AITEX", 247, 1, 2),
        RawSource("Product1M", 1_182_083, 1, 458),
        RawSource("SceneryWatermark", 22_783, 1, 2),
        RawSource("RiceImage", 75_000, 1, 5),
        RawSource("Fabrics", 7_885, 1, 26),
        RawSource("Products-10K", 150_000, 10_000, 10_000),
        RawSource("ImageExposures", 1_000, 2, 12),
        RawSource("ClothingAttributesDataset", 1_856, 11, 42),
    ),
    "Agriculture": (
        RawSource("Rice-Leaf-Disease", 120, 1, 3),
        RawSource("TomatoLeaf", 11_000, 1, 10),
        RawSource("CAMO", 1_250, 1, 1),
        RawSource("COD10K", 10_000, 78, 1),
        RawSource("NC4K", 4_121, 1, 1),
        RawSource("25-Indian-Bird", 22_620, 1, 25),
        RawSource("EPLID", 3_588, 1, 8),
        RawSource("V2-Plant-Seedlings", 5_539, 1, 12),
        RawSource("MeatDataset", 365, 1, 3),
    ),
    "Medical": (
        RawSource("GMAI-MMBench", 26_000, 284, 78),
        RawSource("MSD Brain", 750, 3, 3),
        RawSource("MSD Spleen", 61, 41, 1),
    ),
}
"""Table 5. MVTec-AD (printed as MVTecAD) and MVTec-AD-2 stand in it twice."""
MORE_RAW_IMAGES_THAN = 30_000
"""Section 3.2: images collected."""


class Source(NamedTuple):
    """A row of Table 7: query images, objects, classes, and classes a task on average."""

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
"""Table 7; MVTec-AD is printed as MVTecAD where it belongs to E-commerce."""


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
"""Table 8. Its averages weigh sources by samples; Table 7 gives Medical 365 classes and an average of 3.83."""
QUERIES, DATASETS, TASKS, CONCEPTS = 4200, 31, 171, 512
"""As the abstract and section 3.2 print them; the concepts of Table 8 add up to 513."""
VOTER_COUNT = 5
VOTERS = (
    "Qwen2.5-VL-72B",
    "Doubao-1.5-vision-pro-32k-250115",
    "DeepSeek-VL2",
    "GPT-4o",
    "Gemini-2.5-pro-exp-03-25",
)
"""Models that voted on difficulty, "five" (section 3.2): an image most of them knew was left out, so that their own
zero-shot accuracy is low by construction."""


def class_average(industry: str) -> float:
    """Mean number of classes a query of an industry has, from Table 7: the weight of a source is its samples."""
    rows = [row for row in TABLE_7 if row.industry == industry]
    return sum(row.samples * row.average for row in rows) / sum(row.samples for row in rows)


def published() -> Iterator[Mapping[str, Any]]:
    """Accuracy of every model at five shots, our main setting: task, metric, subject, value, source, factor, level.

    A row cannot say at how many shots it was measured; the others stand in `TABLE_1`.
    """
    for subject, row in TABLE_1.items():
        certainty = "" if SHOTS in row.certain else " (its place in the row is not certain)"
        yield printed_number(TASK, "accuracy", subject, row.curve[SHOTS], f"Table 1, {SHOTS}-shot{certainty}")
