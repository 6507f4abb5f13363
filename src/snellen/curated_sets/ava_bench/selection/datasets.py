"""The datasets of AVA-Bench, and the tasks that the paper draws from each (Table 2, appendix A.2)."""

from __future__ import annotations

from collections.abc import Mapping

TASKS_OF_DATASET: Mapping[str, tuple[str, ...]] = {
    "LVIS": ("localization", "counting", "spatial", "object", "colour"),
    "Objects365": ("localization", "spatial", "object", "colour"),
    "iNaturalist-2021": ("localization", "object", "fine-grained"),
    "iNaturalist-2017": ("localization", "object"),
    "DIOR": ("localization", "object"),
    "CARPK": ("counting",),
    "CrowdHuman": ("counting",),
    "VSCrowd": ("counting",),
    "FSC-147": ("counting",),
    "KITTI": ("absolute-depth", "relative-depth"),
    "NYU-Depth-V2": ("spatial", "absolute-depth", "relative-depth"),
    "VQAv2": ("counting",),
    "COCO-Text": ("ocr",),
    "IIIT5K": ("ocr",),
    "TextVQA": ("ocr",),
    "EgoOrientBench": ("orientation",),
    "CURE-OR": ("orientation",),
    "DTD": ("texture",),
    "Kylberg": ("texture",),
    "KTH-TIPS": ("texture",),
    "KTH-TIPS2-b": ("texture",),
    "AID": ("scene",),
    "Places434": ("scene",),
    "RAF-DB": ("emotion",),
    "ExpW": ("emotion",),
    "CUB-200-2011": ("fine-grained",),
    "FGVC-Aircraft": ("fine-grained",),
    "Moments-in-Time": ("action",),
}
"""By name of `snellen.curated_sets.datasets.DATASETS`: the 26 of the paper, VSCrowd, which it cites for crowds, and
iNaturalist-2017, which has the boxes that iNaturalist-2021 lacks."""
