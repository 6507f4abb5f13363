"""The participants of a study: their rows, their aliases in tables, and one row per person in `people.csv`."""

from __future__ import annotations

import logging
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import pandas as pd

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.web.admission import form_pages, joined_digests
from snellen.web.plan import Calibration, Consent, End, PageAnswers, RecordRow, Start, Stop, StudyPlan
from snellen.web.study import PROLIFIC, StudyCard, read_plan

ALIAS = re.compile(r"[A-Za-z0-9._-]{1,40}")
PEOPLE = "people.csv"
MAX_SAME = 10
"""Others of one panel id that are named for a person."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Participant:
    """One person's rows, with the alias for tables; `name` is the name given by the transport."""

    alias: str
    name: str
    rows: tuple[RecordRow, ...]

    @cached_property
    def start(self) -> Start:
        """Their first start. Raises SnellenError if there is none among the rows."""
        for row in self.rows:
            if isinstance(row.record, Start):
                return row.record
        raise SnellenError(f"{self.name}: no record of a start; rows of this participant are missing")

    @cached_property
    def pages(self) -> Mapping[str, PageAnswers]:
        """Answered pages by id; of several answers to a page the first counts."""
        pages: dict[str, PageAnswers] = {}
        for row in self.rows:
            if isinstance(row.record, PageAnswers):
                pages.setdefault(row.record.page_id, row.record)
        return pages

    @property
    def calibrated_attributes(self) -> dict[str, str]:
        """`px_per_cm` and `distance_cm` of the last calibration, as texts.

        Both only if all agree to 10 %; without a card, or on another screen, the distance alone if the distances agree.
        """
        records = [row.record for row in self.rows if isinstance(row.record, Calibration)]
        distances = [record.distance_cm for record in records]
        sizes = [(record.px_per_cm or 0.0) * record.distance_cm for record in records]
        if sizes and max(sizes) <= 1.1 * min(sizes) and min(sizes) > 0:
            return {"px_per_cm": f"{records[-1].px_per_cm:.2f}", "distance_cm": f"{distances[-1]:g}"}
        return {"distance_cm": f"{distances[-1]:g}"} if records and max(distances) <= 1.1 * min(distances) else {}

    @property
    def end(self) -> End | None:
        """Their last record, if they finished."""
        return next((row.record for row in self.rows if isinstance(row.record, End)), None)


def as_participants(
    people_rows: Iterable[tuple[str, Sequence[RecordRow]]], earlier: Iterable[Participant] = ()
) -> list[Participant]:
    """Participants of a study by the time of their start, together with those imported `earlier`.

    Rows with the same first start are of one person. Those without a plain word of their own as name are named p01, p02
    and so on.
    """
    known = {participant.alias: participant for participant in earlier}
    alias_of = {participant.start.model_dump_json(): alias for alias, participant in known.items()}
    number = 1
    for name, rows in people_rows:
        participant = Participant(name, name, tuple(rows))
        start = participant.start.model_dump_json()
        if start in alias_of:
            known[alias_of[start]] = _joined(known[alias_of[start]], rows)
            continue
        alias = name if ALIAS.fullmatch(name) and name != participant.start.code else ""  # which withdraws their data
        while not alias or alias in known:
            alias, number = f"p{number:02d}", number + 1
        if name in known:
            log.warning("%s: somebody else of this name is there already; this person is %s", name, alias)
        known[alias], alias_of[start] = replace(participant, alias=alias), alias
    return sorted(known.values(), key=lambda person: (person.start.time.timestamp(), person.alias))


def _joined(participant: Participant, record_rows: Sequence[RecordRow]) -> Participant:
    """The participant with further rows. Of two rows with one number the first counts, and the conflict is named."""
    by_number = {row.sequence: row for row in participant.rows}
    for row in record_rows:
        if by_number.setdefault(row.sequence, row) != row:
            log.warning("%s: row %d differs from the one imported before, which stays", participant.alias, row.sequence)
    return Participant(participant.alias, participant.name, tuple(by_number[number] for number in sorted(by_number)))


def _panel_id(participant: Participant) -> str:
    """The id that a panel gave the person; empty for none, and for a placeholder that the panel did not fill."""
    panel_id = participant.start.parameters.get(PROLIFIC, "")
    if "{{" not in panel_id and "${" not in panel_id:
        return panel_id
    what = short_reason(panel_id)
    log.warning("%s: the address has the placeholder %s in place of a panel id", participant.alias, what)
    return ""


def people_table(
    plan: StudyPlan, card: StudyCard, participants: Sequence[Participant], left_out: Mapping[str, int] | None = None
) -> pd.DataFrame:
    """One row per person: times, progress, speed and attention checks. It excludes no one.

    `left_out` counts refused rows by the digests of their person. `same_id_as` names the others
    with the same panel id: anybody may begin earlier by their clock.
    """
    rows, aliases_of = [], dict[str, list[str]]()
    panel_ids = {participant.alias: _panel_id(participant) for participant in participants}
    for participant in participants:
        aliases_of.setdefault(panel_ids[participant.alias], []).append(participant.alias)
    for panel_id, aliases in aliases_of.items():
        if panel_id and len(aliases) > 1:
            log.warning("%s have the same panel id, perhaps of one person", ", ".join(_first(aliases)))
    for participant in participants:
        kinds = {page_id: plan.pages[page_id].kind for page_id in form_pages(plan, participant.start.form)}
        questions, checks = (
            [page_id for page_id, kind in kinds.items() if kind == wanted] for wanted in ("question", "attention")
        )
        reached = [participant.pages[page_id] for page_id in questions if page_id in participant.pages]
        answered = [page for page in reached if any(answer is not None for answer in page.answers.values())]
        seconds = [page.seconds for page in reached]
        codes = (row.record.code for row in participant.rows if isinstance(row.record, Start))
        outcomes = [_passed(card, participant, page_id) for page_id in checks]
        panel_id = panel_ids[participant.alias]
        same_id = _first(aliases_of[panel_id], participant.alias) if panel_id else []
        sizes = {"px_per_cm": "", "distance_cm": ""} | participant.calibrated_attributes if plan.calibration else {}
        rows.append(
            {
                "participant": participant.alias,
                "subject": f"human:{card.name}/{participant.alias}",
                "name": participant.name,
                "code": " ".join(filter(None, dict.fromkeys(codes))),
                "form": participant.start.form,
                "started": participant.start.time.isoformat(),
                "ended": participant.end.time.isoformat() if participant.end else "",
                "stopped": any(isinstance(row.record, Stop) for row in participant.rows),
                "consent": any(isinstance(row.record, Consent) for row in participant.rows),
                "questions": len(questions),
                "answered": len(answered),
                "time_was_up": len(reached) - len(answered),
                "not_reached": len(questions) - len(reached),
                "rows_left_out": (left_out or {}).get(joined_digests(participant.rows), 0),
                "same_id_as": " ".join(same_id),
                "median_seconds": round(statistics.median(seconds), 3) if seconds else None,
                "practice_failed": sum(not page.passed for page in participant.pages.values()),
                "checks": len(checks),
                "checks_passed": outcomes.count(True),
                "checks_failed": outcomes.count(False),
                "checks_not_reached": outcomes.count(None),
                **sizes,
                **{
                    f"parameter_{key}": text
                    for key, text in sorted(participant.start.parameters.items())
                    if key in card.parameters
                },
            }
        )
    return pd.DataFrame(rows)


def _first(aliases: Sequence[str], own_alias: str = "") -> list[str]:
    """The first of these aliases without a person's own, and how many more there are."""
    count = len(aliases) - bool(own_alias)
    listed = list(islice((alias for alias in aliases if alias != own_alias), MAX_SAME))
    return listed + [f"and {count - MAX_SAME} more"] * (count > MAX_SAME)


def _passed(card: StudyCard, participant: Participant, page_id: str) -> bool | None:
    """The outcome of an attention check; None if the person did not get there."""
    page = participant.pages.get(page_id)
    return None if page is None else page.answers == card.pages[page_id].answers


def people_by_form(root: Path, out: Path) -> list[int]:
    """The number of imported people with each form of a study."""
    forms = pd.read_csv(out / PEOPLE)["form"]
    return [int((forms == form).sum()) for form in range(len(read_plan(root).forms))]
