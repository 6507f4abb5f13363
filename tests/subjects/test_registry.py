from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.subject import Subject
from snellen.subjects.registry import EXAMPLES, SUBJECTS, make_subject
from tests.helpers.journey import says


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
    make_subject("chat:openai/gpt-4o?temperature=0.5&seed=&stop=a%26b")
    make_subject("openai/gpt-4o")
    make_subject("openai-api/my/model:7b?seed=3")
    assert chat == [
        ("openai/gpt-4o", {"temperature": "0.5", "seed": "", "stop": "a&b"}),
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
    ],
)
def test_errors_name_the_nearest_kind(spec: str, message: str) -> None:
    with pytest.raises(SnellenError) as caught:
        make_subject(spec)
    assert message in str(caught.value)


def test_every_example_has_an_existing_kind() -> None:
    assert {example.split(":")[0] for example in EXAMPLES} <= set(SUBJECTS)


def test_former_names_of_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEAR_BY_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NEAR_BY_API_KEY", "none")
    assert make_subject("logprob:openai-api/near-by/m?at_once=7").card.max_concurrency == 7
