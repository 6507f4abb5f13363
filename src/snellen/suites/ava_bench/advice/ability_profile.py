"""Abilities weighted by how often the questions of a task need them, for the choice of an encoder.

A chat subject tags the questions in an ordinary run (`tagging_items`), and people or another subject spot-check its
tags (`checking_items`, or a CSV with one decision each). The result is a weighted average rank (`recommended`), whose
uncertainty covers the items behind the ranks and the questions behind the weights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from snellen.analysis.rankings import DRAWS, Floats, Ranked, ScoreMatrix, weighted
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, ReplySpec
from snellen.curation.results import StepResult
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_answer, read_json_objects
from snellen.scoring.uncertainty import wilson
from snellen.suites.ava_bench.abilities import ability_named, atomic

TAGGING_REQUEST = (
    "A user asks this question about an image:\n{question}\n\n"
    "Which of these visual abilities are needed to answer it? Name only those without which it cannot be answered. "
    "Name none if no visual information is needed, or if only other abilities are needed.\n{abilities}\n"
    'Reply with one JSON object and nothing else:\n{{"abilities": ["name", "name"]}}'
)
CHECKING_REQUEST = (
    "A user asks this question about an image:\n{question}\n\n"
    "It has been tagged as requiring exactly these visual abilities: {tags}. The abilities are:\n"
    "{abilities}\n"
    'Reply "keep" if the tags are correct, or "drop" if an ability is missing or superfluous.'
)
"""Both are ours: the paper only states that benchmarks of questions mix abilities (section 2)."""


@dataclass(frozen=True)
class UserQuestion:
    """A question of the user's task, with its images if they are to be shown."""

    question_id: str
    question: str
    images: tuple[Media, ...] = ()


@dataclass(frozen=True)
class Tagged:
    """The abilities that each question needs (possibly none); `unread` are questions whose tags cannot be read."""

    author: str
    abilities: Mapping[str, tuple[str, ...]]
    unread: tuple[str, ...] = ()


class Checked(NamedTuple):
    """The share of spot-checked tags that were kept, 0 to 1, with Wilson's interval and their number."""

    kept_share: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Recommended:
    """Subjects from best to worst for a task; `rank` is averaged over abilities by weight, 1 for the best.

    `first` is the share of draws in which a subject comes first. `left_out` are abilities that questions need but
    subjects were not asked about, with the share of the total weight that they would have.
    """

    subjects: tuple[str, ...]
    rank: tuple[Ranked, ...]
    first: tuple[float, ...]
    weights: Mapping[str, float]
    left_out: Mapping[str, float] = field(default_factory=dict)


# Tags


def tagging_items(questions: Iterable[UserQuestion]) -> list[Item]:
    """One tagging item per question, under the question's id."""
    return [
        step_item(
            "screening",
            question.question_id,
            TAGGING_REQUEST.format(question=question.question, abilities=_explained()),
            question.images,
            "text",
        )
        for question in questions
    ]


def _explained() -> str:
    return "\n".join(f"- {name}: {ability_named(name).meaning}" for name in atomic())


def read_tags(text: str) -> tuple[str, ...] | None:
    """The abilities that a reply names, in the order of `abilities.atomic`, each once; None if it cannot be read.

    A reply that also names something else is ambiguous and counts as unread. Reasoning is not read.
    """
    reply = read_json_objects(read_answer(text, ReplySpec("text")) or "")
    named = reply.get("abilities") if isinstance(reply, dict) else None
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return None
    clean = {name.strip().casefold() for name in named}
    return tuple(task for task in atomic() if task in clean) if clean <= set(atomic()) else None


def tags(answered: StepResult) -> Tagged:
    """One subject's tags of every question; failed calls count as unread."""
    abilities: dict[str, tuple[str, ...]] = {}
    unread = []
    for item in answered.items.items:
        text = answered.text(item)
        needed = None if text is None else read_tags(text)
        if needed is None:
            unread.append(item.item_id)
        else:
            abilities[item.item_id] = needed
    return Tagged(answered.author, abilities, tuple(unread))


def checking_items(questions: Sequence[UserQuestion], tagged: Tagged, n: int, rng: np.random.Generator) -> list[Item]:
    """Items for a spot check of `n` tagged questions (or all, if fewer), drawn without replacement.

    They have the ids of the questions, as in a CSV of decisions.
    """
    tagged_questions = [question for question in questions if question.question_id in tagged.abilities]
    indices = sorted(rng.permutation(len(tagged_questions))[:n])
    return [
        step_item(
            "screening",
            tagged_questions[index].question_id,
            CHECKING_REQUEST.format(
                question=tagged_questions[index].question,
                tags=", ".join(tagged.abilities[tagged_questions[index].question_id]) or "none",
                abilities=_explained(),
            ),
            tagged_questions[index].images,
            "text",
        )
        for index in indices
    ]


def spot_checked(tagged: Tagged, decisions: Mapping[str, str]) -> tuple[Tagged, Checked]:
    """The tags without the dropped ones, and the share of checked ones that were kept.

    `decisions` are `keep` or `drop` by id, as in the rows of a review. Raises SnellenError for other words and for ids
    without tags.
    """
    for name, decision in decisions.items():
        if decision not in ("keep", "drop"):
            raise SnellenError(f"spot check of {name!r}: {decision!r} is not a decision; write keep or drop")
        if name not in tagged.abilities:
            raise SnellenError(f"spot check of {name!r}: it has no tags; check questions that were tagged")
    kept_count = sum(decision == "keep" for decision in decisions.values())
    share = kept_count / len(decisions) if decisions else float("nan")
    remaining = {name: needed for name, needed in tagged.abilities.items() if decisions.get(name) != "drop"}
    return Tagged(tagged.author, remaining, tagged.unread), Checked(
        share, *wilson(kept_count, len(decisions)), len(decisions)
    )


# Weights


def weights_of(abilities: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The weights of all needed abilities, sum 1: each question divides one vote among the abilities it needs.

    Questions that need none have no vote. Raises SnellenError if no question needs any.
    """
    votes, names = _votes(abilities)
    return {name: float(vote) for name, vote in zip(names, votes.sum(axis=0) / votes.sum(), strict=True)}


def _votes(abilities: Mapping[str, Collection[str]]) -> tuple[Floats, list[str]]:
    """The votes, (questions that need an ability x abilities), and the abilities in the order of `abilities.atomic`."""
    needed = {name: set(question_tags) for name, question_tags in abilities.items() if question_tags}
    if unknown := sorted({ability for question_tags in needed.values() for ability in question_tags} - set(atomic())):
        raise SnellenError(f"ava-bench has no ability {unknown[0]!r}; available: {', '.join(atomic())}")
    if not needed:
        raise SnellenError("no question needs any of the fourteen abilities, so there are no weights")
    names = [task for task in atomic() if any(task in question_tags for question_tags in needed.values())]
    votes = np.array(
        [[(name in question_tags) / len(question_tags) for name in names] for question_tags in needed.values()]
    )
    return votes, names


def recommended(
    subjects: Sequence[str],
    abilities: Sequence[ScoreMatrix],
    tags_by_question: Mapping[str, Collection[str]],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Recommended:
    """Subjects in the order of their weighted average rank, best first.

    `subjects` name the rows of every ability. For the weights questions are resampled, independently of the items
    behind the ranks. Needed abilities without scores are left out and reported; the other weights add up to 1. Raises
    SnellenError if none is left.
    """
    votes, names = _votes(tags_by_question)
    examined = [ability for ability in abilities if ability.name in names]
    columns = [names.index(ability.name) for ability in examined]
    total = votes.sum(axis=0) / votes.sum()
    if not examined:
        raise SnellenError(f"no subject was examined in {', '.join(names)}; run these tasks of ava-bench first")
    resampled_weights = _resampled(votes[:, columns], rng, draws)
    shares = total[columns] / total[columns].sum()
    weights = {ability.name: float(weight) for ability, weight in zip(examined, shares, strict=True)}
    ranks, first = weighted(examined, weights, resampled_weights, rng, draws)
    order = sorted(range(len(subjects)), key=lambda n: ranks[n].value)
    return Recommended(
        tuple(subjects[n] for n in order),
        tuple(ranks[n] for n in order),
        tuple(first[n] for n in order),
        weights,
        {name: float(total[n]) for n, name in enumerate(names) if n not in columns},
    )


def _resampled(votes: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Weights (draws x abilities) from resampled questions, of those with a vote here."""
    votes = votes[votes.sum(axis=1) > 0]
    times = rng.multinomial(len(votes), np.full(len(votes), 1 / len(votes)), size=draws)
    sums = times @ votes
    return np.asarray(sums / sums.sum(axis=1, keepdims=True), dtype=np.float64)
