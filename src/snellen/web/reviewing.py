"""Reviews: agreement of people, their decisions, a study for a third reviewer; and answers compared with keys.

An imported review is an ordinary run of `human:REVIEW/ALIAS`; nothing here runs while people answer. The design
`check-keys` asks people who did not see the keys of a set. Choices, statements and counts agree if they equal the key;
what people cannot give exactly by eye has the tolerance of the task's protocol `strict` (`Protocol.confirms`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.plain_text import no_formula
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import read_run_card
from snellen.curation.panel import Panel
from snellen.curation.results import read_panel, run_folder
from snellen.curation.review import REVIEW_COLUMNS, DecisionCard, card_path
from snellen.curation.steps import copy_media
from snellen.reports.words import answer_words, foreign
from snellen.scoring.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement, rating_counts
from snellen.scoring.uncertainty import cluster_wilson
from snellen.web.building import build_study
from snellen.web.design import StudyDesign
from snellen.web.importing import imported
from snellen.web.study import StudyCard
from snellen.web.trials import KeyCheck, key_check

if TYPE_CHECKING:
    from snellen.exam.examination import Examination

COLUMNS = (*REVIEW_COLUMNS, "time")
"""Columns of every review, and the time of the last answer that supports the decision (UTC, ISO 8601)."""


@dataclass(frozen=True)
class ReviewAgreement:
    """Agreement of reviewers: `percent` of pairs of votes (0 to 1), kappa and alpha; NaN if undefined.

    Kappa is over the items on which all voted, the others over all votes.
    """

    percent: float
    fleiss_kappa: float
    krippendorff_alpha: float


def agreement_of(panel: Panel) -> ReviewAgreement:
    """Agreement of the reviewers without third ones, who were asked about the disputed items only."""
    words = sorted({vote.decision for votes in panel.votes.values() for vote in votes})
    ratings = np.full((len(panel.items.items), len(panel.reviewers)), math.nan)
    for row, item in enumerate(panel.items.items):
        for vote in panel.votes.get(item.item_id, ()):
            if vote.author in panel.reviewers:
                ratings[row, panel.reviewers.index(vote.author)] = words.index(vote.decision)
    whole = ratings[~np.isnan(ratings).any(axis=1)]
    several = len(panel.reviewers) > 1 and len(whole)
    kappa = fleiss_kappa(rating_counts(whole)) if several else math.nan
    return ReviewAgreement(percent_agreement(rating_counts(ratings)), kappa, krippendorff_alpha(ratings))


def decide_review(runs: Sequence[Path], out: Path) -> tuple[Panel, DecisionCard]:
    """Write the decisions of a review as a CSV with a card next to it; items without a decision have no line.

    `runs` are the imported review, then those of third reviewers. Raises SnellenError for a file that is not a CSV, and
    if no one answered.
    """
    if out.suffix != ".csv":
        raise SnellenError(f"--out {out}: decisions are a CSV; call it {out.with_suffix('.csv').name}")
    panel = read_panel(runs)
    agreement, times = agreement_of(panel), _times(runs)
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for item in panel.items.items:
        if (decision := panel.decision(item.item_id)) is None:
            continue
        votes = panel.supporters(item.item_id)
        reasons = " / ".join(dict.fromkeys(vote.reason for vote in votes if vote.reason))
        latest = max((times[key] for vote in votes if (key := (vote.author, item.item_id)) in times), default=None)
        authors = ", ".join(vote.author for vote in votes)
        decision = decision.replace("\r", "\n")  # a reader of CSV would begin a row there
        rows.writerow((item.item_id, decision, authors, no_formula(reasons), latest.isoformat() if latest else ""))
    card = DecisionCard(
        itemset=str(panel.items.root.resolve()),
        content_hash=panel.items.card.content_hash,
        runs=[str(run) for run in runs],
        reviewers=list(panel.reviewers),
        third=list(panel.third),
        items=panel.items.card.items,
        decided=panel.items.card.items - len(panel.undecided),
        disputed=len(panel.disputed),
        percent=_defined(agreement.percent),
        fleiss_kappa=_defined(agreement.fleiss_kappa),
        krippendorff_alpha=_defined(agreement.krippendorff_alpha),
    )
    files.write_text(out, text.getvalue())
    files.write_text(card_path(out), card.model_dump_json(indent=1) + "\n")
    return panel, card


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 6)


def _times(runs: Sequence[Path]) -> Mapping[tuple[str, str], datetime]:
    """The time of each answer by author and item; runs without imported records (simulated reviewers) have none."""
    times: dict[tuple[str, str], datetime] = {}
    for run in runs:
        folder = run_folder(run)
        people = {participant.alias: participant for participant in imported(folder.parent)}
        for arm in read_run_card(folder).arms:
            person = people.get(arm.subject.rpartition("/")[2])
            for page in person.pages.values() if person else ():
                for item_id in page.answers:
                    times.setdefault((arm.subject, item_id), page.time)
    return times


def third_study(
    panel: Panel, runs: Sequence[Path], design: StudyDesign, out: Path, reviewer: str = "third"
) -> StudyCard:
    """Build a study of the undecided items for one more reviewer, with the same pages, in a separate folder.

    Raises SnellenError if everything is decided.
    """
    if not panel.undecided:
        raise SnellenError(f"{runs[0]}: every item has a decision, so no third reviewer is needed")
    refuse_existing(out / "items")
    items = item_subset(panel.items, panel.undecided, out / "items")
    conditions = tuple(dict.fromkeys(arm.condition for arm in read_run_card(run_folder(runs[0])).arms))
    blocks = tuple(
        block.model_copy(update={"items": items.card.suite, "tasks": (), "questions": None, "conditions": conditions})
        for block in design.blocks[:1]
    )
    third = design.model_copy(update={"kind": "review", "reviewers": (reviewer,), "blocks": blocks})
    return build_study([items], third, out)


def item_subset(items: ItemSet, item_ids: Sequence[str], out: Path) -> ItemSet:
    """Write some items of a set, with their images, as a separate set."""
    part = [items.by_id[item_id] for item_id in item_ids]
    copy_media(part, items.media, MediaFolder(out / "media"))
    recipe = {"about": items.card.content_hash, "items": list(item_ids)}
    return write_itemset(out, part, source="third reviewer", recipe=recipe)


# Keys


def key_checks(examination: Examination) -> list[KeyCheck]:
    """The answers of people to items with a key; those that cannot be read are left out."""
    items, suite = examination.items.by_id, examination.suite
    checks = (key_check(items[response.item_id], response, suite) for response in examination.responses)
    return [check for check in checks if check.answer is not None and check.agrees is not None]


def agreement_lines(checks: Sequence[KeyCheck], items: ItemSet) -> Iterator[str]:
    """A line on each task and on all, with a 95 % interval by cluster, then one on each disagreement with its image."""
    tasks = list(dict.fromkeys(check.item.task for check in checks))
    for name in (*tasks, "all") if len(tasks) > 1 else tasks:
        of_task = [check for check in checks if name in (check.item.task, "all")]
        hits = np.array([check.agrees for check in of_task], float)
        low, high = cluster_wilson(hits, [check.item.cluster_id for check in of_task])
        interval = "" if math.isnan(low) else f" ({100 * hits.mean():.0f} % [{100 * low:.0f}, {100 * high:.0f}])"
        yield f"{name}: {int(hits.sum())} of {len(hits)} answers agree with the key{interval}"
    for check in checks:
        if not check.agrees:
            image = next((str(items.media.find(media)) for media in check.item.media()), "no image")
            answer, key = (answer_words(check.item, answer) for answer in (check.answer, check.item.answer))
            yield f"{foreign(check.item.item_id, 80)}: {check.person} answered {answer!r}, the key is {key!r}; {image}"
