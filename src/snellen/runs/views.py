"""Items as an arm sees them: transforms with their random streams, montages laid out, examples to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.item import Item, Montage, Part, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import lazy_stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.stimuli.transforms.montage import lay_out


def show_items(
    items: Sequence[Item], context: ViewContext, task: Task, seed: int, media: MediaFolder
) -> dict[str, View]:
    """Items as shown. A transform's draws depend on seed and stimulus alone, so that arms differ in nothing else."""
    views: dict[str, View] = {}
    for item in items:
        view = item.view()
        for transform in task.transforms(item, context):
            view = transform(view, media, transform_stream(seed, item, transform))
        views[item.item_id] = view
    return views


def training_example(
    view: View, answer: Any, method: Method, as_sent: Callable[[Prompt], Prompt] = lambda prompt: prompt
) -> TrainingExample:
    """What is learned of a view: it alone, asked by the method of its condition, with the reply that is right."""
    prompts = next(method.run((view,)))
    prompt = as_sent(prompts[0]) if len(prompts) == 1 and prompts[0].views == (view,) else None
    return TrainingExample(view, answer, prompt, view.reply.write(answer))


def transform_stream(seed: int, item: Item, transform: Transform) -> np.random.Generator:
    """The random stream of one transform of one stimulus."""
    return lazy_stream("show", seed, item.stimulus_id, type(transform).__name__)


def lay_out_montages(prompt: Prompt, media: MediaFolder) -> Prompt:
    """The prompt with every montage made into an image."""

    def lay_out_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(lay_out(part, media) if isinstance(part, Montage) else part for part in parts)

    history = tuple(replace(turn, parts=lay_out_parts(turn.parts)) for turn in prompt.history)
    return Prompt(lay_out_parts(prompt.parts), prompt.views, history)
