"""The system's Chromium, driven by Playwright without a window. Playwright's own browsers are not needed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError

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
MISSING = f"no browser among {', '.join(NAMES)}: install Debian's package chromium, or Google Chrome"


def find_chromium() -> str | None:
    """The path of the first installed browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A running browser. Raises SnellenError with installation advice if there is none."""
    from playwright.sync_api import sync_playwright

    if (path := find_chromium()) is None:
        raise SnellenError(MISSING)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
