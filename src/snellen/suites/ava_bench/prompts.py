"""Every wording of AVA-Bench, verbatim if the paper prints it.

Questions are those of Table 1 (appendix A.1), with slots for the names in them. The lists of options, and the words
before them, are those of appendix A.2. `COMPOSITE_QUESTIONS` and `FORMS` are ours: the paper prints no composite task,
and its subjects were tuned on the form of the answer, which others need in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.item import AnswerKind, ReplySpec
from snellen.presentation.box_units import UNIT_WORDS

TABLE_1: Mapping[str, str] = {
    "counting": "How many {category} are in the image?",
    "localization": "Provide bounding box coordinate for {category}.",
    "fine-grained": "What species of {group} is in the image?",
    "ocr": "What is written in the red bounding box in the image?",
    "absolute-depth": (
        "From the camera's perspective, estimate how far the closest point of the {red} (red box) is from the "
        "camera in real-world distance, in meters."
    ),
    "relative-depth": (
        "Which object is closer to the camera, the {red} (red box) or the {blue} (blue box) to the camera?"
    ),
    "orientation": "What is the orientation of the {category} in the image?",
    "spatial": (
        "Considering the relative positions of two objects in the image, where is the {red} (red box) located with "
        "respect to the {blue} (blue box)?"
    ),
    "object": "What is in the red bounding box in the image?",
    "scene": "What is the scene class of the image?",
    "action": "Which action or activity is shown in the image?",
    "texture": "What is the texture attribute of image?",
    "colour": "What color is shown within the bounding box?",
    "emotion": "What emotion is being shown in the image?",
}
"""The example questions of Table 1 by task; slots: `category` (plural for counting), `group`, `red` and `blue`."""
COMPOSITE_QUESTIONS: Mapping[str, str] = {
    "counting-by-colour": "How many {colour} {category} are in the image?",
    "nearer-localization": (
        "Provide bounding box coordinate for whichever is closer to the camera, the {first} or the {second}."
    ),
}
"""Questions of composite tasks, of which the paper prints none: ours, in the wording of those above."""
MARKS = " (red box)", " (blue box)"
"""The mentions of drawn boxes in a question; left out if none are drawn."""

OPTION_LISTS: Mapping[str, tuple[str, str]] = {
    "spatial": ("Choose from ", "."),
    "fine-grained": ("Choose one from below: ", ""),
    "object": ("Choose from the following option: ", ""),
    "action": ("Choose from the following option: ", ""),
    "emotion": ("", "."),
    "scene": ("Choose one from below: ", "."),
    "texture": ("Choose one from below: ", "."),
    "orientation": ("Choose one from below: ", ""),
    "absolute-depth": ("Select the best answer from the options below: ", ""),
    "relative-depth": ("Choose one option from below: ", ""),
}
"""The text before and after the list of options (appendix A.2; for both depths the indoor wording)."""
LISTED = re.compile(r"\b(?:Choose (?:from|one)|Select the best|Choose the best)\b|\b1\. .*\b2\. ", re.DOTALL)
"""The beginning of a list of options within a question, as released ones may have."""

FORMS: Mapping[AnswerKind, str] = {
    "choice": "Answer with one of these options, exactly as it is written, and nothing else.",
    "integer": "Answer with one whole number and nothing else.",
    "box": (
        "Answer with [x1, y1, x2, y2] and nothing else: the left, top, right and bottom edges of the box, each a "
        "number from 0 to 1, as a share of the width or height of the image."
    ),
    "colour": (
        "Answer with [R, G, B] and nothing else: red, green and blue, each a whole number from 0 to 255 (sRGB)."
    ),
    "text": "Answer with the text as it is written there, and nothing else.",
}
"""The form of the answer, after the question, at `format=with-format`."""
SHORT_FORMS: Mapping[AnswerKind, str] = {
    "choice": "Answer with one option.",
    "integer": "Answer with one number.",
    "box": "Answer with [x1, y1, x2, y2], each from 0 to 1.",
    "colour": "Answer with [R, G, B], each from 0 to 255.",
    "text": "Answer with the text.",
}
"""The same at `prompt=short`."""


_SIDES = "left, top, right and bottom", "top, left, bottom and right"


def box_form(unit: str) -> str:
    """The form of a box in another unit than fractions (`core.box_units`), in the words of `FORMS`."""
    name, y_first, _ = unit.partition("-y-first")
    corners = "[y1, x1, y2, x2]" if y_first else "[x1, y1, x2, y2]"
    sides = f"the {_SIDES[bool(y_first)]} edges of the box"
    return f"Answer with {corners} and nothing else: {sides}, each {UNIT_WORDS[name]}."


def list_options(wording: tuple[str, str], names: Sequence[str]) -> str:
    """The options as appendix A.2 lists them: `Choose from A. Left above, B. Left below.` if there were two.

    `wording` is the text before and after them; `names` are the options as written, with letter or number.
    """
    lead, end = wording
    return f"{lead}{', '.join(names)}{end}"


def lists_options(question: str) -> bool:
    """True if a question lists its options itself, as released ones may."""
    return LISTED.search(question) is not None


UNNAMED = "object"
"""What stands for the names of generated things in drawn boxes: a name would answer another question on the image."""


def without_marks(question: str, names: Mapping[str, str]) -> str:
    """The question without mentions of boxes, for images in which none are drawn; `names` are by colour of the box."""
    for colour, name in names.items():
        question = question.replace(f"the {UNNAMED} ({colour} box)", f"the {name} ({colour} box)")
    for mark in MARKS:
        question = question.replace(mark, "")
    return question


FOR_PEOPLE: Mapping[str, tuple[str, str]] = {
    "localization": (r"^Provide bounding box coordinate for (.*)\.$", r"Draw a box around the \1."),
    "nearer-localization": (
        r"^Provide bounding box coordinate for whichever is closer to the camera, (.*)\.$",
        r"Draw a box around whichever is closer to the camera: \1.",
    ),
    "relative-depth": (r" to the camera\?$", "?"),
    "fine-grained": (r"^What species of (.*) is in the image\?$", r"Which kind of \1 is in the image?"),
    "texture": (r"^What is the texture attribute of image\?$", "Which texture does the image show?"),
    "colour": (
        r"^What color is shown within the bounding box\?$",
        "Which colour is in the red box? Set this colour below.",
    ),
}
"""Patterns in the wordings of Table 1 that are replaced for people, by task. Ours."""


def for_people(task: str, question: str) -> str:
    """The question of a task for people, who draw boxes and set colours."""
    pattern, replacement = FOR_PEOPLE.get(task, ("$^", ""))
    return re.sub(pattern, replacement, question)


def target(reply: ReplySpec, answer: Any) -> str:
    """The reply that a head is trained on: `ReplySpec.write`, but boxes with two decimals as in the authors' data.

    Appendix A.2 and the released code: `[0.56, 0.42, 0.67, 0.58]`, `[232, 9, 10]`, `7`, `D. 4-5`, `1. red`.
    """
    if reply.kind != "box" or reply.unit:
        return reply.write(answer)
    box = tuple(answer) if reply.frame is None else reply.frame.box(answer)
    return f"[{', '.join(f'{side:.2f}' for side in box)}]"
