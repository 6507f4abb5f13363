"""Forms: their pages depend on seed and form only, and are distributed as in the design."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.errors import SnellenError
from snellen.web.dealing import BlockPages, attention_page, deal_forms
from snellen.web.design import BlockDesign, StudyDesign, preset_names, read_design
from snellen.web.plan import Choice, Page, Question, TextPart, Texts

UNITS = [[f"q{n}"] for n in range(12)]


def design(*blocks: BlockDesign, forms: int = 6, **how: object) -> StudyDesign:
    return StudyDesign.model_validate({"texts": Texts(title="t"), "blocks": blocks, "forms": forms, **how})


def pages(block: BlockDesign, point: str = "vanilla", **more: list[str]) -> BlockPages:
    return BlockPages(block, point, {"task": UNITS}, more.get("practice", []), more.get("attention", []))


def test_spread_shows_every_unit_equally_often() -> None:
    block = BlockDesign(name="b", questions=4, assignment="spread")
    forms = deal_forms(design(block), [[pages(block)]], seed=0)
    counts = Counter(page for form in forms for part in form for page in part.page_ids)
    assert set(counts) == {f"q{n}" for n in range(12)}
    assert set(counts.values()) == {2}  # 6 forms of 4 over 12 units


def test_the_same_questions_for_all_in_different_orders() -> None:
    block = BlockDesign(name="b", questions=5, assignment="same")
    forms = deal_forms(design(block), [[pages(block)]], seed=0)
    shown_ids = [form[0].page_ids for form in forms]
    assert len({frozenset(ids) for ids in shown_ids}) == 1
    assert len(set(shown_ids)) > 1


def test_each_form_samples_its_own_questions() -> None:
    block = BlockDesign(name="b", questions=5, assignment="sample")
    forms = deal_forms(design(block), [[pages(block)]], seed=0)
    assert len({frozenset(form[0].page_ids) for form in forms}) > 1
    assert {len(set(form[0].page_ids)) for form in forms} == {5}


def test_a_check_never_stands_first() -> None:
    """Without practice, over many forms: with one question, a check in a random place stands first in half of them."""
    block = BlockDesign(name="b", questions=1, attention=1)
    forms = deal_forms(design(block, forms=40), [[pages(block, attention=["check"])]], seed=0)
    assert {form[0].page_ids.index("check") for form in forms} == {1}


def test_conditions_of_a_block_show_the_same_items() -> None:
    block = BlockDesign(name="b", questions=5)
    points = [pages(block, point) for point in ("shots=0", "shots=1")]
    for first, second in deal_forms(design(block), [points], seed=0):
        assert set(first.page_ids) == set(second.page_ids)
        assert (first.name, second.name) == ("b [shots=0]", "b [shots=1]")


def test_balanced_blocks_are_equally_often_at_every_position() -> None:
    blocks = [BlockDesign(name=name, questions=2) for name in "abc"]
    forms = deal_forms(design(*blocks, block_order="balanced"), [[pages(block)] for block in blocks], seed=0)
    for position in range(3):
        assert Counter(form[position].name for form in forms) == {"a": 2, "b": 2, "c": 2}


def test_pairs_stay_together_practice_comes_first_and_checks_in_between() -> None:
    block = BlockDesign(name="b", questions=3, practice=1, attention=1)
    pairs = {"task": [[f"p{n}-t", f"p{n}-f"] for n in range(6)]}
    (form, *_) = deal_forms(design(block), [[BlockPages(block, "vanilla", pairs, ["train"], ["check"])]], seed=1)
    (first, *others) = form[0].page_ids
    assert first == "train"
    assert others[0] != "check"
    assert "check" in others
    counts = Counter(page.split("-")[0] for page in others if page != "check")
    assert sorted(counts.values()) == [2, 2, 2]


def test_equal_seeds_give_equal_forms_and_others_do_not() -> None:
    block = BlockDesign(name="b", questions=4)
    forms = [deal_forms(design(block), [[pages(block)]], seed) for seed in (0, 0, 1)]
    assert forms[0] == forms[1] != forms[2]


def test_more_questions_than_exist_are_refused() -> None:
    block = BlockDesign(name="b", questions=13)
    with pytest.raises(SnellenError, match="13 questions of task are needed, but there are only 12"):
        deal_forms(design(block), [[pages(block)]], seed=0)


def test_an_attention_page_states_the_required_choice() -> None:
    page, name = attention_page("b", 0, seed=0)
    (part,) = page.parts
    assert f"choose {name}." in part.model_dump()["text"]
    assert name in [choice.name for choice in page.questions[0].choices]


def test_an_attention_page_looks_like_the_questions_around_it() -> None:
    choices = tuple(Choice(name=name, text=text) for name, text in (("A", "round"), ("B", "square")))
    question = Question(item_id="i", kind="choice", choices=choices)
    parts = (TextPart(text="Which shape?", is_question=True),)
    template = Page(page_id="p", kind="question", parts=parts, questions=(question,), seconds=9)
    page, name = attention_page("b", 0, seed=0, template=template)
    text = {"A": "A round", "B": "B square"}[name]
    assert page.parts[0].model_dump()["text"] == (
        f"Which shape? This time, please choose “{text}”, whatever the images show."
    )
    assert page.questions == (question.model_copy(update={"item_id": page.page_id}),)
    assert (page.kind, page.seconds) == ("attention", 9)


def test_the_papers_twenty_and_twenty_three_people_are_two_studies() -> None:
    alignment, categories = read_design("combo"), read_design("combo-categories")
    assert (alignment.forms, categories.forms) == (20, 23)
    assert categories.blocks[0].tasks == ("category-building",)


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_designs_with_a_source(name: str) -> None:
    assert read_design(name).source


def test_presets_have_the_papers_numbers() -> None:
    """ComBo, C.3: 20 questions per type; 8 people, 40 comparisons. VFM Bench, E: five people, shots 0, 1, 3, 5."""
    combo, comparisons, vfm = map(read_design, ("combo", "combo-comparisons", "vfm"))
    assert (combo.forms, combo.blocks[0].questions, combo.blocks[0].tasks) == (20, 20, ("img2text", "text2img"))
    assert (comparisons.forms, comparisons.blocks[0].questions) == (8, 40)
    assert (vfm.forms, vfm.blocks[0].conditions) == (5, ("shots=0", "shots=1", "shots=3", "vanilla"))
    assert read_design("vlm2").forms == 3


def test_invalid_designs_are_refused_with_the_reason() -> None:
    with pytest.raises(SnellenError, match="no preset; did you mean 'combo'"):
        read_design("comb")
