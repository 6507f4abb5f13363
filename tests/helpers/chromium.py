"""A Chromium of the system for tests of pages, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = f"no browser among {', '.join(NAMES)}: install Debian's package `chromium`, or Google Chrome"


def executable() -> str | None:
    """The path of the first browser found, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser without a window; skips the test where there is none."""
    path = executable()
    if path is None:
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'snellen[web]'")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
