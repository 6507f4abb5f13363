"""Judging a run by a subject: responses that its tasks leave to a judge, or that the parser could not read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset, write_itemset
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.trees import refuse_links
from snellen.core.subject import Subject
from snellen.curation.steps import copy_media
from snellen.exam.examination import Examination
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.runs.scores.judgements import judgement_folder, judgement_items, read_verdicts, unreadable_verdicts
from snellen.runs.scores.score import read_scores
from snellen.runs.scores.unread import JUDGED_READING
from snellen.runs.sets.gate import open_run_items
from snellen.subjects.registry import make_subject


@dataclass(frozen=True)
class Judged:
    """The outcome of `judge`: numbers of texts to judge, of missing verdicts (`failed`), and of unreadable ones."""

    judge: str
    texts: int
    failed: int
    unreadable: int


def judge(
    examination: str | Path | Examination,
    by: str | Subject,
    *,
    unread: bool = False,
    protocol: str = "strict",
    show_progress: bool = True,
) -> Judged:
    """Let a subject judge the responses that a run's tasks leave to a judge, then score every scored protocol again.

    Nothing is judged twice.

    Args:
        examination: A run, or its folder.
        by: The judge: a name such as `chat:openai/gpt-4o`, or a subject.
        unread: Whether the judge instead reads replies that the parser could not read, for `judged-reading`.
        protocol: The protocol whose judge is asked; it is scored in any case.
        show_progress: Whether to show progress on standard error.

    Returns:
        The numbers of texts, of missing verdicts and of unreadable ones.

    Raises:
        SnellenError: If there is nothing to judge.

    >>> judge("runs/first", "chat:openai/gpt-4o", protocol="manual")  # doctest: +SKIP

    """
    root = examination.root if isinstance(examination, Examination) else Path(examination)
    refuse_links(root)
    _, items, suite = open_run_items(root)
    protocol, responses = JUDGED_READING if unread else protocol, read_responses(root)
    judged_items = judgement_items(responses, items, suite, protocol)
    if not judged_items:
        reason = "no reply with options or a whole number is unread" if unread else "no response is scored by a judge"
        raise SnellenError(f"{root}: {reason}" + (f" under {protocol}" if protocol != "strict" and not unread else ""))
    subject = make_subject(by, judged_items) if isinstance(by, str) else by
    name = subject.card.name
    before = read_verdicts(root, judged_items).get(name, {})
    if unjudged := [item for item in judged_items if item.item_id not in before]:
        folder = judgement_folder(root, unjudged)
        if not is_itemset(folder / "items"):
            copy_media(unjudged, items.media, MediaFolder(folder / "items" / "media"))
            recipe = {"run": root.absolute().name, "items": len(unjudged)}
            write_itemset(folder / "items", unjudged, source="judgement", recipe=recipe)
        unjudged_set, is_recorded = read_itemset(folder / "items"), not isinstance(by, str)  # people may skip texts
        run(unjudged_set, [subject], folder / "run", keep_going=is_recorded, show_progress=show_progress)
    verdicts = read_verdicts(root, judged_items).get(name, {})
    for scored_protocol in [JUDGED_READING] if unread else {*read_scores(root), protocol}:
        rescore(root, items, suite, scored_protocol)
    unreadable = unreadable_verdicts(responses, suite, protocol, verdicts)
    return Judged(name, len(judged_items), len(judged_items) - len(verdicts), unreadable)
