"""Logs of Inspect AI as runs: what was answered to our tasks, read and scored as if we had asked.

Nobody is asked: the ask loop shows the items as the tasks did, and what the logs hold comes back as replies. Keys,
tables and scores are those of every run.
"""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.plain_text import control_character, short_reason
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import RunCard, refuse_other_run
from snellen.core.storage.versions import versions
from snellen.core.subject import Base, SubjectCard
from snellen.core.suite import Schedule, Suite, Trial
from snellen.exam.run import Examination, rescore
from snellen.interop.inspect_logs import InspectLog, LogSample, read_log
from snellen.interop.questions import ModelQuestion, select_questions
from snellen.runs.ask import ask
from snellen.runs.gate import open_items
from snellen.runs.plan import Arm, Plan, run_card
from snellen.subjects.chat.messages import to_reply
from snellen.suites import SUITES

if TYPE_CHECKING:
    import pandas as pd
    from inspect_ai.log import EvalLog

PREFIX = "inspect:"
"""How subjects are called whose replies came by Inspect: its settings, retries and solvers are not ours."""
ANSWERING = ("temperature", "max_tokens", "top_p", "top_k", "seed", "reasoning_effort", "reasoning_tokens")
"""Settings of generation that stand in the name of a subject, as they do where we ask."""
OPERATION = frozenset(
    ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "cache", "batch")
)
"""Settings that change no answer."""
MAX_SCORE = 1e300
"""Beyond it a number in a log is no score: JSON may write more digits than a float holds."""
MAX_MODEL = 200
"""Characters of the name of a model."""
MAX_SETTINGS = 100_000
"""Characters of the settings of a log."""


@dataclass(frozen=True)
class LoggedAnswer:
    """What a log holds of an item in an epoch: a reply, or why there is none, and the score Inspect gave (else NaN)."""

    reply: Reply | None
    reason: str = ""
    score: float = math.nan


@dataclass(frozen=True)
class LoggedSubject(Base):
    """Who answered in Inspect: gives the answers of one condition and epoch back, item by item."""

    answers: Mapping[str, LoggedAnswer] = field(default_factory=dict)

    def schedule(self, trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        """The trials of one item of which there is a sample; what was never asked has no row."""
        yield tuple(trial for trial in trials if len(trial.views) == 1 and trial.views[0].item_id in self.answers)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The logged reply. Raises CallFailed where the sample has none."""
        answer = self.answers[prompt.views[0].item_id]
        if answer.reply is None:
            raise CallFailed(answer.reason)
        return answer.reply


@dataclass(frozen=True)
class LogImport:
    """A run made of logs. `agreeing` and `differing`: scores in the logs that are, and are not, those of the run."""

    examination: Examination
    logs: int
    agreeing: int
    differing: int


@dataclass
class _LoggedArms:
    """What logs hold of a model with its settings under a condition: tasks, and answers by epoch and item."""

    condition: Condition
    headers: dict[Path, EvalLog] = field(default_factory=dict)
    tasks: set[str] = field(default_factory=set)
    answers: dict[int, dict[str, LoggedAnswer]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, sample: LogSample, logged_answer: LoggedAnswer, log: InspectLog) -> None:
        """Keep an answer; a retried sample's reply takes the place of its failure."""
        self.headers[log.path] = log.header
        self.tasks.add(sample.identity.task)
        answers = self.answers[sample.epoch]
        former = answers.get(sample.id)
        if former is None or former.reply is None:
            answers[sample.id] = logged_answer
        elif logged_answer.reply is not None and logged_answer.reply != former.reply:
            raise SnellenError(
                f"{log.path}: sample {short_reason(sample.id, 100)} of epoch {sample.epoch} already has a different "
                f"answer; import only the logs of one evaluation into a run"
            )


@dataclass
class _ItemQuestions:
    """The questions that a set's tasks ask, selected as logs need them; images go into `folder`."""

    items: ItemSet
    suite: Suite
    folder: Path
    _questions: dict[tuple[str, str], Mapping[str, ModelQuestion]] = field(default_factory=dict)

    def condition(self, sample: LogSample, log: InspectLog) -> Condition:
        """The condition of a sample. Raises SnellenError where it names several."""
        point, *others = parse_conditions(self.suite.axes, sample.identity.condition)
        if others:
            raise SnellenError(f"{log.path}: several conditions in one sample; Snellen tasks never write this")
        return point

    def question(self, sample: LogSample, condition: Condition, log: InspectLog) -> ModelQuestion:
        """The question of a sample. Raises SnellenError where the set has none."""
        task = sample.identity.task
        if task not in self.suite.tasks:
            raise SnellenError(f"{log.path}: {self.suite.name} has no task {task!r:.60}; give the set that was asked")
        key = task, str(condition)
        if key not in self._questions:
            suite = replace(self.suite, tasks={task: self.suite.tasks[task]})
            selected = select_questions(self.items, suite, condition, self.folder)
            self._questions[key] = {question.item.item_id: question for question in selected.questions}
        if (question := self._questions[key].get(sample.id)) is None:
            raise SnellenError(
                f"{_location(sample, log)} is not a question of this item set; give the set that was asked"
            )
        return question


def import_logs(paths: Sequence[Path], itemset: Path, out: Path) -> LogImport:
    """Write a run of logs of our Inspect tasks about an item set; run again with more of them, it goes on.

    Epochs are repeats. Samples with an error are failures. Raises SnellenError, before anything is written, for logs
    that are damaged, about another set, or in which other words or images were shown.
    """
    items = open_items(itemset)
    suite = SUITES.get(items.card.suite)
    refuse_other_run(out, limit=None, suite=suite.name, seed=0, content_hash=items.card.content_hash)
    with tempfile.TemporaryDirectory(prefix="snellen-import-") as folder:
        logged_arms = _read_logs([read_log(path) for path in paths], _ItemQuestions(items, suite, Path(folder)))
    if not logged_arms:
        raise SnellenError(f"{', '.join(map(str, paths))}: no sample was finished; nothing to import")
    arms = [arm for (name, _), logged in logged_arms.items() for arm in _arms(name, logged)]
    tasks = set[str]().union(*(logged.tasks for logged in logged_arms.values()))
    part = replace(suite, tasks={name: task for name, task in suite.tasks.items() if name in tasks})
    plan = Plan(items, part, arms, keep_going=True, versions=_versions(logged_arms.values()))
    responses = ask(out, plan, _card(plan, logged_arms))
    scores = rescore(out, items, suite, "strict")
    return LogImport(Examination(out, suite, items, responses), len(paths), *_compared(arms, scores, suite))


def _read_logs(logs: Sequence[InspectLog], item_questions: _ItemQuestions) -> dict[tuple[str, str], _LoggedArms]:
    """By subject and condition what the logs hold, each sample compared with what our task asks."""
    logged_arms: dict[tuple[str, str], _LoggedArms] = {}
    for log in logs:
        name = subject_name(log)
        for sample in log.samples():
            content_hash = sample.identity.content_hash
            if content_hash != item_questions.items.card.content_hash:
                raise SnellenError(
                    f"{log.path}: the log is of another item set ({short_reason(content_hash, 16)}, not "
                    f"{item_questions.items.card.content_hash[:16]}); give the set that was asked as --items"
                )
            condition = item_questions.condition(sample, log)
            _check_sample(sample, item_questions.question(sample, condition, log), log)
            logged = logged_arms.setdefault((name, str(condition)), _LoggedArms(condition))
            logged.add(sample, _answer(sample, log), log)
    return logged_arms


def _location(sample: LogSample, log: InspectLog) -> str:
    return f"{log.path}: sample {short_reason(sample.id, 100)}"


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


def _check_sample(sample: LogSample, question: ModelQuestion, log: InspectLog) -> None:
    """Raise SnellenError unless the sample was asked in our words, with our images in their places."""
    digests = [image.sha256 for image in question.images]
    try:
        parts, logged_digests = sample.question()
    except ValueError as error:
        raise SnellenError(f"{_location(sample, log)}: {error}; only logs of Snellen tasks can be imported") from error
    if parts != [part if isinstance(part, str) else None for part in question.parts]:
        raise SnellenError(
            f"{_location(sample, log)} was asked with a different wording or image positions; import it with the "
            f"version of Snellen that asked it"
        )
    alike = all(logged in (None, digest) for logged, digest in zip(logged_digests, digests, strict=True))
    if sample.identity.media != digests or not alike:
        raise SnellenError(
            f"{_location(sample, log)} showed images that differ from those of the item set; give the set that was "
            f"asked"
        )


def _answer(sample: LogSample, log: InspectLog) -> LoggedAnswer:
    """What came back. An error, an invalidated sample or an output without a choice is no reply."""
    record = sample.record
    if record.error is not None:
        return LoggedAnswer(None, f"error in Inspect: {record.error.message[:400]}")
    if record.invalidation is not None:
        return LoggedAnswer(None, "invalidated in the log")
    if not record.output.choices:
        limit = f" (limit: {record.limit.type})" if record.limit else ""
        return LoggedAnswer(None, f"no output in the log{limit}")
    if record.output.error:
        return LoggedAnswer(None, f"error of the model: {record.output.error[:400]}")
    return LoggedAnswer(_reply(sample, log), score=_own_score(sample))


def _reply(sample: LogSample, log: InspectLog) -> Reply:
    reply = to_reply(sample.record.output)
    if fault := reply.fault():
        raise SnellenError(f"{_location(sample, log)}: {short_reason(fault, 200)}")
    return reply


def _own_score(sample: LogSample) -> float:
    """The score that Inspect kept of a sample with one score; NaN for none, several, or no number."""
    numbers = [score.value for score in (sample.record.scores or {}).values()]
    is_number = len(numbers) == 1 and isinstance(numbers[0], int | float) and abs(numbers[0]) < MAX_SCORE
    return float(numbers[0]) if is_number else math.nan


def _arms(name: str, logged: _LoggedArms) -> Iterator[Arm]:
    """An arm an epoch; the settings are those of the logs, which change the fingerprint with them."""
    headers = list(logged.headers.values())
    settings = {"evals": sorted({header.eval.task_id for header in headers}), **_settings(headers, name)}
    card = SubjectCard(name, settings, attributes={"provider": name.removeprefix(PREFIX).partition("/")[0]})
    for epoch, answers in sorted(logged.answers.items()):
        subject = LoggedSubject(card, answers)
        schedule: Schedule = subject.schedule
        yield Arm(subject, logged.condition, epoch - 1, schedule)


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
        raise SnellenError(f"{name}: the logs differ in their generation settings; import each into a separate run")
    if len(str(settings[0])) + sum(len(header.eval.task_id) for header in headers) > MAX_SETTINGS:
        raise SnellenError(f"{name}: the settings in the log have more than {MAX_SETTINGS} characters")
    return settings[0]


def _card(plan: Plan, logged_arms: Mapping[tuple[str, str], _LoggedArms]) -> RunCard:
    """The card of the run: an arm was to be asked every test item of the tasks that its logs are of."""
    every_trial = [Arm(arm.subject, arm.condition, arm.repeat) for arm in plan.arms]
    card = run_card(replace(plan, arms=every_trial))
    arms = []
    for arm in card.arms:
        tasks = logged_arms[arm.subject, arm.condition].tasks
        test_items = {task: count for task, count in arm.test_items.items() if task in tasks}
        arms.append(arm.model_copy(update={"test_items": test_items}))
    return card.model_copy(update={"arms": arms})


def _versions(logged_arms: Iterable[_LoggedArms]) -> dict[str, str]:
    packages = [header.eval.packages for logged in logged_arms for header in logged.headers.values()]
    asking = sorted({short_reason(package["inspect_ai"], 40) for package in packages if "inspect_ai" in package})
    return {**versions(), **({"inspect_ai of the logs": ", ".join(asking)} if asking else {})}


def _compared(arms: Sequence[Arm], scores: pd.DataFrame, suite: Suite) -> tuple[int, int]:
    """How many scores that Inspect kept are those of the run, and how many are not."""
    main = {task.id: task.protocols["strict"].metrics[0].name for task in suite.tasks.values()}
    rows = scores[scores["metric"] == scores["task"].map(main)]
    places = zip(rows["subject"], rows["condition"], rows["repeat"], rows["item_id"], strict=True)
    ours = dict(zip(places, rows["value"].astype(float), strict=True))
    alike = [
        math.isclose(answer.score, ours[arm.subject.card.name, str(arm.condition), arm.repeat, item_id], abs_tol=1e-9)
        for arm in arms
        for item_id, answer in _answers(arm).items()
        if not math.isnan(answer.score)
    ]
    return sum(alike), len(alike) - sum(alike)


def _answers(arm: Arm) -> Mapping[str, LoggedAnswer]:
    return arm.subject.answers if isinstance(arm.subject, LoggedSubject) else {}
