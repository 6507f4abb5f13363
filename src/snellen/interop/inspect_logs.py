"""Logs of Inspect AI, `.eval` and `.json`, read by Inspect behind our limits, one sample at a time.

Logs come from anywhere, and Inspect limits neither the size of an archive's members nor the events of a sample, and
imports the sandbox provider that a log names. So members are read here within limits, and Inspect gets only the fields
that a run needs. Names of members are never used as paths. Layout (schema version 2, inspect_ai 0.3.285):
https://inspect.aisi.org.uk/eval-logs.html.
"""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.plain_text import short_reason
from snellen.core.storage.user_files import MAX_VALUES, bounded_json, read_bytes
from snellen.interop.questions import ModelQuestion, Selection
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

MAX_MEMBERS = 1_000_000
MAX_MEMBER_BYTES = 128 * 2**20
"""Of a sample with its images and events; a header has a few kilobytes."""
MAX_TOTAL_BYTES = 16 * 2**30
MAX_JSON_LOG_BYTES = 512 * 2**20
MAX_EPOCHS = 1000
_CHUNK = 4096
"""Bytes at a time: what is compressed in so few grows to 128 MiB at most."""
_LINK = re.compile(r'"attachment://(?:[^"\\]|\\.)*"')
_HEADER, _START = "header.json", "_journal/start.json"
_EVAL_FIELDS = ("created", "task", "task_id", "model", "model_generate_config", "packages", "dataset", "config")
_SAMPLE_FIELDS = (
    "id", "epoch", "input", "target", "metadata", "output", "scores", "error", "limit", "invalidation", "attachments",
    "choices",
)  # fmt: skip
_Name = Annotated[str, Field(max_length=500)]


class SampleIdentity(BaseModel):
    """What our tasks write of a sample under `snellen` (`sample_metadata`)."""

    content_hash: _Name
    condition: _Name
    task: _Name
    media: Annotated[list[_Name], Field(max_length=10_000)]


def sample_metadata(
    question: ModelQuestion, selection: Selection, unit_of: Mapping[str, tuple[str, int]]
) -> dict[str, Any]:
    """The subgroups of a question, its metric and group, and under `snellen` its identity and unit."""
    item, (unit, size) = question.item, unit_of[question.item.item_id]
    identity = {
        "content_hash": selection.items.card.content_hash,
        "condition": str(selection.condition),
        "task": item.task,
        "media": [image.sha256 for image in question.images],
        "unit": unit,
        "unit_size": size,
    }
    return {**item.factors, "metric": question.metric, "group_id": item.group_id, "snellen": identity}


class _Metadata(BaseModel):
    snellen: SampleIdentity


class _Sample(BaseModel):
    id: Annotated[str, Field(max_length=500)]
    epoch: Annotated[int, Field(ge=1, le=MAX_EPOCHS)] = 1
    metadata: _Metadata


class _OtherSample(BaseModel):
    id: Annotated[str, Field(max_length=500)] | int
    epoch: Annotated[int, Field(ge=1, le=MAX_EPOCHS)] = 1


@dataclass(frozen=True)
class LogSample:
    """One sample in one epoch, with Inspect's record whose attachments are resolved.

    `identity` is what our task wrote; None for a sample of another task.
    """

    id: str
    epoch: int
    identity: SampleIdentity | None
    record: EvalSample

    def question(self) -> tuple[list[str | None], list[str | None]]:
        """Texts and images (None) of the question in their order, and SHA-256 of each image (None if it was left out).

        Raises ValueError for another form of input, and for an image that is no base64.
        """
        messages = self.record.input
        if isinstance(messages, str) or len(messages) != 1 or messages[0].role != "user":
            raise ValueError("the input is not a single user message")
        content = messages[0].content
        if isinstance(content, str):
            return [content], []
        if kinds := {part.type for part in content} - {"text", "image"}:
            raise ValueError(f"the input holds {min(kinds)!r:.40}")
        urls = [part.image for part in content if part.type == "image"]
        encoded = [url.partition(",")[2] if url.startswith("data:") else None for url in urls]
        digests = [None if text is None else sha256(base64.b64decode(text, validate=True)) for text in encoded]
        return [part.text if part.type == "text" else None for part in content], digests


@dataclass(frozen=True)
class InspectLog:
    """A log on disk and its header; samples of an archive are read one by one."""

    path: Path
    header: EvalLog
    _json_samples: Sequence[object] | None = None

    def samples(self) -> Iterator[LogSample]:
        """Every sample. Raises SnellenError, which names the sample, for what neither our tasks nor Inspect write."""
        if self._json_samples is not None:
            for number, document in enumerate(self._json_samples, 1):
                yield _sample(document, f"{self.path}: sample {number}")
            return
        with _opened(self.path) as archive:
            names = [name for name in archive.NameToInfo if name.startswith("samples/") and name.endswith(".json")]
            members = [archive.getinfo(name) for name in names]  # the last of each name: a log may be written on
            if sum(member.file_size for member in members) > MAX_TOTAL_BYTES:
                raise SnellenError(f"{self.path}: more than {MAX_TOTAL_BYTES} bytes of samples; give smaller logs")
            values = 0
            for member in members:
                location, raw = f"{self.path}: {member.filename}", _member(archive, member, self.path)
                values += sum(map(raw.count, b"[{,"))
                if values > MAX_VALUES:
                    raise SnellenError(f"{self.path}: more than {MAX_VALUES} values in samples; give smaller logs")
                yield _sample(_parsed(raw, location), location)


def read_log(path: Path) -> InspectLog:
    """A log with its header. Raises SnellenError in one line for anything that is none."""
    if not path.is_file():
        raise SnellenError(f"{path}: no such file; give an Inspect log (logs/*.eval)")
    if zipfile.is_zipfile(path):
        with _opened(path) as archive:
            member = archive.NameToInfo.get(_HEADER) or archive.NameToInfo.get(_START)
            if member is None:
                raise SnellenError(f"{path}: not an Inspect log: it has neither {_HEADER} nor {_START}")
            return InspectLog(path, _header(_parsed(_member(archive, member, path), str(path)), str(path)))
    try:
        raw = read_bytes(path, MAX_JSON_LOG_BYTES)
    except OSError as error:
        raise SnellenError(f"{path}: not readable ({error.strerror}); write the log as .eval") from error
    document = _parsed(raw, str(path))
    samples = document.get("samples") or []
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise SnellenError(f"{path}: not an Inspect log: its samples are not a list of objects")
    return InspectLog(path, _header(document, str(path)), samples)


def _header(document: Mapping[str, Any], location: str) -> EvalLog:
    """The header of a log. Of a log that was cut off only the start is known."""
    log = import_extra("inspect_ai.log", "reading logs of Inspect", "providers")
    with _ours(location):
        kept = {key: document[key] for key in ("version", "status", "plan") if key in document}
        if isinstance(spec := document.get("eval"), dict):
            kept["eval"] = {key: spec[key] for key in _EVAL_FIELDS if key in spec}
        header: EvalLog = log.read_eval_log(io.BytesIO(json.dumps(kept).encode()), header_only=True, format="json")
    return header


def _sample(document: Any, location: str) -> LogSample:
    from inspect_ai.log import EvalSample, resolve_sample_attachments

    metadata = document.get("metadata")
    is_own = isinstance(metadata, dict) and "snellen" in metadata
    with _ours(location):
        own = _Sample.model_validate(document) if is_own else _OtherSample.model_validate(document)
        kept = {key: document[key] for key in _SAMPLE_FIELDS if key in document}
        sample, counts = EvalSample.model_validate(kept), Counter(_LINK.findall(json.dumps(kept | {"attachments": {}})))
        sizes = (counts[json.dumps(f"attachment://{key}")] * len(text) for key, text in sample.attachments.items())
        if sum(sizes) > MAX_MEMBER_BYTES:  # a text may stand in many places
            raise ValueError(f"more than {MAX_MEMBER_BYTES} bytes with its attachments; log without images")
        record = resolve_sample_attachments(sample)
    return LogSample(str(own.id), own.epoch, own.metadata.snellen if isinstance(own, _Sample) else None, record)


@contextmanager
def _ours(location: str) -> Iterator[None]:
    """Raise SnellenError, which names `location`, for any error inside."""
    try:
        yield
    except Exception as error:  # Inspect's models raise many kinds
        what = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_input=False, include_url=False)[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise SnellenError(
            f"{short_reason(location, 300)}: not written by a Snellen task ({short_reason(what, 150)}); "
            f"`inspect eval snellen/SUITE_TASK` writes such logs"
        ) from error


def _opened(path: Path) -> zipfile.ZipFile:
    import_extra("inspect_ai.log", "reading logs of Inspect", "providers")  # which teaches zipfile their Zstandard
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _damaged(path, error) from error
    if len(archive.infolist()) > MAX_MEMBERS:
        raise SnellenError(f"{path}: {len(archive.infolist())} files, more than {MAX_MEMBERS}; give smaller logs")
    return archive


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """The bytes of a member: no more than it claims, and no more than the limit."""
    if member.file_size > MAX_MEMBER_BYTES:
        raise SnellenError(
            f"{path}: {short_reason(member.filename, 100)} has more than {MAX_MEMBER_BYTES} bytes; log without images "
            f"(--no-log-images)"
        )
    try:
        with archive.open(member) as file:
            return b"".join(iter(partial(file.read, _CHUNK), b""))
    except Exception as error:  # every way of compressing has its own errors
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SnellenError:
    return SnellenError(f"{path}: damaged ({short_reason(str(error) or type(error).__name__, 100)}); copy it again")


def _parsed(raw: bytes, location: str) -> dict[str, Any]:
    try:
        document = json.loads(bounded_json(raw))
    except (ValueError, RecursionError) as error:
        raise SnellenError(f"{short_reason(location, 300)}: no JSON ({short_reason(str(error), 100)})") from error
    if not isinstance(document, dict):
        raise SnellenError(f"{short_reason(location, 300)}: not an Inspect log: not a JSON object")
    return document
