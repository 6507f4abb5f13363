"""Exams of checkpoints during training: in a minute, without stopping the training or changing its random states."""

from __future__ import annotations

import inspect
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from snellen.analysis.comparison.changes import changes
from snellen.analysis.comparison.verdicts import DROPPED, ROSE
from snellen.analysis.grading.coverage import gaps
from snellen.analysis.grading.grades import GRADES
from snellen.analysis.tables.section import Run
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.exam.examine import unused_folder
from snellen.exam.items import find_items
from snellen.exam.run import run
from snellen.reports.loading import load_run
from snellen.reports.rows import plain_rows
from snellen.runs.asking.failures import summarize_failures
from snellen.runs.asking.stopping import BudgetSpent
from snellen.runs.planning.selection import select_items
from snellen.subjects.from_callable import AnswerFunction, wrap
from snellen.subjects.loading import import_extra

STEP = "step-{:08d}"


@dataclass(frozen=True)
class CheckpointVerdict:
    """The rows of tasks as in `snellen run --json`, and the tasks that dropped and rose since the exam at step `since`.

    `state` is `whole`, `partial` (not all items were asked) or `failed` (no score); `error` has the reason.
    """

    step: int
    state: str
    error: str = ""
    seconds: float = 0.0
    abilities: Sequence[Mapping[str, Any]] = ()
    since: int | None = None
    dropped: Sequence[str] = ()
    rose: Sequence[str] = ()

    def __str__(self) -> str:
        """One line with the number of abilities with a grade above none, and those that dropped or rose."""
        if self.state == "failed":
            return f"step {self.step}: the exam failed: {self.error}"
        above = sum(row["grade"] in GRADES[1:] for row in self.abilities)
        words = [f"step {self.step}: {above} of {len(self.abilities)} abilities have a grade above none"]
        for verdict, names in (("dropped", self.dropped), ("rose", self.rose)):
            words += [f"{verdict} since {self.since}: {', '.join(names)}"] if names else []
        return "; ".join([*words, *([f"partial: {self.error}"] if self.state == "partial" else [])])


def checkpoint_exam(
    function: AnswerFunction,
    folder: str | Path = "exam",
    *,
    step: int | None = None,
    model: Any = None,
    sets: Sequence[str | Path] = ("ava-bench", "combo"),
    seconds: float = 60,
    n: int = 24,
    condition: str = "vanilla",
) -> CheckpointVerdict | None:
    """Examine a callable, as `snellen.examine` does, and restore the modes of its model and all random states.

    Args:
        function: Callable from a list of parts (texts and images) to text.
        folder: Folder of all exams of this training. `step-…` in it has an exam's runs and its `verdict.json`.
        step: Number of the training step. Default: the number after that of the previous exam.
        model: The torch module behind the callable. Default: the callable, or the module whose method it is.
        sets: Folders with item sets, or suites, whose sets are generated once.
        seconds: Time limit of an exam.
        n: Greatest number of items per task. A quarter of every task is asked before the rest.
        condition: Changes of presentation, as for `snellen.examine`.

    Returns:
        The verdict, `failed` after any error; None in every process but the first.

    """
    if not is_main_process():
        return None
    try:
        step = max(_steps(Path(folder)), default=-1) + 1 if step is None else step
        with undisturbed(model if model is not None else getattr(function, "__self__", function)):
            items = [find_items(name, limit=n) for name in sets]
            return _examine(function, items, Path(folder), step, seconds, n, condition)
    except Interrupted as stop:
        signal.raise_signal(stop.signal_number)  # pass it on to the training
        return None
    except Exception as error:  # noqa: BLE001  # an exam must not stop the training
        kind = "" if isinstance(error, SnellenError) else f"{type(error).__name__}: "
        verdict = CheckpointVerdict(step or 0, "failed", kind + short_reason(str(error)))
        sys.stderr.write(f"snellen: {verdict}\n")
        return verdict


def _examine(
    function: AnswerFunction, sets: Sequence[ItemSet], folder: Path, step: int, seconds: float, n: int, condition: str
) -> CheckpointVerdict:
    root, begun = folder / STEP.format(step), time.monotonic()
    if root.exists():  # the weights at this step may have changed
        root.rename(unused_folder(root.with_name(f"earlier-{root.name}")))

    async def ask(parts: list[Any]) -> Any:  # in this thread, unlike a plain function, for torch's thread-local state
        torch = sys.modules.get("torch")
        with torch.no_grad() if torch else nullcontext():  # tensors cached in inference mode could not be trained later
            return function(parts)

    for count in (-(-n // 4), n):
        for items in sets:
            with suppress(BudgetSpent):  # the replies so far are scored
                run(
                    select_items(items, count), [wrap(ask, f"step {step}")], root / items.card.suite,
                    conditions=[condition], deadline=begun + 0.9 * seconds, show_progress=False,  # and time to score
                )  # fmt: skip
    runs = [load_run(root / items.card.suite) for items in sets]
    rows = [{"suite": each.card.suite, **row} for each in runs for row in plain_rows(each.results)]
    unasked = [f"{gap.task} {gap.missing}" for each in runs for gap in gaps(each.card.arms, each.responses)]
    failed = [reply.reason for each in runs for reply in each.responses if reply.status == "failed"]
    lacks = {"not asked": unasked, "calls failed": summarize_failures(failed)}
    error = "; ".join(f"{words}: {', '.join(names)}" for words, names in lacks.items() if names)
    has_scores = any(row["value"] is not None for row in rows)
    state = "failed" if not has_scores else "partial" if unasked else "whole"
    changed = _changes(folder, step, [each for each in runs if each.responses]) if has_scores else {}
    verdict = CheckpointVerdict(step, state, error, round(time.monotonic() - begun, 2), rows, **changed)
    files.write_text(root / "verdict.json", json.dumps(asdict(verdict), indent=1) + "\n")
    return verdict


def _changes(folder: Path, step: int, runs: Sequence[Run]) -> dict[str, Any]:
    """What dropped and rose since the latest earlier exam that has scores of the same items."""
    for since in sorted((number for number in _steps(folder) if number < step), reverse=True):
        with suppress(SnellenError):  # damaged, or of other items: try the one before
            compared = [changes(load_run(folder / STEP.format(since) / each.root.name), each) for each in runs]
            return {"since": since} | {
                str(verdict): [f"{each.after.suite.name}/{name}" for each in compared for name in each.names(verdict)]
                for verdict in (DROPPED, ROSE)
            }
    return {}


def _steps(folder: Path) -> list[int]:
    """The steps of the folder's exams, ignoring other files."""
    names = (path.name.removeprefix("step-") for path in folder.glob("step-*") if path.is_dir())
    return [int(name) for name in names if name.isdecimal()]


def exam_callback(
    function: Callable[[Any, list[Any]], str] | None = None,
    *,
    every: int | None = None,
    on_verdict: Callable[[CheckpointVerdict], object] = print,
    **settings: Any,
) -> Any:
    """A callback for transformers' Trainer: an exam at each saved checkpoint, or after `every` steps.

    Args:
        function: Callable from the model and parts to text. Default: greedy replies to the processor's chat template.
        every: Number of steps between exams. Default: an exam at each saved checkpoint.
        on_verdict: Function that receives each verdict.
        settings: Further parameters of `checkpoint_exam`, such as `folder`, `sets`, `seconds` and `n`.

    """
    inspect.signature(checkpoint_exam).bind(function, **settings)  # an unknown name is an error at once
    callback: Any = import_extra("transformers", "an exam of a model in training", "models").TrainerCallback

    def examine(step: int, *, model: Any = None, processing_class: Any = None, **rest: Any) -> None:
        ask = partial(function or partial(answer_by_template, processing_class), model)
        try:
            if verdict := checkpoint_exam(ask, step=step, model=model, **settings):
                on_verdict(verdict)
        except Exception as error:  # noqa: BLE001  # as in an exam
            sys.stderr.write(f"snellen: on_verdict failed: {type(error).__name__}: {error}\n")

    class CheckpointExam(callback):  # type: ignore[misc]  # a class known only at run time
        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if every is not None and state.global_step % every == 0:
                examine(state.global_step, **rest)

        def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if every is None:
                examine(state.global_step, **rest)

    return CheckpointExam()


def is_main_process() -> bool:
    """True in the first of the processes that train together, or in the only one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return bool(torch.distributed.get_rank() == 0)
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """A context in which a torch module is in eval mode; afterwards, all modes and random states are as before.

    `model` may be anything else, too. Raises SnellenError for a model whose weights are sharded over processes, since
    one process alone would wait for the others forever.
    """
    torch, is_module = sys.modules.get("torch"), hasattr(model, "named_modules")
    modes = [(module, module.training) for module in model.modules()] if is_module else []
    parameters = list(model.parameters()) if is_module else []
    kinds = {type(part).__name__ for part in (*(module for module, _ in modes), *parameters)}
    if {"FullyShardedDataParallel", "DTensor"} & kinds or any(hasattr(weights, "ds_id") for weights in parameters):
        raise SnellenError(
            "the model's weights are sharded over several processes (FSDP, ZeRO-3), and the exam runs in the first "
            "alone; examine its saved checkpoints with `snellen run` instead"
        )
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  # the user's, restored below
    gpus = range(torch.cuda.device_count()) if torch and torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(gpus) if torch else nullcontext():
            if is_module:
                model.eval()
            yield
    finally:
        for module, is_training in modes:
            module.training = is_training
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


def answer_by_template(processor: Any, model: Any, messages: Sequence[Any]) -> str:
    """The greedy reply of an image-text-to-text model of transformers to parts in its own chat template."""
    from snellen.subjects.chat.transformers_model import TemplatedPrompt, encode_prompts, write_turns

    images = tuple(part.convert("RGB") for part in messages if not isinstance(part, str))
    templated = TemplatedPrompt(write_turns(processor, [(messages, None)]), images)
    inputs = encode_prompts(processor, [templated], return_tensors="pt").to(model.device, dtype=model.dtype)
    tokens = model.generate(**inputs, do_sample=False, max_new_tokens=64)[0, inputs["input_ids"].shape[1] :]
    return str(processor.tokenizer.decode(tokens, skip_special_tokens=True)).strip()
