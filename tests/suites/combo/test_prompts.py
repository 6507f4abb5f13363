"""What is sent: nothing that tells the answer, everything that the answer needs, in the forms the paper describes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from snellen.core.condition import parse_conditions
from snellen.core.item import Item, Media, Montage, Part
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import read_sheet, sheet_places, write_sheet
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import settle
from snellen.scoring.answers import read_json_objects
from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, SHAPES, all_composites, text_name
from snellen.subjects.fakes.make import make_fake
from snellen.suites.combo import SUITE, prompts
from snellen.suites.combo.questions.perception import QUESTIONS, option_list
from snellen.suites.combo.report.perceived import read_description
from tests.suites.combo.fixtures import perception_items, shown

LEVELS = ("full", "short", "minimal")


def _sent(items: Sequence[Item], **condition: int | str) -> list[Prompt]:
    """Every first call about these items of one task."""
    (point,) = parse_conditions(SUITE.axes, ",".join(f"{name}={value}" for name, value in condition.items()))
    method = SUITE.tasks[items[0].task].method(settle(point, SUITE, make_fake("oracle", {}, ()).card))
    return [prompt for views in method.group(shown(items, **condition)) for prompt in next(method.run(views))]


def _text(parts: Sequence[Part]) -> str:
    return "\n".join(part for part in parts if isinstance(part, str))


def _images(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if not isinstance(part, str)]


def _some(toy: ItemSet, task: str) -> list[Item]:
    return [item for item in toy.task(task) if item.split == "test"]


# Pattern Perception


def test_what_is_said_of_an_object_is_the_same_for_all_objects() -> None:
    """Wordings, options included, depend on the question alone: they tell nothing of the object."""
    items_by_object = [perception_items([index]) for index in range(0, 9504, 144)]  # every shape, anchor and pivot
    forms = [("full", samples, questions) for samples in (10, 1) for questions in ("all", "one")]
    for level, samples, questions in (*forms, ("short", 10, "all"), ("minimal", 10, "all")):
        said = set()
        for items in items_by_object:
            sent = _sent(items, samples=samples, questions=questions, pivot="on", prompt=level)
            said.add(json.dumps([_text(prompt.parts) for prompt in sent]))
        assert len(said) == 1


@pytest.mark.parametrize(("part", "dimension"), [("anchor", "contact-point/anchor"), ("pivot", "contact-point/pivot")])
def test_contact_points_are_told_for_all_shapes(part: str, dimension: str) -> None:
    (view, *_) = shown([i for i in perception_items([0]) if i.factors["question"] == part])
    told = option_list(view)
    for shape in SHAPES:
        assert text_name("shape", shape) in told
    for one in all_composites()[::144]:
        assert text_name(dimension, one.dimensions()[dimension]) in told


def test_every_right_answer_can_be_read_off_the_prompt() -> None:
    for index in range(0, 9504, 501):
        items = perception_items([index])
        (prompt,) = _sent(items, pivot="on")
        for item in items:
            words = next(option.text for option in item.options if option.key == item.answer)
            assert words in _text(prompt.parts)


def test_ten_samples_a_call_with_all_their_questions(toy: ItemSet) -> None:
    items = [item for item in _some(toy, "pattern-perception") if item.factors["question"] != "pivot"]
    sent = _sent(items)
    assert [len(prompt.views) for prompt in sent] == [10 * 7, 6 * 7]
    assert [len(_images(prompt.parts)) for prompt in sent] == [10, 6]
    text = _text(sent[0].parts)
    assert "You will see 10 samples, one image each." in text
    assert [f"Sample {n}:" in text for n in range(1, 12)] == [True] * 10 + [False]
    for dimension in list(QUESTIONS.values())[:7]:
        assert text.count(prompts.QUESTION[dimension]) == 1
    assert prompts.QUESTION["contact-point/pivot"] not in text
    one_by_one = _sent(items, samples=1, questions="one")
    assert len(one_by_one) == 16 * 7
    assert len(_sent(items, samples=1)) == 16
    assert len(_sent(items, questions="one")) == 2 * 7


def test_the_json_example_has_the_names_a_sheet_is_read_by(toy: ItemSet) -> None:
    for prompt in _sent(_some(toy, "pattern-perception"), pivot="on"):
        example = read_json_objects(_text(prompt.parts))
        assert isinstance(example, list)
        names = {name for _, name in sheet_places(prompt.views)}
        assert set(example[0]) == {"sample", *names}
        asked = re.findall(r"^(q\d): (.*?) Options:", _text(prompt.parts), flags=re.M)
        by_name = {
            name: view.question for view, (_, name) in zip(prompt.views, sheet_places(prompt.views), strict=True)
        }
        assert dict(asked) == by_name
        filled = write_sheet(prompt.views, [view.reply.write(view.options[0].key) for view in prompt.views])
        read = read_sheet(prompt.views, read_json_objects(filled))
        assert all(read[view.item_id] == view.options[0].text for view in prompt.views)


def test_samples_on_one_sheet_are_numbered(toy: ItemSet) -> None:
    sent = _sent(_some(toy, "pattern-perception"), sheet="single")
    (page,) = _images(sent[0].parts)
    assert isinstance(page, Montage)
    assert page.labels == tuple(f"Sample {n}" for n in range(1, 11))


def test_solved_examples_show_each_answer_once_from_the_train_split(toy: ItemSet) -> None:
    items = toy.task("pattern-perception")
    asked = [item for item in items if item.factors["question"] == "primary-material"]
    (view, *_) = [v for v, i in zip(shown(asked, demos="in-context"), asked, strict=True) if i.split == "test"]
    taught = {item.query[0].sha256: item.answer for item in asked if item.split == "train"}
    assert {demo.answer for demo in view.support} == set(taught.values())
    assert len(view.support) == len({demo.answer for demo in view.support})
    assert all(taught[demo.media[0].sha256] == demo.answer for demo in view.support)


def test_solved_examples_are_told_in_the_words_of_the_options(toy: ItemSet) -> None:
    asked = [item for item in toy.task("pattern-perception") if item.factors["question"] == "anchor"]
    sent = _sent([item for item in asked if item.factors["primary shape"] != "sphere"], demos="in-context")
    text = _text(sent[0].parts)
    assert prompts.DEMOS_INTRO in text
    answers = re.findall(r"^Answer: (.*)$", text, flags=re.M)
    assert answers
    assert set(answers) <= {text_name("contact-point", value) for places in ANCHORS.values() for value in places}


# Abstraction Alignment


@pytest.mark.parametrize("task", ["img2text", "text2img"])
def test_options_are_lettered(toy: ItemSet, task: str) -> None:
    for item, view in zip(_some(toy, task), shown(_some(toy, task)), strict=True):
        assert [view.reply.name(option.key) for option in item.options] == list("ABCD")


def test_img2text_sends_one_image_and_four_labels(toy: ItemSet) -> None:
    for item, prompt in zip(_some(toy, "img2text"), _sent(_some(toy, "img2text")), strict=True):
        assert _images(prompt.parts) == list(item.query)
        for letter, option in zip("ABCD", item.options, strict=True):
            assert f"{letter}. {option.text}" in _text(prompt.parts)


def test_text2img_sends_four_images_and_the_label(toy: ItemSet) -> None:
    for item, prompt in zip(_some(toy, "text2img"), _sent(_some(toy, "text2img")), strict=True):
        assert [part for part in prompt.parts if isinstance(part, Media)] == [o.media[0] for o in item.options]
        assert item.question in _text(prompt.parts)
    (page, _) = _sent(_some(toy, "text2img"), sheet="single")[0].parts
    assert isinstance(page, Montage)
    assert page.labels == tuple("ABCD")


# Category Building


def test_four_and_four_and_one_go_as_three_images(toy: ItemSet) -> None:
    for item, prompt in zip(_some(toy, "category-building"), _sent(_some(toy, "category-building")), strict=True):
        first, second, test = _images(prompt.parts)
        assert isinstance(first, Montage)
        assert isinstance(second, Montage)
        assert test == item.query[0]
        by_key = {key: tuple(d.media[0] for d in item.support if d.answer == key) for key in "AB"}
        assert (first.images, second.images) == (by_key["A"], by_key["B"])
        assert (first.columns, second.columns) == (2, 2)


def test_or_as_one_image_for_who_takes_no_more(toy: ItemSet) -> None:
    (page,) = _images(_sent(_some(toy, "category-building"), sheet="single")[0].parts)
    assert isinstance(page, Montage)
    assert page.labels == (*"AAAABBBB", "test")


def test_the_rules_are_never_said(toy: ItemSet) -> None:
    for method in ("vanilla", "cot", "perceive-then-classify", "caption-then-classify"):
        said = {_text(prompt.parts) for prompt in _sent(_some(toy, "category-building"), method=method)}
        assert len(said) == 1


def test_cot_asks_for_a_last_line_that_the_parser_reads(toy: ItemSet) -> None:
    from snellen.scoring.answers import read_answer

    item = _some(toy, "category-building")[0]
    (prompt, *_) = _sent([item], method="cot")
    assert "Answer: A or Answer: B" in _text(prompt.parts)
    thought = "The objects of A are red, those of B are blue. The test object is blue, as B.\nAnswer: B"
    assert read_answer(thought, prompt.views[0].reply) == "B"


def test_perceive_then_classify_describes_nine_images_then_classifies_in_words(toy: ItemSet) -> None:
    item = _some(toy, "category-building")[0]
    (point,) = parse_conditions(SUITE.axes, "method=perceive-then-classify")
    method = SUITE.tasks[item.task].method(point)
    (view,) = shown([item], method="perceive-then-classify")
    talk = method.run((view,))
    asked = next(talk)
    assert len(asked) == 9
    assert all(len(_images(prompt.parts)) == 1 for prompt in asked)
    (last,) = talk.send(tuple(Reply(f"image number {n}") for n in range(9)))
    text = _text(last.parts)
    assert [f"image number {n}" in text for n in range(9)] == [True] * 9
    assert _images(last.parts) == list(item.query)
    for n, demo in enumerate(item.support):
        assert f"Category {demo.answer}: image number {n}" in text


def test_a_description_is_asked_for_by_every_dimension_and_read_by_the_same_names(toy: ItemSet) -> None:
    (prompt, *_) = _sent(_some(toy, "category-building")[:1], method="perceive-then-classify")
    text = _text(prompt.parts)
    for dimension in DIMENSIONS:
        assert f'"{dimension}": ' in text
    said = {dimension: text.split(f'"{dimension}": ')[1].splitlines()[0].split(", ")[0] for dimension in DIMENSIONS}
    said |= {"contact-point/anchor": "centre of a face", "contact-point/pivot": "flat base"}
    assert None not in read_description(json.dumps(said)).values()


# The ladder, the controls


@pytest.mark.parametrize("task", list(SUITE.tasks))
def test_shorter_prompts_are_shorter(toy: ItemSet, task: str) -> None:
    lengths = [len(_text(_sent(_some(toy, task), prompt=level)[0].parts)) for level in LEVELS]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


@pytest.mark.parametrize("task", list(SUITE.tasks))
@pytest.mark.parametrize("sheet", ["separate", "single"])
def test_without_images_there_are_none(toy: ItemSet, task: str, sheet: str) -> None:
    for prompt in _sent(_some(toy, task), images="none", sheet=sheet):
        assert _images(prompt.parts) in ([], [Montage((), 2)] * 2)
        assert list(prompt.media()) == []


def test_subjects_that_take_one_image_get_one_sheet() -> None:
    from dataclasses import replace

    (point,) = parse_conditions(SUITE.axes, "vanilla")
    card = make_fake("oracle", {}, ()).card
    assert settle(point, SUITE, replace(card, max_images=1))["sheet"] == "single"
    assert settle(point, SUITE, card)["sheet"] == "separate"
    (told,) = parse_conditions(SUITE.axes, "sheet=separate")
    assert settle(told, SUITE, replace(card, max_images=1))["sheet"] == "separate"


def test_no_wording_is_left_unfilled(toy: ItemSet) -> None:
    for task in SUITE.tasks:
        for level in LEVELS:
            text = _text(_sent(_some(toy, task), prompt=level)[0].parts)
            assert not re.search(r"{[a-z]+}", text)
            assert "  " not in text
            assert "\n\n\n" not in text
