"""Puts the web parts of `src/snellen/web/web.lock` into wheel and sdist, and a list of all components into the wheel.

Where web parts cannot be fetched, an ordinary build goes on without them (they are then fetched at first use); with
SNELLEN_RELEASE=1 it fails. An editable install takes them at first use.

The list of components (an SBOM in CycloneDX 1.6) is also written next to the wheel: the web parts, which are in the
wheel, and every Python package of `requirements.txt`, against which the release is tested.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SERIAL_NUMBERS = uuid.UUID("0f6f3c52-77b1-5b0e-9f0f-3f4a1f0d8a57")
"""Namespace of serial numbers: the same components have the same number."""


class WebParts(BuildHookInterface):
    """Fetches what the folder lacks; `artifacts` in pyproject.toml takes it in although git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before the files are gathered."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "src"))
        from snellen.core.errors import SnellenError
        from snellen.web.lock import PACKAGE_FOLDER, complete, fetch_web_parts

        if self.target_name == "wheel":
            path = Path(self.directory).resolve() / f"snellen-{self.metadata.version}.cdx.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(sbom(root, self.metadata.version), indent=1) + "\n")
            build_data["sbom_files"] = [str(path)]
        if complete(PACKAGE_FOLDER):
            return
        try:
            fetch_web_parts(PACKAGE_FOLDER)
        except (SnellenError, OSError) as error:
            if os.environ.get("SNELLEN_RELEASE") == "1":
                raise
            self.app.display_warning(f"web parts are left out: {error}")


def sbom(root: Path, version: str) -> dict[str, Any]:
    """The components as CycloneDX JSON. The same files give the same bytes: there is no time in it."""
    components = [*_python_packages(root), *_web_packages()]
    serial_number = uuid.uuid5(SERIAL_NUMBERS, json.dumps([version, components]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial_number}",
        "version": 1,
        "metadata": {"component": _component("pypi", "snellen", version) | {"type": "application"}},
        "components": components,
    }


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _python_packages(root: Path) -> Iterator[dict[str, Any]]:
    """Packages of requirements.txt, and torch, which it leaves out."""
    pins = (
        (root / "requirements.txt").read_text(),
        *re.findall(r"^torch==.*", (root / "constraints.txt").read_text(), re.M),
    )
    for name, version in sorted(re.findall(r"^([\w.-]+)==([^\s;\\]+)", "\n".join(pins), re.M)):
        yield _component("pypi", name, version) | {"scope": "optional"}


def _web_packages() -> Iterator[dict[str, Any]]:
    from snellen.web.lock import read_lock

    for package in read_lock():
        sha512 = base64.b64decode(package.integrity.removeprefix("sha512-")).hex()
        yield _component("npm", package.name, package.version) | {
            "scope": "required",
            "hashes": [{"alg": "SHA-512", "content": sha512}],
            "licenses": [{"license": {"id": package.licence}}],
        }
