"""Settings of chat models: both sides of each limit, what changes a fingerprint, and the limits of providers."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.subjects.chat.limits import LIMITS, MB
from snellen.subjects.chat.settings import (
    ChatSettings,
    LocalSettings,
    description_of,
    read_local_settings,
    read_settings,
)

WRITTEN = """
chat temperature: 0 2 none | -0.1 2.1 nan NONE      chat max_tokens: 1 1000000000 none | 0 1000000001 1.5
chat seed: 0 2147483647 none | -1 2147483648        chat top_p: 0 1 | -0.1 1.1 none
chat reasoning_effort: none minimal low medium high xhigh max | most
chat max_px: 16 100000 | 15 100001 none             chat attempts: 1 100 | 0 101
chat timeout: 1 600 | 0 601                         chat max_concurrency: 1 10000 | 0 10001
chat price_in: 0 1e9 | -1 1.1e9                     chat price_out: 0 1e9 | -1 1.1e9
chat max_images: 0 1000000 | -1 1000001             chat accepts: image,video video | audio image,text
chat reasoning: yes no | true                       chat weights: open closed | yes
chat box_unit: pixels percent | px                  local max_new_tokens: 1 1000000 | 0 1000001
local temperature: 0 2 | -0.1 2.1 none              local dtype: auto float32 float16 bfloat16 | int8
local device: auto cpu cuda cuda:1 | gpu cuda: cpu:0 local batch: 1 1024 | 0 1025
local seed: 0 2147483647 | -1 2147483648 none       local pad: square | yes
local frames: 8 12 1fps 10fps | 0 0fps fps          local max_images: 0 1000000 | -1 1000001
local accepts: image | video image,video            local weights: open closed | yes
"""
"""What each setting takes, and what it refuses."""
CASES = [
    case for line in WRITTEN.strip().splitlines() for case in line.replace(" local ", "  local ").split("  ") if case
]


@pytest.mark.parametrize("case", CASES)
def test_a_setting_is_read_within_its_limits_alone(case: str) -> None:
    subject, _, texts = case.strip().partition(": ")
    kind, name = subject.split()
    read: Any = read_settings if kind == "chat" else read_local_settings
    good, bad = (part.split() for part in texts.split("|"))
    for text in good:
        is_open = text == "none" and name in ("temperature", "max_tokens", "seed")
        plain = text if name == "frames" or not text[0].isdecimal() else float(text)
        expected = frozenset(text.split(",")) if name == "accepts" else None if is_open else plain
        assert getattr(read({name: f" {text} "}), name) == expected
    for text in bad:
        with pytest.raises(SnellenError, match=f"^chat: {name}='{text}'"):
            read({name: text})


def test_the_settings_of_a_subject_unless_others_are_given() -> None:
    usual, local = ChatSettings(), LocalSettings()
    assert (usual.temperature, usual.max_tokens, usual.seed, usual.attempts, usual.timeout) == (0.0, 0, 0, 5, 120)
    assert (local.max_new_tokens, local.temperature, local.dtype, local.device) == (512, 0.0, "auto", "auto")
    assert (local.batch, local.seed, local.accepts) == (8, 0, frozenset({"image"}))


@pytest.mark.parametrize("settings", [ChatSettings(), LocalSettings()], ids=["chat", "local"])
def test_settings_that_change_answers_and_no_others_are_told(settings: ChatSettings | LocalSettings) -> None:
    """Each setting is changed in turn."""
    others: dict[str, Any] = {field.name: "other" for field in fields(settings)}
    changed = {name: replace(settings, **{name: value}) for name, value in others.items()}
    answering = {name for name, other in changed.items() if other.answering() != settings.answering()}
    own = "top_p reasoning_effort max_px" if isinstance(settings, ChatSettings) else "dtype batch pad frames"
    assert answering == {"temperature", "seed", *own.split()}
    described = {name: description_of(other) for name, other in changed.items() if description_of(other)}
    names = ("family", "reasoning", "counterpart", "weights", "box_unit")
    assert described == {name: {name: "other"} for name in names}


def test_limits_of_requests_are_those_that_providers_publish() -> None:
    """Images, MB of an image's file (three quarters of its base64 text), pixels of a side, MB of a request."""
    assert {
        name: (each.images, (each.image_bytes or 0) / MB, each.image_px, (each.request_bytes or 0) / MB)
        for name, each in LIMITS.items()
    } == {
        "openai": (1500, 0, None, 50), "anthropic": (600, 7.5, 8000, 32), "anthropic/bedrock": (600, 3.75, 8000, 32),
        "anthropic/vertex": (600, 3.75, 8000, 32), "google": (3600, 0, None, 100), "google/vertex": (3000, 7, None, 0),
        "bedrock": (20, 3.75, 8000, 0), "mistral": (8, 10, None, 0), "groq": (5, 0, None, 4),
        "grok": (None, 20, None, 0), "openrouter": (None, 0, None, 0),
    }  # fmt: skip
    assert {name: each.crowd for name, each in LIMITS.items() if each.crowd} == dict.fromkeys(
        ("anthropic", "anthropic/bedrock", "anthropic/vertex"), (20, 2000)
    )
    assert [name for name, each in LIMITS.items() if "gif" not in each.formats] == ["google", "google/vertex", "grok"]
    assert [name for name, each in LIMITS.items() if "webp" not in each.formats] == ["grok"]
