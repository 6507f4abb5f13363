"""`snellen study simulate`: a subject takes a study on its real pages, and the results are imported.

The subject is asked in ordinary runs first; its answers are then entered on the pages by mouse, finger and keys. So the
exported table must equal the subject's own answers.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.exam.examination import Examination
from snellen.web.chromium import open_browser
from snellen.web.importing import import_study, read_results_of
from snellen.web.plan import Entry, Page, Question, StudyPlan
from snellen.web.server import http_server, open_service
from snellen.web.stand_ins import StandIn, make_stand_in
from snellen.web.store import read_stored
from snellen.web.study import RESULTS, read_plan, read_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

DESKTOP: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 3,
}
PATIENCE_MS = 30_000
CARD_PX, DISTANCE_CM = 324, 60
"""What simulated people calibrate: a card on a screen of 96 CSS pixels per inch, and an arm's length."""
SUBJECT_RUNS = "subject"


def simulate(root: Path, subject: str, people: int, out: Path, *, phone: bool = False) -> list[Examination]:
    """Let a subject take the study `people` times, and import the results. Its own runs are in `out/subject`.

    Raises SnellenError if the study has results already, or a reply has no answer that a page could record.
    """
    card, plan = read_study(root), read_plan(root)
    if (root / RESULTS).exists() and any(True for _ in read_stored(root)):
        raise SnellenError(f"{root}: has results already; simulate on a separate study (`snellen study build`)")
    stand_in = make_stand_in(card, subject, people, out / SUBJECT_RUNS)
    with running(root) as links, open_browser() as browser:
        if len(links) > 1 and people > len(links):
            raise SnellenError(f"{root}: a review by {len(links)} people; simulate at most as many")
        for person in range(people):
            take_part(browser, links[person % len(links)], plan, stand_in, person, phone=phone)
    return import_study(root, read_results_of(root, ()), out)


@contextmanager
def running(root: Path) -> Iterator[list[str]]:
    """Serve a study from this process and yield its addresses: its link, or those of its reviewers."""
    service = open_service(root)
    server = http_server(service)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield [link.address(base) for link in service.links]
    finally:
        server.should_exit = True
        thread.join()


def take_part(
    browser: Browser, address: str, plan: StudyPlan, stand_in: StandIn, person: int, *, phone: bool = False
) -> None:
    """Go through the pages of a study once, as person number `person` with that form."""
    context = browser.new_context(reduced_motion="reduce", **(PHONE if phone else DESKTOP))
    context.set_default_timeout(PATIENCE_MS)
    walk(context.new_page(), address, plan, stand_in, person, phone=phone)
    context.close()


def walk(tab: Tab, address: str, plan: StudyPlan, stand_in: StandIn, person: int, *, phone: bool = False) -> None:
    """Open an address in a tab and answer every page of the person's form, to the end."""
    tab.goto(address)
    pages = [plan.pages[page_id] for block in plan.forms[person % len(plan.forms)] for page_id in block.page_ids]
    for page in pages:
        to_page(tab, page.page_id)
        if page.kind != "example":
            _answer(tab, page, stand_in.answers(page, person), phone)
        if page.feedback is not None:
            is_wrong = tab.inner_text("#continue") == "Try again"
            tab.click("#continue")
            if is_wrong:  # practice
                to_page(tab, page.page_id)
                _answer(tab, page, page.feedback, phone)
                tab.click("#continue")
    tab.wait_for_selector("[data-screen=end]")


def _answer(tab: Tab, page: Page, entries: Mapping[str, Entry], phone: bool) -> None:
    for question in page.questions:
        field = tab.locator(f'[data-item-id="{question.item_id}"]')
        enter(tab, field, question, page, entries[question.item_id], phone=phone)
    tab.click("#next")


def to_page(tab: Tab, page_id: str) -> None:
    """Go to a page, past consent, instructions and the texts of blocks."""
    ready = f'[data-page-id="{page_id}"][data-ready]'
    calibrate = "#calibrate:enabled"  # it is not while the record is being stored
    words = f"[data-screen=consent] #consent, [data-screen=start] #start, [data-screen=block] #continue, {calibrate}"
    while True:
        tab.wait_for_selector(f"{ready}, {words}")
        if tab.query_selector(ready):
            return
        if tab.query_selector(calibrate):
            tab.fill("[data-field=card]", str(CARD_PX))
            tab.fill("[data-field=distance]", str(DISTANCE_CM))
        tab.click(words)


def enter(tab: Tab, field: Locator, question: Question, page: Page, entry: Entry, *, phone: bool) -> None:
    """Enter one answer with the widget of its kind."""
    if question.kind in ("choice", "true_false"):
        choice = field.locator(f"[data-name={json.dumps(str(entry), ensure_ascii=False)}]")
        (choice.tap if phone else choice.click)()
    elif question.kind == "colour" and isinstance(entry, list):
        for name, channel in zip(("red", "green", "blue"), entry, strict=True):
            field.locator(f'[data-field="{name}-number"]').fill(str(round(channel)))
    elif question.kind == "box" and isinstance(entry, list):
        _draw(tab, page, "box", entry)
    elif question.kind == "point" and isinstance(entry, list):
        _draw(tab, page, "point", [*entry, *entry])
    else:
        field.locator('[data-field="answer"]').fill(str(entry))


def _draw(tab: Tab, page: Page, name: str, box: list[float]) -> None:
    """Drag from corner to corner, or click where both are one; `box` is in pixels of the stored image."""
    surface = tab.locator(f'[data-page-id="{page.page_id}"] [data-field="{name}"]')
    surface.scroll_into_view_if_needed()
    image = surface.locator("img")
    frame = image.bounding_box()
    assert frame is not None, "the image is on the page"
    width, height = image.evaluate("image => [image.naturalWidth, image.naturalHeight]")
    (x1, y1), (x2, y2) = (
        (frame["x"] + x / width * frame["width"], frame["y"] + y / height * frame["height"])
        for x, y in (box[:2], box[2:])
    )
    tab.mouse.move(x1, y1)
    tab.mouse.down()
    tab.mouse.move(x2, y2, steps=3)
    tab.mouse.up()
