"""The columns of a table, found by their usual names or given by `--map`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind
from snellen.datasets.hub_tables import IMAGE_COLUMNS
from snellen.datasets.own_images import shown_name
from snellen.datasets.question_tables import TURN

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "query", "text", "instruction", "problem", f"{TURN}human"),
    "answer": (
        *("answer", "answers", "gt_answer", "ground_truth", "correct_answer", "gt", "label", "target"),
        f"{TURN}gpt",
    ),
    "options": (
        *("options", "choices", "candidates", "answer_choices", "multiple_choices", "response_options"),
        *("multi-choice options", "multi_choice_options", "multiple_choice_options", "mc_options", "option"),
    ),
    "image": (
        *("decoded_image", "image", "images", "img", "image_path", "image_paths", "img_path", "image_file"),
        *("file_name", "filename", *IMAGE_COLUMNS[2:], "video", "videos", "video_path", "video_file"),
    ),
    "id": ("id", "index", "question_id", "qid", "uid", "sample_id", "item_id", "idx", "pid"),
    "task": ("task", "category"),
    "hint": ("hint",),
    "split": ("split",),
    "group": (),
    "cluster": (),
    "factors": (),
    "kind": (),
}
"""Usual names by what a column holds, in lower case: of lmms-eval, VLMEvalKit, Hugging Face sets and LLaVA."""
OPTION = re.compile(r"(?:option|choice|opt|op)[ _-]?([a-z]|\d{1,2})", re.IGNORECASE)
IMAGE = re.compile(r"(?:image|img)[ _-]?(\d{1,2})", re.IGNORECASE)
KINDS: tuple[AnswerKind, ...] = tuple(
    kind for kind in get_args(AnswerKind) if kind not in ("box", "point", "colour", "description")
)
"""The kinds of answer that a table may have."""


@dataclass(frozen=True)
class TableLayout:
    """Columns by what they hold; empty for none. Of `images`, all are shown if `all_images`, else the first filled.

    Several `options` are one option each; one is a list of them. `kind` is a kind of answer, empty to find it. `others`
    are columns that are not used.
    """

    question: str
    answer: str
    options: tuple[str, ...]
    images: tuple[str, ...]
    all_images: bool
    id: str = ""
    task: str = ""
    hint: str = ""
    split: str = ""
    group: str = ""
    cluster: str = ""
    factors: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    kind: AnswerKind | Literal[""] = ""

    def describe(self, question_lists_options: bool) -> str:
        """What is read from where, in one line."""
        options = _ticked(self.options[:1] + self.options[1:][-1:], "..")
        sources = {
            "question": _ticked([self.question]),
            "hint": _ticked([self.hint]),
            "options": options or "the question" * question_lists_options,
            "answer": _ticked([self.answer]),
            "image": _ticked(self.images, " and " if self.all_images else " or "),
            "id": _ticked([self.id]),
            "split": _ticked([self.split]),
            "factors": _ticked(self.factors, ", "),
        }
        return ", ".join(f"{name} from {source}" for name, source in sources.items() if source)


def _ticked(names: Sequence[str], separator: str = ", ") -> str:
    return separator.join(f"`{shown_name(name)}`" for name in names if name)


def find_columns(names: Sequence[str], given: Mapping[str, str], path: Path) -> TableLayout:
    """The columns of a table with these names; `given` names them (several with +; empty for none).

    Raises SnellenError for unknown names, and if there is no question, answer or image.
    """
    refuse_unknown(given, NAMES, "--map: no field")
    refuse_unknown([given.get("kind") or KINDS[0]], KINDS, "--map kind:")
    by_name = {name.casefold(): name for name in reversed(names)}

    def named(what: str) -> tuple[str, ...]:
        if what in given:
            written = [given[what]] if given[what] in names else list(filter(None, given[what].split("+")))
            refuse_unknown(written, names, f"{path}, --map {what}: no column")
            return tuple(written)
        return tuple(by_name[name] for name in NAMES[what] if name in by_name)

    def first(what: str) -> str:
        return next(iter(named(what)), "")

    images = named("image") or _numbered(names, IMAGE)
    layout = TableLayout(
        question=first("question"),
        answer=first("answer"),
        options=named("options") if "options" in given else _option_columns(names) or named("options")[:1],
        images=images,
        all_images="image" in given or (bool(images) and IMAGE.fullmatch(images[0]) is not None),
        factors=named("factors"),
        others=(),
        kind=next((kind for kind in KINDS if kind == given.get("kind")), ""),
        **{what: first(what) for what in ("id", "task", "hint", "split", "group", "cluster")},
    )
    for what in ("question", "answer", "images"):
        if not getattr(layout, what):
            field = what.rstrip("s")
            raise SnellenError(
                f"{path}: no column for the {field}; it has {shown_name(', '.join(names))}. Name it with "
                f"--map {field}=COLUMN"
            )
    used = {cell for entry in vars(layout).values() for cell in (entry if isinstance(entry, tuple) else (entry,))}
    return replace(layout, others=tuple(name for name in names if name not in used))


def _option_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Columns that hold one option each: A, B, C .., or option_a, choice_1 ..; empty if there are not two of them."""
    for letters in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"):
        run = [letter for letter in letters if letter in names]
        if len(run) > 1 and run == list(letters[: len(run)]):
            return tuple(run)
    numbered = _numbered([name for name in names if name.casefold() not in NAMES["options"]], OPTION)  # no option s
    return numbered if len(numbered) > 1 else ()


def _numbered(names: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The columns that match, in the order of their letter or number."""
    matches = [match for name in names if (match := pattern.fullmatch(name))]
    return tuple(match[0] for match in sorted(matches, key=lambda match: (len(match[1]), match[1].lower())))
