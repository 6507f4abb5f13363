"""Judgements of people about the suite: comparisons of pairs, votes on natural categories, manual scores.

The first two are reviews of `snellen build combo/pair-comparisons` and `combo/natural-votes`, passed to a report as
inputs; manual scores are those of the protocol `manual`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from snellen.analysis.cells import percent_interval, share_cell
from snellen.analysis.pivot import table_section
from snellen.analysis.section import ReportSection, Run
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.curation.results import StepResult, check_about, read_step_results
from snellen.scoring.crossed import crossed_interval
from snellen.suites.combo.questions import categories
from snellen.suites.combo.report.studies import Side, agreement
from snellen.suites.combo.scoring import MANUAL, MISTAKES

PAIR_COMPARISONS, NATURAL_VOTES = "pair-comparisons", "natural-votes"
REPORT_INPUTS = (PAIR_COMPARISONS, NATURAL_VOTES)


def people_sections(run: Run) -> Iterator[ReportSection]:
    """The sections for all judgements of people about this set."""
    if path := run.inputs.get(PAIR_COMPARISONS):
        yield from compared_pairs(_votes(path, run.items, PAIR_COMPARISONS))
    if path := run.inputs.get(NATURAL_VOTES):
        yield from natural_votes(_votes(path, run.items, NATURAL_VOTES))
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
    similarity = agreement(harder, by_person)
    majority = percent_interval(similarity.by_majority, similarity.low, similarity.high, similarity.comparisons)
    vote = percent_interval(similarity.by_vote, similarity.vote_low, similarity.vote_high, similarity.votes)
    line = [len(by_person), similarity.comparisons, similarity.ties, majority, vote]
    note = (
        "People decided which of two pairs of categories is harder to tell apart; by the distance it is the closer "
        "pair. Percent of comparisons in which the majority agrees with the distance, a tie counting half, and percent "
        "of all votes that agree, with 95 % intervals over comparisons and people. Chance is 50. The paper does not "
        "state how it aggregated votes."
    )
    names = ["people", "comparisons", "ties", "by majority", "by vote"]
    yield from table_section("People and the distance (appendix C.3)", note, names, [line], "pair-comparisons")


# Natural categories


def natural_votes(step_results: Sequence[StepResult]) -> Iterator[ReportSection]:
    """The share of people who chose an image's own name, and who found that it fits, by category."""
    items = step_results[0].items.items
    by_category: dict[str, list[Item]] = {}
    for item in items:
        by_category.setdefault(item.provenance["category"], []).append(item)
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
