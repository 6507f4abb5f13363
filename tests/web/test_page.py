"""The page of a study in a real browser: every kind of reply, by mouse, touch and keys, and the clock."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from snellen import __version__
from snellen.scoring.metrics import anls, ciede2000
from snellen.web.page import Transport, index_page
from snellen.web.plan import Choice, MediaPart, RecordRow, Term, TextPart
from tests.goldens.golden import assert_golden
from tests.helpers.study_bundle import PAGES, TILES, page, plan, practice_of, question, write_bundle
from tests.helpers.study_tab import (
    PHONE,
    SITE,
    answers_of,
    begin,
    choose,
    drag,
    pages_of,
    press,
    rows_of_lines,
    serve,
    stored,
    tab,
    wait_for,
    wait_for_end,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab


def walk(opened: Tab, *, touch: bool) -> None:
    """Answers a page of every kind by mouse or by touch."""
    press = opened.tap if touch else opened.click

    def choose(page_id: str, name: str) -> None:
        wait_for(opened, page_id)
        press(f'[data-name="{name}"]')
        press("#next")

    def write(page_id: str, text: str) -> None:
        wait_for(opened, page_id)
        opened.fill("[data-field=answer]", text)
        press("#next")

    choose("choice", "B")
    choose("tiles", "3")
    choose("sets", "1")
    choose("truth", "F")
    wait_for(opened, "integer")
    for button in ("plus", "plus", "plus", "minus"):
        press(f"[data-field={button}]")
    press("#next")
    write("number", " 3,50 ")
    wait_for(opened, "text")
    opened.fill("[data-field=reason]", "in large letters")
    half = "field => { field.value += String.fromCharCode(0xd83d) }"  # of an emoji, which a paste may cut in two
    opened.locator("[data-field=reason]").evaluate(half)
    write("text", "OPEN")
    write("description", "A square.\nA disc.")
    wait_for(opened, "colour")
    opened.fill("[data-field=red]", "200")
    opened.fill("[data-field=green-number]", "41")
    press("#next")
    wait_for(opened, "box")
    drag(opened, (340, 100, 520, 280), touch=touch)
    press("#next")
    wait_for(opened, "point")
    drag(opened, (430, 190, 430, 190), touch=touch)
    press("#next")
    wait_for(opened, "several")
    opened.fill('[data-item-id="count"] [data-field=answer]', "1")
    press('[data-item-id="keep"] [data-name="drop"]')
    press("#next")
    wait_for_end(opened)


KINDS = tuple(entry.page_id for entry in PAGES if entry.kind == "question")
EXPECTED = {
    "choice": "B", "tiles": "3", "sets": "1", "true_false": "F", "integer": "2", "number": "3.50", "text": "OPEN",
    "description": "A square.\nA disc.", "colour": [200, 41, 128], "count": "1", "keep": "drop",
}  # fmt: skip
BOX = (340, 100, 520, 280)


def check_kinds(rows: list[RecordRow]) -> None:
    answers = answers_of(rows)
    assert answers.pop("box") == pytest.approx(BOX, abs=1)
    assert answers.pop("point") == pytest.approx((430, 190), abs=1)
    assert answers == EXPECTED
    assert [row.sequence for row in rows] == list(range(len(KINDS) + 2))
    assert [record.page_id for record in pages_of(rows)] == list(KINDS)
    assert [record.position for record in pages_of(rows)] == list(range(len(KINDS)))
    assert next(record for record in pages_of(rows) if record.page_id == "text").reasons == {
        "text": "in large letters\ufffd"
    }


STYLES = """image => {
  const styles = [];
  for (let one = image; one; one = one.parentElement) styles.push(getComputedStyle(one));
  return styles.map((style) => `${style.filter} ${style.opacity}`);
}"""
"""Filter and opacity of an image and of its ancestors."""


def test_every_kind_by_mouse_from_a_file(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan(*KINDS))
    with tab(browser) as opened:
        begin(opened, f"{index.as_uri()}?participant=p07&form=1&source=hall&token={'x' * 2000}")
        wait_for(opened, "choice")
        opened.hover(".image")
        assert set(opened.locator(".image img").evaluate(STYLES)) == {"none 1"}
        with opened.expect_download() as download:
            walk(opened, touch=False)
        rows = stored(opened)
        lines = download.value.path().read_text("utf-8").splitlines()
        assert rows_of_lines("\n".join(lines)) == rows
        assert download.value.suggested_filename == "p07.jsonl"
    check_kinds(rows)
    start = rows[0].plain()["record"]
    assert (start["participant"], start["form"], start["parameters"]["source"]) == ("p07", 1, "hall")
    assert "token" not in start["parameters"], "an import refuses a start that is too large"
    assert start["plan_hash"] == plan(*KINDS).plan_hash


def test_every_kind_by_touch_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan(*KINDS))
    with tab(browser, **PHONE) as opened:
        serve(opened, tmp_path)
        begin(opened, SITE)
        wait_for(opened, "choice")
        assert opened.locator(".stage img").evaluate("image => image.clientWidth") < 390
        walk(opened, touch=True)
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
        check_kinds(stored(opened))


AGAIN_MS = 450
"""Milliseconds after which the same key counts again on a new screen."""
KEYS = "all => all.map((one) => one.getAttribute('aria-keyshortcuts'))"


def test_keys_only_are_enough(browser: Browser, tmp_path: Path) -> None:
    names = ("(A) one", "2. two", "10. ten", "maple", "birch", "beech")
    labels = page("labels", question("choice", "labels", choices=[Choice(name=name) for name in names]))
    index = write_bundle(
        tmp_path, plan("practice", "choice", "tiles", "integer", "box", "labels", "several", changes=(labels,))
    )
    with tab(browser) as opened:
        keys = opened.keyboard

        def confirm() -> None:
            """Press Enter, long enough after the key before to be meant for this screen."""
            opened.wait_for_timeout(AGAIN_MS)
            keys.press("Enter")

        opened.goto(index.as_uri())
        opened.wait_for_selector("#start")
        confirm()
        opened.wait_for_selector("#continue")
        confirm()
        wait_for(opened, "practice")
        keys.press("b")
        confirm()
        opened.wait_for_selector("#continue")
        assert opened.locator(".right").count() == 0, "it may be tried again"
        confirm()
        wait_for(opened, "practice")
        keys.press("a")
        confirm()
        opened.wait_for_selector("[data-right=true]")
        confirm()
        wait_for(opened, "choice")
        keys.press("a")
        keys.press("c")
        keys.press("c")  # again: confirmed
        wait_for(opened, "tiles")
        assert opened.locator("[data-name]").evaluate_all(KEYS) == ["1", "2", "3", "4"]
        keys.press("ArrowRight")
        keys.press("ArrowRight")
        confirm()
        wait_for(opened, "integer")
        keys.type("7")
        keys.press("ArrowUp")
        confirm()
        wait_for(opened, "box")
        opened.focus(".surface")
        keys.press("ArrowDown")  # the middle half of 600 x 400: (150, 100, 450, 300)
        keys.press("ArrowRight")  # a fiftieth of 600: 12
        keys.press("Shift+ArrowDown")
        keys.press("Control+ArrowUp")  # one
        confirm()
        wait_for(opened, "labels")
        assert opened.locator("[data-name]").evaluate_all(KEYS) == ["a", "2", None, "m", None, None]
        keys.press("m")
        keys.press("m")
        wait_for(opened, "several")
        keys.press("k")
        opened.focus("[data-field=answer]")
        keys.type("2")
        confirm()
        wait_for_end(opened)
        answers = answers_of(stored(opened))
    assert answers == {
        "practice": "B", "choice": "C", "tiles": "2", "integer": "8", "box": [162, 99, 462, 311], "labels": "maple",
        "count": "2", "keep": "keep",
    }  # fmt: skip


@pytest.mark.slow
def test_a_box_is_adjusted_and_stays_in_the_image(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("box"))
    with tab(browser) as opened:
        begin(opened, index.as_uri())
        wait_for(opened, "box")
        drag(opened, (400, 300, 100, 100))  # from the lower right
        drag(opened, (400, 300, 450, 350))  # its handle
        drag(opened, (200, 200, 150, 180))  # its inside: 50 to the left, 20 up
        drag(opened, (500, 20, 500, 20))  # a click outside is no box
        opened.click("#next")
        wait_for_end(opened)
        box = answers_of(stored(opened))["box"]
        press(opened, "#another", "#start", "#continue")
        wait_for(opened, "box")
        drag(opened, (300, 200, 900, 900))
        opened.click("#next")
        wait_for_end(opened)
        key = opened.evaluate("Object.keys(localStorage).filter((key) => key.includes('/rows/')).length")
        report = opened.evaluate(
            "Object.values(localStorage).filter((text) => text.includes('[300,200,600,400]')).length"
        )
    assert box == pytest.approx([50, 80, 400, 330], abs=1)
    assert (key, report) == (2, 1)


@pytest.mark.slow
def test_a_video_starts_with_the_clock(browser: Browser, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    part = MediaPart(path="media/bar.mp4", kind="video", width=160, height=120, seconds=1)
    index = write_bundle(tmp_path, plan("choice", changes=(PAGES[1].model_copy(update={"parts": (part, TILES[0])}),)))
    with av.open(tmp_path / part.path, "w") as file:
        stream = file.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = part.width, part.height, "yuv420p"
        frames = [av.VideoFrame.from_image(Image.new("RGB", (160, 120), (25 * n, 0, 0))) for n in range(10)]
        file.mux([packet for frame in (*frames, None) for packet in stream.encode(frame)])
    with browser.new_context() as context:
        opened = context.new_page()
        begin(opened, index.as_uri())
        wait_for(opened, "choice")
        ended = "video => video.ended || new Promise((resolve) => video.addEventListener('ended', resolve))"
        opened.locator("video").evaluate(ended)
        assert (
            opened.locator("video").evaluate("video => [video.muted, video.controls, video.playsInline]") == [True] * 3
        )
        opened.locator("video").evaluate("video => video.play()")
        opened.locator("video").evaluate(ended)
        press(opened, '[data-name="A"]', "#next")
        wait_for_end(opened)
        (record,) = pages_of(stored(opened))
    assert record.seconds >= 1


@pytest.mark.slow
def test_labels_are_next_to_their_media_in_the_order_of_parts(browser: Browser, tmp_path: Path) -> None:
    """A long text between media, which the plan does not call a label, leaves all in their order, without tiles."""
    long = TextPart(text="Example of " + "x " * 30)
    pages = tuple(
        PAGES[1].model_copy(update={"page_id": name, "parts": parts})
        for name, parts in (
            ("before", (TextPart(text="A:"), TILES[0], TextPart(text="B:"), TILES[1], TILES[2], TextPart(text="?"))),
            ("after", (TextPart(text="x" * 60), TILES[0], TextPart(text="cat"), TILES[1], TextPart(text="dog"))),
            ("long", (long.model_copy(update={"is_label": True}), TILES[0], TextPart(text="dog:"), TILES[1])),
            ("mixed", (TextPart(text="cat:"), TILES[0], long, TILES[1], TextPart(text="bird:"), TILES[2])),
        )
    )
    index = write_bundle(tmp_path, plan("before", "after", "long", "mixed", changes=pages))
    tiles = "all => all.map((tile) => [tile.textContent, tile.querySelectorAll('img').length])"
    with tab(browser, viewport={"width": 1400, "height": 900}) as opened:
        begin(opened, index.as_uri())
        wait_for(opened, "before")
        assert opened.locator(".tiles > *").evaluate_all(tiles) == [["A:", 1], ["B:", 2], ["?", 0]]
        opened.keyboard.press("a")
        opened.keyboard.press("a")
        wait_for(opened, "after")
        assert opened.locator(".tiles > *").evaluate_all(tiles) == [["cat", 1], ["dog", 1]]
        tops = opened.locator(".tiles img").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert tops[0] == tops[1]
        press(opened, '[data-name="A"]', "#next")
        wait_for(opened, "long")
        assert opened.locator(".tiles > *").evaluate_all(tiles) == [[long.text.strip(), 1], ["dog:", 1]]
        press(opened, '[data-name="A"]', "#next")
        wait_for(opened, "mixed")
        assert opened.locator(".tiles").count() == 0
        order = "all => all.map((part) => part.tagName === 'IMG' ? 'image' : part.textContent.trim())"
        texts = opened.locator(".parts p.part, .parts img").evaluate_all(order)
        assert texts[:6] == ["cat:", "image", long.text.strip(), "image", "bird:", "image"]


@pytest.mark.slow
def test_practice_shows_the_right_point_and_keys_move_it(browser: Browser, tmp_path: Path) -> None:
    practice = practice_of("point", [300.0, 200.0]).model_copy(update={"tolerance": 10.0})
    index = write_bundle(tmp_path, plan("point", changes=(practice,)))
    with tab(browser) as opened:
        begin(opened, index.as_uri())
        wait_for(opened, "point")
        opened.click("#next")
        assert "click on the image" in opened.locator(".complaint").inner_text()
        drag(opened, (320, 200, 320, 200))
        opened.click("#next")
        opened.wait_for_selector("[data-right=false]")
        opened.click("#continue")
        wait_for(opened, "point")
        drag(opened, (295, 200, 295, 200))
        opened.keyboard.press("Control+ArrowRight")
        opened.click("#next")
        opened.wait_for_selector("[data-right=true]")
        assert opened.locator(".cross.right").count() == 1
        opened.click("#continue")
        wait_for_end(opened)
        rows = stored(opened)
    assert {row.page_id: row.attempts for row in pages_of(rows)} == {"point": 2}


@pytest.mark.slow
def test_practice_shows_the_right_box_and_colour(browser: Browser, tmp_path: Path) -> None:
    box, colour = practice_of("box", [10, 20, 300, 220]), practice_of("colour", [255, 0, 0])
    other = box.model_copy(update={"page_id": "other-box"})
    index = write_bundle(tmp_path, plan("box", "other-box", "colour", "choice", changes=(box, other, colour)))
    with tab(browser) as opened:

        def answer(page_id: str, *corners: float, right: bool = False) -> None:
            wait_for(opened, page_id)
            drag(opened, corners)  # type: ignore[arg-type]
            opened.click("#next")
            opened.wait_for_selector(f"[data-right={str(right).lower()}]")

        begin(opened, index.as_uri())
        answer("box", 100, 100, 200, 200)
        assert opened.locator(".box.right").count() == 0
        opened.click("#continue")
        answer("box", 20, 25, 290, 215, right=True)
        for _ in range(3):
            opened.click("#continue")
            answer("other-box", 100, 100, 200, 200)
        right = opened.wait_for_selector(".box.right")
        assert right
        assert right.evaluate("box => [box.style.left, box.style.width]") == ["1.66667%", "48.3333%"]
        opened.click("#continue")
        wait_for(opened, "colour")
        opened.locator("[data-field=picker]").fill("#102030")
        press(opened, "#next", "#continue")  # colours are not right or wrong
        wait_for(opened, "choice")
        rows = stored(opened)
    assert answers_of(rows)["colour"] == [16, 32, 48]
    assert {row.page_id: row.attempts for row in pages_of(rows)} == {"box": 2, "other-box": 3, "colour": 1}


def test_practice_is_passed_by_right_answers_only_and_ends_after_three(browser: Browser, tmp_path: Path) -> None:
    text = practice_of("text", "OPEN").model_copy(update={"tolerance": 0.8})
    word = practice_of("description", "STOP").model_copy(
        update={"page_id": "word", "questions": (question("text", "word"),), "feedback": {"word": "STOP"}}
    )
    word = word.model_copy(update={"accepted": {"word": ("halt",)}})
    colour = practice_of("colour", [255, 0, 0]).model_copy(update={"tolerance": 15.0})
    changes = (text, word, colour, practice_of("integer", "4"))
    index = write_bundle(tmp_path, plan("text", "word", "colour", "integer", "choice", changes=changes))
    with tab(browser) as opened:
        begin(opened, index.as_uri())

        def attempt(page_id: str, field: str, answer: str) -> str:
            wait_for(opened, page_id)
            opened.fill(f"[data-field={field}]", answer)
            opened.click("#next")
            label, feedback = opened.inner_text("#continue"), opened.inner_text(".feedback")
            if page_id == "integer":
                assert ("The right answer: 4" in feedback) is (label == "Continue"), "shown after the last attempt"
            opened.click("#continue")
            return label

        labels = [attempt("text", "answer", answer) for answer in ("SHUT", "ope", "open")]
        assert labels == ["Try again", "Try again", "Continue"]
        assert attempt("word", "answer", "“Halt”") == "Continue"
        assert attempt("colour", "picker", "#00ff00") == "Try again"
        assert attempt("colour", "picker", "#f50a00") == "Continue"
        assert [attempt("integer", "answer", "5") for _ in range(3)] == ["Try again", "Try again", "Continue"]
        wait_for(opened, "choice")
        records = {record.page_id: record for record in pages_of(stored(opened))}
    attempts = {"text": 3, "word": 1, "colour": 2, "integer": 3}
    assert {name: record.attempts for name, record in records.items()} == attempts
    assert {name for name, record in records.items() if not record.passed} == {"integer"}
    assert records["integer"].answers == {"integer": "5"}


def test_the_page_measures_texts_and_colours_as_the_metrics_do(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice"))
    rng = np.random.default_rng(0)
    colours = [*rng.integers(0, 256, (200, 2, 3)).tolist(), [[0, 0, 0], [255, 255, 255]], [[9, 9, 9], [200, 0, 3]]]
    words = ["", "open", "Open  House", "OPEN HOUSE.", "stop", "tops", "grün", "a b"]
    texts = [[text, right] for text in words for right in words]
    with tab(browser) as opened:
        opened.goto(index.as_uri())
        differences = opened.evaluate("pairs => pairs.map((pair) => Snellen.colourDifference(...pair))", colours)
        similarities = opened.evaluate("pairs => pairs.map((pair) => Snellen.similarity(...pair))", texts)
    assert differences == pytest.approx([ciede2000(*pair) for pair in colours], abs=1e-9)
    assert similarities == pytest.approx([anls(*pair) for pair in texts])


def test_a_key_pressed_twice_ends_one_screen_only(browser: Browser, tmp_path: Path) -> None:
    """Also a key that is held, which the browser repeats."""
    example = practice_of("integer", "4").model_copy(update={"kind": "example"})
    index = write_bundle(tmp_path, plan("integer", "tiles", "choice", "sets", changes=(example,)))
    with tab(browser) as opened:
        keys = opened.keyboard
        opened.goto(index.as_uri())
        opened.wait_for_selector("#start")
        keys.press("Enter")
        keys.press("Enter")
        opened.wait_for_timeout(AGAIN_MS)
        assert opened.get_attribute("body", "data-screen") == "block"
        for _ in range(9):
            keys.down("Enter")
            opened.wait_for_timeout(80)
        assert opened.get_attribute("[data-page-id]", "data-page-id") == "integer"
        keys.up("Enter")
        opened.wait_for_timeout(AGAIN_MS)
        keys.press("Enter")
        wait_for(opened, "tiles")
        keys.press("2")
        opened.wait_for_timeout(AGAIN_MS)
        keys.press("2")
        opened.wait_for_selector("[data-page-id=choice]")
        keys.press("2")
        wait_for(opened, "choice")
        keys.press("b")
        keys.press("b")
        opened.wait_for_selector("[data-page-id=sets]")
        keys.press("b")
        opened.wait_for_timeout(AGAIN_MS)
        assert answers_of(stored(opened)) == {"integer": None, "tiles": "2", "choice": "B"}


def test_an_example_has_its_answer_and_asks_nothing_and_pages_say_what_enlarges(
    browser: Browser, tmp_path: Path
) -> None:
    examples = practice_of("box", [10, 20, 300, 220]), practice_of("integer", "4")
    changes = tuple(page.model_copy(update={"kind": "example"}) for page in examples)
    index = write_bundle(tmp_path, plan("box", "integer", "choice", "sets", changes=changes))
    with tab(browser, viewport={"width": 1400, "height": 900}) as opened:
        begin(opened, index.as_uri())
        opened.wait_for_selector("#continue")
        assert "drag" not in opened.inner_text("#study").lower()
        assert "No box yet" not in opened.inner_text("#study")
        drag(opened, (100, 100, 200, 200))
        assert opened.locator(".box:not(.right)").is_hidden()
        assert "enlarge" not in opened.inner_text("#study")
        opened.click("#continue")
        opened.wait_for_selector("[data-page-id=integer] .feedback")
        assert "The right answer: 4" in opened.inner_text(".feedback")
        assert "Not right" not in opened.inner_text(".feedback")
        assert opened.locator("#next").count() == 0
        opened.click("#continue")
        wait_for(opened, "choice")
        assert answers_of(stored(opened))["integer"] is None
        assert "Press an image to enlarge it." in opened.inner_text("#study")
        width = opened.locator(".image img").evaluate("image => image.clientWidth")
        opened.click(".image")
        assert opened.locator("#zoom img").evaluate("image => image.clientWidth") > 1.05 * width


def test_when_the_time_is_up_the_current_answer_counts(browser: Browser, tmp_path: Path) -> None:
    several = next(entry for entry in PAGES if entry.page_id == "several").model_copy(update={"seconds": 300.0})
    index = write_bundle(tmp_path, plan("several", changes=(several,)))
    with tab(browser) as opened:
        opened.clock.install()
        begin(opened, index.as_uri())
        wait_for(opened, "several")
        opened.click('[data-name="keep"]')
        opened.clock.fast_forward(200_000)
        left = opened.locator("#time").text_content() or ""
        opened.click("#pause")
        opened.clock.fast_forward(600_000)
        opened.click("#resume")
        opened.clock.fast_forward(110_000)
        wait_for_end(opened)
        (record,) = pages_of(stored(opened))
    assert record.answers == {"count": None, "keep": "keep"}
    assert 0 < int(left.removesuffix(" s left")) <= 100
    assert 300 <= record.seconds < 600 <= record.hidden


def test_an_enlarged_image_is_closed_when_the_time_of_its_page_is_up(browser: Browser, tmp_path: Path) -> None:
    pages = (next(entry for entry in PAGES if entry.page_id == name) for name in ("choice", "tiles"))
    timed = tuple(page.model_copy(update={"seconds": 30.0}) for page in pages)
    index = write_bundle(tmp_path, plan("choice", "tiles", changes=timed))
    with tab(browser) as opened:
        opened.clock.install()
        begin(opened, index.as_uri())
        wait_for(opened, "choice")
        opened.click(".image img")
        assert opened.evaluate("document.getElementById('zoom').open")
        opened.clock.fast_forward(31_000)
        wait_for(opened, "tiles")
        assert not opened.evaluate("document.getElementById('zoom').open")


def test_a_pause_covers_the_question_and_is_not_counted(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice"))
    with tab(browser) as opened:
        opened.clock.install()
        begin(opened, index.as_uri())
        wait_for(opened, "choice")
        opened.click("#pause")
        size = opened.locator("#paused").bounding_box()
        opened.keyboard.press("a")
        opened.clock.fast_forward(1000_000)
        opened.click("#resume")
        assert opened.locator("[aria-checked=true]").count() == 0
        press(opened, '[data-name="A"]', "#next")
        wait_for_end(opened)
        (record,) = pages_of(stored(opened))
        assert size == {"x": 0, "y": 0, **opened.viewport_size}  # type: ignore[dict-item]
    assert record.seconds < 1000 <= record.hidden


def test_the_clock_starts_when_all_images_are_painted(browser: Browser, tmp_path: Path) -> None:
    write_bundle(tmp_path, plan("choice"))
    waiting = list[Any]()
    with tab(browser) as opened:
        serve(opened, tmp_path)
        opened.route(f"{SITE}media/**", lambda route: waiting.append(route))
        opened.clock.install()
        begin(opened, SITE)
        opened.clock.fast_forward(11_000)  # preloading gives up
        opened.wait_for_selector("[data-page-id=choice]", state="attached")
        opened.clock.fast_forward(1000_000)
        assert not opened.locator(".part").is_visible()
        for route in waiting:
            route.fulfill(path=tmp_path / "media" / "scene.png")
        opened.route(f"{SITE}media/**", lambda route: route.fulfill(path=tmp_path / "media" / "scene.png"))
        choose(opened, "choice", "A")
        wait_for_end(opened)
        (record,) = pages_of(stored(opened))
    assert record.seconds < 1000 <= record.loading


@pytest.mark.parametrize("transport", ["folder", "local", "jatos"])
def test_the_index_names_its_transport_and_nothing_inline(transport: Transport) -> None:
    text = index_page("A <study>", transport)
    assert f'data-transport="{transport}"' in text
    assert ("jatos.js" in text) == (transport == "jatos")
    assert "A &lt;study&gt;" in text
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", text)
    assert ("unsafe-inline" in text) == (transport == "jatos")
    forms = [index_page("A study", transport, form, redirects=bool(form)) for form in (0, 2)]
    assert_golden(f"index_{transport}.txt", "\n".join(forms).replace(__version__, "VERSION"))


@pytest.mark.slow
def test_consent_words_breaks_and_a_complaint_that_disappears(browser: Browser, tmp_path: Path) -> None:
    study = plan("choice", "truth", "integer")
    texts = study.texts.model_copy(update={"consent": "You may stop.", "contact": "a@b.c"})
    image = next(part for part in study.pages["choice"].parts if isinstance(part, MediaPart))
    block = study.forms[0][0].model_copy(update={"terms": (Term(word="disk", image=image),)})
    changes = {"texts": texts, "minutes": 3, "break_every": 2, "forms": ((block,),)}
    index = write_bundle(tmp_path, study.model_copy(update=changes))
    with tab(browser) as opened:
        opened.goto(index.as_uri())
        opened.wait_for_selector("[data-screen=consent]")
        assert "Questions and complaints: a@b.c" in opened.inner_text("#study")
        opened.click("#consent")
        opened.wait_for_selector("[data-screen=start]")
        assert "3 pages, about 3 minutes" in opened.inner_text("#study")
        opened.click("#start")
        opened.wait_for_selector("[data-screen=block] .terms img")
        assert opened.inner_text(".terms figcaption") == "disk"
        opened.click("#continue")
        wait_for(opened, "choice")
        opened.click("#next")
        assert opened.inner_text(".complaint") == "Please choose an answer."
        opened.click('[data-name="B"]')
        opened.wait_for_selector(".complaint:empty", state="attached")
        opened.click("#next")
        choose(opened, "truth", "F")
        opened.wait_for_selector("[data-screen=block]")
        assert "2 of 3 pages are done" in opened.inner_text("#study")
        opened.click("#continue")
        wait_for(opened, "integer")
