"""Reads the answer of a reply: it is an answer, or declares one, or names only one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from snellen.scoring.answers import finished, statements
from snellen.scoring.answers.cues import CUES, MARKERS
from snellen.scoring.answers.grammar import Grammar, Mention, is_compared
from snellen.scoring.answers.plain import CLOSE, OPEN, Prepared
from snellen.scoring.answers.statements import Sentence, Statement, conclusion, is_corrected, split_sentences
from snellen.scoring.answers.vocabulary import WRONG_WORDS

FARTHEST = 2000
"""Greatest distance from a marker to the end of its answer."""
SENTENCE_LIMIT = 300
"""Greatest distance back to the beginning of a sentence."""
TICK = re.compile(r"[✅✔☑✓🗸]|\[[xX]\]")
CROSS = re.compile(r"[❌✗✘✕🚫]|\[ \]")
MAX_MARKERS = 100
"""After this many markers that declare nothing, reading ends."""


@dataclass(frozen=True)
class Declaration:
    """A place where an answer is declared, and its verdict, which is None if it turns out to be no declaration.

    `manner`: "firm" if it is marked as the answer, else "soft" or "conclusion". A later refusal retracts these, and an
    earlier firm declaration of another answer opposes a conclusion.
    """

    start: int
    verdict: Callable[[], Statement | None]
    manner: str = "firm"


def read(reply: Prepared, grammar: Grammar) -> Any | None:
    """The answer of a reply, or None."""
    text = reply.text
    may_dangle = text.rstrip(" .…")[-1:].lower() in "drsx+*/×÷=&-:" and not grammar.reaches_on
    if may_dangle and CUES["dangling"].search(text[-60:]):
        reply = Prepared(text := finished(text), cut=True)
    if not reply.cut and (answer := grammar.alone(text.strip(f"{OPEN}{CLOSE} \n"))) is not None:
        return answer
    grammar = grammar.within(text)
    named = [] if reply.cut else grammar.mentions(text, False)
    sentences = [] if reply.cut else split_sentences(text)  # but not "Sure, I can help" and "I hope this helps"
    sentences = [sentence for sentence in sentences if not CUES["boilerplate"].match(sentence.text)]
    statement = conclusion(sentences, grammar)
    concluded = [Declaration(statement.start, partial(Statement, statement.value), "conclusion")] if statement else []
    declarations = sorted(
        [*_declarations(text, grammar, named, sentences), *concluded], key=lambda declaration: -declaration.start
    )
    aside = {part for part in declarations if CUES["set_aside"].search(text[max(0, part.start - 40) : part.start])}
    declarations = [part for part in declarations if part not in aside] or declarations
    for index, declaration in enumerate(declarations[:MAX_MARKERS]):
        if (verdict := declaration.verdict()) is not None:
            is_firm = declaration.manner == "firm"
            return verdict.value if is_firm else _unopposed(text, verdict, declarations[index:MAX_MARKERS])
    if reply.cut or len(declarations) > MAX_MARKERS or _breaks_off(text, sentences, grammar):
        return None
    if (value := _weak_statement(text, sentences, grammar)) is not None:
        return value
    named = [mention for mention in named if not CUES["question"].match(text, mention.end)]
    value = _common_value(named)
    if value is None or any(CUES[name].search(text) for name in ("unsure", "refused", "missing")):
        return None
    if grammar.counts and len(sentences) > 1 and any(CUES["part"].search(sentence.text) for sentence in sentences):
        return None
    is_other = not grammar.counts and all(_is_other(text, mention) for mention in named)
    in_case = all(_in_condition(text, mention.start) for mention in named)
    return None if is_other or in_case or is_corrected(sentences, grammar) else value


def _is_other(text: str, mention: Mention) -> bool:
    """True if an option is only compared with the answer, or is said to be the farther or the different one."""
    before = CUES["opposed"].search(text[max(0, mention.start - 40) : mention.start])
    return bool(before or CUES["reversed"].match(text, mention.end)) or is_compared(text, mention)


def _breaks_off(text: str, sentences: Sequence[Sentence], grammar: Grammar) -> bool:
    """True if a reply ends within a sentence: in a word that cannot end one, or without full stop and answer."""
    if grammar.reaches_on or CUES["cut_off"].search(text, max(0, len(text) - 40)):
        return not grammar.reaches_on
    if len(sentences) < 2 or not text[-1].isalnum():
        return False
    item = CUES["item"].match(sentences[-1].text)
    rest = sentences[-1].text[item.end() if item else 0 :]
    full_stop = len(sentences) > 2 and sentences[-2].text.rstrip()[-1] in ".!?"
    return bool(item or full_stop) and not grammar.mentions(rest, True)


def _unopposed(text: str, verdict: Statement, declarations: Sequence[Declaration]) -> Any | None:
    """The value of the first declaration, unless a later refusal or an earlier firm declaration contradicts it.

    A conclusion that commits to nothing does not overrule an earlier firm declaration.
    """
    firm = (declaration.verdict() for declaration in declarations[1:] if declaration.manner == "firm")
    earlier = next(filter(None, firm), None) if declarations[0].manner == "conclusion" else None
    if verdict.value is None:
        return earlier.value if earlier else None
    if CUES["refused"].search(text, declarations[0].start):
        return None
    return None if earlier and earlier.value not in (None, verdict.value) else verdict.value


def _weak_statement(text: str, sentences: Sequence[Sentence], grammar: Grammar) -> Any | None:
    """The value that the last total, the last paragraph or the first sentence states, if nothing is declared."""
    states = (statements.closing, statements.opening, *((statements.total,) if grammar.counts else ()))
    stated = [statements.concluded(text, grammar), *(state(sentences, grammar) for state in states)]
    valued = [statement for statement in stated if statement is not None and statement.value is not None]
    if not valued:
        return None
    last = max(valued, key=lambda statement: statement.start)
    if CUES["refused"].search(text, last.start) or (grammar.counts and CUES["missing"].search(text)):
        return None
    if last.start == sentences[0].start and CUES["unsure"].search(text):
        return None
    return last.value


def _common_value(named: Iterable[Mention]) -> Any | None:
    """The value of all mentions, or None if they differ."""
    values = {mention.value for mention in named}
    return values.pop() if len(values) == 1 else None


def _declarations(
    text: str, grammar: Grammar, named: list[Mention], sentences: Sequence[Sentence]
) -> Iterator[Declaration]:
    best = [("next soft", CUES["best"])] if sentences and not grammar.counts else []
    for manner, marker in (*MARKERS, *best):
        weight = "conclusion" if marker is CUES["best"] else "soft" if manner.endswith("soft") else "firm"
        for match in marker.finditer(text):
            if not _is_hypothetical(text, match.start()):
                yield Declaration(match.start(), partial(_follow, text, match.end(), manner, grammar), weight)
    yield from _bare_line(text, grammar)
    yield from _approved(text, named)
    yield from _corrected(text, named, grammar)
    yield from _ticked(text, grammar)
    yield from _truths(text, grammar)
    for match in list(CUES["therefore"].finditer(text))[-1:]:
        rest = text[match.end() :]
        if len(rest) < FARTHEST and (value := grammar.alone(CUES["turn"].sub("", rest, count=1).strip())) is not None:
            yield Declaration(match.start(), partial(Statement, value))


def _truths(text: str, grammar: Grammar) -> Iterator[Declaration]:
    """Verdicts on the statement, such as "That is not true": denying one of the two truth values means the other."""
    if grammar.truth(True) is None:
        return
    for match in CUES["truth"].finditer(text):
        value = grammar.truth((match["word"].lower() not in WRONG_WORDS) != bool(match["denied"]))
        if not _is_hypothetical(text, match.start()) and "?" not in text[match.end() : match.end() + 1]:
            quoted = bool(match["answer"] or match["quote"])
            if quoted and grammar.alone(re.split(r"[.!?\n]", text[:80], maxsplit=1)[0].strip()) not in (None, value):
                value = None  # "True. The statement "..." is false."
            yield Declaration(match.start(), partial(Statement, value), "conclusion" if quoted else "firm")


def _ticked(text: str, grammar: Grammar) -> Iterator[Declaration]:
    """The option in the only line with a tick, in a list or a table that names other options too."""
    lines = [line for line in text.split("\n") if TICK.search(line)]
    if grammar.counts or len(lines) != 1 or CROSS.search(lines[0]) or len(TICK.findall(lines[0])) > 1:
        return
    ticked, named = (grammar.mentions(part, False) for part in (lines[0], text))
    value = _common_value(ticked) if CROSS.search(text) else grammar.alone(TICK.sub("", lines[0]).strip(" |-"))
    if value is not None and {value} != {mention.value for mention in named}:
        yield Declaration(text.find(lines[0]), partial(Statement, value), "conclusion")


def _is_hypothetical(text: str, position: int) -> bool:
    """True if the text at this position is one case of several: "If they differ, the answer is F"."""
    return bool(CUES["hypothetical"].search(text[max(0, position - 40) : position])) or _in_condition(text, position)


def _in_condition(text: str, position: int) -> bool:
    """True if the sentence at this position begins with "if"."""
    lead = text[max(0, position - SENTENCE_LIMIT) : position]
    starts = [match.end() for match in CUES["sentence_start"].finditer(lead)]
    return bool(CUES["condition"].match(lead[starts[-1] :] if starts else lead))


def _follow(text: str, start: int, manner: str, grammar: Grammar) -> Statement | None:
    """The verdict of a marker that ends at `start`."""
    passage = _passage_behind(text, start, grammar)
    if not passage.strip():
        return None
    if _is_list(text, start, grammar):
        return None if grammar.counts else Statement(None)
    soft = Statement(None) if manner.endswith("firm") or manner == "is" else None
    if manner == "is" and grammar.truth(True) is not None and CUES["about_it"].fullmatch(passage.strip(" .!")):
        return None
    rest = CUES["turn" if manner.startswith("next") else "lead"].sub("", passage, count=1)
    for form in dict.fromkeys((passage, rest)):
        if (answer := grammar.alone(form.strip())) is not None:
            return Statement(answer)
    passage = rest
    named = grammar.mentions(passage, True)
    first = named[0].start if named else len(passage)
    if manner == "is" and (about := CUES["about_it"].match(passage)) and first >= about.end():
        return None
    between = passage[:first]
    is_apart = between.strip(" \"'([") if manner.startswith("next") else CUES["sentence_end"].search(between)
    if not named or is_apart:
        return soft
    if manner == "soft" and CUES["reversed"].match(passage, named[0].end):
        return Statement(None)
    return Statement(_common_value(_sentence(passage, named)))


def _passage_behind(text: str, start: int, grammar: Grammar) -> str:
    """The text that a declaration refers to: the marked span, the rest of the line, or the next non-empty line."""
    if text[start - 1] == OPEN:
        return text[start : text.find(CLOSE, start)][:FARTHEST]
    passage = text[start : start + FARTHEST]
    if not grammar.reaches_on:
        passage = next((line for line in passage.split("\n") if line.strip(" *_#:>-\"'")), "")
    return passage.replace(OPEN, " ").replace(CLOSE, " ").lstrip()


def _is_list(text: str, start: int, grammar: Grammar) -> bool:
    """True if a declaration is followed by lines of steps, or of options one after the other."""
    if text[start - 1] == OPEN or grammar.reaches_on:
        return False
    lines = [line for line in text[start : start + FARTHEST].split("\n", 8)[:8] if line.strip(" *_#:>-\"'")]
    marks = [mark for line in lines if (mark := grammar.listed(line)) is not None]
    if not lines or not marks or grammar.listed(lines[0]) is None:
        return False
    own_line = not text[start : start + FARTHEST].split("\n", 1)[0].strip(" *_#:>-\"'")
    return len(set(marks)) > 1 or (grammar.counts and own_line and len(lines[0].split()) > 3)


def _sentence(passage: str, named: list[Mention]) -> Iterator[Mention]:
    """The first mention, and those of the same statement."""
    end = named[0].end
    yield named[0]
    for before, mention in pairwise(named):
        # "B. red": the dot of a label, not the end of a sentence.
        follows = before.label and not mention.label and not passage[before.end : mention.start].strip("\n ).:,]\"'-")
        if not follows and CUES["cut"].search(passage, end, mention.start):
            return
        end = mention.end
        yield mention


def _bare_line(text: str, grammar: Grammar) -> Iterator[Declaration]:
    """A last or first line that is only an answer, unless it belongs to a list of several."""
    lines = [line.strip(f"{OPEN}{CLOSE} ") for line in text.split("\n") if line.strip()]
    values = [grammar.alone(line) for line in lines]
    bare = [value for value in values if value is not None]
    if len(lines) < 2 or not bare:
        return
    last, first = values[-1], values[0]
    before = grammar.listed(lines[-2])
    if before not in (None, last) and all(grammar.listed(line) != last for line in lines[:-1]):
        # "(A) ...", "(B) ...", and "(C)" cut off: the last item of a list
        last = None
    # The answer after a list of the options has a line of its own.
    is_list = len(bare) == len(lines) and text.find("\n\n") != text.rfind("\n") - 1
    if last is not None and (len(set(bare)) == 1 or (bare.count(last) > 1 and not is_list)):
        yield Declaration(text.rfind("\n"), partial(Statement, last))
    elif first is not None and len(set(bare)) == 1:
        turn = CUES["reconsidered"].search(text, len(lines[0]))
        later = {mention.value for mention in grammar.mentions(text[turn.end() :], False)} if turn else {first}
        yield Declaration(0, partial(Statement, first if later <= {first} else None))
    elif first is not None and last is not None:
        yield Declaration(0, partial(Statement, None))


def _corrected(text: str, named: list[Mention], grammar: Grammar) -> Iterator[Declaration]:
    """An answer that corrects another one in the same breath: "A... sorry, B", "4 no 5", "Yes, I mean no"."""
    for mention in named:
        position, words, value = mention.end, list[Any](), None
        while value is None and (filling := CUES["filling"].match(text, position)) and len(words) < 4:
            value, position = grammar.alone(filling[1]), filling.end()
            words, value = [*words, value], value if words else None
        if value is None and words and (following := CUES["following"].match(text, position)):
            value = grammar.alone(following[1])
        value = words[0] if value is None and len(words) > 1 else value
        if value not in (None, mention.value):
            yield Declaration(mention.end, partial(Statement, value), "soft")


def _approved(text: str, named: list[Mention]) -> Iterator[Declaration]:
    """Options that the reply approves: "B is correct", "(B) is the best answer"."""
    for before, mention in zip([None, *named], named, strict=False):
        if CUES["approved"].match(text, mention.end) and not _is_hypothetical(text, mention.start):
            joined = before and CUES["joined"].fullmatch(text, before.end, mention.start)
            denied = CUES["none_before"].search(text[max(0, mention.start - 80) : mention.start])
            agreed = not denied and (not joined or not before or before.value == mention.value)
            yield Declaration(mention.start, partial(Statement, mention.value if agreed else None), "soft")
