"""Rows of a file and their items: what a digest covers, and when a row contradicts its item."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option
from snellen.core.prompt import Reply
from snellen.core.seeds import stream
from snellen.core.subject import SubjectCard
from snellen.subjects.joins import (
    CONTRADICTION,
    NUMBER,
    POSITION,
    AnswerRow,
    ItemIndex,
    RecordedAnswer,
    answers_digest,
    contradictions,
    image_name,
    is_refused,
    question_agrees,
    refuse_other_items,
    words_of,
)
from snellen.subjects.recorded import Recording
from tests.helpers.journey import item, suite_of

COLOURS = tuple(Option(key, text) for key, text in (("A", "red"), ("B", "green"), ("C", "blue")))
ROW = AnswerRow("a", "Which?", ("x.png",), "vanilla", 0, RecordedAnswer(Reply("red")), "f.csv", 1, ("red",), NUMBER)

IMAGES = [Media(letter * 64, "image", "png", 8, 8) for letter in "abc"]


def test_a_digest_of_answers_covers_all_that_decides_what_they_are_of() -> None:
    """Every field is changed in turn: only the score, the target, the seed and the place in a file change nothing."""
    others: dict[str, Any] = {
        "item": "b", "question": "Who?", "images": ("y.png",), "condition": "c=1", "repeat": 1, "path": "g.csv",
        "answer": RecordedAnswer(None, "failed"), "number": 2, "target": ("blue",), "numbering": POSITION, "seed": "5",
    }  # fmt: skip
    assert set(others) == {field.name for field in fields(AnswerRow)}
    changed = {name: replace(ROW, **{name: value}) for name, value in others.items()}
    replies = {"text": Reply("blue"), "reasoning": Reply("red", "Hm."), "stop": Reply("red", stop="length")}
    answers = {name: RecordedAnswer(reply) for name, reply in replies.items()}
    answers |= {"options": replace(ROW.answer, options=("x",)), "score": replace(ROW.answer, score=1.0)}
    answers |= {"reason": RecordedAnswer(None, "other")}
    changed |= {name: replace(ROW, answer=answer) for name, answer in answers.items()}
    digests = {name: answers_digest([row]) for name, row in changed.items()}
    usual = [name for name, each in digests.items() if each == answers_digest([ROW])]
    assert usual == ["path", "number", "target", "seed", "score"]
    assert len(set(digests.values())) == len(digests) - 4, "no two changes look alike"
    assert answers_digest([ROW, changed["item"]]) != answers_digest([changed["item"], ROW])


def test_two_contradictions_and_two_in_a_hundred_refuse_a_file() -> None:
    refused = [is_refused(*case) for case in ((1, "a"), (2, "ab"), (100, "ab"), (99, "ab"), (100, "abc"))]
    assert refused == [False, True, False, True, True]


@pytest.mark.parametrize(
    ("text", "agrees"),
    [
        ("Which colour has the car?", True), ("Look.\nWHICH colour has the car? A. red", True), ("the car", True),
        ("colour of a car", None), ("one two three car", False), ("one two colour car", None), ("", None),
        ("Which colour has the bus?", False), ("Hint: think.\nWhich colour  has the bus?", False), ("<image>", None),
    ],
)  # fmt: skip
def test_a_text_with_half_of_the_words_may_be_another_wording(text: str, agrees: bool | None) -> None:
    """Two of four words are in common, or one; and a line that is another question of the set is not this one."""
    assert question_agrees(text, "Which colour has the car?", {"Which colour has the bus?"}) is agrees


TARGETS: list[tuple[Any, Any, str, bool | None]] = [
    ("choice", "B", "green", True), ("choice", "B", "(B) green", True), ("choice", "B", "C", False),
    ("choice", "B", "1", True), ("choice", "B", "2", True), ("choice", "B", "3", False), ("choice", "B", "4", None),
    ("choices", ("A", "C"), "AC", True), ("choices", ("A", "C"), "A, C", True), ("choices", ("A", "C"), "A", False),
    ("choices", ("A", "C"), "ABC", False), ("choices", ("A", "C"), "AX", None),
    ("true_false", "true", "Yes", True), ("true_false", "true", "t", True), ("true_false", "false", "No", True),
    ("true_false", "true", "f", False), ("true_false", "true", "1", None), ("number", 0.5, "half", None),
    ("integer", 1200, "1,200", True), ("integer", 1200, " $1200 ", True), ("integer", 1200, "1201", False),
    ("number", 0.5, "0.5000001", True), ("number", 0.5, "0.50001", False), ("number", 50, "50%", True),
    ("text", "a red car", "Red car", True), ("text", ("car", "auto"), "the auto", True), ("text", "car", "scar", False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "answer", "target", "agrees"), TARGETS)
def test_a_target_of_a_file_may_be_the_answer_of_an_item(
    kind: Any, answer: Any, target: str, agrees: bool | None
) -> None:
    """As a key, a text, an index from 0 or from 1, or a number with signs; what cannot be read says nothing."""
    options = COLOURS if kind in ("choice", "choices") else ()
    options = (Option("true"), Option("false")) if kind == "true_false" else options
    own = item("a", (), answer, kind, options=options)
    row = replace(ROW, question="", images=(), target=(target,), answer=RecordedAnswer(None))
    comparable, described = contradictions([(row, own)], ItemIndex([own]))
    assert (comparable, len(described)) == (int(agrees is not None), int(agrees is False))
    elsewhere = replace(row, condition="options=shuffled")
    assert contradictions([(elsewhere, own)], ItemIndex([own])) == (0, []), "its letters may be others"


@pytest.mark.parametrize(
    ("options", "agrees"),
    [
        (("red", "green", "blue"), True), (("A. Red.", "(B) green", "C: blue"), True), (("red", "green"), True),
        (("red", "blue", "green"), False), (("blue", "red", "green"), False), (("one", "two", "three"), None),
    ],
)  # fmt: skip
def test_options_of_a_file_stand_where_those_of_the_item_stand(options: Any, agrees: bool | None) -> None:
    """Every one that is known, since a letter is read by its place; a reply in words names its option itself."""
    own = item("a", (), "A", "choice", options=COLOURS)
    for reply, is_compared in (("B", True), ("green", False)):
        row = replace(ROW, question="", images=(), target=(), answer=RecordedAnswer(Reply(reply), options=options))
        comparable, described = contradictions([(row, own)], ItemIndex([own]))
        expected = (is_compared and agrees is not None, is_compared and agrees is False)
        assert (comparable, len(described)) == expected


def test_a_contradiction_is_described_by_its_first_fault_from_where_the_texts_differ() -> None:
    own, other = (
        item(name, (), "A", "choice", options=COLOURS, question=f"{'word ' * 9}which {name} is it?")
        for name in ("cat", "dog")
    )
    rows = [replace(ROW, question=other.question, number=n, images=(), target=("blue",)) for n in (3, 7)]
    index, joined = ItemIndex([own, other]), [(row, own) for row in rows]
    assert contradictions(joined, index)[1][0] == "row 3: question 'hich dog is i…', not 'hich cat is i…'"
    with pytest.raises(SnellenError, match=r"^f\.csv: 2 of 2 rows contradict their item \(row 3: .*; row 7: "):
        refuse_other_items(joined, index)
    assert refuse_other_items(joined[:1], index) == 1


def test_contradictions_are_counted_over_all_files_and_repeats_are_in_order() -> None:
    """One in each of two files, too few to refuse either; the rows of the later repeat come first."""
    options = {"options": COLOURS, "question": "Which?"}
    index = ItemIndex([item(name, (), "A", "choice", **options) for name in "ab"])
    rows = [replace(ROW, item=name, repeat=2 - n, path=f"{name}.csv", images=(), target=("blue",), numbering="")
            for n, name in enumerate("ab")]  # fmt: skip
    recording = Recording(SubjectCard("recorded:m"), rows=rows)
    items: Any = None  # which only a check would read
    arms, faults, example = recording.join(items, suite_of(), index, 0)
    assert (faults, example) == ({CONTRADICTION: 2}, "")
    assert [(repeat, list(subject.answers), subject.tasks) for _, repeat, subject in arms] == [
        (1, ["b"], frozenset({"task"})), (2, ["a"], frozenset({"task"})),
    ]  # fmt: skip


def _fitting(index: ItemIndex, names: Mapping[str, tuple[str, ...]], row: AnswerRow) -> list[Item]:
    """The items of a row by definition."""
    plain, words = " ".join(row.question.split()), words_of(row.question)
    alike = [each for each in index.by_id.values() if row.question and " ".join(each.question.split()) == plain]
    near = [each for each in alike or index.by_id.values() if not index.images_of[each.item_id].isdisjoint(row.images)]
    if not alike:
        return [each for each in near if words_of(each.question) in words]
    return near or [each for each in alike if not (any(map(image_name, row.images)) and each.item_id in names)]


def test_rows_fit_items_by_question_and_images_or_by_a_prompt() -> None:
    random, lone = stream("tests.joins"), 0
    for _ in range(60):
        all_images = [IMAGES[int(n)] for n in random.integers(0, len(IMAGES), 8)]
        texts = [" ".join(random.choice(["a", "b", "c", "?", " "], 1 + n % 3)) for n in range(8)]
        names = {f"i{n}": (f"{n % 4}.png",) for n in range(8) if random.random() < 0.5}
        provenance: list[dict[str, Any]] = [{"path": names[f"i{n}"][0]} if f"i{n}" in names else {} for n in range(8)]
        items = [
            item(f"i{n}", [all_images[n]], "red", "text", question=text, provenance=provenance[n])
            for n, text in enumerate(texts)
        ]
        index = ItemIndex(items)
        for text in (*texts, "x a b y", "c", "", " ", "??", "a a b"):
            digests = (all_images[0].sha256,), (all_images[1].sha256, "1.png"), ("f" * 64,)
            for images in ((), ("0.png",), ("9.png",), *digests):
                row = replace(ROW, item="", question=text, images=images)
                expected, got = _fitting(index, names, row), index.match(row)
                assert [each.item_id for each in got] == [each.item_id for each in expected] or (
                    len(got) >= 2 and len(expected) >= 2
                )
                lone += len(expected) == 1
    assert lone > 500


class Hashed(str):
    """A text that counts how often it is looked up."""

    counted = 0

    def __hash__(self) -> int:
        Hashed.counted += 1
        return str.__hash__(self)


@pytest.mark.parametrize("is_known", [True, False])
def test_images_of_a_row_are_not_looked_up_once_for_each_of_its_words(is_known: bool) -> None:
    many = 300
    images = [Media(f"{n:064x}", "image", "png", 8, 8) for n in range(many)]
    index = ItemIndex([item("i", images[: many * is_known], "red", "text", question="w1 w2")])
    names = tuple(Hashed(image.sha256) for image in images)
    Hashed.counted, row = 0, replace(ROW, item="", question=" ".join(f"w{n}" for n in range(many)), images=names)
    assert [each.item_id for each in index.match(row)] == ["i"] * is_known
    assert Hashed.counted <= 5 * many


@pytest.mark.parametrize("is_prompt", [True, False])
def test_many_rows_about_one_image_or_with_one_question_are_matched_in_a_moment(is_prompt: bool) -> None:
    """Twenty times as long without the index."""
    count, start = 6000, time.perf_counter()
    images = [replace(IMAGES[0], sha256=f"{n * (not is_prompt):064x}") for n in range(count)]
    texts = [f"What is it, number {n * is_prompt}?" for n in range(count)]
    items = [item(f"i{n}", [image], "red", "text", question=texts[n]) for n, image in enumerate(images)]
    index = ItemIndex(items)
    for n in range(count):
        text = f"{texts[n]} Answer in a word." if is_prompt else texts[n]
        row = replace(ROW, item="", question=text, images=(images[n].sha256,))
        assert [each.item_id for each in index.match(row)] == [f"i{n}"]
    assert time.perf_counter() - start < 5
