"""Which rows of results a study accepts: those that the participant's form can produce, in its order.

The server applies this to every row before it stores it, and the import to every row of every transport.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from snellen.core.plain_text import short_reason
from snellen.web.plan import Calibration, Consent, End, Entry, PageAnswers, Question, RecordRow, Start, Stop, StudyPlan

MAX_TEXT = 20_000
"""Characters of an answer or a reason."""
MAX_WORD = 1000
"""Characters of an address parameter or the browser's name."""
MAX_ENTRIES, MAX_START = 50, 8000
"""Entries of a start, and its characters as JSON."""
MAX_RETURNS = 1000
"""Rows of a participant besides their answers: each loading of the page adds a start, also over weeks of reviewing."""
CODE = re.compile(r"(?!jatos-)(?=.{1,20}$)[a-z0-9]+-[a-z0-9]+|")
"""A code to withdraw, as the page makes it; unlike a name it has a hyphen, except for names from JATOS."""
TIMER_SECONDS = 1.0
"""How much earlier than its limit a page may say that the time was up."""
MAX_SECONDS = 30 * 86_400
MAX_ATTEMPTS = 3
"""Attempts at a page of practice."""
YEARS = range(2000, 2100)
"""Years of plausible times. Clocks of participants may be wrong, so times are not compared with each other."""


@dataclass(frozen=True)
class FormProgress:
    """A participant's rows so far: number, answered pages, the code, which other kinds of records are there, bytes."""

    rows: int = 0
    pages: int = 0
    consented: bool = False
    stopped: bool = False
    finished: bool = False
    code: str = ""
    calibrated: bool = False
    stored_bytes: int = 0

    def after(self, record_row: RecordRow) -> FormProgress:
        """The progress with an accepted row; its bytes are not counted here."""
        record = record_row.record
        return FormProgress(
            record_row.sequence + 1,
            record.position + 1 if isinstance(record, PageAnswers) else self.pages,
            self.consented or isinstance(record, Consent),
            self.stopped or isinstance(record, Stop),
            self.finished or isinstance(record, End),
            record.code if isinstance(record, Start) and not self.rows else self.code,
            self.calibrated or isinstance(record, Calibration),
        )


def row_problem(record_row: RecordRow, plan: StudyPlan, participant: str, form: int, progress: FormProgress) -> str:
    """The reason that a row cannot follow this participant's earlier ones, as a sentence; empty if it can."""
    record = record_row.record
    if record_row.sequence != progress.rows:
        return f"Row {progress.rows} comes next, not row {str(record_row.sequence)[:20]}."
    if progress.rows == 0 and not isinstance(record, Start):
        return "The first row must be the start."
    if progress.stopped or progress.finished:
        return "Nothing comes after the end, or after stopping."
    if record.time.tzinfo is None or record.time.year not in YEARS:
        return f"A time must have a time zone, and a year from {YEARS[0]} to {YEARS[-1]}."
    if progress.rows - progress.pages > MAX_RETURNS and not isinstance(record, PageAnswers | End | Stop):
        return "The page was loaded too often."
    if isinstance(record, Start):
        if progress.rows and record.code != progress.code:
            return "The code of the start is not that of the first one."
        return _start_problem(record, plan, participant, form)
    if plan.texts.consent and not progress.consented and not isinstance(record, Consent):
        return "Consent comes before the first answer."
    if isinstance(record, Calibration) and not plan.calibration:
        return "This study asks for no calibration."
    if isinstance(record, PageAnswers):
        if plan.calibration and not progress.calibrated:
            return "The calibration comes before the first answer."
        return next(_page_problems(record, plan, form, progress), "")
    pages = len(form_pages(plan, form))
    if isinstance(record, End) and progress.pages != pages:
        return f"The end comes after {pages} pages, not after {progress.pages}."
    return ""


def _start_problem(start: Start, plan: StudyPlan, participant: str, form: int) -> str:
    if start.plan_hash != plan.plan_hash:
        return f"The start belongs to plan {start.plan_hash[:40]}, not to this study's ({plan.plan_hash})."
    if (start.participant, start.form) != (participant, form):
        return "The start is that of another participant or form; reload the page."
    words = (start.agent, start.code, start.participant, *start.parameters, *start.parameters.values(), *start.screen)
    if not CODE.fullmatch(start.code):
        return "The code of the start is none that the page makes."
    size = sum(len(json.dumps(word, ensure_ascii=False)) for word in words)
    is_long = size > MAX_START or any(len(word) > MAX_WORD for word in words)
    if len(start.parameters) + len(start.screen) > MAX_ENTRIES or is_long:
        return "The record of the start is too large."
    return "" if all(map(math.isfinite, start.screen.values())) else "A screen size is not a number."


def form_pages(plan: StudyPlan, form: int) -> tuple[str, ...]:
    """The pages of a form, in order."""
    return tuple(page_id for block in plan.forms[form] for page_id in block.page_ids)


def _page_problems(page_answers: PageAnswers, plan: StudyPlan, form: int, progress: FormProgress) -> Iterator[str]:
    pages, page_id = form_pages(plan, form), page_answers.page_id
    if not 0 <= page_answers.position < len(pages) or pages[page_answers.position] != page_id:
        yield f"Page {page_id[:80]!r} does not stand in this place of the form."
        return
    if page_answers.position != progress.pages:
        yield f"Page {progress.pages + 1} of the form comes next, not page {page_answers.position + 1}."
    if not all(
        math.isfinite(seconds) and 0 <= seconds <= MAX_SECONDS
        for seconds in (page_answers.seconds, page_answers.loading, page_answers.hidden)
    ):
        yield f"Seconds are numbers from 0 to {MAX_SECONDS}."
    page = plan.pages[page_id]
    questions = {question.item_id: question for question in page.questions}
    if page_answers.answers.keys() != questions.keys():
        yield f"Page {page_id!r} asks {len(questions)} questions; each must be answered, and no other."
        return
    if any(item_id not in questions or not questions[item_id].reason for item_id in page_answers.reasons):
        yield f"Page {page_id!r} asks for no reason there."
    if any(len(reason) > MAX_TEXT for reason in page_answers.reasons.values()):
        yield f"A reason has at most {MAX_TEXT} characters."
    tries = MAX_ATTEMPTS if page.feedback is not None else 1
    if not 1 <= page_answers.attempts <= tries or (page.feedback is None and not page_answers.passed):
        yield f"Page {page_id!r} has at most {tries} attempts, and only practice can be failed."
    for item_id, answer in page_answers.answers.items():
        if answer is None and page.seconds is None and page.kind != "example":
            yield f"The answer to {item_id!r} is missing."
        elif answer is None and page.seconds is not None and page_answers.seconds < page.seconds - TIMER_SECONDS:
            yield f"The answer to {item_id!r} is missing, and the time of the page was not up."
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
    return len(entry) == (2 if question.kind == "point" else 4)


def _is_number(entry: Entry) -> bool:
    if isinstance(entry, str):
        try:
            return len(entry) <= MAX_WORD and math.isfinite(float(entry))
        except ValueError:
            return False
    return isinstance(entry, float) and math.isfinite(entry)


# Results that are imported


def start_digest(row: RecordRow) -> str:
    """The SHA-256 of a participant's first row, which has their random code and the time."""
    return hashlib.sha256(row.model_dump_json().encode()).hexdigest()


def code_digest(code: str) -> str:
    """The SHA-256 of a person's code to withdraw."""
    return hashlib.sha256(f"code {code}".encode()).hexdigest()


def person_digests(record_rows: Sequence[RecordRow]) -> set[str]:
    """Digests by which a person is recognised: of their first row, and of the codes of their starts."""
    codes = {row.record.code for row in record_rows if isinstance(row.record, Start) and row.record.code}
    return set(map(code_digest, codes)) | ({start_digest(record_rows[0])} if record_rows else set())


def joined_digests(record_rows: Sequence[RecordRow]) -> str:
    """The `person_digests` as text, by which refused rows name their person."""
    return " ".join(sorted(person_digests(record_rows)))


@dataclass(frozen=True)
class BadLine:
    """A line of a file that is not a row of results, and the reason."""

    line: int
    reason: str


ReadRow: TypeAlias = RecordRow | BadLine


@dataclass(frozen=True)
class Submission:
    """One participant's rows in order, as a transport delivered them from the file or database `source`."""

    name: str
    rows: Sequence[ReadRow]
    source: str = ""


@dataclass(frozen=True)
class Refused:
    """A row that was not accepted: whose it is, its file, its place there, the reason, and digests of the person."""

    person: str
    source: str
    row: str
    reason: str
    digests: str = field(default="", compare=False)

    def __str__(self) -> str:
        """One line."""
        person, source = short_reason(self.person, 80), short_reason(self.source, 300)
        return f"{person} ({source}), {self.row}: {self.reason}" if self.row else f"{person}: {self.reason}"


def admit(submission: Submission, plan: StudyPlan, *, leave_out: bool) -> tuple[list[RecordRow], list[Refused]]:
    """The accepted rows of a participant, and those refused: of a person with a refused row nothing is accepted.

    With `leave_out`, only the refused rows are left out, and those that follow may be accepted.
    """
    accepted, refused = list[RecordRow](), list[Refused]()
    rows = [row for row in submission.rows if isinstance(row, RecordRow)]
    digests = joined_digests(rows)
    bad_lines = [row for row in submission.rows if isinstance(row, BadLine)]

    def refuse(row: str, reason: str) -> None:
        refused.append(Refused(submission.name, submission.source, row, reason, digests))

    for line in bad_lines:
        refuse(f"line {line.line}", line.reason)
    start = next((row.record for row in rows[:1] if isinstance(row.record, Start)), None)
    if start is None:
        refuse("row 0", "There is no record of the start.")
    elif not 0 <= start.form < len(plan.forms):
        refuse("row 0", f"The study has no form {str(start.form)[:20]}.")
        start = None
    progress = FormProgress()
    for row in rows:
        if start is None or (refused and not leave_out):
            return [], refused
        if leave_out and row.sequence > progress.rows:
            refuse(f"row {progress.rows}", "It is missing.")
            progress = replace(progress, rows=row.sequence)
        if (
            refused
            and isinstance(row.record, PageAnswers)
            and 0 <= row.record.position < len(form_pages(plan, start.form))
        ):
            progress = replace(progress, pages=max(progress.pages, row.record.position))  # pages before it are missing
        if problem := row_problem(row, plan, start.participant, start.form, progress):
            refuse(f"row {row.sequence}", problem)
            progress = replace(progress, rows=max(progress.rows, row.sequence + 1))
            start = start if accepted else None
        else:
            accepted.append(row)
            progress = progress.after(row)
    return ([], refused) if refused and not leave_out else (accepted, refused)
