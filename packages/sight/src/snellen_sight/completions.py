"""Reads chat completions in the forms that servers give them: replies, or failures in place of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from snellen_sight.retry import Trouble, stated_words

MAX_NAME, MAX_TOKENS = 200, 10**9
"""Limits of a name of a model, in characters, and of a count of tokens."""
_STOPS = {
    "stop": "end", "eos": "end", "eos_token": "end", "end_turn": "end", "stop_sequence": "end", "length": "length",
    "max_tokens": "length", "model_length": "length", "content_filter": "filter", "safety": "filter",
    "tool_calls": "tool_calls", "function_call": "tool_calls",
}  # fmt: skip
"""The reasons why a reply ended, in the words of services; others are unknown."""
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where servers put the reasoning; the first that is there counts."""
_THOUGHT_KEYS = ("thinking", "reasoning", "text", "summary", "content")


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The reply to one call: its text, the reasoning before it, why it ended, the model served, and tokens."""

    text: str
    reasoning: str = ""
    stop: str = "end"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


def read_completion(body: Mapping[str, Any]) -> ChatReply | Trouble:
    """The reply of a completion, without its seconds, or why it is none."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        return Trouble(f"the reply has no choices: {stated_words(body)}".rstrip(": "), again=True)
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        return Trouble("the reply has no message", again=True)
    parts = _parts(message.get("refusal") or message.get("content"))
    if parts is None:
        return Trouble("the content of the reply is no text", again=True)
    thoughts = next((words for key in _THOUGHTS if (words := _thought(message.get(key)))), "")
    thoughts = "\n".join(filter(None, (thoughts, *(words for words, is_thought in parts if is_thought))))
    written, thought = split_thought("".join(words for words, is_thought in parts if not is_thought))
    tokens_in, tokens_out = tokens_of(body)
    return ChatReply(
        text=written,
        reasoning="\n".join(dict.fromkeys(filter(None, (thoughts, thought)))),
        stop=_STOPS.get(str(choice.get("finish_reason")).casefold(), "unknown"),
        model=model_of(body),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )


def tokens_of(body: Mapping[str, Any]) -> tuple[int, int]:
    """Tokens read and written; 0 if the service gives none, or no number."""
    usage = body["usage"] if isinstance(body.get("usage"), dict) else {}
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def model_of(body: Mapping[str, Any]) -> str:
    """The name of the model as served; empty if it is not given."""
    model = body.get("model")
    return model[:MAX_NAME] if isinstance(model, str) else ""


def _parts(content: Any) -> list[tuple[str, bool]] | None:
    """Texts of a message's content, and whether each is a thought; None if it has another form."""
    if content is None or isinstance(content, str):
        return [(content or "", False)]
    if not isinstance(content, list):
        return None
    parts = list[tuple[str, bool]]()
    for member in content:
        part = {"type": "text", "text": member} if isinstance(member, str) else member
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("thinking", "reasoning"):
            parts.append((_thought(part), True))
        elif kind in ("text", "output_text") and isinstance(words := part.get("text"), str):
            parts.append((words, False))
        elif not isinstance(part, dict):
            return None
    return parts if parts or not content else None


def _thought(thought: Any) -> str:
    """The words of a thought, in any of the forms of servers; empty if it is encrypted."""
    return "\n".join(filter(None, _thoughts(thought, 4)))


def _thoughts(thought: Any, depth: int) -> Iterator[str]:
    if isinstance(thought, str):
        yield thought
    elif isinstance(thought, list) and depth:
        for part in thought:
            yield from _thoughts(part, depth - 1)
    elif isinstance(thought, dict) and depth:
        yield from _thoughts(next((thought[key] for key in _THOUGHT_KEYS if thought.get(key)), None), depth - 1)


def _count(number: Any) -> int:
    try:
        count = int(float(number))
    except (TypeError, ValueError, OverflowError):
        return 0
    return count if 0 <= count <= MAX_TOKENS else 0


def split_thought(text: str) -> tuple[str, str]:
    """(text, reasoning) for texts in which a server left the reasoning.

    Also a thought without an end (cut off by the token limit), one whose opening tag is in the chat template, and one
    with no text after it.
    """
    thought, closed, rest = text.rpartition("</think>")
    if closed:
        return rest.strip(), thought.replace("<think>", "").strip()
    if text.lstrip().startswith("<think>"):
        return "", text.lstrip().removeprefix("<think>").strip()
    return text, ""
