"""One browser for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.helpers.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


ONE_PER_PAGE = "test_every_kind_by_mouse_from_a_file", "test_two_clicks_lead_from_the_report_to_the_flips"
"""The tests with a browser that are quick; all others are slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()) and item.name not in ONE_PER_PAGE:
            item.add_marker("slow")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running Chromium, in which tests open their own contexts.

    Closed after each module: while its driver runs, nothing else can run an event loop in this process.
    """
    with chromium() as running:
        yield running
