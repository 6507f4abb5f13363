"""Logs of Inspect AI, `.eval` and `.json`, read member by member within limits: they come from anywhere.

Layout (schema version 2, inspect_ai 0.3.285): an `.eval` file is a ZIP archive with `header.json`, or while it is not
finished `_journal/start.json`, and `samples/ID_epoch_N.json`; a `.json` file is the header with `samples`
(https://inspect.aisi.org.uk/eval-logs.html). Names of members are never used as paths.
"""

from __future__ import annotations

import base64
import importlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.hashing import sha256
from snellen.core.plain_text import short_reason
from snellen.core.storage.user_files import read_bytes

MAX_MEMBERS = 1_000_000
MAX_MEMBER_BYTES = 128 * 2**20
"""Of a sample with its images and events; a header has a few kilobytes."""
MAX_TOTAL_BYTES = 16 * 2**30
MAX_JSON_LOG_BYTES = 512 * 2**20
MAX_EPOCHS = 1000
_CHUNK = 4096
"""Bytes at a time: what is compressed in so few grows to 128 MiB at most."""
_ATTACHMENT = "attachment://"
_HEADER, _START = "header.json", "_journal/start.json"
_Name = Annotated[str, Field(max_length=500)]


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=_Read)


class EvalStep(_Read):
    """A solver of the plan."""

    solver: _Name


class EvalPlan(_Read):
    """Solvers, and the settings of generation."""

    steps: Annotated[list[EvalStep], Field(max_length=100)] = []
    config: dict[str, Any] = {}


class EvalSpec(_Read):
    """What was evaluated: task and model."""

    task: _Name
    task_id: _Name
    model: Annotated[str, Field(min_length=1, max_length=200)]
    model_generate_config: dict[str, Any] = {}
    packages: dict[str, _Name] = {}


class LogHeader(_Read):
    """What a log says of all its samples. Of one that was cut off only the start is known."""

    status: _Name = "started"
    eval: EvalSpec
    plan: EvalPlan = EvalPlan()


class LogContent(_Read):
    """A part of a message: text, image or reasoning."""

    type: _Name
    text: str = ""
    image: str = ""
    reasoning: str = ""
    summary: str | None = None
    redacted: bool = False


class LogMessage(_Read):
    """A turn."""

    role: _Name
    content: str | list[LogContent]

    @property
    def text(self) -> str:
        """Its words without reasoning, as Inspect joins them."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")


class LogChoice(_Read):
    """What a model said, and why it stopped."""

    message: LogMessage
    stop_reason: _Name = "unknown"


class Usage(_Read):
    """Tokens of a call."""

    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None


class Output(_Read):
    """What came back from a model: the fields of Inspect's ModelOutput that are read."""

    model: str = ""
    choices: list[LogChoice] = []
    usage: Usage | None = None
    time: float | None = None
    error: str | None = None

    @property
    def message(self) -> LogMessage:
        """Of the first choice."""
        return self.choices[0].message

    @property
    def stop_reason(self) -> str:
        """Of the first choice."""
        return self.choices[0].stop_reason


class SampleIdentity(_Read):
    """What our tasks write of a sample under `snellen`."""

    content_hash: _Name
    condition: _Name
    task: _Name
    media: Annotated[list[_Name], Field(max_length=10_000)]


class _Metadata(_Read):
    snellen: SampleIdentity
    metric: _Name = ""


class _Error(_Read):
    message: str = ""


class _Limit(_Read):
    type: _Name = ""


class _LoggedScore(_Read):
    value: Any = None


class LogSample(_Read):
    """One sample in one epoch: what was asked, what came back, and what went wrong."""

    id: Annotated[str, Field(max_length=500)]
    epoch: Annotated[int, Field(ge=1, le=MAX_EPOCHS)] = 1
    input: list[LogMessage]
    metadata: _Metadata
    output: Output = Output()
    error: _Error | None = None
    limit: _Limit | None = None
    invalidation: dict[str, Any] | None = None
    scores: dict[str, _LoggedScore] | None = None
    attachments: dict[str, str] = {}

    def parts(self) -> list[str | None]:
        """Texts and images (None) of the question, in their order. Raises ValueError for another form of input."""
        if len(self.input) != 1 or self.input[0].role != "user":
            raise ValueError("the input is not one message of a user")
        content = self.input[0].content
        if isinstance(content, str):
            return [self._text(content)]
        kinds = {part.type for part in content} - {"text", "image"}
        if kinds:
            raise ValueError(f"the input holds {min(kinds)!r:.40}")
        return [self._text(part.text) if part.type == "text" else None for part in content]

    def image_digests(self) -> list[str | None]:
        """SHA-256 of each image of the question that the log holds, None for one it does not hold.

        Raises ValueError for an image that is no base64.
        """
        content = self.input[0].content if self.input else []
        urls = [self._text(part.image) for part in content if isinstance(part, LogContent) and part.type == "image"]
        return [_data_digest(url) if url.startswith("data:") else None for url in urls]

    def _text(self, text: str) -> str:
        return self.attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


def _data_digest(url: str) -> str:
    """SHA-256 of the bytes in a data URL."""
    return sha256(base64.b64decode(url.partition(",")[2], validate=True))


@dataclass(frozen=True)
class InspectLog:
    """A log on disk and its header; samples are read one by one."""

    path: Path
    header: LogHeader
    _document: Mapping[str, Any] | None = field(default=None, repr=False)

    def samples(self) -> Iterator[LogSample]:
        """Every sample. Raises SnellenError, which names the sample, for what no task of ours wrote."""
        if self._document is not None:
            for number, sample in enumerate(self._document.get("samples") or [], 1):
                yield _checked(LogSample, sample, f"{self.path}: sample {number}")
            return
        total = 0
        with _opened(self.path) as archive:
            for member in _sample_members(archive):
                raw = _member(archive, member, self.path)
                total += len(raw)
                if total > MAX_TOTAL_BYTES:
                    raise SnellenError(f"{self.path}: over {MAX_TOTAL_BYTES} bytes of samples; give smaller logs")
                location = f"{self.path}: {member.filename}"
                yield _checked(LogSample, _parsed(raw, location), location)


def read_log(path: Path) -> InspectLog:
    """A log with its header. Raises SnellenError in one line for anything that is none."""
    if not path.is_file():
        raise SnellenError(f"{path}: no such file; give a log of Inspect (logs/*.eval)")
    if zipfile.is_zipfile(path):
        with _opened(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            member = members.get(_HEADER) or members.get(_START)
            if member is None:
                raise SnellenError(f"{path}: no log of Inspect: it has neither {_HEADER} nor {_START}")
            return InspectLog(path, _checked(LogHeader, _parsed(_member(archive, member, path), str(path)), str(path)))
    try:
        raw = read_bytes(path, MAX_JSON_LOG_BYTES)
    except OSError as error:
        raise SnellenError(f"{path}: not readable ({error.strerror}); write the log as .eval") from error
    document = _parsed(raw, str(path))
    if not isinstance(document.get("samples") or [], list):
        raise SnellenError(f"{path}: no log of Inspect: its samples are no list")
    return InspectLog(path, _checked(LogHeader, document, str(path)), document)


def _opened(path: Path) -> zipfile.ZipFile:
    with suppress(ImportError):  # from Python 3.14 on zipfile knows Zstandard, in which these logs are written
        importlib.import_module("zipfile_zstd")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _damaged(path, error) from error
    if len(archive.infolist()) > MAX_MEMBERS:
        raise SnellenError(f"{path}: {len(archive.infolist())} files, more than {MAX_MEMBERS}; give smaller logs")
    return archive


def _sample_members(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """The members that are samples, the last of each name: a log may be written on."""
    members = {member.filename: member for member in archive.infolist()}
    return (member for name, member in members.items() if name.startswith("samples/") and name.endswith(".json"))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """The bytes of a member, whatever size it claims."""
    raw = bytearray()
    try:
        with archive.open(member) as file:
            while chunk := file.read(_CHUNK):
                raw += chunk
                if len(raw) > MAX_MEMBER_BYTES:
                    raise SnellenError(
                        f"{path}: {short_reason(member.filename, 100)} has more than {MAX_MEMBER_BYTES} bytes; log "
                        f"without images (--no-log-images)"
                    )
    except SnellenError:
        raise
    except NotImplementedError as error:
        raise SnellenError(f"{path}: needs Zstandard ({error}); {install_command('chat')}") from error
    except Exception as error:  # every way of compressing has its own errors
        raise _damaged(path, error) from error
    return bytes(raw)


def _damaged(path: Path, error: Exception) -> SnellenError:
    return SnellenError(f"{path}: damaged ({short_reason(str(error) or type(error).__name__, 100)}); copy it again")


def _parsed(raw: bytes, location: str) -> dict[str, Any]:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SnellenError(f"{short_reason(location, 300)}: no JSON ({short_reason(str(error), 100)})") from error
    if not isinstance(document, dict):
        raise SnellenError(f"{short_reason(location, 300)}: no log of Inspect: no object of JSON")
    return document


def _checked(model: type[Model], document: object, location: str) -> Model:
    try:
        return model.model_validate(document)
    except (ValidationError, RecursionError) as error:
        what = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_input=False, include_url=False)[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise SnellenError(
            f"{short_reason(location, 300)}: not written by a task of Snellen ({short_reason(what, 150)}); "
            f"`inspect eval snellen/SUITE_TASK` writes such logs"
        ) from error
