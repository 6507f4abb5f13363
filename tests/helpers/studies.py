"""A small study folder written by hand: one page of every kind of answer, two forms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from snellen.core.item import AnswerKind
from snellen.web.design import BlockDesign, StudyDesign
from snellen.web.plan import (
    Choice,
    Consent,
    End,
    Entry,
    MediaPart,
    Page,
    PageAnswers,
    PageBlock,
    Question,
    RecordRow,
    Start,
    StudyPlan,
    TextPart,
    Texts,
)
from snellen.web.stand_ins import StandIn
from snellen.web.store import read_stored
from snellen.web.study import BUNDLE, PLAN, PageSource, StudyCard, as_script, plan_hash, write_card

IMAGE = b"\x89PNG not a real image"
IMAGE_PATH = f"media/{hashlib.sha256(IMAGE).hexdigest()[:2]}/{hashlib.sha256(IMAGE).hexdigest()}.png"
TIME = "2026-11-22T10:00:00Z"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
ANSWERS: dict[AnswerKind, Entry] = {
    "choice": "B", "true_false": "T", "integer": "3", "number": "2.5", "box": [1, 2, 30, 40], "point": [3, 4.5],
    "colour": [0, 128, 255], "text": "grün", "description": "a red ball\non a table",
}  # fmt: skip
"""A valid answer of each kind."""
CHOICES: dict[AnswerKind, str] = {"choice": "ABC", "true_false": "TF"}


def rows_by_name(root: Path) -> dict[str, list[RecordRow]]:
    """The rows of each participant in the database of a study."""
    return {stored.name: stored.rows for stored in read_stored(root)}


def make_page(kind: AnswerKind, seconds: float | None = None) -> Page:
    image = MediaPart(path=IMAGE_PATH, kind="image", width=40, height=50)
    question = Question(
        item_id=f"item-{kind}",
        kind=kind,
        choices=tuple(Choice(name=name) for name in CHOICES.get(kind, "")),
        image=0 if kind in ("box", "point") else None,
        reason=True,
    )
    return Page(
        page_id=f"q-{kind}",
        kind="question",
        parts=(image, TextPart(text=f"A question of {kind}?")),
        questions=(question,),
        seconds=seconds,
    )


TEXTS = Texts(title="Small")
CONSENT = Texts(
    title="Small", consent="You may stop.", who="A laboratory.", contact="lab@study.example", approval="1/2026",
    storage="Ten years.", withdrawal="Write to us.",
)  # fmt: skip
"""Texts with a complete page of consent."""


def make_plan(kind: Any = "study", texts: Texts = TEXTS) -> StudyPlan:
    pages = {f"q-{answer_kind}": make_page(answer_kind) for answer_kind in ANSWERS}
    forward = tuple(pages)
    blocks = [(PageBlock(name="all", page_ids=page_ids),) for page_ids in (forward, forward[::-1])]
    return with_hash(StudyPlan(study="small", plan_hash="", kind=kind, texts=texts, pages=pages, forms=tuple(blocks)))


def with_hash(plan: StudyPlan) -> StudyPlan:
    """The plan with the hash of its content."""
    return plan.model_copy(update={"plan_hash": plan_hash(plan)})


def write_study(
    root: Path, reviewers: Sequence[str] = (), plan: StudyPlan | None = None, texts: Texts = TEXTS, **private: str
) -> StudyPlan:
    """Write a study folder with this plan, else a small one; `private` texts of the design are not in the bundle."""
    plan = with_hash(plan or make_plan("review" if reviewers else "study", texts))
    design = StudyDesign(
        kind=plan.kind,
        texts=plan.texts.model_copy(update=private),
        blocks=(BlockDesign(name="all"),),
        reviewers=tuple(reviewers),
        parameters=("lab",),
    )
    bundle = root / BUNDLE
    text = plan.model_dump_json()
    files: dict[str, str | bytes] = {
        "index.html": '<!doctype html><html data-transport="folder"><script src="plan.js"></script></html>',
        PLAN: text, "plan.js": as_script(text), "page/study.js": "'use strict';",
        "vendor/jspsych/css/jspsych.css": "body{}", "vendor/jspsych/LICENSE": "as you like", IMAGE_PATH: IMAGE,
    }  # fmt: skip
    for path, content in files.items():
        target = bundle / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    sources = {
        page_id: PageSource(block="all", item_ids=tuple(question.item_id for question in page.questions))
        for page_id, page in plan.pages.items()
    }
    card = StudyCard(name="small", seed=0, design=design, itemsets={}, plan_hash=plan.plan_hash, pages=sources)
    write_card(root, card)
    return plan


def rows_of_form(plan: StudyPlan, participant: str, form: int) -> list[RecordRow]:
    """All rows of a participant who answered every page of a form."""
    records: list[dict[str, Any]] = [
        {
            "type": "start", "participant": participant, "form": form, "plan_hash": plan.plan_hash, "time": TIME,
            "screen": {"width": 390, "height": 844, "ratio": 2.625}, "agent": "Mozilla/5.0 (ünïcode)",
        },
        {"type": "consent", "time": TIME},
    ]  # fmt: skip
    for position, page_id in enumerate(page_id for block in plan.forms[form] for page_id in block.page_ids):
        question = plan.pages[page_id].questions[0]
        records.append(
            {
                "type": "answers", "page_id": page_id, "position": position,
                "answers": {question.item_id: ANSWERS[question.kind]}, "reasons": {question.item_id: "because"},
                "seconds": 1.25, "loading": 0.1, "time": TIME,
            }
        )  # fmt: skip
    records.append({"type": "end", "time": TIME})
    return [RecordRow.model_validate({"sequence": number, "record": record}) for number, record in enumerate(records)]


def entered(plan: StudyPlan, stand_in: StandIn, person: int, pages: int | None = None) -> list[RecordRow]:
    """The rows of a participant who enters the stand-in's answers, on the first `pages` pages or all."""
    form = person % len(plan.forms)
    ids = [page_id for block in plan.forms[form] for page_id in block.page_ids]
    start = Start(type="start", participant=f"p{person + 1:02d}", form=form, plan_hash=plan.plan_hash, time=NOON)
    records: list[Start | Consent | PageAnswers | End] = [start, Consent(type="consent", time=NOON)]
    for position, page_id in enumerate(ids[:pages]):
        answers = stand_in.answers(plan.pages[page_id], person)
        time = NOON + timedelta(seconds=2 * position)
        records.append(
            PageAnswers(type="answers", page_id=page_id, position=position, answers=answers, seconds=1.5, time=time)
        )
    if pages is None:
        records.append(End(type="end", time=NOON))
    return [RecordRow(sequence=number, record=record) for number, record in enumerate(records)]
