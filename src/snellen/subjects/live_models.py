"""Asks models during training without changing them or any random state; includes a callback for Trainer."""

from __future__ import annotations

import inspect
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import current_process
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.errors import SnellenError
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from PIL import Image

    from snellen.subjects.from_callable import AnswerFunction

WHO = "an exam of a model in training"


def is_main_process() -> bool:
    """True in the first of the processes that train together, or in the only one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return bool(torch.distributed.get_rank() == 0)
    return os.environ.get("RANK", "0") == "0"


def refuse_second_import() -> None:
    """Raise SnellenError in a rendering process that imports the training script, since it would train again."""
    if getattr(current_process(), "_inheriting", False):  # multiprocessing's own check
        raise SnellenError(
            "a rendering process imported the training script; put its training under "
            "`if __name__ == '__main__':`, or leave workers at 1"
        )


def model_behind(function: Any) -> Any:
    """The torch module that a callable is or is a method of, else None."""
    torch = sys.modules.get("torch")
    owners = (function, getattr(function, "__self__", None))
    return None if torch is None else next((owner for owner in owners if isinstance(owner, torch.nn.Module)), None)


@contextmanager
def undisturbed(model: Any, seed: int) -> Iterator[None]:
    """A context in which random states start at `seed` and the model is in eval mode.

    Afterwards, all is restored: the mode of each submodule, and the states of random, numpy and torch, including GPUs.
    `model` may be None. Raises SnellenError for a model whose weights are sharded over processes, since one process
    alone would wait for the others forever.
    """
    _refuse_sharded(model)
    torch = sys.modules.get("torch")
    modes = [] if model is None else [(module, module.training) for module in model.modules()]
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  # the user's, restored below
    torch_state = None if torch is None else torch.get_rng_state()
    gpu_states = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  # a model may draw from it
        if model is not None:
            model.eval()
        if torch is not None:
            torch.default_generator.manual_seed(seed)  # `torch.manual_seed` would also initialize unused GPUs
        if torch is not None and gpu_states is not None:
            torch.cuda.manual_seed_all(seed)
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        if torch is not None and torch_state is not None:
            torch.set_rng_state(torch_state)
            if gpu_states is not None:
                torch.cuda.set_rng_state_all(gpu_states)


def without_gradients() -> AbstractContextManager[Any]:
    """A context in which torch keeps no gradients in this thread; does nothing if torch is not imported."""
    torch = sys.modules.get("torch")
    # Tensors cached in inference mode could not be used for training later.
    return nullcontext() if torch is None else torch.no_grad()


@dataclass
class Clock:
    """A callable as a coroutine function that records when each call began and ended.

    It runs in the training thread, so that torch's thread-local state (device, gradients) stays right.
    """

    function: AnswerFunction
    calls: list[tuple[float, float]] = field(default_factory=list)

    async def ask(self, parts: list[Any]) -> Any:
        """The callable's result."""
        begun = time.monotonic()
        try:
            with without_gradients():
                text = self.function(parts)
                return await text if inspect.isawaitable(text) else text
        finally:
            self.calls.append((begun, time.monotonic()))

    def pace(self) -> float:
        """Seconds per call; the first call, which includes setup, counts only if it is the only one."""
        if len(self.calls) < 2:
            return sum(end - begin for begin, end in self.calls)
        return (self.calls[-1][1] - self.calls[0][1]) / (len(self.calls) - 1)


def _refuse_sharded(model: Any) -> None:
    names = {type(module).__name__ for module in model.modules()} if model is not None else set()
    parameters = model.parameters() if model is not None else ()
    if "FullyShardedDataParallel" in names or any(
        hasattr(parameter, "ds_id") or type(parameter).__name__ == "DTensor" for parameter in parameters
    ):
        raise SnellenError(
            "the model's weights are sharded over several processes (FSDP, ZeRO-3), and the exam runs in the first "
            "alone; examine its saved checkpoints with `snellen run` instead"
        )


def answer_by_template(model: Any, processor: Any, messages: Sequence[str | Image.Image], max_new_tokens: int) -> str:
    """The greedy reply of an image-text-to-text model of transformers to parts in its own chat template."""
    from snellen.subjects.chat.transformers_model import TemplatedPrompt, encode_prompts, write_turns

    images = tuple(part.convert("RGB") for part in messages if not isinstance(part, str))
    templated = TemplatedPrompt(write_turns(processor, [(messages, None)]), images)
    inputs = encode_prompts(processor, [templated], return_tensors="pt")
    tokens = model.generate(
        **inputs.to(model.device, dtype=model.dtype), do_sample=False, max_new_tokens=max_new_tokens
    )
    words: str = processor.tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return words.strip()


def trainer_callback(begin: Callable[[], object], examine: Callable[[Any, Any, int], object], every: int | None) -> Any:
    """A callback for transformers' Trainer: `begin` before training, `examine(model, processor, step)` during it.

    It examines after each saved checkpoint, or every `every` steps, in the first process only.
    """
    callback: Any = import_extra("transformers", WHO, "models").TrainerCallback

    class CheckpointExam(callback):  # type: ignore[misc]  # a class known only at run time
        def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if state.is_world_process_zero:
                begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if every is not None and state.global_step % every == 0:
                self._examine(state, rest)

        def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if every is None:
                self._examine(state, rest)

        def _examine(self, state: Any, rest: dict[str, Any]) -> None:
            if state.is_world_process_zero:
                examine(rest.get("model"), rest.get("processing_class"), int(state.global_step))

    return CheckpointExam()
