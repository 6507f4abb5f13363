"""Scoring of ComBo. The authors released no scorer; `published` follows the text of the paper.

The paper scores chains of thought by hand (Table 1). The protocol `manual` uses decisions of people, or of a model,
about each reply: `snellen judge RUN --protocol manual`.
"""

from __future__ import annotations

import pandas as pd

from snellen.core.item import Demo, Item, Option
from snellen.core.response import Response
from snellen.core.score import Metric, Protocol, Protocols
from snellen.curation.results import DECISION
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_answer
from snellen.scoring.protocols import ACCURACY, all_right, by_item, correct, guess, strict
from snellen.suites.combo import prompts

ALL_CORRECT = Metric("all_correct", correct, chance=guess, binary=True)
"""Share of category pairs with every question right, 0 to 1; chance is that of independent guesses."""


def by_metric(scores: pd.DataFrame) -> pd.DataFrame:
    """The scored units: items for `accuracy`, pairs for `all_correct`."""
    return all_right(scores) if (scores["metric"] == ALL_CORRECT.name).all() else by_item(scores)


STRICT, STRICT_PAIRS = strict(), strict(ACCURACY, ALL_CORRECT, units=by_metric)
PUBLISHED = Protocol("published", read_answer, (ACCURACY,), by_item)
"""The paper says 'accuracy' and counts invalid replies as wrong (Table 4: LLaVA at .26 of two options)."""
PROTOCOLS: Protocols = {"strict": STRICT, "published": PUBLISHED}

# Manual scoring


SOUND = Metric("sound_reasoning", lambda item, mistake: float(mistake == "none"), chance=lambda item: 0.0, binary=True)
"""Share of replies without a mistake in any step, 0 to 1; a guess contains no reasoning, so chance is 0."""
MISTAKES = tuple(prompts.MISTAKES)


def chain_judgement(item: Item, response: Response) -> Item:
    """The item that asks for the first mistake in a reply, showing examples, test object and right answer.

    Its id is that of the response, so that the decision can be matched to it.
    """
    return step_item(
        DECISION,
        response.response_id,
        prompts.CHAIN_QUESTION.format(answer=item.answer, reply=response.text or ""),
        item.query,
        "choice",
        item.cluster_id,
        support=tuple(
            Demo(tuple(m for demo in item.support if demo.answer == key for m in demo.media), key, 0, caption)
            for key, caption in prompts.CHAIN_CAPTIONS.items()
        ),
        options=tuple(Option(word, meaning) for word, meaning in prompts.MISTAKES.items()),
        provenance={"suite": item.suite, "task": item.task},
    )


MANUAL = Protocol("manual", read_answer, (SOUND,), by_item, judge=chain_judgement)
PAIR_PROTOCOLS: Protocols = {"strict": STRICT_PAIRS, "published": PUBLISHED, "manual": MANUAL}
