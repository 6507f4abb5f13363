r"""The one answer parser: what a reply says, in the item's own terms, or None. It never guesses.

The rules, with examples, stand in docs/answers.md. In short: a reply that is nothing but an answer is that answer; else
the last explicit declaration counts ("The answer is B", `\boxed{B}`, {"answer": "B"}); else, if everything that is
named amounts to one answer, that one; else None. Only offered options count.
"""

from __future__ import annotations

from typing import Any

from snellen.core.item import AnswerKind, ReplySpec
from snellen.scoring.answers.grammar import Grammar
from snellen.scoring.answers.json_values import read_json_objects
from snellen.scoring.answers.numbers import Numbers
from snellen.scoring.answers.options import Options
from snellen.scoring.answers.plain import prepare, without_thoughts
from snellen.scoring.answers.reading import read
from snellen.scoring.answers.shapes import Boxes, Colours

__all__ = ["read_answer", "read_exactly", "read_json_objects"]

GRAMMARS: dict[AnswerKind, Grammar] = {
    "integer": Numbers(integers=True),
    "number": Numbers(integers=False),
    "box": Boxes(),
    "colour": Colours(),
}


def read_answer(text: str, spec: ReplySpec) -> Any | None:
    """What the reply says, in the item's own terms, or None where it says nothing that counts.

    Gives the option key of a choice, 'true' or 'false', an int, a float, a box in pixels of the stored picture (four
    floats), a colour (three ints 0..255), or the stripped text. `read_answer(spec.write(answer), spec)` is `answer`.
    Never raises on any text, and takes time proportional to its length. Integers and numbers are read as such whatever
    is offered: there, options say what may be guessed, and a number that none of them names was said all the same.
    """
    listed = spec.keys and spec.kind not in ("integer", "number")
    if listed or spec.kind in ("choice", "true_false"):
        exact = read_exactly(text, spec)
        return exact if exact is not None else read(prepare(text), Options.from_spec(spec))
    if spec.kind in ("text", "description"):
        # Text is stored as UTF-8, which has no place for half a surrogate pair.
        return without_thoughts(text).encode("utf-8", "replace").decode("utf-8").strip() or None
    answer = read(prepare(text), GRAMMARS[spec.kind])
    if spec.kind == "box" and spec.frame is not None and answer is not None:
        return spec.frame.inverse().box(answer)
    return answer


def read_exactly(text: str, spec: ReplySpec) -> str | None:
    """The key of the option whose shown name is the stripped reply, letter for letter, or None."""
    stripped = text.strip()
    keys = {key for name, key in spec.keys if stripped in name and name.strip() == stripped}
    return keys.pop() if len(keys) == 1 else None
