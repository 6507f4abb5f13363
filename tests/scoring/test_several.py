"""Replies that name several options: read if every part is an option, else not at all."""

from __future__ import annotations

import pytest

from snellen.core.item import ReplySpec
from snellen.scoring.answers import read_answer, read_cut_off

SPEC = ReplySpec(
    "choices",
    (("A", "A"), ("red", "A"), ("B", "B"), ("blue", "B"), ("C", "C"), ("green", "C"), ("D", "D"),
     ("black and white", "D")),
)  # fmt: skip
READ = {
    "A, C": "AC", "A,C.": "AC", "A and C": "AC", "A & C": "AC", "AC": "AC", "a, c": "AC",
    '["A", "C"]': "AC", "['A', 'C']": "AC",
    "A\nC": "AC", "- A\n- C": "AC", "1. A\n2. C": "AC", "(A), (C)": "AC", "A. red, C. green": "AC",
    "red and blue": "AB", "black and white": "D", "B": "B", "**Answer:** A, B, C": "ABC",
    "The answer is A and C.": "AC", "The correct answers are:\n\nA. red\nC. green": "AC",
    "A and C are correct.": "AC", "Options A and C are right": "AC",
    "The figures that satisfy the condition are (a), (c), and (d).": "ACD", '{"answer": ["A", "C"]}': "AC",
    r"\boxed{A, C}": "AC", "<think>A or B</think>C": "C", "I look at them.\n\nA, C": "AC",
    "Answer: A, C\nD is wrong": "AC", "Answer: A, C\nIn B the bar is missing": "AC",
}  # fmt: skip
UNREAD = [
    "", "None", "CA", "A or C", "A, not C", "A, E", "Answer: A, E", "I think A", "A, C (because)", "maybe A, C",
    "The answer is not A, C", "If the first one counts, the answer is A, C", "A. red is large\nB. blue is small",
    "Answer: A\nB is larger", "Answer: A\n10. C is larger",
    "* Figure (a) is one\n* Figure (c", "All but B",
]  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_replies_that_consist_of_options_are_read(text: str) -> None:
    assert read_answer(text, SPEC) == tuple(READ[text])


@pytest.mark.parametrize("text", UNREAD)
def test_other_replies_are_not(text: str) -> None:
    assert read_answer(text, SPEC) is None


def test_a_reply_that_was_cut_off_counts_only_up_to_its_last_whole_line() -> None:
    assert read_cut_off("Answer: A, C\nAnd so", SPEC) == ("A", "C")
    assert read_cut_off("Answer: A, C", SPEC) is None
    assert read_cut_off("A, C", SPEC) is None


def test_what_is_written_is_read_back() -> None:
    for keys in (("A",), ("A", "D"), ("B", "C", "D")):
        assert read_answer(SPEC.write(keys), SPEC) == keys
