"""The README's image shows the current front page of reports."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "readme_image.py"


def test_the_image_is_of_the_current_page() -> None:
    names = runpy.run_path(str(SCRIPT))
    assert names["stored_digest"]() == names["digest"](), "run make checkup, then python scripts/readme_image.py"
