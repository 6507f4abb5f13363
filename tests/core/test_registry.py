from __future__ import annotations

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
