"""The whole gate of item sets: form and meaning of their rows, their media, their suite's tasks."""

from __future__ import annotations

from pathlib import Path

from snellen.core.storage.itemset import ItemSet, read_itemset, read_same_itemset
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.suite import Suite, check_items
from snellen.remote import fetched
from snellen.runs.unread import with_judged_reading
from snellen.stimuli.video import video_fault
from snellen.suites import SUITES


def open_items(root: Path, *, remember: bool = True) -> ItemSet:
    """The item set in a folder, through the whole gate.

    `remember=False` reads every byte again. Raises SnellenError that names the row.
    """
    items = read_itemset(root, remember=remember, video_fault=video_fault)
    check_items(items, SUITES.get(items.card.suite))
    return items


def open_run_items(root: Path) -> tuple[RunCard, ItemSet, Suite]:
    """The card of a run, its item set through the gate, and its suite, which knows the protocol `judged-reading`.

    Raises SnellenError where the set is not the one asked.
    """
    card = read_run_card(root)
    return card, open_asked_items(root, card, suite := SUITES.get(card.suite)), with_judged_reading(suite)


def open_asked_items(root: Path, card: RunCard, suite: Suite) -> ItemSet:
    """The item set that a run was asked about, through the gate. Raises SnellenError where it is gone or another."""
    items = read_same_itemset(fetched(card.itemset), card.content_hash, f"{root} was run on", video_fault=video_fault)
    check_items(items, suite)
    return items
