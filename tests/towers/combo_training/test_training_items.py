"""Training items: the requested number, without tested objects, images or pairs of categories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.scenes import all_composites
from snellen.suites.combo.questions.categories import OBJECTS_A_RULE
from snellen.towers.combo_training.objects import Exclusion, exclusion_of, rendering_of
from snellen.towers.combo_training.training_items import (
    Renders,
    TrainingCounts,
    ViewPlan,
    category_items,
    design,
    pattern_items,
    render_design,
)
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

COUNTS = TrainingCounts(captions=5, patterns=40, categories=5)


@pytest.fixture(scope="module")
def exclusion(toy: ItemSet) -> Exclusion:
    return exclusion_of(toy)


@pytest.fixture(scope="module")
def plan(toy: ItemSet, exclusion: Exclusion) -> ViewPlan:
    return design(toy, COUNTS, exclusion, 7)


@pytest.fixture(scope="module")
def renders(toy: ItemSet, exclusion: Exclusion, plan: ViewPlan, tmp_path_factory: pytest.TempPathFactory) -> Renders:
    folder = MediaFolder(tmp_path_factory.mktemp("learned"))
    return render_design(plan, exclusion, 7, replace(rendering_of(toy), size_px=(24, 18)), folder)


def test_no_more_images_are_planned_than_needed(plan: ViewPlan) -> None:
    """Forty questions at seven per object need six images, enough for five captions; 5 questions need 3 pairs."""
    assert len(set(plan.views)) == len(plan.views) == 6
    assert len(plan.pairs) == 3
    assert {len(views) for views in plan.rules.values()} == {OBJECTS_A_RULE}
    indices = {index for index, _ in plan.views}
    for rule, views in plan.rules.items():
        following = [index for index in indices if rule.mask()[index]]
        assert set(following[:OBJECTS_A_RULE]) <= {index for index, _ in views}


def test_no_tested_object_is_learned(plan: ViewPlan, exclusion: Exclusion, renders: Renders) -> None:
    objects = {index for index, _ in renders}
    assert objects
    assert not objects & exclusion.objects
    assert not {image.sha256 for image, _ in renders.values()} & exclusion.images
    assert all(rule.mask()[index] for rule, views in plan.rules.items() for index, _ in views)


def test_a_tested_pair_of_categories_is_not_learned(toy: ItemSet, exclusion: Exclusion, plan: ViewPlan) -> None:
    """If the first pair is planted among the tested ones, another one is drawn."""
    first = plan.pairs[0]
    item = toy.task("category-building")[0]
    rules = {"A": first.second.text(), "B": first.first.text()}
    planted = replace(toy, items=(replace(item, provenance={**item.provenance, "rules": rules}),))
    pairs = design(planted, COUNTS, exclusion, 7).pairs
    assert len(pairs) == 3
    assert first not in pairs
    assert set(plan.pairs[1:]) <= set(pairs)


def test_items_ask_about_shown_objects(plan: ViewPlan, renders: Renders) -> None:
    patterns, categories = pattern_items(plan, 40, renders, 7), category_items(plan, 5, renders, 7)
    assert (len(patterns), len(categories)) == (40, 5)
    items = [*patterns, *categories]
    assert {item.split for item in items} == {"train"}
    assert len({item.item_id for item in items}) == 45
    assert "pivot" not in {item.factors["question"] for item in patterns}
    for item in patterns:
        appearance = all_composites()[item.provenance["object"]].dimensions()
        assert item.latent["shows"] == {item.query[0].sha256: appearance}
        assert item.answer in appearance.values()


def test_seeds_give_different_items(toy: ItemSet, exclusion: Exclusion, plan: ViewPlan) -> None:
    assert design(toy, COUNTS, exclusion, 7) == plan
    other = design(toy, COUNTS, exclusion, 8)
    assert set(other.views) != set(plan.views)
    assert set(other.pairs) != set(plan.pairs)


def test_more_descriptions_than_objects_take_other_views(toy: ItemSet, exclusion: Exclusion) -> None:
    others = len(all_composites()) - len(exclusion.objects)
    views = design(toy, TrainingCounts(others + 3, 0, 0), exclusion, 0).views
    assert len(set(views)) == others + 3
    assert len({index for index, _ in views}) == others
    with pytest.raises(SnellenError, match="20 views each; choose fewer"):
        design(toy, TrainingCounts(20 * others + 1, 0, 0), exclusion, 0)


def test_no_questions_need_no_images(toy: ItemSet, exclusion: Exclusion, tmp_path: Path) -> None:
    nothing = design(toy, TrainingCounts(0, 0, 0), exclusion, 0)
    assert (nothing.views, nothing.pairs) == ((), ())
    assert render_design(nothing, exclusion, 0, rendering_of(toy), MediaFolder(tmp_path)) == {}


def test_the_plan_and_its_items_equal_their_golden(plan: ViewPlan, renders: Renders) -> None:
    """Every seventh pattern question and every third one about categories."""
    lines = [line(plan.views), *(line([pair.first.text(), pair.second.text()]) for pair in plan.pairs)]
    lines += [line([rule.text(), views]) for rule, views in plan.rules.items()]
    items = [
        *pattern_items(plan, COUNTS.patterns, renders, 7)[::7],
        *category_items(plan, COUNTS.categories, renders, 7)[::3],
    ]
    text = "\n".join([*lines, *map(line, items)]) + "\n"
    for number, (image, _) in enumerate(renders.values()):
        text = text.replace(image.sha256, f"#{number}").replace(image.sha256[:16], f"#{number}")
    assert_golden("towers/training-items.txt", text)
