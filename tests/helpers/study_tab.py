"""Tabs that show a study: opening, waiting for pages, drawing, and recorded rows."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from snellen.web.plan import Entry, PageAnswers, RecordRow
from snellen.web.record_lines import parse_line

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route
    from playwright.sync_api import Page as Tab

SITE = "http://study.test/"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
LIMIT = 60_000
"""Timeout for elements of the page in milliseconds."""
JATOS = """
const kept = JSON.parse(sessionStorage.getItem("jatos") ?? '{"rows": "", "session": {}, "ended": 0}');
const keep = () => sessionStorage.setItem("jatos", JSON.stringify(kept));
window.jatos = {
  onLoad: (ready) => setTimeout(ready, 10), studyResultId: 41,
  urlQueryParameters: { PROLIFIC_PID: "abc", long: "x".repeat(600) },
  studySessionData: kept.session,
  appendResultData: async (text) => { kept.rows += text; keep(); },
  setStudySessionData: async (session) => { kept.session = session; keep(); },
  endStudyAjax: async () => { kept.ended += 1; keep(); },
};
"""
"""The part of jatos.js that the page uses, from https://www.jatos.org/jatos.js-Reference.html."""


@contextmanager
def tab(browser: Browser, **options: Any) -> Iterator[Tab]:
    """A new tab; the test fails for script errors and violations of the page's policy."""
    context = browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(LIMIT)
    opened, troubles = context.new_page(), list[str]()
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("console", lambda message: troubles.append(message.text) if "Policy" in message.text else None)
    yield opened
    context.close()
    assert not troubles, troubles


def serve(opened: Tab, folder: Path, api: Callable[[Route], None] | None = None) -> None:
    """Answers requests to `SITE` from a bundle's folder, and those to its `api/` by the function."""

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path.lstrip("/") or "index.html"
        if path.startswith("api/") and api:
            api(route)
        elif (folder / path).is_file():
            content = mimetypes.guess_type(path)[0] or "text/plain"
            route.fulfill(body=(folder / path).read_bytes(), content_type=content)
        else:
            route.fulfill(status=404)

    opened.route(f"{SITE}**", answer)


def begin(opened: Tab, address: str) -> None:
    """Open a study and continue to its first page."""
    opened.goto(address)
    press(opened, "#start", "#continue")


def press(opened: Tab, *buttons: str) -> None:
    """Press buttons one after the other, by their selectors."""
    for button in buttons:
        opened.click(button)


def choose(opened: Tab, page_id: str, name: str) -> None:
    """Answer a page with one question by a choice."""
    wait_for(opened, page_id)
    press(opened, f'[data-name="{name}"]', "#next")


def write(opened: Tab, page_id: str, text: str) -> None:
    """Answer a page with one question by a text."""
    wait_for(opened, page_id)
    opened.fill("[data-field=answer]", text)
    opened.click("#next")


def wait_for(opened: Tab, page_id: str) -> None:
    """Wait until a page is painted and its clock runs."""
    opened.wait_for_selector(f'[data-page-id="{page_id}"][data-ready]')


def wait_for_end(opened: Tab) -> None:
    opened.wait_for_selector("[data-screen=end]")


def stored(opened: Tab) -> list[RecordRow]:
    """The rows that the folder transport has stored in the browser."""
    text = opened.evaluate("localStorage.getItem(Object.keys(localStorage).find((key) => key.includes('/rows/')))")
    return rows_of_lines(text)


def rows_of_lines(text: str) -> list[RecordRow]:
    """The rows of lines that a page wrote, each with the checksum that Python computes."""
    rows = [parse_line(line, needs_checksum=True) for line in text.splitlines()]
    assert not [row for row in rows if isinstance(row, str)], text
    return [row for row in rows if isinstance(row, RecordRow)]


def pages_of(rows: list[RecordRow]) -> list[PageAnswers]:
    return [row.record for row in rows if isinstance(row.record, PageAnswers)]


def answers_of(rows: list[RecordRow]) -> dict[str, Entry]:
    return {item_id: answer for record in pages_of(rows) for item_id, answer in record.answers.items()}


def drag(opened: Tab, corners: tuple[float, float, float, float], *, touch: bool = False) -> None:
    """Draws a box at corners in pixels of the stored image, which is 600 wide."""
    image = opened.locator(".surface img")
    image.scroll_into_view_if_needed()
    frame = image.bounding_box()
    assert frame
    scale = frame["width"] / 600
    start, stop = (
        {"x": frame["x"] + x * scale, "y": frame["y"] + y * scale}
        for x, y in (corners[:2], corners[2:])
    )  # fmt: skip
    if touch:
        session = opened.context.new_cdp_session(opened)
        for kind, points in (("touchStart", [start]), ("touchMove", [stop]), ("touchEnd", [])):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        return
    opened.mouse.move(start["x"], start["y"])
    opened.mouse.down()
    opened.mouse.move(stop["x"], stop["y"], steps=3)
    opened.mouse.up()
