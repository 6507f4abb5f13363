"""What abilities share that ask for the one class of an image: its name, and the names offered beside it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from snellen.core.item import Box
from snellen.curation.draws import draw_options
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.candidates.candidates import Candidate, CurationContext

NO_CLASS = "image without a class"
SEVERAL = "image of several classes"
NOT_CHOSEN = "class that is not among the chosen ones"
ALONE = "class that is alone in its dataset, so that there is nothing to choose from"
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Truth of candidates of which there may be millions; `with_names` gives one to those that stay."""
OUTSIDE = "box that does not lie in its image, or image of unknown size"


def only_class(scene: Sample, name_of: Callable[[str], str | None], task: str, context: CurationContext) -> str | None:
    """The name of the image's only class, by `name_of` its label; labels that are merged are one class.

    None where there is no class, or more than one, or only classes that `name_of` does not know; the ledger is told.
    """
    labels = sorted({annotation.label for annotation in scene.annotations if annotation.label.strip()})
    names, label_list = {name_of(label) for label in labels}, ", ".join(labels)
    if not names:
        context.ledger.drop(task, scene.source, NO_CLASS, scene.record_id)
    elif len(names) > 1:
        context.ledger.drop(task, scene.source, SEVERAL, f"{scene.record_id}: {label_list}")
    elif (name := names.pop()) is None:
        context.ledger.drop(task, scene.source, NOT_CHOSEN, f"{scene.record_id}: {label_list}")
    else:
        return name
    return None


def with_names(
    candidates: Sequence[Candidate], pool_of: Callable[[Candidate], Hashable], task: str, context: CurationContext
) -> list[Candidate]:
    """The candidates, with `truth["name"]`, their label if not told yet, and `truth["among"]`, all names of their pool.

    They are told here, of all that was chosen, so that a small set offers the same names as the whole one. Classes that
    are alone in their pool are left out.
    """
    names: dict[Hashable, set[str]] = {}
    for candidate in candidates:
        names.setdefault(pool_of(candidate), set()).add(candidate.truth.get("name", candidate.label))
    among = {pool: tuple(sorted(pool_names)) for pool, pool_names in names.items()}
    named_candidates: list[Candidate] = []
    for candidate in candidates:
        offered = among[pool_of(candidate)]
        if len(offered) < 2:
            context.ledger.drop(task, candidate.origin.source, ALONE, candidate.origin.record_id)
        else:
            named_candidates.append(
                replace(candidate, truth={"name": candidate.label, **candidate.truth, "among": offered})
            )
    return named_candidates


def offered_names(
    candidate: Candidate, rng: np.random.Generator, max_names: int | None = None
) -> tuple[str, tuple[str, ...]]:
    """The name of a candidate's class, and those offered: all of its pool (`with_names`), or `max_names` of them."""
    name, among = candidate.truth["name"], candidate.truth["among"]
    return name, draw_options(name, among, len(among) if max_names is None else max_names, rng)


def source_of(candidate: Candidate) -> str:
    """The pool of most abilities: the dataset."""
    return candidate.origin.source


def lies_in(box: Box, size: tuple[int, int] | None) -> bool:
    """Whether a box has an area and lies in an image of this width and height; not where the size is not known."""
    if size is None:
        return False
    x1, y1, x2, y2 = box
    return 0 <= x1 < x2 <= size[0] and 0 <= y1 < y2 <= size[1]
