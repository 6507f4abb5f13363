"""Tags of questions, the weights from them, and rankings by the weights, all computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.rankings import ScoreMatrix
from snellen.core.errors import SnellenError
from snellen.core.response import Response
from snellen.core.storage.itemset import write_itemset
from snellen.curation.results import StepResult
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.advice.ability_profile import (
    Tagged,
    UserQuestion,
    checking_items,
    read_tags,
    recommended,
    spot_checked,
    tagging_items,
    tags,
    weights_of,
)
from snellen.suites.curation_steps import SUITE
from tests.suites.ava_bench.fixtures import ATOMIC, item_source

QUESTIONS = (
    UserQuestion("q0", "What does the sign on the {left} say?", (item_source().image,)),
    UserQuestion("q1", "How many red cars are there?"),
    UserQuestion("q2", "Who painted this?"),
    UserQuestion("q3", "Is the bus facing us?"),
)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_each_question_gives_one_item_of_work() -> None:
    items = tagging_items(QUESTIONS)
    assert [item.item_id for item in items] == ["q0", "q1", "q2", "q3"]
    assert {(item.suite, item.task) for item in items} == {(SUITE.card.name, "screening")}
    assert items[0].query == (item_source().image,)
    assert items[1].query == ()
    assert "What does the sign on the {left} say?" in items[0].question
    assert all(ABILITIES[task].meaning in items[0].question for task in ATOMIC)
    for task in ATOMIC:
        assert f"\n- {task}: " in items[1].question
    assert read_tags(items[0].question) is None  # the example in the wording names no ability


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"abilities": ["ocr", "spatial"]}', ("spatial", "ocr")),
        ('Sure:\n```json\n{"abilities": ["OCR", "ocr "]}\n```', ("ocr",)),
        ('{"abilities": []}', ()),
        ('<think>{"abilities": ["ocr"]}? No.</think>{"abilities": ["colour"]}', ("colour",)),
        ('<think>{"abilities": ["ocr"]}? No, it', None),
        ('{"abilities": ["ocr", "reading"]}', None),
        ('{"abilities": "ocr"}', None),
        ('{"abilities": [["ocr"]]}', None),
        ('["ocr"]', None),
        ("ocr", None),
        ("", None),
    ],
)
def test_read_tags(text: str, expected: tuple[str, ...] | None) -> None:
    assert read_tags(text) == expected


def test_tags_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    items = write_itemset(tmp_path, tagging_items(QUESTIONS), source="curated", recipe={})
    texts = {"q0": json.dumps({"abilities": ["ocr"]}), "q1": "two", "q2": '{"abilities": []}'}
    responses = {
        name: Response(name, "m", "m", name, "screening", "vanilla", 0, "ok", text, "", items.items[0].view().reply, ())
        for name, text in texts.items()
    }
    assert tags(StepResult("m", items, responses)) == Tagged("m", {"q0": ("ocr",), "q2": ()}, ("q1", "q3"))


def test_spot_checks() -> None:
    tagged = Tagged("m", {"q0": ("ocr",), "q1": ("counting", "colour"), "q2": ()}, ("q3",))
    items = checking_items(QUESTIONS, tagged, 2, rng())
    assert len({item.item_id for item in items}) == 2
    questions = {item.item_id: item.question for item in checking_items(QUESTIONS, tagged, 9, rng())}
    assert list(questions) == ["q0", "q1", "q2"]
    assert "exactly these visual abilities: counting, colour." in questions["q1"]
    assert "exactly these visual abilities: none." in questions["q2"]
    remaining, checked = spot_checked(tagged, {"q0": "drop", "q1": "keep"})
    assert remaining == Tagged("m", {"q1": ("counting", "colour"), "q2": ()}, ("q3",))
    # Wilson's interval of 1 of 2, by hand: z^2 / 2 = 1.9207; the half width is 1.96 sqrt(1/8 + 1.9207/8) / 2.9207.
    assert tuple(checked) == pytest.approx((0.5, 0.0945, 0.9055, 2), abs=1e-4)
    with pytest.raises(SnellenError, match="keep or drop"):
        spot_checked(tagged, {"q0": "maybe"})
    with pytest.raises(SnellenError, match="'q3'"):
        spot_checked(tagged, {"q3": "keep"})


def test_every_question_has_one_vote_in_the_weights() -> None:
    # q0: one vote for ocr. q1: halves for counting and colour. q2 has none. So 1, 1/2 and 1/2 of 2.
    weights = weights_of({"q0": ["ocr"], "q1": ["colour", "counting"], "q2": []})
    assert weights == {"counting": 0.25, "colour": 0.25, "ocr": 0.5}
    with pytest.raises(SnellenError, match="'smell'"):
        weights_of({"q0": ["smell"]})
    with pytest.raises(SnellenError, match="no question"):
        weights_of({"q2": []})


def ability(name: str, rows: list[list[float]], lower: bool = False) -> ScoreMatrix:
    return ScoreMatrix(name, np.array(rows), tuple(f"{name}{n}" for n in range(len(rows[0]))), lower)


SCORES = [
    ability("ocr", [[0.0] * 80, [1.0] * 80, [0.5] * 80]),
    ability("colour", [[5.0] * 80, [20.0] * 80, [10.0] * 80], lower=True),
]
"""`a` is third in ocr and first in colour, `b` the reverse, `c` second in both."""
NAMES = ("a", "b", "c")


def test_the_ranking_follows_the_questions() -> None:
    # 30 of 40 votes for ocr: a has 0.75 * 3 + 0.25 * 1 = 2.5, b 0.75 + 0.75 = 1.5, c 2.
    questions = {f"q{n}": ["ocr" if n < 30 else "colour"] for n in range(40)}
    ranking = recommended(NAMES, SCORES, questions, rng())
    assert ranking.subjects == ("b", "c", "a")
    assert [interval.value for interval in ranking.rank] == pytest.approx([1.5, 2, 2.5])
    assert ranking.weights == {"ocr": 0.75, "colour": 0.25}
    assert ranking.first[0] > 0.99
    # Ranks are certain, weights not: 1 + 2 w for b, with w = 10/40 of binomial draws, so 2 * 1.96 * 0.0685 each way.
    assert ranking.rank[0].low == pytest.approx(1.5 - 0.27, abs=0.06)
    assert ranking.rank[0].high == pytest.approx(1.5 + 0.27, abs=0.06)
    assert (ranking.rank[1].low, ranking.rank[1].high) == pytest.approx((2, 2))
    other = recommended(NAMES, SCORES, {"q0": ["colour"]}, rng())
    assert other.subjects == ("a", "c", "b")
    assert tuple(other.rank[0]) == (1, 1, 1)


def test_needs_without_scores_are_left_out() -> None:
    ranking = recommended(NAMES, SCORES, {"q0": ["ocr", "counting"], "q1": ["emotion"], "q2": ["ocr"]}, rng())
    assert ranking.weights == {"ocr": 1.0}
    assert ranking.left_out == pytest.approx({"counting": 1 / 6, "emotion": 1 / 3})
    assert ranking.subjects == ("b", "c", "a")
    with pytest.raises(SnellenError, match="emotion"):
        recommended(NAMES, SCORES, {"q0": ["emotion"]}, rng())
