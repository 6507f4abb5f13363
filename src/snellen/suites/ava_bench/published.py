"""The numbers printed for AVA-Bench, as data with table and row, and what follows from them.

The figures with subgroups (7, 8, 21 to 28) print no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snellen.core.suite import printed_number

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
"""What each column shows, by the names of the released scorers (`published`); the column of OCR is headed ANLS."""
IN_PERCENT = ("accuracy", "anls_05")
LOWER_IS_BETTER = ("mae_over_gt", "ciede2000")

TRAINING_ITEMS = 6000
"""The least of an ability: typically around 6,000 to 10,000 (section 4)."""


class Row(NamedTuple):
    """A vision tower in Table 5: its values and printed ranks by column, and its printed average rank."""

    values: tuple[float, ...]
    ranks: tuple[int, ...]
    average: float


TABLE_5 = {
    "SigLIP-2": Row(
        (0.0843, 97.38, 81.18, 0.225, 0.6738, 88.19, 90.17, 72.60, 45.33, 99.50, 58.39, 79.2, 94.08, 12.25),
        (3, 2, 1, 1, 1, 1, 3, 3, 2, 2, 5, 4, 2, 2),
        2.4,
    ),
    "AIMv2": Row(
        (0.1008, 95.71, 62.44, 0.254, 0.5896, 85.04, 91.78, 72.86, 43.61, 99.13, 60.68, 79.71, 94.11, 19.61),
        (9, 8, 3, 3, 5, 4, 1, 2, 3, 6, 1, 3, 1, 6),
        3.9,
    ),
    "SigLIP-1": Row(
        (0.0953, 96.58, 80.3, 0.229, 0.6103, 87.84, 90.94, 73.4, 45.76, 99.07, 59.6, 78.91, 93.66, 12.64),
        (6, 7, 2, 2, 4, 2, 2, 1, 1, 7, 4, 5, 3, 3),
        3.6,
    ),
    "CLIP": Row(
        (0.08461, 97.04, 60.44, 0.290, 0.5787, 85.02, 86.83, 72.32, 41.59, 99.25, 60.42, 77.77, 93.25, 19.85),
        (4, 4, 6, 7, 7, 5, 4, 5, 4, 5, 2, 6, 5, 7),
        4.9,
    ),
    "InternVL-2.5": Row(
        (0.08212, 97.00, 60.88, 0.269, 0.5850, 83.19, 72.83, 71.63, 36.13, 99.5, 59.99, 75.71, 91.21, 20.09),
        (2, 5, 5, 5, 6, 7, 7, 6, 7, 4, 3, 7, 7, 8),
        5.4,
    ),
    "RADIOv2.1": Row(
        (0.07645, 97.92, 62.44, 0.257, 0.6617, 84.90, 85.44, 72.50, 38.77, 99.69, 56.59, 83.71, 93.32, 17.16),
        (1, 1, 4, 4, 2, 6, 6, 4, 5, 1, 6, 2, 4, 5),
        3.6,
    ),
    "DINOv2": Row(
        (0.08469, 97.25, 9.97, 0.272, 0.6598, 86.31, 85.5, 70.99, 37.45, 99.50, 54.44, 85.54, 93.06, 21.54),
        (5, 3, 7, 6, 3, 3, 5, 7, 6, 3, 7, 1, 6, 9),
        5.3,
    ),
    "SAM": Row(
        (0.09792, 94.13, 9.79, 0.313, 0.5216, 76.68, 40.06, 58.28, 17.25, 90.22, 36.88, 69.37, 81.02, 9.87),
        (8, 9, 8, 8, 8, 8, 8, 9, 9, 8, 9, 8, 9, 1),
        7.8,
    ),
    "MiDaS-3.0": Row(
        (0.09563, 96.63, 7.72, 0.336, 0.4490, 75.05, 32.83, 60.19, 18.25, 53.58, 40.40, 67.37, 86.38, 13.28),
        (7, 6, 9, 9, 9, 9, 9, 8, 8, 9, 8, 9, 8, 4),
        8.0,
    ),
}
"""Table 5 (appendix C.1), all with a Qwen2 of 0.5B. Printed ranks break the ties of OCR (AIMv2, RADIO) and Spatial
(SigLIP-2, DINOv2, InternVL) by no rule that is told. The last row is written MiDas-3.0 there."""
MOST_VERSATILE = ("SigLIP-2", "SigLIP-1", "AIMv2")
"""The towers that section 1 gives "the highest average rank". By the means of the printed ranks RADIO is third, before
AIMv2, and CLIP equals DINOv2; in print RADIO shares the second place. No eight or more of the columns give the nine
printed averages."""
RELATIVE_DEPTH_PERCENT = 90
"""What every tower surpasses in relative depth (appendix C.2)."""

TABLE_2 = {
    "localization": (27_900, 6_900),
    "counting": (10_800, 2_800),
    "fine-grained": (7_200, 1_800),
    "absolute-depth": (6_800, 1_800),
    "relative-depth": (9_200, 2_400),
    "ocr": (8_800, 2_200),
    "orientation": (6_900, 1_600),
    "object": (37_900, 7_000),
    "action": (12_000, 3_000),
    "texture": (10_600, 2_700),
    "spatial": (9_900, 1_600),
    "scene": (11_100, 2_800),
    "emotion": (11_900, 5_100),
    "colour": (11_200, 2_800),
}
"""Questions for training and testing (Table 2, in thousands there). The table prints the sums 182.2K and 44.5K."""
TABLE_2_TOTAL = (182_200, 44_500)
SECTION_COUNTS = {
    "localization": 34_800,
    "counting": 13_600,
    "spatial": 11_500,
    "orientation": 8_500,
    "colour": 14_000,
    "texture": 13_200,
    "emotion": 17_000,
    "absolute-depth": 9_000,
    "relative-depth": 11_500,
    "action": 15_000,
    "fine-grained": 9_000,
    "object": 44_900,
    "scene": 13_900,
    "ocr": 10_900,
}
"""Section 3.2; that of OCR stands in appendix A.2 alone."""
HEADLINE_COUNT = 218_000
"""Section 3.3; neither Table 2 (226.7K) nor the sections (226.8K) add up to it."""
APPENDIX_COUNTS = {
    "relative-depth": (11_600, 5_700, 6_000),
    "absolute-depth": (9_000, 4_400, 6_000),
    "colour": (14_000, 7_000, 7_000),
}
"""Appendix A.2: questions, and those of its parts (indoor and "approximately" outdoor; Objects365 and LVIS)."""
TEST_PERCENT = 20
"""Section 3.3: "every AVA follows an 80/20 split"."""
TRAINING_SIZES = (6_000, 10_000)
"""Appendix F: questions each ability is trained on ("typically around" in section 4)."""
SCENE_CLASSES, APPENDIX_SCENE_CLASSES, IMAGES_A_SCENE = 464, 463, 30
"""Section 3.2.6 and appendix A.2; exactly 30 images a class."""
FINE_GRAINED_CLASSES, FINE_GRAINED_PARTS, IMAGES_A_SPECIES = 300, (100, 50, 50, 50, 50), 30
"""Appendix A.2: classes of birds, animals, fungi, plants and aircraft; 30 images a class."""
THINGS, THINGS_OF_SOURCES, MAX_IMAGES_A_THING = 70, (20, 20, 10, 10, 10), 700
"""Localization and object (appendix A.2): categories of Objects365, LVIS, birds, mammals and DIOR."""
SPATIAL_SAMPLES, SPATIAL_REFERENCES, ROWS_A_REFERENCE = 40, 8, 5
"""Spatial (appendix A.2): samples a class and position, from so many reference classes."""
DEPTH_PAIRS, MAX_PAIRINGS = 131, 30
"""Relative depth indoors (appendix A.2): pairs of classes kept, and the most pairings of each label."""
ACTIONS, MAX_CLIPS = 302, 600
"""Action (section 3.2.6 and appendix A.2): classes, and 500 training and 100 validation clips of each at most."""
TABLE_2_SOURCES = {
    "localization": ("Objects365", "LVIS", "iNaturalist-2021", "DIOR"),
    "counting": ("VQAv2", "FSC", "CARPK", "Crowd Surveillance", "LVIS"),
    "fine-grained": ("CUB-200-2011", "iNaturalist-2021", "FGVC-Aircraft"),
    "absolute-depth": ("NYU-Depth V2", "KITTI"),
    "relative-depth": ("NYU-Depth V2", "KITTI"),
    "ocr": ("COCO-Text", "IIIT5K", "TextVQA"),
    "orientation": ("EgoOrientBench", "CURE-OR"),
    "object": ("Objects365", "LVIS", "iNaturalist-2021", "DIOR"),
    "action": ("MiT",),
    "texture": ("DTD", "Kylberg", "KTH-TIPS", "KTH-TIPS2"),
    "spatial": ("Objects365", "LVIS", "NYU-Depth V2"),
    "scene": ("Places434", "AID"),
    "emotion": ("RAF-DB", "ExpW"),
    "colour": ("Objects365", "LVIS"),
}
"""Datasets of each ability (Table 2)."""
SOURCE_COUNTS = {"counting": 5, "ocr": 3, "object": 4, "texture": 4, "orientation": 2, "scene": 2, "emotion": 2}
"""Datasets of an ability as section 3.2 and appendix A.2 count them in words."""
DATASETS, TABLE_8_DATASETS = 26, 25
"""Section 3.2; rows of Table 8 (licences), which lacks Kylberg."""
STAGE_1_SAMPLES, STAGE_2_SAMPLES, STAGES_SAMPLES = 558_000, 665_000, 1_200_000
"""Table 4; both together in Table 7."""

TABLE_3_COLUMNS = ("lr 1e-5", "lr 1e-4", "lr 5e-4", "LoRA 64", "LoRA 128", "LoRA 256")
TABLE_3 = {
    ("ocr", "DINOv2"): (7.26, 9.97, 10.6, 10.85, 9.97, 10.98),
    ("ocr", "SigLIP-2"): (79.68, 81.18, 77.63, 81.51, 81.18, 81.25),
    ("ocr", "CLIP"): (54.23, 60.44, 60.9, 60.79, 60.44, 61.73),
    ("object", "DINOv2"): (83.92, 86.31, None, 86.39, 86.31, 86.46),
    ("object", "SigLIP-2"): (87.04, 88.19, None, 88.42, 88.19, 88.36),
    ("object", "CLIP"): (83.08, 85.02, None, 84.79, 85.02, 84.18),
}
"""Percent by learning rate and rank of LoRA in stage 3 (None: "unstable"). Rate 1e-4 and rank 128 are those of Table
5."""
PROBE_BEFORE, PROBE_AFTER = 66.3, 25.67
"""Section 6: a linear probe on fine-grained, on max-pooled features of DINOv2 before and behind the connector, in
percent."""
COST_FACTOR = dict.fromkeys(("abstract", "introduction", "section 4.1", "Figure 7"), 8)
"""By how much the small language model cuts the cost, by place."""
ABILITIES = dict.fromkeys(("abstract", "introduction", "section 3.1", "appendix A.1"), 14)
"""How many abilities there are, by place."""
GPU_HOURS_VICUNA, GPU_HOURS_QWEN, GPU_HOURS_ABILITY = 230, 28, 4
"""Table 7: hours of one A100 for stages 1 and 2 with a Vicuna of 7B and a Qwen2 of 0.5B, and for one ability in stage 3
on average. 230 / 28 is `COST_FACTOR`."""


def ranks(values: Sequence[float], lower_is_better: bool) -> tuple[float, ...]:
    """The rank of each value, 1 for the best; equal values share the mean of their places."""
    better = [sum((other < value) if lower_is_better else (other > value) for other in values) for value in values]
    return tuple(before + (values.count(value) + 1) / 2 for before, value in zip(better, values, strict=True))


def recomputed_ranks() -> dict[str, tuple[float, ...]]:
    """The ranks that the values of Table 5 give, ties averaged: by tower, in the order of `COLUMNS`."""
    columns = [
        ranks([row.values[n] for row in TABLE_5.values()], METRIC_OF[task] in LOWER_IS_BETTER)
        for n, task in enumerate(COLUMNS)
    ]
    return {name: tuple(column[n] for column in columns) for n, name in enumerate(TABLE_5)}


def published() -> Iterator[Mapping[str, Any]]:
    """Every printed score: task, metric, subject, value (fractions where percent is printed), source, no subgroup."""
    for subject, row in TABLE_5.items():
        for task, value in zip(COLUMNS, row.values, strict=True):
            metric = METRIC_OF[task]
            yield printed_number(task, metric, subject, value / 100 if metric in IN_PERCENT else value, "Table 5")
