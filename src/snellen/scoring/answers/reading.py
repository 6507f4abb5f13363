"""From a reply to its answer: the reply is one, or declares one, or names only one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeAlias

from snellen.scoring.answers import markers
from snellen.scoring.answers.grammar import Grammar, Mention
from snellen.scoring.answers.markers import Manner
from snellen.scoring.answers.plain import CLOSE, OPEN, Prepared

FARTHEST = 2000
"""How far behind its marker an answer may end."""
MAX_MARKERS = 100
"""After so many markers that declare nothing, looking for one that does ends, and so does reading."""


@dataclass(frozen=True)
class Verdict:
    """What a declaration comes to. `value` None: it declares something, and nothing that counts."""

    value: Any | None


Declaration: TypeAlias = tuple[int, Callable[[], Verdict | None]]
"""Where it stands, and what it comes to; None if it turns out to be no declaration."""


def read(reply: Prepared, grammar: Grammar) -> Any | None:
    """The answer of a reply, or None."""
    text = reply.text
    if not reply.cut and (answer := grammar.alone(text.strip(f"{OPEN}{CLOSE} \n"))) is not None:
        return answer
    named = [] if reply.cut else grammar.mentions(text, False)
    declarations = sorted(_declarations(text, grammar, named), key=lambda declaration: -declaration[0])
    for _, verdict in declarations[:MAX_MARKERS]:
        if (declared := verdict()) is not None:
            return declared.value
    if reply.cut or len(declarations) > MAX_MARKERS or markers.UNSURE.search(text):
        return None
    return _common_value(mention for mention in named if not markers.QUESTION.match(text, mention.end))


def _common_value(named: Iterable[Mention]) -> Any | None:
    """The value on which all agree."""
    values = {mention.value for mention in named}
    return values.pop() if len(values) == 1 else None


def _declarations(text: str, grammar: Grammar, named: list[Mention]) -> Iterator[Declaration]:
    for manner, marker in markers.MARKERS:
        for match in marker.finditer(text):
            if not markers.HYPOTHETICAL.search(text[max(0, match.start() - 40) : match.start()]):
                yield match.start(), partial(_follow, text, match.end(), manner, grammar)
    yield from _bare_line(text, grammar)
    yield from _approved(text, named)
    for match in list(markers.THEREFORE.finditer(text))[-1:]:
        rest = text[match.end() :]
        if len(rest) < FARTHEST and (value := grammar.alone(rest[_past(markers.TURN, rest) :].strip())) is not None:
            yield match.start(), partial(Verdict, value)


def _past(pattern: Any, piece: str) -> int:
    """The length of what the pattern matches at the beginning."""
    match = pattern.match(piece)
    return int(match.end()) if match else 0


def _follow(text: str, start: int, manner: Manner, grammar: Grammar) -> Verdict | None:
    """What a marker that ends at `start` declares."""
    piece = _piece(text, start, grammar)
    if not piece.strip():
        return None
    soft = Verdict(None) if manner.endswith("firm") or manner == "is" else None
    if (answer := grammar.alone(piece.strip())) is not None:
        return Verdict(answer)
    piece = piece[_past(markers.TURN if manner.startswith("next") else markers.LEAD, piece) :]
    if (answer := grammar.alone(piece.strip())) is not None:
        return Verdict(answer)
    named = grammar.mentions(piece, True)
    first = named[0].start if named else len(piece)
    if manner.startswith("next"):
        return Verdict(_common_value(_sentence(piece, named))) if not piece[:first].strip(" \"'([") and named else soft
    if manner == "is" and (about := markers.ABOUT_IT.match(piece)) and first >= about.end():
        return None
    if not named or markers.SENTENCE_END.search(piece[:first]):
        return soft
    return Verdict(_common_value(_sentence(piece, named)))


def _piece(text: str, start: int, grammar: Grammar) -> str:
    """What a declaration may be about: the marked span, the rest of the line, or the next line with anything on it."""
    if text[start - 1] == OPEN:
        return text[start : text.find(CLOSE, start)][:FARTHEST]
    piece = text[start : start + FARTHEST]
    if not grammar.reaches_on:
        piece = next((line for line in piece.split("\n") if line.strip(" *_#:>-\"'")), "")
    return piece.replace(OPEN, " ").replace(CLOSE, " ").lstrip()


def _sentence(piece: str, named: list[Mention]) -> Iterator[Mention]:
    """The first mention, and those that belong to the same statement."""
    end = named[0].end
    yield named[0]
    for before, mention in pairwise(named):
        # "B. red": the dot of a label, not the end of a sentence.
        follows = before.label and not piece[before.end : mention.start].strip("\n ).:,]\"'-")
        cut = markers.CUT.search(piece, end, mention.start)
        if cut and not follows:
            return
        end = mention.end
        yield mention


def _bare_line(text: str, grammar: Grammar) -> Iterator[Declaration]:
    """A last or first line that is nothing but an answer, unless it belongs to a list of several."""
    lines = [line for line in text.split("\n") if line.strip()]
    alone = cache(grammar.alone)
    bare = [value for line in lines if (value := alone(line.strip(f"{OPEN}{CLOSE} "))) is not None]
    if len(lines) < 2 or not bare:
        return
    last, first = (alone(lines[index].strip(f"{OPEN}{CLOSE} ")) for index in (-1, 0))
    if last is not None and (len(set(bare)) == 1 or bare.count(last) > 1):
        yield text.rfind("\n"), partial(Verdict, last)
    elif first is not None and len(set(bare)) == 1:
        yield 0, partial(Verdict, first)


def _approved(text: str, named: list[Mention]) -> Iterator[Declaration]:
    """Options that are approved of: "B is correct", "(B) is the best answer"."""
    before = None
    for mention in named:
        if markers.APPROVED.match(text, mention.end):
            joined = before and markers.JOINED.fullmatch(text, before.end, mention.start)
            agreed = not joined or not before or before.value == mention.value
            if not markers.HYPOTHETICAL.search(text[max(0, mention.start - 40) : mention.start]):
                yield mention.start, partial(Verdict, mention.value if agreed else None)
        before = mention
