"""A study folder: `study.json` (private), `bundle/` (for participants), and the results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, read_same_itemset
from snellen.core.storage.schemas import Card, fault_of, read_card_file
from snellen.core.storage.user_files import MAX_CARD_BYTES, read_text
from snellen.web.design import StudyDesign
from snellen.web.plan import Entry, Frozen, StudyPlan

STUDY, BUNDLE, PLAN, SCRIPT, RESULTS = "study.json", "bundle", "plan.json", "plan.js", "results.sqlite"
MAX_TOTAL_BYTES = 400_000_000
"""Of all results of a study that are read at once: a row with many answers takes 18 times as much in memory."""
INDEX = "index.html"
"""The page itself, which is made for each transport and so not among these files."""
FOLDERS = ("media", "page", "vendor")
LICENCE = "LICENSE"
MEDIA_TYPES = {
    "": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Media types by suffix; licences have none."""
FORGOTTEN = "forgotten.json"
"""Digests of the starts and codes of people who were removed, so that no other file brings them back."""
LOCK = ".people.lock"
"""Held by whoever imports or removes people."""
PROLIFIC = "PROLIFIC_PID"
PARAMETERS = (PROLIFIC, "STUDY_ID", "SESSION_ID")
"""Address parameters that are recorded, in addition to those of the design."""
SuiteName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,80}$")]
"""The name of a suite, which is also that of a folder of imported results: it leads out of none."""


class ItemSetPlace(Frozen):
    """An item set of a study: its path when the study was built, and the hash it must still have."""

    path: str
    content_hash: str


class PageSource(Frozen):
    """The source of a page: its block, the suite of its item set, the condition as written, and its items.

    `answers` are those of attention pages, whose text contains the right answer.
    """

    block: str
    suite: str = ""
    task: str = ""
    condition: str = "vanilla"
    item_ids: tuple[str, ...] = ()
    answers: dict[str, Entry] = Field(default_factory=dict)


class StudyCard(Card):
    """`study.json`: everything needed to turn results of a study into runs. It stays with the researcher."""

    file = STUDY

    name: str
    seed: int
    design: StudyDesign
    itemsets: dict[SuiteName, ItemSetPlace]
    plan_hash: str
    pages: dict[str, PageSource]
    versions: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> frozenset[str]:
        """The address parameters that are recorded: those of panels, and those that the design names."""
        return frozenset((*PARAMETERS, *self.design.parameters))


def read_study(root: Path) -> StudyCard:
    """The card of a study. Raises SnellenError if there is none."""
    path = root / STUDY
    if not path.is_file():
        raise SnellenError(f"{path}: not a study folder (no such file); create one with `snellen study build`")
    return read_card_file(StudyCard, path, "not a study of this version", "build it again")


def read_plan(root: Path) -> StudyPlan:
    """The plan of a study: the content shown to participants. Raises SnellenError if it is not that of `study.json`."""
    path, card = root / BUNDLE / PLAN, read_study(root)
    try:
        text, script = (read_text(root / BUNDLE / name, limit=MAX_CARD_BYTES, regular=True) for name in (PLAN, SCRIPT))
        plan = StudyPlan.model_validate_json(text)
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise SnellenError(f"{path}: not a readable plan ({fault_of(error)}); build the study again") from error
    if plan.plan_hash != card.plan_hash:
        raise SnellenError(f"{path}: not the plan that {root / STUDY} belongs to; build the study again")
    if plan_hash(plan) != plan.plan_hash or script != as_script(text):
        raise SnellenError(
            f"{root / BUNDLE}: plan.json or plan.js was changed after it was built; build the study again"
        )
    sources = {page_id: set(source.item_ids or source.answers) for page_id, source in card.pages.items()}
    if sources != {page_id: {question.item_id for question in page.questions} for page_id, page in plan.pages.items()}:
        raise SnellenError(f"{root / STUDY}: its pages are not those of {path}; build the study again")
    return plan


def plan_hash(plan: StudyPlan) -> str:
    """The hash of a plan's content, by which rows of results name it."""
    content = plan.model_copy(update={"plan_hash": ""}).model_dump(mode="json")
    if not plan.calibration:  # as in plans of earlier versions
        del content["calibration"]
    if not plan.texts.debriefing:
        del content["texts"]["debriefing"]
    return digest(content, 16)


def open_itemset(card: StudyCard, suite: str) -> ItemSet:
    """The item set of a study, by suite. Raises SnellenError if it is missing or was changed."""
    place = card.itemsets[suite]
    return read_same_itemset(Path(place.path), place.content_hash, f"the study {card.name} shows")


def forgotten(root: Path) -> set[str]:
    """The digests of all who were removed from a study."""
    path = root / FORGOTTEN
    try:
        return set(json.loads(read_text(path, limit=MAX_CARD_BYTES, regular=True))) if path.is_file() else set()
    except (OSError, ValueError, TypeError) as error:
        raise SnellenError(f"{path}: not readable ({error}); restore it, or nobody's removal is known") from error


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    files.write_text(path, text)
    path.chmod(0o600)


def write_card(root: Path, card: StudyCard) -> None:
    """Write `study.json`, which has the completion code."""
    write_private(root / STUDY, card.model_dump_json(indent=1))


def as_script(plan_json: str) -> str:
    """`plan.json` as the script `plan.js`, since a page opened from a file cannot fetch."""
    return f"window.snellenPlan = {plan_json};\n"


def bundle_files(bundle: Path) -> dict[str, Path]:
    """The public files of a bundle by path: the plan, and files of the media, page and vendor folders.

    Only file types that pages use and licences, without links and hidden files.
    """
    names = {name: bundle / name for name in (PLAN, SCRIPT)}
    for folder in FOLDERS:
        for root, folders, file_names in os.walk(bundle / folder, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths = [Path(root) / name for name in file_names if not name.startswith(".")]
            names |= {path.relative_to(bundle).as_posix(): path for path in paths}
    return {
        name: path
        for name, path in names.items()
        if path.is_file()
        and path.suffix in MEDIA_TYPES
        and (path.suffix or path.name == LICENCE)
        and path.resolve() == bundle.resolve() / name
    }
