"""One small set with toy images for the whole folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.storage.itemset import ItemSet
from tests.helpers.sets import small_set


@pytest.fixture(scope="session")
def toy(sets_folder: Path) -> ItemSet:
    """A set with 16 test items per task and small images."""
    return small_set("combo", sets_folder, seed=0, test_items=16)
