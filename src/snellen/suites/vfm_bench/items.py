"""Episodes made from images of classes, in the same way for all recipes (`design/vfm-bench.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from snellen.core.item import Demo, Item, Media, Option
from snellen.core.least_px import LEAST_PX
from snellen.suites.vfm_bench import prompts

SUITE = "vfm-bench"
TASK = "fast-mapping"
VERSION = "4"
"""Version of the suite: increased when old and new scores may not share a table."""
STREAMS = "1"
"""The version in the names of random streams: unchanged if only wordings change, so that items stay the same."""
SHOTS = 5
"""Maximum number of demos per class (section 4.1)."""
Level: TypeAlias = Literal["object", "detail", "pattern", "style"]
"""Level of the visual concept that distinguishes the classes (Table 6)."""
LEVELS: tuple[Level, ...] = ("object", "detail", "pattern", "style")
INDUSTRIES = ("Manufacture", "E-commerce", "Agriculture", "Medical")
"""Spelled as in the release."""
GENERATED = "Generated"
"""Replaces the industry for generated images."""
OWN: Literal["Own"] = "Own"
"""Replaces the industry for the user's images."""


@dataclass(frozen=True)
class EpisodeClass:
    """One class of an episode: its name, its demo images in order of shots, and texts about them."""

    name: str
    demos: tuple[Media, ...]
    captions: tuple[str, ...] = ()
    definition: str = ""


@dataclass(frozen=True)
class Episode:
    """A query with its candidate classes, in the order of the stored options; `truth` is an index into them.

    `scene` is the name of the task in the instruction ("surface defects of bottles"). `box` is the deciding region of
    the query in pixels, None if unknown. `latent` is copied to the item; its keys are `key(index)`.
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
    """The option key of the class at an index; it reveals nothing about its name."""
    return f"c{index}"


def episode_item(episode: Episode) -> Item:
    """The episode as an item with all its demos, ordered by shot, then by class."""
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
    """The shorter side of the deciding region, if known."""
    if episode.box is None:
        return {}
    x1, y1, x2, y2 = episode.box
    return {LEAST_PX: float(min(x2 - x1, y2 - y1))}
