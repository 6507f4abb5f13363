"""The answer parser: a labelled table, and properties of all replies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.item import Affine, AnswerKind, ReplySpec
from snellen.scoring.answers import answer_form, read_answer, read_exactly
from snellen.scoring.answers.plain import LONGEST, flat, flattened, read_json_objects

TABLE = yaml.load(Path(__file__).with_name("answer_cases.yaml").read_bytes(), yaml.CSafeLoader)


def _spec(kind: AnswerKind, keys: list[list[str]] | None = None, frame: list[float] | None = None) -> ReplySpec:
    return ReplySpec(kind, tuple((label, key) for label, key in keys or ()), Affine(*frame) if frame else None)


SPECS = {name: _spec(**spec) for name, spec in TABLE["specs"].items()}


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: f"{case['spec']}: {case['text'][:50]!r}")
def test_case(case: dict[str, Any]) -> None:
    answer, expected = read_answer(case["text"], SPECS[case["spec"]]), case["says"]
    if isinstance(expected, list):
        assert answer == pytest.approx(tuple(expected))
    else:
        assert answer == expected, case["why"]
        assert type(answer) is type(expected)


# Properties of all replies

LETTERS = "ABCDEFGH"
WORDS = [
    "red", "dark red", "small base", "base", "Left", "Left above", "polar_bear", "T-shirt", "None", "1 and 3", "粉红色",
]  # fmt: skip
names = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(min_size=1, max_size=12)), min_size=2, max_size=8, unique_by=str.strip
).filter(lambda words: all(name.strip() for name in words))
replies = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("AaBbIiTtFf01 .,:;()[]{}<>*_'\"\\\n-\x00\ud800\ue000")),
    max_size=80,
)
fragments = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "The answer is ", "Answer: ", "A", "B", "red", "Left above", "not ", " or ", "wait, ", "\\boxed{",
                "}", "<answer>", "</answer>", "<think>", "</think>", '{"answer": ', '"B"', "5", "1.5", "one ", "-",
                "[1, 2, 3, 4]", "#ff0000", "\n", ". ", " because ", "A is correct", "yes", "True", "no, ", "if ",
            ]
        ),
        replies,
    ),
    max_size=12,
).map("".join)  # fmt: skip
DECLARATIONS = [
    "The answer is {}.", "Answer: {}", "**Answer**: {}", "\\boxed{{{}}}", "<answer>{}</answer>", "Final answer: {}",
]  # fmt: skip
PROSE = [
    "", "Let me look at the picture.\n", "Both pictures show an object on a table.\n", "A closer look helps.\n\n",
    "First, I compare the shapes. I see that they differ.\n",
]  # fmt: skip


def lettered(labels: list[str]) -> ReplySpec:
    pairs = [(letter, f"key {text}") for letter, text in zip(LETTERS, labels, strict=False)]
    return ReplySpec("choice", (*pairs, *((text, f"key {text}") for text in labels)))


@given(names, st.data())
def test_choice_is_read_as_written(labels: list[str], data: st.DataObject) -> None:
    for spec in (lettered(labels), ReplySpec("choice", tuple((text, f"key {text}") for text in labels))):
        key = data.draw(st.sampled_from(spec.offered))
        if len({value for text, value in spec.keys if text.strip() == spec.name(key).strip()}) == 1:
            assert read_answer(spec.write(key), spec) == key
            assert read_exactly(spec.write(key), spec) == key


@pytest.mark.parametrize("keys", [(), (("T", "true"), ("F", "false")), (("Yes", "true"), ("No", "false"))])
@pytest.mark.parametrize("answer", ["true", "false"])
def test_true_false_is_read_as_written(answer: str, keys: tuple[tuple[str, str], ...]) -> None:
    spec = ReplySpec("true_false", keys)
    assert read_answer(spec.write(answer), spec) == answer


@given(st.integers(-(10**14), 10**14))
def test_integer_is_read_as_written(answer: int) -> None:
    assert read_answer(ReplySpec("integer").write(answer), ReplySpec("integer")) == answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2", 2), ("The answer is 3.", 3), ("7", 7), ("two", 2), ("There are 0 cups.", 0), ("-1", -1), ("2.0", 2),
     ("1 or 2", None), ("none", None), ("1.5", None)],
)  # fmt: skip
def test_offered_counts_do_not_change_how_a_number_is_read(text: str, expected: int | None) -> None:
    offered = tuple((str(n), str(n)) for n in range(1, 4))
    for kind in ("integer", "number"):
        read = read_answer(text, ReplySpec(kind, offered))
        assert read == read_answer(text, ReplySpec(kind))
        if kind == "integer":
            assert (read, type(read)) == (expected, type(expected))
    spec = ReplySpec("integer", offered)
    assert [read_answer(spec.write(answer), spec) for answer in (1, 2, 3)] == [1, 2, 3]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_is_read_as_written(answer: float) -> None:
    assert read_answer(ReplySpec("number").write(answer), ReplySpec("number")) == answer


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_colour_is_read_as_written(answer: tuple[int, int, int]) -> None:
    spec = ReplySpec("colour")
    assert read_answer(spec.write(answer), spec) == answer
    assert read_answer("#{:02x}{:02X}{:02x}".format(*answer), spec) == answer


@given(st.text().filter(str.strip), st.sampled_from(["text", "description"]))
def test_text_is_read_as_written(answer: str, kind: AnswerKind) -> None:
    spec = ReplySpec(kind)
    assert read_answer(spec.write(answer), spec) == answer.strip()


side = st.floats(0, 2000)
size = st.floats(0.5, 2000)
scale = st.floats(0.2, 4) | st.floats(-4, -0.2)
shift = st.floats(-500, 500)


@given(st.tuples(side, side, size, size), st.tuples(scale, scale, shift, shift), st.booleans())
def test_box_is_read_as_written(
    box: tuple[float, float, float, float], map_: tuple[float, float, float, float], turned: bool
) -> None:
    x, y, width, height = box
    across, down, right, below = map_
    frame = Affine(0, across, right, down, 0, below) if turned else Affine(across, 0, right, 0, down, below)
    answer = (x, y, x + width, y + height)
    for spec in (ReplySpec("box"), ReplySpec("box", frame=frame)):
        assert read_answer(spec.write(answer), spec) == pytest.approx(answer, abs=1e-4)


@given(st.sampled_from(DECLARATIONS), st.sampled_from(PROSE), st.sampled_from(sorted(SPECS)), st.data())
def test_prose_around_a_declaration_changes_nothing(form: str, before: str, name: str, data: st.DataObject) -> None:
    spec = SPECS[name]
    if spec.keys:
        answer: Any = data.draw(st.sampled_from(spec.offered))
    elif spec.kind == "integer":
        answer = data.draw(st.integers(0, 200))
    elif spec.kind == "box" and spec.frame is None:
        answer = (1.0, 2.0, 30.5, 40.0)
    elif spec.kind == "colour":
        answer = (1, 2, 3)
    else:
        return
    after = data.draw(st.sampled_from(["", "\n\nI hope this helps!", "\nThe reason is the shape of the object."]))
    assert read_answer(before + form.format(spec.write(answer)) + after, spec) == answer


@given(st.one_of(replies, fragments), st.sampled_from(sorted(SPECS)))
def test_any_reply_is_read_without_error(text: str, name: str) -> None:
    spec = SPECS[name]
    answer = read_answer(text, spec)
    if spec.keys:
        assert answer is None or answer in spec.offered
    elif spec.kind == "colour":
        assert answer is None or (len(answer) == 3 and all(0 <= part <= 255 for part in answer))
    elif spec.kind == "box":
        assert answer is None or (answer[0] <= answer[2] and answer[1] <= answer[3])
    elif spec.kind in ("text", "description"):
        assert answer is None or answer.encode()
    read_exactly(text, spec)
    read_json_objects(text)
    assert answer_form(text, spec)


@pytest.mark.parametrize(
    ("spec", "text", "form"),
    [
        ("colour", "[255, 170, 0]", "as asked"),
        ("colour", "#ffaa00", "hex"),
        ("colour", "0xFFAA00", "hex"),
        ("colour", "#fa0", "short hex"),
        ("colour", "FFAA00", "bare hex"),
        ("colour", "Answer: FFAA00", "bare hex"),
        ("colour", "rgba(255, 170, 0, 1)", "rgba"),
        ("colour", "rgba(255, 170, 0, 0.5)", "rgba"),
        ("colour", "rgb(100%, 50%, 0%)", "percentages"),
        ("colour", "(0.5, 0.2, 0.1)", "unit floats"),
        ("colour", "(1, 0, 1)", "as asked"),
        ("colour", "hsl(40, 100, 50)", "other colour system"),
        ("colour", "orange", "none"),
        ("box", "[10, 20, 30, 40]", "as asked"),
        ("box", "[30, 40, 10, 20]", "corners exchanged"),
        ("box", "[10%, 20%, 30%, 40%]", "percent"),
        ("box", "x: 1, y: 2, width: 3", "corner and size"),
        ("box", "There is none.", "none"),
        ("norm_box", "[0.1, 0.2, 0.3, 0.4]", "as asked"),
        ("norm_box", "[10, 20, 90, 40]", "pixels or percent or thousandths"),
        ("norm_box", "[10, 20, 40, 90]", "percent or thousandths"),
        ("norm_box", "[10, 20, 300, 400]", "thousandths"),
        ("norm_box", "[10, 20, 3000, 400]", "none"),
        ("norm_box", "[300, 20, 10, 400]", "corners exchanged"),
        ("norm_box", '<point x="30" y="40">cup</point>', "point"),
        ("integer", "5", "as asked"),
        ("integer", "many", "none"),
    ],
)
def test_answer_forms_are_named(spec: str, text: str, form: str) -> None:
    assert answer_form(text, SPECS[spec]) == form


@given(st.permutations(WORDS), st.permutations(WORDS), st.sampled_from(WORDS), st.sampled_from(DECLARATIONS))
def test_the_order_shown_does_not_matter_to_texts(first: list[str], second: list[str], word: str, form: str) -> None:
    short = [*first[:7], word] if word not in first[:7] else first[:8]
    other = [text for text in second if text in short]
    for reply in (word, form.format(word)):
        assert read_answer(reply, lettered(short)) == read_answer(reply, lettered(other)) == f"key {word}"


@given(st.permutations(WORDS).map(lambda words: words[:6]), st.integers(0, 5), st.integers(0, 5))
def test_a_letter_must_not_contradict_its_text(labels: list[str], letter: int, text: int) -> None:
    answer = read_answer(f"{LETTERS[letter]}) {labels[text]}", lettered(labels))
    assert answer == (f"key {labels[letter]}" if letter == text else None)


@pytest.mark.parametrize(
    ("text", "offered"), [("truncated cone", "cone"), ("hot dog", "dog"), ("half sphere", "sphere")]
)
def test_the_name_of_something_else_is_no_option_that_it_contains(text: str, offered: str) -> None:
    spec = ReplySpec("choice", ((offered, "one"), ("cube", "two")))
    assert read_answer(f"It is a {offered}.", spec) == "one"
    assert read_answer(f"It is a {text}.", spec) is None


def test_ambiguous_names_are_no_answer() -> None:
    spec = ReplySpec("choice", (("red", "one"), ("Red", "two")))
    assert read_answer("red", spec) == "one"
    assert read_answer("RED", spec) is None
    assert read_answer("same", ReplySpec("choice", (("same", "one"), ("same", "two")))) is None


@given(st.text("aZ0 .,:'\"(\n\r\t-_*\\<>$`|é", max_size=12) | st.text(max_size=6))
def test_the_shortcut_for_plain_text_changes_nothing(text: str) -> None:
    assert flat(text) == flattened(text)


def test_read_exactly_is_exact() -> None:
    spec = ReplySpec("choice", (("A", "left"), ("B", "right")))
    assert read_exactly(" B\n", spec) == "right"
    assert read_exactly("b", spec) is None
    assert read_exactly("B.", spec) is None


# Long and hostile replies

UNITS = [
    "a", "B ", "B\n", "\n", "1 ", "1,", "1-", "[", "{", '{"a":', "[1,", "[[1,2],", "(1 ", "<answer>", "<think>",
    "\\boxed{", "*", "_a_", "~~", "e\u0301\u0323", "\u0301\u0323", "The answer is B. ", "The answer is ", "I say ",
    "wait ", "not A or ", "so ", "if ", "A) red\n", "one ", "twenty-", "\x00", "\ud800", "😊", '"', "\\text{",
    "B is correct. ", "answer to the ", "cannot ", "\ue000", "<a b=", "option ", "most likely ", "𝐁", "x1:1,",
    "it is ", "no, ", "```\n", "so there are 3, ", "Therefore, A fits. ", "The best is ",
    "the most likely image is\n", "if it is so, ", "The count is 3. ", "B is closer than A. ", "there are no ",
    "No, it is not ", "rgba(1,2,3,", "1%,", "0x", "#fa0 ", "2 + 3 = ", "A (", "\n1. a", "The statement is ",
    "neither a b ", "✅ B\n", 'the statement "a" ', "There are no a ", "1 + ", "A和", "6.5 m ", "antwort a ",
    "confidence: 9 (", "Human: hi\n", "<tool_call>", "x = f(", "up and to the ", "no, wait, ", "\n\n", "]", "half a ",
    "x1 1 ", "◁think▷", "</s>", "10% ", "-> ", "print(", "```python\n", "it lacks a ", "x from 1 to 2 y ",
    "center (1,2) size ",
]  # fmt: skip

FEW = {"B ", "1,", "[[1,2],", "{", "The answer is B. ", "\n"}
HOSTILE = [pytest.param(unit, marks=() if unit in FEW else pytest.mark.slow, id=repr(unit)) for unit in UNITS]


def seconds(read: Callable[[], object]) -> float:
    """The thread's own CPU time; the least of three, because a busy neighbour on the same core makes it longer."""
    taken = []
    for _ in range(3):
        start = time.thread_time()
        read()
        taken.append(time.thread_time() - start)
        if taken[-1] < 0.5:
            break
    return min(taken)


@pytest.mark.parametrize("length", [1_000_000, LONGEST])
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_is_read_in_half_a_second(unit: str, length: int) -> None:
    # The second length is that of the longest reply that is read as a whole.
    text = unit * (length // len(unit))
    for spec in (SPECS["colours"], SPECS["tf"], SPECS["integer"], SPECS["box"], SPECS["colour"]):
        assert seconds(partial(read_answer, text, spec)) < 0.5
    assert seconds(partial(read_json_objects, text)) < 0.5


def test_a_last_paragraph_of_one_sentence_states_the_number() -> None:
    parts = "I see 2 red cubes. I see 1 blue cube.\n\n"
    assert read_answer(f"{parts}There are 3 cubes in the picture.", SPECS["integer"]) == 3
    assert read_answer(f"{parts}there are 3 cubes in the picture.", SPECS["integer"]) is None, "no sentence begins so"


def test_a_number_in_a_circle_is_that_number() -> None:
    assert [read_answer(text, SPECS["integer"]) for text in "①②⑨"] == [1, 2, 9]


def test_after_too_many_declarations_weaker_statements_do_not_count() -> None:
    """After ninety empty declarations the last sentence counts; of more than a hundred not all are read."""
    empty, last = "The answer is shown below. ", "\n\nThe cube is blue."
    assert read_answer(f"{empty * 90}{last}", SPECS["colours"]) == "k2"
    assert read_answer(f"{empty * 101}{last}", SPECS["colours"]) is None


def test_the_end_of_a_long_reply_counts_if_it_declares() -> None:
    filler = "The cube is small. " * 100_000
    assert read_answer(f"{filler}The answer is B.", SPECS["colours"]) == "k2"
    assert read_answer(f"B {filler}", SPECS["colours"]) is None
    assert read_answer(f"{filler}It may be blue", SPECS["colours"]) is None


# JSON sheets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here it is:\n```json\n[{"id": 1, "answer": "A"}]\n```\nDone.', [{"id": 1, "answer": "A"}]),
        ('{"a": 1} and then {"b": [1, 2]}', {"b": [1, 2]}), ('[1, 2] {"a": 1', [1, 2]),
        ('[{"id": 1}, {"id": 2', {"id": 1}), ("set {a, b} \\frac{1}{2} [see]", None), ("", None), ("3", None),
        ('"text"', None), ('{"a": NaN}', None), ("{'a': 1}", None), ('{"a": "}{]["}', {"a": "}{]["}),
        ("[" * 5000, None), ('{"n": ' + "9" * 5000 + "}", None), ("{}", {}), ("[]", []),
    ],
)  # fmt: skip
def test_json_is_found_between_prose(text: str, expected: Any) -> None:
    assert read_json_objects(text) == expected


@given(st.recursive(st.none() | st.booleans() | st.integers(-999, 999) | st.text(), st.lists), replies, replies)
def test_json_is_read_as_written(value: Any, before: str, after: str) -> None:
    before, after = (text.translate(dict.fromkeys(map(ord, '[]{}"'))) for text in (before, after))
    assert read_json_objects(f"{before}{json.dumps([value])}{after}") == [value]
