"""The digest of a finished run, to be published: whoever has it can tell whether the run was changed since.

`digest.json` in the run's folder lists what the digest covers, so that the file that was changed can be named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.item_rows import digest_of_rows
from snellen.core.storage.parts import part_files
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.trees import odd_file, tree_digest
from snellen.core.storage.user_files import MAX_CARD_BYTES, MAX_CARD_VALUES, bounded_json, file_mark, read_file

TABLES = ("exchanges.parquet", "responses.parquet", "sent.parquet", "box_units.json", "judgements")
"""Files and folders of a run that the digest covers byte by byte, in addition to the parts."""
SCORES = "scores.strict.parquet"
CARD, ADDRESS = "run.json", "itemset"
"""The card of a run, and its only field that the digest leaves out: the folder of the items, which may move."""
ITEM_CARDS = ("itemset.json", "blind.json")
GROWING = frozenset({"parts", "items", "counts"})
"""Fields of a card that change when a set in parts grows."""
PART = "items/part "
"""Beginning of the names of the parts of a set; it may have more of them than when the digest was made."""


class RunDigest(Card):
    """`digest.json`: the time in UTC when it was first made, and a digest of each part of the run by name.

    Names of the item set's files begin with `items/`. Scores are covered by content, so that scoring again changes
    nothing.
    """

    file = "digest.json"

    date: str
    parts: dict[str, str] = Field(default_factory=dict)

    @property
    def total(self) -> str:
        """The digest to be published, 64 hexadecimal digits."""
        return digest(self.model_dump(mode="json"))


def write_digest(root: Path, items_root: Path) -> RunDigest:
    """The digest of a run about the items in a folder, which is written unless the one there still holds."""
    parts = dict(_parts(root, items_root))
    if (root / RunDigest.file).is_file() and _changed_part(earlier := read_digest(root), parts) is None:
        return earlier
    current = RunDigest(date=datetime.now(UTC).isoformat(timespec="seconds"), parts=parts)
    files.write_text(root / RunDigest.file, current.model_dump_json(indent=1) + "\n")
    return current


def read_digest(root: Path) -> RunDigest:
    """Read `digest.json`. Raises SnellenError if it is missing or malformed."""
    path = root / RunDigest.file
    if not path.is_file():
        raise SnellenError(f"{root}: has no {RunDigest.file}, which `snellen run` writes at its end; restore it")
    return read_card_file(RunDigest, path, "no digest of a run", "restore it")


def check_digest(root: Path, items_root: Path, expected: str) -> None:
    """Raise SnellenError, naming the file, if a run is not as it was when the expected digest was made."""
    listed, parts = read_digest(root), dict(_parts(root, items_root))
    changed = _changed_part(listed, parts)
    if changed is not None:
        file = items_root / changed.removeprefix("items/") if changed.startswith("items/") else root / changed
        raise SnellenError(f"{file}: changed, added or removed since the digest of {listed.date}; restore the file")
    if listed.total != expected.strip().lower():
        raise SnellenError(
            f"{root / RunDigest.file}: gives digest {listed.total}, not the published {expected}; the date or the "
            f"whole list was changed, or the run is another one"
        )


def _changed_part(listed: RunDigest, parts: dict[str, str]) -> str | None:
    """The first part of a run that was changed, added or removed since its digest; None if there is none."""
    names = [name for name in sorted(listed.parts | parts) if name in listed.parts or not name.startswith(PART)]
    return next((name for name in names if listed.parts.get(name) != parts.get(name)), None)


def _parts(root: Path, items_root: Path) -> Iterator[tuple[str, str]]:
    yield CARD, digest({name: value for name, value in _json(root / CARD).items() if name != ADDRESS})
    for path in (*part_files(root), *(root / name for name in TABLES if (root / name).exists())):
        if odd := odd_file(path):
            raise SnellenError(f"{odd}: not a regular file below 2 GB; a digest covers no others: remove it")
        yield path.relative_to(root).as_posix(), tree_digest(path) if path.parent == root else file_mark(path)
    if (root / SCORES).is_file():
        table = files.read_table(root / SCORES)
        try:
            yield SCORES, digest_of_rows(files.rows_of(table))
        except (OverflowError, TypeError, ValueError) as error:  # times of any kind
            raise SnellenError(f"{root / SCORES}: has cells of a type that scores do not have; restore it") from error
    for name in ITEM_CARDS:
        if (items_root / name).is_file():
            card = _json(items_root / name)
            parts = card.get("parts") if card.get("declaration") else None
            steady = {field: value for field, value in card.items() if parts is None or field not in GROWING}
            yield f"items/{name}", digest(steady)
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                yield f"{PART}{number}", digest(part)


def _json(path: Path) -> dict[str, object]:
    try:
        cells = json.loads(bounded_json(read_file(path, MAX_CARD_BYTES), MAX_CARD_VALUES))
    except (OSError, ValueError, RecursionError) as error:
        raise SnellenError(f"{path}: cannot be read as JSON ({error}); restore the file") from error
    return cells if isinstance(cells, dict) else {"": cells}
