r"""The answer parser: the answer of a reply in the item's own terms, or None. It never guesses.

The rules, with examples, are in docs/answers.md. In short: a reply that is nothing but an answer is that answer; else
the last explicit declaration counts ("The answer is B", `\boxed{B}`, {"answer": "B"}); else, if all answers that are
named are the same, that one; else None. Only offered options count.
"""

from __future__ import annotations

from typing import Any

from snellen.core.item import AnswerKind, ReplySpec
from snellen.scoring.answers.forms import box_form, colour_form
from snellen.scoring.answers.grammar import Grammar
from snellen.scoring.answers.json_values import read_json_objects
from snellen.scoring.answers.numbers import Numbers
from snellen.scoring.answers.options import Options
from snellen.scoring.answers.plain import prepare, without_thoughts
from snellen.scoring.answers.reading import read
from snellen.scoring.answers.shapes import FARTHEST_SHARE, Boxes, Colours, asks_for_shares

__all__ = ["answer_form", "read_answer", "read_exactly", "read_json_objects"]

GRAMMARS: dict[AnswerKind, Grammar] = {
    "integer": Numbers(integers=True),
    "number": Numbers(integers=False),
    "box": Boxes(),
    "colour": Colours(),
}


def read_answer(text: str, spec: ReplySpec) -> Any | None:
    """The answer of the reply in the item's own terms, or None if it has no valid answer.

    Returns the option key of a choice, 'true' or 'false', an int, a float, a box in pixels of the stored image (four
    floats), a colour (three ints 0..255), or the stripped text. `read_answer(spec.write(answer), spec)` is `answer`.
    Never raises on any text, and takes time proportional to its length. Integers and numbers need not be among the
    options: these only define a guess.
    """
    listed = spec.keys and spec.kind not in ("integer", "number")
    if listed or spec.kind in ("choice", "true_false"):
        exact = read_exactly(text, spec)
        return exact if exact is not None else read(prepare(text), Options.from_spec(spec))
    if spec.kind in ("text", "description"):
        # Text is stored as UTF-8, which cannot encode half a surrogate pair.
        return without_thoughts(text).encode("utf-8", "replace").decode("utf-8").strip() or None
    answer = read(prepare(text), GRAMMARS[spec.kind])
    if (
        spec.kind == "box"
        and answer is not None
        and asks_for_shares(spec.frame)
        and max(map(abs, answer)) > FARTHEST_SHARE
    ):
        return None  # pixels, percent or thousandths: ambiguous
    if spec.kind == "box" and spec.frame is not None and answer is not None:
        return spec.frame.inverse().box(answer)
    return answer


def read_exactly(text: str, spec: ReplySpec) -> str | None:
    """The key of the option whose shown name equals the stripped reply exactly, or None."""
    stripped = text.strip()
    keys = {key for name, key in spec.keys if stripped in name and name.strip() == stripped}
    return keys.pop() if len(keys) == 1 else None


def answer_form(text: str, spec: ReplySpec) -> str:
    """The form of the answer in the reply: "none", "as asked", or the name of another form than the one asked for.

    For reports that count forms. Boxes: "corners exchanged", "percent", "pixels", "pixels or percent", "corner and
    size", several joined by a comma. Colours: "hex", "short hex", "bare hex", "rgba", "percentages", "unit floats",
    "other colour system". `read_answer` does not read all of these forms: ambiguous numbers are no answer.
    """
    if spec.keys or spec.kind not in ("box", "colour"):
        return "none" if read_answer(text, spec) is None else "as asked"
    plain = prepare(text).text
    form = box_form(plain, spec.frame) if spec.kind == "box" else colour_form(plain)
    return form or ("none" if read_answer(text, spec) is None else "as asked")
