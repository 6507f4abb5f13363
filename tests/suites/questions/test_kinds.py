"""Kinds of answer, prompts, conditions and scores of a set made from a table."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.analysis.blind import measure_by_folds
from snellen.core.build_options import BuildOptions
from snellen.core.condition import parse_conditions
from snellen.core.item import Item, Media, Option, ReplySpec, View
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.exam.run import run
from snellen.reports.loading import load_run
from snellen.runs.asking.views import show_items
from snellen.runs.scores.score import score_one
from snellen.runs.sets.gate import open_items
from snellen.suites.questions import SUITE
from snellen.suites.questions.kinds import AXES, PROTOCOLS, tasks_of, with_chance
from snellen.suites.questions.prompts import for_people, placed
from tests.goldens.descriptions import line, set_text, task_lines
from tests.goldens.golden import assert_golden
from tests.suites.questions import tables

KINDS: dict[str, list[dict[str, Any]]] = {
    "choice": [{"A": "red", "B": "blue", "C": "green", "answer": answer} for answer in ("A", "C", "B", "blue")],
    "choices": [
        {"A": "red", "B": "blue", "C": "green", "answer": answer} for answer in ("A", "A, C", ["B", "C"], "ABC")
    ],
    "true_false": [{"answer": answer} for answer in ("yes", "No", "no", "Yes")],
    "integer": [{"answer": answer} for answer in (3, "4", 5.0, 12)],
    "number": [{"answer": answer} for answer in (3, "4.25", 0, -1e-3)],
    "text": [{"answer": answer} for answer in ("a cat", ["dog", "hound"], "3 cats", "yes")],
}


@pytest.fixture(scope="module")
def kinds_set(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """Ten rows of each kind, with a split and a factor."""
    folder = tmp_path_factory.mktemp("kinds")
    rows = [
        {
            "task": kind,
            "question": f"What of {n}?",
            "image": tables.image_text(f"{kind} {n}"),
            "half": f"{n % 2}",
            **row,
        }
        for kind, rows in KINDS.items()
        for n, row in zip(range(10), itertools.cycle(rows), strict=False)
    ]
    table = tables.write_jsonl(folder / "t.jsonl", rows)
    options = BuildOptions(folder / "set", sources={"table": table}, columns={"factors": "half"}, show_progress=False)
    return SUITE.recipes["table"].build(options)


def test_the_kind_of_each_task_is_found(kinds_set: ItemSet) -> None:
    suite = SUITE.of_items(open_items(kinds_set.root))
    assert {name: task.kind for name, task in suite.tasks.items()} == {kind.replace("_", "-"): kind for kind in KINDS}
    answers = {kind: [item.answer for item in kinds_set.task(kind.replace("_", "-"))[:4]] for kind in KINDS}
    assert answers == {
        "choice": ["A", "C", "B", "B"],
        "choices": [("A",), ("A", "C"), ("B", "C"), ("A", "B", "C")],
        "true_false": ["true", "false", "false", "true"],
        "integer": [3, 4, 5, 12],
        "number": [3.0, 4.25, 0.0, -1e-3],
        "text": ["a cat", ("dog", "hound"), "3 cats", "yes"],
    }
    assert not SUITE.tasks
    assert tasks_of([replace(kinds_set.items[0], answer_kind="box")]) == {}


def test_the_card_and_the_items_equal_their_golden(kinds_set: ItemSet) -> None:
    """The first five of the ten of each kind."""
    first = [item for kind in KINDS for item in kinds_set.task(kind.replace("_", "-"))[:5]]
    assert_golden("suites/questions-kinds.txt", set_text(replace(kinds_set, items=tuple(first))))


def test_the_oracle_is_perfect_and_chance_is_as_stated(kinds_set: ItemSet, tmp_path: Path) -> None:
    conditions = ["vanilla", "method=reasoning", "method=verbatim", "order=shuffled", "images=grey", "images=shuffled"]
    done = run(kinds_set, ["fake:oracle"], tmp_path / "run", conditions=conditions, show_progress=False)
    rows = done.all_results()
    whole = rows[rows["factor"] == ""]
    assert (whole["value"] == 1).all()
    assert set(whole.loc[whole["condition"] == "order=shuffled", "task"]) == {"choice", "choices"}
    assert set(rows.loc[rows["factor"] == "half", "level"]) == {"0", "1"}
    assert whole["chance"].notna().all()
    guesses = run(kinds_set, ["fake:chance"], tmp_path / "chance", repeats=8, show_progress=False).all_results()
    guesses = guesses[guesses["factor"] == ""]
    assert ((guesses["value"] - guesses["chance"]).abs() < 0.2).all()
    assert set(load_run(tmp_path / "run").suite.tasks) == set(SUITE.of_items(kinds_set).tasks)


def test_blind_baselines_are_learnt_on_the_clusters_of_the_set(kinds_set: ItemSet) -> None:
    """For the kinds that no other suite has: several options, and texts of which several are accepted."""
    items = [item for item in kinds_set.items if item.task in ("choices", "text")]
    scores = measure_by_folds(items, SUITE.of_items(kinds_set))
    assert {score.task for score in scores} == {"choices", "text"}
    assert all(0 <= score.value <= 1 and score.n for score in scores)


def _prompts(items: ItemSet, item_id: str, condition: str, folder: Path) -> str:
    suite = SUITE.of_items(items)
    (point,) = parse_conditions(AXES, condition)
    item = items.by_id[item_id]
    task = suite.tasks[item.task]
    media = MediaFolder(folder, items.media)
    view = show_items([item], ViewContext(point, items.items), task, 0, media)[item_id]
    prompts = next(task.method(point).run((view,)))
    return "\n".join(part if isinstance(part, str) else "(image)" for part in prompts[0].parts)


def test_tasks_and_prompts_equal_their_golden(kinds_set: ItemSet, tmp_path: Path) -> None:
    """The first item of each kind with every method, order of the options and kind of image."""
    lines = [text for task in tasks_of(kinds_set.items).values() for text in task_lines(task)]
    axes = [axis for axis in AXES if axis.name != "frames"]
    for values in itertools.product(*(axis.values for axis in axes)):
        condition = ",".join(f"{axis.name}={value}" for axis, value in zip(axes, values, strict=True))
        ids = [kinds_set.task(task)[0].item_id for task in ("choice", "choices", "true-false", "integer", "text")]
        lines += [line([condition, _prompts(kinds_set, item_id, condition, tmp_path)]) for item_id in ids]
    assert_golden("suites/questions-prompts.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("task", "condition", "words"),
    [
        ("choice", "vanilla", "What of 0?\nA. red\nB. blue\nC. green\nAnswer with the letter of one option."),
        ("choice", "method=verbatim", "What of 0?"),
        (
            "choices",
            "method=reasoning",
            "What of 0?\nA. red\nB. blue\nC. green\nExplain briefly, then give the letters of all right options, "
            "separated by commas as the final answer in the last line, as `Answer: X`.",
        ),
        ("true-false", "vanilla", "What of 0?\nAnswer with Yes or No."),
        ("integer", "vanilla", "What of 0?\nAnswer with a whole number."),
        ("number", "vanilla", "What of 0?\nAnswer with a number."),
        ("text", "vanilla", "What of 0?\nAnswer with a word or a short phrase."),
    ],
)
def test_the_words_of_a_prompt(task: str, condition: str, words: str, kinds_set: ItemSet, tmp_path: Path) -> None:
    item_id = kinds_set.task(task)[0].item_id
    assert _prompts(kinds_set, item_id, condition, tmp_path) == f"(image)\n{words}"


def test_options_of_the_question_are_not_listed_again_and_keep_their_letters(tmp_path: Path) -> None:
    rows = [{"image": tables.image_text(), "question": "Which?\n(a) one\n(b) two", "answer": "b"}]
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set")
    assert _prompts(items, "1", "vanilla", tmp_path) == (
        "(image)\nWhich?\n(a) one\n(b) two\nAnswer with the letter of one option."
    )
    (item,) = items.items
    (shuffled,) = parse_conditions(AXES, "order=shuffled")
    assert not SUITE.of_items(items).tasks["questions"].asks(item, shuffled)


def test_images_stand_where_the_author_puts_them() -> None:
    first, second = (Media(name * 64, "image", "png", 8, 6) for name in "ab")
    assert placed("What is it?", [first, second]) == (first, second, "What is it?")
    assert placed("<image>\nWhat is it?", [first]) == (first, "What is it?")
    assert placed("Compare <image 2> with <image 1>.", [first, second]) == ("Compare", second, "with", first, ".")
    assert placed("Is <image> like <image>?", [first, second]) == ("Is", first, "like", second, "?")
    assert placed("In <image 2>, what?", [first, second]) == (first, "In", second, ", what?")
    assert placed("<image 1> first, then <image 1> again", [first]) == (first, "first, then [image 1] again")
    assert placed("<image>\nCompare <image> and it.", []) == ("Compare [image 2] and it.",)


def test_people_read_the_question_alone() -> None:
    image = Media("a" * 64, "image", "png", 8, 6)

    def people_text(question: str, images: int) -> str:
        return for_people(View("q", "q", "questions", question, (image,) * images, ReplySpec("text")))

    assert people_text("<image>\nWhat is it?", 1) == "What is it?"
    assert people_text("What is it? <image>", 1) == "What is it?"
    assert people_text("<image 1> <image 2>\nWhich is larger?", 2) == "Which is larger?"
    assert people_text("<image>\n<image>\nIs <image 2> larger?", 2) == "Is [image 2] larger?"


@pytest.mark.parametrize("size", [2, 4])
def test_the_chance_of_several_options(size: int) -> None:
    """Both metrics, against all subsets of the options."""
    keys = "ABCD"[:size]
    item = _several(keys)
    subsets = [subset for n in range(1, size + 1) for subset in itertools.combinations(keys, n)]
    for metric in PROTOCOLS["choices"].metrics:
        scores = [metric.score(item, subset) for subset in subsets]
        assert metric.chance(item) == pytest.approx(sum(scores) / len(scores))
    assert PROTOCOLS["choices"].metrics[1].score(item, ("A", "B")) == pytest.approx(1 if size == 2 else 2 / 2)


def _several(keys: str) -> Any:
    image = Media("0" * 64, "image", "png", 8, 6)
    return Item("1", "questions", "t", "Which?", (image,), ("A", "B"), "choices", "s", "g", "c",
                options=tuple(map(Option, keys)))  # fmt: skip


def test_numbers_and_texts() -> None:
    item = _several("AB")
    number = replace(item, answer=40.0, answer_kind="number", options=())
    accuracy, relaxed = PROTOCOLS["number"].metrics
    assert [accuracy.score(number, value) for value in (40.0, 40.00001, 41.0)] == [1, 1, 0]
    assert [relaxed.score(number, value) for value in (42.0, 38.0, 42.1)] == [1, 1, 0]
    text = replace(item, answer=("a dog", "hound"), answer_kind="text", options=())
    anls, same = PROTOCOLS["text"].metrics
    assert [same.score(text, words) for words in ("Hound.", "A  dog", "cat")] == [1, 1, 0]
    assert anls.score(text, "hounds") == pytest.approx(5 / 6)


@pytest.mark.parametrize("unit", ["stop ", "Text: a\n\n", "**a** "])
def test_four_megabytes_are_scored_in_bounded_time(unit: str) -> None:
    """As many as a reply may have. The limit is over twenty times what it takes."""
    text, begin = unit * (4_000_000 // len(unit)), time.thread_time()
    item = replace(_several("AB"), answer="stop here", answer_kind="text", options=())
    reply = Response("r", "fake:x", "", "1", "t", "", 0, "ok", text, "", ReplySpec("text"), ())
    assert score_one(item, reply, PROTOCOLS["text"])[2].keys() == {"anls", "accuracy"}
    assert time.thread_time() - begin < 40


def test_the_last_answer_of_a_reply_with_reasons() -> None:
    read, spec = PROTOCOLS["text"].read, ReplySpec("text")
    replies = {"It purrs.\nAnswer: **a cat**": "a cat", "a cat": "a cat", "Answer: x\n\nAnswer: x": "x"}
    assert {text: read(text, spec) for text in replies} == replies


def test_the_chance_of_long_texts_is_measured_in_a_moment() -> None:
    """All pairs of these texts would take minutes."""
    answers: list[Any] = [f"{n} " * 100_000 for n in range(8)]
    answers.append(tuple(map(str, range(50_000))))
    items = [
        Item(f"q{n}", "questions", "questions", "Read it.", (), answer, "text", f"s{n}", f"g{n}", f"c{n}")
        for n, answer in enumerate(answers)
    ]
    start = time.perf_counter()
    chances = [item.measures["chance_anls"] for item in with_chance(items)]
    assert time.perf_counter() - start < 60
    assert all(0 <= chance <= 1 for chance in chances)
