"""`snellen archive`: static pages about all runs in a folder. No script runs, and everything foreign is escaped.

The first page has one table of subjects by abilities for each item set, suite versions apart. A subject's page has its
runs by date with what changed from one to the next, and a run's page has every item and reply. `archive.json` keeps
what was computed, by digests of the files, so that only new or changed runs are read again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from snellen.analysis.changes import DROPPED, ROSE, changes, row_name
from snellen.analysis.floors import Floors
from snellen.analysis.people import has_people, pooled
from snellen.analysis.run_view import (
    arm_name,
    lines_of,
    main_arms,
    main_metric,
    response_key,
    response_keys,
    score_rows,
)
from snellen.analysis.section import Run, protocol_of
from snellen.compute import Shard, map_shards
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSetCard, read_card, read_same_itemset
from snellen.core.storage.parts import part_files
from snellen.core.storage.run_digest import RunDigest, check_digest, read_digest
from snellen.core.storage.runfolder import RunCard, read_run_card, tables_are_behind
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.seal import SEALED, read_revealed
from snellen.core.storage.trees import code_digest, tree_digest, tree_files
from snellen.core.storage.user_files import file_mark
from snellen.core.suite import check_items
from snellen.remote import is_url
from snellen.reports.changes_page import LOWER, ChangeLine, change_lines, detection
from snellen.reports.examples import marks, run_replies
from snellen.reports.front_page import (
    ExamPart,
    GradedAbility,
    SubjectLine,
    Track,
    by_need,
    front,
    worst_first,
)
from snellen.reports.loading import SuiteOf, floors_of, load_run, of_subject, registered
from snellen.reports.page import render_page
from snellen.reports.rows import grade_words, metric_in, whole_tasks_of
from snellen.reports.words import answer_words, foreign, marked_amount, slug, span

MAX_REPLIES = 3000
"""Greatest number of replies to one task on the page of a run."""
RUNS_PER_WORKER = 25
"""New runs for which one more process is worth its start."""
LOADED = 6
"""Number of runs kept in memory, so that a run is read once for its page and for comparisons with its neighbours."""
SKIPPED = ("media", "parts")

Group: TypeAlias = tuple[str, str, str]
"""Suite, version and items: scores of different groups are in different tables."""


class ArchivedLine(BaseModel):
    """A subject's row of a run: its abilities, each with its track if it has a score."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    subject: str
    condition: str
    simulated: bool
    partial: str
    abilities: tuple[tuple[GradedAbility, Track | None], ...]

    def on_page(self, page: str) -> SubjectLine:
        """The row as reports have it; squares link to the items of a task on a page."""
        links = {g.ability: f"{page}#{slug(g.ability)}" for g, _ in self.abilities}
        grades = [replace(g, about=g.about._replace(link=links[g.ability])) for g, _ in self.abilities]
        tracks = {(g.suite, g.ability): track for g, track in self.abilities if track}
        return SubjectLine(self.name, self.simulated, tuple(grades), (), tracks, self.partial)

    @property
    def name(self) -> str:
        """The subject, and the condition unless it is vanilla."""
        return arm_name(self.subject, self.condition)


class RunFacts(BaseModel):
    """What the archive shows of a run besides its page, whose digest is `page`.

    `seal` is "", "sealed" or "revealed". `digest` is the run's digest if the files agree with it, and `fault` says why
    they do not; both are empty for a run without a digest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    stamp: str
    page: str = ""
    title: str
    seal: str
    digest: str
    fault: str
    lines: tuple[ArchivedLine, ...]


class ChangeFacts(BaseModel):
    """What `diff` says about a subject in two runs, or why they cannot be compared (`fault`).

    `rows` are those of its table, each with the anchor of its first task.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    fault: str = ""
    dropped: list[str] = []
    rose: list[str] = []
    detection: str = ""
    pairs: int = 0
    rows: list[tuple[ChangeLine, str]] = []


class ArchiveCard(Card):
    """`archive.json`: facts on runs by path, and on changes by a digest of subject and both runs."""

    file = "archive.json"

    runs: dict[str, RunFacts] = Field(default_factory=dict)
    changes: dict[str, ChangeFacts] = Field(default_factory=dict)


@dataclass(frozen=True)
class ArchivedRun:
    """A run by its card: its path in the archive, its folders, its date (UTC), and a digest of all that is read.

    The stamp is empty if the code of the suite may change unnoticed.
    """

    name: str
    root: Path
    items_root: Path
    card: RunCard = field(hash=False)
    date: str
    stamp: str

    @cached_property
    def page(self) -> str:
        """The address of its page."""
        return f"runs/{slug(self.name)[:60]}-{digest(self.name, 6)}.html"

    @property
    def group(self) -> Group:
        """Suite, version and items."""
        return self.card.suite, self.card.version, self.card.rows_hash or self.card.content_hash


@dataclass(frozen=True)
class Visit:
    """A subject in a run: one row of its history. `change` is that since the run before it on the same items."""

    run: ArchivedRun
    facts: RunFacts
    line: ArchivedLine
    previous: ArchivedRun | None = None
    change: ChangeFacts | None = None
    key: str = ""


@dataclass(frozen=True)
class Archive:
    """A finished site: its first page, and the runs in it and those that could not be read, with reasons by path."""

    page: Path
    runs: tuple[str, ...]
    unreadable: Mapping[str, str] = field(default_factory=dict)


def write_archive(folder: Path, out: Path, suite_of: SuiteOf = registered, workers: int = 1) -> Archive:
    """Write pages about all runs in a folder, at any depth, into the folder `out`.

    Item sets are found in the folder by their hash, otherwise at the path in the run's card. Runs that cannot be read
    are named on the first page. Many new runs are read by `workers` processes. Raises SnellenError if there is no run,
    or `out` holds anything but an earlier site.
    """
    if not folder.is_dir():
        raise SnellenError(f"{folder}: no such folder; give the folder that holds the runs")
    earlier, unreadable = _earlier(out), dict[str, str]()
    roots, sets = _find(folder, out)
    if not roots:
        raise SnellenError(f"{folder}: contains no run (no run.json at any depth); give the folder that holds the runs")
    files.write_text(out / ArchiveCard.file, earlier.model_dump_json())
    reader = _Reader(folder, sets, suite_of)
    runs = []
    for root in roots:
        try:
            runs.append(reader.describe(root))
        except (SnellenError, OSError) as error:
            unreadable[root.relative_to(folder).as_posix()] = reader.reason(error)
    # Neighbours in most histories follow each other, so that both are in memory when they are compared.
    runs.sort(key=lambda run: (run.group, sorted(arm.subject for arm in run.card.arms)[:1], run.date, run.name))
    unchanged = [run for run in runs if (known := earlier.runs.get(run.name)) and known.stamp == run.stamp]
    count = min(workers, max(1, (len(runs) - len(unchanged)) // RUNS_PER_WORKER))
    ends = [number * len(runs) // count for number in range(count + 1)]
    shards = [
        Shard("runs of the archive", _Part(tuple(runs[start:end]), earlier, out, folder, sets, suite_of))
        for start, end in pairwise(ends)
    ]
    facts_by_run, known_changes = dict[str, RunFacts](), dict[str, ChangeFacts]()
    for part in map_shards(_read, shards, workers=count):
        facts_by_run |= part.facts
        known_changes |= part.changes
        unreadable |= part.unreadable
    histories: dict[tuple[Group, str], list[Visit]] = {}
    for run in runs:
        if (facts := facts_by_run.get(run.name)) is not None:
            for line in facts.lines:
                histories.setdefault((run.group, line.name), []).append(Visit(run, facts, line))
    for history in histories.values():
        history.sort(key=lambda visit: (visit.run.date, visit.run.name))
        history[1:] = [_compare(previous, visit, known_changes, reader) for previous, visit in pairwise(history)]
    pages = {run.page for run in runs if run.name in facts_by_run} | _write_pages(histories, unreadable, out)
    for path in {*out.glob("runs/*.html"), *out.glob("subjects/*.html")}:
        if path.relative_to(out).as_posix() not in pages:
            path.unlink()
    # Without stamps nothing can be compared with the next time.
    lasting = {name: facts for name, facts in facts_by_run.items() if facts.stamp}
    visits = [visit for history in histories.values() for visit in history[1:] if visit.change]
    used = {visit.key: visit.change for visit in visits if visit.run.stamp}
    card = ArchiveCard(runs=lasting, changes=used)
    files.write_text(out / ArchiveCard.file, card.model_dump_json() + "\n")
    return Archive(out / "index.html", tuple(sorted(facts_by_run)), unreadable)


@dataclass(frozen=True)
class _Part:
    """Runs that one process reads, and what it needs for them."""

    runs: tuple[ArchivedRun, ...]
    earlier: ArchiveCard
    out: Path
    folder: Path
    sets: Mapping[str, Path]
    suite_of: SuiteOf


@dataclass(frozen=True)
class _PartFacts:
    """Facts on the runs of a part, reasons of those that cannot be read, and changes between neighbours by key."""

    facts: Mapping[str, RunFacts]
    unreadable: Mapping[str, str]
    changes: Mapping[str, ChangeFacts]


def _read(part: _Part) -> _PartFacts:
    """Read the runs of a part, write their pages, and compare neighbours while both are in memory."""
    reader, facts_by_run, unreadable = _Reader(part.folder, part.sets, part.suite_of), dict[str, RunFacts](), {}
    known_changes, latest = dict(part.earlier.changes), dict[tuple[Group, str], Visit]()
    for run in part.runs:
        try:
            facts = facts_by_run[run.name] = _facts(run, part.earlier.runs.get(run.name), part.out, reader)
        except (SnellenError, OSError) as error:
            unreadable[run.name] = reader.reason(error)
            continue
        for line in facts.lines:
            visit, history = Visit(run, facts, line), (run.group, line.name)
            if history in latest:
                _compare(latest[history], visit, known_changes, reader)
            latest[history] = visit
    return _PartFacts(facts_by_run, unreadable, known_changes)


def _compare(previous: Visit, visit: Visit, known_changes: dict[str, ChangeFacts], reader: _Reader) -> Visit:
    """The visit with the change since the previous one, which is added to those known."""
    sides = [each.run.stamp or each.run.name for each in (previous, visit)]
    key = digest([*sides, visit.line.name])
    if key not in known_changes:
        known_changes[key] = _change((previous.run, visit.run), visit.line, reader)
    return replace(visit, previous=previous.run, change=known_changes[key], key=key)


def _change(neighbours: Sequence[ArchivedRun], line: ArchivedLine, reader: _Reader) -> ChangeFacts:
    if not all(line.subject in {arm.subject for arm in run.card.arms} for run in neighbours):
        return ChangeFacts(fault="People of studies are not compared.")
    try:
        compared = changes(*(of_subject(reader.run(run), line.subject) for run in neighbours))
    except SnellenError as error:
        return ChangeFacts(fault=reader.reason(error))
    anchors = {foreign(row_name(row), 120): slug(row.tasks[0]) for row in lines_of(compared.table)}
    rows = [(line, anchors[line.name.removesuffix(LOWER)]) for line in change_lines(compared)]
    return ChangeFacts(
        dropped=compared.names(DROPPED), rose=compared.names(ROSE), detection=detection(compared),
        pairs=compared.pairs, rows=rows,
    )  # fmt: skip


def _earlier(out: Path) -> ArchiveCard:
    """What an earlier site in `out` knows; nothing if its card is damaged. Raises SnellenError for another folder."""
    path = out / ArchiveCard.file
    if not path.is_file():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise SnellenError(f"{out}: exists and is no site of `snellen archive`; choose a new or empty --out")
        return ArchiveCard()
    try:
        return read_card_file(ArchiveCard, path, "damaged", "delete it")
    except SnellenError:
        return ArchiveCard()


def _find(folder: Path, out: Path) -> tuple[list[Path], dict[str, Path]]:
    """The runs in a folder at any depth, and its readable item sets by content hash; links are not followed."""
    runs, sets = list[Path](), dict[str, Path]()
    for parent, names, file_names in os.walk(folder):
        path = Path(parent)
        if path.resolve() == out.resolve():
            names.clear()
        elif RunCard.file in file_names:
            runs.append(path)
            names.clear()
        elif ItemSetCard.file in file_names:
            with suppress(SnellenError):  # the runs about this set say that it is missing
                sets.setdefault(read_card(path).content_hash, path)
        names[:] = sorted(name for name in names if name not in SKIPPED)
    return runs, sets


class _Reader:
    """Reads runs and item sets of the archive, the latest ones once."""

    def __init__(self, folder: Path, sets: Mapping[str, Path], suite_of: SuiteOf) -> None:
        self.folder, self.sets, self.suite_of = folder, sets, suite_of
        self.run = lru_cache(LOADED)(self._run)
        self._floors = lru_cache(2)(self._read_floors)
        self._items_digest = lru_cache(None)(tree_digest)

    def reason(self, error: Exception) -> str:
        """The error for the page, without the place of the archive on this machine."""
        return str(error).replace(f"{self.folder}{os.sep}", "").replace(str(self.folder), "the archive")

    def describe(self, root: Path) -> ArchivedRun:
        """The run by its card. Raises SnellenError if the card cannot be read or the item set is not there."""
        from snellen.suites import SUITES

        card = read_run_card(root)
        # A URL in a stranger's card is not opened.
        items_root = self.sets.get(card.content_hash) or Path("" if is_url(card.itemset) else card.itemset)
        if not (items_root / ItemSetCard.file).is_file():
            raise SnellenError(
                f"{root}: its item set ({card.suite}, content_hash {card.content_hash[:16]}) is neither in the archive "
                f"nor at {card.itemset}; put the set into the archive"
            )
        date, stamp = _date(root), ""
        if self.suite_of is registered and SUITES.is_packaged(card.suite):
            parts = [file_mark(path) for path in part_files(root)]
            revealed = [(place / "revealed.json").is_file() for place in (root, items_root)]
            stamp = digest([code_digest(), date, tree_digest(root), parts, self._items_digest(items_root), revealed])
        return ArchivedRun(root.relative_to(self.folder).as_posix(), root, items_root, card, date, stamp)

    def _run(self, archived: ArchivedRun) -> Run:
        if tables_are_behind(archived.root):
            raise SnellenError(f"{archived.root}: the run was interrupted; run the same `snellen run` command again")
        floors = self._floors(archived.items_root, archived.card.content_hash)
        return load_run(archived.root, self.suite_of, subgroups=False, floors=floors)

    def _read_floors(self, root: Path, content_hash: str) -> Floors:
        items = read_same_itemset(root, content_hash, "runs of the archive were run on", verify=False)
        check_items(items, self.suite_of(items.card.suite))
        return floors_of(items, self.suite_of)


def _date(root: Path) -> str:
    """The date of a run's digest, otherwise of its newest file, in UTC."""
    try:
        date = datetime.fromisoformat(read_digest(root).date)
    except (SnellenError, ValueError):
        date = datetime.fromtimestamp(max((path.stat().st_mtime for path in tree_files(root)), default=0), UTC)
    return date.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _facts(archived: ArchivedRun, known: RunFacts | None, out: Path, reader: _Reader) -> RunFacts:
    """The facts about a run, whose page is written unless it is there and unchanged."""
    page = out / archived.page
    if known and known.stamp == archived.stamp and page.is_file() and sha256(page.read_bytes()) == known.page:
        return known
    run, seal, total, fault = reader.run(archived), "", "", ""
    if SEALED in run.items.card.recipe:
        is_revealed = read_revealed(archived.root) or read_revealed(archived.items_root)
        seal = "revealed" if is_revealed else "sealed"
    if (archived.root / RunDigest.file).is_file():
        try:
            total = read_digest(archived.root).total
            check_digest(archived.root, archived.items_root, total)
        except SnellenError as error:
            total, fault = "", reader.reason(error)
    study_run = pooled(run) if has_people(run.card.arms) else run
    title, conditions = run.suite.card.title, {arm.subject: arm.condition for arm in main_arms(study_run)}
    lines = [
        ArchivedLine(
            subject=line.subject,
            condition=conditions.get(line.subject, "vanilla"),
            simulated=line.simulated,
            partial=line.partial,
            abilities=tuple((replace(g, row=None), line.tracks.get((g.suite, g.ability))) for g in line.grades),
        )
        for line in front([ExamPart(study_run, title, "")]).lines
    ]
    facts = RunFacts(stamp=archived.stamp, title=title, seal=seal, digest=total, fault=fault, lines=tuple(lines))
    replies, names = list(_replies(run, is_secret=seal == "sealed")), run.suite.card.tasks
    text = render_page(
        "archive_run.html.j2", run=archived, facts=facts, items=run.items.card, results=_results(study_run),
        replies=replies, names={task: names[task].name if task in names else task for task in run.suite.tasks},
    )  # fmt: skip
    files.write_text(page, text)
    return facts.model_copy(update={"page": sha256(text.encode("utf-8"))})


def _results(run: Run) -> list[tuple[str, str, str, str, int, str]]:
    """Rows of the table of results: arm, task, score, interval, number of units, grade."""
    rows = [(row, metric_in(run.suite, row)) for row in lines_of(whole_tasks_of(run))]
    return [
        (row.arm, row.task, marked_amount(row.value, metric, row.n), span(row.low, row.high, metric, row.n),
         int(row.n), grade_words(row, metric))
        for row, metric in rows
    ]  # fmt: skip


def _replies(run: Run, *, is_secret: bool) -> Iterator[tuple[str, int, list[list[tuple[str, ...]]]]]:
    """Tasks, each with the number of replies left out, and the rows of its items.

    A row is a reply: item, question, right answer, arm, mark, answer as read, and its text if that says more. Secret
    items have their id and marks only.
    """
    texts = run_replies(run)
    by_key = {response_key(response): response for response in run.responses}
    for task in run.suite.tasks:
        if task not in set(run.scores[protocol_of(run)]["task"]):
            continue
        scores = score_rows(run, task)
        by_item: dict[str, list[tuple[str, ...]]] = {}
        marked = zip(response_keys(scores), marks(scores, main_metric(run, task).best), strict=True)
        for row, (key, mark) in zip(lines_of(scores[:MAX_REPLIES]), marked, strict=False):
            response, item = by_key[key], run.items.by_id[row.item_id]
            read, text = answer_words(item, json.loads(row.prediction)), texts[response.response_id] or response.reason
            arm = arm_name(row.subject, row.condition)
            words = [foreign(item.question, 300), answer_words(item, item.answer), read, text if text != read else ""]
            question, truth, read, text = [""] * 4 if is_secret else words
            cells = (item.item_id, question, truth, arm, mark.partition(",")[0], read, foreign(text, 200))
            by_item.setdefault(row.item_id, []).append(cells)
        yield task, max(0, len(scores) - MAX_REPLIES), list(by_item.values())


def _write_pages(
    histories: Mapping[tuple[Group, str], Sequence[Visit]], unreadable: Mapping[str, str], out: Path
) -> set[str]:
    """Write the first page and those of subjects; returns the addresses of the latter."""
    by_subject: dict[str, list[Sequence[Visit]]] = {}
    by_group: dict[Group, list[Sequence[Visit]]] = {}
    for (group, _), history in sorted(histories.items(), key=lambda entry: _order(entry[0][0])):
        by_subject.setdefault(history[0].line.subject, []).append(history)
        by_group.setdefault(group, []).append(history)
    pages = {subject: f"subjects/{slug(subject)[:60]}-{digest(subject, 6)}.html" for subject in by_subject}
    for subject, subject_histories in by_subject.items():
        latest = [history[-1].line.on_page(f"../{history[-1].run.page}") for history in subject_histories]
        text = render_page(
            "archive_subject.html.j2", subject=subject, histories=list(zip(subject_histories, latest, strict=True))
        )
        files.write_text(out / pages[subject], text)
    visits = {visit.run.name: visit for history in histories.values() for visit in history}
    runs = sorted(visits.values(), key=lambda visit: visit.run.date, reverse=True)
    tables = [(of_group[0][-1], *_table(of_group, pages)) for of_group in by_group.values()]
    text = render_page("archive.html.j2", tables=tables, runs=runs, subjects=len(pages), unreadable=unreadable)
    files.write_text(out / "index.html", text)
    return set(pages.values())


def _order(group: Group) -> tuple[str, list[int], str]:
    """Sort key: suites by name, later versions first."""
    suite, version, items = group
    return suite, [-int(number) for number in re.findall(r"\d+", version)], items


def _table(
    histories: Sequence[Sequence[Visit]], pages: Mapping[str, str]
) -> tuple[Any, Any, dict[str, tuple[str, str]]]:
    """The latest lines, worst first, the columns of their table, and the page and a note of each line."""
    latest = [history[-1] for history in histories]
    lines = [visit.line.on_page(visit.run.page) for visit in latest]
    abilities = {(g.suite, g.ability): g.about for line in lines for g in line.grades}
    for number, line in enumerate(lines):
        grades = {place: GradedAbility(*place, about=about) for place, about in abilities.items()}
        grades |= {(g.suite, g.ability): g for g in line.grades}
        lines[number] = replace(line, grades=tuple(grades.values()))
    columns = by_need(((*place, about) for place, about in abilities.items()), lambda ability: ability[2])
    links = {
        history[-1].line.name: (
            pages[history[-1].line.subject],
            history[-1].run.date[:10] + (f", {len(history)} runs" if len(history) > 1 else ""),
        )
        for history in histories
    }
    return sorted(lines, key=worst_first), columns, links
