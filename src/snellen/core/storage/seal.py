"""Seals: a secret seed that is committed to before an exam and published after it.

A seal is a JSON file for its owner. Its commitment, a salted hash, is published before anybody is examined. The item
set built from it names the commitment in place of the seed. `revealed.json`, the same content beside a set or a run,
publishes the rest.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical, digest
from snellen.core.item import Item
from snellen.core.storage import files
from snellen.core.storage.item_rows import JSON_FIELDS, changed
from snellen.core.storage.itemset import CONCEALMENT, ItemSet
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.system_calls import UNFOLLOWED, lock

SEED_BITS, SALT_BYTES = 128, 32
"""Lengths of the secret seed and of the salt: neither can be found by trying all."""
SEALED = "sealed"
"""Key of the commitment in the recipe of a sealed set, where other sets have `seed`."""


class FixedOptions(BaseModel):
    """The options of a build (`core.build_options.BuildOptions`) that decide about its items, besides the seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int | None
    tasks: tuple[str, ...]
    size: tuple[int, int] | None
    renderer: str
    quality: str
    balance: Literal["paper", "answers"] | None
    settings: dict[str, str]


class SealParameters(FixedOptions):
    """The options that a seal fixes, in addition to the seed."""

    full: bool
    allow_unmatched: bool


class Seal(Card):
    """What a sealed set was made from. `seed` is a decimal number as text.

    `commitment` is the SHA-256 of the canonical JSON of all other fields but the schema version, which `salt` protects
    from guesses.
    """

    file = "revealed.json"

    suite: str
    version: str
    recipe: str
    parameters: SealParameters
    seed: str = Field(pattern=r"^\d{1,40}$")
    salt: str = Field(pattern=r"^[0-9a-f]{64}$")
    commitment: str = Field(pattern=r"^[0-9a-f]{64}$")


def new_seal(suite: str, version: str, recipe: str, parameters: SealParameters) -> Seal:
    """A seal of these parameters with a new seed and salt from the operating system's secure source."""
    facts: dict[str, Any] = {
        "suite": suite,
        "version": version,
        "recipe": recipe,
        "parameters": parameters.model_dump(),
        "seed": str(secrets.randbits(SEED_BITS)),
        "salt": secrets.token_hex(SALT_BYTES),
    }
    return Seal(**facts, commitment=digest(facts))


def commitment_of(seal: Seal) -> str:
    """The commitment that follows from the other fields of a seal, 64 hexadecimal digits."""
    return digest(seal.model_dump(exclude={"schema_version", "commitment"}))


def write_secret(path: Path, seal: Seal) -> None:
    """Write a seal that only its owner can read, all or nothing.

    Raises SnellenError if the file exists: its seed would be lost. An empty file holds none, and is replaced.
    """
    files.remove_halves(path.parent, f"{glob.escape(path.name)}.*")
    with files.all_or_nothing(path, _cannot_write, rename=_rename) as half:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(half, flags, 0o600), "w", encoding="ascii") as file:
            file.write(_text(seal))


def _cannot_write(path: Path, error: OSError) -> SnellenError:
    if isinstance(error, FileExistsError):
        return SnellenError(f"{path}: exists already, and a seal is never overwritten; choose another --out")
    return files.cannot_write(path, error)


def _rename(half: Path, path: Path) -> None:
    """Give a file a name that no other file has. Raises FileExistsError."""
    try:
        os.link(half, path)
        half.unlink()
        return
    except OSError:  # there is such a file, or the file system has no hard links
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | UNFOLLOWED, 0o600)
    try:
        lock(descriptor, wait=True)  # two processes without hard links may find the same empty file
        status = os.fstat(descriptor)
        if status.st_size or not stat.S_ISREG(status.st_mode) or not os.path.samestat(status, path.stat()):
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        half.replace(path)
    finally:
        os.close(descriptor)


def read_seal(path: Path) -> Seal:
    """Read a seal, secret or revealed. Raises SnellenError if it is malformed, or its commitment does not follow."""
    if not path.is_file():
        raise SnellenError(f"{path}: no seal; make one with `snellen seal SUITE --out {path}`")
    seal = read_card_file(Seal, path, "no seal", "restore the file")
    if (expected := commitment_of(seal)) != seal.commitment:
        raise SnellenError(
            f"{path}: commitment {seal.commitment[:16]}… does not follow from its content, which gives "
            f"{expected[:16]}…; the seed, the salt or a parameter was changed: restore the file"
        )
    return seal


def read_revealed(root: Path) -> Seal | None:
    """The seal published in the folder of a set or a run; None if there is none. Raises SnellenError as `read_seal`."""
    path = root / Seal.file
    return read_seal(path) if path.is_file() else None


def write_revealed(root: Path, seal: Seal) -> Path:
    """Publish a seal in the folder of a set or a run; returns the file."""
    files.write_text(root / Seal.file, _text(seal))
    return root / Seal.file


def _text(seal: Seal) -> str:
    return seal.model_dump_json(indent=1) + "\n"


def concealed_recipe(recipe: Mapping[str, Any], seal: Seal) -> dict[str, Any]:
    """The recipe of a card with the commitment under `sealed` in place of the seed."""
    rest = {name: value for name, value in recipe.items() if name != "seed"}
    return {**_concealed(rest, seal), SEALED: seal.commitment}


def concealed_items(items: tuple[Item, ...], seal: Seal) -> tuple[Item, ...]:
    """The items with the commitment in place of the seed. Raises SnellenError for one that shows the seed elsewhere."""
    hidden = []
    for item in items:
        fields = {name: getattr(item, name) for name in JSON_FIELDS}
        holding = {name: _concealed(value, seal) for name, value in fields.items() if seal.seed in repr(value)}
        hidden.append(replace(item, **holding))
    forms = (seal.seed, f"{int(seal.seed):x}")
    for item in hidden:
        text = canonical([repr(item).lower()])
        if any(form in text for form in forms):
            raise SnellenError(f"{item.suite}: item {item.item_id!r} shows the seed; this recipe cannot be sealed")
    return tuple(hidden)


def conceal(build: Callable[[], ItemSet], seal: Seal) -> ItemSet:
    """Build a set that is written with the commitment in place of the seed, which reaches no file of it."""
    context = copy_context()
    context.run(CONCEALMENT.set, lambda items, recipe: (concealed_items(items, seal), concealed_recipe(recipe, seal)))
    return context.run(build)


def _concealed(value: Any, seal: Seal) -> Any:
    seed, hidden = int(seal.seed), f"{SEALED}:{seal.commitment}"
    return changed(value, lambda leaf: hidden if type(leaf) is int and leaf == seed else leaf)
