"""Which encoder for my task: abilities weighted by how often the questions of a task need them.

The questions are tagged by a chat subject in an ordinary run about items of work (`tagging_items`), and its tags are
spot-checked by people or another subject (`checking_items`, or a CSV with a decision on each). What comes of it is a
weighted average rank with its uncertainty (`recommended`): that of the items behind the ranks, and that of the
questions behind the weights.
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
"""Both ours: the paper says only that benchmarks of questions mix abilities (section 2)."""


@dataclass(frozen=True)
class UserQuestion:
    """A question of the task somebody has in mind, with the images it is about, if these are to be shown."""

    question_id: str
    question: str
    images: tuple[Media, ...] = ()


@dataclass(frozen=True)
class Tagged:
    """Which abilities each question needs (none is an answer too); `unread` are questions whose tags cannot be read."""

    author: str
    abilities: Mapping[str, tuple[str, ...]]
    unread: tuple[str, ...] = ()


class Checked(NamedTuple):
    """The share of spot-checked tags that were kept, 0 to 1, with Wilson's interval, of how many."""

    kept_share: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Recommended:
    """Subjects from best to worst for a task: `rank` is weighted and averaged over abilities, 1 for the best.

    `first` is the share of draws in which a subject comes first. `left_out` are abilities that questions need and the
    subjects were not asked about, with the share of all weight that they would have.
    """

    subjects: tuple[str, ...]
    rank: tuple[Ranked, ...]
    first: tuple[float, ...]
    weights: Mapping[str, float]
    left_out: Mapping[str, float] = field(default_factory=dict)


# Tags


def tagging_items(questions: Iterable[UserQuestion]) -> list[Item]:
    """One item of work a question, under its own id."""
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
    """The abilities that a reply names, in the order of `abilities.atomic`, each once; None where it cannot be read.

    A reply that names something else is not read in part: nobody knows what was meant by it. Reasoning is not read.
    """
    reply = read_json_objects(read_answer(text, ReplySpec("text")) or "")
    named = reply.get("abilities") if isinstance(reply, dict) else None
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return None
    clean = {name.strip().casefold() for name in named}
    return tuple(task for task in atomic() if task in clean) if clean <= set(atomic()) else None


def tags(answered: StepResult) -> Tagged:
    """What one subject said of every question; calls that failed count as unread."""
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
    """Items of work for a spot check of `n` tagged questions (or all, if fewer), drawn without replacement.

    They have the ids of the questions, so that decisions in a CSV name the same ones.
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
    """Tags without those that were dropped, and how many of the checked ones were kept.

    `decisions` are `keep` or `drop` by id, as the rows of a review hold them. Raises SnellenError for other words and
    for ids without tags.
    """
    for name, decision in decisions.items():
        if decision not in ("keep", "drop"):
            raise SnellenError(f"spot check of {name!r}: {decision!r} is no decision; write keep or drop")
        if name not in tagged.abilities:
            raise SnellenError(f"spot check of {name!r}: no tags of it are known; check questions that were tagged")
    kept_count = sum(decision == "keep" for decision in decisions.values())
    share = kept_count / len(decisions) if decisions else float("nan")
    remaining = {name: needed for name, needed in tagged.abilities.items() if decisions.get(name) != "drop"}
    return Tagged(tagged.author, remaining, tagged.unread), Checked(
        share, *wilson(kept_count, len(decisions)), len(decisions)
    )


# Weights


def weights_of(abilities: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The weight of every ability that is needed, adding up to 1: each question shares one vote among those it needs.

    Questions that need none have no vote. Raises SnellenError where no question needs any.
    """
    votes, names = _votes(abilities)
    return {name: float(vote) for name, vote in zip(names, votes.sum(axis=0) / votes.sum(), strict=True)}


def _votes(abilities: Mapping[str, Collection[str]]) -> tuple[Floats, list[str]]:
    """(questions that need something x abilities, names in the order of `abilities.atomic`)."""
    needed = {name: set(question_tags) for name, question_tags in abilities.items() if question_tags}
    if unknown := sorted({ability for question_tags in needed.values() for ability in question_tags} - set(atomic())):
        raise SnellenError(f"ava-bench has no ability {unknown[0]!r}; there are {', '.join(atomic())}")
    if not needed:
        raise SnellenError("no question needs any of the fourteen abilities; there is nothing to weight by")
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

    `subjects` name the rows of every ability. Questions are drawn again for the weights, independently of the items
    behind the ranks. Needs that nobody was examined in are left out, and said so; the rest adds up to 1. Raises
    SnellenError where nothing is left.
    """
    votes, names = _votes(tags_by_question)
    examined = [ability for ability in abilities if ability.name in names]
    columns = [names.index(ability.name) for ability in examined]
    total = votes.sum(axis=0) / votes.sum()
    if not examined:
        raise SnellenError(f"nobody was examined in {', '.join(names)}; run these tasks of ava-bench first")
    again = _redrawn(votes[:, columns], rng, draws)
    shares = total[columns] / total[columns].sum()
    weights = {ability.name: float(weight) for ability, weight in zip(examined, shares, strict=True)}
    ranks, first = weighted(examined, weights, again, rng, draws)
    order = sorted(range(len(subjects)), key=lambda n: ranks[n].value)
    return Recommended(
        tuple(subjects[n] for n in order),
        tuple(ranks[n] for n in order),
        tuple(first[n] for n in order),
        weights,
        {name: float(total[n]) for n, name in enumerate(names) if n not in columns},
    )


def _redrawn(votes: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Weights (draws x abilities) when the questions that have a vote here are drawn again, as many as there are."""
    votes = votes[votes.sum(axis=1) > 0]
    times = rng.multinomial(len(votes), np.full(len(votes), 1 / len(votes)), size=draws)
    sums = times @ votes
    return np.asarray(sums / sums.sum(axis=1, keepdims=True), dtype=np.float64)
