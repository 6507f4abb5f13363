"""The items of Mat and Trk about an edited room, with the worlds that ideal observers need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from snellen.core.item import Item, Media
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.generated.rooms import RoomChange, SceneObject, differing, successor, tracked
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT, CandidateAnswer, ImagePair, cue_items

World = Mapping[str, Any]
PARTS = ("floor", "light")


def room_items(
    handle: str,
    change: RoomChange,
    images: tuple[Media, Media],
    rng: np.random.Generator,
    provenance: Mapping[str, Any],
    task: str,
    measures: Mapping[str, float],
) -> list[Item]:
    """The pair of Mat or Trk about one edit; `measures` describe its size (`rooms.acuity`)."""
    pair = ImagePair(
        handle,
        images,
        cluster=f"room-{handle}",
        factors={"cue": CUE_BY_EDIT[change.edit], "edit": change.edit},
        measures=measures,
        provenance={
            **provenance,
            "edit": change.instruction(),
            "captions": [change.before.caption(), change.after.caption()],
        },
    )
    if task == "gc-mat":
        return list(cue_items("gc-mat", pair, prompts.MATCH[change.edit], *match_statements(change, rng), rng))
    return list(cue_items("gc-trk", pair, prompts.TRACK, *track_statements(change), rng))


def match_statements(change: RoomChange, rng: np.random.Generator) -> tuple[CandidateAnswer, CandidateAnswer]:
    """The cue that answers the question, and one that did not change, of the same colour (Table 3)."""
    if change.changed is None:
        other = next(part for part in PARTS if part != change.part)
        appearances = {part: {"environment/part": part} for part in (change.part, other)}
        return tuple(  # type: ignore[return-value]
            _statement(
                f"the colour of the {part}",
                [(appearances[part], part == change.part), (appearances[rest], rest == change.part)],
            )
            for part, rest in ((change.part, other), (other, change.part))
        )
    stayed = [scene_object for scene_object in change.named() if scene_object != change.changed]
    twins = [other for other in stayed if other.appearance.colour == change.changed.appearance.colour] or stayed
    wrong = twins[int(rng.integers(len(twins)))]
    return (
        _statement(f"the {change.changed.name}", _cue_worlds(change, change.changed, change.changed)),
        _statement(f"the {wrong.name}", _cue_worlds(change, wrong, change.changed)),
    )


def track_statements(change: RoomChange) -> tuple[CandidateAnswer, CandidateAnswer]:
    """The statement of the change, and its direct reverse (Table 4)."""
    forth, back = _courses(change)
    right, wrong = tracked(change)
    return _statement(right, [(forth, True), (back, False)]), _statement(wrong, [(back, False), (forth, True)])


def _statement(cue: str, worlds: Sequence[tuple[Mapping[str, str], bool]]) -> CandidateAnswer:
    alternatives = tuple(
        {"look": dict(appearance), "answer": "true" if right else "false"} for appearance, right in worlds
    )
    return CandidateAnswer(cue, worlds[0][1], alternatives, needed(alternatives))


def _courses(change: RoomChange) -> tuple[dict[str, str], dict[str, str]]:
    """The visible change, forwards and backwards; empty for an observer to whom before and after look the same."""
    if change.changed is None:
        old, new = getattr(change.before, change.part), getattr(change.after, change.part)
        return {"environment/course": f"{old} to {new}"}, {"environment/course": f"{new} to {old}"}
    if change.edit in ("add", "remove"):
        courses = ("added", "removed") if change.edit == "add" else ("removed", "added")
        return {"presence/course": courses[0]}, {"presence/course": courses[1]}
    before, after = change.changed.dimensions(), successor(change).dimensions()
    moved = [dimension for dimension in before if before[dimension] != after[dimension]]
    named = {dimension: dimension.replace("object", "course") for dimension in moved}
    forth = {named[dimension]: f"{before[dimension]} to {after[dimension]}" for dimension in moved}
    return forth, {named[dimension]: f"{after[dimension]} to {before[dimension]}" for dimension in moved}


def _cue_worlds(
    change: RoomChange, cue: SceneObject, changed_object: SceneObject
) -> list[tuple[Mapping[str, str], bool]]:
    """The possible pairs of an object meant by the cue and an object that changed; the actual world first.

    The cue means every object that looks like it to the observer. An observer sees which object changed only if it sees
    one of the dimensions of the change.
    """
    objects = change.named()
    seen_in = _changes_seen_in(change)

    def observed(meant: SceneObject, other: SceneObject) -> dict[str, str]:
        number = str(objects.index(other))
        return {**meant.dimensions(), **{f"{factor}/changed": number for factor in seen_in}}

    # One unchanged object represents all others: the answer depends only on whether it is the one meant.
    candidates = list(
        dict.fromkeys(
            [changed_object, cue, next(scene_object for scene_object in objects if scene_object != changed_object)]
        )
    )
    worlds = [(observed(meant, other), meant == other) for meant in objects for other in candidates]
    actual = (observed(cue, changed_object), cue == changed_object)
    return [actual, *(world for world in worlds if world != actual)]


def _changes_seen_in(change: RoomChange) -> tuple[str, ...]:
    if change.edit in ("add", "remove"):
        return ("presence",)
    assert change.changed is not None
    return differing(change.changed, successor(change))


def needed(worlds: Iterable[World]) -> tuple[str, ...]:
    """The factors without which a world with the other answer looks like the actual one."""
    first, *others = worlds
    factors = dict.fromkeys(dimension.split("/")[0] for dimension in first["look"])

    def without(appearance: Mapping[str, str], factor: str) -> dict[str, str]:
        return {dimension: value for dimension, value in appearance.items() if dimension.split("/")[0] != factor}

    return tuple(
        factor
        for factor in factors
        if any(
            world["answer"] != first["answer"] and without(world["look"], factor) == without(first["look"], factor)
            for world in others
        )
    )
