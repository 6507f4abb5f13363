"""A blind check by people: the drawn items, the comparison of answers, and files and refusals of the command."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from snellen.cli.quiz import ANSWERS, CARD, DISAGREEMENTS, SHEET
from snellen.core.condition import parse_conditions
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.runs.quiz import QuizQuestion, agreements, compare, draw_questions, key_text
from snellen.scoring.uncertainty import cluster_wilson, wilson
from snellen.suites import SUITES
from snellen.suites.ava_bench.abilities.counting import counting_item
from tests.cli.conftest import Command
from tests.cli.conftest import snellen as snellen  # the fixture
from tests.helpers.sets import small_set
from tests.suites.ava_bench.fixtures import item_source

SUITE = SUITES.get("ava-bench")


@pytest.fixture(scope="module")
def built(sets_folder: Path) -> ItemSet:
    return small_set("ava-bench", sets_folder)


@pytest.fixture
def questions(built: ItemSet, tmp_path: Path) -> tuple[QuizQuestion, ...]:
    (condition,) = parse_conditions(SUITE.axes, "vanilla")
    return draw_questions(built, SUITE, condition, MediaFolder(tmp_path / "media", built.media), n=22)


def test_tasks_take_turns_and_clusters_before_a_second_of_any(
    built: ItemSet, questions: tuple[QuizQuestion, ...]
) -> None:
    by_task = Counter(question.item.task for question in questions)
    assert max(by_task.values()) - min(by_task.values()) <= 1
    assert len(by_task) > 8
    assert [question.number for question in questions] == list(range(1, 23))
    for task, count in by_task.items():
        clusters = {question.item.cluster_id for question in questions if question.item.task == task}
        available = {item.cluster_id for item in built.task(task) if item.split == "test"}
        assert len(clusters) == min(count, len(available))


def test_answers_are_counted_but_blank_and_unreadable_ones_are_not(questions: tuple[QuizQuestion, ...]) -> None:
    choices = [question for question in questions if question.item.answer_kind == "choice"][:5]
    first, second, third, fourth, _ = choices
    texts = {
        first.number: key_text(first),
        second.number: key_text(second),
        third.number: "?",
        fourth.number: "none of what is offered here",
    }
    answers = compare(choices, texts, SUITE)
    assert [answer.outcome for answer in answers] == ["agrees", "agrees", "undecidable", "unreadable", "blank"]
    total = agreements(answers)[-1]
    assert (total.agreed, total.counted, total.unreadable, total.blank) == (2, 3, 1, 1)
    # Three clusters of one item each, two agree; wider than Wilson's 0.21 to 0.94, because clusters are few.
    assert (total.low, total.high) == cluster_wilson([1, 1, 0], ["a", "b", "c"])
    low, high = wilson(2, 3)
    assert 0 < total.low < low < 2 / 3 < high < total.high < 1


def test_answers_that_cannot_be_exact_have_a_tolerance(questions: tuple[QuizQuestion, ...]) -> None:
    by_task = {question.item.task: question for question in questions}
    depth, box = by_task["absolute-depth"], by_task["localization"]
    bins = [option.key for option in depth.item.options]
    index = bins.index(depth.item.answer)
    for bin_name in bins:
        (answer,) = compare([depth], {depth.number: depth.view.reply.write(bin_name)}, SUITE)
        assert (answer.outcome == "agrees") == (abs(bins.index(bin_name) - index) <= 1)
        assert answer.is_near == (abs(bins.index(bin_name) - index) == 1)
    x1, y1, x2, y2 = box.item.answer
    shift = x2 - x1
    # A box moved by its whole width: overlap 0, enclosed by twice its area, so GIoU 0 - 0 = 0 < 0.5.
    for moved, outcome in ((0.0, "agrees"), (shift, "disagrees")):
        text = box.view.reply.write([x1 + moved, y1, x2 + moved, y2])
        assert compare([box], {box.number: text}, SUITE)[0].outcome == outcome


def fill_in(out: Path, rows: Iterable[tuple[int, str, str]]) -> None:
    with (out / ANSWERS).open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["number", "task", "answer"])
        writer.writerows(rows)


def test_exact_answers_and_those_within_one_bin_are_stated_apart(
    snellen: Command, built: ItemSet, tmp_path: Path
) -> None:
    sizes = ("--out", tmp_path / "quiz", "--n", 100, "--difficulty", "all")
    snellen("quiz", built.root, *sizes)
    (condition,) = parse_conditions(SUITE.axes, "vanilla")
    media = MediaFolder(tmp_path / "media", built.media)
    questions = draw_questions(built, SUITE, condition, media, n=100)
    distances = [question for question in questions if question.item.task == "absolute-depth"]
    bins = [option.key for option in distances[0].item.options]
    index = bins.index(distances[0].item.answer)
    beside = distances[0].view.reply.write(bins[index - 1 if index else 1])
    texts = {question.number: key_text(question) for question in distances} | {distances[0].number: beside}
    fill_in(tmp_path / "quiz", [(number, "absolute-depth", text) for number, text in texts.items()])
    _, text, _ = snellen("quiz", built.root, *sizes)
    n = len(distances)
    assert f"absolute-depth: {n - 1} of {n} exact, {n} of {n} within one bin\n" in text
    assert f"all: {n - 1} of {n} without options that are only near the key\n" in text
    assert "localization: 0 of 0 with an overlap (GIoU) of at least 0.5\n" in text
    rows = {row["task"]: row for row in json.loads(snellen("quiz", built.root, *sizes, "--json")[1])["agreement"]}
    assert [rows["absolute-depth"][name] for name in ("agreed", "exact", "tolerance")] == [n, n - 1, "within one bin"]


def test_tasks_that_a_condition_leaves_out_are_named(snellen: Command, sets_folder: Path, tmp_path: Path) -> None:
    combo = small_set("combo", sets_folder)
    condition = "samples=1,questions=one"
    _, text, _ = snellen("quiz", combo.root, "--out", tmp_path / "one", "--condition", condition)
    assert text.splitlines()[0] == f"--condition {condition} leaves out img2text, text2img, category-building"
    _, text, _ = snellen("quiz", combo.root, "--out", tmp_path / "all", "--difficulty", "all")
    assert "leaves out" not in text
    options = ("--out", tmp_path / "json", "--condition", condition, "--json")
    assert len(json.loads(snellen("quiz", combo.root, *options)[1])["left_out"]) == 1


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """Twelve counts by hand: easy, middle and hard ones, and three items without a difficulty."""
    root = tmp_path_factory.mktemp("graded") / "set"
    media = MediaFolder(root / "media")
    items = []
    for number in range(12):
        image = media.add_image(Image.new("RGB", (64, 48), (20 * number, 90, 90)))
        level = ("easy", "middle", "hard", "")[number % 4]
        item = counting_item(replace(item_source(f"{number}"), image=image, split="test"), "cups", number + 1)
        factors = {**item.factors, **({"difficulty": level} if level else {})}
        items.append(replace(item, item_id=f"counting-{number}", factors=factors, cluster_id=f"image-{number}"))
    return write_itemset(root, items, source="generated", recipe={}, provenance={})


@pytest.mark.parametrize(
    ("difficulty", "levels", "line"),
    [
        ("", {"easy": 3, "middle": 3, "": 3}, "--difficulty not-hard leaves out items of counting (--difficulty all"),
        ("hard", {"hard": 3}, "--difficulty hard leaves out items of counting"),
        ("all", {"easy": 3, "middle": 3, "hard": 3, "": 3}, ""),
    ],
)
def test_items_are_chosen_by_difficulty_and_agreement_is_given_by_level(
    snellen: Command, graded: ItemSet, tmp_path: Path, difficulty: str, levels: dict[str, int], line: str
) -> None:
    options = ("quiz", graded.root, "--out", tmp_path / "quiz", *(("--difficulty", difficulty) if difficulty else ()))
    _, text, _ = snellen(*options)
    assert line in text
    assert ("leaves out" in text) == bool(line)
    (condition,) = parse_conditions(SUITE.axes, "vanilla")
    media = MediaFolder(tmp_path / "media", graded.media)
    questions = draw_questions(graded, SUITE, condition, media, n=40, difficulty=difficulty or "not-hard")
    assert Counter(question.item.factors.get("difficulty", "") for question in questions) == levels
    right = {question.number: question.item.factors.get("difficulty") != "middle" for question in questions}
    fill_in(tmp_path / "quiz", [(number, "counting", key_text(q) if right[number] else "40")
                                for q in questions if (number := q.number)])  # fmt: skip
    result = json.loads(snellen(*options, "--json")[1])
    by_level = {row["level"]: (row["agreed"], row["counted"]) for row in result["difficulty"]}
    expected = {"easy": (3, 3), "middle": (0, 3), "hard": (3, 3)}
    assert by_level == {level: expected[level] for level in levels if level}
    assert list(by_level) == [level for level in levels if level]
    assert "difficulty" in snellen(*options)[1]


def test_an_unknown_difficulty_is_refused(snellen: Command, graded: ItemSet, tmp_path: Path) -> None:
    code, _, errors = snellen("quiz", graded.root, "--out", tmp_path, "--difficulty", "midle")
    assert code == 2
    assert "no item has --difficulty 'midle'; did you mean 'middle'" in errors


def test_the_command_writes_a_sheet_without_keys_and_compares_it(
    snellen: Command, built: ItemSet, tmp_path: Path
) -> None:
    out = tmp_path / "quiz"
    code, text, _ = snellen("quiz", built.root, "--out", out, "--n", 12)
    assert code == 0
    assert "12 questions" in text
    assert "<script" not in (out / SHEET).read_text("utf-8")
    keys = {item.item_id for item in built.items}
    assert not any(key in (out / SHEET).read_text("utf-8") + (out / CARD).read_text("utf-8") for key in keys)
    (condition,) = parse_conditions(SUITE.axes, "vanilla")
    media = MediaFolder(tmp_path / "media", built.media)
    questions = draw_questions(built, SUITE, condition, media, n=12, difficulty="not-hard")
    fill_in(out, [(q.number, q.item.task, "<b>?" if q.number == 1 else key_text(q)) for q in questions])
    code, text, _ = snellen("quiz", built.root, "--out", out, "--n", 12, "--json")
    result = json.loads(text)
    assert code == 0
    assert [row["number"] for row in result["disagreements"]] == [1]
    assert result["agreement"][-1]["agreed"] == 11
    assert "<b>?" not in (out / DISAGREEMENTS).read_text("utf-8")
    assert "11" in snellen("quiz", built.root, "--out", out, "--n", 12)[1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("number,task,answer\n1,a,b\n1,a,c\n", "line 3: needs columns number, task, answer, with each number once"),
        ("number;task;answer\n1;a;b\n", "line 2: needs columns number"),
        (b"\xff\xfe1", "save it as CSV in UTF-8"),
    ],
)
def test_damaged_answers_are_refused_in_one_line(
    snellen: Command, built: ItemSet, tmp_path: Path, rows: str | bytes, message: str
) -> None:
    snellen("quiz", built.root, "--out", tmp_path, "--n", 4)
    (tmp_path / ANSWERS).write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    code, _, errors = snellen("quiz", built.root, "--out", tmp_path, "--n", 4)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1


def test_fewer_items_than_requested_are_offered_and_reported(
    snellen: Command, sets_folder: Path, tmp_path: Path
) -> None:
    vfm = small_set("vfm-bench", sets_folder)
    count = sum(item.split == "test" for item in vfm.items)
    for n in (count, count + 1):
        _, text, _ = snellen("quiz", vfm.root, "--out", tmp_path / str(n), "--n", n)
        assert f"{count} questions" in text
        assert ("fewer than --n" in text) == (n > count)


def test_a_sheet_of_other_questions_is_not_overwritten(snellen: Command, built: ItemSet, tmp_path: Path) -> None:
    snellen("quiz", built.root, "--out", tmp_path, "--n", 4)
    code, _, errors = snellen("quiz", built.root, "--out", tmp_path, "--n", 5)
    assert code == 2
    assert "contains a sheet with n 4" in errors
    assert snellen("quiz", built.root, "--out", tmp_path / "b", "--condition", "prompt=short")[0] == 0
