"""Imports results of a study as ordinary runs: every person is a subject `human:STUDY/ALIAS`.

The ask loop shows each person's items as their pages did, and their recorded answers are the replies, written by the
view's own `ReplySpec`. Keys, tables and scores are those of every run.
"""

from __future__ import annotations

import io
import logging
import re
import shutil
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from snellen.analysis.studies.people_tables import QUESTIONS
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.plain_text import no_formula
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage import files
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import is_run, read_run_card
from snellen.core.storage.trees import refuse_links
from snellen.core.storage.user_files import read_text
from snellen.core.storage.versions import versions
from snellen.core.subject import Base, SubjectCard
from snellen.core.suite import Schedule, Trial
from snellen.exam.examination import Examination
from snellen.exam.rescoring import rescore_all
from snellen.reports.loading import load_run
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.suites import SUITES, suite_of
from snellen.web.admission import BadLine, Refused, Submission, admit, form_pages, joined_digests, person_digests
from snellen.web.authenticity import AuthenticityRule, authenticity
from snellen.web.jatos import MAX_RECORD_BYTES, read_archive, read_folder
from snellen.web.pages import SEED, written
from snellen.web.participants import PEOPLE, Participant, as_participants, people_table
from snellen.web.plan import Entry, PageAnswers, RecordRow, StudyPlan
from snellen.web.record_lines import line_of
from snellen.web.store import read_stored
from snellen.web.study import (
    LOCK,
    MAX_TOTAL_BYTES,
    RESULTS,
    PageSource,
    StudyCard,
    forgotten,
    open_itemset,
    read_plan,
    read_study,
    write_private,
)
from snellen.web.trials import TRIALS, trial_table

REFUSED, RECORDS, AUTHENTICITY = "refused.csv", "records", "authenticity"
SKIPPED = "Left out by --skip."
RESULT_NAME = re.compile(r"study_result_\d+")

log = logging.getLogger(__name__)


def read_results_of(study: Path, paths: Sequence[Path]) -> Iterator[Submission]:
    """Participants and their rows from the given files and folders, else from the record of `snellen study serve`."""
    if not paths:
        yield from (Submission(stored.name, stored.rows, RESULTS) for stored in read_stored(study, MAX_TOTAL_BYTES))
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
        skipped |= (matches := (places | names).intersection(skip))
        record_rows = [row for row in submission.rows if isinstance(row, RecordRow)]
        if not gone.isdisjoint(person_digests(record_rows)):
            continue
        if matches:
            refused.append(Refused(submission.name, submission.source, "", SKIPPED, joined_digests(record_rows)))
            continue
        rows, problems = admit(submission, plan, leave_out=skip_bad)
        refused += problems
        if rows:
            people.append((submission.name, rows))
    if absent := next((name for name in skip if name not in skipped), None):
        raise SnellenError(f"--skip {absent}: no person and no file of this name is among the results")
    return people, refused


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
    """Write one run per suite under `out`, with `people.csv`, `trials.csv` and the records.

    They are of these people and of all imported before. Rows that the study cannot have produced are listed in
    `refused.csv` (see `admit_all`). A block with an authenticity rule becomes separate runs under `authenticity/`, and
    columns of `people.csv`. Only the owner can read the folder.
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
    if out.is_dir():  # it may be a stranger's
        refuse_links(out)
    people, refused = admit_all(submissions, root, skip=skip, skip_bad=skip_bad, out=out)
    earlier, gone = list(imported(out)), forgotten(root) | forgotten(out)
    if any(participant.start.plan_hash != plan.plan_hash for participant in earlier):
        raise SnellenError(f"{out}: has people of another study, or of another build of this one; give another --out")
    _refuse_other_runs(out / suite for suite in card.itemsets)
    removed = [participant for participant in earlier if not gone.isdisjoint(person_digests(participant.rows))]
    participants = as_participants(people, [participant for participant in earlier if participant not in removed])
    latest = {participant.alias: _last_pages(card, participant) for participant in participants}
    is_changed = any(_last_pages(card, was).items() - latest.get(was.alias, {}).items() for was in earlier)
    if removed or is_changed:  # records of those who are removed go last, so that an interrupted import repeats this
        for suite in (*card.itemsets, AUTHENTICITY):
            shutil.rmtree(out / suite, ignore_errors=True)
    if removed and not participants:
        for name in (PEOPLE, TRIALS, REFUSED, *(f"{RECORDS}/{participant.alias}.jsonl" for participant in removed)):
            (out / name).unlink(missing_ok=True)
        return []
    if not participants and not refused:
        raise SnellenError(f"{root}: no one has started yet")
    out.mkdir(parents=True, exist_ok=True)
    out.chmod(0o700)
    write_refused(out, refused)
    if not participants:
        raise SnellenError(f"{root}: nobody's results were accepted; {refused[0]}")
    for participant in participants:
        lines = "".join(line_of(row) for row in participant.rows)
        write_private(out / RECORDS / f"{participant.alias}.jsonl", lines)
    rules = {block.name: block.authenticity for block in card.design.blocks if block.authenticity}
    examinations = _import_runs(card, plan, participants, out, rules, are_checked=False)
    checked_examinations = _import_runs(card, plan, participants, out / AUTHENTICITY, rules, are_checked=True)
    left_out = Counter(row.digests for row in refused if row.row and row.digests)
    present = {digests: left_out[digests] for digests in (joined_digests(rows) for _, rows in people)}
    table = people_table(plan, card, participants, _rows_left_out(out, earlier) | present)
    for rule in rules.values() if checked_examinations else ():
        table = _with_authenticity(table, [examination.root for examination in checked_examinations], rule)
    trials = trial_table(card, plan, participants, [*examinations, *checked_examinations])
    for name, rows in {PEOPLE: table, TRIALS: trials}.items():
        files.write_csv(out / name, rows)
        (out / name).chmod(0o600)
    aliases = {participant.alias for participant in participants}
    for participant in removed:
        if participant.alias not in aliases:
            (out / RECORDS / f"{participant.alias}.jsonl").unlink(missing_ok=True)
    return examinations


def _refuse_other_runs(roots: Iterable[Path]) -> None:
    """Raise SnellenError if a run in one of the folders has others than people: it may be written anew."""
    for root in filter(is_run, roots):
        if other := next((arm.subject for arm in read_run_card(root).arms if arm.role != "person"), None):
            raise SnellenError(f"{root}: a run of {other}; give --out a folder of its own, such as people")


def _last_pages(card: StudyCard, participant: Participant) -> dict[tuple[str, str], str]:
    """The page whose answer to an item counts, by condition and item; a run keeps the reply that it recorded first."""
    pages = ((name, page) for name, page in participant.pages.items() if name in card.pages)
    return {(card.pages[name].condition, item_id): name for name, page in pages for item_id in page.answers}


def write_refused(out: Path, refused: Sequence[Refused]) -> None:
    """Write `refused.csv`, which only the owner can read."""
    table = pd.DataFrame([asdict(row) for row in refused], columns=["person", "source", "row", "reason", "digests"])
    files.write_csv(out / REFUSED, table)
    (out / REFUSED).chmod(0o600)


def read_refused(out: Path) -> list[Refused]:
    """The rows that the last import refused. Raises SnellenError if they cannot be read."""
    try:
        table = pd.read_csv(io.StringIO(read_text(out / REFUSED, regular=True)), dtype=str, keep_default_na=False)
        return [Refused(**{str(name): str(cell) for name, cell in row.items()}) for row in table.to_dict("records")]
    except (OSError, TypeError, ValueError) as error:
        raise SnellenError(f"{out / REFUSED}: not readable ({error}); import the results again") from error


def _rows_left_out(out: Path, earlier: Sequence[Participant]) -> dict[str, int]:
    """Numbers of rows by the digests of their person, as people.csv has them; none if it is missing or was changed."""
    try:
        table = pd.read_csv(io.StringIO(read_text(out / PEOPLE, regular=True)), dtype=str, keep_default_na=False)
        counts = dict(zip(table["participant"], table["rows_left_out"].astype(int), strict=True))
        return {joined_digests(person.rows): int(counts.get(no_formula(person.alias), 0)) for person in earlier}
    except (OSError, KeyError, TypeError, ValueError):
        return {}


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
        shown = form_pages(plan, participant.start.form)
        size = sum(len(sources[page_id].item_ids) for page_id in shown if page_id in sources)
        name, attributes = f"human:{card.name}/{participant.alias}", {QUESTIONS: str(size), "wording": plan.wording}
        attributes |= participant.calibrated_attributes | ({"words": "shared"} if card.design.share_words else {})
        attributes |= {"reviewers": str(len(card.design.reviewers))} if card.design.kind == "review" else {}
        subject_card = SubjectCard(name, settings, attributes=attributes, role="person")
        for written_condition, pages in pages_by_condition.items():
            (condition,) = parse_conditions(axes, written_condition)
            person = Person(subject_card, pages)
            schedule: Schedule = person.schedule
            yield Arm(person, condition, schedule=schedule)


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
            rescore_all(folder, items, suite)
            examinations.append(Examination(folder, suite, items, responses))
    return examinations
