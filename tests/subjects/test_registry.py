from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import snellen
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.lazy import imported
from snellen.core.registry import Registry
from snellen.core.subject import Subject
from snellen.subjects.registry import EXAMPLES, SUBJECTS, make_subject
from snellen.suites import SUITES
from tests.helpers.journey import says

ROOT = Path(__file__).parents[2]


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, str]]]:
    """The names and settings from which chat subjects are made."""
    requests: list[tuple[str, Mapping[str, str]]] = []

    def make(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Subject:
        requests.append((name, settings))
        return says(f"chat:{name}", "yes")

    monkeypatch.setitem(SUBJECTS._loaded, "chat", make)
    return requests


def test_a_spec_has_kind_name_and_settings(chat: list[tuple[str, Mapping[str, str]]]) -> None:
    make_subject("chat:openai/gpt-4o?temperature=0.5&max_concurrency=2&stop=a%26b")
    make_subject("openai/gpt-4o")
    make_subject("openai-api/my/model:7b?seed=3")
    assert chat == [
        ("openai/gpt-4o", {"temperature": "0.5", "max_concurrency": "2", "stop": "a&b"}),
        ("openai/gpt-4o", {}),
        ("openai-api/my/model:7b", {"seed": "3"}),
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("oracle", "'oracle' is not a subject; write kind:name"),
        ("fak:oracle", "no kind of subject 'fak' in 'fak:oracle'; did you mean 'fake'?"),
        ("", "'' is not a subject"),
        (":x", "no kind of subject ''"),
        ("py:module", "write py:MODULE:FACTORY"),
        ("py::name", "py::name: cannot be made (ValueError: Empty module name"),
        ("py:json:loads?s=no", "cannot be made (JSONDecodeError: Expecting value: line 1 column 1 (char 0) ("),
        ("recorded:answers.jsonl?name=", "the setting 'name' has no value; write ?setting=value"),
        ("chat:openai/gpt-4o?box_unit=", "the setting 'box_unit' has no value"),
        ("chat:openai/gpt-4o?seed=1&stop=%20", "the setting 'stop' has no value"),
        ("encoder:hog?readout", "the setting 'readout' has no value"),
        ("tower:tiny/siglip2-base?model=", "the setting 'model' has no value"),
        ("py:json:loads?=1&s=", "the setting 's' has no value"),
        ("chat:openai/gpt-4o?seed=1&seed=2", "the setting 'seed' is given twice"),
    ],
)
def test_errors_name_the_nearest_kind(spec: str, message: str) -> None:
    with pytest.raises(SnellenError) as caught:
        make_subject(spec)
    assert message in str(caught.value)


def test_every_example_has_an_existing_kind() -> None:
    assert {example.split(":")[0] for example in EXAMPLES} <= set(SUBJECTS)


def test_every_kind_can_be_imported_and_is_in_no_higher_layer() -> None:
    """Kinds of higher layers are entry points, which `snellen.ENTRY_POINTS` repeats."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    heights = {name.strip(" ()"): -n for n, line in enumerate(layers) for name in line.split("|")}
    for registry, layer in ((SUBJECTS, "subjects"), (SUITES, "suites")):
        assert all(callable(registry.get(name)) or layer == "suites" for name in registry)
        assert all(heights[path.split(".")[1]] <= heights[layer] for path in registry._targets.values() if path)
    declared = {group: settings["project"]["entry-points"][group] for group in snellen.ENTRY_POINTS}
    assert declared == snellen.ENTRY_POINTS
    for group in snellen.ENTRY_POINTS.values():
        assert all(callable(imported(path)) for path in group.values())


def test_recorded_answers_are_found_without_metadata_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    fresh: Registry[object] = Registry("kind of subject", {}, group="snellen.subjects")
    assert set(fresh) == snellen.ENTRY_POINTS["snellen.subjects"].keys()
    assert fresh.get("recorded") is imported("snellen.interop.recorded_answers:make_recorded")
