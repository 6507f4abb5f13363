"""Replies that end at the token limit: counted apart, never guessed, and asked again under a greater limit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.grading.results import results
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.runfolder import read_run_card
from snellen.core.subject import Base, SubjectCard
from snellen.presentation.methods import OneByOne, Sheet
from snellen.runs.asking.ask import ask
from snellen.runs.asking.failures import CutOffs
from snellen.runs.asking.replay import replay
from snellen.runs.planning.plan import Plan
from snellen.runs.scores.score import score
from tests.helpers.journey import arm, colour_set, suite_of, task


@dataclass(frozen=True)
class Thinker(Base):
    """Thinks for `thought` tokens, then answers: a lower limit cuts the reply off, after `before` was written."""

    thought: int = 3000
    before: str = ""
    prompts: list[Prompt] = field(default_factory=list)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.prompts.append(prompt)
        limit = self.card.token_limit
        number = int(prompt.views[0].item_id)
        if limit and limit < self.thought and number % 2 == 0:
            return Reply(self.before, stop="length", tokens_out=limit, token_limit=limit)
        return Reply("red", token_limit=limit)


def thinker(limit: int = 2048, **fields: object) -> Thinker:
    return Thinker(SubjectCard("chat:thinker", token_limit=limit, max_concurrency=1), **fields)  # type: ignore[arg-type]


def run_of(root: Path, built: ItemSet, subject: Thinker, *, keep_going: bool = False) -> tuple[list[str], int]:
    """(messages, number of responses) of a run."""
    suite, lines = suite_of(), list[str]()
    responses = ask(root, Plan(built, suite, [arm(subject, suite)], notify=lines.append, keep_going=keep_going))
    return lines, len(responses)


def test_three_of_the_first_ten_end_an_arm() -> None:
    whole, cut = Reply("A"), Reply("", stop="length", token_limit=512)
    cut_offs = CutOffs()
    for reply in (cut, whole, cut, *[whole] * 7):
        cut_offs.observe(reply)
    assert cut_offs.end == ""
    cut_offs.observe(cut)
    assert cut_offs.end == "", "the eleventh no longer counts"
    cut_offs = CutOffs()
    for reply in (cut, cut, *[whole] * 7, cut):
        cut_offs.observe(reply)
    assert cut_offs.end.startswith("3 of the first 10 replies were cut off at the limit of 512 tokens")
    assert "max_tokens=2048" in cut_offs.end
    assert (cut_offs.announce() != "", cut_offs.announce()) == (True, "")
    boundless = CutOffs(is_bounded=False)
    for _ in range(10):
        boundless.observe(cut)
    assert boundless.end == ""


def test_a_thinking_model_is_stopped_and_its_cut_replies_alone_are_asked_again(tmp_path: Path) -> None:
    built, first = colour_set(tmp_path / "set", 20), thinker()
    lines, count = run_of(tmp_path / "run", built, first)
    assert (count, len(first.prompts)) == (5, 5), "items 0, 2 and 4 were cut off"
    assert len(lines) == 1
    assert lines[0].startswith("chat:thinker is no longer asked: 3 of the first 5 replies were cut off")
    responses = read_responses(tmp_path / "run")
    assert replay(tmp_path / "run", built, suite_of(), {}) == responses, "after a kill, cut replies are not lost"
    # The same limit asks nothing more, and says so.
    again = thinker()
    lines, count = run_of(tmp_path / "run", built, again)
    assert (len(lines), count, again.prompts) == (1, 5, [])
    greater = thinker(limit=8192)
    assert greater.card.fingerprint() == first.card.fingerprint()
    lines, count = run_of(tmp_path / "run", built, greater)
    assert (lines, count) == ([], 20)
    numbers = [int(prompt.views[0].item_id) for prompt in greater.prompts]
    assert numbers == [0, 2, 4, *range(5, 20)], "1 and 3 were complete"
    assert not any(response.cut_off for response in read_responses(tmp_path / "run"))
    last = thinker(limit=16_384)
    run_of(tmp_path / "run", built, last)
    assert last.prompts == []


def test_an_unlimited_call_asks_again_and_a_lower_limit_does_not(tmp_path: Path) -> None:
    built = colour_set(tmp_path / "set", 4)
    run_of(tmp_path / "run", built, thinker(), keep_going=True)
    lower = thinker(limit=100)
    run_of(tmp_path / "run", built, lower, keep_going=True)
    assert lower.prompts == []
    unlimited = thinker(limit=0)
    run_of(tmp_path / "run", built, unlimited, keep_going=True)
    assert [prompt.views[0].item_id for prompt in unlimited.prompts] == ["000", "002"]


def test_cut_replies_are_neither_wrong_answers_nor_unreadable(tmp_path: Path) -> None:
    built, suite = colour_set(tmp_path / "set", 20), suite_of()
    for before, outcomes in (("It is gree", {"answered": 10, "cut_off": 10}), ("Answer: green. It", {"answered": 20})):
        root = tmp_path / f"run {len(outcomes)}"
        run_of(root, built, thinker(before=before), keep_going=True)
        responses = read_responses(root)
        assert sum(response.cut_off for response in responses) == 10
        scores = score(responses, built, suite)
        assert scores["outcome"].value_counts().to_dict() == outcomes
        (row,) = results(scores, built, suite, read_run_card(root).arms).to_dict("records")
        cut = outcomes.get("cut_off", 0) / 20
        assert (row["no_answer_rate"], row["cut_off_rate"]) == (0.0, cut)
        if cut:
            assert (row["state"], row["reason"], row["note"]) == ("unreadable", "cut off", "50 % of its replies")
            assert row["degenerate"]
            assert row["value_answered"] == pytest.approx(2 * row["value"]), "of those that were read"


def test_a_released_scorer_does_not_know_how_a_reply_ended(tmp_path: Path) -> None:
    built, suite = colour_set(tmp_path / "set", 4), suite_of()
    run_of(tmp_path / "run", built, thinker(before="green"), keep_going=True)
    responses = read_responses(tmp_path / "run")
    plain = replace(suite.tasks["task"].protocols["strict"], name="published", read_cut_off=None)
    released = suite_of(protocols={"strict": suite.tasks["task"].protocols["strict"], "published": plain})
    assert score(responses, built, released, "published")["outcome"].tolist() == ["answered"] * 4
    assert score(responses, built, released)["outcome"].tolist() == ["cut_off", "answered"] * 2


def test_complete_cells_of_a_sheet_that_was_cut_off_count(tmp_path: Path) -> None:
    """The sheet of two items ends after the first cell: that one is an answer, the other is cut off."""

    @dataclass(frozen=True)
    class Writer(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            return Reply('[{"1": "red"}]\n[{"2": "gre', stop="length")

    built = colour_set(tmp_path / "set", 2)
    sheets = suite_of(tasks=[task(method=lambda condition: Sheet(2, lambda views: ("?",)))])
    subject = Writer(SubjectCard("chat:writer"))
    responses = ask(tmp_path / "run", Plan(built, sheets, [arm(subject, sheets)]))
    assert all(response.cut_off == (response.text is None) for response in responses)
    plain = suite_of(tasks=[task(method=lambda condition: OneByOne())])
    responses = ask(tmp_path / "plain", Plan(built, plain, [arm(subject, plain)]))
    assert all(response.cut_off and response.text for response in responses)
