"""Boxes of a run that are read in another unit than the one asked for, as the user decided.

The unit by subject is kept in `box_units.json` of the run, so that every later scoring uses it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from snellen.core.box_units import BOX_UNITS, FRACTIONS, in_unit
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.response import Response
from snellen.core.storage import files
from snellen.core.storage.runfolder import ArmCard
from snellen.core.storage.user_files import MAX_CARD_BYTES, MAX_CARD_VALUES, bounded_json, read_file

FILE = "box_units.json"
_UNITS = TypeAdapter(dict[str, str])


def read_box_units(root: Path) -> dict[str, str]:
    """The unit in which each subject's boxes are read, if it is not the one asked for. Raises SnellenError."""
    path = root / FILE
    if not path.is_file():
        return {}
    try:
        units = _UNITS.validate_json(bounded_json(read_file(path, MAX_CARD_BYTES), MAX_CARD_VALUES))
        return {subject: BOX_UNITS[unit].name for subject, unit in units.items()}
    except (KeyError, OSError, ValueError) as error:
        raise SnellenError(f"{path}: not a table of box units; remove it, and score the run again") from error


def set_box_unit(root: Path, unit: str, subjects: Sequence[str]) -> None:
    """Read these subjects' boxes in a unit from now on; `fractions` is the unit that was asked for.

    Raises SnellenError for an unknown unit.
    """
    if unit not in BOX_UNITS:
        raise SnellenError(f"--box-unit {unit!r}: {near(unit, BOX_UNITS)}")
    units = {**read_box_units(root), **dict.fromkeys(subjects, unit)}
    units = {subject: name for subject, name in units.items() if name != FRACTIONS}
    files.write_text(root / FILE, _UNITS.dump_json(units, indent=1).decode() + "\n")


def _max_px(arm: ArmCard) -> int | None:
    limit = arm.settings.get("max_px")
    return limit if isinstance(limit, int) and 0 < limit < 2**31 else None


def in_own_units(
    responses: Sequence[Response], units: Mapping[str, str], arms: Sequence[ArmCard]
) -> Sequence[Response]:
    """The responses, those of subjects with a unit with their boxes in it; pixels are those of the image as sent."""
    if not units:
        return responses
    max_px = {arm.subject: _max_px(arm) for arm in arms}

    def read(response: Response) -> Response:
        unit = units.get(response.subject, FRACTIONS)
        return replace(response, reply_spec=in_unit(response.reply_spec, unit, max_px.get(response.subject)))

    return [read(response) for response in responses]
