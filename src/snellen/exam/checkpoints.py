"""Exams of checkpoints during training: the same items each time, in a minute, without ever stopping the training.

`checkpoint_exam` asks a callable and writes one JSON verdict; `exam_callback` does so from transformers' Trainer.
"""

from __future__ import annotations

import itertools
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from snellen.analysis.section import Run
from snellen.core.condition import parse_conditions, refuse_unknown
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.itemset import BlindCard, ItemSet, is_itemset
from snellen.core.storage.runfolder import has_tables
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.versions import versions
from snellen.core.suite import QUICK_SIZE_PX, BuildOptions, Suite
from snellen.exam.items import find_generated, find_recipe
from snellen.exam.run import Examination, run
from snellen.reports.checkpoints import (
    AskedSet,
    ChangesSince,
    CheckpointVerdict,
    ability_scores,
    asked_set,
    changes_since,
    read_verdict,
    write_verdict,
)
from snellen.reports.loading import load_run
from snellen.runs.failures import summarize_failures
from snellen.runs.gate import open_items
from snellen.runs.generated_sets import generated_folder, suite_of_items
from snellen.runs.selection import select_items
from snellen.runs.stopping import BudgetSpent
from snellen.stimuli.render import RenderSettings
from snellen.subjects.from_callable import wrap
from snellen.subjects.live_models import (
    Clock,
    answer_by_template,
    is_main_process,
    model_behind,
    refuse_second_import,
    trainer_callback,
    undisturbed,
)

if TYPE_CHECKING:
    from snellen.subjects.from_callable import AnswerFunction

SETS = ("ava-bench", "combo")
"""Default sets of an exam."""
ASKING_SHARE, PACE_SHARE, CLOSING_SHARE = 0.65, 0.25, 0.1
"""Shares of an exam's seconds: for asking, at most for measuring the pace, and reserved for scoring."""
PACE_ITEMS = 2
"""Items per task for measuring the pace."""
CARD = "exam.json"


class ExamSettings(BaseModel):
    """Settings of an exam. `sets` are suites, `SUITE/TASK`, or folders with item sets.

    For suites, `n` items per task are generated with images of `size` pixels by `renderer` in `quality`. An exam asks
    at most `n` per task, and as many as `seconds` allow. `workers` is the number of rendering processes; with more than
    one, the training script is imported by each and must be guarded by `if __name__ == "__main__"`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sets: tuple[str, ...] = Field(SETS, min_length=1)
    seconds: float = Field(60.0, gt=0)
    n: int = Field(24, ge=1)
    size: tuple[int, int] = QUICK_SIZE_PX
    renderer: str = "mitsuba"
    quality: str = "fast"
    condition: str = "vanilla"
    seed: int = Field(0, ge=0)
    workers: int = Field(1, ge=1, exclude=True)


class ExamCard(Card):
    """`exam.json`: settings and items shared by all exams in a folder, so that verdicts can be compared.

    `items_a_task` was chosen once, by the pace of the first checkpoint; `seconds_a_call` is that pace by suite.
    """

    file: ClassVar[str] = CARD

    settings: ExamSettings
    content_hashes: dict[str, str]
    items_a_task: int
    seconds_a_call: dict[str, float]


class OtherExams(SnellenError):
    """The folder holds exams of other items or settings, so this exam writes nothing there."""


def checkpoint_exam(
    function: AnswerFunction,
    folder: str | Path = "exam",
    *,
    step: int | None = None,
    model: Any = None,
    **settings: Any,
) -> CheckpointVerdict | None:
    """Examine a callable from parts to text, as for `snellen.examine`; write and return the verdict.

    `folder/step-…/verdict.json` includes a comparison with the previous exam. Any error becomes a verdict `failed`; it
    is not written if the settings are wrong, or if `folder` holds exams with others.

    Args:
        function: Callable from a list of parts (texts and images) to text.
        folder: Folder of all exams of this training.
        step: Number of the training step. Default: the number after that of the previous exam.
        model: The torch module behind the callable. It is asked in eval mode without gradients and then restored, as
            are random states.
        settings: Fields of `ExamSettings`, such as `sets`, `seconds` and `n`; they stay the same in a folder.

    Returns:
        The verdict; None in every process but the first.

    """
    refuse_second_import()
    if not is_main_process():
        return None
    folder, root = Path(folder), None
    try:
        checked = read_settings(settings)
        step = _next_step(folder) if step is None else step
        root = _root(folder, step)
        with undisturbed(model if model is not None else model_behind(function), checked.seed):
            verdict = _Exam(folder, checked, step).verdict(function)
        write_verdict(root, verdict)
    except Interrupted as stop:
        signal.raise_signal(stop.signal_number)  # pass it on to the training
        return _failed(step, stop)
    except Exception as error:  # noqa: BLE001  # an exam must not stop the training
        verdict = _failed(step, error)
        _print(f"snellen: {verdict}")
        if root is not None and not isinstance(error, OtherExams):
            with suppress(SnellenError, OSError):  # it was printed above
                write_verdict(root, verdict)
    return verdict


def exam_callback(
    function: Callable[[Any, list[Any]], str] | None = None,
    folder: str | Path = "exam",
    *,
    every: int | None = None,
    on_verdict: Callable[[CheckpointVerdict], object] | None = None,
    max_new_tokens: int = 64,
    **settings: Any,
) -> Any:
    """A callback for transformers' Trainer: an exam at each saved checkpoint, or after `every` steps.

    Args:
        function: Callable from the model and a list of parts to text. Default: the model is asked with the chat
            template of Trainer's `processing_class`.
        folder: Folder of all exams of this training.
        every: Number of steps between exams. Default: an exam at each saved checkpoint.
        on_verdict: Function that receives each verdict. Default: it is printed.
        max_new_tokens: Greatest length of a reply with the chat template.
        settings: Fields of `ExamSettings`, such as `sets`, `seconds` and `n`.

    Raises:
        SnellenError: At once for invalid settings; nothing is raised later.

    """
    refuse_second_import()
    read_settings(settings)
    if every is not None and every < 1:
        raise SnellenError(f"every: {every} steps; exams are at least one step apart")

    def begin() -> None:
        with undisturbed(None, 0):
            try:
                prepare_exam(**settings)
            except Exception as error:  # noqa: BLE001  # an exam must not stop the training
                _print(f"snellen: no items for exams ({_words(error)}); all exams will fail")

    def examine(model: Any, processor: Any, step: int) -> None:
        def ask(parts: list[Any]) -> str:
            return function(model, parts) if function else answer_by_template(model, processor, parts, max_new_tokens)

        verdict = checkpoint_exam(ask, folder, step=step, model=model, **settings)
        if verdict is not None:
            _hand_over(verdict, on_verdict)

    return trainer_callback(begin, examine, every)


def _hand_over(verdict: CheckpointVerdict, on_verdict: Callable[[CheckpointVerdict], object] | None) -> None:
    try:
        (on_verdict or _print)(verdict)
    except Exception as error:  # noqa: BLE001  # as above
        _print(f"snellen: on_verdict failed: {_words(error)}")


def read_settings(settings: Mapping[str, Any]) -> ExamSettings:
    """The checked settings. Raises SnellenError for an unknown name or an invalid value."""
    try:
        checked = ExamSettings(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise SnellenError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}; see ExamSettings") from error
    RenderSettings(renderer=checked.renderer, quality=checked.quality)  # type: ignore[arg-type]  # which it checks
    for name in checked.sets:
        head, _, task = ("", "", "") if is_itemset(Path(name)) else name.partition("/")
        suite = suite_of_items(head or name)
        refuse_unknown([task] if task else [], suite.tasks, f"{head}: no task")
        if len(parse_conditions(suite.axes, checked.condition)) != 1:
            raise SnellenError(f"condition {checked.condition!r}: an exam has only one")
    return checked


def prepare_exam(**settings: Any) -> list[ItemSet]:
    """The item sets of an exam, one per suite, built into the home folder if missing."""
    checked = read_settings(settings)
    by_suite: dict[str, tuple[str, ...]] = {}
    whole = [name for name in checked.sets if is_itemset(Path(name))]
    for name in checked.sets:
        suite, _, task = name.partition("/")
        if name not in whole:
            by_suite[suite] = (*by_suite.get(suite, ()), *([task] if task else []))
    options = BuildOptions(
        Path(), seed=checked.seed, n=checked.n, size=checked.size, renderer=checked.renderer, quality=checked.quality,
        workers=checked.workers, allow_unmatched=True, show_progress=False,
    )  # fmt: skip
    sets = [
        _generated_set(suite_of_items(name), replace(options, tasks=() if name in checked.sets else tasks))
        for name, tasks in by_suite.items()
    ]
    sets += [open_items(Path(name)) for name in whole]
    if repeated := [suite for suite, count in Counter(items.card.suite for items in sets).items() if count > 1]:
        raise SnellenError(f"sets: two belong to {repeated[0]}; an exam takes one set per suite")
    return sets


def _generated_set(suite: Suite, options: BuildOptions) -> ItemSet:
    """The generated set of a suite, with a line on stderr if it must be built first."""
    if not (generated_folder(suite, options) / BlindCard.file).is_file():
        images = find_recipe(suite, "generated").plan(options)["images"]
        _print(
            f"snellen: building {suite.name} for exams, once: {images} images by {options.renderer}; may take minutes"
        )
    return find_generated(suite, options)


@dataclass(frozen=True)
class _Exam:
    """One exam, at one step of a training."""

    folder: Path
    settings: ExamSettings
    step: int

    def verdict(self, function: AnswerFunction) -> CheckpointVerdict:
        """Ask, score, and compare with the previous exam."""
        sets, start = prepare_exam(**dict(self.settings)), time.monotonic()
        root, card = _root(self.folder, self.step), self._card(sets, function)
        if root.exists():  # the weights at this step may have changed
            names = (root.with_name(f"earlier-{number}-{root.name}") for number in itertools.count(1))
            root.rename(earlier := next(name for name in names if not name.exists()))
            _print(f"snellen: the earlier exam at step {self.step} was moved to {earlier}")
        deadline = start + self.settings.seconds * (1 - CLOSING_SHARE)
        for items in sets:
            self._ask(select_items(items, card.items_a_task), wrap(Clock(function).ask, self._name), root, deadline)
        runs = load_runs(root)
        asked_sets = [asked_set(each) for each in runs.values()]
        abilities = ability_scores(list(runs.values()))
        has_scores = any(score.value is not None for score in abilities)
        changes = _changes(self.folder, self.step, runs) if has_scores else None
        return CheckpointVerdict(
            step=self.step,
            state="failed" if not has_scores else "partial" if any(each.unasked for each in asked_sets) else "whole",
            error=_shortfall(asked_sets),
            seconds=round(time.monotonic() - start, 2),
            limit_s=self.settings.seconds,
            items_a_task=card.items_a_task,
            abilities=abilities,
            sets=asked_sets,
            changes=changes,
            settings=self.settings.model_dump(mode="json"),
            versions=versions(),
        )

    @property
    def _name(self) -> str:
        return f"step {self.step}"

    def _ask(self, items: ItemSet, subject: Any, root: Path, deadline: float) -> Examination | None:
        """The examination; None if the time ran out."""
        try:
            return run(
                items, [subject], root / items.card.suite, conditions=[self.settings.condition],
                seed=self.settings.seed, deadline=deadline, show_progress=False,
            )  # fmt: skip
        except BudgetSpent:
            return None

    def _card(self, sets: Sequence[ItemSet], function: AnswerFunction) -> ExamCard:
        """The card shared by the folder's exams; the first exam measures the pace."""
        hashes = {items.card.suite: items.card.content_hash for items in sets}
        path = self.folder / CARD
        if not path.is_file():
            card = self._measure(sets, hashes, function)
            files.write_text(path, card.model_dump_json(indent=1) + "\n")
            return card
        card = read_card_file(ExamCard, path, "malformed", "choose another folder")
        if card.content_hashes != hashes or card.settings.model_dump() != self.settings.model_dump():
            raise OtherExams(f"{path}: exams there have other items or settings; choose another folder")
        return card

    def _measure(self, sets: Sequence[ItemSet], hashes: dict[str, str], function: AnswerFunction) -> ExamCard:
        """Ask a few items of every task, and choose the number that fits into the time."""
        root = self.folder / "pace"
        shutil.rmtree(root, ignore_errors=True)
        deadline = time.monotonic() + self.settings.seconds * PACE_SHARE
        round_s, fixed_s, paces = 0.0, 0.0, dict[str, float]()
        for items in sets:
            clock, chosen, start = Clock(function), select_items(items, PACE_ITEMS), time.monotonic()
            self._ask(chosen, wrap(clock.ask, "pace"), root, deadline)
            fixed_s += time.monotonic() - start - sum(end - begin for begin, end in clock.calls)
            responses = load_run(root / items.card.suite).responses if clock.calls else ()
            answered = sum(response.status == "ok" for response in responses)
            if responses and not answered:
                raise SnellenError(f"all calls failed: {'; '.join(summarize_failures([r.reason for r in responses]))}")
            suite_s = clock.pace() * len(clock.calls) / answered if answered else max(paces.values(), default=0.0)
            paces[items.card.suite] = clock.pace() if answered else suite_s
            tests = sum(item.split == "test" for item in chosen.items)
            round_s += suite_s * tests / PACE_ITEMS
        room = self.settings.seconds * ASKING_SHARE - fixed_s
        count = min(max(int(room / round_s), 1) if round_s else self.settings.n, self.settings.n)
        rounded = {suite: round(pace, 4) for suite, pace in paces.items()}
        return ExamCard(settings=self.settings, content_hashes=hashes, items_a_task=count, seconds_a_call=rounded)


def load_runs(root: Path) -> dict[str, Run]:
    """The runs of an exam's folder, by suite."""
    return {path.name: load_run(path) for path in sorted(root.iterdir()) if path.is_dir() and has_tables(path)}


def _root(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def _steps(folder: Path) -> list[int]:
    """The steps of the folder's exams, ignoring other files."""
    names = (path.name.removeprefix("step-") for path in folder.glob("step-*") if path.is_dir())
    return sorted(int(name) for name in names if name.isdecimal())


def _next_step(folder: Path) -> int:
    return max(_steps(folder), default=-1) + 1


def _changes(folder: Path, step: int, runs: Mapping[str, Run]) -> ChangesSince | None:
    """The changes since the latest earlier exam with scores; None if there is none."""
    for earlier in reversed([number for number in _steps(folder) if number < step]):
        root = _root(folder, earlier)
        try:
            if read_verdict(root).state != "failed":
                return changes_since(earlier, load_runs(root), runs)
        except SnellenError:  # cut off or damaged: try the one before
            continue
    return None


def _shortfall(sets: Sequence[AskedSet]) -> str:
    """The missing items of an exam, and the reasons."""
    unasked = [f"{task} {count}" for each in sets for task, count in each.unasked.items()]
    failures = [reason for each in sets for reason in each.failures]
    words = [f"not asked: {', '.join(unasked)}"] if unasked else []
    return "; ".join([*words, *([f"calls failed: {', '.join(failures)}"] if failures else [])])


def _failed(step: int | None, error: BaseException) -> CheckpointVerdict:
    return CheckpointVerdict(step=step or 0, state="failed", error=_words(error), seconds=0.0, versions=versions())


def _words(error: BaseException) -> str:
    text = short_reason(str(error))
    return text if isinstance(error, SnellenError) else f"{type(error).__name__}: {text}"


def _print(line: object) -> None:
    sys.stderr.write(f"{line}\n")
