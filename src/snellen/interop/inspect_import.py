"""Logs of Inspect AI as recorded subjects: what was answered, read and scored as if we had asked.

Samples of Snellen's tasks state what was shown, and it must be what the item set shows. Samples of other tasks are
matched to items like the rows of a file.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.plain_text import control_character, short_reason
from snellen.core.prompt import Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.user_files import MAX_LIST_BYTES
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite
from snellen.interop.inspect_logs import InspectLog, LogSample, SampleIdentity, read_log
from snellen.interop.questions import ModelQuestion, select_questions
from snellen.scoring.answers import read_label
from snellen.subjects.chat.layer import to_reply
from snellen.subjects.joins import NUMBER, AnswerRow, RecordedAnswer, answers_digest
from snellen.subjects.recorded import Recording

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

PREFIX = "inspect:"
"""How subjects are called whose replies came by Inspect: its settings, retries and solvers are not ours."""
ANSWERING = ("temperature", "max_tokens", "top_p", "top_k", "seed", "reasoning_effort", "reasoning_tokens")
"""Settings of generation that stand in the name of a subject, as they do where we ask."""
OPERATION = frozenset(
    ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "cache", "batch")
)
"""Settings that change no answer."""
SCORES = {
    **dict.fromkeys(("true", "correct", "right", "c"), 1.0), **dict.fromkeys(("p", "partial"), 0.5),
    **dict.fromkeys(("false", "incorrect", "wrong", "i", "n"), 0.0), **dict.fromkeys(("", "none"), math.nan),
}  # fmt: skip
"""What tools write for a score, Inspect's letters among them: correct, partial, incorrect, no answer."""
MAX_SCORE = 1e300
"""Beyond it a number in a log is no score: JSON may write more digits than a float holds."""
_ADVICE = "give the set that was asked"
MAX_MODEL = 200
"""Characters of the name of a model."""
MAX_SETTINGS = 100_000
"""Characters of the settings of a log."""


@dataclass(frozen=True, slots=True)
class _LoggedQuestion:
    """What a sample of our task showed: a digest of texts and image positions, and SHA-256 of the images if kept."""

    location: str
    item: str
    identity: SampleIdentity
    parts: str
    images: tuple[str | None, ...]


@dataclass
class _LoggedModel:
    """What logs hold of a model with its settings: answers by condition, epoch and sample, and the questions."""

    headers: dict[Path, EvalLog] = field(default_factory=dict)
    rows: dict[tuple[str, int, str], AnswerRow] = field(default_factory=dict)
    questions: list[_LoggedQuestion] = field(default_factory=list)

    def add(self, sample: LogSample, row: AnswerRow, log: InspectLog) -> None:
        """Keep an answer; a retried sample's reply takes the place of its failure."""
        self.headers[log.path] = log.header
        key = row.condition, sample.epoch, sample.id
        former, reply = self.rows.get(key), row.answer.reply
        if former is None or former.answer.reply is None:
            self.rows[key] = row
        elif reply is not None and reply != former.answer.reply:
            raise SnellenError(
                f"{log.path}: sample {short_reason(sample.id, 100)} of epoch {sample.epoch} already has a different "
                f"answer; give only the logs of one evaluation"
            )

    def recording(self, name: str) -> Recording:
        """The subject; its settings are those of the logs, which change the fingerprint with them."""
        headers, rows = list(self.headers.values()), list(self.rows.values())
        settings = {"evals": sorted({header.eval.task_id for header in headers}), **_settings(headers, name)}
        attributes = {"provider": name.removeprefix(PREFIX).partition("/")[0]}
        settings["answers"] = answers_digest(rows)
        card = SubjectCard(name, settings, attributes=attributes, source="recorded")
        return Recording(card, rows=rows, check=partial(_check, self.questions), read_label=read_label)


def is_log(path: Path) -> bool:
    """True for a file that may be a log by its ending, and for JSON by its first field."""
    if path.suffix.lower() != ".json":
        return path.suffix.lower() == ".eval"
    with path.open("rb") as file:
        return re.match(rb'\s*\{\s*"(version|status|eval)"\s*:', file.read(1000)) is not None


def log_recordings(paths: Sequence[Path]) -> list[Recording]:
    """The models in logs. Raises SnellenError, which names the sample, for logs that are damaged."""
    by_name: dict[str, _LoggedModel] = {}
    for log in map(read_log, paths):
        name = subject_name(log)
        for sample, row, words, images in logged_rows(log):
            model, identity = by_name.setdefault(name, _LoggedModel()), sample.identity
            if identity is not None:  # then what was asked is compared in full
                place = _location(sample, log)
                model.questions.append(_LoggedQuestion(place, sample.id, identity, digest(words), images))
                row = replace(row, question="", images=(), target=(), answer=_answer(sample, log))
            model.add(sample, row, log)
    return [model.recording(name) for name, model in by_name.items()]


def logged_rows(log: InspectLog) -> Iterator[tuple[LogSample, AnswerRow, list[str | None], tuple[str | None, ...]]]:
    """The samples of a log as rows, with texts (None for images) and SHA-256 of images (None if left out) in order."""
    kept = 0
    for number, sample in enumerate(log.samples(), 1):
        words, images = _question(sample, log)
        record, identity = sample.record, sample.identity
        target = (record.target,) if isinstance(record.target, str) else tuple(record.target)
        answer = replace(_answer(sample, log), options=tuple(record.choices or ()))
        row = AnswerRow(
            sample.id, "\n".join(filter(None, words)), tuple(filter(None, images)),
            identity.condition if identity else "", sample.epoch - 1, answer, str(log.path), number, target,
            "" if identity else NUMBER, "0" if identity else "",
        )  # fmt: skip
        if (kept := kept + len(repr((row, identity, [*(record.scores or ())])))) > MAX_LIST_BYTES:
            raise SnellenError(f"{log.path}: more than {MAX_LIST_BYTES} bytes of texts; give smaller logs")
        yield sample, row, words, images


def _location(sample: LogSample, log: InspectLog) -> str:
    return f"{log.path}: sample {short_reason(sample.id, 100)}"


def _question(sample: LogSample, log: InspectLog) -> tuple[list[str | None], tuple[str | None, ...]]:
    """Texts with None for images, and SHA-256 of images; nothing if another task asked in a form that ours do not."""
    try:
        words, images = sample.question()
    except ValueError as error:
        if sample.identity is None:
            return [], ()
        raise SnellenError(f"{_location(sample, log)}: {error}; Snellen tasks never write this") from error
    return words, tuple(images)


def subject_name(log: InspectLog) -> str:
    """`inspect:PROVIDER/MODEL`, with the settings that were not left to the service and a solver other than ours."""
    spec, plan = log.header.eval, log.header.plan
    config = _generation(log.header)
    words = [f"{key}={config[key]}" for key in ANSWERING if isinstance(config.get(key), str | int | float)]
    solvers = [step.solver for step in plan.steps]
    if solvers not in ([], ["generate"]):
        words.append(f"solver={'+'.join(solvers)}")
    name = f"{PREFIX}{spec.model}" + (f"?{'&'.join(words)}" if words else "")
    length_fits = 0 < len(spec.model) <= MAX_MODEL and len(name) <= 1000
    if control_character(name) or "\n" in name or "\t" in name or not length_fits:
        raise SnellenError(f"{log.path}: the name of the model or of a solver is not valid: {short_reason(name, 100)}")
    return name


def _check(questions: Sequence[_LoggedQuestion], items: ItemSet, suite: Suite) -> None:
    """Raise SnellenError unless every sample was asked about these items, in our words, with our images."""
    selections: dict[tuple[str, str], Mapping[str, ModelQuestion]] = {}
    with tempfile.TemporaryDirectory(prefix="snellen-log-") as folder:
        for logged in questions:
            identity = logged.identity
            if identity.content_hash != items.card.content_hash:
                raise SnellenError(
                    f"{logged.location} is of another item set ({short_reason(identity.content_hash, 16)}, not "
                    f"{items.card.content_hash[:16]}); {_ADVICE}"
                )
            key = identity.task, identity.condition
            if key not in selections:
                selections[key] = _questions_of(logged, items, suite, Path(folder))
            _check_sample(logged, selections[key].get(logged.item))


def _questions_of(logged: _LoggedQuestion, items: ItemSet, suite: Suite, folder: Path) -> Mapping[str, ModelQuestion]:
    """The questions of a sample's task under its condition, by item; images go into `folder`."""
    task = logged.identity.task
    if task not in suite.tasks:
        raise SnellenError(f"{logged.location}: {suite.name} has no task {task!r:.60}; {_ADVICE}")
    condition, *others = parse_conditions(suite.axes, logged.identity.condition)
    if others:
        raise SnellenError(f"{logged.location}: several conditions in one sample; Snellen tasks never write this")
    selected = select_questions(items, replace(suite, tasks={task: suite.tasks[task]}), condition, folder)
    return {question.item.item_id: question for question in selected.questions}


def _check_sample(logged: _LoggedQuestion, question: ModelQuestion | None) -> None:
    if question is None:
        raise SnellenError(f"{logged.location} is not a question of this item set; {_ADVICE}")
    if logged.parts != digest([part if isinstance(part, str) else None for part in question.parts]):
        advice = "use the version of Snellen that asked it"
        raise SnellenError(f"{logged.location} was asked with a different wording or image positions; {advice}")
    digests = [image.sha256 for image in question.images]
    alike = all(image in (None, own) for image, own in zip(logged.images, digests, strict=True))
    if logged.identity.media != digests or not alike:
        raise SnellenError(f"{logged.location} showed images that differ from those of the item set; {_ADVICE}")


def _answer(sample: LogSample, log: InspectLog) -> RecordedAnswer:
    """What came back. An error, an invalidated sample or an output without a choice is no reply."""
    record = sample.record
    if record.error is not None:
        return RecordedAnswer(None, f"error in Inspect: {record.error.message[:400]}")
    if record.invalidation is not None:
        return RecordedAnswer(None, "invalidated in the log")
    if not record.output.choices:
        limit = f" (limit: {record.limit.type})" if record.limit else ""
        return RecordedAnswer(None, f"no output in the log{limit}")
    if record.output.error:
        return RecordedAnswer(None, f"error of the model: {record.output.error[:400]}")
    return RecordedAnswer(_reply(sample, log), score=_own_score(sample))


def _reply(sample: LogSample, log: InspectLog) -> Reply:
    reply = to_reply(sample.record.output)
    if fault := reply.fault():
        raise SnellenError(f"{_location(sample, log)}: {short_reason(fault, 200)}")
    return reply


def _own_score(sample: LogSample) -> float:
    """The score that Inspect kept of a sample with one score; NaN for none, several, or no number."""
    scores = list((sample.record.scores or {}).values())
    return score_of(scores[0].value) if len(scores) == 1 else math.nan


def score_of(cell: Any) -> float:
    """A score as tools write it, also in words; NaN for anything else."""
    text = str(cell).strip().casefold()
    with suppress(ValueError, OverflowError):
        number = float(SCORES.get(text, text))
        return number if abs(number) < MAX_SCORE else math.nan
    return math.nan


def _generation(header: EvalLog) -> dict[str, Any]:
    """The settings of generation that were not left to the service, those of the plan over those of the model."""
    return header.eval.model_generate_config.merge(header.plan.config).model_dump(mode="json", exclude_none=True)


def _settings(headers: Sequence[EvalLog], name: str) -> dict[str, Any]:
    """What generated the answers. Raises SnellenError where logs of one subject differ in it."""
    settings = []
    for header in headers:
        kept = {key: setting for key, setting in sorted(_generation(header).items()) if key not in OPERATION}
        settings.append({"generation": kept, "solvers": [step.solver for step in header.plan.steps]})
    if any(other != settings[0] for other in settings):
        raise SnellenError(f"{name}: the logs differ in their generation settings; make a run of each")
    if len(str(settings[0])) + sum(len(header.eval.task_id) for header in headers) > MAX_SETTINGS:
        raise SnellenError(f"{name}: the settings in the log have more than {MAX_SETTINGS} characters")
    return settings[0]
