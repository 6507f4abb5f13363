"""The curations of AVA-Bench from annotated things: boxes, depths, texts; by the ability's name."""

from __future__ import annotations

from snellen.suites.ava_bench.selection.abilities import (
    absolute_depth,
    colour,
    counting,
    localization,
    nearer_localization,
    ocr,
    orientation,
    relative_depth,
    spatial,
)
from snellen.suites.ava_bench.selection.candidates import Curation

CURATIONS: dict[str, Curation] = {
    "localization": localization.CURATION,
    "counting": counting.CURATION,
    "spatial": spatial.CURATION,
    "orientation": orientation.CURATION,
    "absolute-depth": absolute_depth.CURATION,
    "relative-depth": relative_depth.CURATION,
    "object": localization.OBJECT_CURATION,
    "colour": colour.CURATION,
    "ocr": ocr.CURATION,
    "nearer-localization": nearer_localization.CURATION,
}
"""In the order of the registry."""
