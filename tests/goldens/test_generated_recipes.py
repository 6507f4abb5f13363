"""Plans, parameters and cards of generated sets equal the goldens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import BuildOptions
from snellen.exam.items import find_recipe
from snellen.suites import SUITES
from tests.goldens.descriptions import assert_lines
from tests.helpers.sets import small_set

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "ava-bench": [
        {},
        {"full": True},
        {"n": 30, "quality": "fast", "size": (1280, 960), "workers": 3, "seed": 7},
        {"n": 5, "quick": True, "renderer": "toy"},
        {"n": 9, "test_only": True, "quality": "reference", "size": (320, 200)},
        {"n": 7, "tasks": ("texture", "counting-by-colour")},
        {"tasks": ("nearer-localization",)},
    ],
    "combo": [
        {"tasks": ("pattern-perception", "text2img")},
        {"full": True, "tasks": ("text2img",)},
        {"n": 2, "quality": "fast", "size": (1280, 960), "workers": 3, "seed": 7},
        {"n": 30, "test_only": True, "quality": "reference", "tasks": ("img2text", "pattern-perception")},
        {"n": 7, "quick": True, "renderer": "toy", "balance": "paper", "settings": {"distractors": "paper"}},
    ],
}


@pytest.mark.parametrize("suite", OPTIONS)
def test_plans_parameters_and_cards_are_as_they_were(suite: str, sets_folder: Path) -> None:
    recipe, rows = find_recipe(SUITES.get(suite), "generated"), list[Any]()
    for fields in OPTIONS[suite]:
        options = replace(BuildOptions(Path("unused"), show_progress=False), **fields)
        rows += [fields, ("plan", recipe.plan(options)), ("parameters", recipe.parameters(options))]
    card = small_set(suite, sets_folder).card
    rows += [(name, getattr(card, name)) for name in ("source", "counts", "recipe", "provenance", "notes")]
    assert_lines(f"generated/{suite}.txt", rows)
