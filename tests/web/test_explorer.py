"""The explorer of a report in a real browser: from a file, without a network, and with hostile texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.reports import Report, write_report
from snellen.reports.examples import prediction
from snellen.reports.loading import Exam, gather, load_run
from snellen.scoring.protocols import ACCURACY
from snellen.web import lock
from snellen.web.explorer import content as explorer_content
from snellen.web.explorer import explorer_writer, write_explorer
from snellen.web.explorer.page import FETCH, as_block, as_classic, render_explorer, score_by_measure
from tests.goldens.golden import assert_golden
from tests.reports.exam import SUITE, Album, able, building, leave_out_figures, naming, suite_of, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

HOSTILE = """</script><script>window.hostile=1</script><img src=x onerror="window.hostile=1">=1+1\u202e"""
PER_TASK = 16
"""Items per task; colour is required by every second of `naming` and all of `building`."""
MAX_BYTES = 1_200_000


def hostile_items(root: Path) -> ItemSet:
    """Two tasks; a question, an option and a level of a factor are markup; one task has a measure and a chance."""
    album = Album(MediaFolder(root / "media"), 0)
    items = [*naming(album, PER_TASK), *building(album, PER_TASK)]
    first = replace(
        items[0], question=HOSTILE, factors={**items[0].factors, "note": HOSTILE},
        options=(replace(items[0].options[0], text=HOSTILE), *items[0].options[1:]),
    )  # fmt: skip
    items = [first, *items[1:]]
    measured = [
        replace(item, measures={"size": float(n), "chance_accuracy": 0.25}) if item.task == "naming" else item
        for n, item in enumerate(items)
    ]
    return write_itemset(root, measured, source="generated", recipe={"n": PER_TASK})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report with its explorer: a subject that replies in markup and is right in one task, and one right in both."""
    parts = lock.present_parts()
    if parts is None:
        pytest.skip(f"the parts of the explorer are not here: `{FETCH}` fetches them")
    root = tmp_path_factory.mktemp("explored")
    items = hostile_items(root / "items")
    subjects = [
        able("chat:a", items, {"naming": 1.0, "building": -1.0}, HOSTILE + " The answer is {}."),
        able(f"chat:{HOSTILE}", items, {"naming": 1.0, "building": 1.0}, "The answer is {}."),
    ]
    unsighted = Condition(SUITE.axes, (("images", "none"),))
    run = write_run(root / "run", items, subjects, [unsighted], tasks=("naming", "building"))
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        return write_report(
            [run], root / "report", suite_of=suite_of, explorer=lambda exams, out: write_explorer(exams, out, parts)
        )


@contextmanager
def offline_tab(browser: Browser, **options: object) -> Iterator[Tab]:
    """A tab; the test fails for requests outside the folder and for messages on the console."""
    context = browser.new_context(offline=True, reduced_motion="reduce", **options)  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    opened, troubles = context.new_page(), list[str]()
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("console", lambda message: troubles.append(message.text))
    opened.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)
    opened.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
    opened.on("dialog", lambda dialog: troubles.append("a dialog"))
    yield opened
    assert opened.evaluate("window.hostile") is None
    context.close()
    assert not troubles, troubles


def content_of(report: Report) -> dict[str, Any]:
    text = (report.root / "explore.html").read_text("utf-8")
    match = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    assert match
    return dict(json.loads(match[1]))


def wait_for(opened: Tab, expression: str) -> None:
    """Wait until an expression is true. Playwright's own way needs `eval`, which the page's policy forbids."""
    for _ in range(200):
        if opened.evaluate(expression):
            return
        opened.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def test_two_clicks_lead_from_the_report_to_the_flips(browser: Browser, report: Report) -> None:
    with offline_tab(browser) as opened:
        opened.goto(report.page.as_uri())
        opened.click("text=Explore items")
        opened.click("text=A against B")
        cards = opened.locator("#cards article")
        count = opened.locator("#flip-count").text_content() or ""
        flips = int(re.findall(r"(\d+) flipped", count)[0])
        assert 0 < flips == cards.count() <= PER_TASK, "they differ in one task"
        assert "0 where A is better" in count
        first = cards.first
        assert (first.locator("h3").text_content() or "").startswith("building")
        assert first.locator("img").count() >= 9
        assert first.locator(".reply .mark-wrong").count() >= 1
        assert first.locator(".reply .mark-right").count() >= 1
        assert first.get_by_text("Without images: ").count() == 2
        assert first.get_by_text("Blind guess").count() == 1
        images = "#cards article:first-child img"
        loaded = f"[...document.querySelectorAll('{images}')].every((i) => i.complete && i.naturalWidth)"
        wait_for(opened, loaded)


def test_the_page_opens_on_the_flips_of_two_subjects_with_the_prompt_as_sent(browser: Browser, report: Report) -> None:
    with offline_tab(browser) as opened:
        opened.goto((report.root / "explore.html").as_uri())
        first = opened.locator("#cards article").first
        assert "To which category does the last object belong?" in (first.locator("pre").text_content() or "")
        assert first.locator("details").count() == 1, "both got the same prompt"


def test_the_page_opens_on_wrong_answers_of_one_subject_and_draws_its_boxes(browser: Browser, report: Report) -> None:
    """The report's content without its second subject, and with boxes in the first item that the other got wrong."""
    parts, content = lock.present_parts(), content_of(report)
    assert parts is not None
    wrong = [row for row in content["items"] if row[12] and row[12][0][:2] == [0, content["marks"].index("wrong")]]
    wrong[0][11], wrong[0][12][0][6] = [0.25, 0.5, 0.5, 1.0], [0.5, 0.0, 1.0, 0.5]
    for arm in content["arms"][1:]:
        arm["simulated"] = True
    page = report.root / "boxes.html"
    page.write_text(render_explorer(content, parts), "utf-8")
    with offline_tab(browser) as opened:
        opened.goto(page.as_uri())
        assert opened.locator("#count").text_content() == f"{len(wrong)} of {len(content['items'])} items"
        opened.locator("#table tbody button").first.click()
        figure = opened.locator("#detail figure")
        assert figure.count() == 1, "the other subject has no box"
        assert figure.locator("figcaption").text_content() == " right box  this reply"
        width, height = (figure.locator("img").evaluate(f"i => i.{side}") for side in ("width", "height"))
        boxes = figure.locator("div rect").evaluate_all(
            "all => all.map((r) => ['x', 'y', 'width', 'height'].map((name) => +r.getAttribute(name)))"
        )
        assert boxes == [
            [width / 4, height / 2, width / 4, height / 2],
            [width / 2, 0, width / 2, height / 2],
        ]
        dashes = figure.locator("div rect").evaluate_all("all => all.map((r) => getComputedStyle(r).strokeDasharray)")
        assert dashes[0] == "none" != dashes[1]
    page.unlink()


def test_a_cell_of_the_grid_leads_to_its_items_and_filters_narrow_them(browser: Browser, report: Report) -> None:
    with offline_tab(browser) as opened:
        opened.goto((report.root / "explore.html").as_uri() + "#grid")
        opened.locator("tr", has_text="where colour decides").first.locator("button").first.click()
        assert opened.locator("#count").text_content() == f"{PER_TASK // 2} of {2 * PER_TASK} items"
        assert opened.locator("#table tbody tr").count() == PER_TASK // 2
        opened.select_option("#filters select >> nth=1", "")
        assert opened.locator("#count").text_content() == f"{PER_TASK} of {2 * PER_TASK} items"
        opened.select_option("#filters select >> nth=0", "0/1")
        opened.select_option("#filters select >> nth=3", "wrong")
        wrong = int((opened.locator("#count").text_content() or "").split()[0])
        opened.select_option("#filters select >> nth=3", "right")
        right = int((opened.locator("#count").text_content() or "").split()[0])
        assert right + wrong == PER_TASK
        assert wrong > 0
        opened.select_option("#filters select >> nth=0", "")
        opened.fill("#table_wrapper input[type=search]", "window.hostile")
        wait_for(opened, "document.querySelectorAll('#table tbody tr').length === 1")
        assert "</script>" in (opened.locator("#table tbody").text_content() or ""), "markup is text"
        assert "\u202e" not in opened.content()


def test_keys_only_reach_an_item_and_return(browser: Browser, report: Report) -> None:
    with offline_tab(browser, viewport={"width": 390, "height": 844}, color_scheme="dark") as opened:
        opened.goto((report.root / "explore.html").as_uri())
        opened.keyboard.press("Tab")
        assert opened.evaluate("document.activeElement.textContent") == "Items"
        opened.keyboard.press("Enter")
        opened.wait_for_selector("#table tbody button")
        for _ in range(30):
            opened.keyboard.press("Tab")
            if opened.evaluate("document.activeElement.className") == "open":
                break
        label = opened.evaluate("document.activeElement.getAttribute('aria-label')")
        assert label.startswith("Open building-"), "a wrong answer"
        opened.keyboard.press("Enter")
        assert opened.locator("#detail article").count() == 1
        opened.keyboard.press("Escape")
        assert not opened.locator("#detail").is_visible()
        assert opened.evaluate("document.activeElement.getAttribute('aria-label')") == label
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_measure_is_drawn_without_eval(browser: Browser, report: Report) -> None:
    with offline_tab(browser) as opened:
        opened.goto((report.root / "explore.html").as_uri() + "#measures")
        opened.wait_for_selector("#chart[data-points]")
        assert opened.get_attribute("#chart", "data-points") == str(2 * PER_TASK)
        inked = """(() => { const c = document.querySelector('#chart canvas'), d = c.getContext('2d')
            .getImageData(0, 0, c.width, c.height).data; return d.some((v, n) => n % 4 === 3 && v > 0); })()"""
        assert opened.evaluate(inked)


def test_the_page_is_small_and_allows_only_its_own_scripts(report: Report) -> None:
    text = (report.root / "explore.html").read_text("utf-8")
    content = content_of(report)
    assert len(text) - len(as_block(content)) < MAX_BYTES
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[0]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert policy.count("sha256-") == text.count("<script>") + 1, "each script, and the style"
    assert "\u202e" not in text
    assert text.count("Redistributions of source code must retain") == 3, "the licences of Vega's packages"
    assert "The MIT License" in text
    assert '<a href="explore.html">' in report.page.read_text("utf-8")


@pytest.mark.slow
def test_twenty_thousand_items_can_be_browsed(browser: Browser, report: Report) -> None:
    """The items of the report many times over; checks that every view appears, without a time limit."""
    parts = lock.present_parts()
    assert parts is not None
    content = content_of(report)
    rows = content["items"]
    times = 20_000 // len(rows)
    page = report.root / "many.html"
    page.write_text(render_explorer({**content, "items": rows * times}, parts), "utf-8")
    with offline_tab(browser) as opened:
        opened.goto(page.as_uri())
        opened.click('nav a[href="#items"]')
        opened.select_option("#filters select >> nth=2", "")
        opened.select_option("#filters select >> nth=3", "")
        assert opened.locator("#count").text_content() == "20000 of 20000 items"
        opened.select_option("#filters select >> nth=3", "wrong")
        assert opened.locator("#table tbody tr").count() == 25
        opened.click('nav a[href="#flips"]')
        assert opened.locator("#cards article").count() == 20
        opened.click("#more")
        assert opened.locator("#cards article").count() == 40
        opened.click('nav a[href="#measures"]')
        opened.wait_for_selector("#chart[data-points]")
    page.unlink()


def test_without_its_web_parts_there_is_a_message_and_no_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lock, "PACKAGE_FOLDER", tmp_path / "none")
    writer, reason = explorer_writer()
    assert writer is None
    assert FETCH in reason
    assert "\n" not in reason


def test_an_explorer_of_earlier_runs_is_removed(report: Report, tmp_path: Path) -> None:
    for name in ("explore.html", "stamp.json"):
        (tmp_path / name).write_text("former")
    run = report.root.parent / "run"
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        page = write_report([run], tmp_path, suite_of=suite_of).page
    assert not (tmp_path / "explore.html").exists()
    assert "explore.html" not in page.read_text("utf-8")


def test_many_images_are_linked_in_place(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer_content, "MAX_THUMBS", 3)
    exams: list[Exam] = gather([load_run(report.root.parent / "run", suite_of)])
    (tmp_path / "out" / "report").mkdir(parents=True)
    content = explorer_content.explorer_content(exams, tmp_path / "out" / "report")
    paths = [path for path, *_ in content["images"]]
    assert paths
    assert all((tmp_path / "out" / "report" / path).is_file() for path in paths)
    assert not (tmp_path / "out" / "report" / "thumbs").exists()


def test_boxes_are_shares_of_the_image_in_which_they_were_asked(report: Report) -> None:
    item = load_run(report.root.parent / "run", suite_of).items.items[0]
    boxed = replace(item, answer_kind="box", answer=[32.0, 60.0, 160.0, 240.0])
    assert (item.query[0].width, item.query[0].height) == (320, 240)
    assert explorer_content._box(boxed, boxed.answer) == [0.1, 0.25, 0.5, 1.0]
    pointed = replace(item, answer_kind="point", answer=[32.0, 60.0])
    assert explorer_content._box(pointed, pointed.answer) == [0.1, 0.25]
    assert explorer_content._box(boxed, None) is None, "a reply that cannot be read"
    assert explorer_content._box(item, item.answer) is None


def test_of_repeats_the_first_reply_stands_beside_its_mark(report: Report, tmp_path: Path) -> None:
    (exam,) = gather([load_run(report.root.parent / "run", suite_of)])
    first = exam.joined.responses
    again = [replace(r, response_id=f"{r.response_id}/again", repeat=1, text="the second reply") for r in first]
    repeated = replace(exam, joined=replace(exam.joined, responses=(*first, *again)))
    expected, content = (explorer_content.explorer_content([some], tmp_path) for some in (exam, repeated))
    assert "The answer is" in " ".join(expected["strings"])
    assert content == expected


@pytest.mark.parametrize(("value", "mark"), [(1.0, "right"), (0.9999999, "right"), (0.99, "partly")])
def test_a_score_that_only_rounding_keeps_from_the_best_is_right(report: Report, value: float, mark: str) -> None:
    item = load_run(report.root.parent / "run", suite_of).items.items[0]
    row = SimpleNamespace(mark="partly, high", value=value, prediction='"o1"')
    assert prediction(item, "chat:a", row, ACCURACY, "B", "").mark == mark


def test_a_module_with_other_ends_is_refused() -> None:
    with pytest.raises(SnellenError, match="correct web/explorer/page"):
        as_classic("import { other } from 'vega-util';")


def test_no_text_ends_its_data_block() -> None:
    block = as_block({"text": HOSTILE + "\u2028<!--"})
    assert not set("<>&\u2028") & set(block)
    assert json.loads(block) == {"text": HOSTILE + "\u2028<!--"}


def test_the_explorer_holds_what_it_did(report: Report) -> None:
    """Every row of its grid, every item with all answers, and the drawing of scores by a measure."""
    content = content_of(report) | {"spec": [score_by_measure()]}
    content["images"] = [[note, width, height] for _, note, width, height in content["images"]]
    lines = [line for name, entries in content.items() for line in (f"{name}:", *map(json.dumps, entries))]
    assert_golden("explorer.txt", "\n".join([*lines, ""]))
