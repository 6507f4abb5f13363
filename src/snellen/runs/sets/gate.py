"""Opening item sets with all checks: their rows, their media, and the tasks of their suite."""

from __future__ import annotations

from pathlib import Path

from snellen.core.storage.itemset import ItemSet, read_itemset, read_same_itemset
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.suite import Suite, check_items
from snellen.runs.scores.unread import with_judged_reading
from snellen.stimuli.video import video_fault
from snellen.suites import SUITES, suite_of


def open_items(root: Path, *, remember: bool = True) -> ItemSet:
    """The item set in a folder, fully checked. `remember=False` reads every byte again.

    Raises SnellenError naming the row.
    """
    items = read_itemset(root, remember=remember, video_fault=video_fault)
    check_items(items, SUITES.get(items.card.suite))
    return items


def open_run_items(root: Path) -> tuple[RunCard, ItemSet, Suite]:
    """The card of a run, its checked item set, and its suite with the protocol `judged-reading`.

    Raises SnellenError if the set is not the one asked.
    """
    card = read_run_card(root)
    items = open_asked_items(root, card, SUITES.get(card.suite))
    return card, items, with_judged_reading(suite_of(items))


def open_asked_items(root: Path, card: RunCard, suite: Suite) -> ItemSet:
    """The checked item set of a run. Raises SnellenError if it is gone or another one."""
    items = read_same_itemset(Path(card.itemset), card.content_hash, f"{root} was run on", video_fault=video_fault)
    check_items(items, suite)
    return items
