"""Imports results of a study as ordinary runs: every person is a subject `human:STUDY/ALIAS`.

The ask loop shows each person's items as their pages did, and their recorded answers are the replies, written by the
view's own `ReplySpec`. Keys, tables and scores are those of every run.
"""

from __future__ import annotations

import logging
import re
import shutil
import statistics
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from snellen.analysis.studies.people_tables import QUESTIONS
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage import files
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.versions import versions
from snellen.core.subject import Base, SubjectCard
from snellen.core.suite import Schedule, Trial
from snellen.exam.examination import Examination
from snellen.exam.rescoring import rescore
from snellen.reports.loading import load_run
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.suites import SUITES, suite_of
from snellen.web.admission import BadLine, Refused, Submission, admit, form_pages, joined_digests, person_digests
from snellen.web.authenticity import AuthenticityRule, authenticity
from snellen.web.jatos import MAX_RECORD_BYTES, line_of, read_archive, read_folder
from snellen.web.pages import SEED, written
from snellen.web.plan import Calibration, Consent, End, Entry, PageAnswers, RecordRow, Start, Stop, StudyPlan
from snellen.web.store import read_results
from snellen.web.study import (
    LOCK,
    PROLIFIC,
    RESULTS,
    PageSource,
    StudyCard,
    forgotten,
    open_itemset,
    read_plan,
    read_study,
)

ALIAS = re.compile(r"[A-Za-z0-9._-]{1,40}")
PEOPLE, REFUSED, RECORDS, AUTHENTICITY = "people.csv", "refused.csv", "records", "authenticity"
SKIPPED = "Left out by --skip."
RESULT_NAME = re.compile(r"study_result_\d+")

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
    def calibration(self) -> Calibration | None:
        """Their last calibration; None without a card, or if they returned to another screen or distance (by 10 %)."""
        records = [row.record for row in self.rows if isinstance(row.record, Calibration)]
        sizes = [(record.px_per_cm or 0.0) * record.distance_cm for record in records]
        return records[-1] if sizes and max(sizes) <= 1.1 * min(sizes) and min(sizes) > 0 else None

    @property
    def end(self) -> End | None:
        """Their last record, if they finished."""
        return next((row.record for row in self.rows if isinstance(row.record, End)), None)


def read_results_of(study: Path, paths: Sequence[Path]) -> Iterator[Submission]:
    """Participants and their rows from the given files and folders, else from the record of `snellen study serve`."""
    if not paths:
        yield from (Submission(name, rows, RESULTS) for name, rows in read_results(study))
    archives = [path for path in paths if path.suffix in (".zip", ".jrzip")]
    for path in archives:
        yield from read_archive(path)
    if others := [path for path in paths if path not in archives]:
        yield from read_folder(others)


def admit_all(
    submissions: Iterable[Submission],
    root: Path,
    *,
    skip: Collection[str] = (),
    skip_bad: bool = False,
    out: Path | None = None,
) -> tuple[list[tuple[str, list[RecordRow]]], list[Refused]]:
    """People with accepted rows, and all refused rows; a person with a refused row is left out whole.

    With `skip_bad`, only the refused rows are left out. `skip` has names of people, or of the file or study result they
    came from; these are left out and listed as refused. Those who were forgotten (`snellen study forget`) in the study,
    or in the folder `out` of results, are left out silently.
    """
    plan, skipped = read_plan(root), set[str]()
    gone = forgotten(root) | (forgotten(out) if out else set())
    people, refused = list[tuple[str, list[RecordRow]]](), list[Refused]()
    for submission in submissions:
        places = {submission.source, submission.source.rpartition(": ")[2]}
        # A person may call themselves like somebody's result.
        names = set[str]() if RESULT_NAME.fullmatch(submission.name) else {submission.name}
        if matches := (places | names).intersection(skip):
            skipped |= matches
            refused.append(Refused(submission.name, submission.source, "", SKIPPED))
            continue
        if not gone.isdisjoint(person_digests([row for row in submission.rows if isinstance(row, RecordRow)])):
            continue
        rows, problems = admit(submission, plan, leave_out=skip_bad)
        refused += problems
        if rows:
            people.append((submission.name, rows))
    if absent := next((name for name in skip if name not in skipped), None):
        raise SnellenError(f"--skip {absent}: no person and no file of this name is among the results")
    return people, refused


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
        alias = name if ALIAS.fullmatch(name) else ""
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


def imported(out: Path) -> Iterator[Participant]:
    """The people who were imported into a folder before. Raises SnellenError if a record was changed since."""
    for path in sorted((out / RECORDS).glob("*.jsonl")):
        for submission in read_folder([path], MAX_RECORD_BYTES):
            if bad := next((row for row in submission.rows if isinstance(row, BadLine)), None):
                raise SnellenError(f"{path}: line {bad.line}: {bad.reason} Delete it, and import this person again")
            rows = tuple(row for row in submission.rows if isinstance(row, RecordRow))
            yield Participant(path.stem, submission.name, rows)


@dataclass(frozen=True)
class Person(Base):
    """A person as a subject that replays recorded answers. `pages` are theirs under one condition."""

    pages: Sequence[PageAnswers]

    @cached_property
    def _by_item(self) -> Mapping[str, tuple[Entry, PageAnswers]]:
        return {item_id: (answer, page) for page in self.pages for item_id, answer in page.answers.items()}

    def schedule(self, trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        """The answered trials; items never asked have no row."""
        yield tuple(trial for trial in trials if all(view.item_id in self._by_item for view in trial.views))

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The recorded answer. `seconds` are those of the page, `reasoning` is the written reason."""
        pages = {page.page_id: page for view in prompt.views for _, page in [self._by_item[view.item_id]]}
        text = answer_views(prompt.views, lambda view: written(view, self._by_item[view.item_id][0]))
        reasons = [reason for page in pages.values() for reason in page.reasons.values() if reason]
        return Reply(text, reasoning="\n".join(reasons), seconds=sum(page.seconds for page in pages.values()))


def import_study(
    root: Path, submissions: Iterable[Submission], out: Path, *, skip: Collection[str] = (), skip_bad: bool = False
) -> list[Examination]:
    """Write one run per suite under `out`, with `people.csv` and the records, of these people and all imported before.

    Rows that the study cannot have produced are listed in `refused.csv` (see `admit_all`). A block with an authenticity
    rule becomes separate runs under `authenticity/`, and columns of `people.csv`. Only the owner can read the folder.
    """
    with files.kernel_lock(root / LOCK, root):
        return import_locked(root, submissions, out, skip=skip, skip_bad=skip_bad)


def import_locked(
    root: Path, submissions: Iterable[Submission], out: Path, *, skip: Collection[str] = (), skip_bad: bool = False
) -> list[Examination]:
    """As `import_study`, for whoever holds the lock of the study."""
    card, plan = read_study(root), read_plan(root)
    if out.resolve() in (root.resolve(), *root.resolve().parents):
        raise SnellenError(f"--out {out}: is or holds the study itself; choose a folder of its own, such as people")
    people, refused = admit_all(submissions, root, skip=skip, skip_bad=skip_bad, out=out)
    earlier, gone = list(imported(out)), forgotten(root) | forgotten(out)
    removed = [participant for participant in earlier if not gone.isdisjoint(person_digests(participant.rows))]
    participants = as_participants(people, [participant for participant in earlier if participant not in removed])
    if removed:  # their records go last, so that an interrupted import repeats this
        for suite in (*card.itemsets, AUTHENTICITY):
            shutil.rmtree(out / suite, ignore_errors=True)
    if removed and not participants:
        for name in (PEOPLE, REFUSED, *(f"{RECORDS}/{participant.alias}.jsonl" for participant in removed)):
            (out / name).unlink(missing_ok=True)
        return []
    if not participants and refused:
        out.mkdir(parents=True, exist_ok=True)
        out.chmod(0o700)
        write_refused(out, refused)
        raise SnellenError(f"{root}: nobody's results were accepted; {refused[0]}")
    if not participants:
        raise SnellenError(f"{root}: no one has started yet")
    out.mkdir(parents=True, exist_ok=True)
    out.chmod(0o700)
    write_refused(out, refused)
    for participant in participants:
        lines = "".join(line_of(row) for row in participant.rows)
        write_private(out / RECORDS / f"{participant.alias}.jsonl", lines)
    rules = {block.name: block.authenticity for block in card.design.blocks if block.authenticity}
    examinations = _import_runs(card, plan, participants, out, rules, are_checked=False)
    checked_examinations = _import_runs(card, plan, participants, out / AUTHENTICITY, rules, are_checked=True)
    left_out = Counter(row.digests for row in refused if row.row and row.digests)
    table = people_table(plan, card, participants, left_out)
    for rule in rules.values() if checked_examinations else ():
        table = _with_authenticity(table, [examination.root for examination in checked_examinations], rule)
    files.write_csv(out / PEOPLE, table)
    (out / PEOPLE).chmod(0o600)
    aliases = {participant.alias for participant in participants}
    for participant in removed:
        if participant.alias not in aliases:
            (out / RECORDS / f"{participant.alias}.jsonl").unlink(missing_ok=True)
    return examinations


def write_refused(out: Path, refused: Sequence[Refused]) -> None:
    """Write `refused.csv`, which only the owner can read."""
    table = pd.DataFrame([asdict(row) for row in refused], columns=["person", "source", "row", "reason", "digests"])
    files.write_csv(out / REFUSED, table)
    (out / REFUSED).chmod(0o600)


def read_refused(out: Path) -> list[Refused]:
    """The rows that the last import refused."""
    table = pd.read_csv(out / REFUSED, dtype=str, keep_default_na=False)
    return [Refused(**{str(name): str(cell) for name, cell in row.items()}) for row in table.to_dict("records")]


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    files.write_text(path, text)
    path.chmod(0o600)


def _with_authenticity(table: pd.DataFrame, runs: Sequence[Path], rule: AuthenticityRule) -> pd.DataFrame:
    """The table with the verdict on each person from the runs of the authenticity block; empty if they skipped it."""
    verdicts = pd.concat([authenticity(load_run(path), rule) for path in runs], ignore_index=True)
    columns = {"accuracy": "authentic_accuracy", "reasons": "authentic_reasons"}
    verdicts = verdicts.rename(columns=columns)[["subject", "authentic", *columns.values()]]
    return table.merge(verdicts, on="subject", how="left")


def _arms(
    card: StudyCard, plan: StudyPlan, suite: str, participants: Sequence[Participant], sources: Mapping[str, PageSource]
) -> Iterator[Arm]:
    """People's arms, one per condition; the card has the number of items of the form. `sources` are of questions."""
    axes = SUITES.get(suite).axes
    for participant in participants:
        pages_by_condition: dict[str, list[PageAnswers]] = {}
        for page_id, page in participant.pages.items():
            if page_id in sources:
                pages_by_condition.setdefault(sources[page_id].condition, []).append(page)
        settings = {"study": card.plan_hash, "participant": participant.alias}
        size = sum(
            len(sources[page_id].item_ids) for page_id in form_pages(plan, participant.start.form) if page_id in sources
        )
        name, attributes = f"human:{card.name}/{participant.alias}", {QUESTIONS: str(size), "wording": plan.wording}
        attributes |= _calibrated(participant)
        subject_card = SubjectCard(name, settings, attributes=attributes, role="person")
        for written_condition, pages in pages_by_condition.items():
            (condition,) = parse_conditions(axes, written_condition)
            person = Person(subject_card, pages)
            schedule: Schedule = person.schedule
            yield Arm(person, condition, schedule=schedule)


def _calibrated(participant: Participant) -> dict[str, str]:
    """`px_per_cm` and `distance_cm` of a participant as texts; empty if they are unknown."""
    if (calibration := participant.calibration) is None:
        return {}
    return {"px_per_cm": f"{calibration.px_per_cm:.2f}", "distance_cm": f"{calibration.distance_cm:g}"}


def _import_runs(
    card: StudyCard,
    plan: StudyPlan,
    participants: Sequence[Participant],
    out: Path,
    rules: Collection[str],
    *,
    are_checked: bool,
) -> list[Examination]:
    """A run per suite of the questions in blocks with an authenticity rule (`are_checked`), or of all others."""
    questions = {
        page_id: source
        for page_id, source in card.pages.items()
        if plan.pages[page_id].kind == "question" and (source.block in rules) is are_checked
    }
    examinations = []
    for name in card.itemsets:
        sources = {page_id: source for page_id, source in questions.items() if source.suite == name}
        if arms := list(_arms(card, plan, name, participants, sources)):
            items = open_itemset(card, name)
            suite, folder = suite_of(items), out / name
            responses = ask(folder, Plan(items, suite, arms, SEED, versions=versions()))
            rescore(folder, items, suite, "strict")
            examinations.append(Examination(folder, suite, items, responses))
    return examinations


# Who took part


def people_table(
    plan: StudyPlan, card: StudyCard, participants: Sequence[Participant], left_out: Mapping[str, int] | None = None
) -> pd.DataFrame:
    """One row per person: times, progress, speed and attention checks. It excludes no one.

    `left_out` counts refused rows by the digests of their person. `same_id_as` names the others
    with the same panel id: anybody may begin earlier by their clock.
    """
    rows, aliases_of = [], dict[str, list[str]]()
    for participant in participants:
        aliases_of.setdefault(participant.start.parameters.get(PROLIFIC, ""), []).append(participant.alias)
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
        panel_id = participant.start.parameters.get(PROLIFIC, "")
        same_id = [alias for alias in aliases_of[panel_id] if alias != participant.alias] if panel_id else []
        sizes = {"px_per_cm": "", "distance_cm": ""} | _calibrated(participant) if plan.calibration else {}
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


def _passed(card: StudyCard, participant: Participant, page_id: str) -> bool | None:
    """The outcome of an attention check; None if the person did not get there."""
    page = participant.pages.get(page_id)
    return None if page is None else page.answers == card.pages[page_id].answers


def people_by_form(root: Path, out: Path) -> list[int]:
    """The number of imported people with each form of a study."""
    forms = pd.read_csv(out / PEOPLE)["form"]
    return [int((forms == form).sum()) for form in range(len(read_plan(root).forms))]
