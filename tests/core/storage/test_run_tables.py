"""The tables of a run with several arms, repeats and kinds of subjects, each field as it was given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, ReplySpec
from snellen.core.prompt import Reply
from snellen.core.response import Exchange, Response
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import (
    LEFT_OUT,
    empty_beside_reasoning,
    other_responses,
    own_responses,
    read_calls,
    read_responses,
    read_sent,
    reply_texts,
    sent_parts,
    write_tables,
)
from snellen.core.storage.runfolder import RunCard, RunFolder
from tests.core.storage.test_run_record import arm_card, card_of
from tests.helpers.journey import colour_set
from tests.helpers.refusals import assert_refused

SPEC = ReplySpec("choice", (("A", "red"),))


def response(name: str, subject: str = "own:a", **cells: Any) -> Response:
    given: dict[str, Any] = {
        "item_id": "000", "task": "task", "condition": "vanilla", "repeat": 0, "status": "ok", "text": "A",
        "reason": "", "reply_spec": SPEC, "calls": (f"{subject}/{name}/0",), **cells,
    }  # fmt: skip
    return Response(response_id=name, subject=subject, fingerprint=subject, **given)


def folder(root: Path, card: RunCard, exchanges: Sequence[Exchange] = (), responses: Sequence[Response] = ()) -> Path:
    (root / "parts").mkdir(parents=True)
    (root / "run.json").write_text(card.model_dump_json())
    run = RunFolder(root, MediaFolder(root / "media"))
    for exchange in exchanges:
        run.record(exchange)
    run.sent("d", ["?", {"media": "a.png"}])
    run.close()
    write_tables(run, responses)
    return root


def test_every_field_of_a_response_and_of_a_call_is_kept(tmp_path: Path) -> None:
    spec = ReplySpec("box", (("A", "r"), ("B", "b")), Affine(1, 2, 3, 4, 5, 6), "pixels")
    full = Response("id", "own:a", "f", "000", "task", "shots=1", 3, "failed", None, "503", spec, ("a", "b"), True)
    plain = replace(full, response_id="other", text="\x1b é", cut_off=False, reply_spec=replace(spec, unit="", keys=()))
    assert all(getattr(full, field.name) not in ("", 0, ()) for field in fields(Response)), "no default"
    reply = Reply("red", "because", (0.5, 2.0), "length", "m-2", 3, 4, 0.25, 99)
    calls = [Exchange("own:a/1/0", "d", reply), Exchange("own:a/2/0", "e", None, "503")]
    root = folder(tmp_path / "run", card_of([arm_card("own:a")]), calls, [full, plain])
    assert read_responses(root) == [full, plain]
    names = ["key", "digest", "error", *(field.name for field in fields(Reply))]
    first, second = read_calls(root, *names).to_pylist()
    assert first == {"key": "own:a/1/0", "digest": "d", "error": ""} | {
        name: list(value) if isinstance(value := getattr(reply, name), tuple) else value for name in names[3:]
    }
    assert second == {"key": "own:a/2/0", "digest": "e", "error": "503"} | dict.fromkeys(names[3:])


def test_a_response_that_is_there_twice_and_a_damaged_spec_are_refused(tmp_path: Path) -> None:
    card = card_of([arm_card("own:a")])
    root = folder(tmp_path / "twice", card, (), [response("x"), response("y"), response("x", repeat=1)])
    assert_refused(lambda: read_responses(root), f"{root}/responses.parquet: a response is in it twice; run the same")
    table = files.read_table(root / "responses.parquet")
    frames: list[Any] = [5, {"a": 0, "e": 0}, {"a": "1"}, {"a": 0.0, "b": 0.01, "d": 0.01, "e": 0.0}]
    odd_cells: list[dict[str, Any]] = [
        {"kind": "a"},
        {"kind": ["box"]},
        {"keys": [[1, 2]]},
        {"unit": "a"},
        *({"frame": cell} for cell in frames),
    ]
    whole_spec: dict[str, Any] = {"kind": "box", "keys": [], "frame": None}
    for spec in ('{"kind": "choice"}', "[" * 5000, "[]", *(json.dumps({**whole_spec, **cells}) for cells in odd_cells)):
        rows = [{**row, "reply_spec": spec} for row in table.to_pylist()]
        files.write_table(root / "responses.parquet", files.table_of(rows, table.schema))
        assert_refused(lambda: read_responses(root), "responses.parquet: not a table of responses (")
    (root / "responses.parquet").unlink()
    assert_refused(lambda: read_responses(root), f"{root}: the run was interrupted")


def test_replies_are_shown_whole_where_no_answer_was_read_unless_a_person_wrote_them(tmp_path: Path) -> None:
    """The last call counts; a failed or declined response has no text, and a person's stays where it was written."""
    people = [
        arm_card("human:ann", role="person"),
        arm_card("human:bob", role="person", attributes={"words": "shared"}),
    ]
    first = folder(tmp_path / "1", card_of([arm_card("own:a"), *people]), [
        Exchange("own:a/x/0", "d", Reply("first")), Exchange("own:a/x/1", "d", Reply("last")),
        Exchange("human:ann/x/0", "d", Reply("secret")), Exchange("human:bob/x/0", "d", Reply("public")),
    ])  # fmt: skip
    second = folder(tmp_path / "2", card_of([arm_card("own:b")]), [Exchange("own:b/x/0", "d", Reply("elsewhere"))])
    calls = ("own:a/x/0", "own:a/x/1")
    responses = [
        response("read", calls=calls), response("unread", calls=calls, text=None),
        response("empty", calls=calls, text=""), response("failed", calls=calls, text=None, status="failed"),
        response("never", calls=(), text=None), response("lost", calls=("own:a/y/0",), text=None),
        response("ann", "human:ann", calls=("human:ann/x/0",), text="A"),
        response("silent", "human:ann", calls=("human:ann/x/0",), text=None),
        response("bob", "human:bob", calls=("human:bob/x/0",), text=None),
        response("b", "own:b", calls=("own:b/x/0",), text=None),
    ]  # fmt: skip
    (tmp_path / "none").mkdir()
    assert reply_texts([tmp_path / "none", first, second], responses) == {
        "read": "A", "unread": "last", "empty": "", "failed": "", "never": "", "lost": "", "ann": LEFT_OUT,
        "silent": LEFT_OUT, "bob": "public", "b": "elsewhere",
    }  # fmt: skip


def test_replies_of_reasoning_alone_are_counted_by_subject_over_all_runs(tmp_path: Path) -> None:
    silent = Reply("", "hm")
    replies = [silent, silent, Reply("A", "hm"), Reply("", ""), replace(silent, stop="length"), None]
    arms = [arm_card("own:a", fingerprint="f1"), arm_card("own:b", fingerprint="f2")]
    first = folder(tmp_path / "1", card_of(arms), [
        *(Exchange(f"f1/{n}/0", "d", reply) for n, reply in enumerate(replies)),
        Exchange("f2/0/0", "d", silent), Exchange("unknown/0/0", "d", silent),
    ])  # fmt: skip
    second = folder(tmp_path / "2", card_of([arm_card("own:a", fingerprint="f3")]), [Exchange("f3/0/0", "d", silent)])
    assert empty_beside_reasoning([first, tmp_path / "none", second]) == {"own:a": 3, "own:b": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, ""), ({"item_id": "009"}, "'009' of task 'task' is no item of this run"),
        ({"task": "other"}, "'001' of task 'other' is no item of this run"),
        ({"reply_spec": ReplySpec("box")}, "'001' of task 'task' is no item of this run"),
        ({"subject": "own:c"}, "'own:c' under 'vanilla' was not asked in this run"),
        ({"condition": "shots=1"}, "'own:a' under 'shots=1' was not asked"),
        ({"repeat": 2}, "'own:a' under 'vanilla' was not asked"),
    ],
)  # fmt: skip
def test_responses_are_those_of_the_run_s_items_and_arms(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    items: ItemSet = colour_set(tmp_path / "items")
    card = card_of([arm_card("own:a"), arm_card("own:a", repeat=1), arm_card("own:b", condition="shots=1")])
    second = replace(response("y", repeat=1, item_id="001"), **change)
    root = folder(tmp_path / "run", card, (), [response("x"), second])
    if message:
        assert_refused(lambda: own_responses(root, items, card), f"{root}/responses.parquet: {message}")
    else:
        assert own_responses(root, items, card) == [response("x"), second]


def test_other_arms_are_kept_apart_by_subject_condition_and_repeat(tmp_path: Path) -> None:
    others = [response("2", repeat=1), response("3", condition="shots=1"), response("4", "own:b")]
    cards = [
        arm_card(other.subject, condition=other.condition, repeat=other.repeat) for other in (response("1"), *others)
    ]
    root = folder(tmp_path / "run", card_of(cards), (), [response("1"), *others])
    assert other_responses(root, [response("1").arm_key]) == others
    assert other_responses(root, [arm.arm_key for arm in cards]) == []
    assert other_responses(tmp_path / "none", []) == []
    (root / "responses.parquet").write_bytes(b"torn")
    names = "own:a under shots=1, own:a under vanilla, own:b under vanilla"
    assert_refused(lambda: other_responses(root, [response("1").arm_key]), f"leaves out arms of that run: {names}")
    assert other_responses(root, [arm.arm_key for arm in cards]) == [], "all are asked again"


def test_prompts_of_all_responses_are_kept_and_no_others(tmp_path: Path) -> None:
    calls = [Exchange(f"own:a/{name}/0", digest, Reply("A")) for name, digest in (("1", "d"), ("2", "e"), ("3", "f"))]
    first, second, replaced = map(response, "123")
    root = folder(tmp_path / "run", card_of([arm_card("own:a")]), calls, [first])
    run = RunFolder(root, MediaFolder(root / "media"))
    run.sent("e", ["again"])
    run.sent("e", ["another prompt under the same digest"])
    run.sent("f", ["replaced"])
    write_tables(run, [replaced], [first])
    write_tables(run, [second], [first])
    sent = read_sent(root)
    assert {digest: sent_parts(root, text) for digest, text in sent.items()} == {
        "d": ["?", {"media": "a.png"}], "e": ["again"]
    }  # fmt: skip
    odd_media = ('[{"montage": 5}]', '[{"montage": [5]}]', '[{"media": 5}]', '["a", {"media": {}}]')
    for text in ("7", '{"a": 1}', "[7]", '["a", null]', "[", "", *odd_media):
        with pytest.raises(SnellenError, match=r"sent\.parquet: .* is no prompt; run the same"):
            sent_parts(root, text)
    assert json.loads(sent["e"]) == ["again"]
    (root / "sent.parquet").write_bytes(b"torn")
    assert read_sent(root) == {}
