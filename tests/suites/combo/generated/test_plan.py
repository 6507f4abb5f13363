"""Numbers of a plan and of a design by hand, and what the recipe keeps of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.suites.combo.difficulty import packaged_features, read_features
from snellen.suites.combo.generated.objects import natural_spec
from snellen.suites.combo.generated.recipe import Generated, _about_pairs, design
from snellen.suites.combo.questions.alignment import NaturalCategory
from snellen.suites.combo.questions.categories import Pair, Rule
from tests.suites.combo.fixtures import options

NOWHERE = Path("unused")
PER_TASK = ("img2text", "text2img", "category-building")


def _features(path: Path, **about: Any) -> Path:
    fields = {"encoder": "mine", "features_digest": "0", "thresholds": [1.0, 2.0, 3.0], **about}
    given = {name: field for name, field in fields.items() if field is not None}
    np.savez(path, features=np.ones((9504, 1)), about=np.array(json.dumps(given)))
    return path


def test_a_plan_states_items_images_time_and_space() -> None:
    fields: dict[str, Any] = {"n": 30, "quality": "good", "size": (1280, 960), "workers": 2}
    plan = Generated().plan(options(NOWHERE, **fields))
    assert plan["items"] == {"pattern-perception": 30 * 8, **dict.fromkeys(PER_TASK, 30)}
    assert plan["natural_images"] == 30, "every category once, and six of them again"
    assert plan["images"] == plan["objects"] + 30
    assert plan["seconds"] == round(plan["images"] * 0.70 * (0.14 + 0.86 * 4) / 2)
    assert plan["bytes"] == plan["images"] * 115_000 * 4
    full = Generated().plan(options(NOWHERE, full=True, tasks=("img2text",)))
    assert (full["objects"], full["images"], full["natural_images"]) == (9504, 190_080, 120)
    assert full["items"] == {"pattern-perception": 0, "img2text": 120, "text2img": 0, "category-building": 0}


def test_a_quick_set_trains_on_three_other_objects_per_test_item() -> None:
    """Of 110 images 24 are natural, 8 test and at most 40 of rules; a set that is not quick uses the rest up."""
    quick, whole = (design(options(NOWHERE, n=8, quick=quick)) for quick in (True, False))
    of_rules = {view for views in quick.rules.values() for view in views}
    assert len(quick.train) == len(of_rules) + 24
    assert whole.images() == 110
    assert set(design(options(NOWHERE, n=8, test_only=True)).train) == of_rules, "no image is drawn for training alone"


def test_pairs_are_counted_by_level_and_difference() -> None:
    cube, cone = (Rule((("shape/primary", shape),)) for shape in ("cube", "cone"))
    pairs = [Pair(cube, cone, 1.0, *cell) for cell in (("easy", "shape"), ("easy", "shape"), ("hard", "anchor"))]
    about = _about_pairs(pairs[:2], packaged_features())
    assert about["pairs"] == {"easy": {"shape": 2}, "medium": {}, "hard": {}, "expert": {}}
    assert about["agreement"] == {"hog": None, "colour-histogram": None}, "of two pairs there is no rank correlation"
    assert _about_pairs(pairs, packaged_features())["pairs"]["hard"] == {"anchor": 1}


def test_other_features_make_another_recipe_even_with_the_same_thresholds(tmp_path: Path) -> None:
    files = [_features(tmp_path / f"{digest}.npz", features_digest=digest) for digest in "ab"]
    first, second = (Generated().parameters(options(NOWHERE, inputs={"features": file})) for file in files)
    assert first["difficulty"] == ["a", 1.0, 2.0, 3.0]
    assert second == {**first, "difficulty": ["b", 1.0, 2.0, 3.0]}


@pytest.mark.parametrize("about", [{"encoder": None}, {"features_digest": None}, {"thresholds": [1.0, 3.0, 2.0]}])
def test_features_without_encoder_digest_or_ordered_thresholds_are_refused(about: Any, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="no features for 9504 objects"):
        read_features(_features(tmp_path / "odd.npz", **about))


def test_the_turns_of_a_natural_category_are_made_in_sequence() -> None:
    """About x, y becomes z, which a turn about z leaves; the other way round it would become -x."""
    turns = [("x", 90.0), ("z", 90.0)]
    joint = {"primary": "cylinder", "anchor": "base", "secondary": "sphere", "pivot": "surface"}
    category = NaturalCategory(name="lying drum", why="a test", turn_deg=turns, **joint)
    solid = natural_spec(category, 0, 0)[0].scene.solids[0]
    assert np.array(solid.pose.rotation) @ [0, 1, 0] == pytest.approx([0, 0, 1], abs=1e-9)
