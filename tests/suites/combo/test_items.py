"""Items: questions, options, required factors, and the agreement of ideal observers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.scoring.answers import read_answer
from snellen.scoring.protocols import guess
from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, all_composites, composite
from snellen.suites.combo import SUITE
from snellen.suites.combo.difficulty import packaged_features
from snellen.suites.combo.generated.objects import VIEWS, natural_spec, object_spec
from snellen.suites.combo.generated.recipe import design, max_images
from snellen.suites.combo.questions import alignment
from snellen.suites.combo.questions.perception import QUESTIONS, asks, names
from snellen.suites.combo.space import FACTORS
from tests.suites.combo.fixtures import options, perception_items, says, says_often, unseen, views_of

RECIPE = SUITE.recipes["generated"]
SOME_OBJECTS = range(17, 9504, 631)
TWO_TASKS = ("pattern-perception", "img2text")


def _alignment_items(n: int = 24) -> list[Item]:
    """Questions in both directions, without images."""
    by_name = {category.name: category for category in alignment.natural_categories().categories}
    images = {name: (unseen(name), natural_spec(category, 0, 0)[1]) for name, category in by_name.items()}
    items = []
    for k, name in enumerate(alignment.names_for(n, 0, "test")):
        items.append(alignment.img2text_item(k, name, *images[name], 0))
        others = alignment.distractors(name, stream("test", k))
        chosen = {label: images[label] for label in (name, *others)}
        items.append(alignment.text2img_item(k, name, chosen, 0))
    return items


@pytest.fixture(scope="module")
def every_kind(toy: ItemSet) -> list[Item]:
    """Many objects, all natural categories, and the categories of the toy set."""
    return [*perception_items(SOME_OBJECTS), *_alignment_items(), *toy.task("category-building")]


# Chance


def _mean_chance(items: Iterable[Item], question: str) -> float:
    return float(np.mean([guess(item) for item in items if item.factors["question"] == question]))


def test_chance_of_the_anchor_question_over_one_object_per_joint() -> None:
    items = perception_items(range(0, 9504, 144))
    assert len(items) == 66 * 8
    assert _mean_chance(items, "anchor") == pytest.approx(5 / 11)
    assert _mean_chance(items, "pivot") == pytest.approx(5 / 6)
    assert _mean_chance(items, "primary-colour") == pytest.approx(1 / 6)


def test_chance_of_the_anchor_question_with_solved_examples() -> None:
    (condition,) = parse_conditions(SUITE.axes, "demos=in-context")
    items = [item for item in perception_items(range(0, 9504, 144)) if asks(item, condition)]
    assert {item.factors["question"] for item in items} == {"primary-material", "secondary-material", "anchor"}
    assert "sphere" not in {item.factors["primary shape"] for item in items if item.factors["question"] == "anchor"}
    assert _mean_chance(items, "anchor") == pytest.approx(4 / 10)


@pytest.mark.parametrize(("condition", "anchors", "pivots"), [("vanilla", 60, 0), ("pivot=on", 60, 22)])
def test_questions_with_one_option_are_not_asked(condition: str, anchors: int, pivots: int) -> None:
    """Of 66 joints 6 are on a sphere, whose shape implies the point; 22 attach a cone, which alone has two pivots."""
    (point,) = parse_conditions(SUITE.axes, condition)
    items = perception_items(range(0, 9504, 144))
    questions = Counter(item.factors["question"] for item in items if asks(item, point))
    assert (questions["anchor"], questions["pivot"]) == (anchors, pivots)
    assert all(len(item.options) > 1 for item in items if asks(item, point))
    implied = {item.factors["primary shape"] for item in items if item.factors["anchor"] == "implied by the shape"}
    assert implied == {"sphere"}


def test_solved_examples_show_every_contact_point_on_every_shape_that_has_it() -> None:
    train = [replace(item, split="train") for item in perception_items(range(5, 9504, 144))]
    test = [item for item in perception_items([0]) if item.factors["question"] == "anchor"]
    (view,) = [v for v in views_of([*test, *train], demos="in-context") if v.item_id == test[0].item_id]
    labels = {
        item.query[0].sha256: (item.factors["primary shape"], item.answer) for item in train if "anchor" in item.item_id
    }
    pairs = [labels[demo.media[0].sha256] for demo in view.support]
    assert sorted(pairs) == sorted((s, p) for s, points in ANCHORS.items() for p in points if len(points) > 1)


# Questions and options


def test_seven_questions_and_the_pivot_about_one_image() -> None:
    items = perception_items([4321])
    appearance = composite(4321).dimensions()
    assert [item.factors["question"] for item in items] == list(QUESTIONS)
    assert len({item.stimulus_id for item in items}) == len({item.cluster_id for item in items}) == 1
    for item in items:
        assert item.answer == appearance[QUESTIONS[item.factors["question"]]]
        assert item.answer in [option.key for option in item.options]


def test_the_pivot_is_asked_only_under_its_condition() -> None:
    cone = next(n for n in range(144 * 11, 9504, 144) if composite(n).secondary.shape == "cone")
    items = perception_items([cone])
    assert items[0].factors["anchor"] == "open"
    for text, count in (("vanilla", 7), ("pivot=on", 8)):
        (condition,) = parse_conditions(SUITE.axes, text)
        assert sum(asks(item, condition) for item in items) == count


def test_glass_and_wood_have_no_colour_and_that_is_an_answer() -> None:
    index = next(n for n, block in enumerate(all_composites()) if block.primary.material == "glass")
    item = next(i for i in perception_items([index]) if i.factors["question"] == "primary-colour")
    assert item.answer == "none"
    assert len(item.options) == 6


@pytest.mark.parametrize("index", [0, 3000, 6000, 9503])
def test_every_name_of_an_option_is_read(index: int) -> None:
    items = perception_items([index])
    for item, view in zip(items, views_of(items, pivot="on"), strict=True):
        dimension = QUESTIONS[item.factors["question"]]
        assert view.reply.offered == tuple(option.key for option in item.options)
        for option in item.options:
            assert view.reply.name(option.key) == option.text
            for name in names(dimension, option.key):
                assert read_answer(name, view.reply) == option.key, name
                assert read_answer(f"{name.capitalize()}.", view.reply) == option.key, name


def test_options_share_no_name() -> None:
    for item in perception_items(range(0, 9504, 144)):
        dimension = QUESTIONS[item.factors["question"]]
        option_names = [name for option in item.options for name in names(dimension, option.key)]
        assert len(option_names) == len(set(option_names))


# Natural categories


def test_no_two_labels_of_a_question_fit_its_image() -> None:
    for item in _alignment_items(48):
        if item.task == "img2text":
            appearance = next(iter(item.latent["shows"].values()))
            fitting = [
                key
                for key, claims in item.latent["claims"].items()
                if all(appearance[dimension] in values for dimension, values in claims.items())
            ]
            assert fitting == [item.answer]


def test_no_two_images_of_a_question_show_the_label() -> None:
    for item in _alignment_items(48):
        if item.task == "text2img":
            joint = ("shape/primary", "contact-point/anchor", "shape/secondary", "contact-point/pivot")
            appearances = [item.latent["shows"][option.media[0].sha256] for option in item.options]
            assert len({tuple(appearance[d] for d in joint) for appearance in appearances}) == 4
            assert len({option.media[0].sha256 for option in item.options}) == 4


def test_every_category_is_used_once_before_any_is_used_twice() -> None:
    sequence = alignment.names_for(60, 0, "test")
    assert len(set(sequence[:24])) == len(set(sequence[24:48])) == 24
    assert Counter(sequence).most_common(1)[0][1] == 3
    assert alignment.names_for(60, 1, "test") != sequence
    assert sequence[:24] != sequence[24:48], "each round has its own order"


def test_the_position_of_the_right_answer_does_not_help() -> None:
    items = _alignment_items(240)
    for task in ("img2text", "text2img"):
        positions = Counter([o.key for o in i.options].index(i.answer) for i in items if i.task == task)
        assert set(positions) == {0, 1, 2, 3}
        assert max(positions.values()) < 90  # 60 expected of 240


# Required factors, against the ideal observers


@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_is_required_exactly_if_the_blind_guess(every_kind: list[Item], factor: str) -> None:
    needing = 0
    for item, view in zip(every_kind, views_of(every_kind), strict=True):
        keys = Counter(says_often(f"blind-to={factor}", every_kind, view, range(16)))
        if factor in item.requires:
            needing += 1
            assert len(keys) > 1, item.item_id
            assert set(keys) <= {option.key for option in item.options}
        else:
            assert set(keys) == {item.answer}, item.item_id
    assert needing


def test_guesses_are_drawn_evenly_from_all_options() -> None:
    items = perception_items([0])
    for item, view in zip(items, views_of(items), strict=True):
        for factor in item.requires:
            keys = Counter(says_often(f"blind-to={factor}", items, view, range(300)))
            expected = 300 / len(item.options)
            assert set(keys) == {option.key for option in item.options}
            assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in keys.values())


def test_natural_categories_need_shape_and_contact_point_together() -> None:
    items = _alignment_items()
    for item, view in zip(items, views_of(items), strict=True):
        assert says("blind-to=colour+material", items, view) == item.answer
        keys = {says("blind-to=shape+contact-point", items, view, draw) for draw in range(12)}
        assert len(keys) > 1, item.item_id


def test_perception_requires_each_factor_in_some_item() -> None:
    needs = {name for item in perception_items(SOME_OBJECTS) for name in item.requires}
    assert needs == set(FACTORS)


# Images


@pytest.mark.parametrize("n", [1, 5, 24, 25, 40, 100])
def test_the_image_budget_is_kept(n: int) -> None:
    plan = design(options(Path("unused"), n=n, quick=False))
    assert plan.images() <= max_images(n) == max(min(120, 30 + 10 * n), 8 * n)
    assert [plan.counts[task] for task in SUITE.tasks] == [n] * 4
    assert len(plan.test) == n
    assert len(plan.pairs) == -(-n // 2)
    assert {len(objects) for objects in plan.rules.values()} == {5}


@pytest.mark.parametrize("n", [1, 24, 40])
def test_no_object_is_in_both_splits(n: int) -> None:
    plan = design(options(Path("unused"), n=n, quick=False))
    test, train = {index for index, _ in plan.test}, {index for index, _ in plan.train}
    assert len(test) == len(plan.test)
    assert not test & train
    assert train


def test_the_train_split_of_a_built_set_shows_other_objects(toy: ItemSet) -> None:
    objects: dict[str, set[int]] = {}
    for item in toy.task("pattern-perception"):
        objects.setdefault(item.split, set()).add(item.provenance["object"])
    assert set(objects) == {"train", "test"}
    assert not objects["train"] & objects["test"]


def test_an_object_has_twenty_own_views() -> None:
    cameras = {repr(object_spec(7, view, 0).camera) for view in range(VIEWS)}
    assert len(cameras) == VIEWS
    assert object_spec(7, 3, 0) == object_spec(7, 3, 0)
    assert object_spec(7, 3, 0).camera != object_spec(7, 3, 1).camera


def test_a_built_set_records_its_contents(toy: ItemSet) -> None:
    assert toy.card.counts["pattern-perception"]["test"] == 16 * 8
    for task in ("img2text", "text2img", "category-building"):
        assert toy.card.counts[task] == {"test": 16}
    assert {media.sha256 for item in toy.items for media in item.media()} <= {p.stem for p in toy.root.rglob("*.png")}
    for item in toy.items:
        assert {image.sha256 for image in item.media()} == set(item.latent["shows"]) or item.task == "category-building"
        assert {image.sha256 for image in item.media()} <= set(item.latent["shows"])
        assert set(next(iter(item.latent["shows"].values()))) == set(DIMENSIONS)


def test_a_task_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(SnellenError, match="has no task 'reading'"):
        RECIPE.plan(options(Path("unused"), tasks=("reading",)))
    with pytest.raises(SnellenError, match="give 1 or more"):
        RECIPE.plan(options(Path("unused"), n=0))


def test_the_anchors_are_those_of_the_shape(toy: ItemSet) -> None:
    for item in toy.task("pattern-perception"):
        if item.factors["question"] == "anchor":
            shape = item.factors["primary shape"]
            assert [option.key for option in item.options] == list(ANCHORS[shape])  # type: ignore[index]


@pytest.mark.slow
def test_level_answers_leave_no_base_rate(tmp_path: Path) -> None:
    """Values of a dimension come about equally often."""
    sets = {
        balance: RECIPE.build(
            options(tmp_path / str(balance), n=24, renderer="blank", balance=balance, tasks=TWO_TASKS)
        )
        for balance in ("paper", "answers", None)
    }

    def spread(balance: str | None, question: str) -> int:
        items = [i for i in sets[balance].task("pattern-perception") if i.split == "test"]
        counts = Counter(i.answer for i in items if i.factors["question"] == question)
        return max(counts.values()) - min(counts.values())

    for question in ("primary-shape", "primary-material", "pivot"):
        assert spread("answers", question) == spread(None, question) < spread("paper", question), question
    assert sets["paper"].card.recipe["balance"] == "paper"
    assert sets["answers"].card.recipe == sets[None].card.recipe
    assert sets[None].card.recipe["balance"] == "answers"


@pytest.mark.parametrize("setting", alignment.DISTRACTORS)
def test_the_source_of_the_distractors_is_a_setting(tmp_path: Path, setting: str) -> None:
    fields = {"settings": {"distractors": setting}, "tasks": ("img2text",), "renderer": "blank"}
    card = (built := RECIPE.build(options(tmp_path / "set", n=24, **fields))).card
    catalogue = alignment.natural_categories()
    coco = {"paper": catalogue.coco_names, "coco-plausible": [entry.name for entry in catalogue.coco_plausible]}
    labels = {option.key for item in built.items for option in item.options}
    others = labels - {category.name for category in catalogue.categories}
    assert others <= set(coco.get(setting, ()))
    assert bool(others) == (setting != "natural")
    assert card.recipe.get("settings") == (None if setting == "natural" else {"distractors": setting})


def test_a_setting_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(SnellenError, match="did you mean 'natural'"):
        RECIPE.plan(options(Path("unused"), settings={"distractors": "nature"}))


def test_another_encoders_features_set_the_levels(tmp_path: Path) -> None:
    """The packaged features scaled by two, under another name, give the same levels in full agreement."""
    packaged = packaged_features()
    thresholds = [2 * bound for bound in packaged.thresholds]
    about = {"encoder": "mine", "features_digest": "0", "thresholds": thresholds}
    np.savez(tmp_path / "mine.npz", features=2 * packaged.values, about=np.array(json.dumps(about)))
    fields = {"n": 8, "tasks": ("category-building",), "renderer": "blank"}
    other = RECIPE.build(options(tmp_path / "other", inputs={"features": tmp_path / "mine.npz"}, **fields))
    own = RECIPE.build(options(tmp_path / "own", **fields))
    assert [item.factors for item in other.items] == [item.factors for item in own.items]
    assert [item.measures["distance"] for item in other.items] == pytest.approx(
        [2 * item.measures["distance"] for item in own.items]
    )
    by_own, by_other = own.card.provenance["difficulty"], other.card.provenance["difficulty"]
    assert by_other == {**by_own, "encoder": "mine", "agreement": {"efficientnet-lite2": 1.0, **by_own["agreement"]}}
    assert list(by_own["agreement"]) == ["hog", "colour-histogram"]
    assert by_own["pairs"]["expert"] == {"shape": 1}
    assert other.card.notes[1] == "the levels of category-building are distance by encoder:mine"
    assert other.items[0].provenance["construction_subjects"] == ["encoder:mine"]
    assert other.card.recipe_hash != own.card.recipe_hash


def test_an_unknown_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="did you mean 'features'"):
        RECIPE.build(options(tmp_path / "set", n=1, inputs={"feature": tmp_path}))
