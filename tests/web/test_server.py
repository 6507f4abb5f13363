"""The server of a study: access, and stored rows."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snellen.core.errors import SnellenError
from snellen.web.guard import MAX_BODY_BYTES, MAX_NESTED
from snellen.web.plan import RecordRow, StudyPlan
from snellen.web.server import _Seldom, app_of, open_service
from snellen.web.store import Refusal, Slot, Store, addresses, keep_row, links, read_stored, renew_links, take_slot
from tests.helpers.studies import ANSWERS, IMAGE, IMAGE_PATH, TIME, make_plan, rows_of_form, write_study
from tests.helpers.study_visitor import Visitor, refused, served, visitors_of


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    with served(tmp_path) as visitors:
        yield visitors[0]


# Participants


def test_participants_are_numbered_and_take_forms_in_turn(visitor: Visitor) -> None:
    opened = [visitor.open().json() for _ in range(4)]
    assert [entry["participant"] for entry in opened] == ["p01", "p02", "p03", "p04"]
    assert [entry["form"] for entry in opened] == [0, 1, 0, 1]
    assert len({entry["secret"] for entry in opened}) == 4
    assert all(entry["records"] == [] for entry in opened)


def test_a_complete_form_is_stored_and_returned(visitor: Visitor) -> None:
    opened = visitor.open().json()
    rows = rows_of_form(visitor.plan, "p01", 0)
    for row in rows:
        nothing = {"code": "", "url": ""}
        receipt = visitor.send(row, opened["secret"]).json()
        assert receipt == {"sequence": row.sequence, "completion": nothing}
    again = visitor.open(secret=opened["secret"]).json()
    assert [RecordRow.model_validate(row) for row in again["records"]] == rows
    assert again | {"records": []} == opened
    assert visitor.stored_rows() == {"p01": rows}


def test_a_panel_s_id_opens_nobody_s_session(visitor: Visitor) -> None:
    """Who knows another's id starts over, with their own secret and none of the answers."""
    first = visitor.open(parameters={"PROLIFIC_PID": "abc"}).json()
    visitor.send(rows_of_form(visitor.plan, "p01", 0)[0], first["secret"])
    again = visitor.open(parameters={"PROLIFIC_PID": "abc"}).json()
    assert (again["participant"], again["records"]) == ("p02", [])
    assert again["secret"] != first["secret"]
    assert visitor.open(secret=first["secret"], parameters={"PROLIFIC_PID": "other"}).json()["participant"] == "p01"


def test_the_recorded_id_is_that_of_the_opening(visitor: Visitor) -> None:
    secret = visitor.open(parameters={"PROLIFIC_PID": "mine"}).json()["secret"]
    start = rows_of_form(visitor.plan, "p01", 0)[0].plain()
    start["record"]["parameters"] = {"PROLIFIC_PID": "another's", "lab": "north"}
    assert visitor.send(RecordRow.model_validate(start), secret).status_code == 200
    assert visitor.stored_rows()["p01"][0].plain()["record"]["parameters"] == {"PROLIFIC_PID": "mine"}


def test_the_completion_code_comes_after_the_last_page_only(tmp_path: Path) -> None:
    with served(tmp_path, completion_code="C1X9", completion_url="https://panel.example/done") as (visitor,):
        for path in ("", "plan.json", "plan.js"):
            assert "C1X9" not in (text := visitor.client.get(visitor.link + path).text)
            assert "panel.example" not in text
        rows = rows_of_form(visitor.plan, "p01", 0)
        secret = visitor.begin(rows[:-1])
        refused(visitor.send(RecordRow(sequence=len(rows), record=rows[-1].record), secret), 422)
        assert visitor.open(secret=secret).json()["completion"] == {"code": "", "url": ""}
        receipt = visitor.send(rows[-1], secret).json()
        assert receipt["completion"] == {"code": "C1X9", "url": "https://panel.example/done"}
        assert visitor.open(secret=secret).json()["completion"]["code"] == "C1X9"
        other = visitor.open().json()
        start = rows_of_form(visitor.plan, "p02", 1)[0]
        assert visitor.send(start, other["secret"]).json()["completion"] == {"code": "", "url": ""}


def test_a_link_without_its_last_slash_keeps_the_panel_s_parameters(visitor: Visitor) -> None:
    response = visitor.client.get(f"{visitor.link[:-1]}?PROLIFIC_PID=a%26b&STUDY_ID=s", follow_redirects=False)
    token = visitor.link.split("/")[2]
    assert (response.status_code, response.headers["location"]) == (307, f"{token}/?PROLIFIC_PID=a%26b&STUDY_ID=s")


def test_links_are_renewed_while_the_server_runs(visitor: Visitor) -> None:
    secret = visitor.begin(rows_of_form(visitor.plan, "p01", 0)[:2])
    (personal,) = addresses(visitor.root, "", "p01")
    assert personal == f"{visitor.link}#continue={secret}"
    (fresh,) = addresses(visitor.root, "", renew=True)
    assert fresh != visitor.link
    assert addresses(visitor.root, "", "p01") == [f"{fresh}#continue={secret}"], "a new personal link (docs/people.md)"
    refused(visitor.client.get(visitor.link), 404)
    refused(visitor.open(secret=secret), 404)
    later = Visitor(visitor.client, visitor.root, visitor.plan, fresh)
    assert len(later.open(secret=secret).json()["records"]) == 2
    assert later.open().json()["participant"] == "p02"
    with pytest.raises(SnellenError, match="no participant p09"):
        addresses(visitor.root, "", "p09", renew=True)
    assert addresses(visitor.root, "") == [fresh], "nothing is renewed for nobody"


@pytest.mark.parametrize("reviewer", ["", "ann"])
def test_an_opening_under_a_link_that_is_renewed_meanwhile_is_refused_alone(tmp_path: Path, reviewer: str) -> None:
    database = Store(tmp_path / "results.sqlite", "0" * 16)
    (link,) = database.submit(
        partial(links, reviewers=[reviewer] if reviewer else [], open_to_all=not reviewer)
    ).result()
    opening = partial(take_slot, link=link, secret="", parameters={}, forms=1)
    assert database.submit(opening).result().number == 0
    database.submit(renew_links).result()
    with pytest.raises(Refusal, match="replaced by a new one"):
        database.submit(opening).result()
    database.close()


def test_many_parameters_are_refused_at_once(visitor: Visitor) -> None:
    """An opening with 26,000 parameters took 200 ms, since each was refused with a message of its own."""
    many = {str(number): 1 for number in range(26_000)}
    refused(visitor.open(parameters=many), 422, "more than 1000 entries")
    refused(visitor.open(parameters=dict.fromkeys(map(str, range(51)), "")), 422, "at most 50")


def test_only_named_parameters_are_recorded(visitor: Visitor) -> None:
    parameters = {"PROLIFIC_PID": "abc", "STUDY_ID": "s", "SESSION_ID": "t", "lab": "north", "email": "a@b.example"}
    named = {name: text for name, text in parameters.items() if name != "email"}
    secret = visitor.open(parameters=parameters).json()["secret"]
    start = rows_of_form(visitor.plan, "p01", 0)[0].plain()
    start["record"]["parameters"] = parameters
    assert visitor.send(RecordRow.model_validate(start), secret).status_code == 200
    assert visitor.send(RecordRow.model_validate(start), secret).status_code == 200
    assert visitor.stored_rows()["p01"][0].plain()["record"]["parameters"] == named
    with closing(sqlite3.connect(visitor.root / "results.sqlite")) as connection:
        ((column,),) = connection.execute("SELECT parameters FROM participants").fetchall()
    assert json.loads(column) == named
    for path in visitor.root.glob("results.sqlite*"):
        assert b"a@b.example" not in path.read_bytes()


def test_nobody_is_stored_before_consent(tmp_path: Path) -> None:
    texts = make_plan().texts.model_copy(update={"consent": "You may stop."})
    with served(tmp_path, plan=make_plan().model_copy(update={"texts": texts})) as (visitor,):
        refused(visitor.open(parameters={"PROLIFIC_PID": "abc"}), 403)
        with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
            assert connection.execute("SELECT count(*) FROM participants").fetchone() == (0,)
        opened = visitor.open(parameters={"PROLIFIC_PID": "abc"}, consented=True).json()
        assert (opened["participant"], opened["form"]) == ("p01", 0)
        assert visitor.open(secret=opened["secret"]).json()["participant"] == "p01"


def test_a_name_without_its_secret_gives_nothing(visitor: Visitor) -> None:
    first = visitor.open().json()
    visitor.send(rows_of_form(visitor.plan, "p01", 0)[0], first["secret"])
    other = visitor.open(participant="p01").json()
    assert (other["participant"], other["records"]) == ("p02", [])
    refused(visitor.open(participant="p01", secret="guessed"), 403)
    refused(visitor.open(participant="p01", secret=other["secret"]), 403)


def test_no_participant_writes_for_another(visitor: Visitor) -> None:
    own, other = visitor.open().json(), visitor.open().json()
    rows = rows_of_form(visitor.plan, "p01", 0)
    assert visitor.send(rows[0], own["secret"]).status_code == 200
    refused(visitor.send(rows[0], other["secret"]), 422)  # a start of p01
    refused(visitor.send(rows[1], "guessed"), 403)
    refused(visitor.send(rows[1], ""), 403)
    no_secret = visitor.client.post(f"{visitor.link}api/records", json=rows[1].plain())
    refused(no_secret, 422)
    assert visitor.stored_rows() == {"p01": rows[:1]}


def test_everything_is_stored_across_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as (visitor,):
        opened = visitor.open().json()
        rows = rows_of_form(visitor.plan, "p01", 0)[:3]
        for row in rows:
            visitor.send(row, opened["secret"])
    with served(tmp_path) as (later,):
        assert later.link == visitor.link
        assert len(later.open(secret=opened["secret"]).json()["records"]) == 3
        assert later.open().json()["participant"] == "p02"
        assert later.stored_rows() == {"p01": rows}
        assert (tmp_path / "results.sqlite").stat().st_mode & 0o077 == 0, "it is private"


# Rows


BAD_ANSWERS: list[tuple[str, Any]] = [
    ("choice", "D"), ("choice", 1), ("choice", None), ("true_false", "A"), ("true_false", ["T"]),
    ("integer", "three"), ("integer", [3]), ("integer", "nan"), ("number", "inf"), ("number", "1" * 2000),
    ("box", [1, 2, 3]), ("box", "1,2,3,4"), ("point", [1]), ("point", [1, 2, 3, 4]),
    ("colour", [0, 0, 256]), ("colour", [0, -1, 0]),
    ("colour", [0, 0, 0, 0]), ("text", 5), ("text", "x" * 20_001), ("description", ["a"]),
]  # fmt: skip
GOOD_ANSWERS: dict[str, Any] = {"choice": "A", "integer": -4, "number": "1e3", "text": ""}


def answers_row(plan: StudyPlan, kind: str, **changes: Any) -> dict[str, Any]:
    index = list(ANSWERS).index(kind)  # type: ignore[arg-type]
    row = rows_of_form(plan, "p01", 0)[2 + index].plain()
    row["record"] |= changes
    return row


def test_answers_of_another_kind_are_refused_and_those_of_their_kind_stored(visitor: Visitor) -> None:
    rows = rows_of_form(visitor.plan, "p01", 0)[:2]
    secret = visitor.begin(rows)
    for kind in ANSWERS:
        for answer in (bad for name, bad in BAD_ANSWERS if name == kind):
            refused(visitor.send_json(answers_row(visitor.plan, kind, answers={f"item-{kind}": answer}), secret), 422)
            assert visitor.stored_rows() == {"p01": rows}
        answers = {f"item-{kind}": GOOD_ANSWERS.get(kind, ANSWERS[kind])}
        rows.append(RecordRow.model_validate(answers_row(visitor.plan, kind, answers=answers)))
        assert visitor.send(rows[-1], secret).status_code == 200
        assert visitor.stored_rows() == {"p01": rows}


BAD_FIELDS: list[dict[str, Any]] = [
    {"page_id": "q-none"}, {"position": 1}, {"position": -8}, {"position": 10**30}, {"answers": {"item-text": "a"}},
    {"answers": {"item-choice": "A", "item-text": "a"}}, {"answers": {}}, {"attempts": 2}, {"attempts": 0},
    {"passed": False}, {"seconds": 1e9}, {"time": "2026-11-22T10:00:00"}, {"time": "0001-01-01T00:00:00Z"},
    {"reasons": {"item-text": "a"}}, {"reasons": {"item-choice": "x" * 20_001}}, {"seconds": -1},
    {"seconds": float("nan")}, {"loading": float("inf")}, {"hidden": "long"}, {"time": "soon"}, {"extra": 1},
    {"type": "judgement"}, {"answers": {"item-choice": "\ud800"}},
]  # fmt: skip


def test_a_row_that_the_form_cannot_produce_is_refused(visitor: Visitor) -> None:
    rows = rows_of_form(visitor.plan, "p01", 0)[:2]
    secret = visitor.begin(rows)
    for fields in BAD_FIELDS:
        refused(visitor.send_json(answers_row(visitor.plan, "choice", **fields), secret), 422)
        assert visitor.stored_rows() == {"p01": rows}, fields
    assert visitor.send(RecordRow.model_validate(answers_row(visitor.plan, "choice")), secret).status_code == 200


def test_a_page_is_loaded_only_so_often(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen.web.admission.MAX_RETURNS", 3)
    rows = rows_of_form(visitor.plan, "p01", 0)
    again = [RecordRow(sequence=number, record=rows[0].record) for number in range(2, 6)]
    secret = visitor.begin([*rows[:2], *again[:2]])
    refused(visitor.send(again[2], secret), 422)
    first = RecordRow(sequence=4, record=rows[2].record)
    assert visitor.send(first, secret).status_code == 200, "questions can still be answered"


BAD_STARTS: list[dict[str, Any]] = [
    {"participant": "other"}, {"form": 1}, {"plan_hash": "other"},
    {"screen": {f"{number:0900}": 1.0 for number in range(20)}},  # too large
    *({"code": code} for code in ("p01", "k7wd;=cmd|/C calc!A0;", "K7WD-9q2m", "a-b-c", "abcdefghijk-lmnopqrst")),
]  # fmt: skip
"""A name as code would be ambiguous, and other text would stand in people.csv."""


def test_a_start_is_one_that_the_page_makes(visitor: Visitor) -> None:
    secret = visitor.open().json()["secret"]
    start = rows_of_form(visitor.plan, "p01", 0)[0].plain()
    for fields in BAD_STARTS:
        refused(visitor.send_json({**start, "record": start["record"] | fields}, secret), 422)
    start["record"]["code"] = "k7wd-9q2m"
    assert visitor.send_json(start, secret).status_code == 200


def test_rows_come_in_the_order_of_the_form(tmp_path: Path) -> None:
    """Nothing before the start and the consent, no page twice or early, the end last, and nothing after it."""
    texts = make_plan().texts.model_copy(update={"consent": "You may stop."})
    with served(tmp_path, plan=make_plan().model_copy(update={"texts": texts})) as (visitor,):
        rows = rows_of_form(visitor.plan, "p01", 0)
        secret = visitor.open(consented=True).json()["secret"]
        for number, row in enumerate(rows):
            for other in {number + 1, len(rows) - 1} - {number, len(rows)}:  # the next one, and the end
                for sequence in {number, other}:
                    early = RecordRow(sequence=sequence, record=rows[other].record)
                    refused(visitor.send(early, secret), 422)
            assert visitor.send(row, secret).status_code == 200
        for row in rows[1:]:
            refused(visitor.send(RecordRow(sequence=len(rows), record=row.record), secret), 422)
        assert visitor.stored_rows() == {"p01": rows}


HALF = "smile \ud83d"
"""The text sent by a page for half of an emoji."""
HALVES: list[tuple[int, dict[str, Any]]] = [
    (0, {"agent": HALF}), (0, {"parameters": {"lab": HALF}}), (0, {"parameters": {HALF: "north"}}), (0, {HALF: 1}),
    (2, {"reasons": {"item-choice": HALF}}), (2, {"answers": {HALF: "A"}}),
    (2 + list(ANSWERS).index("text"), {"answers": {"item-text": HALF}}),
]  # fmt: skip


@pytest.mark.parametrize(("number", "fields"), HALVES, ids=range(len(HALVES)))
def test_half_a_character_is_refused_and_the_study_continues(
    visitor: Visitor, number: int, fields: dict[str, Any]
) -> None:
    secret = visitor.open().json()["secret"]
    row = rows_of_form(visitor.plan, "p01", 0)[number].plain()
    row["record"] |= fields
    refused(visitor.send_json(row, secret), 422, "half a character")
    opening, headers = json.dumps({"parameters": {"lab": HALF}}), {"Content-Type": "application/json"}
    refused(visitor.client.post(f"{visitor.link}api/open", content=opening, headers=headers), 422)
    assert visitor.open().json()["participant"] == "p02"
    assert visitor.send(rows_of_form(visitor.plan, "p01", 0)[0], secret).status_code == 200


def test_a_request_that_fails_ends_nothing(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = visitor.open().json()["secret"]
    first, second = rows_of_form(visitor.plan, "p01", 0)[:2]

    def keep_half(connection: sqlite3.Connection, slot: Slot, record_row: RecordRow) -> int:
        keep_row(connection, slot, record_row)
        raise KeyError("form")

    with monkeypatch.context() as patch:
        patch.setattr("snellen.web.store.keep_row", keep_half)
        refused(visitor.send(first, secret), 500)
    assert [record.getMessage() for record in caplog.records] == ["a request failed and was not kept: KeyError('form')"]
    assert visitor.stored_rows() == {}, "the rows of the failed request are rolled back"
    assert visitor.send(first, secret).status_code == visitor.send(second, secret).status_code == 200
    assert visitor.stored_rows() == {"p01": [first, second]}


def test_jobs_committed_together_fail_separately(tmp_path: Path) -> None:
    """A batch waits behind a blocked job: one of its jobs fails, the others are stored."""
    database = Store(tmp_path / "results.sqlite", "hash")
    go_on = threading.Event()
    waiting = database.submit(lambda connection: go_on.wait(10))

    def write(name: str, error: type[Exception] | None, connection: sqlite3.Connection) -> str:
        connection.execute("INSERT INTO facts VALUES (?, '')", (name,))
        if error:
            raise error(name)
        return name

    errors: list[type[Exception] | None] = [None, ValueError, None, UnicodeError, None]
    futures = [database.submit(partial(write, f"fact {n}", error)) for n, error in enumerate(errors)]
    go_on.set()
    assert waiting.result(10)
    for n, (future, error) in enumerate(zip(futures, errors, strict=True)):
        if error is None:
            assert future.result(10) == f"fact {n}"
        else:
            with pytest.raises(error):
                future.result(10)
    database.close()
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM facts WHERE name LIKE 'fact %'")}
    assert names == {"fact 0", "fact 2", "fact 4"}


def test_sequence_numbers_have_bounds(visitor: Visitor) -> None:
    secret = visitor.open().json()["secret"]
    for sequence in (-1, 10_000, 1.5, "one", None, 10**40):
        refused(visitor.send_json(answers_row(visitor.plan, "choice") | {"sequence": sequence}, secret), 422)


def test_a_timeout_is_an_answer_only_if_time_is_limited(tmp_path: Path) -> None:
    pages = make_plan().pages
    pages = pages | {"q-choice": pages["q-choice"].model_copy(update={"seconds": 3.0})}
    with served(tmp_path, plan=make_plan().model_copy(update={"pages": pages})) as (visitor,):
        secret = visitor.begin(rows_of_form(visitor.plan, "p01", 0)[:2])
        early = answers_row(visitor.plan, "choice", answers={"item-choice": None}, seconds=1.9)
        refused(visitor.send(RecordRow.model_validate(early), secret), 422)
        row = answers_row(visitor.plan, "choice", answers={"item-choice": None}, seconds=3.0)
        assert visitor.send(RecordRow.model_validate(row), secret).status_code == 200


def test_a_body_under_no_link_is_not_read(visitor: Visitor) -> None:
    """Parsing it would take the time of others."""
    row = answers_row(visitor.plan, "choice", answers={"a": "x" * 300_000})
    for link in ("/s/nobody/", visitor.link.replace("/s/", "/r/"), "/s//"):
        refused(replace(visitor, link=link).send_json(row, "x"), 404)
    refused(visitor.send_json(row, "x"), 413)


def test_many_entries_are_refused_before_each_is_checked(visitor: Visitor) -> None:
    secret = visitor.begin(rows_of_form(visitor.plan, "p01", 0)[:2])
    many: list[tuple[dict[str, Any], str]] = [
        ({"a": [{}] * 5000}, f"more than {MAX_NESTED} lists and objects"),
        ({"a": {}}, ""),
        ({str(n): "x" for n in range(1001)}, ""),
    ]
    for answers, words in many:
        response = visitor.send_json(answers_row(visitor.plan, "choice", answers=answers), secret)
        refused(response, 422, words)
        assert len(response.text) < 300


def test_many_fields_are_refused_at_once(visitor: Visitor) -> None:
    """Naming each unknown one takes the time of others."""
    fields = {f"field{number}": 1 for number in range(51)}
    secret = visitor.begin(rows_of_form(visitor.plan, "p01", 0)[:2])
    row = answers_row(visitor.plan, "choice", **fields)
    for path, body in (("open", {"consented": True, **fields}), ("records", fields), ("records", row)):
        headers = {"X-Snellen-Secret": secret}
        response = visitor.client.post(f"{visitor.link}api/{path}", json=body, headers=headers)
        refused(response, 422, "more than 50 fields")


@settings(max_examples=15)
@example(order=[0, 1, 1], altered={1, 2})  # two contents of one length
@given(order=st.lists(st.integers(0, 10), min_size=1, max_size=40), altered=st.sets(st.integers(0, 39)))
def test_each_row_is_stored_once_whatever_is_resent(
    order: list[int], altered: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Retries, duplicates and rows out of order: the first content of a number stays, and it stays once."""
    with served(tmp_path_factory.mktemp("study")) as (visitor,):
        secret = visitor.open().json()["secret"]
        rows = rows_of_form(visitor.plan, "p01", 0)
        model: dict[int, RecordRow] = {}
        for turn, number in enumerate(order):
            plain = rows[number].plain()
            if turn in altered:
                plain["record"]["time"] = f"2026-11-22T11:00:{turn:02d}Z"
            row = RecordRow.model_validate(plain)
            expected = 422  # rows before it are missing
            if number <= len(model):
                expected = 200 if model.setdefault(number, row) == row else 409
            assert visitor.send(row, secret).status_code == expected
        assert visitor.stored_rows().get("p01", []) == [model[number] for number in sorted(model)]


# Files


def test_the_bundle_s_files_are_served(visitor: Visitor) -> None:
    def get(path: str) -> Any:
        return visitor.client.get(visitor.link + path)

    assert 'data-transport="local"' in get("").text
    assert get("index.html").text == get("").text
    assert get("plan.json").json() == json.loads(visitor.plan.model_dump_json())
    assert get("plan.js").headers["content-type"].startswith("text/javascript")
    for path in ("", "index.html", "plan.js", "page/study.js", "vendor/jspsych/css/jspsych.css"):
        assert get(path).headers["content-type"].endswith("; charset=utf-8")
    assert get("page/study.js").text == "'use strict';"
    assert get("vendor/jspsych/css/jspsych.css").headers["content-type"].startswith("text/css")
    assert get("vendor/jspsych/LICENSE").headers["content-type"].startswith("text/plain")
    image = get(IMAGE_PATH)
    assert image.content == IMAGE
    assert image.headers["content-type"] == "image/png"
    assert "immutable" in image.headers["cache-control"]
    assert get("").headers["cache-control"] == "no-store"
    without_slash = visitor.client.get(visitor.link.rstrip("/"), follow_redirects=False)
    assert without_slash.status_code == 307
    assert visitor.client.get(visitor.link.rstrip("/")).text == get("").text


ELSEWHERE = [
    "study.json", "results.sqlite", "../study.json", "bundle/plan.json", "media/../../study.json",
    "media/../../results.sqlite", "%2e%2e/study.json", "..%2fstudy.json", "%2e%2e%2fstudy.json",
    "%252e%252e%252fstudy.json", "media/..%5c..%5cstudy.json", "media/%00/study.json", "%c0%ae%c0%ae/study.json",
    "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "page/", "page", "media/",
    "page/link.js", "page/.hidden.js", "page/notes.txt", "vendor/out/study.json", "PLAN.JSON", "plan.json/",
    "plan.json%20", "./plan.json%00.png", "secret.js", "api/open", "api/results", "docs", "openapi.json",
]  # fmt: skip


def test_nothing_else_is_served(tmp_path: Path) -> None:
    write_study(tmp_path)
    bundle = tmp_path / "bundle"
    (bundle / "page/link.js").symlink_to(tmp_path / "study.json")
    (bundle / "vendor/out").symlink_to(tmp_path, target_is_directory=True)
    for name in ("page/.hidden.js", "page/notes.txt", "secret.js"):
        (bundle / name).write_text("private")
    with served(tmp_path) as (visitor,):
        for path in ELSEWHERE:
            response = visitor.client.get(visitor.link + path)
            if response.url.path.startswith(visitor.link):
                assert response.status_code in (404, 405), (path, response.text)
            assert b"private" not in response.content, path
            assert b'"design"' not in response.content, path
            assert response.headers["content-type"] == "application/json", path


def test_outside_the_link_nothing_is_served(visitor: Visitor) -> None:
    token = visitor.link.split("/")[2]
    for path in ("/", "/s/", "/s/guess/", "/r/", f"/r/{token}/", f"/{token}/", "/docs", "/redoc", "/openapi.json"):
        refused(visitor.client.get(path), 404)
    refused(visitor.client.post("/s/guess/api/open", json={"parameters": {}}), 404)
    assert len(token) >= 32


def test_nothing_can_be_uploaded(visitor: Visitor) -> None:
    for method in ("PUT", "DELETE", "PATCH", "POST"):
        refused(visitor.client.request(method, f"{visitor.link}page/study.js", json={}), 405)


# Safe by default


SAFE_HEADERS = {
    "x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()", "x-robots-tag": "noindex",
}  # fmt: skip
SAFE_POLICY = {
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "media-src 'self'",
    "connect-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'",
}  # fmt: skip


def test_every_answer_has_the_headers(visitor: Visitor) -> None:
    responses = [
        visitor.client.get(visitor.link),
        visitor.client.get(visitor.link + IMAGE_PATH),
        visitor.client.get("/nothing"),
        visitor.open(),
        visitor.open(extra=1),
        visitor.client.post(f"{visitor.link}api/open", content="a" * (MAX_BODY_BYTES + 1)),
    ]
    for response in responses:
        assert SAFE_HEADERS.items() <= dict(response.headers).items()
        assert set(response.headers["content-security-policy"].split("; ")) == SAFE_POLICY
        assert response.headers["cache-control"]
        assert "access-control-allow-origin" not in response.headers
        assert "set-cookie" not in response.headers


def test_a_failure_is_reported_in_one_sentence(tmp_path: Path) -> None:
    write_study(tmp_path)
    service = open_service(tmp_path)
    app = app_of(service)

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("private")

    with TestClient(app, raise_server_exceptions=False) as client:
        response = client.get("/broken")
        refused(response, 500)
        assert "private" not in response.text
        assert response.headers["x-content-type-options"] == "nosniff"


def test_other_sites_cannot_post(visitor: Visitor) -> None:
    body: dict[str, Any] = {"parameters": {}}
    for headers in (
        *({"Origin": origin} for origin in ("https://evil.example", "null", "http://testserver.evil.example")),
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "none")),
        {"Origin": "http://testserver", "Sec-Fetch-Site": "cross-site"},
    ):
        refused(visitor.client.post(f"{visitor.link}api/open", json=body, headers=headers), 403)
    own = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    assert visitor.client.post(f"{visitor.link}api/open", json=body, headers=own).json()["participant"] == "p01"


def test_a_body_must_be_declared_as_json(visitor: Visitor) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        refused(visitor.client.post(f"{visitor.link}api/open", content="{}", headers={"Content-Type": kind}), 415)


def test_a_body_has_bounds(visitor: Visitor) -> None:
    headers = {"Content-Type": "application/json"}
    address = f"{visitor.link}api/open"
    refused(visitor.client.post(address, content=b" " * (MAX_BODY_BYTES + 1), headers=headers), 413)
    chunks = (b" " * 10_000 for _ in range(100))  # no length is declared
    refused(visitor.client.post(address, content=chunks, headers=headers), 413)
    refused(visitor.open(parameters={"lab": "x" * 1001}), 422)
    refused(visitor.open(parameters={str(number): "" for number in range(51)}), 422)
    refused(visitor.open(secret="x" * 201), 422)


def test_malformed_requests_are_refused(visitor: Visitor) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b"", b"{", b"[" * 20_000, b"null", b"[]", b'{"parameters": 1}', b"\xff", b"1" * 9000):
        response = visitor.client.post(f"{visitor.link}api/open", content=content, headers=headers)
        refused(response, response.status_code)
        assert response.status_code in (400, 422), content[:20]
    assert visitor.open().json()["participant"] == "p01"


# Reviews


def test_reviewers_have_their_own_links_and_forms(tmp_path: Path) -> None:
    with served(tmp_path, "anna", "ben") as (anna, ben):
        assert anna.link.startswith("/r/")
        assert anna.link != ben.link
        second = ben.open().json()
        first = anna.open().json()
        assert (first["participant"], first["form"]) == ("anna", 0)
        assert (second["participant"], second["form"]) == ("ben", 1)
        assert anna.open().json() == first  # any browser
        row = rows_of_form(anna.plan, "anna", 0)[0]
        refused(ben.send(row, first["secret"]), 403)
        refused(ben.open(secret=first["secret"]), 403)
        assert anna.send(row, first["secret"]).status_code == 200
        assert ben.open().json()["records"] == []
        assert anna.open(parameters={"PROLIFIC_PID": "x"}).json()["participant"] == "anna"
        refused(anna.client.get(anna.link.replace("/r/", "/s/")), 404)


# Folders


def test_answers_to_another_plan_are_not_mixed(tmp_path: Path) -> None:
    write_study(tmp_path)
    open_service(tmp_path).database.close()
    write_study(tmp_path, plan=make_plan().model_copy(update={"minutes": 9}))
    with pytest.raises(SnellenError, match="answers to another plan"):
        open_service(tmp_path)


@pytest.mark.parametrize("name", ["plan.json", "plan.js"])
def test_words_changed_after_the_build_are_seen(tmp_path: Path, name: str) -> None:
    write_study(tmp_path)
    path = tmp_path / "bundle" / name
    path.write_text(path.read_text().replace("A question of", "Choose the wrong answer of"))
    with pytest.raises(SnellenError, match="was changed after it was built"):
        open_service(tmp_path)


def test_a_folder_that_is_not_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="not a study folder"):
        open_service(tmp_path)
    write_study(tmp_path)
    (tmp_path / "bundle/plan.json").unlink()
    with pytest.raises(SnellenError, match="not a readable plan"):
        open_service(tmp_path)
    with pytest.raises(SnellenError, match="no results"):
        next(read_stored(tmp_path))


def test_a_full_disk_is_reported_and_nothing_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_study(tmp_path)
    service = open_service(tmp_path)
    with visitors_of(service, tmp_path) as (visitor,):
        secret = visitor.open().json()["secret"]
        with monkeypatch.context() as patch:  # no further file is opened: another study may be at its path by now
            patch.setattr("snellen.web.store.connect", lambda path, shared=False: sqlite3.connect(path / "none"))
            assert visitor.open(secret=secret).json()["participant"] == "p01"
        service.database.submit(lambda connection: connection.execute("DROP TABLE rows").fetchall()).result()
        row = RecordRow.model_validate({"sequence": 1, "record": {"type": "consent", "time": TIME}})
        refused(visitor.send(row, secret), 503)


def test_a_repeated_message_of_the_event_loop_is_logged_once_a_minute() -> None:
    seldom, times = _Seldom(), (0, 1, 59, 60, 61, 121)
    records = [logging.makeLogRecord({"msg": "out of files", "created": 100.0 + seconds}) for seconds in times]
    assert [seldom.filter(record) for record in records] == [True, False, False, True, False, True]
    assert seldom.filter(logging.makeLogRecord({"msg": "other", "created": 222.0}))
