"""Reports on rich runs, comparisons of their subjects and figures equal the goldens."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.analysis.comparison.changes import changes, plain_changes
from snellen.analysis.comparison.deficits import answers_by_arm, find_deficits
from snellen.analysis.comparison.unpaired import unpaired_changes
from snellen.core.condition import parse_conditions
from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.reports import Report, Run, figures, load_run, write_report
from snellen.reports.changes_page import render_changes
from snellen.reports.front_page import ExamPart, front
from snellen.reports.matrix import draw_matrix, matrix
from snellen.reports.rows import plain_rows
from snellen.subjects.fakes.make import make_fake
from tests.goldens.golden import assert_golden
from tests.goldens.house import page_text
from tests.goldens.sections import figure_text
from tests.helpers.people import ask_people, person
from tests.helpers.report_texts import report_text, rounded
from tests.reports.exam import SUITE, Able, able, leave_out_figures, suite_of, write_items, write_run

HIGH = {"naming": 0.95, "finding": 0.9, "building": 0.8, "sizing": 0.9}
LOW = {"naming": 0.5, "finding": 0.2, "building": 0.4, "sizing": 0.3}


@dataclass(frozen=True)
class Clumsy(Able):
    """Of each seven items, a call fails at one, another reply is cut off, and a third has no answer."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        number = int(prompt.views[0].item_id[-4:]) % 7
        if number == 2:
            raise CallFailed("HTTP 400: content filter")
        reply = await super().answer(prompt, media, rng)
        return (
            replace(reply, text="I cannot tell.")
            if number == 4
            else replace(reply, stop="length" if number == 5 else "end")
        )


def described(subject: Able, **attributes: str) -> Able:
    return replace(subject, card=replace(subject.card, attributes={**subject.card.attributes, **attributes}))


def crowd(items: ItemSet) -> list[Subject]:
    """Subjects of every kind: of a user, with a counterpart, clumsy, declining, packaged, a baseline, a phantom."""
    good = able("chat:zeta", items, HIGH, "The answer is {}.", price_in=2.5, price_out=10.0, temperature=0)
    clumsy = Clumsy(able("chat:clumsy", items, {}).card, items.by_id, HIGH)
    return [
        described(able("chat:alpha", items, LOW), weights="open"),
        described(good, weights="closed", reasoning="yes", counterpart="chat:alpha"),
        described(clumsy, weights="closed"),
        able("encoder:sharp", items, HIGH, refuses="sizing"),
        able("encoder:conse", items, LOW, refuses="finding"),
        described(able("encoder:hog", items, LOW), parameters="0"),
        described(able("phantom:whole", items, HIGH), phantom="whole"),
        *(make_fake(name, {}, items.items) for name in ("oracle", "chance", "blind-to=colour")),
    ]


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("goldens") / "items", 18)


@pytest.fixture(scope="module")
def rich_root(items: ItemSet) -> Path:
    """A run of the crowd under three conditions."""
    conditions = [*parse_conditions(SUITE.axes, "samples=1"), *parse_conditions(SUITE.axes, "images=none,sheet=4")]
    return write_run(items.root.parent / "rich", items, crowd(items), conditions)


@pytest.fixture(scope="module")
def people_root(items: ItemSet) -> Path:
    """Four people of one study, one of them clumsy, and one of another; some are asked a part, under two conditions."""
    skills = {"eyes/p02": 0.9, "eyes/p01": 0.3, "eyes/p03": 1.0, "eyes/p04": 0.8, "hands/p01": 0.7}
    people = list[Subject]()
    for number, (name, skill) in enumerate(skills.items()):
        member = able("x", items, dict.fromkeys(SUITE.tasks, skill))
        member = Clumsy(member.card, items.by_id, member.skill) if name == "eyes/p04" else member
        people.append(person(f"human:{name}", member, 2.0 + number * number, questions=f"{60 + 20 * number}"))
    forms = [lambda item_id: True, lambda item_id: not item_id.endswith(("3", "4"))]
    return ask_people(items.root.parent / "people", items, SUITE, people, forms, ("vanilla", "images=none"))


@pytest.fixture(scope="module")
def rich_report(rich_root: Path, people_root: Path) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        runs, out = [rich_root, people_root], rich_root.parent / "report"
        return write_report(runs, out, compare_published=True, suite_of=suite_of)


def test_the_words_and_tables_of_reports(rich_report: Report) -> None:
    assert_golden("reports/rich.txt", report_text(rich_report))
    table = rich_report.results
    whole = table[(table["factor"] == "") & (table["protocol"] == "strict")]
    part = whole[whole["role"].eq("person") | whole["subject"].isin(["chat:clumsy", "encoder:conse"])]
    text = part.to_csv(index=False, float_format="%.9g", lineterminator="\n")
    assert_golden("reports/results.csv", text)
    rows = json.dumps(plain_rows(table), default=str)
    numbers = json.loads(rows, parse_float=lambda number: round(float(number), 8))
    assert_golden("reports/rows.txt", "".join(f"{json.dumps(row)}\n" for row in numbers))


def test_what_figures_show(rich_root: Path, loaded: Run) -> None:
    run, texts = load_run(rich_root, suite_of), list[str]()
    with figures.style():
        for each in (run, loaded):
            texts += [figure_text(figure(each)) for figure in (figures.overview, figures.strip)]
            texts += [figure_text(figures.by_factor(each, "naming", "question"))]
            page = front([ExamPart(each, "Shapes", "shapes.html")])
            texts += [figure_text(draw_matrix(matrix(page, is_simulated))) for is_simulated in (False, True)]
    assert_golden("reports/figures.txt", "\n".join(texts))


def test_the_words_and_numbers_of_comparisons(items: ItemSet, rich_root: Path) -> None:
    """From the first subject of the crowd to the clumsy one, and of all subjects."""
    folder, conditions = items.root.parent, parse_conditions(SUITE.axes, "sheet=4")
    sides = [write_run(folder / member.card.name[5:], items, [member], conditions) for member in crowd(items)[:3]]
    alpha, zeta, clumsy = (load_run(side, suite_of) for side in sides)
    texts = list[str]()
    for compared in (changes(alpha, clumsy, margin=0.3), changes(zeta, alpha)):
        (folder / "changes.html").write_text(render_changes(compared), "utf-8")
        texts += [page_text(folder / "changes.html"), repr(compared), compared._repr_html_()]
        texts.append(json.dumps(plain_changes(compared), indent=0, default=str))
    texts += [repr(change) for change in unpaired_changes(alpha, clumsy)]
    for arm, answers in answers_by_arm(load_run(rich_root, suite_of)).items():
        findings = find_deficits(answers)
        texts.append(f"{arm} {len(answers)} {findings.preference} {findings.dimensions}")
        texts += [repr(replace(deficit, tasks=frozenset())) for deficit in findings.deficits]
    assert_golden("reports/comparisons.txt", rounded("\n".join(texts)) + "\n")


def test_a_thumbnail_is_a_photograph_of_middling_quality(rich_report: Report) -> None:
    with Image.open(next((rich_report.root / "thumbs").glob("*.jpg"))) as thumbnail:
        assert thumbnail.size == (240, 180)
        tables = thumbnail.quantization  # type: ignore[attr-defined]
        assert tables[0][:8] == [5, 3, 3, 5, 7, 12, 15, 18], "the tables of the standard, scaled by 30 %"
