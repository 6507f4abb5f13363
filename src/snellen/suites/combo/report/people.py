"""Judgements of people about the suite: comparisons of pairs, votes on natural categories, manual scores.

The first two are reviews of `snellen build combo/pair-comparisons` and `combo/natural-votes`, passed to a report as
inputs; manual scores are those of the protocol `manual`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.tables.cells import percent_interval, share_cell
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.curation.results import StepResult, check_about, read_step_results
from snellen.scoring.crossed import DRAWS, crossed_interval
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.difficulty import Floats
from snellen.suites.combo.items import NATURAL_VOTES, PAIR_COMPARISONS, STREAMS
from snellen.suites.combo.questions import categories
from snellen.suites.combo.scoring import MANUAL, MISTAKES

Side = Literal["first", "second"]
"""One of the two pairs of categories in a comparison."""


def people_sections(run: Run) -> Iterator[ReportSection]:
    """The sections for all judgements of people about this set."""
    for name, make in ((PAIR_COMPARISONS, compared_pairs), (NATURAL_VOTES, natural_votes)):
        if path := run.inputs.get(name):
            yield from make(_votes(path, run.items, name))
    yield from manual_scores(run)


def _votes(path: Path, items: ItemSet, name: str) -> tuple[StepResult, ...]:
    """The answers of all people. Raises SnellenError if they are about another set."""
    step_results = read_step_results(path)
    how_to = f"build it with `snellen build combo/{name} --from curated --source items={items.root}`"
    for result in step_results:
        check_about(path, result, items, name, how_to)
    return step_results


# Comparisons of pairs


def comparisons(run: Run) -> int:
    """The number of comparisons that people were asked for; 0 if the report has none."""
    path = run.inputs.get(PAIR_COMPARISONS)
    return len(_votes(path, run.items, PAIR_COMPARISONS)[0].items.items) if path else 0


def compared_pairs(step_results: Sequence[StepResult]) -> Iterator[ReportSection]:
    """Agreement between people and the distance on which pair of categories is harder (appendix C.3)."""
    items = step_results[0].items.items
    harder: list[Side] = ["first" if item.measures["first"] < item.measures["second"] else "second" for item in items]
    by_person = {result.author: [result.answer(item) for item in items] for result in step_results}
    similarity = agreement(harder, list(by_person.values()))
    lines = []
    if similarity.by_vote.n:
        shares = (percent_interval(*share) for share in (similarity.by_majority, similarity.by_vote))
        lines.append([len(by_person), similarity.by_majority.n, similarity.ties, *shares])
    note = (
        "People decided which of two pairs of categories is harder to tell apart; by the distance it is the closer "
        "pair. Percent of comparisons in which the majority agrees with the distance, a tie counting half, and percent "
        "of all votes that agree, with 95 % intervals over comparisons and people. Chance is 50. The paper does not "
        "state how it aggregated votes."
    )
    names = ["people", "comparisons", "ties", "by majority", "by vote"]
    yield from table_section("People and the distance (appendix C.3)", note, names, lines, "pair-comparisons")


class AnswerShare(NamedTuple):
    """A share with its 95 % interval (NaN if not estimable), of `n` answers."""

    value: float
    low: float
    high: float
    n: int


class DifficultyAgreement(NamedTuple):
    """Agreement between people and the distance on which pair is harder.

    `by_majority` is the share of comparisons whose majority agrees, of `ties` each counting half; `by_vote` that of all
    votes. Intervals are over comparisons and people. Chance is 0.5 for both.
    """

    by_majority: AnswerShare
    by_vote: AnswerShare
    ties: int


def agreement(harder: Sequence[Side], votes: Sequence[Sequence[Side | None]]) -> DifficultyAgreement:
    """Agreement of people's votes with the side of each comparison that the distance calls harder.

    `votes` has one vote per comparison for each person, in order, None if missing. Comparisons without votes are left
    out.
    """
    # Comparisons x people: 1 if a vote agrees, -1 if it does not, 0 if there is none.
    signs = np.array(
        [[0.0 if v[n] is None else 1.0 if v[n] == side else -1.0 for v in votes] for n, side in enumerate(harder)]
    )
    signs = signs[(signs != 0).any(axis=1)]
    if not len(signs):
        nothing = AnswerShare(math.nan, math.nan, math.nan, 0)
        return DifficultyAgreement(nothing, nothing, 0)
    majorities = _majorities(signs)
    rng = stream("combo", STREAMS, "agreement of people with the distance")
    clusters, people = np.nonzero(signs)
    agrees = (signs[clusters, people] > 0).astype(np.float64)
    low, high, _ = crossed_interval(agrees, people, clusters, "mean", (0.0, 1.0), rng)
    by_majority = AnswerShare(float(majorities.mean()), *_majority_interval(signs, rng), len(signs))
    by_vote = AnswerShare(float(agrees.mean()), low, high, len(agrees))
    return DifficultyAgreement(by_majority, by_vote, int((majorities == 0.5).sum()))


def _majorities(signs: Floats) -> Floats:
    """1 if most votes of a comparison agree, 0 if most do not, 0.5 for a tie."""
    return np.asarray((np.sign(signs.sum(axis=-1)) + 1) / 2)


def _majority_interval(signs: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The wider, at each end, of Wilson's interval over comparisons and percentiles of resamples of both (Owen 2007).

    Resampling few votes underestimates the influence of other people, and Wilson's interval treats people as fixed.
    """
    comparisons, people = signs.shape
    low, high = wilson(float(_majorities(signs).sum()), comparisons)
    shares = []
    for _ in range(DRAWS):
        times = rng.multinomial(people, np.full(people, 1 / people))
        drawn = signs[rng.integers(comparisons, size=comparisons)] * times
        voted = drawn[(drawn != 0).any(axis=1)]
        if len(voted):
            shares.append(float(_majorities(voted).mean()))
    ends = np.quantile(shares, (0.025, 0.975))
    return min(low, float(ends[0])), max(high, float(ends[1]))


# Natural categories


def natural_votes(step_results: Sequence[StepResult]) -> Iterator[ReportSection]:
    """The share of people who chose an image's own name, and who found that it fits, by category."""
    items = step_results[0].items.items
    by_category = lists_by_key((item.provenance["category"], item) for item in items)
    lines = [_category_line(name, of_category, step_results) for name, of_category in by_category.items()]
    lines.append(_category_line("(all)", items, step_results))
    note = (
        "Percent of people who chose the category's own name among all names, and who found that it fits, with 95 % "
        "intervals over people and images if they are estimable; the name most often chosen instead, and how often. A "
        "category whose own name few people choose should be replaced (`choices/natural_categories.yaml`)."
    )
    names = ["category", "images", "people", "named so", "fits", "taken for"]
    yield from table_section("Votes on natural categories", note, names, lines, "natural-votes")


def _category_line(name: str, items: Sequence[Item], step_results: Sequence[StepResult]) -> list[object]:
    naming = [item for item in items if item.item_id.startswith("name-")]
    fitting = [item for item in items if item.item_id.startswith("fit-")]
    others = Counter(
        answer
        for item in naming
        for result in step_results
        if (answer := result.answer(item)) not in (None, item.provenance["category"])
    )
    taken_for = "" if name == "(all)" or not others else "{} ({})".format(*others.most_common(1)[0])
    named_so = _share([(item, item.provenance["category"]) for item in naming], step_results)
    fits = _share([(item, item.options[0].key) for item in fitting], step_results)
    return [name, len({item.stimulus_id for item in items}), len(step_results), named_so, fits, taken_for]


def _share(expected: Sequence[tuple[Item, str]], step_results: Sequence[StepResult]) -> str:
    """The percentage of expected answers, with an interval over people and images."""
    answers = [
        (float(answer == word), result.author, item.stimulus_id)
        for item, word in expected
        for result in step_results
        if (answer := result.answer(item)) is not None
    ]
    if not answers:
        return ""
    values, people, images = zip(*answers, strict=True)
    share = sum(values) / len(values)
    rng = stream("combo", "natural votes", len(values))
    low, high, _ = crossed_interval(values, people, images, "mean", (0.0, 1.0), rng)
    return percent_interval(share, low, high, len(values))


# Manual scores of chains of thought


def manual_scores(run: Run) -> Iterator[ReportSection]:
    """The kinds of first mistakes, as scored by hand (Table 1, Figure 8)."""
    scores = run.scores.get(MANUAL.name, pd.DataFrame(columns=["task", "value", "subject", "condition", "judge"]))
    rows = scores[(scores["task"] == categories.TASK) & scores["value"].notna()]
    lines = []
    for (subject, condition, judge), part in rows.groupby(["subject", "condition", "judge"], sort=False):
        # An empty reply is not judged: it chooses no category.
        mistakes = [json.loads(prediction) or "format" for prediction in part["prediction"]]
        clusters = list(part["cluster_id"])
        cells = [share_cell([float(mistake == word) for mistake in mistakes], clusters) for word in MISTAKES]
        lines.append([subject, condition, judge, len(part), *cells])
    note = (
        "Percent of replies by the kind of their first mistake, with 95 % interval (pairs of categories resampled), "
        "for each scorer: an image described incorrectly, a wrong rule inferred, a rule applied wrongly, no category "
        "chosen. Under manual scoring a reply is right only if no step is wrong."
    )
    names = ["subject", "condition", "scored by", "replies", *("no mistake" if w == "none" else w for w in MISTAKES)]
    title = "Chains of thought, scored by hand (Table 1, Figure 8)"
    yield from table_section(title, note, names, lines, "manual-scores")
