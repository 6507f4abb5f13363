"""Prompts do not reveal the answer, have everything it needs, and have the forms that the paper describes."""

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
from snellen.scoring.answers.plain import read_json_objects
from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, SHAPES, all_composites, text_name
from snellen.subjects.fakes.make import make_fake
from snellen.suites.combo import SUITE, prompts
from snellen.suites.combo.questions.categories import perceive_question
from snellen.suites.combo.questions.perception import QUESTIONS, option_list
from snellen.suites.combo.report.perceived import read_description
from tests.suites.combo.fixtures import perception_items, views_of

LEVELS = ("full", "short", "minimal")


def _sent(items: Sequence[Item], **condition: int | str) -> list[Prompt]:
    """The first calls about these items of one task."""
    (point,) = parse_conditions(SUITE.axes, ",".join(f"{name}={value}" for name, value in condition.items()))
    method = SUITE.tasks[items[0].task].method(settle(point, SUITE, make_fake("oracle", {}, ()).card))
    return [prompt for views in method.group(views_of(items, **condition)) for prompt in next(method.run(views))]


def _text(parts: Sequence[Part]) -> str:
    return "\n".join(part for part in parts if isinstance(part, str))


def _images(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if not isinstance(part, str)]


def _some(toy: ItemSet, task: str) -> list[Item]:
    return [item for item in toy.task(task) if item.split == "test"]


# Pattern Perception


def test_the_text_about_an_object_is_the_same_for_all_objects() -> None:
    """Wordings, options included, depend only on the question and reveal nothing about the object."""
    items_by_object = [perception_items([index]) for index in range(0, 9504, 144)]  # every shape, anchor and pivot
    forms = [("full", samples, questions) for samples in (10, 1) for questions in ("all", "one")]
    for level, samples, questions in (*forms, ("short", 10, "all"), ("minimal", 10, "all")):
        texts = set()
        for items in items_by_object:
            sent = _sent(items, samples=samples, questions=questions, pivot="on", prompt=level)
            texts.add(json.dumps([_text(prompt.parts) for prompt in sent]))
        assert len(texts) == 1


@pytest.mark.parametrize(("part", "dimension"), [("anchor", "contact-point/anchor"), ("pivot", "contact-point/pivot")])
def test_the_options_name_contact_points_of_all_shapes(part: str, dimension: str) -> None:
    (view, *_) = views_of([i for i in perception_items([0]) if i.factors["question"] == part])
    text = option_list(view)
    for shape in SHAPES:
        assert text_name("shape", shape) in text
    for block in all_composites()[::144]:
        assert text_name(dimension, block.dimensions()[dimension]) in text


def test_the_prompt_contains_every_right_answer() -> None:
    for index in range(0, 9504, 501):
        items = perception_items([index])
        (prompt,) = _sent(items, pivot="on")
        for item in items:
            words = next(option.text for option in item.options if option.key == item.answer)
            assert words in _text(prompt.parts)


def test_a_call_has_ten_samples_with_all_their_questions(toy: ItemSet) -> None:
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


def test_the_json_example_has_the_names_that_the_sheet_reader_needs(toy: ItemSet) -> None:
    for prompt in _sent(_some(toy, "pattern-perception"), pivot="on"):
        example = read_json_objects(_text(prompt.parts))
        assert isinstance(example, list)
        names = {name for _, name in sheet_places(prompt.views)}
        assert set(example[0]) == {"sample", *names}
        questions = re.findall(r"^(q\d): (.*?) Options:", _text(prompt.parts), flags=re.M)
        by_name = {
            name: view.question for view, (_, name) in zip(prompt.views, sheet_places(prompt.views), strict=True)
        }
        assert dict(questions) == by_name
        filled = write_sheet(prompt.views, [view.reply.write(view.options[0].key) for view in prompt.views])
        answers = read_sheet(prompt.views, read_json_objects(filled))
        assert all(answers[view.item_id] == view.options[0].text for view in prompt.views)


def test_samples_on_one_sheet_are_numbered(toy: ItemSet) -> None:
    sent = _sent(_some(toy, "pattern-perception"), sheet="single")
    (page,) = _images(sent[0].parts)
    assert isinstance(page, Montage)
    assert page.labels == tuple(f"Sample {n}" for n in range(1, 11))
    assert page.columns == 5
    assert "You will see 10 samples, one image each." in _text(sent[0].parts)
    (alone, *_) = _sent(_some(toy, "pattern-perception"), samples=1)
    assert "You will see one sample, one image." in _text(alone.parts)


def test_solved_examples_show_each_answer_once_from_the_train_split(toy: ItemSet) -> None:
    items = toy.task("pattern-perception")
    material_items = [item for item in items if item.factors["question"] == "primary-material"]
    (view, *_) = [
        v
        for v, i in zip(views_of(material_items, demos="in-context"), material_items, strict=True)
        if i.split == "test"
    ]
    train_answers = {item.query[0].sha256: item.answer for item in material_items if item.split == "train"}
    assert {demo.answer for demo in view.support} == set(train_answers.values())
    assert len(view.support) == len({demo.answer for demo in view.support})
    assert all(train_answers[demo.media[0].sha256] == demo.answer for demo in view.support)


def test_solved_examples_use_the_words_of_the_options(toy: ItemSet) -> None:
    anchor_items = [item for item in toy.task("pattern-perception") if item.factors["question"] == "anchor"]
    sent = _sent([item for item in anchor_items if item.factors["primary shape"] != "sphere"], demos="in-context")
    text = _text(sent[0].parts)
    assert prompts.DEMOS_INTRO in text
    answers = re.findall(r"^Answer: (.*)$", text, flags=re.M)
    assert answers
    assert set(answers) <= {text_name("contact-point", value) for places in ANCHORS.values() for value in places}


# Abstraction Alignment


@pytest.mark.parametrize("task", ["img2text", "text2img"])
def test_options_are_lettered(toy: ItemSet, task: str) -> None:
    for item, view in zip(_some(toy, task), views_of(_some(toy, task)), strict=True):
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
    assert (page.labels, page.columns) == (tuple("ABCD"), 2)


# Category Building


def test_four_and_four_and_one_images_are_sent_as_three(toy: ItemSet) -> None:
    for item, prompt in zip(_some(toy, "category-building"), _sent(_some(toy, "category-building")), strict=True):
        first, second, test = _images(prompt.parts)
        assert isinstance(first, Montage)
        assert isinstance(second, Montage)
        assert test == item.query[0]
        by_key = {key: tuple(d.media[0] for d in item.support if d.answer == key) for key in "AB"}
        assert (first.images, second.images) == (by_key["A"], by_key["B"])
        assert (first.columns, second.columns) == (2, 2)


def test_single_image_subjects_get_one_sheet_with_all_nine(toy: ItemSet) -> None:
    (page,) = _images(_sent(_some(toy, "category-building"), sheet="single")[0].parts)
    assert isinstance(page, Montage)
    assert (page.labels, page.columns) == ((*"AAAABBBB", "test"), 4)


def test_prompts_never_state_the_rules(toy: ItemSet) -> None:
    for method in ("vanilla", "cot", "perceive-then-classify", "caption-then-classify"):
        texts = {_text(prompt.parts) for prompt in _sent(_some(toy, "category-building"), method=method)}
        assert len(texts) == 1


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
    (view,) = views_of([item], method="perceive-then-classify")
    dialogue = method.run((view,))
    first_prompts = next(dialogue)
    assert len(first_prompts) == 9
    assert all(len(_images(prompt.parts)) == 1 for prompt in first_prompts)
    (last,) = dialogue.send(tuple(Reply(f"image number {n}") for n in range(9)))
    text = _text(last.parts)
    assert [f"image number {n}" in text for n in range(9)] == [True] * 9
    assert _images(last.parts) == list(item.query)
    for n, demo in enumerate(item.support):
        assert f"Category {demo.answer}: image number {n}" in text


def test_a_caption_is_asked_in_its_own_words(toy: ItemSet) -> None:
    for method, words in {"caption": prompts.CAPTION, "perceive": perceive_question()}.items():
        (prompt, *_) = _sent(_some(toy, "category-building")[:1], method=f"{method}-then-classify")
        assert prompt.parts[-1] == words


def test_a_description_is_asked_and_read_by_the_same_dimension_names(toy: ItemSet) -> None:
    (prompt, *_) = _sent(_some(toy, "category-building")[:1], method="perceive-then-classify")
    text = _text(prompt.parts)
    for dimension in DIMENSIONS:
        assert f'"{dimension}": ' in text
    description = {
        dimension: text.split(f'"{dimension}": ')[1].splitlines()[0].split(", ")[0] for dimension in DIMENSIONS
    }
    description |= {"contact-point/anchor": "centre of a face", "contact-point/pivot": "flat base"}
    assert None not in read_description(json.dumps(description)).values()


# The prompt ladder and the controls


@pytest.mark.parametrize("task", list(SUITE.tasks))
def test_shorter_prompts_are_shorter(toy: ItemSet, task: str) -> None:
    lengths = [len(_text(_sent(_some(toy, task), prompt=level)[0].parts)) for level in LEVELS]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


@pytest.mark.parametrize("task", list(SUITE.tasks))
@pytest.mark.parametrize("sheet", ["separate", "single"])
def test_the_condition_without_images_sends_none(toy: ItemSet, task: str, sheet: str) -> None:
    for prompt in _sent(_some(toy, task), images="none", sheet=sheet):
        assert _images(prompt.parts) in ([], [Montage((), 2)] * 2)
        assert list(prompt.media()) == []


def test_subjects_that_take_one_image_get_one_sheet() -> None:
    from dataclasses import replace

    (point,) = parse_conditions(SUITE.axes, "vanilla")
    card = make_fake("oracle", {}, ()).card
    assert settle(point, SUITE, replace(card, max_images=1))["sheet"] == "single"
    assert settle(point, SUITE, card)["sheet"] == "separate"
    (explicit,) = parse_conditions(SUITE.axes, "sheet=separate")
    assert settle(explicit, SUITE, replace(card, max_images=1))["sheet"] == "separate"


def test_no_wording_has_an_unfilled_placeholder(toy: ItemSet) -> None:
    for task in SUITE.tasks:
        for level in LEVELS:
            text = _text(_sent(_some(toy, task), prompt=level)[0].parts)
            assert not re.search(r"{[a-z]+}", text)
            assert "  " not in text
            assert "\n\n\n" not in text
