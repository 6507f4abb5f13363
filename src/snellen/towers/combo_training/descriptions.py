"""What an image of an object shows, in whole sentences made from the truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from snellen.stimuli.scenes import text_name
from snellen.suites.combo.prompts import DESCRIPTIONS


def description(appearance: Mapping[str, str], rng: np.random.Generator) -> str:
    """All eight dimensions of an object (`factor/part` -> value), in one of several wordings."""
    anchor, pivot = (text_name("contact-point", appearance[f"contact-point/{end}"]) for end in ("anchor", "pivot"))
    wording = DESCRIPTIONS[int(rng.integers(len(DESCRIPTIONS)))]
    words = {"primary": _block(appearance, "primary"), "secondary": _block(appearance, "secondary")}
    shapes = {f"{part}_shape": text_name("shape", appearance[f"shape/{part}"]) for part in words}
    return wording.format(**words, **shapes, anchor=anchor, pivot=pivot)


def _block(appearance: Mapping[str, str], part: str) -> str:
    """`red rubber cube`, `glass conical frustum`."""
    colour, material = appearance[f"colour/{part}"], appearance[f"material/{part}"]
    shape = text_name("shape", appearance[f"shape/{part}"])
    return " ".join([*([] if colour == "none" else [colour]), material, shape])
