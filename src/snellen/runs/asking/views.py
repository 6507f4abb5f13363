"""Items as shown to an arm: transforms with their random streams, laid-out montages, training examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.box_units import PIXELS, sent_size
from snellen.core.item import Affine, Item, Montage, Part, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import lazy_stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard, TrainingExample
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.runs.asking.failures import without_faults
from snellen.stimuli.transforms.montage import lay_out


def show_items(
    items: Sequence[Item],
    context: ViewContext,
    task: Task,
    seed: int,
    media: MediaFolder,
    faults: dict[str, str] | None = None,
) -> dict[str, View]:
    """Views of items by item id. A transform's draws depend only on seed and stimulus, so that all arms share them.

    With `faults`, items that cannot be shown or asked alone are left out, and it gets the reasons; without, errors are
    raised.
    """
    method = None if faults is None else task.method(context.condition)

    def show(item: Item) -> View:
        view = item.view()
        for transform in task.transforms(item, context):
            view = transform(view, media, transform_stream(seed, item, transform))
        if method is not None:
            next(method.run((view,)))
        return view

    return without_faults(show, {item.item_id: item for item in items}, faults)


def reply_as_sent(view: View, card: SubjectCard) -> ReplySpec:
    """The form of the reply: a box in pixels is in those of the image as this subject is sent it (`max_px`)."""
    max_px = card.settings.get("max_px")
    if view.reply.unit != PIXELS or view.reply.frame is None or not max_px or len(view.query) != 1:
        return view.reply
    (image,) = view.query
    width, height = sent_size((image.width, image.height), max_px)
    smaller = Affine(width / image.width, 0, 0, 0, height / image.height, 0)
    return replace(view.reply, frame=view.reply.frame.then(smaller))


def training_example(
    view: View, answer: Any, method: Method, as_sent: Callable[[Prompt], Prompt] = lambda prompt: prompt
) -> TrainingExample:
    """The training example of a view: asked alone by the method of its condition, with the right reply."""
    prompts = next(method.run((view,)))
    prompt = as_sent(prompts[0]) if len(prompts) == 1 and prompts[0].views == (view,) else None
    return TrainingExample(view, answer, prompt, view.reply.write(answer))


def transform_stream(seed: int, item: Item, transform: Transform) -> np.random.Generator:
    """The random stream of a transform of a stimulus."""
    return lazy_stream("show", seed, item.stimulus_id, type(transform).__name__)


def lay_out_montages(prompt: Prompt, media: MediaFolder) -> Prompt:
    """The prompt with every montage drawn as an image."""

    def lay_out_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(lay_out(part, media) if isinstance(part, Montage) else part for part in parts)

    history = tuple(replace(turn, parts=lay_out_parts(turn.parts)) for turn in prompt.history)
    return Prompt(lay_out_parts(prompt.parts), prompt.views, history)
