"""Questions for people about a finished set: comparisons of pairs, and votes on natural categories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Montage
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.combo.natural_votes import NONE_FITS
from snellen.curated_sets.combo.pair_comparisons import CategoryPair, category_pairs, choose_comparisons
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.stimuli.transforms.montage import lay_out
from snellen.suites.combo import SUITE
from snellen.suites.combo.questions.alignment import IMG2TEXT, natural_categories
from snellen.suites.curation_steps import SUITE as STEPS
from snellen.web.building import build_study
from snellen.web.design import read_design
from snellen.web.pages import as_page, page_trials
from snellen.web.study import read_plan
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden


def ask(toy: ItemSet, step: str, out: Path, **fields: int) -> ItemSet:
    return build(SUITE, "curated", BuildOptions(out, tasks=(step,), sources={"items": toy.root}, **fields))  # type: ignore[arg-type]


def pairs(count: int) -> list[CategoryPair]:
    return [CategoryPair(str(n), (), float(n), ()) for n in range(count)]


def test_comparisons_are_spread_over_pairs() -> None:
    chosen = choose_comparisons(pairs(10), 40, np.random.default_rng(0))
    assert len({frozenset(pair.name for pair in two) for two in chosen}) == 40
    assert set(Counter(pair.name for two in chosen for pair in two).values()) == {8}, "80 places for 10 pairs"
    assert 10 < sum(two[0].distance < two[1].distance for two in chosen) < 30, "either may come first"
    assert len(choose_comparisons(pairs(10), None, np.random.default_rng(0))) == 40
    assert len(choose_comparisons(pairs(8), None, np.random.default_rng(0))) == 28, "all there are"


def test_too_few_pairs_are_an_error(toy: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="3 pairs of categories give 3 comparisons, not 4; build a larger set"):
        choose_comparisons(pairs(3), 4, np.random.default_rng(0))
    alike = [CategoryPair(name, (), 1.0, ()) for name in "ab"]
    with pytest.raises(SnellenError, match="give 0 comparisons"):
        choose_comparisons(alike, 1, np.random.default_rng(0))
    with pytest.raises(SnellenError, match="1 pairs of categories, but comparisons need two"):
        category_pairs(ItemSet(toy.root, toy.card, tuple(toy.task("category-building")[:2]), toy.media))


def test_an_option_shows_the_examples_of_both_categories(toy: ItemSet, tmp_path: Path) -> None:
    itemset = ask(toy, "pair-comparisons", tmp_path / "set", n=5)
    assert (len(itemset.items), itemset.card.counts) == (5, {"decision": {"test": 5}})
    for item in itemset.items:
        for option, name in zip(item.options, item.provenance["pairs"], strict=True):
            source = next(other for other in toy.task("category-building") if other.group_id == name)
            assert item.measures[option.key] == source.measures["distance"]
            for image, key in zip(option.media, "AB", strict=True):
                examples = tuple(media for demo in source.support if demo.answer == key for media in demo.media)
                assert len(examples) == 4
                assert image == lay_out(Montage(examples, 2), MediaFolder(tmp_path / "again", toy.media))
        assert len(set(item.measures.values())) == 2


def test_people_choose_between_two_sets_of_images(toy: ItemSet, tmp_path: Path) -> None:
    itemset = ask(toy, "pair-comparisons", tmp_path / "set", n=1)
    (point,) = parse_conditions(STEPS.axes, "vanilla")
    (trial,) = page_trials(itemset, STEPS, STEPS.tasks["decision"], point, itemset.media)
    page = as_page(trial, itemset.by_id, None, practice=False, reason=False)
    assert [part.kind for part in page.parts if hasattr(part, "kind")] == [], "only the choices have images"
    (question,) = page.questions
    assert [choice.name for choice in question.choices] == ["first", "second"]
    assert [len(choice.media) for choice in question.choices] == [2, 2]
    text = page.model_dump_json()
    assert not any(str(distance) in text for distance in itemset.items[0].measures.values())


def test_models_can_be_asked_too(toy: ItemSet, tmp_path: Path) -> None:
    itemset = ask(toy, "pair-comparisons", tmp_path / "set", n=4)
    done = run(itemset, ["fake:constant=second"], tmp_path / "run", show_progress=False)
    assert {response.text for response in done.responses} == {"second"}


@pytest.mark.slow
def test_votes_ask_for_a_name_of_every_image_before_any_name_is_shown(toy: ItemSet, tmp_path: Path) -> None:
    itemset = ask(toy, "natural-votes", tmp_path / "set")
    images = {item.query[0].sha256: item.answer for item in toy.task(IMG2TEXT)}
    half = len(images)
    assert len(itemset.items) == 2 * half
    name_items, fit_items = itemset.items[:half], itemset.items[half:]
    names = [category.name for category in natural_categories().categories]
    for item in name_items:
        assert [option.key for option in item.options] == [*names, NONE_FITS]
        assert item.question == name_items[0].question, "the wording tells no name"
        assert images[item.query[0].sha256] == item.provenance["category"]
    build_study([itemset], read_design("combo-votes"), tmp_path / "study")
    plan = read_plan(tmp_path / "study")
    order = [plan.pages[page_id].questions[0].item_id for block in plan.forms[0] for page_id in block.page_ids]
    assert order == [item.item_id for item in itemset.items]
    for item, name_item in zip(fit_items, name_items, strict=True):
        assert item.stimulus_id == name_item.stimulus_id
        assert f"represent: {item.provenance['category']}." in item.question


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "builds one step about a set, `snellen build combo/STEP --from curated"),
        ({"tasks": ("pair-comparison",)}, "did you mean 'pair-comparisons'"),
        ({"tasks": ("pair-comparisons",)}, "combo/pair-comparisons: --source items=ITEMSET is missing"),
        ({"tasks": ("natural-votes",), "n": 3}, "asks about every image; leave out --n"),
        ({"tasks": ("pair-comparisons",), "n": 0}, "--n 0 makes no items"),
        ({"tasks": ("pair-comparisons",), "inputs": {"votes": Path()}}, "does not use 'votes'"),
        ({"tasks": ("natural-votes",), "sources": {"items": Path(), "data": Path()}}, "does not use 'data'; it takes"),
    ],
)
def test_an_error_names_the_missing_input_of_a_step(fields: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match=message):
        SUITE.recipes["curated"].build(BuildOptions(tmp_path / "set", **fields))  # type: ignore[arg-type]


def test_a_plan_states_the_number_of_items(toy: ItemSet, tmp_path: Path) -> None:
    recipe = SUITE.recipes["curated"]
    empty = recipe.plan(BuildOptions(tmp_path, tasks=("pair-comparisons",)))
    assert empty["needs"] == "--source items=SET"
    plan = recipe.plan(BuildOptions(tmp_path, tasks=("pair-comparisons",), sources={"items": toy.root}))
    assert plan["items"] == {"pair-comparisons": 28}
    assert plan["steps"][0]["commands"] == [
        f"snellen build combo/pair-comparisons --from curated --source items={toy.root} --out pair-comparisons"
    ]


def test_the_sets_of_both_steps_equal_their_golden(toy: ItemSet, tmp_path: Path) -> None:
    sets = [
        ask(toy, "pair-comparisons", tmp_path / "pairs", n=6, seed=2),
        ask(toy, "natural-votes", tmp_path / "votes"),
    ]
    text = "".join(grouped_set_text(items, tmp_path, toy.root) for items in sets)
    options = BuildOptions(tmp_path, tasks=("natural-votes",), sources={"items": toy.root})
    plans = [SUITE.recipes["curated"].plan(BuildOptions(tmp_path, tasks=("pair-comparisons",), n=3, seed=4))]
    plans.append(SUITE.recipes["curated"].plan(options))
    assert_golden("curated/combo.txt", text + masked("\n".join(map(str, plans)), tmp_path, toy.root) + "\n")
