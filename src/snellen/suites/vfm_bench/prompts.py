"""Every wording of VFM Bench, after the released instructions (`paper.yaml` says which part comes from where)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

DEFINITIONS: Mapping[str, str] = {
    "object": (
        "modality-agnostic representation of whole, and focus on nameable entities that remains stable across moderate "
        "pose or appearance changes and is directly linkable to lexical tokens"
    ),
    "detail": (
        "identifies those fine-grained, part-scale cues, like feather color, wheel spokes, brand logos, and separates "
        "sub-categories inside an object-level class"
    ),
    "pattern": (
        "repeated textures, symmetric motifs or part constellations that are more abstract than details yet below the "
        "object level"
    ),
    "style": (
        "global aesthetic or domain statistics, including color palette, lighting regime, painterly brush strokes, that "
        "can vary independently of object identity"
    ),
}
"""Table 6."""


def head(industry: str, scene: str, level: str) -> str:
    """Role, task, concept level and its definition: what every instruction begins with."""
    return (
        f"## Role\nYou are an expert in {industry}, and your task is {scene}. Look at {level}-level information, noted "
        f"as: {DEFINITIONS[level]}.\n"
        f"## Task\nObserve the image and decide which of the candidate categories it belongs to."
    )


def candidates(names: Sequence[str]) -> str:
    """The candidate categories as the released prompts list them."""
    return f"The potential categories are {list(names)!r}."
