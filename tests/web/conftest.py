"""One browser for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.helpers.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running Chromium, in which tests open their own contexts.

    Closed after each module: while its driver runs, nothing else can run an event loop in this process.
    """
    with chromium() as running:
        yield running
