"""The result of `snellen sight`: what of an image reaches a subject, with every question and reply."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pydantic import Field

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.home import home
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.trees import refuse_links
from snellen_sight.results import SightCall, SightLine, faults_of

FOLDER = "sight"
"""In a run's folder one file per subject, named by its fingerprint; in the home folder one per subject and address."""


class AddressedCard(Protocol):
    """The part of a subject's card that says which results are of it."""

    @property
    def address(self) -> str:
        """A digest of the server's address; empty for what has none."""

    def fingerprint(self) -> str:
        """The digest of name and settings."""


class SightCard(Card):
    """`sight.json`. `date` is in UTC; `scales` are (median, low, high) of the effective scale by canvas side in px.

    `box_unit` is the unit in which the model gives points without being asked for one (`core.box_units`), empty if that
    is unknown or no unit of ours. `address` is a digest of the server's address, empty for what has none.
    """

    file = "sight.json"

    subject: str
    fingerprint: str
    seed: int
    date: str
    lines: tuple[SightLine, ...]
    scales: dict[int, tuple[float, float, float]] = Field(default_factory=dict)
    calls: tuple[SightCall, ...] = ()
    box_unit: str = ""
    address: str = ""

    def faults(self) -> list[str]:
        """The texts of the checks that found a fault."""
        return faults_of(self.lines)

    def words(self) -> str:
        """The faults, or how many checks found none, with the checks that say nothing and the date.

        If no check says anything, the reason, with one of the replies.
        """
        unknown = [line.check for line in self.lines if line.verdict == "cannot tell"]
        if len(unknown) == len(self.lines):
            return f"nothing could be told: {self._reason()}; snellen sight, {self.date[:10]}"
        unchanged = f"{len(self.lines) - len(unknown)} of {len(self.lines)} checks found images unchanged"
        rest = f" (cannot tell: {', '.join(unknown)})" if unknown else ""
        return f"{'; '.join(self.faults()) or unchanged}{rest}; snellen sight, {self.date[:10]}"

    def _reason(self) -> str:
        """Why no check says anything."""
        replies = [call for call in self.calls if call.reply is not None]
        if not replies:
            return f"all calls failed ({len(self.calls)})" if self.calls else "nothing was asked"
        example = next((call for call in replies if call.reply != call.right), replies[0])
        question, reply = short_reason(example.question, 80), short_reason(example.reply or "", 80)
        return f"no explanation fits the replies ({len(replies)}); asked “{question}”, it replied “{reply}”"


def read_sight(path: Path) -> SightCard:
    """The result in a file, or in the `sight.json` of a folder. Raises SnellenError if it cannot be read."""
    file = path / SightCard.file if path.is_dir() else path
    if not file.is_file():
        raise SnellenError(f"{path}: no such file; `snellen sight SUBJECT --out {path}` writes it")
    return read_card_file(SightCard, file, "no result of snellen sight", "write it again with `snellen sight`")


def is_sight(path: Path) -> bool:
    """True for a result file of `snellen sight`, by its first fields, or a folder with one."""
    if path.suffix != ".json" or not path.is_file():
        return (path / SightCard.file).is_file()
    with path.open("rb") as file:
        return b'"fingerprint"' in file.read(2000)


def write_sight(path: Path, card: SightCard) -> None:
    """Write a result into a file."""
    files.write_text(path, card.model_dump_json(indent=1) + "\n")


def keep_sight(card: SightCard) -> None:
    """Keep a result in the home folder, from where runs of the subject copy it."""
    write_sight(_file_of(home(), card.fingerprint + card.address), card)


def latest_sight(card: AddressedCard) -> SightCard | None:
    """The latest result on a subject at its address on this machine, or None."""
    return sight_of(home(), card.fingerprint() + card.address)


def copy_sight(root: Path, cards: Iterable[AddressedCard], *, is_finished: bool = False) -> None:
    """Copy the latest results on these subjects into the folder of a run, as far as there are any.

    A run that `is_finished` keeps the results that it has.
    """
    for card in cards:
        latest, earlier = latest_sight(card), sight_of(root, card.fingerprint())
        if latest and latest != earlier and not (earlier and is_finished):
            refuse_links(root)
            write_sight(_file_of(root, card.fingerprint()), latest)


def sight_of(root: Path, fingerprint: str) -> SightCard | None:
    """The result on a subject in the folder of a run (or home), or None if there is none that can be read."""
    try:
        return read_sight(_file_of(root, fingerprint))
    except SnellenError:
        return None


def _file_of(root: Path, fingerprint: str) -> Path:
    return root / FOLDER / f"{digest(fingerprint, 12)}.json"
