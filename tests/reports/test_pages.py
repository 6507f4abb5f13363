"""Requirements of pages: their policy, structure for screen readers, room on a phone, whole tables on paper."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import snellen
from snellen.reports import Report, Run, load_run
from snellen.reports.examples import run_replies
from snellen.reports.front_page import ExamPart, front
from snellen.reports.matrix import matrix
from snellen.reports.page import content_policy
from snellen.reports.wide_tables import even_parts, parts_of, readable, transpose
from snellen.suites import SUITES
from tests.helpers.chromium import chromium
from tests.helpers.sets import small_set
from tests.reports.exam import able, suite_of, write_items, write_run
from tests.reports.test_report import Tags

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage

SHEET = 688
"""Pixels between the margins of an A4 sheet, 182 mm."""


def test_pages_have_a_policy_landmarks_scopes_and_words_for_images(report: Report) -> None:
    for path in report.pages:
        text = path.read_text("utf-8")
        tags = Tags(text).elements
        styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        policies = [attrs["content"] for tag, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy"]
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        assert policies == [content_policy(styles[0], scripts[0])]
        assert len(styles) == len(scripts) == 1
        assert "unsafe" not in str(policies[0]), "the policy allows no other script"
        assert not any("style" in attrs for _, attrs in tags), "the policy would drop it"
        assert ("a", {"class": "skip", "href": "#main"}) in tags
        assert [attrs["id"] for tag, attrs in tags if tag == "main"] == ["main"]
        assert sum(tag == "h1" for tag, _ in tags) == 1
        assert all(attrs.get("alt") for tag, attrs in tags if tag == "img")
        headless = [attrs for tag, attrs in tags if tag == "th" and "scope" not in attrs]
        assert not headless, path


def test_the_front_page_links_every_suite_and_names_every_subject(report: Report) -> None:
    front = Tags(report.page.read_text("utf-8"))
    links = {attrs.get("href") for tag, attrs in front.elements if tag == "a"}
    assert {path.name for path in report.pages[1:]} == {"shapes.html"} <= links
    grades = report.grades()
    assert set(grades["subject"]) == set(report.results["subject"])
    assert all(subject in front.text for subject in grades["subject"])
    assert "explore.html" not in links


def test_cells_have_the_colours_of_grades_and_lead_to_examples(loaded: Run, report: Report) -> None:
    front_page, suite_page = Tags(report.page.read_text("utf-8")), Tags(report.pages[1].read_text("utf-8"))
    content = front([ExamPart(loaded, "shapes", "shapes.html")])
    cells = [cell for table in (matrix(content), matrix(content, simulated=True)) for row in table.rows for cell in row]
    classes = [(attrs.get("class") or "").split() for tag, attrs in front_page.elements if tag == "td"]
    colours = [names[0] for names in classes if names]
    assert colours == [cell.colour for cell in cells]
    assert {names[0] for names in classes if "open" in names} == {"same"}
    links = {attrs["href"] for tag, attrs in front_page.elements if tag == "a" and "title" in attrs}
    anchors = {f"shapes.html#{attrs.get('id')}" for _, attrs in suite_page.elements}
    assert links == {cell.about.link for cell in cells if cell.short} <= anchors


def test_a_reply_in_which_no_answer_was_found_is_still_printed(sets_folder: Path, tmp_path: Path) -> None:
    """In pattern perception a reply answers all questions about an object; one that answers none belongs to each."""
    items = small_set("combo", sets_folder)
    done = snellen.examine(lambda _: "hard to say", items.root, out=tmp_path / "run", limit=4, show_progress=False)
    run = load_run(done.root)
    replies = run_replies(run)
    assert {response.task for response in run.responses if response.text is None} == {"pattern-perception"}
    assert {replies[response.response_id] for response in run.responses} == {"hard to say"}


def test_failed_calls_are_on_the_first_page(sets_folder: Path, tmp_path: Path) -> None:
    def answer(parts: list[Any]) -> str:
        if any("category" in str(part) for part in parts):
            raise ValueError("no memory")
        return "A"

    items = small_set("combo", sets_folder)
    done = snellen.examine(answer, items.root, out=tmp_path / "run", limit=2, show_progress=False)
    run = load_run(done.root)
    (line,) = front([ExamPart(run, "combo", "combo.html")]).lines
    rows = done.results()
    rates = dict(zip(rows["task"], rows["failure_rate"], strict=False))
    assert [task for task, rate in rates.items() if rate > 0] == ["category-building"]
    assert line.partial == "Items without a score because their calls failed: 100 % of “which of two new kinds?”."


def test_subjects_asked_only_under_other_conditions_are_named(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    subjects = [able(name, items, {"naming": 1.0}) for name in ("chat:a", "human:lab/p01", "human:lab/p02")]
    root = write_run(tmp_path / "run", items, subjects, tasks=("naming",), protocols=("strict",))
    run = load_run(root, suite_of)
    arms = [
        arm if arm.subject == "chat:a" else arm.model_copy(update={"condition": "shots=2"}) for arm in run.card.arms
    ]
    page = front([ExamPart(replace(run, card=run.card.model_copy(update={"arms": arms})), "shapes", "shapes.html")])
    assert page.elsewhere == ("human:lab [shots=2]",)


@pytest.mark.slow
def test_cells_of_tasks_without_examples_lead_to_the_section(sets_folder: Path, tmp_path: Path) -> None:
    """Only simulated observers, which have no examples of their own, answer what an encoder without text declines."""
    items = small_set("combo", sets_folder)
    subjects = ["encoder:colour-histogram", "fake:oracle"]
    report = snellen.examine(subjects, items.root, out=tmp_path / "run", show_progress=False).report(
        tmp_path / "report"
    )
    links = {attrs.get("href") or "" for tag, attrs in Tags(report.page.read_text("utf-8")).elements if tag == "a"}
    named = {link.removeprefix("combo.html#") for link in links if link.startswith("combo.html#")}
    elements = Tags(report.pages[1].read_text("utf-8")).elements
    assert named == {f"combo-{task}" for task in SUITES.get("combo").tasks}
    assert not named <= {attrs.get("id") for tag, attrs in elements if tag == "h3"}, "img2text has no examples"
    assert named <= {attrs.get("id") for _, attrs in elements}


@pytest.mark.parametrize("name", SUITES)
def test_every_task_has_a_short_name_and_a_need(name: str) -> None:
    suite = SUITES.get(name)
    if suite.tasks and name != "curation-steps":
        assert set(suite.card.tasks) == set(suite.tasks)
        assert all(len(task.name) <= 32 for task in suite.card.tasks.values())


def test_wide_tables_are_transposed_and_overflow_is_moved_below() -> None:
    assert even_parts(13, 6) == [range(4), range(4, 9), range(9, 13)]
    assert even_parts(6, 6) == [range(6)]
    assert even_parts(0, 6) == [range(0)]
    wide = pd.DataFrame([["a", *range(12)], ["b", *range(12)]], columns=["subject", *map(str, range(12))])
    assert list(transpose(wide).columns) == ["subject", "a", "b"]
    assert list(readable(wide).iloc[3]) == ["3", 3, 3]
    twice = wide.assign(subject="a")
    assert list(transpose(twice).columns) == ["subject", "a", "a (2)"]
    square = pd.DataFrame([[f"r{n}", *range(12)] for n in range(20)], columns=["name", *map(str, range(12))])
    parts = list(parts_of(square))
    assert [list(part.columns) for part in parts] == [
        ["name", *map(str, range(6))],
        ["name", *map(str, range(6, 12))],
    ]


def _keep(texts: list[str], message: ConsoleMessage) -> None:
    texts.append(message.text)


def test_a_browser_shows_and_prints_everything_within_the_policy(report: Report, tmp_path: Path) -> None:
    with chromium() as browser:
        for path in report.pages:
            complaints: list[str] = []
            phone = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
            phone.on("console", partial(_keep, complaints))
            phone.goto(path.as_uri())
            assert phone.evaluate("document.documentElement.scrollWidth") == 390, path.name
            assert complaints == []
            images = "[...document.images].every(image => image.naturalWidth > 0)"
            assert phone.evaluate(images), "the policy lets images through"
            marks = "[...document.querySelectorAll('.replies td.m')].map(cell => cell.clientWidth)"
            assert max(phone.evaluate(marks), default=0) < 40, "the column of marks is narrow"
            assert phone.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 29)"
            phone.keyboard.press("Tab")
            assert phone.evaluate("document.activeElement.className") == "skip"
            phone.set_viewport_size({"width": SHEET, "height": 1000})
            phone.emulate_media(media="print")
            beyond = (
                f"[...document.querySelectorAll('table')].filter(t => t.getBoundingClientRect().right > {SHEET + 1})"
            )
            assert phone.evaluate(f"{beyond}.length") == 0
            inside = "[...document.querySelectorAll('summary, details table')]"
            heights = f"{inside}.map(e => e.getBoundingClientRect().height)"
            assert min(phone.evaluate(heights), default=9) > 5, "closed details are printed, with their headings"
            assert phone.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            phone.close()
        page = browser.new_page()
        page.goto(report.pages[1].as_uri())
        column = "[...document.querySelectorAll('.questions tbody tr')].map(row => row.cells[1].dataset.sort)"
        head, sort = page.locator(".questions thead th").nth(1), page.locator(".questions thead button").nth(1)
        sort.focus()
        for key, order, sign in (("Enter", "ascending", 1), ("Space", "descending", -1)):
            page.keyboard.press(key)
            assert head.get_attribute("aria-sort") == order
            places = [sign * float(text) for text in page.evaluate(column) if text != "nan"]
            assert places == sorted(places)
        assert page.locator("[aria-sort]").count() == 1
        hostile = tmp_path / "hostile.html"
        hostile.write_text(report.page.read_text("utf-8").replace("</main>", "<script>window.ran = 1</script></main>"))
        page.goto(hostile.as_uri())
        assert page.evaluate("window.ran") is None
