"""Validates submitted rows of results against the participant's form."""

from __future__ import annotations

import math
from collections.abc import Iterator

from snellen.web.plan import Entry, PageAnswers, Question, RecordRow, Start, StudyPlan

MAX_SEQUENCE = 10_000
"""Limit for the rows of one participant."""
MAX_TEXT = 20_000
"""Characters of an answer or a reason."""
MAX_WORD = 1000
"""Characters of an address parameter or the browser's name."""
MAX_ENTRIES = 50


def row_problem(record_row: RecordRow, plan: StudyPlan, participant: str, form: int) -> str:
    """The reason that a row cannot be from this participant, as a sentence; empty if it can."""
    if not 0 <= record_row.sequence < MAX_SEQUENCE:
        return f"Sequence numbers go from 0 to {MAX_SEQUENCE - 1}."
    if isinstance(record_row.record, Start):
        return _start_problem(record_row.record, plan, participant, form)
    if isinstance(record_row.record, PageAnswers):
        return next(_page_problems(record_row.record, plan, form), "")
    return ""


def _start_problem(start: Start, plan: StudyPlan, participant: str, form: int) -> str:
    if (start.participant, start.form, start.plan_hash) != (participant, form, plan.plan_hash):
        return "The start is that of another participant, form or plan; reload the page."
    words = (start.agent, start.code, *start.parameters, *start.parameters.values(), *start.screen)
    if len(start.parameters) + len(start.screen) > MAX_ENTRIES or any(len(word) > MAX_WORD for word in words):
        return "The start holds too much."
    return "" if all(map(math.isfinite, start.screen.values())) else "A size of the screen is no number."


def form_pages(plan: StudyPlan, form: int) -> tuple[str, ...]:
    """The pages of a form, in order."""
    return tuple(page_id for block in plan.forms[form] for page_id in block.page_ids)


def _page_problems(page_answers: PageAnswers, plan: StudyPlan, form: int) -> Iterator[str]:
    pages = form_pages(plan, form)
    if not 0 <= page_answers.position < len(pages) or pages[page_answers.position] != page_answers.page_id:
        yield f"Page {page_answers.page_id[:80]!r} does not stand in this place of the form."
        return
    if not all(
        math.isfinite(seconds) and seconds >= 0
        for seconds in (page_answers.seconds, page_answers.loading, page_answers.hidden)
    ):
        yield "Seconds are numbers from 0."
    page = plan.pages[page_answers.page_id]
    questions = {question.item_id: question for question in page.questions}
    if not {*page_answers.answers, *page_answers.reasons} <= set(questions):
        yield f"Page {page_answers.page_id!r} does not ask all of what is answered."
        return
    if any(len(reason) > MAX_TEXT for reason in page_answers.reasons.values()):
        yield f"A reason has at most {MAX_TEXT} characters."
    for item_id, answer in page_answers.answers.items():
        if answer is None and page.seconds is None and page.kind != "example":
            yield f"The answer to {item_id!r} is missing."
        elif answer is not None and not answer_fits(answer, questions[item_id]):
            yield f"The answer to {item_id!r} is not of the kind {questions[item_id].kind}."


def answer_fits(entry: Entry, question: Question) -> bool:
    """True if an entry is of the question's kind, and one of its choices if it has any."""
    if question.kind in ("choice", "true_false"):
        return isinstance(entry, str) and entry in {choice.name for choice in question.choices}
    if question.kind in ("text", "description"):
        return isinstance(entry, str) and len(entry) <= MAX_TEXT
    if question.kind in ("integer", "number"):
        return _is_number(entry)
    if not isinstance(entry, list) or not all(map(math.isfinite, entry)):
        return False
    if question.kind == "colour":
        return len(entry) == 3 and all(0 <= level <= 255 for level in entry)
    return len(entry) == 4


def _is_number(entry: Entry) -> bool:
    if isinstance(entry, str):
        try:
            return len(entry) <= MAX_WORD and math.isfinite(float(entry))
        except ValueError:
            return False
    return isinstance(entry, float) and math.isfinite(entry)
