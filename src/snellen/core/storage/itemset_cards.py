"""Cards of an item set: `itemset.json`, and its blind baseline `blind.json`; `docs/data-schema.md` describes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.schemas import Card, read_card_file


class Instalment(BaseModel):
    """An instalment of a set: its number of items, and the hashes of its rows, as on the card of a whole set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: int
    content_hash: str
    rows_hash: str
    test_hash: str = ""


class SetDeclaration(BaseModel):
    """What determines all instalments of a set before they are drawn: their number at most, and the recipe's options.

    `options` are those fields of `core.build_options.BuildOptions` that decide about the items, as plain data.
    `planned_looks` are the numbers of instalments after which scores are planned to be looked at, rising; empty without
    a plan.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    instalments: int = Field(alias="parts", ge=1, le=1000)
    options: dict[str, Any]
    planned_looks: tuple[int, ...] = ()

    @field_validator("planned_looks")
    @classmethod
    def _rising(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if list(counts) != sorted({*counts}) or min(counts, default=1) < 1:
            raise ValueError("planned looks are not rising numbers of instalments")
        return counts


class ItemSetCard(Card):
    """`itemset.json`. `recipe_hash` covers the recipe and its parameters, `rows_hash` everything it decided.

    `content_hash` covers the rows with the bytes of their media, and detects damage. Ray-traced images differ in
    individual pixels between machines, and so does the content hash; the other two do not. `test_hash` is the
    `rows_hash` of the test items alone, which a set without training items shares.

    Of a set in instalments, these three are the digest of the declaration, which stays when the set grows;
    `instalments` (on disk `parts`) have hashes of the rows drawn so far.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)
    file = "itemset.json"

    suite: str
    version: str
    source: str
    recipe: dict[str, Any]
    recipe_hash: str
    content_hash: str
    rows_hash: str = ""
    test_hash: str = ""
    items: int
    counts: dict[str, dict[str, int]]
    provenance: dict[str, Any] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    declaration: SetDeclaration | None = None
    instalments: tuple[Instalment, ...] = Field(default=(), alias="parts")

    @property
    def instalments_left(self) -> int:
        """The number of instalments that are not drawn yet; 0 unless the set is in instalments."""
        return self.declaration.instalments - len(self.instalments) if self.declaration else 0

    @property
    def declared_hash(self) -> str:
        """The digest of the declaration: no set in instalments can have the hashes of a whole one."""
        plan = self.declaration.model_dump(mode="json", exclude_defaults=True) if self.declaration else None
        return digest([self.suite, self.version, self.source, self.recipe, plan])


BLIND_KEY = ("task", "protocol", "metric", "factor", "level")
"""Columns of results that match a row to its blind score."""


class BlindScore(BaseModel):
    """The blind baseline of one row of results: the best attacker's score on `n` units that it was not fitted to.

    `value` and `chance` (None: not known) are in the units of the metric; `attack` names the attacker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    protocol: str
    metric: str
    factor: str = ""
    level: str = ""
    value: float
    chance: float | None
    n: int
    attack: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Task, protocol, metric, factor and level of the row of results."""
        return self.task, self.protocol, self.metric, self.factor, self.level


class FloorScore(BaseModel):
    """The score of a rule that sees nothing of what is asked (`analysis.grading.floors`), on `n` units of a task."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    protocol: str
    metric: str
    name: str
    value: float
    n: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Task, protocol, metric and name of the floor."""
        return self.task, self.protocol, self.metric, self.name


class BlindCard(Card):
    """`blind.json`: blind scores, further floors, and how they were measured.

    It is in the set's folder but not in its hashes.
    """

    file = "blind.json"

    method: str
    scores: tuple[BlindScore, ...] = ()
    floors: tuple[FloorScore, ...] = ()


def write_card(root: Path, card: ItemSetCard) -> None:
    """Write `itemset.json`, last of all files of a set or of its next instalment."""
    files.write_text(root / "itemset.json", card.model_dump_json(indent=1) + "\n")


def read_card(root: Path) -> ItemSetCard:
    """Read `itemset.json`. Raises SnellenError if it is missing or malformed."""
    path = root / "itemset.json"
    if not path.is_file():
        raise SnellenError(f"{root}: no item set (no itemset.json); build one with `snellen build SUITE --out {root}`")
    return read_card_file(ItemSetCard, path, "no card of an item set", "build the item set again")


def write_blind(root: Path, card: BlindCard) -> None:
    """Write `blind.json` into the folder of a set."""
    files.write_text(root / "blind.json", card.model_dump_json(indent=1) + "\n")


def read_blind(root: Path) -> BlindCard | None:
    """Read `blind.json`; None if there is none. Raises SnellenError if it is malformed."""
    path = root / "blind.json"
    if not path.is_file():
        return None
    return read_card_file(BlindCard, path, "no blind scores", f"measure again with `snellen blind-baseline {root}`")


def is_itemset(root: Path) -> bool:
    """True if the folder holds a finished item set."""
    return (root / "itemset.json").is_file()
