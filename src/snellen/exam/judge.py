"""Judging a run: what its tasks leave to a judge, or what no parser could read, asked of a subject."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import is_itemset, read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import read_responses
from snellen.core.subject import Subject
from snellen.curation.steps import copy_media
from snellen.exam.run import rescore, run
from snellen.remote import name_of
from snellen.runs.gate import open_run_items
from snellen.runs.judgements import judgement_folder, judgement_items, read_verdicts, unreadable_verdicts
from snellen.runs.score import read_scores
from snellen.runs.unread import JUDGED_READING
from snellen.subjects.registry import make_subject


@dataclass(frozen=True)
class Judged:
    """What `judge` did: how many texts there were to judge, how many verdicts are missing, and how many say nothing."""

    judge: str
    texts: int
    failed: int
    unreadable: int


def judge(
    root: Path, by: str | Subject, *, unread: bool = False, protocol: str = "strict", show_progress: bool = True
) -> Judged:
    """Let a subject judge what a run's tasks leave to a judge, then score again every protocol scored so far.

    `protocol` is the one whose judge is asked, scored in any case. `unread` instead lets it read what the parser could
    not, and scores `judged-reading`. Nothing is judged twice. Raises SnellenError where there is nothing to judge.
    """
    _, items, suite = open_run_items(root)
    protocol, responses = JUDGED_READING if unread else protocol, read_responses(root)
    judged_items = judgement_items(responses, items, suite, protocol)
    if not judged_items:
        reason = "no reply with options or a whole number is unread" if unread else "nothing here is scored by a judge"
        raise SnellenError(f"{root}: {reason}" + (f" under {protocol}" if protocol != "strict" and not unread else ""))
    subject = make_subject(by, judged_items) if isinstance(by, str) else by
    name = subject.card.name
    before = read_verdicts(root, judged_items).get(name, {})
    if unjudged := [item for item in judged_items if item.item_id not in before]:
        folder = judgement_folder(root, unjudged)
        if not is_itemset(folder / "items"):
            copy_media(unjudged, items.media, MediaFolder(folder / "items" / "media"))
            write_itemset(
                folder / "items", unjudged, source="judgement", recipe={"run": name_of(root), "items": len(unjudged)}
            )
        is_recorded = not isinstance(by, str)  # what people left undecided costs nothing
        run(
            read_itemset(folder / "items"),
            [subject],
            folder / "run",
            keep_going=is_recorded,
            show_progress=show_progress,
        )
    verdicts = read_verdicts(root, judged_items).get(name, {})
    for name_of_protocol in [JUDGED_READING] if unread else {*read_scores(root), protocol}:
        rescore(root, items, suite, name_of_protocol)
    unreadable = unreadable_verdicts(responses, suite, protocol, verdicts)
    return Judged(name, len(judged_items), len(judged_items) - len(verdicts), unreadable)
