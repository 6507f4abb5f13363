"""Puts the web parts of `src/snellen/web/web.lock` into wheel and sdist.

Where they cannot be fetched, an ordinary build goes on without them (they are then fetched at first use); with
SNELLEN_RELEASE=1 it fails. An editable install takes them at first use.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebParts(BuildHookInterface):
    """Fetches what the folder lacks; `artifacts` in pyproject.toml takes it in although git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before the files are gathered."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        from snellen.core.errors import SnellenError
        from snellen.web.lock import PACKAGE_FOLDER, complete, fetch_web_parts

        if complete(PACKAGE_FOLDER):
            return
        try:
            fetch_web_parts(PACKAGE_FOLDER)
        except (SnellenError, OSError) as error:
            if os.environ.get("SNELLEN_RELEASE") == "1":
                raise
            self.app.display_warning(f"web parts are left out: {error}")
