from __future__ import annotations

import pytest

from snellen.core.itemset import ItemSet
from snellen.core.suite import BuildOptions
from snellen.exam import build
from snellen.suites import SUITES


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A generated set of five items a task, flatly drawn."""
    out = tmp_path_factory.mktemp("vlm2-small") / "items"
    return build(SUITES.get("vlm2-bench"), "generated", BuildOptions(out, n=5, renderer="toy", show_progress=False))
