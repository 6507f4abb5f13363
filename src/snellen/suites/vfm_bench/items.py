"""From images of classes to episodes, the same way for every recipe (`design/vfm-bench.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from snellen.core.item import Demo, Item, Media, Option
from snellen.core.least_px import LEAST_PX
from snellen.suites.vfm_bench import prompts

SUITE = "vfm-bench"
TASK = "fast-mapping"
VERSION = "2"
"""Version of the suite: moves when old and new scores may not share a table."""
STREAMS = "1"
"""The version in the names of random streams: it stays where only wordings change, so that items stay."""
SHOTS = 5
"""Demos a class at most (section 4.1)."""
Level: TypeAlias = Literal["object", "detail", "pattern", "style"]
LEVELS: tuple[Level, ...] = ("object", "detail", "pattern", "style")
INDUSTRIES = ("Manufacture", "E-commerce", "Agriculture", "Medical")
"""Spelled as the release spells them."""
GENERATED = "Generated"
"""In place of an industry for images made here."""
OWN: Literal["Own"] = "Own"
"""In place of an industry for images of the user's own."""


@dataclass(frozen=True)
class EpisodeClass:
    """One class of an episode: its name, its demo images in order of shots, and what is told about them."""

    name: str
    demos: tuple[Media, ...]
    captions: tuple[str, ...] = ()
    definition: str = ""


@dataclass(frozen=True)
class Episode:
    """A query among its classes. `classes` stand in the order in which options are stored; `truth` is a place in them.

    `scene` is what the instruction calls the task ("surface defects of bottles"). `box` is the deciding region of the
    query in pixels, None where nobody marked it. `latent` goes into the item as it is, keys being `key(place)`.
    """

    handle: str
    query: Media
    classes: tuple[EpisodeClass, ...]
    truth: int
    industry: str
    level: Level
    scene: str
    source: str
    cluster: str
    box: Sequence[float] | None = None
    latent: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def key(index: int) -> str:
    """The option key of the class at a place: it tells nothing of its name."""
    return f"c{index}"


def episode_item(episode: Episode) -> Item:
    """The episode as an item with all its shots, shot outer and class inner."""
    shots = max((len(episode_class.demos) for episode_class in episode.classes), default=0)
    support = tuple(
        Demo(
            (episode_class.demos[shot],),
            key(index),
            shot,
            episode_class.captions[shot] if shot < len(episode_class.captions) else "",
        )
        for shot in range(shots)
        for index, episode_class in enumerate(episode.classes)
        if shot < len(episode_class.demos)
    )
    definitions = {
        key(index): episode_class.definition
        for index, episode_class in enumerate(episode.classes)
        if episode_class.definition
    }
    way_count = len(episode.classes)
    return Item(
        item_id=f"{TASK}-{episode.handle}",
        suite=SUITE,
        task=TASK,
        question=prompts.head(episode.industry, episode.scene, episode.level),
        query=(episode.query,),
        answer=key(episode.truth),
        answer_kind="choice",
        stimulus_id=f"{TASK}-{episode.handle}",
        group_id=f"{TASK}-{episode.handle}",
        cluster_id=episode.cluster,
        version=VERSION,
        options=tuple(Option(key(index), episode_class.name) for index, episode_class in enumerate(episode.classes)),
        support=support,
        factors={
            "industry": episode.industry,
            "concept_level": episode.level,
            "ways": str(way_count),
            "source": episode.source,
            "concept_task": f"{episode.source}/{episode.scene}",
            **episode.factors,
        },
        measures={"ways": float(way_count), **_least_px(episode)},
        regions={"box": [float(x) for x in episode.box]} if episode.box is not None else {},
        latent={**episode.latent, **({"definitions": definitions} if definitions else {})},
        provenance=episode.provenance,
    )


def _least_px(episode: Episode) -> dict[str, float]:
    """The shorter side of the region that decides, where one is known."""
    if episode.box is None:
        return {}
    x1, y1, x2, y2 = episode.box
    return {LEAST_PX: float(min(x2 - x1, y2 - y1))}
