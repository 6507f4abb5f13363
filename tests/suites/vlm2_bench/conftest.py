from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.storage.itemset import ItemSet
from tests.helpers.sets import small_set


@pytest.fixture(scope="session")
def small(sets_folder: Path) -> ItemSet:
    """A generated set of five items per task, rendered flat."""
    return small_set("vlm2-bench", sets_folder)
