"""Families of models by their names: the unit of their boxes, and room for thinking."""

from __future__ import annotations

import pytest

from snellen.core.box_units import BOX_UNITS
from snellen.subjects.chat import make_chat
from snellen.subjects.chat.families import FAMILIES, THINKING_TOKENS, USUAL_TOKENS, box_unit_of, usual_tokens


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        ("vllm/Qwen/Qwen2.5-VL-7B-Instruct", "pixels"),
        ("vllm/Qwen/Qwen3-VL-8B-Instruct", "thousandths"),
        ("openrouter/qwen/qwen3-vl-235b-a22b-thinking", "thousandths"),
        ("vllm/Qwen/Qwen2-VL-7B-Instruct", "thousandths"),
        ("Qwen/Qwen-VL-Chat", "thousandths"),
        ("vllm/Qwen/QVQ-72B-Preview", "pixels"),
        ("google/gemini-2.5-pro", "thousandths-y-first"),
        ("google/gemini-3-flash-preview", "thousandths-y-first"),
        ("google/paligemma2-3b-mix-448", "1024ths-y-first"),
        ("vllm/OpenGVLab/InternVL3_5-8B", "thousandths"),
        ("vllm/deepseek-ai/deepseek-vl2", "thousandths"),
        ("microsoft/Florence-2-large", "thousandths"),
        ("vllm/zai-org/GLM-4.5V", "thousandths"),
        ("allenai/Molmo-7B-D-0924", "percent"),
        ("vllm/openbmb/MiniCPM-V-2_6", "thousandths"),
        ("openbmb/MiniCPM-o-2_6", "thousandths"),
        ("THUDM/cogvlm-chat-hf", "thousandths"),
        ("THUDM/cogagent-chat-hf", "thousandths"),
        ("zai-org/GLM-4.6V", "thousandths"),
        ("openai/gpt-4o", "fractions"),
        ("anthropic/claude-opus-4-1", "fractions"),
        ("vllm/llava-hf/llava-1.5-7b-hf", "fractions"),
        ("qwen-vl-max", "fractions"),  # names no generation
    ],
)
def test_the_unit_of_boxes(model: str, unit: str) -> None:
    assert box_unit_of(model) == unit


def test_every_family_has_a_known_unit_and_a_source() -> None:
    assert {family.box_unit for family in FAMILIES} <= set(BOX_UNITS)
    assert all(any(word in family.source for word in ("arXiv", ".com", ".dev", ".io")) for family in FAMILIES)


@pytest.mark.parametrize(
    "model",
    ["openai/o3", "openai/o4-mini", "openai/gpt-5", "openai/gpt-5-mini", "google/gemini-2.5-flash", "grok/grok-4",
     "google/gemini-3-pro", "vllm/Qwen/Qwen3-VL-8B-Thinking", "vllm/Qwen/QVQ-72B-Preview", "vllm/zai-org/GLM-4.1V-9B",
     "openai-api/box/kimi-vl-a3b-thinking-2506", "mistral/magistral-medium-latest", "openai/o1",
     "openai/gpt-oss-20b", "together/deepseek-ai/deepseek-r1", "a/skywork-r1v3-r1", "qwen/qwq-32b", "grok/grok-3-mini",
     "minimax/minimax-m1", "moonshotai/kimi-k2", "a/phi-4-reasoning"],
)  # fmt: skip
def test_models_that_think_have_room_for_it(model: str) -> None:
    assert usual_tokens(model, None) == THINKING_TOKENS
    assert usual_tokens(model, "none") == USUAL_TOKENS


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-4o", "openai/gpt-4.1-mini", "openai/gpt-5-chat-latest", "anthropic/claude-3-5-sonnet-latest",
     "google/gemini-2.0-flash", "vllm/Qwen/Qwen2.5-VL-7B-Instruct", "vllm/Qwen/Qwen3-VL-8B-Instruct", "grok/grok-3",
     "vllm/OpenGVLab/InternVL3-8B", "vllm/llava-hf/llava-onevision-qwen2-7b-ov-hf", "mistral/pixtral-large-latest"],
)  # fmt: skip
def test_others_have_the_usual_limit_unless_an_effort_is_set(model: str) -> None:
    assert usual_tokens(model, None) == USUAL_TOKENS
    assert usual_tokens(model, "medium") == THINKING_TOKENS


def test_settings_overrule_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    monkeypatch.setenv("BOX_API_KEY", "x")
    monkeypatch.setenv("BOX_BASE_URL", "http://127.0.0.1:9/v1")
    name = "openai-api/box/Qwen3-VL-8B-Thinking"
    usual = make_chat(name, {}).card
    assert (usual.attributes["box_unit"], usual.token_limit) == ("thousandths", THINKING_TOKENS)
    own = make_chat(name, {"box_unit": "pixels", "max_tokens": "512"}).card
    assert (own.attributes["box_unit"], own.token_limit) == ("pixels", 512)
    assert make_chat(name, {"max_tokens": "none"}).card.token_limit == 0
    assert {own.fingerprint(), make_chat(name, {"max_tokens": "none"}).card.fingerprint()} == {usual.fingerprint()}
    assert own.name == usual.name
