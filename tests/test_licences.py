"""Every installed package has a licence compatible with ours, or a documented exception."""

from __future__ import annotations

import importlib.util
import sys
from email.message import Message
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PATH = Path(__file__).parents[1] / "scripts" / "licences.py"


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = module
    spec.loader.exec_module(module)
    return module


def test_no_package_s_licence_is_outside_the_list(licences: ModuleType) -> None:
    packages = [*licences.packages(), *licences.web_parts()]
    assert {"numpy", "pydantic", "pyarrow"} <= {package.name for package in packages}
    assert [package for package in packages if not package.is_allowed] == []


def test_every_exception_is_needed_and_has_a_reason(licences: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [package for package in licences.packages() if package.reason]
    assert all(reason for reason in licences.EXCEPTIONS.values())
    monkeypatch.setattr(licences, "EXCEPTIONS", {})
    assert [package.name for package in installed if package.is_allowed] == []


@pytest.mark.parametrize(
    ("licence", "is_allowed"),
    [
        ("MIT", True), ("MIT AND BSD-3-Clause", True), ("GPL-3.0-only", False), ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True), ("(Apache-2.0 WITH LLVM-exception) AND MIT", True),
        ("MIT; GNU Affero General Public License v3", False),
        ("(GPL-3.0-only OR MIT) AND (MIT OR (BSD AND ISC))", True), ("(MIT OR Apache-2.0) AND GPL-3.0-only", False),
        ("LGPL-2.1", False), ("UNKNOWN", False), ("", False),
    ],
)  # fmt: skip
def test_a_licence_is_allowed_as_a_whole(licences: ModuleType, licence: str, is_allowed: bool) -> None:
    assert licences.Package("x", "1", licence).is_allowed is is_allowed


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT"), ("Classifier", "License :: OSI Approved :: BSD License")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: BSD License"), ("License", "see the file")], "BSD"),
        ([("Classifier", "License :: OSI Approved"), ("License", "Apache 2.0")], "Apache-2.0"),
        ([("License", "x" * 60)], ""),
        ([("Classifier", "Topic :: Games")], ""),
    ],
)
def test_licences_are_read_from_metadata(licences: ModuleType, fields: Any, licence: str) -> None:
    facts = Message()
    for name, text in fields:
        facts[name] = text
    assert licences.licence_of(facts) == licence
