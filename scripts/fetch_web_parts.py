"""Fetch the web parts that pages of studies need (`src/snellen/web/web.lock`) into this checkout.

    python scripts/fetch_web_parts.py

Where that cannot be done, one line says so and the exit code is still 0: they are fetched at first use.
"""

from __future__ import annotations

from snellen.core.errors import SnellenError
from snellen.web.lock import PACKAGE_FOLDER, complete, web_parts


def main() -> None:
    """See the module's docstring."""
    if complete(PACKAGE_FOLDER):
        return
    try:
        print(f"web parts: {web_parts()}")
    except SnellenError as error:
        print(f"{error} (tried again at first use)")


if __name__ == "__main__":
    main()
