"""Report sections about the best encoder for a task, given tags of its questions (`--input tags=RUN`).

`ability_profile.py` computes them; `recipe.py` makes the items for tags and their spot check (`--input tag-check=…`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from snellen.analysis.cells import DASH, decimal_interval, listing
from snellen.analysis.run_view import arms_with_all, examined, main_arms, score_matrix, scored_tasks
from snellen.analysis.section import ReportSection, Run
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.suites.ava_bench.advice.ability_profile import (
    Checked,
    Recommended,
    Tagged,
    recommended,
    spot_checked,
    weights_of,
)
from snellen.suites.ava_bench.advice.recipe import (
    CHECK_COMMANDS,
    TAG_CHECK,
    TAG_COMMANDS,
    TAGS,
    read_decisions,
    read_tagged,
)
from snellen.suites.ava_bench.published import COLUMNS

REPORT_INPUTS = (TAGS, TAG_CHECK)
TITLE = "Which encoder for my task"


@dataclass(frozen=True)
class WeightedTags:
    """Tags without those that a spot check dropped, the note about them, and their weights."""

    tagged: Tagged
    note: str

    @property
    def weights(self) -> dict[str, float]:
        """The weights of all needed abilities, sum 1."""
        return weights_of(self.tagged.abilities)


def sections(run: Run) -> Iterator[ReportSection]:
    """The ranking of the examined subjects for the task, and the weights behind it; nothing without tags.

    Raises SnellenError if tags or check cannot be read, or if no question needs any ability.
    """
    if TAGS not in run.inputs:
        if TAG_CHECK in run.inputs:
            raise SnellenError(
                f"--input {TAG_CHECK} needs the tags that were checked: give --input {TAGS}=TAGS too; {TAG_COMMANDS}"
            )
        return
    weighted_tags, arms = read_weighted_tags(run), examined(main_arms(run))
    tasks = [task for task in scored_tasks(run, arms, COLUMNS) if task in weighted_tags.weights]
    compared = arms_with_all(run, arms, tasks) if tasks else []
    if len(compared) < 2:
        reason = f"fewer than two subjects have scores in all of {listing(tasks or weighted_tags.weights)}"
        yield ReportSection(TITLE, f"No ranking: {reason}. Run these tasks of ava-bench.", None, None, "task-ranking")
        yield needs(weighted_tags, {})
        return
    rng = stream("ava-bench", "task", *(arm.subject for arm in compared))
    abilities = [score_matrix(run, task, compared) for task in tasks]
    best = recommended([arm.subject for arm in compared], abilities, weighted_tags.tagged.abilities, rng)
    missing = [arm.subject for arm in arms if arm not in compared]
    yield ranking(weighted_tags, best, missing)
    yield needs(weighted_tags, best.weights)


def read_weighted_tags(run: Run) -> WeightedTags:
    """The tags given to the report, with the note about them and their check."""
    tagged, work = read_tagged(run.inputs[TAGS])
    none = sum(not needed for needed in tagged.abilities.values())
    note = f"Tags by {tagged.author}: {len(tagged.abilities)} of {len(work.items)} questions have readable tags"
    note += f", {none} of them needing none of the fourteen abilities" if none else ""
    note += f"; {len(tagged.unread)} unread" if tagged.unread else ""
    if TAG_CHECK not in run.inputs:
        return WeightedTags(
            tagged, f"{note}. The tags were not checked: {CHECK_COMMANDS}, and give it as --input {TAG_CHECK}."
        )
    decisions = read_decisions(run.inputs[TAG_CHECK], tagged, work)
    remaining, checked = spot_checked(tagged, decisions.by_question)
    return WeightedTags(remaining, f"{note}. {_checked(checked, decisions.author, decisions.undecided)}")


def _checked(checked: Checked, author: str, undecided: int) -> str:
    if not checked.n:
        return "The spot check has no decisions."
    kept_percent, low, high = (f"{100 * share:.1f}" for share in (checked.kept_share, checked.low, checked.high))
    note = f"Spot check by {author}: tags of {checked.n} questions, {kept_percent} % kept [{low}, {high}]"
    note += f"; {undecided} without a decision" if undecided else ""
    return note + "; questions whose tags were dropped have no vote."


def ranking(weighted_tags: WeightedTags, recommendation: Recommended, missing: Sequence[str]) -> ReportSection:
    """Subjects from best to worst for the task."""
    lines = [
        [name, decimal_interval(*rank, 2), f"{100 * first:.0f}"]
        for name, rank, first in zip(recommendation.subjects, recommendation.rank, recommendation.first, strict=True)
    ]
    note = (
        "Ranks averaged over the abilities that the questions need, weighted by how many need them (next table), 1 for "
        f"the best of the {len(lines)} subjects and ties averaged. Intervals (95 %) and the percent of draws in which "
        "a subject comes first account for the sampling of the items behind the ranks and of the questions behind the "
        f"weights, but not for errors in the tags. {weighted_tags.note}"
    )
    if recommendation.left_out:
        share = 100 * sum(recommendation.left_out.values())
        names = listing(recommendation.left_out)
        note += f" Left out, since the subjects were not asked: {names}, {share:.0f} % of the total weight."
    if missing:
        note += f" Without scores in all of these abilities, and so not ranked: {listing(missing)}."
    frame = pd.DataFrame(lines, columns=["subject", "weighted average rank", "first in % of draws"])
    return ReportSection(TITLE, note, frame, None, "task-ranking")


def needs(weighted_tags: WeightedTags, ranked: Mapping[str, float]) -> ReportSection:
    """The number of questions that need each ability; `ranked` are the weights in the ranking, empty without one."""
    tag_lists = weighted_tags.tagged.abilities.values()
    lines = [
        [name, str(sum(name in tag_list for tag_list in tag_lists)), f"{100 * weight:.1f}", _percent(ranked.get(name))]
        for name, weight in sorted(weighted_tags.weights.items(), key=lambda pair: -pair[1])
    ]
    note = (
        "The number of questions that need an ability, and its weight: every question has one vote, shared equally by "
        "the abilities that it needs. The ranking uses only abilities that the subjects were asked about, with weights "
        f"scaled to add up to 100 %. {weighted_tags.note}"
    )
    frame = pd.DataFrame(lines, columns=["ability", "questions", "weight in %", "in the ranking in %"])
    return ReportSection(f"{TITLE}: what its questions need", note, frame, None, "task-needs")


def _percent(weight: float | None) -> str:
    return DASH if weight is None else f"{100 * weight:.1f}"
