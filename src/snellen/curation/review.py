"""Reviews: people's decisions on the items of a set, in a CSV with columns item_id, decision, author, reason."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from snellen.core.annotations import Annotations
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, read_same_itemset
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.user_files import unfilled_rows

REVIEW_COLUMNS = ("item_id", "decision", "author", "reason")


class Decision(NamedTuple):
    """One row of a review."""

    decision: str
    author: str
    reason: str


@dataclass(frozen=True)
class Review:
    """The rows of a review by item id; `items` is the reviewed set."""

    path: Path
    items: ItemSet
    decisions: Mapping[str, Decision]

    @property
    def author(self) -> str:
        """The names of all reviewers."""
        return ", ".join(sorted({author for row in self.decisions.values() for author in row.author.split(", ")}))

    def table(self, name: str) -> Annotations:
        """The rows as an annotation table."""
        rows = {item_id: row._asdict() for item_id, row in self.decisions.items()}
        return Annotations(name, self.author, self.items.card.content_hash, rows)

    def keep_or_drop(self) -> dict[str, str]:
        """`keep` or `drop` by item id. Raises SnellenError for other words."""
        words = {item_id: row.decision.strip().casefold() for item_id, row in self.decisions.items()}
        for item_id, word in words.items():
            if word not in ("keep", "drop"):
                written = self.decisions[item_id].decision
                raise SnellenError(f"{self.path}: {item_id}: no decision {written!r}; write keep or drop")
        return words


def read_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file by column. Raises SnellenError if it cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            return [row for _, row in unfilled_rows(csv.DictReader(opened))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SnellenError(f"{path}: not a readable CSV file ({error})") from error


def read_review(path: Path, items: ItemSet) -> Review:
    """Read a review of `items`.

    Raises SnellenError, naming the line, for a missing column, an item decided twice, and an item not in the set.
    """
    decisions: dict[str, Decision] = {}
    for number, line in enumerate(read_lines(path), 2):
        if missing := [column for column in REVIEW_COLUMNS if line.get(column) is None]:
            raise SnellenError(f"{path} line {number}: no {missing[0]}; the columns are {', '.join(REVIEW_COLUMNS)}")
        if line["item_id"] in decisions:
            raise SnellenError(f"{path} line {number}: item {line['item_id']!r} is decided twice; keep one line")
        decisions[line["item_id"]] = Decision(line["decision"], line["author"], line["reason"])
    if unknown := next((item_id for item_id in decisions if item_id not in items.by_id), None):
        raise SnellenError(f"{path}: item {unknown!r} is not in {items.root}")
    return Review(path, items, decisions)


class DecisionCard(Card):
    """The card of a CSV of decisions, next to it with the ending `.json`: the items, the runs and their agreement.

    Agreement is that of the first reviewers, before a third was asked: percent (0 to 1), Fleiss' kappa, Krippendorff's
    alpha; None if undefined.
    """

    file = "decisions.json"

    itemset: str
    content_hash: str
    runs: list[str]
    reviewers: list[str]
    third: list[str] = Field(default_factory=list)
    items: int
    decided: int
    disputed: int
    percent: float | None = None
    fleiss_kappa: float | None = None
    krippendorff_alpha: float | None = None


def card_path(path: Path) -> Path:
    """The path of the card of a CSV of decisions."""
    return path.with_suffix(".json")


def reviewed_items(path: Path) -> ItemSet:
    """The items that a CSV of decisions is about. Raises SnellenError without a card, or if the items changed."""
    what, remedy = f"the items that {path.name} decides on are unknown", "`snellen study decide RUN --out FILE`"
    card = read_card_file(DecisionCard, card_path(path), what, f"write both with {remedy}")
    return read_same_itemset(Path(card.itemset), card.content_hash, f"{path} decides about")
