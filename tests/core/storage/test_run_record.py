"""What a run's record and card tell: costs, trials, what is recalled, and when a command may continue a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen.core.prompt import Reply
from snellen.core.response import Exchange
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import part_sizes
from snellen.core.storage.runfolder import (
    ArmCard,
    RunCard,
    RunFolder,
    cost_by_subject,
    open_run,
    price_of,
    read_run_card,
)
from tests.helpers.refusals import assert_refused


def arm_card(subject: str, **cells: Any) -> ArmCard:
    given = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla", "columns": {}, **cells}
    return ArmCard.model_validate({"subject": subject, "repeat": 0, "role": "model", **given})


def card_of(arms: Sequence[ArmCard], **cells: Any) -> RunCard:
    given = {"itemset": "items", "recipe_hash": "r", "content_hash": "c", "seed": 0, "limit": None, **cells}
    return RunCard(suite="hard", version="1", arms=list(arms), **given)


@pytest.fixture
def record(tmp_path: Path) -> RunFolder:
    (tmp_path / "parts").mkdir()
    return RunFolder(tmp_path, MediaFolder(tmp_path))


def reply(tokens_in: int, tokens_out: int, **fields: Any) -> Reply:
    return Reply("red", tokens_in=tokens_in, tokens_out=tokens_out, **fields)


def test_costs_are_per_million_tokens_by_subject_and_price(record: RunFolder) -> None:
    """Of a at 2 and 10: (5 + 300 + 700) in and (1 + 20 + 40) out, 0.00262; a first question is in no mean."""
    dear, cheap = {"price_in": "2", "price_out": "10"}, {"price_in": "0", "price_out": "1"}
    arms = [
        *(arm_card("own:a", fingerprint="a", attributes=dear, repeat=repeat) for repeat in (0, 1)),
        arm_card("own:b", fingerprint="b", attributes=cheap), arm_card("own:c", fingerprint="c"),
        arm_card("own:d", fingerprint="d", attributes={"price_in": "9"}),
        arm_card("own:e", fingerprint="e", attributes={"price_in": "0", "price_out": "0"}),
        arm_card("own:f", fingerprint="f", attributes=cheap),
    ]  # fmt: skip
    (record.root / "run.json").write_text(card_of(arms).model_dump_json())
    for key, answer in {
        "a/first": reply(5, 1), "a/vanilla/0/t/0": reply(300, 20), "a/vanilla/1/t/0": reply(700, 40),
        "a/vanilla/1/u/0": None, "b/vanilla/0/t/0": reply(10**6, 500_000), "c/vanilla/0/t/0": reply(9, 9),
        "d/vanilla/0/t/0": reply(9, 9), "e/vanilla/0/t/0": reply(9, 9),
    }.items():  # fmt: skip
        record.record(Exchange(key, "digest", answer, "" if answer else "503"))
    assert cost_by_subject(record.root) == {"own:a": pytest.approx(0.00262), "own:b": 0.5, "own:f": 0.0}
    prices = {"a": (2.0, 10.0), "b": (0.0, 1.0), "f": (0.0, 1.0)}
    for run in (record, RunFolder(record.root, record.media)):  # as counted, and as read again
        assert run.spent(prices) == pytest.approx(0.50262)
        assert run.spent({"a": (2.0, 10.0)}) == pytest.approx(0.00262)
        assert run.mean_cost("a", prices) == pytest.approx((1000 * 2 + 60 * 10) / 2 / 1e6)
        assert (run.mean_cost("b", prices), run.mean_cost("f", prices)) == (0.5, None)
        assert run.trial_ids("a/vanilla/1/") == {"t", "u"}
        assert run.trial_ids("a/vanilla/0/") == {"t"}
    assert part_sizes(record.root) == {"0000.jsonl": (record.root / "parts" / "0000.jsonl").stat().st_size}
    assert price_of({"price_out": "1"}) is None


def test_a_reply_is_recalled_for_its_own_prompt_and_under_a_limit_that_changes_nothing(record: RunFolder) -> None:
    assert record.is_empty
    record.record(Exchange("key", "digest", reply(1, 1, stop="length", token_limit=50)))
    assert not record.is_empty
    answer = record.recall("key", "digest")
    assert answer is not None
    limits = {None: answer, 50: answer, 51: None, 0: None}
    assert {limit: record.recall("key", "digest", limit) for limit in limits} == limits
    assert (record.recall("key", "other"), record.recall("none", "digest")) == (None, None)
    record.record(Exchange("key", "digest", None, "503"))
    assert record.failed("key", "digest"), "a reply that was cut off is asked for again, and this call failed"
    assert record.reply_text("key") == ""
    record.record(Exchange("key", "digest", reply(1, 1)))
    assert (record.failed("key", "digest"), record.reply_text("key")) == (False, "red")
    assert not record.failed("none", "digest")


def test_a_run_is_continued_with_the_arms_tables_and_transforms_of_all_its_commands(tmp_path: Path) -> None:
    first = card_of(
        [arm_card("own:a"), arm_card("own:a", repeat=1), arm_card("own:b")], transforms=["t2", "t1"],
        annotations={"captions": "fake:x 1", "boxes": "fake:x 2"},
    )  # fmt: skip
    newer = arm_card("own:a", repeat=1, settings={"new": 1})
    second = card_of(
        [newer, arm_card("own:c")], transforms=["t1", "t3"], annotations={"votes": "3", "boxes": "fake:x 2"}
    )
    for card in (first, second):
        with open_run(tmp_path / "run", card, MediaFolder(tmp_path)):
            assert (tmp_path / "run" / "run.json").is_file()
    merged = read_run_card(tmp_path / "run")
    assert merged.arms == [first.arms[0], first.arms[2], *second.arms]
    assert merged.transforms == ["t2", "t1", "t3"]
    assert merged.annotations == {"captions": "fake:x 1", "boxes": "fake:x 2", "votes": "3"}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"limit": 3}, "was started with no --limit; with --limit 3 the sheets contain different items"),
        ({"seed": 1}, "was started with seed 0, not 1; choose another --out"),
        ({"content_hash": "C"}, "was started with content_hash 'c', not 'C'"),
        ({"suite": "soft"}, "was started with suite 'hard', not 'soft'"),
        ({"annotations": {"boxes": "own:y 3"}}, "a different table 'boxes' (fake:x 2, not own:y 3)"),
    ],
)
def test_a_run_of_other_items_is_not_continued(tmp_path: Path, cells: dict[str, Any], message: str) -> None:
    first = card_of([arm_card("own:a")], annotations={"captions": "fake:x 1", "boxes": "fake:x 2"})
    other = RunCard.model_validate({**first.model_dump(), **cells})

    def begin(card: RunCard) -> None:
        with open_run(tmp_path / "run", card, MediaFolder(tmp_path)):
            pass

    begin(first)
    before = (tmp_path / "run" / "run.json").read_bytes()
    assert_refused(lambda: begin(other), message)
    assert (tmp_path / "run" / "run.json").read_bytes() == before
