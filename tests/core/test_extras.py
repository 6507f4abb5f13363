"""Installation hints: a working command, and extras that exist."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core import extras
from snellen.core.extras import install_command, missing_packages

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize(
    ("record", "command"),
    [
        ({"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}}, "-e '/home/me/my clone[web]'"),
        ({"url": "file:///home/me/clone", "dir_info": {}}, "'/home/me/clone[web]'"),
        ({"url": "https://example.org/snellen-0.1.0.whl", "archive_info": {}}, "'snellen[web]'"),
        (None, "'snellen[web]'"),
    ],
)
def test_the_hint_names_the_source_of_the_installation(
    record: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = None if record is None else json.dumps(record)
    monkeypatch.setattr(extras, "distribution", lambda name: SimpleNamespace(read_text=lambda file: written))
    assert install_command("web") == f"pip install {command}"


def test_a_checkout_that_was_never_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert install_command("web") == f"pip install '{ROOT}[web]'"


def test_packages_that_are_not_installed_are_missing() -> None:
    assert missing_packages(["numpy", "no-such-package", "Pillow", "nor-this"]) == ["no-such-package", "nor-this"]


def test_every_extra_that_is_named_exists() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.md")]
    texts = [path.read_text("utf-8") for path in pages]
    named = {name for text in texts for names in re.findall(r"pip install '[^']*\[([\w,]+)\]'", text)
             for name in names.split(",")}  # fmt: skip
    named |= {name for text in texts for name in re.findall(r"install_command\(\"(\w+)\"\)", text.replace("'", '"'))}
    named |= {name for text in texts for name in re.findall(r"import_extra\([^\n]*, \"(\w+)\"\)", text)}
    assert len(named) >= 5
    assert named <= set(PROJECT["optional-dependencies"])


def test_all_brings_what_users_need_and_no_tools_of_developers() -> None:
    extras_there = PROJECT["optional-dependencies"]
    (everything,) = extras_there["all"]
    assert set(everything.removeprefix("snellen[").removesuffix("]").split(",")) == set(extras_there) - {
        "all", "cluster", "dev", "docs", "faces",
    }  # fmt: skip
