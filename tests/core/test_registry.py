from __future__ import annotations

import importlib.metadata
import posixpath
from importlib.metadata import EntryPoint
from types import FunctionType

import pytest

from snellen.core.errors import SnellenError
from snellen.core.registry import Registry


def test_entries_are_imported_at_first_use() -> None:
    registry: Registry[object] = Registry("thing", {"join": "posixpath:join", "gone": "no_such_module:x"})
    assert list(registry) == ["join", "gone"]
    assert registry.get("join") is __import__("posixpath").join
    with pytest.raises(ModuleNotFoundError):
        registry.get("gone")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    registry: Registry[object] = Registry("suite", {"combo": "a:b", "vfm-bench": "a:b"})
    with pytest.raises(SnellenError, match=r"^no suite 'comba'; did you mean 'combo'\?$"):
        registry.get("comba")
    with pytest.raises(SnellenError, match=r"available: combo, vfm-bench$"):
        registry.get("zzz")


def test_a_name_belongs_to_one_entry() -> None:
    registry: Registry[object] = Registry("suite", {"combo": "posixpath:join"})
    entry = object()
    registry.add("mine", entry)
    registry.add("mine", entry)
    assert registry.get("mine") is entry
    for name in ("mine", "combo"):
        with pytest.raises(SnellenError, match="exists already"):
            registry.add(name, object())


def test_other_packages_add_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names come last and cannot replace built-in ones; faulty entries are reported in one line."""
    points = [
        EntryPoint(name, target, "snellen.test")
        for name, target in [
            ("combo", "posixpath:split"),
            ("split", "posixpath:split"),
            ("gone", "no_such_module:x"),
            ("text", "posixpath:sep"),
        ]
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    registry: Registry[object] = Registry(
        "suite", {"combo": "posixpath:join"}, group="snellen.test", type_=FunctionType
    )
    assert list(registry) == ["combo", "split", "gone", "text"]
    assert registry.get("combo") is posixpath.join
    assert registry.get("split") is posixpath.split
    assert not registry.is_packaged("split")
    with pytest.raises(SnellenError, match=r"^suite 'gone' of the package 'no_such_module' cannot be imported: Module"):
        registry.get("gone")
    with pytest.raises(SnellenError, match=r"^suite 'text' of the package 'posixpath' is a str, not a function"):
        registry.get("text")
    with pytest.raises(SnellenError, match="exists already"):
        registry.add("split", object())
