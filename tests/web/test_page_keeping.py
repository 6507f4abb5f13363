"""No answer of a participant is lost: returns, failures, and the three transports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from snellen.web.page import index_page
from snellen.web.plan import RecordRow, Texts
from tests.helpers.study_bundle import plan, write_bundle
from tests.helpers.study_tab import (
    JATOS,
    SITE,
    answers_of,
    begin,
    choose,
    press,
    rows_of_lines,
    serve,
    stored,
    tab,
    wait_for,
    wait_for_end,
    write,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route


def test_a_returning_participant_continues_after_the_last_answer(browser: Browser, tmp_path: Path) -> None:
    texts = Texts(title="A study", consent="May we?\n\nReally?")
    index = write_bundle(tmp_path, plan("choice", "integer", texts=texts))
    with tab(browser) as opened:
        opened.goto(index.as_uri())
        opened.wait_for_selector("#consent")
        assert opened.locator("#start").count() == 0  # no one continues without consent
        assert opened.locator("main p").all_text_contents()[:2] == ["May we?", "Really?"]
        press(opened, "#consent", "#start", "#continue")
        wait_for(opened, "choice")
        opened.click('[data-name="A"]')
        assert opened.locator("#place").text_content() == "Question 1 of 2"
        opened.click("#next")
        wait_for(opened, "integer")
        for text in ("", "four", "3.5"):  # nor without an answer
            opened.fill("[data-field=answer]", text)
            opened.click("#next")
            assert opened.locator(".complaint").text_content()
        opened.fill("[data-field=answer]", "3")  # typed, not sent
        opened.reload()
        assert "1 of 2" in (opened.locator("main").text_content() or "")
        press(opened, "#start", "#continue")
        wait_for(opened, "integer")
        assert opened.input_value("[data-field=answer]") == ""
        opened.fill("[data-field=answer]", "4")
        opened.click("#next")
        wait_for_end(opened)
        rows = stored(opened)
        opened.reload()
        wait_for_end(opened)
        assert stored(opened) == rows
    assert [row.record.type for row in rows] == ["start", "consent", "answers", "start", "answers", "end"]
    assert [row.sequence for row in rows] == list(range(6))
    assert answers_of(rows) == {"choice": "A", "integer": "4"}


STORED = "[...Object.entries(localStorage), ...Object.entries(sessionStorage)]"


def test_nothing_is_stored_before_consent(browser: Browser, tmp_path: Path) -> None:
    """Neither in the browser nor at a server; the code to withdraw by is shown before, and is that of the records."""
    texts = Texts(title="A study", consent="May we?", withdrawal="Write to a@b.c.")
    index = write_bundle(tmp_path / "files", plan("choice", texts=texts))
    with tab(browser) as opened:
        opened.goto(index.as_uri())
        opened.wait_for_selector("#consent")
        assert opened.evaluate(STORED) == []
        code = opened.inner_text("#own-code")
        assert f"Withdrawing your data: Write to a@b.c. Quote your code, {code}." in opened.inner_text("#study")
        press(opened, "#consent", "#start")
        rows = stored(opened)
        assert [row.record.type for row in rows] == ["start", "consent"]
        assert rows[0].plain()["record"]["code"] == code
        opened.click("#continue")
        choose(opened, "choice", "A")
        wait_for_end(opened)
        assert opened.inner_text("#own-code") == code
    write_bundle(tmp_path / "served", plan("choice", texts=texts), "local")
    server = Server()
    with tab(browser) as opened:
        serve(opened, tmp_path / "served", server)
        opened.goto(f"{SITE}?PROLIFIC_PID=abc")
        opened.wait_for_selector("#consent")
        assert (server.calls, opened.evaluate(STORED)) == ([], [])
        opened.click("#consent")
        opened.wait_for_selector("#start")
        assert server.calls[0][1] == {"parameters": {"PROLIFIC_PID": "abc"}, "consented": True}
        assert [row["record"]["type"] for row in server.rows] == ["start", "consent"]
        opened.reload()  # consent is asked once
        opened.wait_for_selector("#start")
        assert opened.inner_text("#own-code") == server.rows[0]["record"]["code"]
    write_bundle(tmp_path / "jatos", plan("choice", texts=texts), "jatos")
    (tmp_path / "jatos" / "jatos.js").write_text(JATOS)
    with tab(browser) as opened:
        serve(opened, tmp_path / "jatos")
        opened.goto(SITE)
        opened.wait_for_selector("#consent")
        assert opened.evaluate(STORED) == []
        opened.click("#consent")
        opened.wait_for_selector("#start")
        rows = json.loads(opened.evaluate("sessionStorage.getItem('jatos')"))["rows"].splitlines()
        assert [json.loads(row)["record"]["type"] for row in rows] == ["start", "consent"]


def test_who_declines_leaves_nothing_and_who_agrees_keeps_a_copy(browser: Browser, tmp_path: Path) -> None:
    texts = Texts(title="A study", consent="May we?", contact="a@b.c", debriefing="We compared\n\npeople and models.")
    write_bundle(tmp_path, plan("choice", texts=texts), "local")
    server = Server()
    with tab(browser, accept_downloads=True) as opened:
        serve(opened, tmp_path, server)
        opened.goto(SITE)
        opened.click("#refuse")
        opened.wait_for_selector("[data-screen=declined] #back")
        assert "No answer of yours was stored." in opened.inner_text("#study")
        assert (server.calls, opened.evaluate(STORED)) == ([], [])
        opened.click("#back")
        with opened.expect_download() as download:
            opened.click("#copy")
        copy, code = Path(download.value.path()).read_text("utf-8"), opened.inner_text("#own-code")
        assert copy.startswith("A study\n\nMay we?\n\nQuestions and complaints: a@b.c\n\n")
        assert (download.value.suggested_filename, code in copy) == ("consent.txt", True)
        press(opened, "#consent", "#start", "#continue")
        choose(opened, "choice", "A")
        wait_for_end(opened)
        assert "Thank you.\n\nAbout this study\n\nWe compared\n\npeople and models.\n\nYour code" in opened.inner_text(
            "#study"
        )


def test_on_a_shared_device_nobody_continues_for_somebody_else(browser: Browser, tmp_path: Path) -> None:
    texts = Texts(title="A study", consent="May we?")
    index = write_bundle(tmp_path, plan("choice", "integer", texts=texts)).as_uri()

    def answer_first(opened: Any) -> str:
        opened.wait_for_selector("#consent")
        code = str(opened.inner_text("#own-code"))
        for button in ("#consent", "#start", "#continue"):
            opened.click(button)
        choose(opened, "choice", "A")
        wait_for(opened, "integer")
        return code

    with tab(browser) as opened:
        opened.goto(f"{index}?participant=p07")
        answer_first(opened)
        opened.click("#pause")
        with opened.expect_download() as download:
            opened.click("#stop")
        wait_for_end(opened)
        rows = rows_of_lines(download.value.path().read_text("utf-8"))
        assert (download.value.suggested_filename, answers_of(rows)) == ("p07.jsonl", {"choice": "A"})
        assert "C1AB" not in opened.inner_text("body")
        opened.keyboard.press("Enter")  # the page that was left is deaf
        opened.reload()
        second = answer_first(opened)  # asked for consent, from the first question
        other = opened.context.new_page()  # the second one left: a third opens the study
        other.goto(index)
        other.wait_for_selector("#consent")
        other.fill("[data-field=code]", "nobody")
        other.click(".way-back button")
        assert other.inner_text(".way-back .complaint")
        other.fill("[data-field=code]", second.upper())
        other.click(".way-back button")
        other.wait_for_selector("#start")
        assert "1 of 2 questions are answered" in other.inner_text("#study")
        with other.expect_download() as download:
            other.click("#other")
        assert download.value.suggested_filename == f"{second}.jsonl"
        other.wait_for_selector("#consent")


def test_on_one_device_forms_are_taken_in_turn(browser: Browser, tmp_path: Path) -> None:
    study = plan("choice")
    study = study.model_copy(update={"forms": study.forms * 2})  # four
    index = write_bundle(tmp_path, study)
    index.write_text(index_page("A study", "folder", 2), encoding="utf-8")
    forms = []
    with tab(browser) as opened:
        opened.goto(index.as_uri())
        for _ in range(5):
            press(opened, "#start", "#continue")
            choose(opened, "choice", "A")
            wait_for_end(opened)
            name = opened.evaluate("sessionStorage.getItem(Object.keys(sessionStorage)[0])")
            row = opened.evaluate(f"localStorage.getItem('snellen/{study.plan_hash}/rows/{name}')").splitlines()[0]
            forms.append(json.loads(row)["record"]["form"])
            opened.click("#another")
    assert forms == [2, 3, 0, 1, 2]


@pytest.mark.slow
def test_a_second_window_loses_nothing(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice", "integer"))
    with tab(browser) as opened:
        begin(opened, f"{index.as_uri()}?participant=p07")
        wait_for(opened, "choice")
        other = opened.context.new_page()
        begin(other, f"{index.as_uri()}?participant=p07")
        choose(other, "choice", "C")
        wait_for(other, "integer")
        press(opened, '[data-name="A"]', "#next")
        opened.wait_for_selector("#again:visible")
        assert "another window" in opened.locator("#message-text").text_content()  # type: ignore[operator]
        rows = stored(opened)
        press(opened, "#again", "#start", "#continue")
        wait_for(opened, "integer")
    assert answers_of(rows) == {"choice": "C"}
    assert [row.sequence for row in rows] == [0, 1, 2]


@pytest.mark.slow
def test_an_image_that_fails_is_tried_again(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan("choice"))
    with tab(browser) as opened:
        serve(opened, tmp_path)
        opened.route(f"{SITE}media/**", lambda route: route.abort())
        begin(opened, SITE)
        opened.wait_for_selector("#again:visible")
        assert "media/scene.png" in opened.locator("#message-text").text_content()  # type: ignore[operator]
        opened.unroute(f"{SITE}media/**")
        opened.click("#again")
        wait_for(opened, "choice")
        assert opened.locator("#message").is_hidden()


class Server:
    """A stand-in for the server of `snellen study serve`: stores rows and fails as requested."""

    def __init__(self) -> None:
        self.rows = list[dict[str, Any]]()
        self.calls = list[tuple[str, dict[str, Any], str]]()
        self.failures = list[str]()

    def __call__(self, route: Route) -> None:
        """Answers one request."""
        path = urlsplit(route.request.url).path
        body = json.loads(route.request.post_data or "{}")
        self.calls.append((path, body, route.request.headers.get("x-snellen-secret", "")))
        if path == "/api/open":
            opened = {"participant": "p01", "secret": "s3", "form": 1, "records": self.rows}
            route.fulfill(json={**opened, "completion": self.completion()})
            return
        failure = self.failures.pop(0) if self.failures else ""
        if failure != "refuse" and body["sequence"] == len(self.rows):
            self.rows.append(body)
        if failure == "lose":  # stored, but the reply is lost
            route.abort()
        elif failure:
            route.fulfill(status=413, json={"detail": "The disc is full."})
        else:
            route.fulfill(json={"sequence": body["sequence"], "completion": self.completion()})

    def completion(self) -> dict[str, str]:
        """As the server sends it: empty before the end."""
        ended = any(row["record"]["type"] == "end" for row in self.rows)
        return {"code": "C1AB", "url": "https://example.org/"} if ended else {"code": "", "url": ""}


def test_answers_reach_a_failing_server_once(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan("choice", "integer"), "local")
    server = Server()
    with tab(browser) as opened:
        serve(opened, tmp_path, server)
        begin(opened, f"{SITE}?PROLIFIC_PID=abc&{'x' * 201}=1")
        wait_for(opened, "choice")
        opened.click('[data-name="A"]')
        server.failures = ["refuse", "refuse"]
        opened.click("#next")
        opened.wait_for_selector("#again:visible")
        assert "The disc is full." in opened.locator("#message-text").text_content()  # type: ignore[operator]
        assert opened.locator("[data-page-id=integer]").count() == 0
        press(opened, "#again", "#again")
        wait_for(opened, "integer")
        server.failures = ["lose"]
        opened.fill("[data-field=answer]", "4")
        opened.click("#next")
        for _ in range(2):
            wait_for_end(opened)
            assert opened.locator("#code").text_content() == "C1AB"
            assert opened.get_attribute("#completion", "href") == "https://example.org/"
            opened.reload()
    rows = [RecordRow.model_validate(row) for row in server.rows]
    assert [row.record.type for row in rows] == ["start", "answers", "answers", "end"]
    assert answers_of(rows) == {"choice": "A", "integer": "4"}
    assert [row.sequence for row in rows] == [0, 1, 2, 3]
    (_, first, _), *_, (path, last, _) = server.calls
    assert first == {"parameters": {"PROLIFIC_PID": "abc"}}
    assert (path, last) == ("/api/open", {**first, "participant": "p01", "secret": "s3"})
    assert {secret for path, _, secret in server.calls if path == "/api/records"} == {"s3"}


def test_a_personal_link_continues_on_another_device(browser: Browser, tmp_path: Path) -> None:
    """The code of the person is known when their rows have come: the page of consent shows no other."""
    write_bundle(tmp_path, plan("choice", texts=Texts(title="A study", consent="May we?")), "local")
    for address, is_personal in ((f"{SITE}#continue=s3", True), (SITE, False)):
        server = Server()
        with tab(browser) as opened:
            serve(opened, tmp_path, server)
            opened.goto(SITE)
            opened.wait_for_selector("#consent")
            opened.goto(address)  # in the same tab
            opened.wait_for_selector("#consent", state="attached")
            opened.wait_for_function("() => !location.hash && document.querySelector('#consent')")
            assert (opened.locator("#own-code").count() == 0) is is_personal
            assert ("Quote your code" in opened.inner_text("body")) is not is_personal
            if is_personal:
                opened.click("#consent")
                opened.wait_for_selector("#own-code")  # the server has no consent of theirs: asked again, with it
                assert opened.evaluate("location.hash") == "", "the secret leaves the address bar"
                assert server.calls[0][1] == {"parameters": {}, "secret": "s3"}
                assert json.loads(opened.evaluate("Object.values(localStorage)[0]"))["secret"] == "s3"


def test_an_answer_that_is_being_saved_is_stored_before_the_study_is_stopped(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan("choice", "integer"), "jatos")
    slow = "async (text) => { if (text.includes('answers')) await new Promise((done) => setTimeout(done, 500));"
    (tmp_path / "jatos.js").write_text(
        JATOS.replace("appendResultData: async (text) => {", f"appendResultData: {slow}")
    )
    with tab(browser) as opened:
        serve(opened, tmp_path)
        begin(opened, SITE)
        choose(opened, "choice", "A")
        press(opened, "#pause", "#stop")
        wait_for_end(opened)
        rows = rows_of_lines(json.loads(opened.evaluate("sessionStorage.getItem('jatos')"))["rows"])
    assert [(row.sequence, row.record.type) for row in rows] == [(0, "start"), (1, "answers"), (2, "stop")]


def test_jatos_stores_rows_and_returns_them(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan("choice", "integer"), "jatos")
    (tmp_path / "jatos.js").write_text(JATOS)
    with tab(browser) as opened:
        serve(opened, tmp_path)
        begin(opened, SITE)
        choose(opened, "choice", "A")
        wait_for(opened, "integer")
        opened.reload()
        press(opened, "#start", "#continue")
        write(opened, "integer", "4")
        wait_for_end(opened)
        storage = json.loads(opened.evaluate("sessionStorage.getItem('jatos')"))
    rows = rows_of_lines(storage["rows"])
    assert [row.record.type for row in rows] == ["start", "answers", "start", "answers", "end"]
    assert answers_of(rows) == {"choice": "A", "integer": "4"}
    start = rows[0].plain()["record"]
    assert (start["form"], start["participant"]) == (1, "jatos-41")  # 41 modulo 2 forms
    assert start["parameters"] == {"PROLIFIC_PID": "abc"}
    assert storage["ended"] == 1
