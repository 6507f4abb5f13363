"""All wordings of VFM Bench. Released wordings are kept letter for letter, spelling errors included.

Released: the code of the benchmark (xiaoyuanzi914/VisualFastMappingBenchmark, May 2025). `instruction` joins the parts
of an instruction. Wordings of ours are marked as such, and listed in `paper.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

DEFINITIONS: Mapping[str, str] = {
    "object": (
        "modality-agnostic representation of whole, and focus on nameable entities that remains stable across moderate "
        "pose or appearance changes and is directly linkable to lexical tokens"
    ),
    "detail": (
        "identifies those fine-grained, part-scale cues, like feather color, wheel spokes, brand logos, and separates "
        "sub-categories inside an object-level class"
    ),
    "pattern": (
        "repeated textures, symmetric motifs or part constellations that are more abstract than details yet below the "
        "object level"
    ),
    "style": (
        "global aesthetic or domain statistics, including color palette, lighting regime, painterly brush strokes, "
        "that can vary independently of object identity"
    ),
}
"""From Table 6, which instructions follow (appendix C.1). The released settings differ, and have none for style."""

SCENE_ENDINGS: Mapping[str, str] = {
    "detail": "DefeatIdentification",
    "pattern": "Recogization",
    "object": "StatusRecogization",
    "style": "StatusRecogization",
}
"""Suffix of the object's name in the released name of a task (`bottleDefeatIdentification`). The last one is that of
the released level `element`; its use for object and style is ours."""

INDUSTRIES: Mapping[str, str] = {"Generated": "visual inspection", "Own": "visual recognition"}
"""Wording for the values of `industry` that are not industries. Ours: the paper has neither."""
OWN_SCENE = "image classification"
"""The name of the task for the user's images, whatever they show. Ours."""

HEAD = (
    "## Role\n You are an expert in {industry} industry and ready for the task of {scene}. You should look carefully "
    "the {level} level information, noted as {definition}. \n ## Task \n You task is obsearving the image and "
    "determine whether it could be classified as one of the candidate categorie ."
)
CANDIDATES = "The potential categories are {names}, "
CONSTRAINT = "##Constrain\n Just give me the final aswer and no other explain"
COT = (
    "##Constrain\n You should think step by step. 1. describe the image as detailed as possible. 2. think over the key "
    "issue you should take consider regrading to the task.3. give your reasoning step and answer the question. 4. "
    "write your answer following <answer> xxxx <answer> format."
)
"""Replaces the constraint at `instruction=cot`."""

DESCRIPTIONS = "What is known of the categories:\n{lines}"
"""Precedes the constraint at `instruction=detailed`; `{lines}` has one line per class, `- name: sentence`. Ours: in the
release a model rewrites the whole instruction, so each has a different form."""

SHORT = "Which of these categories does the last image belong to: {names}? Answer with the name of the category alone."
MINIMAL = "{names}?"
"""Replace the whole instruction at `prompt=short` and `prompt=minimal`; `{names}` are the names shown, joined by
commas. Ours."""

FOR_PEOPLE = "Which of these categories does the last image show?"
"""The question for people, above buttons with the names, and about the user's images (`--set instruction=plain`), where
it is followed by these two. Ours."""
PLAIN_CANDIDATES = "The categories are: {names}."
PLAIN_ENDINGS: Mapping[str, str] = {
    CONSTRAINT: "Answer with the name of the category and nothing else.",
    COT: "Think step by step. Then write the name of the category as <answer>NAME</answer>.",
}
"""In place of the paper's endings."""

VISUAL_BEFORE = "[image2_{number}]"
VISUAL_AFTER = "is an example of {label}"
VISUAL_END = " Please answer the category of [query_image]"
"""Texts around each demo image, and after the last one on a separate line, at `demos=visual-prompt`. `{number}` counts
shots from 0, so all classes of a shot have the same number; the 2 never changes. Both as released."""

DETAIL_REQUEST = (
    "You are a prompt generator. You should generate new prompt based on the original one with detailed knowledge and "
    "information to help the user finish a recogniztion task. You should give enough descrition about each the "
    "category and you should not change the specific candidante name\n The original prompt is: \n </start>\n "
    "{prompt}\n</end>\n"
    "Write only the descriptions: one line for every category and nothing else, each line of the form\n"
    "- name of the category: description"
)
"""Request to a subject that describes the classes; `{prompt}` is the whole instruction. The last two lines are ours:
they keep the instruction unchanged and make descriptions separable (`split_descriptions`)."""
CAPTION_REQUEST = (
    "You are an image detail observer.You should give detailed demonstration of the image to prove it could be "
    "classified as {label}\n Please just give the detailed demonstration with one paragraph."
)
"""Request to a subject that captions a demo image."""


def head(industry: str, scene: str, level: str) -> str:
    """The beginning of every instruction: role, task, concept level and its definition, without candidates.

    Raises KeyError for a level that Table 6 does not define.
    """
    return HEAD.format(
        industry=INDUSTRIES.get(industry, industry),
        scene=scene,
        level=level.capitalize(),
        definition=DEFINITIONS[level],
    )


def candidates(names: Sequence[str]) -> str:
    """The candidate categories as in the released prompts, in Python's list notation."""
    return CANDIDATES.format(names=list(names))


def instruction(question: str, names: Sequence[str], ending: str = CONSTRAINT, descriptions: str = "") -> str:
    """The whole instruction: head, candidates, descriptions if any, and the required form of the answer.

    A question without the paper's head (`FOR_PEOPLE`) is followed by plain words.
    """
    if question.startswith(FOR_PEOPLE):
        parts = question, PLAIN_CANDIDATES.format(names=", ".join(names)), descriptions, PLAIN_ENDINGS[ending]
        return "\n".join(filter(None, parts))
    request = f"{question} {candidates(names)}"
    return "\n".join([request, *([descriptions] if descriptions else []), ending])


_BULLET = r"[ \t]*(?:[-*•]|\d+[.)])?[ \t]*"
_ENDS = re.compile(r"\n(?=\S|[ \t]*\n)")


def split_descriptions(text: str, names: Sequence[str]) -> dict[str, str] | None:
    """The description of each class in a text that has `- name: description` for all of them, else None.

    A bullet, a number or emphasis may mark names. A description continues over indented lines. None if a class is
    missing, described twice or left empty, since incomplete descriptions would reveal the answer.
    """
    headings: list[tuple[int, int, str]] = []
    for name in names:
        heading = re.compile(
            rf"^{_BULLET}[*_`\"'\[]*{re.escape(name)}[*_`\"'\]]{{0,4}}(?:[ \t]*[:—–]| - )[*_]*[ \t]*", re.MULTILINE
        )
        headings += [(match.start(), match.end(), name) for match in heading.finditer(text)]
    headings.sort()
    if sorted(name for *_, name in headings) != sorted(names):
        return None
    descriptions = {}
    for index, (_, start, name) in enumerate(headings):
        piece = text[start : headings[index + 1][0] if index + 1 < len(headings) else len(text)]
        cut = _ENDS.search(piece)
        descriptions[name] = " ".join(piece[: cut.start() if cut else len(piece)].split())
    return {name: descriptions[name] for name in names} if all(descriptions.values()) else None
