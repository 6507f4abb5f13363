"""One small set with toy pictures for the whole folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.itemset import ItemSet
from snellen.exam import build
from snellen.suites import SUITES
from tests.suites.combo.fixtures import options


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """16 test items a task, small pictures."""
    root: Path = tmp_path_factory.mktemp("combo") / "toy"
    return build(SUITES.get("combo"), "generated", options(root, n=16))
