"""What the heads of a sweep have cost, stage by stage, from their cards.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.subjects.heads.files import CARD, HeadCard, is_head, read_head_card
from snellen.subjects.heads.stages import STAGES


def sweep_cards(root: Path) -> list[HeadCard]:
    """The cards of all heads of a sweep, and of the stages they stand on, each folder once.

    Raises SnellenError where there is none.
    """
    folders = dict.fromkeys(folder for path in sorted(root.glob(f"heads/*/*/{CARD}")) for folder in _stack(path.parent))
    if not folders:
        raise SnellenError(f"{root}: no heads there; name a folder that `snellen tower sweep` wrote")
    return [read_head_card(folder) for folder in folders]


def _stack(folder: Path) -> Iterator[Path]:
    """A head's folder and those of the stages before it, as far as they are still there."""
    while is_head(folder):
        yield folder.resolve()
        base = read_head_card(folder).base
        if not base:
            return
        folder = Path(base)


def hours_by_stage(root: Path) -> list[dict[str, object]]:
    """A row a stage that a sweep's heads went through: how many trainings, on what, and the hours of one device."""
    cards = sweep_cards(root)
    rows: list[dict[str, object]] = []
    for stage in STAGES:
        part = [card for card in cards if card.stage["name"] == stage]
        if part:
            rows.append(
                {
                    "sweep": str(root),
                    "language_model": part[0].language_model,
                    "stage": stage,
                    "trainings": len(part),
                    "device": " ".join(sorted({card.device for card in part})),
                    "device_hours": sum(card.device_hours for card in part),
                }
            )
    return rows
