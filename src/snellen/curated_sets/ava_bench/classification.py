"""The only class of an image, and the names of all classes among which it is one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext
from snellen.datasets.sample import Sample

NO_CLASS = "image without a class"
SEVERAL = "image of several classes"
NOT_CHOSEN = "class that was not chosen"
ALONE = "only class of its dataset, so that there is no choice"
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Shared empty truth, since there may be millions of candidates; `with_names` fills in that of selected ones."""


def only_class(scene: Sample, name_of: Callable[[str], str | None], task: str, context: CurationContext) -> str | None:
    """The name of the image's only class; `name_of` maps labels to names, and merged labels are one class.

    None, recorded in the ledger, if there is no class, more than one, or only one that `name_of` does not know.
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
    """The candidates with `truth["name"]`, by default their label, and `truth["among"]`, all names of their pool.

    They are set for all chosen candidates, so that a small set offers the same names as the whole one. Classes that are
    alone in their pool are left out.
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


def source_of(candidate: Candidate) -> str:
    """The dataset of a candidate, the pool of most abilities."""
    return candidate.origin.source
