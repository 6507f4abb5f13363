"""Runs: asking subjects about an opened item set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snellen.core.options import taking
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import BLIND_KEY, BlindCard, BlindScore
from snellen.core.subject import Subject
from snellen.exam.examination import Examination
from snellen.exam.session import AskingOptions, Session, names_of
from snellen.suites import suite_of


@taking(AskingOptions)
def run(items: ItemSet, subjects: Sequence[str | Subject], options: AskingOptions) -> Examination:
    """Ask subjects about items, resuming the run in `out`, and score `strict` (`Session.examine`)."""
    folder = None if options.out is None else Path(options.out)
    return Session(items, tuple(subjects), options, folder, names_of(subjects)).examine()


def blind_subject(
    items: ItemSet, card: BlindCard, subject: str | Subject, root: Path, *, show_progress: bool = True
) -> BlindCard:
    """The blind scores of a card, or the subject's scores without images (`images=none`) where they are better."""
    from snellen.analysis.units import metric_of

    suite = suite_of(items)
    rows = run(items, [subject], root, conditions=["images=none"], show_progress=show_progress).all_results()
    scores: dict[tuple[str, ...], BlindScore] = {score.key: score for score in card.scores}
    for row in rows[rows["value"].notna()].to_dict("records"):
        task, protocol, metric_name, *_ = key = tuple(str(row[name]) for name in BLIND_KEY)
        metric = metric_of(suite.tasks[task].protocols[protocol], metric_name)
        if key in scores and metric.sign * row["value"] > metric.sign * scores[key].value:
            update = {"value": round(row["value"], 4), "n": row["n"], "attack": row["subject"]}
            scores[key] = scores[key].model_copy(update=update)
    name = subject if isinstance(subject, str) else subject.card.name
    method = f"{card.method}; {name} without images"
    return card.model_copy(update={"method": method, "scores": tuple(scores.values())})
