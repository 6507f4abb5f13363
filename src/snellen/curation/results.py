"""Answers to a curation step, from a subject's run or a review by people, checked against the set being built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from snellen.core.annotations import Annotations, read_annotations
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.response import Response, Role
from snellen.core.storage.itemset import ItemSet, read_same_itemset
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.runfolder import is_run, kind_by_name, read_run_card
from snellen.curation.panel import Panel, Vote
from snellen.curation.review import read_review, reviewed_items
from snellen.scoring.answers import read_answer

DECISION = "decision"
"""The task in which people choose among words, in place of the step's task for models."""
WITH_REASON = "with_reason"
"""Key of an item's provenance: the words whose reason is part of the decision (`mend` and the new instruction)."""


@dataclass(frozen=True)
class StepResult:
    """One author's answers to the items of a step, by item id: a subject's responses, or people's decisions.

    `role` is that of the author, as on a subject's card.
    """

    author: str
    items: ItemSet
    responses: Mapping[str, Response] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)
    role: Role = "model"

    def text(self, item: Item) -> str | None:
        """The answer as text; None if the call failed, was declined or returned nothing."""
        if item.item_id in self.decisions:
            return self.decisions[item.item_id]
        response = self.responses.get(item.item_id)
        return (response.text or None) if response and response.status == "ok" else None

    def answer(self, item: Item) -> Any | None:
        """The answer in the item's own terms; None also if it is unreadable."""
        if (text := self.text(item)) is None or item.item_id in self.decisions:
            return text
        return read_answer(text, self.responses[item.item_id].reply_spec)

    @cached_property
    def answers(self) -> Mapping[str, Any]:
        """All readable answers by item id."""
        answers = {item.item_id: self.answer(item) for item in self.items.items}
        return {item_id: answer for item_id, answer in answers.items() if answer is not None}

    @property
    def hash(self) -> str:
        """Digest of all readable answers."""
        return digest([self.author, dict(self.answers)])


def read_step_results(run: Path, itemset: Path | None = None) -> tuple[StepResult, ...]:
    """The answers of every subject of a finished run. Raises SnellenError if there is none, or its items changed.

    `run` may be the folder of an imported study with one run. `itemset` is the folder of its items, if they may have
    moved together with the run.
    """
    run = run_folder(run)
    card = read_run_card(run)
    items = read_same_itemset(itemset or Path(card.itemset), card.content_hash, f"{run} was run on")
    by_author: dict[str, dict[str, Response]] = {}
    for response in read_responses(run):
        by_author.setdefault(response.subject, {})[response.item_id] = response
    roles = {arm.subject: arm.role for arm in card.arms}
    return tuple(
        StepResult(author, items, of_author, role=roles.get(author, "model")) for author, of_author in by_author.items()
    )


def run_folder(path: Path) -> Path:
    """The run at this path, or the one run in the folder of an imported study. Raises SnellenError for none."""
    if is_run(path):
        return path
    inner = [folder for folder in sorted(path.glob("*")) if is_run(folder)]
    if len(inner) == 1:
        return inner[0]
    if inner:
        raise SnellenError(f"{path}: several runs here; give one of {', '.join(map(str, inner))}")
    raise SnellenError(f"{path}: no run here; ask a subject with `snellen run ITEMSET --subject … --out {path}`")


def read_step_result(path: Path, reviewed: ItemSet | None = None) -> StepResult:
    """The answers of the one subject of a run, the agreed answers of the people of a run, or the decisions of a CSV.

    Decisions are about the items of `reviewed`, or without it about those in the card that `snellen study decide`
    writes next to the CSV. Raises SnellenError if several subjects answered, or people disagree.
    """
    if path.suffix == ".csv":
        review = read_review(path, reviewed or reviewed_items(path))
        decisions = {item_id: row.decision for item_id, row in review.decisions.items()}
        is_by_people = all(kind_by_name(author).get("role") == "person" for author in review.author.split(", "))
        return StepResult(review.author, review.items, {}, decisions, "person" if is_by_people else "model")
    results = read_step_results(path)
    if results and all(result.role == "person" for result in results):
        result = _agreed(path, read_panel([path]), results)
        return result if reviewed is None else _about(path, result, reviewed)
    if len(results) != 1:
        names = ", ".join(result.author for result in results) or "no subject"
        raise SnellenError(f"{path}: {names} answered; run the items with exactly one --subject")
    return results[0]


def _about(path: Path, result: StepResult, reviewed: ItemSet) -> StepResult:
    """The result as decisions about the items of another set with the same ids."""
    if unknown := next((item.item_id for item in result.items.items if item.item_id not in reviewed.by_id), None):
        raise SnellenError(f"{path}: item {unknown!r} is not in {reviewed.root}")
    decisions = {item_id: str(answer) for item_id, answer in result.answers.items()}
    return StepResult(result.author, reviewed, {}, decisions, result.role)


# People


def read_panel(runs: Sequence[Path]) -> Panel:
    """The votes of all reviewers; runs after the first are those of third reviewers.

    Raises SnellenError if a later run has other items.
    """
    reviewers, *others = [read_step_results(run) for run in runs]
    if not reviewers:
        raise SnellenError(f"{runs[0]}: no one answered; import the review first")
    items, votes = reviewers[0].items, dict[str, tuple[Vote, ...]]()
    for run, results in zip(runs, (reviewers, *others), strict=True):
        reasons = {
            exchange.key: exchange.reply.reasoning for exchange in read_exchanges(run_folder(run)) if exchange.reply
        }
        for result in results:
            for vote_item, vote in _votes(result, reasons):
                if items.by_id.get(vote_item.item_id) != vote_item:
                    raise SnellenError(
                        f"{run}: item {vote_item.item_id!r} is not in {items.root}; give runs on that set"
                    )
                votes[vote_item.item_id] = (*votes.get(vote_item.item_id, ()), vote)
    third = dict.fromkeys(result.author for results in others for result in results)
    several = any(arm.attributes.get("reviewers", "1") != "1" for arm in read_run_card(run_folder(runs[0])).arms)
    return Panel(items, tuple(result.author for result in reviewers), votes, tuple(third), quorum=1 + several)


def _votes(result: StepResult, reasons: Mapping[str, str]) -> Iterator[tuple[Item, Vote]]:
    for item in result.items.items:
        if (answer := result.answer(item)) is None:
            continue
        reason = " ".join(reasons.get(call, "").strip() for call in result.responses[item.item_id].calls)
        decision = f"{answer}:{reason}" if answer in item.provenance.get(WITH_REASON, ()) and reason else str(answer)
        yield item, Vote(result.author, decision, reason)


def _agreed(path: Path, panel: Panel, step_results: Sequence[StepResult]) -> StepResult:
    """The agreed result: the reply of the first who agrees, or the decision if a reason is part of it."""
    if undecided := panel.undecided:
        raise SnellenError(
            f"{path}: {len(undecided)} of {panel.items.card.items} items have no decision (first {undecided[0]!r}); "
            f"`snellen study decide {path} --out decisions.csv --third DIR` makes a study of them for a third reviewer"
        )
    by_author = {result.author: result.responses for result in step_results}
    responses, decisions = dict[str, Response](), dict[str, str]()
    for item in panel.items.items:
        vote = panel.supporters(item.item_id)[0]
        responses[item.item_id] = by_author[vote.author][item.item_id]
        if vote.decision.partition(":")[0] in item.provenance.get(WITH_REASON, ()):
            decisions[item.item_id] = vote.decision
    return StepResult(", ".join(panel.reviewers), panel.items, responses, decisions, "person")


def check_about(
    path: Path,
    result: StepResult,
    items: ItemSet,
    name: str,
    how_to: str = "build the step for this item set and run it",
    task: str = "",
) -> None:
    """Raise SnellenError unless the items answered in `path` were made for `items`; `task` restricts their task.

    Items about a finished set record it in their provenance (`steps.table_provenance`).
    """
    for item in result.items.items:
        if item.provenance.get("about") != items.card.content_hash or (task and item.task not in (task, DECISION)):
            raise SnellenError(f"{path}: was not made for {items.root}, so it has no {name} for it; {how_to}")


def read_table(name: str, path: Path, items: ItemSet) -> Annotations:
    """The annotation table `name` about `items`: from a run folder, a CSV review, or a Parquet file."""
    if path.is_dir():
        return make_table(name, path, read_step_result(path), items)
    return read_review(path, items).table(name) if path.suffix == ".csv" else read_annotations(path, items)


def make_table(name: str, path: Path, result: StepResult, items: ItemSet) -> Annotations:
    """The answers of a run in `path` as a table, by the item they are for and the image they are about.

    Step items record both in their provenance (`steps.table_provenance`). Failed and declined calls are errors: a table
    with gaps would silently change what is shown.
    """
    check_about(path, result, items, name)
    rows: dict[str, dict[str, Any]] = {}
    for item in result.items.items:
        if (text := result.text(item)) is None:
            why = result.responses[item.item_id].reason if item.item_id in result.responses else "never asked"
            raise SnellenError(f"{path}: no answer for {item.item_id} ({why or 'no text'}); run it again")
        for item_id in item.provenance["items"]:
            rows.setdefault(item_id, {})[str(item.provenance["image"])] = text
    return Annotations(name, result.author, items.card.content_hash, rows)


def read_tables(paths: Mapping[str, Path], items: ItemSet) -> dict[str, Annotations]:
    """All tables about `items` by name."""
    return {name: read_table(name, path, items) for name, path in paths.items()}


def construction_subjects(results: Mapping[str, StepResult]) -> list[str]:
    """The subjects that helped to build a set; reports flag a subject that is examined on such a set."""
    return sorted({author for result in results.values() for author in result.author.split(", ")})
