"""What a run's record and card tell: costs, trials, what is recalled, and when a command may continue a run."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen.core.prompt import Reply
from snellen.core.response import Exchange
from snellen.core.storage import runfolder
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import line_of, part_sizes
from snellen.core.storage.runfolder import (
    ArmCard,
    RunCard,
    RunFolder,
    cost_by_subject,
    default_folder,
    kind_by_name,
    open_run,
    price_of,
    read_run_card,
    recorded_subjects,
    refuse_other_run,
    same_items,
)
from tests.helpers.journey import colour_set
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


def test_keys_below_twenty_characters_stay_in_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter one may be an answer."""
    monkeypatch.setenv("MY_STUB_API_KEY", "x" * 19)
    (tmp_path / "parts").mkdir()
    answer = RunFolder(tmp_path, MediaFolder(tmp_path)).record(Exchange("key", "digest", Reply("x" * 19)))
    assert answer == Reply("x" * 19)


CARD = card_of([arm_card("own:a")], rows_hash="w", test_hash="t")
OTHERS = {"recipe_hash": "R", "content_hash": "C", "rows_hash": "W", "test_hash": "T"}


@pytest.mark.parametrize(
    ("changed", "emptied", "is_same"),
    [
        ("", "", True), ("content_hash", "", True), ("rows_hash content_hash", "", True), ("test_hash", "", True),
        ("recipe_hash", "", True), ("recipe_hash rows_hash", "", False), ("test_hash rows_hash", "", False),
        ("rows_hash content_hash", "test_hash", False), ("content_hash", "test_hash", True),
        ("content_hash", "test_hash rows_hash", False), ("recipe_hash", "test_hash rows_hash", True),
    ],
)  # fmt: skip
def test_two_runs_asked_the_same_items(changed: str, emptied: str, is_same: bool) -> None:
    """By the hash of test items of one recipe, else by that of rows, else by that of bytes."""
    other = CARD.model_copy(update={name: OTHERS[name] for name in changed.split()})
    empty = dict.fromkeys(emptied.split(), "")
    for left, right in ((CARD, other), (other, CARD)):
        assert same_items(left.model_copy(update=empty), right) == is_same
        assert same_items(left, right.model_copy(update=empty)) == is_same


def test_kinds_follow_from_names_and_recorded_subjects_are_named_once() -> None:
    kinds = {
        "fake:oracle": {"role": "simulated"}, "human:a/b": {"role": "person"}, "encoder:hog": {"role": "encoder"},
        "recorded:x": {"source": "recorded"}, "inspect:x": {"source": "recorded"}, "head:x": {"fitted": True},
        "chat:human": {}, "humans": {},
    }  # fmt: skip
    assert {name: kind_by_name(name) for name in kinds} == kinds
    earlier = {"subject": "encoder:hog", "fingerprint": "f", "settings": {}, "attributes": {}, "condition": "vanilla"}
    assert ArmCard.model_validate({**earlier, "columns": {}, "repeat": 0}).role == "encoder", "a card without a role"
    arms = [arm_card("own:b", source="recorded"), arm_card("own:a"), arm_card("own:c", source="recorded")]
    assert recorded_subjects(card_of([*arms, arm_card("own:b", source="recorded", repeat=1)])) == ["own:b", "own:c"]


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
        ({"annotations": {"boxes": "own:y 3"}}, "another table 'boxes' (fake:x 2, not own:y 3)"),
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


def test_a_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    items = colour_set(tmp_path / "items")
    assert_refused(lambda: refuse_other_run(items.root, limit=None), "holds an item set, and a run has a folder of its")
    refuse_other_run(tmp_path / "none", limit=1, seed=3)
    with open_run(tmp_path / "runs" / "a", card_of([arm_card("own:a")]), items.media):
        pass
    refuse_other_run(tmp_path / "runs" / "a", limit=None, seed=0)
    assert_refused(lambda: refuse_other_run(tmp_path / "runs" / "a", limit=None, seed=3), "seed 0, not 3")


def test_a_default_folder_is_named_by_items_subjects_and_conditions(tmp_path: Path) -> None:
    card = colour_set(tmp_path / "items").card
    other = card.model_copy(update={"content_hash": "x"})
    names = [
        default_folder(items, subjects.split(), conditions.split())
        for items, subjects, conditions in [
            (card, "a b", "v"),
            (card, "a", "b v"),
            (card, "b a", "v"),
            (other, "a b", "v"),
        ]
    ]
    assert len(set(names)) == 4
    assert all(len(name.name) == len("hard-") + 8 and name.parent == Path("runs") for name in names)


def test_a_part_is_closed_when_it_reaches_its_limit(record: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines fit exactly; the third begins another part."""
    record.record(Exchange("k0", "d", Reply("red")))
    size = part_sizes(record.root)["0000.jsonl"]
    monkeypatch.setattr(runfolder, "MAX_PART_BYTES", 2 * size)
    for n in (1, 2):
        record.record(Exchange(f"k{n}", "d", Reply("red")))
    assert part_sizes(record.root) == {"0000.jsonl": 2 * size, "0001.jsonl": size}


def test_a_line_of_the_record_states_what_is_not_as_usual() -> None:
    """A reply has its text in any case, and the checksum is that of all before it."""
    lines = {
        '{"key":"k","digest":"d","reply":{"text":""}': Exchange("k", "d", Reply("")),
        '{"key":"k","digest":"d","reply":null,"error":"503"': Exchange("k", "d", None, "503"),
        '{"key":"k","digest":"d","reply":{"text":"\\u00e9","tokens_out":2}': Exchange(
            "k", "d", Reply("é", tokens_out=2)
        ),
    }
    for text, exchange in lines.items():
        assert line_of(exchange) == f'{text},"crc":{zlib.crc32(text.encode())}}}\n'
