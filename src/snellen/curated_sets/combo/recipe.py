"""The recipe `curated`: questions to people about a finished set. It makes no items of the suite.

    snellen build combo/pair-comparisons --from curated --source items=SET --out QUEUE
    snellen build combo/natural-votes --from curated --source items=SET --out QUEUE

`pair-comparisons` asks which of two pairs of categories is harder to tell apart, as the paper did to test its distance
(appendix C.3). `natural-votes` asks which name fits an image, and whether its own name fits (section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.combo.natural_votes import vote_items
from snellen.curated_sets.combo.pair_comparisons import comparison_items
from snellen.curated_sets.steps import ITEMS, Argument, Stage, plan_chain, read_about
from snellen.curation.steps import copy_media
from snellen.suites.combo.items import NATURAL_VOTES, PAIR_COMPARISONS, SUITE

STEPS: Mapping[str, Stage] = {
    name: Stage(
        suite=SUITE,
        name=name,
        needs=(Argument("source", ITEMS, "SET"),),
        folder="QUEUE",
        note="then `snellen study build QUEUE`; docs/reviewing.md",
        bounded=bounded,
    )
    for name, bounded in ((PAIR_COMPARISONS, True), (NATURAL_VOTES, False))
}


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """The step, seed and count. The card also names the set that it is about."""
        return {"step": _step(options).name, "seed": options.seed, "n": options.n}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The number of items, and the commands."""
        step = _step(options)
        rows = plan_chain((step,), options)
        if ITEMS not in options.sources:
            return {"suite": SUITE, "needs": f"--source {ITEMS}=SET", "items": {}, "steps": rows}
        count = len(_items(step, options, read_about(step, options), None))
        return {"suite": SUITE, "items": {step.name: count}, "steps": rows}

    def build(self, options: BuildOptions) -> ItemSet:
        """Write the items of one step. Raises SnellenError for missing or unsuitable inputs."""
        step = _step(options)
        refuse_existing(options.out)
        about = read_about(step, options)
        media = MediaFolder(options.out / "media", about.media)
        items = _items(step, options, about, media)
        copy_media(items, about.media, media)
        recipe = {**self.parameters(options), "about": about.card.content_hash}
        return write_itemset(options.out, items, source=step.name, recipe=recipe)


def _step(options: BuildOptions) -> Stage:
    if len(options.tasks) != 1:
        raise SnellenError(
            f"{SUITE} --from curated: builds one step about a set, `snellen build {SUITE}/STEP --from curated "
            f"--source {ITEMS}=SET`; steps: {', '.join(STEPS)}"
        )
    refuse_unknown(options.tasks, STEPS, f"{SUITE} --from curated: no step")
    step = STEPS[options.tasks[0]]
    options.need_items(SUITE)
    if options.n is not None and not step.bounded:
        raise SnellenError(f"{step.target}: asks about every image; leave out --n")
    if odd := next((name for name in [*options.sources, *options.inputs] if name != ITEMS), None):
        raise SnellenError(f"{step.target}: does not use {odd!r}; it takes only --source {ITEMS}=SET")
    return step


def _items(stage: Stage, options: BuildOptions, about: ItemSet, media: MediaFolder | None) -> list[Item]:
    if stage.name == PAIR_COMPARISONS:
        return comparison_items(about, options.n, options.seed, media)
    return vote_items(about)
