from __future__ import annotations

import importlib.metadata
import posixpath
from importlib.metadata import EntryPoint
from types import FunctionType

import pytest

from snellen.core.errors import SnellenError
from snellen.core.registry import Registry


def test_things_are_imported_when_first_asked_for() -> None:
    things: Registry[object] = Registry("thing", {"join": "posixpath:join", "gone": "no_such_module:x"})
    assert list(things) == ["join", "gone"]
    assert things.get("join") is __import__("posixpath").join
    with pytest.raises(ModuleNotFoundError):
        things.get("gone")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    things: Registry[object] = Registry("suite", {"combo": "a:b", "vfm-bench": "a:b"})
    with pytest.raises(SnellenError, match=r"^no suite 'comba'; did you mean 'combo'\?$"):
        things.get("comba")
    with pytest.raises(SnellenError, match=r"there are: combo, vfm-bench$"):
        things.get("zzz")


def test_a_name_belongs_to_one_thing() -> None:
    things: Registry[object] = Registry("suite", {"combo": "posixpath:join"})
    mine = object()
    things.add("mine", mine)
    things.add("mine", mine)
    assert things.get("mine") is mine
    for name in ("mine", "combo"):
        with pytest.raises(SnellenError, match="exists already"):
            things.add(name, object())


def test_other_packages_bring_things_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names come last, are taken by none of ours, and what is wrong with them is said in a line."""
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
    things: Registry[object] = Registry("suite", {"combo": "posixpath:join"}, group="snellen.test", type_=FunctionType)
    assert list(things) == ["combo", "split", "gone", "text"]
    assert things.get("combo") is posixpath.join
    assert things.get("split") is posixpath.split
    assert not things.is_packaged("split")
    with pytest.raises(SnellenError, match=r"^suite 'gone' of the package 'no_such_module' cannot be imported: Module"):
        things.get("gone")
    with pytest.raises(SnellenError, match=r"^suite 'text' of the package 'posixpath' is no function but a str"):
        things.get("text")
    with pytest.raises(SnellenError, match="exists already"):
        things.add("split", object())
