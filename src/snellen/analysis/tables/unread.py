"""Sentences about replies that cannot be read, which stand before all numbers, with three such replies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from snellen.analysis.grading.grades import UNREAD
from snellen.analysis.tables.run_view import arm_name, response_key
from snellen.core.box_units import BOX_UNITS
from snellen.core.plain_text import short_reason
from snellen.core.response import Response
from snellen.core.storage.run_tables import empty_beside_reasoning, reply_texts

EXAMPLES, MAX_CHARACTERS = 3, 160
"""Replies that a sentence quotes, and the characters of each."""
PLACE = ["subject", "condition", "repeat", "item_id"]


def unread_sentences(roots: Sequence[Path], scores: pd.DataFrame, responses: Sequence[Response]) -> tuple[str, ...]:
    """A sentence for each arm of whose replies to a task more than `UNREAD` cannot be read, and on empty replies.

    `roots` are the folders of the run, `scores` those under one protocol. Boxes in another unit have a state that names
    the remedy, and do not count.
    """
    replies = scores[scores["outcome"].isin(("answered", "no_answer", "cut_off"))].drop_duplicates(PLACE)
    is_box = replies["form"].isin(BOX_UNITS) if "form" in replies else False
    replies = replies.assign(unread=(replies["outcome"] != "answered") & ~is_box)
    places = set(replies[replies["unread"]][PLACE].itertuples(index=False, name=None))
    by_place = {place: r for r in responses if (place := response_key(r)) in places}
    texts = reply_texts(roots, list(by_place.values()))
    sentences = []
    for (subject, condition), arm in replies.groupby(["subject", "condition"], sort=False):
        shares = arm.groupby("task", sort=False)["unread"].mean()
        worst = shares[shares > UNREAD]
        if worst.empty:
            continue
        # One reply of each task first, so that the examples are of several.
        unread = arm[arm["unread"] & arm["task"].isin(worst.index)]
        unread = unread.assign(turn=unread.groupby("task").cumcount()).sort_values("turn", kind="stable")
        quoted = dict.fromkeys(
            texts[by_place[place].response_id] for place in unread[PLACE].itertuples(index=False, name=None)
        )
        examples = [f"“{short_reason(text, MAX_CHARACTERS)}”" if text else "(empty)" for text in quoted][:EXAMPLES]
        low, high = (f"{100 * share:.0f}" for share in (worst.min(), worst.max()))
        number = f"all {len(shares)}" if len(worst) == len(shares) else f"{len(worst)} of {len(shares)}"
        tasks = f" to {number} tasks" if len(shares) > 1 else ""
        sentences.append(
            f"{f'{low} to {high}' if low != high else low} % of the replies of {arm_name(str(subject), str(condition))}"
            f"{tasks} cannot be read and count as wrong; fix this before you compare scores. "
            f"Such replies: {', '.join(examples)}."
        )
    for subject, count in empty_beside_reasoning(roots).items():
        sentences.append(
            f"{count} replies of {subject} are empty beside full reasoning: the server's reasoning parser may have "
            "taken the answer for reasoning."
        )
    return tuple(sentences)
