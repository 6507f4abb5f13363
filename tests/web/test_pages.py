"""Pages show the same as a call to a model, contain no answer, and their answers are read as replies."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Box, Media, Option, Part, ReplySpec, View
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.runs.asking.preview import first_calls
from snellen.scoring.answers import read_answer
from snellen.suites import SUITES
from snellen.web.admission import MAX_TEXT
from snellen.web.pages import as_page, as_recorded, media_path, page_trials, without_sets, written
from snellen.web.plan import Page, TextPart
from tests.helpers.sets import small_set

IMAGE = Media("a" * 64, "image", "png", 40, 30)


def view_of(spec: ReplySpec, options: tuple[Option, ...] = (), query: tuple[Media, ...] = (IMAGE,)) -> View:
    return View("item-1", "stimulus-1", "task", "What is it?", query, spec, options)


def pages_of(suite_name: str, folder: Path, tmp_path: Path, condition: str = "vanilla") -> list[tuple[Page, list[Any]]]:
    """Pages of a small set, each with the parts that a model would be sent."""
    suite, items = SUITES.get(suite_name), small_set(suite_name, folder)
    (point,) = parse_conditions(suite.axes, condition)
    media = MediaFolder(tmp_path / "media", items.media)
    calls = first_calls(items, suite, point, SubjectCard("chat:model"), media)
    by_ids = {call.item_ids: list(call.prompt.parts) for call in calls}
    pages = []
    for task in suite.tasks.values():
        if items.task(task.id) and not point.moves() - set(task.axes):
            for trial in page_trials(items, suite, task, point, media):
                page = as_page(trial, items.by_id, None, practice=False, reason=False)
                pages.append((page, by_ids[trial.item_ids]))
    return pages


@pytest.mark.parametrize("suite", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_a_page_shows_the_parts_that_a_model_is_sent(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    pages = pages_of(suite, sets_folder, tmp_path)
    assert pages
    for page, parts in pages:
        shown_parts = [part.text if isinstance(part, TextPart) else part.path for part in page.parts]
        assert shown_parts == [part if isinstance(part, str) else media_path(part) for part in parts]


@pytest.mark.parametrize("suite", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_a_page_depends_only_on_the_view_of_an_item(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    """Items with other answers, factors, measures, regions and provenance give the same page."""
    definition, items = SUITES.get(suite), small_set(suite, sets_folder)
    (point,) = parse_conditions(definition.axes, "vanilla")
    hidden: dict[str, Any] = {name: {} for name in ("factors", "measures", "latent", "provenance")}
    hidden |= {"requires": (), "answer": "elsewhere"}
    media = MediaFolder(tmp_path / "media", items.media)
    for task in definition.tasks.values():
        for trial in page_trials(items, definition, task, point, media)[:6]:
            by_id = {item_id: items.by_id[item_id] for item_id in trial.item_ids}
            page = as_page(trial, by_id, None, practice=False, reason=False)
            bare_items = {item_id: replace(item, **hidden) for item_id, item in by_id.items()}
            assert as_page(trial, bare_items, None, practice=False, reason=False) == page
            assert page.feedback is None


def test_right_answers_are_on_practice_pages_of_train_items_only(sets_folder: Path, tmp_path: Path) -> None:
    suite, items = SUITES.get("ava-bench"), small_set("ava-bench", sets_folder)
    (point,) = parse_conditions(suite.axes, "vanilla")
    media = MediaFolder(tmp_path / "media", items.media)
    trials = page_trials(items, suite, suite.tasks["counting"], point, media, practice=True)
    assert trials
    for trial in trials:
        page = as_page(trial, items.by_id, None, practice=True, reason=False)
        (item_id,) = trial.item_ids
        assert items.by_id[item_id].split == "train"
        assert page.feedback == {item_id: str(items.by_id[item_id].answer)}
    (test_trial, *_) = page_trials(items, suite, suite.tasks["counting"], point, media)
    with pytest.raises(AssertionError, match="test item"):
        as_page(test_trial, items.by_id, None, practice=True, reason=False)


def test_methods_of_several_calls_are_refused(sets_folder: Path, tmp_path: Path) -> None:
    suite, items = SUITES.get("combo"), small_set("combo", sets_folder)
    (point,) = parse_conditions(suite.axes, "method=perceive-then-classify")
    task, media = suite.tasks["category-building"], MediaFolder(tmp_path / "media", items.media)
    with pytest.raises(SnellenError, match="several calls"):
        page_trials(items, suite, task, point, media)


def test_sets_of_images_are_on_the_choices() -> None:
    """Options of several images are compared side by side; the names above them leave the text."""
    others = [Media(letter * 64, "image", "png", 40, 30) for letter in "bcde"]
    options = (Option("one", "", tuple(others[:2])), Option("two", "", tuple(others[2:])))
    view = view_of(ReplySpec("choice", (("A", "one"), ("B", "two"))), options)
    parts: list[Part] = [IMAGE, "Which pair?", "A:", *others[:2], "B:", *others[2:], "Answer with the letter."]
    assert without_sets(parts, view) == [IMAGE, "Which pair?", "Answer with the letter."]


# Answers


@pytest.mark.parametrize(
    ("spec", "answer", "recorded"),
    [
        (ReplySpec("choice", (("A", "k1"), ("B", "k2"))), "k2", "B"),
        (ReplySpec("true_false", (("T", "true"), ("F", "false"))), "false", "F"),
        (ReplySpec("integer"), 7, "7"),
        (ReplySpec("number"), 2.5, "2.5"),
        (ReplySpec("text"), "EXIT 12", "EXIT 12"),
        (ReplySpec("colour"), [12, 200, 7], [12.0, 200.0, 7.0]),
        (ReplySpec("box"), (4.0, 5.0, 20.0, 25.0), [4.0, 5.0, 20.0, 25.0]),
        (ReplySpec("point"), (4.0, 5.5), [4.0, 5.5]),
    ],
)
def test_recorded_answers_are_read_back(spec: ReplySpec, answer: Any, recorded: Any) -> None:
    view = view_of(spec)
    assert as_recorded(view, answer) == recorded
    read = read_answer(written(view, recorded), spec)
    assert (list(read) if isinstance(read, tuple) else read) == (list(answer) if isinstance(answer, tuple) else answer)


def test_a_box_is_drawn_in_shown_pixels_and_written_in_the_frame_of_the_reply() -> None:
    """A stored image of 100 x 50 px shown at half size: stored (20, 10, 60, 30) is drawn as (10, 5, 30, 15).

    The reply wants shares of the stored image: (20/100, 10/50, 60/100, 30/50) = (.2, .2, .6, .6).
    """
    half = Affine(a=0.5, e=0.5)
    image = Media("b" * 64, "image", "png", 50, 25, from_stored=half, origin="c" * 64)
    spec = ReplySpec("box", frame=Affine(a=1 / 100, e=1 / 50))
    view = view_of(spec, query=(image,))
    assert as_recorded(view, (20, 10, 60, 30)) == [10, 5, 30, 15]
    assert json.loads(written(view, [10.0, 5.0, 30.0, 15.0])) == [0.2, 0.2, 0.6, 0.6]
    pointed = replace(view, reply=replace(spec, kind="point"))
    assert as_recorded(pointed, (20, 10)) == [10, 5]
    assert json.loads(written(pointed, [10.0, 5.0])) == [0.2, 0.2]


COORDINATES = st.tuples(*[st.floats(0, 100, allow_nan=False) for _ in range(4)])


@given(COORDINATES, st.floats(0.1, 4), st.floats(-30, 30), st.floats(1 / 640, 1))
def test_boxes_come_back_through_any_scale_shift_and_frame(box: Box, scale: float, shift: float, share: float) -> None:
    x1, x2 = sorted((box[0], box[2]))
    y1, y2 = sorted((box[1], box[3]))
    image = Media("b" * 64, "image", "png", 50, 25, from_stored=Affine(a=scale, c=shift, e=scale, f=-shift))
    view = view_of(ReplySpec("box", frame=Affine(a=share, e=share)), query=(image,))
    recorded = as_recorded(view, (x1, y1, x2, y2))
    numbers = json.loads(written(view, recorded))
    assert numbers == pytest.approx([edge * share for edge in (x1, y1, x2, y2)], abs=2e-5 + 1e-3 * share / scale)


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (ReplySpec("choice", (("A", "k1"),)), "C"), (ReplySpec("box"), [1.0, 2.0, 3.0]),
        (ReplySpec("box"), "1, 2, 3, 4"), (ReplySpec("point"), [1.0, 2.0, 3.0]), (ReplySpec("point"), "1, 2"),
        (ReplySpec("text"), [1.0]), (ReplySpec("colour"), "red"),
    ],
)  # fmt: skip
def test_answers_that_no_page_offers_are_refused(spec: ReplySpec, answer: Any) -> None:
    with pytest.raises(SnellenError, match="is not an answer offered by its page"):
        written(view_of(spec), answer)


def test_a_timeout_is_no_answer() -> None:
    spec = ReplySpec("choice", (("A", "k1"), ("B", "k2")))
    assert written(view_of(spec), None) == ""
    assert read_answer("", spec) is None


# Wording for people

FORMS = ("Answer with", "nothing else", "Respond with", "Provide only one", "expert", "JSON", "Choices:", "Choose ")
"""Words that only models are to read."""


def people_pages(
    suite_name: str, folder: Path, tmp_path: Path, condition: str = "vanilla", *, without: str = ""
) -> list[Page]:
    """Pages of a small set with the wording for people, of all tasks but one."""
    suite, items = SUITES.get(suite_name), small_set(suite_name, folder)
    (point,) = parse_conditions(suite.axes, condition)
    media = MediaFolder(tmp_path / "media", items.media)
    return [
        as_page(trial, items.by_id, None, practice=False, reason=False)
        for task in suite.tasks.values()
        if items.task(task.id) and task.id != without and not point.moves() - set(task.axes)
        for trial in page_trials(items, suite, task, point, media, for_people=True)
        if trial.for_people
    ]


def test_several_questions_on_a_page_are_for_models(sets_folder: Path, tmp_path: Path) -> None:
    message = r"pattern-perception under vanilla: asks .* add samples=1,questions=one to the condition"
    with pytest.raises(SnellenError, match=message):
        people_pages("combo", sets_folder, tmp_path)


@pytest.mark.parametrize(
    ("condition", "captioned"), [("vanilla", False), ("demos=visual-prompt", False), ("demos=caption", True)]
)
def test_people_learn_a_category_from_its_name(
    condition: str, captioned: bool, sets_folder: Path, tmp_path: Path
) -> None:
    """Every solved example has the name that is offered as a choice; captions come only where models have them."""
    for page in people_pages("vfm-bench", sets_folder, tmp_path, condition):
        names = {choice.text or choice.name for choice in page.questions[0].choices}
        texts = [part.text for part in page.parts if isinstance(part, TextPart)]
        examples = [text for text in texts if text.startswith("Example of")]
        assert {text.removeprefix("Example of ").partition(":")[0] for text in examples} == names
        assert any(text.partition(":")[2] for text in examples) is captioned


def test_people_learn_fabricated_names(sets_folder: Path, tmp_path: Path) -> None:
    for page in people_pages("vfm-bench", sets_folder, tmp_path, "labels=fabricated"):
        names = {choice.text or choice.name for choice in page.questions[0].choices}
        texts = [part.text for part in page.parts if isinstance(part, TextPart)]
        assert {text[11:-1] for text in texts if text.startswith("Example of ")} == names


@pytest.mark.parametrize("suite", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_people_read_a_question_without_the_form_of_a_reply(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    """The images are those of models, each once; the question is the last text, and nothing repeats the buttons."""
    pages = people_pages(suite, sets_folder, tmp_path, without="pattern-perception")
    of_models = {page.page_id: page for page, _ in pages_of(suite, sets_folder, tmp_path)}
    if suite == "combo":
        single = "samples=1,questions=one"
        pages += people_pages(suite, sets_folder, tmp_path, single)
        of_models |= {page.page_id: page for page, _ in pages_of(suite, sets_folder, tmp_path, single)}
    assert len(pages) >= 4
    for page in pages:
        texts = [part for part in page.parts if isinstance(part, TextPart)]
        assert [text.is_question for text in texts] == [False] * (len(texts) - 1) + [True]
        assert page.parts[-1] == texts[-1]
        assert not [form for form in FORMS for text in texts if form in text.text], texts[-1].text
        own, others = (
            sorted(part.path for part in parts if not isinstance(part, TextPart))
            for parts in (page.parts, of_models[page.page_id].parts)
        )
        # Models see the examples of a category on one sheet, people one by one.
        assert own == others or (suite == "combo" and len(own) == 9)
        assert [q.model_dump() for q in page.questions] == [q.model_dump() for q in of_models[page.page_id].questions]


def test_questions_of_ava_bench_for_people(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("ava-bench", sets_folder)
    questions = {
        items.by_id[page.questions[0].item_id].task: page.parts[-1].model_dump()["text"]
        for page in people_pages("ava-bench", sets_folder, tmp_path)
    }
    assert questions["localization"].startswith("Draw a box around the ")
    assert questions["nearer-localization"].startswith("Draw a box around whichever is closer to the camera: the ")
    assert questions["relative-depth"].endswith("(blue box)?")
    assert questions["fine-grained"].startswith("Which kind of ")
    assert questions["texture"] == "Which texture does the image show?"


def test_statements_are_true_or_false_in_words(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("vlm2-bench", sets_folder)
    pages = {
        items.by_id[page.questions[0].item_id].task: page for page in people_pages("vlm2-bench", sets_folder, tmp_path)
    }
    for task in ("gc-mat", "oc-cpr"):
        (question,) = pages[task].questions
        assert [(choice.name, choice.text) for choice in question.choices] == [("T", "True"), ("F", "False")]
    cue = pages["gc-trk"].parts[-1].model_dump()["text"]
    assert cue.startswith("What key visual difference can be observed from the first image to the second image?")
    assert cue.endswith("Is it true or false?")


def test_the_page_has_the_limit_of_texts() -> None:
    script = (Path(str(files("snellen.web"))) / "page" / "fields.js").read_text("utf-8")
    assert f"const MAX_TEXT = {MAX_TEXT};" in script
