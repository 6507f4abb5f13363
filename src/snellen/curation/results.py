"""What was answered in a step, by a subject in a run or by people in a review, and whether it fits what is built."""

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
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, read_same_itemset
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import is_run, read_responses, read_run_card
from snellen.core.subject import is_person
from snellen.curation.panel import Panel, Vote
from snellen.curation.review import read_review, reviewed_items
from snellen.remote import fetched
from snellen.scoring.answers import read_answer

DECISION = "decision"
"""The task in which people choose among words; it stands for whatever else a step asks a model."""
WITH_REASON = "with_reason"
"""Key of an item's provenance: the words whose reason belongs to the decision (`mend` and the new instruction)."""


@dataclass(frozen=True)
class StepResult:
    """What one author said to the items of a step, by item id: a subject by its responses, people by decisions."""

    author: str
    items: ItemSet
    responses: Mapping[str, Response] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)

    def text(self, item: Item) -> str | None:
        """What was answered; None where the call failed, was declined or said nothing."""
        if item.item_id in self.decisions:
            return self.decisions[item.item_id]
        response = self.responses.get(item.item_id)
        return (response.text or None) if response and response.status == "ok" else None

    def answer(self, item: Item) -> Any | None:
        """What was answered, in the item's own terms; None also where it cannot be read."""
        if (text := self.text(item)) is None or item.item_id in self.decisions:
            return text
        return read_answer(text, self.responses[item.item_id].reply_spec)

    @cached_property
    def answers(self) -> Mapping[str, Any]:
        """Every answer that can be read, by item id."""
        answers = {item.item_id: self.answer(item) for item in self.items.items}
        return {item_id: answer for item_id, answer in answers.items() if answer is not None}

    @property
    def hash(self) -> str:
        """Digest of everything that was said and can be read."""
        return digest([self.author, dict(self.answers)])


def read_step_results(run: Path, itemset: Path | None = None) -> tuple[StepResult, ...]:
    """The answers of every subject of a finished run. Raises SnellenError where there is none, or its items changed.

    `run` may be the folder of an imported study that holds one run. `itemset` says where its items lie, where they are
    kept beside it and may have moved along.
    """
    run = run_folder(run)
    card = read_run_card(run)
    items = read_same_itemset(itemset or fetched(card.itemset), card.content_hash, f"{run} was run on")
    by_author: dict[str, dict[str, Response]] = {}
    for response in read_responses(run):
        by_author.setdefault(response.subject, {})[response.item_id] = response
    return tuple(StepResult(author, items, responses) for author, responses in by_author.items())


def run_folder(path: Path) -> Path:
    """The run that lies here, or the one run in the folder of an imported study. Raises SnellenError for none."""
    if is_run(path):
        return path
    inner = [folder for folder in sorted(path.glob("*")) if is_run(folder)]
    if len(inner) == 1:
        return inner[0]
    if inner:
        raise SnellenError(f"{path}: several runs lie here; give one of {', '.join(map(str, inner))}")
    raise SnellenError(f"{path}: no run here; ask a subject with `snellen run ITEMSET --subject … --out {path}`")


def read_step_result(path: Path, reviewed: ItemSet | None = None) -> StepResult:
    """The answers of the one subject of a run, what the people of a run agree on, or the decisions of a CSV.

    Decisions are about the items of `reviewed`; without it about those that `snellen study decide` names beside the
    CSV. Raises SnellenError where several subjects answered, or people disagree.
    """
    if path.suffix == ".csv":
        review = read_review(path, reviewed or reviewed_items(path))
        decisions = {item_id: row.decision for item_id, row in review.decisions.items()}
        return StepResult(review.author, review.items, decisions=decisions)
    results = read_step_results(path)
    if results and all(is_person(result.author) for result in results):
        result = _agreed(path, read_panel([path]), results)
        return result if reviewed is None else _about(path, result, reviewed)
    if len(results) != 1:
        names = ", ".join(result.author for result in results) or "nobody"
        raise SnellenError(f"{path}: {names} answered, one subject is wanted; run the items with one --subject")
    return results[0]


def _about(path: Path, result: StepResult, reviewed: ItemSet) -> StepResult:
    """Decisions about the items of another set, by the same ids."""
    if unknown := next((item.item_id for item in result.items.items if item.item_id not in reviewed.by_id), None):
        raise SnellenError(f"{path}: item {unknown!r} is not in {reviewed.root}")
    decisions = {item_id: str(answer) for item_id, answer in result.answers.items()}
    return StepResult(result.author, reviewed, decisions=decisions)


# People


def read_panel(runs: Sequence[Path]) -> Panel:
    """The votes of everybody who answered a review; runs after the first are those of third reviewers.

    Raises SnellenError where a later run is about other items.
    """
    reviewers, *others = [read_step_results(run) for run in runs]
    if not reviewers:
        raise SnellenError(f"{runs[0]}: nobody answered; import the review first")
    items, votes = reviewers[0].items, dict[str, tuple[Vote, ...]]()
    for run, results in zip(runs, (reviewers, *others), strict=True):
        reasons = {
            exchange.key: exchange.reply.reasoning for exchange in read_exchanges(run_folder(run)) if exchange.reply
        }
        for result in results:
            for vote_item, vote in _votes(result, reasons):
                if items.by_id.get(vote_item.item_id) != vote_item:
                    raise SnellenError(f"{run}: item {vote_item.item_id!r} is none of {items.root}; give its own runs")
                votes[vote_item.item_id] = (*votes.get(vote_item.item_id, ()), vote)
    third = dict.fromkeys(result.author for results in others for result in results)
    return Panel(items, tuple(result.author for result in reviewers), votes, tuple(third))


def _votes(result: StepResult, reasons: Mapping[str, str]) -> Iterator[tuple[Item, Vote]]:
    for item in result.items.items:
        if (answer := result.answer(item)) is None:
            continue
        reason = " ".join(reasons.get(call, "").strip() for call in result.responses[item.item_id].calls)
        decision = f"{answer}:{reason}" if answer in item.provenance.get(WITH_REASON, ()) and reason else str(answer)
        yield item, Vote(result.author, decision, reason)


def _agreed(path: Path, panel: Panel, step_results: Sequence[StepResult]) -> StepResult:
    """One result of what people agree on: the reply of the first of them, or the words where a reason belongs to it."""
    if undecided := panel.undecided:
        raise SnellenError(
            f"{path}: {len(undecided)} of {panel.items.card.items} items have no decision (first {undecided[0]!r}); "
            f"`snellen study decide {path} --out decisions.csv --third DIR` makes a third reviewer's study of them"
        )
    by_author = {result.author: result.responses for result in step_results}
    responses, decisions = dict[str, Response](), dict[str, str]()
    for item in panel.items.items:
        vote = panel.supporters(item.item_id)[0]
        responses[item.item_id] = by_author[vote.author][item.item_id]
        if vote.decision.partition(":")[0] in item.provenance.get(WITH_REASON, ()):
            decisions[item.item_id] = vote.decision
    return StepResult(", ".join(panel.reviewers), panel.items, responses, decisions)


def check_about(
    path: Path,
    result: StepResult,
    items: ItemSet,
    name: str,
    how_to: str = "build the work for this item set and run it",
    task: str = "",
) -> None:
    """Raise SnellenError unless the items answered in `path` were made about `items`, of `task` if given, or decisions.

    Items about a finished set say so in their provenance (`steps.table_provenance`).
    """
    for item in result.items.items:
        if item.provenance.get("about") != items.card.content_hash or (task and item.task not in (task, DECISION)):
            raise SnellenError(f"{path}: was not made for {items.root}, so that it holds no {name} of it; {how_to}")


def read_table(name: str, path: Path, items: ItemSet) -> Annotations:
    """The annotation table `name` about `items`: from a run folder, a CSV review, or a Parquet file."""
    if path.is_dir():
        return make_table(name, path, read_step_result(path), items)
    return read_review(path, items).table(name) if path.suffix == ".csv" else read_annotations(path, items)


def make_table(name: str, path: Path, result: StepResult, items: ItemSet) -> Annotations:
    """The answers of a run in `path` as a table: by the item they are for and the image they are about.

    Step items keep both in their provenance (`steps.table_provenance`). What failed or was declined is an error: a
    table with holes would change what is shown without a word.
    """
    check_about(path, result, items, name)
    rows: dict[str, dict[str, Any]] = {}
    for item in result.items.items:
        if (text := result.text(item)) is None:
            why = result.responses[item.item_id].reason if item.item_id in result.responses else "never asked"
            raise SnellenError(f"{path}: nothing was answered for {item.item_id} ({why or 'no text'}); run it again")
        for item_id in item.provenance["items"]:
            rows.setdefault(item_id, {})[str(item.provenance["image"])] = text
    return Annotations(name, result.author, items.card.content_hash, rows)


def read_tables(paths: Mapping[str, Path], items: ItemSet) -> dict[str, Annotations]:
    """Every table about `items`, by name."""
    return {name: read_table(name, path, items) for name, path in paths.items()}


def construction_subjects(results: Mapping[str, StepResult]) -> list[str]:
    """Who helped to build a set: reports flag a subject that is examined on what it helped to build."""
    return sorted({author for result in results.values() for author in result.author.split(", ")})
