"""A study folder: `study.json` (private), `bundle/` (for participants), and where results come to lie."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, read_same_itemset
from snellen.core.storage.schemas import Card, parse_card
from snellen.web.design import StudyDesign
from snellen.web.plan import Entry, StudyPlan

STUDY, BUNDLE, PLAN, RESULTS = "study.json", "bundle", "plan.json", "results.sqlite"


class ItemSetPlace(BaseModel):
    """An item set of a study: where it lay when the study was built, and the hash it must still have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    content_hash: str


class PageSource(BaseModel):
    """What a page was made of: its block, the suite of its item set, the condition as written, and its items.

    `answers` are those of attention pages, whose right answer stands in their own text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    block: str
    suite: str = ""
    task: str = ""
    condition: str = "vanilla"
    item_ids: tuple[str, ...] = ()
    answers: dict[str, Entry] = {}


class StudyCard(Card):
    """`study.json`: everything that makes results of a study into runs. It stays with whoever leads the study."""

    file = STUDY

    name: str
    seed: int
    design: StudyDesign
    itemsets: dict[str, ItemSetPlace]
    plan_hash: str
    pages: dict[str, PageSource]
    versions: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_study(root: Path) -> StudyCard:
    """The card of a study. Raises SnellenError where there is none."""
    path = root / STUDY
    try:
        return parse_card(StudyCard, path, path.read_text("utf-8"))
    except OSError as error:
        raise SnellenError(f"{path}: no study here ({error.strerror}); build one by `snellen study build`") from error
    except ValidationError as error:
        raise SnellenError(
            f"{path}: not a study of this version ({error.errors()[0]['msg']}); build it again"
        ) from error


def read_plan(root: Path) -> StudyPlan:
    """What participants of a study are shown. Raises SnellenError where it is not the plan of `study.json`."""
    path, card = root / BUNDLE / PLAN, read_study(root)
    try:
        plan = StudyPlan.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValidationError) as error:
        raise SnellenError(f"{path}: not a readable plan ({error}); build the study again") from error
    if plan.plan_hash != card.plan_hash:
        raise SnellenError(f"{path}: not the plan that {root / STUDY} belongs to; build the study again")
    return plan


def open_itemset(card: StudyCard, suite: str) -> ItemSet:
    """The item set of a study, by suite. Raises SnellenError where it is gone or was altered."""
    place = card.itemsets[suite]
    return read_same_itemset(Path(place.path), place.content_hash, f"the study {card.name} shows")


def write_card(root: Path, card: StudyCard) -> None:
    """Write `study.json`."""
    files.write_text(root / STUDY, card.model_dump_json(indent=1))


def as_script(plan_json: str) -> str:
    """`plan.json` as the script `plan.js`, since a page opened from a file may not fetch."""
    return f"window.snellenPlan = {plan_json};\n"
