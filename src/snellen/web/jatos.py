"""Exports studies to JATOS, and reads results from its archives, its text exports and files saved by participants.

The study archive (`.jzip`: one folder of assets, one `.jas` file of properties, version 3) and the results archive
(`.zip`, before JATOS 3.9.7 `.jrzip`) follow JATOS's documentation for 3.9 (*JATOS Study Archive*, *JATOS Results
Archive*), and were compared with its source: `ImportExportService` (exactly one folder and one `.jas` at the top),
`StudyDeserializer` (the version), `StudyProperties` (titles without HTML), `ResultStreamer` (a text export is the data
of all component results, separated by line breaks). The source names folders `comp-result_N`, the documentation
`comp_result_N`: both are read. `metadata.json` is not needed and not read. None of it was tried on a running JATOS:
unverified.
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
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.user_files import read_text
from snellen.web.bundle import INDEX, bundle_files
from snellen.web.page import index_page
from snellen.web.plan import RecordRow, Start, StudyPlan
from snellen.web.study import BUNDLE, read_plan, read_study

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
MAX_MEMBER_BYTES = 64 * 2**20
"""Limit for the data of one component; JATOS's own default limit is 5 MB."""
MAX_TOTAL_BYTES = 4 * 2**30

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
    properties = json.dumps(study_properties(plan, folder), indent=1, ensure_ascii=False)
    sources = bundle_files(root / BUNDLE)
    with (
        files.all_or_nothing(path) as half,
        zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED, strict_timestamps=True) as archive,
    ):
        _add(archive, f"{folder}.jas", properties.encode("utf-8"))
        _add(archive, f"{folder}/{INDEX}", index_page(plan.texts.title, "jatos").encode("utf-8"))
        for target, source in sorted(sources.items()):
            _add(archive, f"{folder}/{target}", source.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, ZIP_TIME)
    member.external_attr = 0o644 << 16
    member.compress_type = zipfile.ZIP_STORED if Path(name).suffix in STORED else zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


def study_properties(plan: StudyPlan, folder: str) -> dict[str, object]:
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
        "maxActiveMembers": None,
        "maxTotalMembers": None,
        "maxTotalWorkers": None,
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
        "endRedirectUrl": "",  # the page shows the link itself
        "studyEntryMsg": None,
        "componentList": [component],
        "batchList": [batch],
    }
    return {"version": JAS_VERSION, "data": study}


def _uuid(plan: StudyPlan, part: str) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{plan.study}/{plan.plan_hash}/{part}"))


# Results


def read_archive(path: Path, plan_hash: str = "") -> Iterator[tuple[str, list[RecordRow]]]:
    """Participants and their rows of a JATOS results archive, or of a text export.

    A reload begins a new component result, so those of one study result are read together. With `plan_hash`, results of
    another plan are an error that names them. Raises SnellenError for damaged or too large files.
    """
    if not zipfile.is_zipfile(path):
        yield from read_folder([path], plan_hash)
        return
    for number, texts in _results(path):
        yield from _participants(texts, f"{path}: study_result_{number}", plan_hash)


def read_folder(paths: Iterable[Path], plan_hash: str = "") -> Iterator[tuple[str, list[RecordRow]]]:
    """Participants and their rows from files `PARTICIPANT.jsonl`, folders of such files, and JATOS's text exports.

    Names are those in the rows. Raises SnellenError for any other file.
    """
    for path in paths:
        sources = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not sources:
            raise SnellenError(f"{path}: no results (*.jsonl) in this folder")
        for source in sources:
            try:
                text = read_text(source, limit=MAX_MEMBER_BYTES)
            except (OSError, UnicodeDecodeError) as error:
                raise SnellenError(f"{source}: not readable as results of a study ({error})") from error
            participants = list(_participants([text], str(source), plan_hash))
            if not participants:
                raise SnellenError(f"{source}: no results of a Snellen study")
            yield from participants


def _results(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of each study result with the data of its component results in order."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path)
            for study_result in sorted({key[0] for key in members}):
                keys = sorted(key for key in members if key[0] == study_result)
                yield study_result, [_text(archive, members[key], path) for key in keys]
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
        if match := RESULT.fullmatch(entry.filename):
            members[int(match[1]), int(match[2])] = entry
        archive.open(entry).close()  # refuses a name that differs from the one before the data, so none is overlooked
    if not members:
        raise SnellenError(f"{path}: no result data (study_result_…/comp_result_…/data.txt); export results with data")
    if sum(entry.file_size for entry in members.values()) > MAX_TOTAL_BYTES:
        raise SnellenError(f"{path}: over {MAX_TOTAL_BYTES} bytes of results; export fewer at once")
    return members


def _stated_members(path: Path) -> int:
    """The number of files in the last record of a ZIP archive, which the module zipfile does not compare."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MAX_END_BYTES))
        record = file.read().rpartition(b"PK\x05\x06")[2]
    return int.from_bytes(record[6:8], "little")


def _text(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> str:
    with archive.open(member) as file:
        content = file.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise SnellenError(f"{path}: {member.filename} has more than {MAX_MEMBER_BYTES} bytes")
    return content.decode("utf-8", "replace")


@dataclass
class _ParticipantRows:
    """Rows of one participant by number (the first of each), and counts of rows left out."""

    name: str
    rows: dict[int, RecordRow] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, record_row: RecordRow) -> None:
        kept = self.rows.setdefault(record_row.sequence, record_row)
        if kept != record_row:
            self.counts["other content under a number that was there"] += 1

    def ordered(self, source: str) -> tuple[str, list[RecordRow]]:
        for reason, count in self.counts.items():
            log.warning("%s: %s: rows left out: %d (%s)", source, self.name, count, reason)
        return self.name, [self.rows[number] for number in sorted(self.rows)]


def _participants(texts: Sequence[str], source: str, plan_hash: str) -> Iterator[tuple[str, list[RecordRow]]]:
    """Rows of all participants in consecutive texts; each participant begins, and returns, with a start record."""
    # Not splitlines: answers may contain other line separators of Unicode, which JSON does not escape.
    lines = [line.strip() for text in texts for line in text.split("\n") if line.strip()]
    parsed = [_parse(line) for line in lines]
    if lines and not any(parsed):
        log.warning("%s: no rows of a Snellen study; left out", source)
        return
    participants: list[_ParticipantRows] = []
    for number, record_row in enumerate(parsed):
        if record_row is None:
            following = parsed[number + 1] if number + 1 < len(parsed) else None
            torn = number + 1 == len(parsed) or (following is not None and isinstance(following.record, Start))
            if not torn or not participants:
                raise SnellenError(f"{source}: line {number + 1} is not a row of results; export it again")
            participants[-1].counts["torn last line"] += 1
            continue
        if isinstance(record_row.record, Start):
            _check_plan(record_row.record, source, plan_hash)
            _begin(participants, record_row, record_row.record.participant)
        elif not participants:
            raise SnellenError(f"{source}: begins without a start; give all files of this participant")
        else:
            participants[-1].add(record_row)
    for participant_rows in participants:
        yield participant_rows.ordered(source)


def _begin(participants: list[_ParticipantRows], start: RecordRow, participant: str) -> None:
    """Continue with a returning participant, put last; a different first row under the same name is a new one."""
    for known in reversed(participants):
        if known.name == participant and (start.sequence > 0 or known.rows.get(0) == start):
            participants.remove(known)
            participants.append(known)
            break
    else:
        participants.append(_ParticipantRows(participant))
    participants[-1].add(start)


def _check_plan(start: Start, source: str, plan_hash: str) -> None:
    if plan_hash and start.plan_hash != plan_hash:
        raise SnellenError(
            f"{source}: {start.participant} belongs to plan {start.plan_hash}, not to this study's ({plan_hash}); "
            "import it into the study it was made with"
        )


def _parse(line: str) -> RecordRow | None:
    try:
        return RecordRow.model_validate_json(line)
    except ValidationError:
        return None
