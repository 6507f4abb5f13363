"""Validated records of released questions, the same for the authors' JSONL lines and VLMEvalKit's TSV rows.

Fields follow the released code (vlm2-bench/VLM2-Bench, `code/*/test` and `code/*/eval`; VLMEvalKit, `VLM2Bench`).
Unverified: no released data file was available when this was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from snellen.core.item import Option
from snellen.curation.released import validate_line
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT
from snellen.suites.vlm2_bench.tasks import TASKS


@dataclass(frozen=True)
class QuestionRecord:
    """One released question. `location` is its file and line.

    Records of one `group` are scored together. `mark` is the wording of a statement of Cpr, `p` or `n`. `files` are the
    images or the video of a folder; images of a TSV row stay in the file, at line `line`. `inline` means that the
    question still contains its choices, since rewriting them would change it. `note` is for the card.
    """

    location: str
    task: str
    group: str
    question: str
    answer: Any
    mark: str = ""
    options: tuple[Option, ...] = ()
    inline: bool = False
    images: int = 0
    files: tuple[Path, ...] = ()
    line: int = 0
    factors: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    question: str = Field(min_length=1)
    type: str | None = None


class _Imaged(_Line):
    q_id: str | int
    images: list[str] = Field(min_length=2)


class _Statement(_Imaged):
    gt_answer: Literal["T", "F"]
    edited_prompt: str | None = None


class _Count(_Imaged):
    gt_answer: int
    image_seq_len: int | None = None


class _Group(_Imaged):
    gt_answer: str


class _Video(_Line):
    vid: str = Field(pattern=r"^[^/\\]+$")
    gt_answer: str | None = None


_MODEL_BY_KIND: Mapping[str, type[_Line]] = {
    "true_false": _Statement,
    "integer": _Count,
    "choice": _Group,
    "description": _Video,
}
MODELS: Mapping[str, type[_Line]] = {
    name: _MODEL_BY_KIND[task.kind] for name, task in TASKS.items() if name != "oc-vid"
}
"""The models of the released tasks, which include no videos of objects."""


class SkippedRecord(Exception):
    """A record that the authors' scripts skip: it has fewer than two images."""


def without_slips(task: str, fields: Any) -> tuple[Any, str]:
    """The fields with a differently written answer normalised, and a text about the change.

    Only lossless changes are made: "2" and 2.0 become counts, true and "True" become T. Other values stay, and are
    refused later. Raises SkippedRecord for records that the authors' scripts skip.
    """
    if not isinstance(fields, dict):
        return fields, ""
    images = fields.get("images")
    if issubclass(MODELS[task], _Imaged) and isinstance(images, list) and len(images) < 2:
        raise SkippedRecord
    answer, kind = fields.get("gt_answer"), TASKS[task].kind
    same: Any = answer
    if kind == "true_false":
        same = _TRUTHS.get(str(answer).strip().lower(), answer)
    elif kind == "integer" and not isinstance(answer, bool):
        if isinstance(answer, str) and re.fullmatch(r"\s*\d{1,6}(\.0+)?\s*", answer):
            same = int(float(answer))
        elif isinstance(answer, float) and answer.is_integer():
            same = int(answer)
    if same is answer or (same == answer and type(same) is type(answer)):
        return fields, ""
    return {**fields, "gt_answer": same}, f"gt_answer {json.dumps(answer)} read as {json.dumps(same)}"


_TRUTHS = {"t": "T", "true": "T", "f": "F", "false": "F"}


def record_of(task: str, location: str, fields: Any, *, line: int = 0) -> QuestionRecord:
    """The record of a line's fields; `line` is its number in a TSV.

    Raises ValueError with a text that lists all errors in the line.
    """
    question = validate_line(MODELS[task], fields)
    cells = _of_video(task, question) if isinstance(question, _Video) else _of_images(task, question)
    cells["factors"] = ({"type": question.type} if question.type else {}) | cells.get("factors", {})
    return QuestionRecord(location, task, line=line, **{"question": question.question, **cells})


def _of_video(task: str, video: _Video) -> dict[str, Any]:
    pattern = "PQP" if "ABA" in video.vid else "PQ"
    return {
        "group": f"{task}-{video.vid}",
        "answer": video.gt_answer or "",
        "factors": {"pattern": pattern},
        "provenance": {"vid": video.vid},
    }


def _of_images(task: str, line: _Line) -> dict[str, Any]:
    assert isinstance(line, _Statement | _Count | _Group)
    main, mark = _id_parts(task, str(line.q_id))
    cells: dict[str, Any] = {"group": f"{task}-{main}", "mark": mark, "images": len(line.images)}
    cells["provenance"] = {"q_id": str(line.q_id)}
    if isinstance(line, _Statement):
        return {**cells, **_statement(task, line, mark)}
    return {**cells, **(_count(line) if isinstance(line, _Count) else _group(line))}


def _id_parts(task: str, q_id: str) -> tuple[str, str]:
    """(name of the pair, wording). Cpr ids are cut at the first `_`, as in the released scorer."""
    if not task.endswith("-cpr"):
        return q_id, ""
    main, _, mark = q_id.removeprefix("tf_").partition("_")
    if not main or mark not in ("p", "n"):
        raise ValueError(f"q_id: {q_id!r} is neither ID_p nor ID_n")
    return main, mark


def _statement(task: str, statement: _Statement, mark: str) -> dict[str, Any]:
    positive = statement.gt_answer == "T" if task.startswith("gc") else mark == "p"
    factors = {"wording": "positive" if positive else "negative"}
    if task.startswith("gc") and (cue := cue_of(statement.edited_prompt or "")):
        factors["cue"] = cue
    if task == "gc-mat" and any(prompts.MATCH[edit].rstrip("?") in statement.question for edit in ("add", "remove")):
        factors["cue"] = "add/remove"
    cells: dict[str, Any] = {"answer": "true" if statement.gt_answer == "T" else "false", "factors": factors}
    if statement.edited_prompt:
        cells["provenance"] = {"q_id": str(statement.q_id), "edited_prompt": statement.edited_prompt}
    return cells


_ADDED_OR_REMOVED = re.compile(r"(add|put|insert|include|remove|delete|erase|get rid of|take (away|out))\b")
_SWAPPED = re.compile(r"(replace|swap|exchange|substitute)\b|(turn|change|transform|convert)\b.*\binto an? ")
_SURROUNDINGS = re.compile(
    r"\b(background|sky|weather|season|setting|scenery|environment|lighting|time of day|night(time)?|daytime|sunset)\b"
)
_ALTERED = re.compile(r"(make|colou?r|paint|dye|change the (colou?r|material|texture|pattern|size)|turn|change)\b")
_POLITE = re.compile(r"^(please|can you|could you|let'?s)\s+")


def cue_of(instruction: str) -> str:
    """The paper's type of cue for an edit, inferred from the instruction's verb; empty if that is not possible."""
    text = _POLITE.sub("", " ".join(instruction.lower().split()))
    if _ADDED_OR_REMOVED.match(text):
        return CUE_BY_EDIT["add"]
    is_swap = _SWAPPED.match(text)
    if (is_swap or _ALTERED.match(text)) and _SURROUNDINGS.search(text):
        return CUE_BY_EDIT["environment"]
    return CUE_BY_EDIT["swap"] if is_swap else CUE_BY_EDIT["attribute"] if _ALTERED.match(text) else ""


def _count(counting: _Count) -> dict[str, Any]:
    length = len(counting.images)
    if not 1 <= counting.gt_answer <= length:
        raise ValueError(f"gt_answer: {counting.gt_answer} is not a possible count of {length} images")
    note = f"image_seq_len is {counting.image_seq_len}" if counting.image_seq_len not in (None, length) else ""
    return {
        "answer": counting.gt_answer,
        "options": tuple(Option(str(n)) for n in range(1, length + 1)),
        "factors": {"pattern": _pattern(length, length - counting.gt_answer + 1)},
        "note": note and f"{note}, with {length} images; the number of images is used",
    }


def _pattern(length: int, largest_group: int) -> str:
    """The only pattern of Table 5 in which `largest_group` images show the same one (`AAB`)."""
    return "A" * largest_group + ascii_uppercase[1 : 1 + length - largest_group]


def _group(group: _Group) -> dict[str, Any]:
    choices = parse_choices(group.question)
    answer = re.fullmatch(r"\s*\(?([A-Z])(?:\)\s*(.*?))?[\s.;]*", group.gt_answer, re.DOTALL)
    index = ascii_uppercase.find(answer[1]) if answer else -1
    if answer is None or index >= len(choices.options) or answer[2] not in (None, "", choices.options[index].text):
        raise ValueError(f"gt_answer: {group.gt_answer!r} is not one of the choices of the question")
    key = choices.options[index].key
    cells = {"question": choices.question, "answer": key, "options": choices.options, "inline": choices.inline}
    if key != "none" and "+" not in key:
        return cells  # a text in another form, without a known pattern
    largest_group = 1 if key == "none" else key.count("+") + 1
    return {**cells, "factors": {"pattern": _pattern(len(group.images), largest_group)}}


class ReleasedChoices(NamedTuple):
    """A question, the options parsed from it, and whether it still contains them."""

    question: str
    options: tuple[Option, ...]
    inline: bool


_HEADER = re.compile(r"\b(?:choices|options)\s*:\s*", re.IGNORECASE)
_LETTER = re.compile(r"(?<!\w)\(?([A-Z])\)\s*")
_NUMBERS = re.compile(r"(?:images?\s+)?\d+(?:\s*(?:,\s*and|,|and|&)\s*(?:images?\s+)?\d+)+", re.IGNORECASE)


def parse_choices(question: str) -> ReleasedChoices:
    """The options after `Choices:` (Table 8), cut from the question if `with_choices` recreates the same text.

    Raises ValueError if there are none, or two are the same.
    """
    headers = list(_HEADER.finditer(question))
    marks = list(_LETTER.finditer(question, headers[-1].end())) if headers else []
    letters = "".join(mark[1] for mark in marks)
    if len(marks) < 2 or not ascii_uppercase.startswith(letters) or marks[0].start() != headers[-1].end():
        raise ValueError("question: no options A) …; B) … after 'Choices:'")
    ends = [*(mark.start() for mark in marks[1:]), len(question)]
    texts = [question[mark.end() : end].strip(" ;,.\n\r\t") for mark, end in zip(marks, ends, strict=True)]
    options = tuple(Option(option_key(text), text) for text in texts)
    if len({option.key for option in options}) < len(options) or not all(texts):
        raise ValueError(f"question: two options are the same, or one is empty ({'; '.join(texts)})")
    stem = question[: headers[-1].start()].rstrip()
    same = with_choices(stem, options) == question
    return ReleasedChoices(stem if same else question, options, not same)


def with_choices(question: str, options: tuple[Option, ...]) -> str:
    """The question followed by its options, lettered in order, in the form used by presenters."""
    lettered = (f"{letter}) {option.text}" for letter, option in zip(ascii_uppercase, options, strict=False))
    return f"{question} {prompts.CHOICES.format(choices='; '.join(lettered))}"


def option_key(text: str) -> str:
    """The key of an option: `1+3` for `1 and 3`, `none` for `None`; other texts are their own keys."""
    if _NUMBERS.fullmatch(text):
        return "+".join(re.findall(r"\d+", text))
    return "none" if text.lower() == "none" else text
