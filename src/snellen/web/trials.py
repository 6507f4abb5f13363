"""`trials.csv`: one row per answer of a person, with the right answer, for programs of statistics.

Whether an answer is right is also how answers are compared with the keys of a set (`web.reviewing`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from snellen.core.errors import SnellenError
from snellen.core.item import Item, View
from snellen.core.response import Response
from snellen.core.suite import Suite
from snellen.exam.examination import Examination
from snellen.runs.scores.score import score_one
from snellen.scoring.protocols import correct
from snellen.web.pages import written
from snellen.web.participants import Participant
from snellen.web.plan import Calibration, Entry, Page, PageAnswers, Question, StudyPlan
from snellen.web.study import PageSource, StudyCard

TRIALS = "trials.csv"
COLUMNS = (
    "participant", "form", "suite", "block", "position", "item", "task", "condition", "practice", "attention",
    "answer", "truth", "right", "score", "error", "reason", "seconds", "hidden", "loading", "attempts", "time",
    "px_per_cm", "distance_cm",
)  # fmt: skip
"""Columns of `trials.csv`, which docs/people.md explains; those of the items' factors and measures follow."""
NUMBERS = "practice", "attention", "right"
"""Columns with 0 and 1, or empty."""


@dataclass(frozen=True)
class KeyCheck:
    """A person's answer to an item in the item's own terms (None without one), whether it is right, and its score.

    `agrees` is None, and `score` NaN, if a judge has to tell. `is_error`: lower scores are better.
    """

    item: Item
    person: str
    answer: Any
    agrees: bool | None
    score: float
    is_error: bool


def key_check(item: Item, response: Response, suite: Suite) -> KeyCheck:
    """The answer of a response. No answer is wrong."""
    strict = suite.tasks[response.task].protocols["strict"]
    outcome, answer, scores = score_one(item, response, strict)
    is_right = answer is not None and strict.confirms(item, answer, correct(item, answer) == 1.0)
    is_known = outcome in ("answered", "no_answer") and strict.judge is None
    metric = strict.metrics[0]
    agrees = is_right if is_known else None
    return KeyCheck(item, response.subject, answer, agrees, scores[metric.name], not metric.higher_is_better)


def trial_table(
    card: StudyCard, plan: StudyPlan, participants: Sequence[Participant], examinations: Sequence[Examination]
) -> pd.DataFrame:
    """One row per question on every answered page of these people, in their order; examples ask for no answer.

    `examinations` are the imported runs, which have one answer to an item under a condition: the last one.
    """
    responses_by_key = {
        (response.subject, response.condition, response.item_id): (examination, response)
        for examination in examinations
        for response in examination.responses
    }
    rows = [row for participant in participants for row in _rows(card, plan, participant, responses_by_key)]
    of_items = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    return pd.DataFrame(rows, columns=[*COLUMNS, *of_items]).astype(dict.fromkeys(NUMBERS, "Int64"))


def _rows(
    card: StudyCard,
    plan: StudyPlan,
    participant: Participant,
    responses_by_key: Mapping[Any, tuple[Examination, Response]],
) -> Iterator[dict[str, Any]]:
    pages, subject = participant.pages, f"human:{card.name}/{participant.alias}"
    places = Counter((card.pages[name].condition, item_id) for name, page in pages.items() for item_id in page.answers)
    calibration = None
    for record in (row.record for row in participant.rows):
        if isinstance(record, Calibration):
            calibration = record
        if not isinstance(record, PageAnswers) or record is not pages[record.page_id]:
            continue
        page, source = plan.pages[record.page_id], card.pages[record.page_id]
        of_page = {
            "participant": participant.alias,
            "form": participant.start.form,
            **source.model_dump(include={"suite", "block", "task", "condition"}),
            "position": record.position + 1,
            "practice": page.kind == "practice",
            "attention": page.kind == "attention",
            **record.model_dump(include={"seconds", "hidden", "loading", "attempts"}),
            "time": record.time.isoformat(),
            "px_per_cm": calibration and calibration.px_per_cm,
            "distance_cm": calibration and calibration.distance_cm,
        }
        for question in page.questions if page.kind != "example" else ():
            item_id = question.item_id
            if page.kind == "question":
                if (key := (subject, source.condition, item_id)) not in responses_by_key:
                    raise SnellenError(f"study.json: page {record.page_id!r} names no suite of it, or no condition")
                examination, response = responses_by_key[key]
                if places[source.condition, item_id] > 1:
                    response = _answered_with(record.answers[item_id], response)
                cells = _checked_cells(key_check(examination.items.by_id[item_id], response, examination.suite))
            else:
                cells = _page_cells(question, page, source, record)
            yield {**of_page, "item": item_id, "reason": record.reasons.get(item_id, ""), **cells}


def _answered_with(entry: Entry, response: Response) -> Response:
    """The response to an item of several pages, with one's answer; failed for a box or a point, of unknown image."""
    if response.reply_spec.kind in ("box", "point"):
        return replace(response, status="failed")
    view = View(response.item_id, "", response.task, "", (), response.reply_spec)
    return replace(response, text=written(view, entry))


def _checked_cells(check: KeyCheck) -> dict[str, Any]:
    names = {option.key: option.text for option in check.item.options if option.text}
    return {
        "answer": _words(check.answer, names), "truth": _words(check.item.answer, names),
        "right": check.agrees, "error" if check.is_error else "score": check.score,
        **{f"factor_{_plain(name)}": level for name, level in check.item.factors.items()},
        **{f"measure_{_plain(name)}": amount for name, amount in check.item.measures.items()},
    }  # fmt: skip


def _plain(name: str) -> str:
    """The name as part of a column's name that needs no quotes in R."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _page_cells(question: Question, page: Page, source: PageSource, page_answers: PageAnswers) -> dict[str, Any]:
    """Answer and key of practice, of which the page judged the first attempt, and of attention checks."""
    names = {choice.name: choice.text for choice in question.choices if choice.text}
    entry, truth = (key.get(question.item_id) for key in (page_answers.answers, page.feedback or source.answers))
    is_right = entry == truth if page.kind == "attention" else page_answers.passed and page_answers.attempts == 1
    return {"answer": _words(entry, names), "truth": _words(truth, names), "right": is_right}


def _words(answer: Any, names: Mapping[str, str]) -> str:
    """An answer as a cell: an option by its text, numbers of a box or colour as JSON, several texts with semicolons."""
    if isinstance(answer, list | tuple):
        if all(isinstance(number, int | float) for number in answer):
            return json.dumps([round(number, 4) for number in answer])
        return "; ".join(names.get(text, text) for text in answer)
    return "" if answer is None else names.get(str(answer), str(answer))
