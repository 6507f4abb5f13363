"""An observer with a planted psychometric function, for tasks whose items say how easy they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base

SLOPE, LAPSE = 3.0, 0.02
"""The slope per log10 unit, and the share of wrong answers to easy questions."""
SPREAD = 1.5
"""The standard deviation of what is judged, in distances of the levels of a task."""


@dataclass(frozen=True)
class Planted(Base):
    """Sees with the probability of a Weibull function of the item's `level` (in `latent`, log10 units).

    The threshold is at the place `threshold` among the levels of a task: 1 is the hardest, 2.5 between the second and
    the third. What it does not see, it guesses.

    Items with two `sides` (in `latent`: the answers at low and at high levels) are judged: at the place `threshold`
    both are equally frequent.
    """

    items: Mapping[str, Item] = field(default_factory=dict, repr=False)
    threshold: float = 1.0

    def declines(self, prompt: Prompt) -> str | None:
        """Decline items without a level."""
        if any("level" not in self.items[view.item_id].latent for view in prompt.views):
            return "these items have no levels"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(answer_views(prompt.views, lambda view: self._answer(view, rng)))

    def _answer(self, view: View, rng: np.random.Generator) -> str:
        item, offered = self.items[view.item_id], view.reply.offered
        is_shown = {image.sha256 for image in item.query} <= {image.stored_sha256 for image in view.query}
        levels = self._levels[item.task]
        threshold = np.interp(self.threshold, np.arange(1, len(levels) + 1), levels)
        if sides := item.latent.get("sides"):
            if not is_shown or rng.random() < 2 * LAPSE:
                return view.reply.name(str(rng.choice(offered)))
            spread = SPREAD * float(np.ptp(levels)) / max(len(levels) - 1, 1)
            return view.reply.write(sides[int(item.latent["level"] + rng.normal(0, spread) > threshold)])
        detected = 1 - 2.0 ** -(10.0 ** (SLOPE * (item.latent["level"] - threshold)))
        probability = 1 - LAPSE if item.factors.get("control") == "yes" else (1 - LAPSE) * detected
        if is_shown and rng.random() < probability:
            return view.reply.write(item.answer)
        if view.reply.kind == "point":
            return view.reply.write(rng.uniform((0, 0), (item.query[0].width, item.query[0].height)))
        return view.reply.name(str(rng.choice(offered)))

    @cached_property
    def _levels(self) -> Mapping[str, list[float]]:
        """The levels of test items by task, without those of controls."""
        levels: dict[str, set[float]] = {}
        for item in self.items.values():
            if item.split == "test" and item.factors.get("control") != "yes":
                levels.setdefault(item.task, set()).add(float(item.latent["level"]))
        return {task: sorted(of_task) for task, of_task in levels.items()}
