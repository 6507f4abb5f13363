"""Item sets, and items without images, on which the suite is tested."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snellen.core.build_options import BuildOptions
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Task, ViewContext
from snellen.stimuli.scenes import composite
from snellen.subjects.fakes.make import make_fake
from snellen.suites.combo import SUITE
from snellen.suites.combo.questions.perception import items_about

NOWHERE = MediaFolder(Path("nowhere"))


def options(out: Path, **fields: Any) -> BuildOptions:
    """Build options for toy images of a quarter of the size, with few images in the train split."""
    return BuildOptions(out, **{"renderer": "toy", "quick": True, "show_progress": False, **fields})


def unseen(*name: str | int) -> Media:
    """An image that was never drawn: enough for a subject that reads only latents."""
    return Media(sha256("/".join(map(str, name)).encode()), "image", "png", 480, 360)


def perception_items(indices: Iterable[int]) -> list[Item]:
    """All questions about these objects, without images."""
    items: list[Item] = []
    for index in indices:
        name, appearance = f"object-{index}", composite(index).dimensions()
        items += items_about(name, unseen(index), appearance, "test", cluster=name, provenance={})
    return items


def views_of(items: Iterable[Item], **condition: int | str) -> list[View]:
    """The items as a condition shows them, after the transforms of their task."""
    from snellen.core.condition import parse_conditions

    all_items = list(items)
    (point,) = parse_conditions(SUITE.axes, ",".join(f"{name}={value}" for name, value in condition.items()))
    views = []
    for item in all_items:
        view = item.view()
        task: Task = SUITE.tasks[item.task]
        for transform in task.transforms(
            item, ViewContext(point, [other for other in all_items if other.task == item.task])
        ):
            view = transform(view, NOWHERE, stream("shown", item.item_id))
        views.append(view)
    return views


def says(fake: str, items: Iterable[Item], view: View, draw: int = 0) -> str | None:
    """The option key that a fake chooses; each `draw` uses another random stream."""
    return says_often(fake, items, view, [draw])[0]


def says_often(fake: str, items: Iterable[Item], view: View, draws: Iterable[int]) -> list[str | None]:
    """The option keys that a fake chooses, one per random stream."""
    subject = make_fake(fake, {}, list(items))
    keys = dict(view.reply.keys)

    async def replies() -> list[str | None]:
        streams = [stream("says", view.item_id, draw) for draw in draws]
        return [keys.get((await subject.answer(Prompt((), (view,)), NOWHERE, rng)).text or "") for rng in streams]

    return asyncio.run(replies())
