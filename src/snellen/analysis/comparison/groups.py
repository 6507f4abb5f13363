"""Groups of subjects by the attributes of their cards, compared on the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import KEYS, NUMBERS, contrast, with_holm
from snellen.analysis.tables.run_view import ReportArm, main_arms, main_metric, scored_tasks, scored_units, unit_bounds
from snellen.analysis.tables.section import Run, protocol_of
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.uncertainty import Bounds

GROUP_ATTRIBUTES = ("reasoning", "weights", "supervision")
"""Attributes of a subject's card by which groups are compared; a subject without the attribute is in none."""
COUNTERPARTS = "counterpart"
"""The family of comparisons of reasoning subjects with their own counterparts."""
NOT_REASONING = ("", "no", "false", "0")
"""Values of the attribute `reasoning` of a subject that does not reason."""
COLUMNS = (*KEYS, "family", "first", "second", "subjects_first", "subjects_second", *NUMBERS)


class Grouping(NamedTuple):
    """Two groups of subjects: the attribute that differs, the name of each group, and its subjects by name.

    For counterparts the two lists are parallel, and a name may occur twice.
    """

    family: str
    first: str
    second: str
    first_subjects: tuple[str, ...]
    second_subjects: tuple[str, ...]


def counterparts(arms: Sequence[ArmCard]) -> list[tuple[str, str]]:
    """Pairs (reasoning subject, counterpart) by name, each once, in the order of the run.

    Found by the attributes `reasoning` and `counterpart` (the name of another subject of the run), or as one model with
    and without reasoning: settings that differ only in `reasoning_effort`, which is `none` for the counterpart.
    """
    cards = {arm.subject: arm for arm in reversed(arms)}
    named = []
    for arm in reversed(cards.values()):
        counterpart = arm.attributes.get("counterpart", "")
        if counterpart in cards and arm.attributes.get("reasoning", "").lower() not in NOT_REASONING:
            named.append((arm.subject, counterpart))
        effort = arm.settings.get("reasoning_effort")
        twin = {**arm.settings, "reasoning_effort": "none"}
        if effort not in (None, "none"):
            named += [(arm.subject, name) for name, card in cards.items() if card.settings == twin]
    return list(dict.fromkeys(named))


def groupings(arms: Sequence[ArmCard]) -> list[Grouping]:
    """Counterparts, then every two levels of each of `GROUP_ATTRIBUTES`, in the order of the run.

    A subject that was examined twice counts once; simulated observers are in no group.
    """
    cards: dict[str, ArmCard] = {}
    for arm in arms:
        if arm.role != "simulated":
            cards.setdefault(arm.fingerprint, arm)
    pairs = counterparts(list(cards.values()))
    groups = []
    if pairs:
        reasoning, plain = zip(*pairs, strict=True)
        groups.append(Grouping(COUNTERPARTS, "reasoning", "counterpart", reasoning, plain))
    for attribute in GROUP_ATTRIBUTES:
        subjects_by_level: dict[str, list[str]] = {}
        for arm in cards.values():
            if level := arm.attributes.get(attribute, ""):
                subjects_by_level.setdefault(level, []).append(arm.subject)
        for (first, subjects), (second, others) in combinations(subjects_by_level.items(), 2):
            groups.append(Grouping(attribute, first, second, tuple(subjects), tuple(others)))
    return groups


def group_contrasts(run: Run) -> pd.DataFrame:
    """The mean score of the first group minus that of the second, for every task and grouping of the main condition.

    Subjects of a group have equal weights. Only units count for which all subjects of both groups have a score, so that
    both groups are scored on the same ones; a subject without a score in a task is left out there. For counterparts it
    is the mean of the differences within pairs, and a pair counts if both have scores. The interval and p are those of
    `contrasts`: items are redrawn, or exchanged between the groups, but subjects are not, so that they generalise to
    other items for these subjects, not to other subjects. Families for Holm: one per grouping attribute, over its
    levels and all tasks. Columns: `COLUMNS`.
    """
    arms = [arm for arm in main_arms(run) if arm.role != "simulated"]
    groups, rows = groupings(arms), list[dict[str, Any]]()
    for task in scored_tasks(run, arms, run.suite.tasks) if groups else ():
        units_by_arm = scored_units(run, task)
        scores, bounds = _values_by_subject(units_by_arm, arms), unit_bounds(run, task, units_by_arm)
        keys = dict(zip(KEYS, (task, protocol_of(run), main_metric(run, task).name), strict=True))
        for grouping in groups:
            row = _row(grouping, scores, task, bounds)
            rows += [{**keys, **row}] if row else []
    return with_holm(pd.DataFrame(rows, columns=list(COLUMNS)))


def _values_by_subject(
    units_by_arm: Mapping[ReportArm, pd.DataFrame], arms: Sequence[ArmCard]
) -> dict[str, pd.DataFrame]:
    keys = {arm.subject: ReportArm(arm.subject, arm.condition) for arm in arms}
    return {subject: units_by_arm[key] for subject, key in keys.items() if key in units_by_arm}


def _row(
    grouping: Grouping, scores: Mapping[str, pd.DataFrame], task: str, bounds: Bounds | None
) -> dict[str, Any] | None:
    first, second = grouping.first_subjects, grouping.second_subjects
    if grouping.family == COUNTERPARTS:
        pairs = [pair for pair in zip(first, second, strict=True) if set(pair) <= set(scores)]
        first, second = tuple(name for name, _ in pairs), tuple(name for _, name in pairs)
    else:
        first, second = (tuple(name for name in names if name in scores) for names in (first, second))
    if not first or not second:
        return None
    names = dict.fromkeys((*first, *second))
    values = pd.concat({name: scores[name]["value"] for name in names}, axis=1, join="inner").sort_index()
    if values.empty:
        return None
    clusters = scores[first[0]]["cluster"].reindex(values.index).to_numpy(str)
    mean_first, mean_second = (values[list(side)].to_numpy(np.float64).mean(axis=1) for side in (first, second))
    names_of_groups = "groups", task, grouping.family, grouping.first, grouping.second
    return {
        **{name: getattr(grouping, name) for name in ("family", "first", "second")},
        "subjects_first": len(set(first)),
        "subjects_second": len(set(second)),
        **contrast(mean_first, mean_second, clusters, *names_of_groups, bounds=bounds),
    }
