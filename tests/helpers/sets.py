"""Generated sets of every suite, built once for all tests and all their processes."""

from __future__ import annotations

import fcntl
from dataclasses import replace
from functools import cache
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.suite import Suite
from snellen.exam.items import build, find_recipe
from snellen.suites import SUITES

SEED, TEST_ITEMS = 3, 5
SMALL_BUILD = ("--from", "generated", "--renderer", "toy", "--size", "160x120", "--workers", 1)
"""Words of `snellen build` for a small set."""


def small_options(out: Path, seed: int = SEED, test_items: int = TEST_ITEMS) -> BuildOptions:
    """A small set of all tasks by the flat renderer."""
    return BuildOptions(out, seed=seed, n=test_items, quick=True, renderer="toy", show_progress=False)


@cache
def small_set(suite: str, folder: Path, *, seed: int = SEED, test_items: int = TEST_ITEMS) -> ItemSet:
    """A small set of the suite in `folder`; the first caller builds it, and others wait. Each process reads it once."""
    name = f"{suite}-{test_items}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_itemset(folder / name):
            build(SUITES.get(suite), "generated", small_options(folder / name, seed, test_items))
    return read_itemset(folder / name)


def undrawn_set(suite: Suite, folder: Path, *, seed: int, test_items: int, tasks: tuple[str, ...] = ()) -> ItemSet:
    """A generated set for subjects that read no pixels, without blind scores; built once.

    Images are blank, unless the suite reads truths off pixels.
    """
    name = f"{suite.name}-{test_items}-seed{seed}-undrawn"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_itemset(folder / name):
            options = replace(small_options(folder / name, seed, test_items), renderer=suite.blind_renderer)
            find_recipe(suite, "generated").build(replace(options, tasks=tasks))
    return read_itemset(folder / name, verify=False)
