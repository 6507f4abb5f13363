"""A small generated set, and the scenes that its build drew."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from snellen.core.storage.itemset import ItemSet
from snellen.suites.ava_bench.generated import recipe
from snellen.suites.ava_bench.scenes.display_scenes import Display
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table
from tests.helpers.sets import small_set

DRAWERS = ("draw_tables", "draw_displays")


class SetWithScenes(NamedTuple):
    items: ItemSet
    tables: list[Table]
    displays: list[Display]


@pytest.fixture(scope="session")
def set_with_scenes(sets_folder: Path) -> SetWithScenes:
    """Twelve test items per task. Scenes are slow to draw, so those that the build drew are stored with the set."""
    folder = sets_folder / "ava-bench-with-scenes"
    folder.mkdir(parents=True, exist_ok=True)
    scenes: dict[str, list[Table | Display]] = {}

    def keeping(name: str) -> Callable[..., list[tuple[str, Table | Display]]]:
        draw = getattr(recipe, name)

        def draw_and_keep(*arguments: object) -> list[tuple[str, Table | Display]]:
            images: list[tuple[str, Table | Display]] = draw(*arguments)
            scenes[name] = [scene for _, scene in images]
            return images

        return draw_and_keep

    scenes_file = folder / "scenes.pickle"
    with (folder / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in DRAWERS:
            patch.setattr(recipe, name, keeping(name))
        items = small_set("ava-bench", folder, seed=0, test_items=12)
        if not scenes_file.exists():
            scenes_file.write_bytes(pickle.dumps([scenes[name] for name in DRAWERS]))
        tables, displays = pickle.loads(scenes_file.read_bytes())
    return SetWithScenes(items, tables, displays)


@pytest.fixture(scope="session")
def built(set_with_scenes: SetWithScenes) -> ItemSet:
    return set_with_scenes.items


@pytest.fixture(scope="session")
def drawn_tables(set_with_scenes: SetWithScenes) -> list[Table]:
    return set_with_scenes.tables


@pytest.fixture(scope="session")
def drawn_displays(set_with_scenes: SetWithScenes) -> list[Display]:
    return set_with_scenes.displays
