"""A Chromium of the system for tests of pages; where there is none, they are skipped with a line that says how to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from snellen.web.chromium import MISSING, find_chromium, open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser without a window; skips the test where there is none."""
    if find_chromium() is None:
        pytest.skip(MISSING)
    pytest.importorskip("playwright.sync_api", reason="pip install 'snellen[web]'")
    with open_browser() as browser:
        yield browser
