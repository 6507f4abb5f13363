r"""The answer parser: the answer of a reply in the item's own terms, or None. It never guesses.

The rules, with examples, are in docs/answers.md. In short: a reply that is nothing but an answer is that answer; else
the last explicit declaration counts ("The answer is B", `\boxed{B}`, {"answer": "B"}); else, if all answers that are
named are the same, that one; else None. Only offered options count. The parser is imported at the first reply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from snellen.core.box_units import BOX_UNITS, asks_for_fractions
from snellen.core.item import AnswerKind, Box, ReplySpec

if TYPE_CHECKING:
    from snellen.scoring.answers.grammar import Grammar


def read_answer(text: str, spec: ReplySpec) -> Any | None:
    """The answer of the reply in the item's own terms, or None if it has no valid answer.

    Returns the option key of a choice, the sorted keys of several, 'true' or 'false', an int, a float, a box in pixels
    of the stored image (four floats), a point in them (two floats), a colour (three ints 0..255), or the stripped text.
    `read_answer(spec.write(answer), spec)` is `answer`. Never raises on any text, and takes time proportional to its
    length. Integers and numbers need not be among the options: these only define a guess.
    """
    if spec.kind != "choices" and _is_listed(spec) and (exact := read_exactly(text, spec)) is not None:
        return exact
    if spec.kind in ("text", "description") and not _is_listed(spec):
        from snellen.scoring.answers.plain import without_thoughts

        # Text is stored as UTF-8, which cannot encode half a surrogate pair.
        return without_thoughts(text).encode("utf-8", "replace").decode("utf-8").strip() or None
    return _read(text, spec)


def read_label(text: str, options: Sequence[tuple[str, str]]) -> str:
    """The label of the one option that a reply names by its label or its text, else empty; options are these two."""
    names = [(name, label) for label, shown in options for name in dict.fromkeys((label, shown)) if name]
    return str(read_answer(text, ReplySpec("choice", tuple(names))) or "")


def _is_listed(spec: ReplySpec) -> bool:
    """True if the answer is one of the options shown; those of integers and numbers only define a guess."""
    return spec.kind in ("choice", "true_false") or (bool(spec.keys) and spec.kind not in ("integer", "number"))


@cache
def _grammar(kind: AnswerKind, y_first: bool) -> Grammar:
    """The forms of answers that are not among options shown."""
    from snellen.scoring.answers.numbers import Numbers
    from snellen.scoring.answers.shapes import Boxes, Colours

    if kind in ("integer", "number"):
        return Numbers(integers=kind == "integer")
    return Boxes(y_first) if kind == "box" else Colours()


def _read(text: str, spec: ReplySpec, is_cut_off: bool = False) -> Any | None:
    """The answer of a reply that is no free text; of one that was cut off, only a declared one."""
    from snellen.scoring.answers.numbers import powers_written_out
    from snellen.scoring.answers.options import Options
    from snellen.scoring.answers.plain import prepare
    from snellen.scoring.answers.points import read_stored
    from snellen.scoring.answers.reading import read
    from snellen.scoring.answers.several import read_several
    from snellen.scoring.answers.shapes import numbers_written_out

    if spec.kind == "point":
        return read_stored(text, spec, is_cut_off)
    if spec.kind == "box":
        text = numbers_written_out(text, asks_for_fractions(spec))
    elif spec.kind in ("integer", "number"):
        text = powers_written_out(text)
    reply = prepare(text)
    reply = reply._replace(cut=reply.cut or is_cut_off)
    if spec.kind == "choices":
        return read_several(reply, spec)
    if _is_listed(spec):
        return read(reply, Options.from_spec(spec))
    answer = read(reply, _grammar(spec.kind, bool(spec.unit) and BOX_UNITS[spec.unit].y_first))
    return _stored_box(answer, spec) if spec.kind == "box" else answer


def _stored_box(box: Box | None, spec: ReplySpec) -> Box | None:
    """The box in pixels of the stored image; None if its numbers are in another unit than the one asked for."""
    from snellen.scoring.answers.shapes import FARTHEST_FRACTION

    if box is None or spec.frame is None:
        return box
    greatest = max(map(abs, box))
    farthest = (BOX_UNITS[spec.unit].side if spec.unit else 1.0 if asks_for_fractions(spec) else None) or math.inf
    if greatest > FARTHEST_FRACTION * farthest or (spec.unit and greatest <= 1):
        return None
    return spec.frame.inverse().box(box)


def read_cut_off(text: str, spec: ReplySpec) -> Any | None:
    """The answer of a reply that ended at the token limit, if a complete declaration stands before the cut, else None.

    A description is read as far as it goes.
    """
    from snellen.scoring.answers.plain import without_thoughts

    if spec.kind == "description":
        return read_answer(text, spec)
    if spec.kind == "text":
        return None
    return _read(finished(without_thoughts(text)), spec, is_cut_off=True)


END = re.compile(r"[.!?][\"'”’)\]*_`]{0,4}(?=\s)|[。！？\n}\]]|</\w{1,20}>")
"""The end of a sentence, a line, a bracket or a tag. A full stop at the very end may be a decimal point."""


def finished(text: str) -> str:
    """The text up to the last sentence, line, bracket or tag that ended."""
    ends = [match.end() for match in END.finditer(text)]
    return text[: ends[-1]] if ends else ""


def read_exactly(text: str, spec: ReplySpec) -> str | None:
    """The key of the option whose shown name equals the stripped reply exactly, or None."""
    stripped = text.strip()
    keys = {key for name, key in spec.keys if stripped in name and name.strip() == stripped}
    return keys.pop() if len(keys) == 1 else None


def answer_form(text: str, spec: ReplySpec) -> str:
    """The form of the answer in the reply: "none", "as asked", or the name of another form than the one asked for.

    For reports that count forms. Boxes: the units (`core.box_units`) in which the numbers are a box within the image,
    smallest first and joined by "or", or "corners exchanged", "corner and size", "point". A box that is read in another
    unit than fractions has the name of that unit. Colours: "hex", "short hex", "bare hex", "rgba", "percentages", "unit
    floats", "other colour system". `read_answer` does not read all of these forms.
    """
    from snellen.scoring.answers.plain import prepare
    from snellen.scoring.answers.points import point_form
    from snellen.scoring.answers.shapes import box_form, colour_form

    is_read = read_answer(text, spec) is not None
    if spec.kind in ("box", "point"):
        unread_form = box_form if spec.kind == "box" else point_form
        return spec.unit or "as asked" if is_read else unread_form(text, spec) or "none"
    form = colour_form(prepare(text).text) if spec.kind == "colour" and not spec.keys else ""
    return form or ("as asked" if is_read else "none")
