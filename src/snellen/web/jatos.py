"""Exports studies to JATOS, and reads results from its archives, its text exports and files saved by participants.

The study archive (`.jzip`: one folder of assets, one `.jas` file of properties, version 3) and the results archive
(`.zip`, before JATOS 3.9.7 `.jrzip`) follow JATOS's documentation for 3.9 (*JATOS Study Archive*, *JATOS Results
Archive*), and were compared with its source: `ImportExportService` (exactly one folder and one `.jas` at the top),
`StudyDeserializer` (the version), `StudyProperties` (titles without HTML), `ResultStreamer` (a text export is the data
of all component results, separated by line breaks). The source names folders `comp-result_N`, the documentation
`comp_result_N`: both are read. `metadata.json` lists the results, and is compared if it is there. None of it was tried
on a running JATOS: unverified.
"""

from __future__ import annotations

import json
import logging
import lzma
import re
import uuid
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.user_files import read_text
from snellen.web.admission import MAX_WORD, BadLine, ReadRow, Submission, start_digest
from snellen.web.page import index_page
from snellen.web.plan import PageAnswers, RecordRow, Start, StudyPlan
from snellen.web.record_lines import CHECKSUM, MAX_LINE, parse_line
from snellen.web.study import BUNDLE, INDEX, MAX_TOTAL_BYTES, bundle_files, read_plan, read_study

JAS_VERSION = "3"
WORKERS = ("GeneralMultiple", "GeneralSingle", "Jatos", "PersonalMultiple", "PersonalSingle")
"""Kinds of study links that the study's batch allows."""
NAMESPACE = uuid.UUID("6b7c1d0e-3f5a-5d1c-9a53-1d2f0c8f9f5e")
"""Namespace of our UUIDs: a study keeps its UUID, so that JATOS offers to update it."""
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
STORED = frozenset((".jpg", ".mp4", ".png", ".webm", ".webp", ".woff2"))
"""Suffixes of compressed files."""
RESULT = re.compile(r"/?study_result_([0-9]{1,18})/comp[_-]result_([0-9]{1,18})/data\.txt")
MAX_MEMBERS = 200_000
MAX_FILE_BYTES = 16 * 2**20
"""Limit for a file, and for the components of one study result together; JATOS's own default is 5 MB a component."""
MAX_RECORD_BYTES = 4 * MAX_FILE_BYTES
"""Limit for a person's rows as they are written again, with fields that the file had left out."""
MAX_METADATA_BYTES = 8 * 2**20
MAX_ROWS = 100_000
"""Lines of a study result, or of a text export."""
MAX_BAD_LINES = 100
"""Unreadable lines of a file, or missing results of an archive, after which no more are named."""
LINE = re.compile(r"[^\n]+")
_IN_ZIP64 = 0xFFFF
"""Stands for a number that another record has."""
_MAX_END_BYTES = 22 + 0xFFFF

log = logging.getLogger(__name__)


def write_jzip(root: Path, path: Path) -> None:
    """Write a study as a JATOS study archive; the same study gives the same bytes.

    Raises SnellenError if the folder is not a study, or the file exists already.
    """
    card, plan = read_study(root), read_plan(root)
    if path.exists():
        raise SnellenError(f"{path}: already exists; choose another --out")
    name = re.sub(r"[^a-z0-9]+", "_", card.name.lower()).strip("_")[:80] or "study"
    folder = f"{name}_{plan.plan_hash[:8]}"
    url = card.design.texts.completion_url
    properties = json.dumps(study_properties(plan, folder, url), indent=1, ensure_ascii=False)
    sources = bundle_files(root / BUNDLE)
    with files.all_or_nothing(path) as half, zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, f"{folder}.jas", properties.encode("utf-8"))
        page = index_page(plan.texts.title, "jatos", redirects=bool(url))
        _add(archive, f"{folder}/{INDEX}", page.encode("utf-8"))
        for target, source in sorted(sources.items()):
            _add(archive, f"{folder}/{target}", source.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, ZIP_TIME)
    member.external_attr = 0o644 << 16
    member.compress_type = zipfile.ZIP_STORED if Path(name).suffix in STORED else zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


def study_properties(plan: StudyPlan, folder: str, completion_url: str = "") -> dict[str, object]:
    """The `.jas` file of a study: one component (the page, which may be reloaded), and one batch."""
    # JATOS refuses HTML, and titles over 255 characters.
    title = " ".join(re.sub("[<>&]", " ", plan.texts.title).split())[:200] or "Study"
    component = {
        "uuid": _uuid(plan, "component"),
        "title": title,
        "htmlFilePath": INDEX,
        "reloadable": True,
        "active": True,
        "comments": "",
        "jsonData": None,
    }
    batch = {
        "uuid": _uuid(plan, "batch"),
        "title": "Default",
        "active": True,
        **dict.fromkeys(("maxActiveMembers", "maxTotalMembers", "maxTotalWorkers")),
        "allowedWorkerTypes": list(WORKERS),
        "comments": None,
        "jsonData": None,
    }
    study = {
        "uuid": _uuid(plan, "study"),
        "title": title,
        "description": f"A Snellen study, plan {plan.plan_hash}.",
        "groupStudy": False,
        "linearStudy": False,
        "allowPreview": False,
        "dirName": folder,
        "comments": "",
        "jsonData": None,
        "endRedirectUrl": completion_url,  # kept by the server, so that nobody reads it before the end
        "studyEntryMsg": None,
        "componentList": [component],
        "batchList": [batch],
    }
    return {"version": JAS_VERSION, "data": study}


def _uuid(plan: StudyPlan, part: str) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{plan.study}/{plan.plan_hash}/{part}"))


# Results


def read_archive(path: Path) -> Iterator[Submission]:
    """Participants and their rows of a JATOS results archive, or of a text export.

    A reload begins a new component result, so those of one study result are read together. Results that the archive's
    `metadata.json` lists and the archive lacks are submissions without rows. Raises SnellenError for damaged or too
    large files.
    """
    _refuse_devices(path)
    if not zipfile.is_zipfile(path):
        yield from read_folder([path])
        return
    missing = 0
    for number, texts, is_whole in _results(path):
        source = f"{path}: study_result_{number}"
        if texts is None:
            reason = f"The result has more than {MAX_FILE_BYTES} bytes."
            yield Submission(f"study_result_{number}", (BadLine(0, reason),), source)
            continue
        people = list(_of_one_person(list(_participants(texts, source)), source))
        missing += not is_whole and not people
        if not is_whole and (people or missing <= MAX_BAD_LINES):
            reason = "metadata.json lists this result, but its data are missing, or a part of them; export it again."
            first = people[0] if people else Submission(f"study_result_{number}", (), source)
            people[:1] = [replace(first, rows=(BadLine(0, reason), *first.rows))]
        yield from people
    if missing > MAX_BAD_LINES:
        reason = f"metadata.json lists {missing - MAX_BAD_LINES} more results whose data are missing; export it again."
        yield Submission("more results", (BadLine(0, reason),), str(path))


def _is_content(entry: ReadRow) -> bool:
    return isinstance(entry, BadLine) or isinstance(entry.record, PageAnswers)


def _of_one_person(people: Sequence[Submission], source: str) -> Iterator[Submission]:
    """The submissions of one study result, which is one person's: other starts are refused unless nothing follows."""
    people = [one for one in people if any(map(_is_content, one.rows))] or people[:1]
    if len(people) > 1 and not any(map(_is_start, people[0].rows)):
        stray, first, *rest = people
        reason = "The row stands before the first start."
        bad_lines = [row if isinstance(row, BadLine) else BadLine(0, reason) for row in stray.rows]
        people = [replace(first, rows=(*bad_lines, *first.rows)), *rest]
    yield from people[:1]
    if len(people) > 1:
        log.warning("%s: rows of %d people; one result is of one person", source, len(people))
        reason = f"The result has rows of {len(people) - 1} more people; the first of them alone is accepted."
        yield Submission(people[1].name, (BadLine(0, reason),), source)


def _refuse_devices(path: Path) -> None:
    """Raise SnellenError for what is no plain file: others may have no end, or block."""
    if path.exists() and not path.is_file():
        raise SnellenError(f"{path}: is no plain file; give the file of results itself")


def read_folder(paths: Iterable[Path], max_bytes: int = MAX_FILE_BYTES) -> Iterator[Submission]:
    """Participants and their rows from files `PARTICIPANT.jsonl`, folders of such files, and JATOS's text exports.

    Names are those in the rows. Raises SnellenError for any other file, and for one of more than `max_bytes`.
    """
    for path in paths:
        sources = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not sources:
            raise SnellenError(f"{path}: no results (*.jsonl) in this folder")
        for source in sources:
            _refuse_devices(source)
            try:
                text = read_text(source, limit=max_bytes)
            except (OSError, UnicodeDecodeError) as error:
                raise SnellenError(f"{source}: not readable as results of a study ({error})") from error
            if path.is_dir() and not text.strip():
                log.warning("%s: empty, so left out; delete it if the participant began again", source)
                continue
            # Rows that were accepted once are longer when they are written again.
            max_line = MAX_LINE if max_bytes == MAX_FILE_BYTES else 4 * MAX_LINE
            participants = list(_participants([text], str(source), max_line))
            if not participants:
                raise SnellenError(f"{source}: no results of a Snellen study")
            yield from participants


def _results(path: Path) -> Iterator[tuple[int, list[str] | None, bool]]:
    """Each study result's number, the data of its components in order (None: too large), and if all are there."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path)
            missing = _listed(archive) - {key for key, member in members.items() if member.file_size}
            keys_of = lists_by_key((key[0], key) for key in members.keys() | missing)
            for study_result, keys in sorted(keys_of.items()):
                texts = _texts(archive, [members[key] for key in sorted(keys) if key in members])
                yield study_result, texts, missing.isdisjoint(keys)
    except SnellenError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError) as error:
        reason = short_reason(str(error) or type(error).__name__, 120)
        raise SnellenError(f"{path}: not readable as a JATOS results archive ({reason}); export it again") from error


def _members(archive: zipfile.ZipFile, path: Path) -> dict[tuple[int, int], zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise SnellenError(f"{path}: {len(entries)} files, more than {MAX_MEMBERS}; export fewer results at once")
    if (count := _stated_members(path)) not in (len(entries), _IN_ZIP64):
        raise SnellenError(
            f"{path}: {len(entries)} files are listed, and {count} are said to be there; export it again"
        )
    members: dict[tuple[int, int], zipfile.ZipInfo] = {}
    for entry in entries:
        if ".." in entry.filename.split("/") or "\\" in entry.filename:
            raise SnellenError(
                f"{path}: the name {entry.filename!r} leaves the archive; JATOS does not write such names"
            )
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # of others no part can be read alone
            raise SnellenError(f"{path}: {entry.filename!r:.80} is compressed as JATOS does not; export it again")
        if match := RESULT.fullmatch(entry.filename):
            key = int(match[1]), int(match[2])
            if key in members:
                names = f"{entry.filename} and {members[key].filename}"
                raise SnellenError(f"{path}: {names} are the same result; export it again")
            members[key] = entry
        archive.open(entry).close()  # refuses a name that differs from the one before the data, so none is overlooked
    if not members:
        raise SnellenError(f"{path}: no result data (study_result_…/comp_result_…/data.txt); export results with data")
    if sum(entry.file_size for entry in members.values()) > MAX_TOTAL_BYTES:
        raise SnellenError(f"{path}: over {MAX_TOTAL_BYTES} bytes of results; export fewer at once")
    return members


def _listed(archive: zipfile.ZipFile) -> set[tuple[int, int]]:
    """The numbers of study and component results with data, as far as the archive's `metadata.json` lists any."""
    if "metadata.json" not in archive.namelist():
        return set()
    try:
        if archive.getinfo("metadata.json").file_size > MAX_METADATA_BYTES:
            raise ValueError(MAX_METADATA_BYTES)
        with archive.open("metadata.json") as file:
            metadata = json.loads(file.read(MAX_METADATA_BYTES))
        return {
            (int(study_result["id"]), int(result["id"]))
            for study in metadata["data"]
            for study_result in study["studyResults"]
            for result in study_result["componentResults"]
            if result["data"]["size"]
        }
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # of another version, or too large
        log.warning("%s: metadata.json lists no results that can be compared", archive.filename)
        return set()


def _stated_members(path: Path) -> int:
    """The number of files in the last record of a ZIP archive, which the module zipfile does not compare."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MAX_END_BYTES))
        record = file.read().rpartition(b"PK\x05\x06")[2]
    return int.from_bytes(record[6:8], "little")


def _texts(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> list[str] | None:
    """The data of one study result's components; None if they are too large together."""
    left, texts = MAX_FILE_BYTES, list[str]()
    for member in members:
        with archive.open(member) as file:
            content = file.read(left + 1)
        left -= len(content)
        if left < 0:
            return None
        texts.append(content.decode("utf-8", "replace"))
    return texts


@dataclass
class _ParticipantRows:
    """Rows of one participant by number (the first of each), unreadable lines, and counts of rows left out."""

    name: str
    rows: dict[int, RecordRow] = field(default_factory=dict)
    bad_lines: list[BadLine] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, record_row: RecordRow) -> None:
        kept = self.rows.setdefault(record_row.sequence, record_row)
        if kept != record_row:
            self.counts["other content under a number that was there"] += 1

    def submission(self, source: str) -> Submission:
        for reason, count in self.counts.items():
            log.warning("%s: %s: rows left out: %d (%s)", source, short_reason(self.name, 80), count, reason)
        rows = [self.rows[number] for number in sorted(self.rows)]
        return Submission(self.name, (*self.bad_lines, *rows), source)


def _participants(texts: Sequence[str], source: str, max_line: int = MAX_LINE) -> Iterator[Submission]:
    """Rows of all participants in consecutive texts; each participant begins, and returns, with a start record."""
    first_lines = islice(chain.from_iterable(map(_lines, texts)), MAX_ROWS)
    has_checksums = any(CHECKSUM.search(line) for line in first_lines)
    lines, parsed, bad = list[str](), list[RecordRow | str](), 0
    for line in chain.from_iterable(map(_lines, texts)):
        lines.append(line if len(line) <= max_line else "")
        parsed.append(parse_line(line, has_checksums, max_line))
        bad += isinstance(parsed[-1], str)
        if len(parsed) > MAX_ROWS:
            parsed[-1] = f"The result has more than {MAX_ROWS} rows; this one and those after it are left out."
            break
        if bad > MAX_BAD_LINES:
            parsed[-1] = f"More than {MAX_BAD_LINES} lines are no rows; this one and those after it are left out."
            break
    if lines and not any(isinstance(row, RecordRow) for row in parsed):
        log.warning("%s: no rows of a Snellen study; left out", source)
        return
    participants: dict[str, _ParticipantRows] = {}  # by the digest of the first row
    last_of: dict[tuple[str, str], str] = {}  # the last participant of each name and code
    current = ""
    for number, record_row in enumerate(parsed):
        if isinstance(record_row, RecordRow) and isinstance(record_row.record, Start):
            name, code = record_row.record.participant, record_row.record.code
            # A returning participant has the code of the first start; anybody else under the same name is a new one.
            current = last_of.get((name, code), "") if record_row.sequence > 0 else ""
            current = current or start_digest(record_row)
            last_of[name, code] = current
            # A name may be a megabyte, and stands beside every refused row.
            alias = name if len(name) <= MAX_WORD else Path(source).stem
            participants.setdefault(current, _ParticipantRows(alias)).add(record_row)
            continue
        person = participants.setdefault(current, _ParticipantRows(Path(source).stem))
        if isinstance(record_row, RecordRow):
            person.add(record_row)
        elif _is_torn(lines[number]) and (number + 1 == len(parsed) or _is_start(parsed[number + 1])):
            person.counts["torn last line"] += 1
        else:
            person.bad_lines.append(BadLine(number + 1, record_row))
    for person in participants.values():
        yield person.submission(source)


def _lines(text: str) -> Iterator[str]:
    """The lines that are not blank of the first 4 `MAX_ROWS`, one at a time: a file may have millions of blank ones."""
    # Not splitlines: answers may contain other line separators of Unicode, which JSON does not escape.
    lines = islice(LINE.finditer(text), 4 * MAX_ROWS)
    return filter(None, (match[0].strip() for match in lines))


def _is_torn(line: str) -> bool:
    """True if the end of a line is missing, as when a device was switched off."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line) - len("true") or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        pass
    return False


def _is_start(entry: ReadRow | str) -> bool:
    return isinstance(entry, RecordRow) and isinstance(entry.record, Start)
