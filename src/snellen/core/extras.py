"""Packages that are missing, and the command that installs an extra, depending on how Snellen was installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit


def missing_packages(names: Sequence[str]) -> list[str]:
    """Those of these distributions that are not installed here."""
    return [name for name in names if not any(distributions(name=name))]


def install_command(extra: str) -> str:
    """The command that installs an extra, e.g. `pip install '/home/me/snellen[render]'`.

    The folder is the one that pip installed from (its record `direct_url.json`, PEP 610), or a checkout that is
    imported directly. After an install from an index, the bare name is used.
    """
    try:
        written = distribution("snellen").read_text("direct_url.json")
    except PackageNotFoundError:
        checkout = Path(__file__).parents[3]
        written = json.dumps({"url": checkout.as_uri()}) if (checkout / "pyproject.toml").is_file() else None
    origin = json.loads(written or "{}")
    url = urlsplit(origin.get("url", ""))
    requirement = unquote(url.path) if url.scheme == "file" else "snellen"
    option = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {option}'{requirement}[{extra}]'"
