"""The images of README and docs show the current pages."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "readme_image.py"


NAMES = runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("name", NAMES["SOURCES"])
def test_the_image_is_of_the_current_page(name: str) -> None:
    assert NAMES["stored_digest"](name) == NAMES["digest"](name), (
        "run make checkup, then python scripts/readme_image.py"
    )
