"""Families of chat models: the unit in which they give boxes, and whether they think before they answer.

Models are recognised by their names, as services and the hub write them. `?box_unit=` and `?max_tokens=` overrule this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from snellen.core.box_units import FRACTIONS, PIXELS

USUAL_TOKENS, THINKING_TOKENS = 2048, 32_768
"""Limits of a reply, reasoning included.

Models that think use thousands of tokens before the first word of an answer. OpenAI advises to reserve 25,000
(https://platform.openai.com/docs/guides/reasoning), Qwen used 40,960 for its thinking models and 16,384 for others
(https://github.com/QwenLM/Qwen3-VL), and Gemini and Claude count thoughts towards the same limit
(https://ai.google.dev/gemini-api/docs/thinking, https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking).
"""


@dataclass(frozen=True)
class Family:
    """Models whose names match `pattern`, the unit of their boxes (`core.box_units`), and where it is documented."""

    pattern: str
    box_unit: str
    source: str


FAMILIES = (
    Family(r"qwen-?3|qwen-?2-?vl|qwen-?vl(?!-(?:max|plus))", "thousandths",
           "0 to 1000: github.com/QwenLM/Qwen3-VL/issues/1741, arXiv 2409.12191, arXiv 2308.12966"),
    Family(r"qwen-?2\.5|qvq", PIXELS,
           "pixels of the image as processed: github.com/QwenLM/Qwen3-VL/issues/676, arXiv 2502.13923"),
    Family(r"gemini", "thousandths-y-first",
           "[ymin, xmin, ymax, xmax], 0 to 1000: ai.google.dev/gemini-api/docs/image-understanding"),
    Family(r"paligemma", "1024ths-y-first",
           "<loc0000> to <loc1023>, y first: ai.google.dev/gemma/docs/paligemma"),
    Family(r"internvl", "thousandths",
           "<box>[[x1, y1, x2, y2]]</box>, 0 to 1000: internvl.readthedocs.io, chat data format, grounding"),
    Family(r"deepseek-?vl-?2", "thousandths", "<|det|>, 0 to 999: github.com/deepseek-ai/DeepSeek-VL2"),
    Family(r"florence", "thousandths", "<loc_0> to <loc_999>: arXiv 2311.06242"),
    Family(r"glm-?4\.[156]v|cogvlm|cogagent", "thousandths",
           "0 to 1000: github.com/zai-org/GLM-V, github.com/THUDM/CogVLM"),
    Family(r"minicpm-?v|minicpm-?o", "thousandths", "<box>, 0 to 1000: github.com/OpenBMB/MiniCPM-V"),
    Family(r"molmo", "percent", "points in percent of the image: arXiv 2409.17146"),
)  # fmt: skip
"""The first that matches counts. All other models are taken to give boxes as asked, in fractions."""

_WORD = r"(?:^|[^a-z0-9])"
THINKING = re.compile(
    rf"{_WORD}(?:o[134](?:$|[-.])|gpt-?[5-9](?!-chat)|gpt-oss)|gemini-?(?:[3-9]|2\.5)|thinking|reason|qvq|qwq"
    rf"|deepseek-r\d|{_WORD}r1(?:$|-)|magistral|grok-?(?:[4-9]|3-mini)|glm-?4\.[156]v|minimax-m\d|kimi-k2"
)
"""Names of models that think before they answer, unless told not to."""


def box_unit_of(name: str) -> str:
    """The unit in which the model of this name gives boxes by its documentation; fractions if that is unknown."""
    known = (family.box_unit for family in FAMILIES if re.search(family.pattern, name.lower().replace("_", "-")))
    return next(known, FRACTIONS)


def usual_tokens(name: str, reasoning_effort: str | None) -> int:
    """The limit of a reply of the model of this name: larger if it thinks, by its name or since an effort is set."""
    thinks = THINKING.search(name.lower()) is not None
    if reasoning_effort is not None:
        thinks = reasoning_effort != "none"
    return THINKING_TOKENS if thinks else USUAL_TOKENS
