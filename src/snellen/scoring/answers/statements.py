"""Answers stated by single sentences of a reply: its conclusion, first sentence, total, last paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.grammar import Grammar
from snellen.scoring.answers.plain import CLOSE, OPEN

SENTENCE_BREAK = re.compile(r"[.!?][\"')\]]*(?=\s)|\n")
LONGEST_SENTENCE = 1000
"""A longer sentence is a table, a formula or noise."""
WORD = re.compile(r"[^\W\d_]{4,}")
THINGS = re.compile(r"[^\w.,;\n]{0,3}([^\W\d_]{3,} [^\W\d_]{3,})")
"""The two words after a number; not units, which several things share."""
ALIKE = 0.7
"""Share of common words from which on two sentences are about the same."""
LIST_MARK = re.compile(r"[^\w\n]*(?:[A-Za-z]|\d{1,2}|[Aa]pprox|[Cc]a)[)\]]?")
"""A letter or number alone before a dot: the mark of a list item, not a sentence. Or an abbreviation."""
LABEL_NOUN = re.compile(r"(?i)(?:the )?(?:image|picture|photo|option|choice|tile|panel|candidate) (?=[a-z]\W*\Z)")


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a line without a full stop. `paragraph`: the number of its paragraph, by blank lines."""

    start: int
    text: str
    paragraph: int


@dataclass(frozen=True)
class Statement:
    """What a sentence or a declaration states. `value` None: it commits to none, or to something that is not valid."""

    value: Any | None
    start: int = 0


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of a text, in order; overlong ones are left out."""
    sentences = list[Sentence]()
    start = paragraph = breaks = 0
    for end in [*(match.end() for match in SENTENCE_BREAK.finditer(text)), len(text)]:
        part = text[start:end]
        if not part.endswith("\n") and end < len(text) and LIST_MARK.fullmatch(part[:-1]):
            continue
        if len(part) <= LONGEST_SENTENCE and part.strip(f" \n{OPEN}{CLOSE}"):
            sentences.append(Sentence(start, part, paragraph))
            breaks = 0
        breaks += part.endswith("\n")
        if breaks == 2:
            paragraph += 1
        start = end
    return sentences


def conclusion(sentences: Sequence[Sentence], grammar: Grammar) -> Statement | None:
    r"""The statement of the last sentence that draws a conclusion.

    It begins with "Therefore", "So", "Overall", "In total", "Based on this analysis" and the like, or is the last
    sentence and continues with ", so". If it only announces, the next line belongs to it: "... would be:\n(A)".
    """
    for index in range(len(sentences) - 1, -1, -1):
        sentence = sentences[index]
        inner = list(CUES["concluding_within"].finditer(sentence.text)) if index == len(sentences) - 1 else []
        mark = CUES["concluding"].match(sentence.text) or (inner[-1] if inner else None)
        if mark is None:
            continue
        body = sentence.text[mark.end() :].strip()
        if (not body or body.endswith(":")) and index + 1 < len(sentences):
            body = f"{body} {sentences[index + 1].text}"
        if not grammar.mentions(body, False) or (grammar.counts and CUES["part"].search(body)):
            continue
        if body.rstrip().endswith("?") or CUES["condition"].match(sentence.text):
            return None
        value = grammar.stated(body)
        return Statement(value if _stands(value, index, sentences, grammar) else None, sentence.start)
    return None


def _stands(value: Any | None, index: int, sentences: Sequence[Sentence], grammar: Grammar) -> bool:
    """True if a number that a sentence states is near the end, alone and uncontradicted.

    More than two later sentences, or a "But" or another number in any of them, mean that counting continues. The first
    sentence (in nearly the same words) and the two before it (on the same things) must not state another number.
    """
    if not grammar.counts or value is None:
        return True
    later = sentences[index + 1 :]
    numbers = (mention.value for sentence in later for mention in grammar.mentions(sentence.text, False))
    if len(later) > 2 or any(CUES["turned"].match(sentence.text) for sentence in later):
        return False
    if any(number not in (None, value) for number in numbers):
        return False
    before = [*sentences[: min(index, 1)], *sentences[max(0, index - 2) : index]]
    things = {name for name, number in _counted(sentences[index], grammar) if number == value}
    counts = (count for sentence in before for count in _counted(sentence, grammar))
    if any(name in things and number not in (None, value) for name, number in counts):
        return False
    first, words = set(WORD.findall(sentences[0].text.lower())), set(WORD.findall(sentences[index].text.lower()))
    alike = len(first & words) >= ALIKE * len(first | words)
    return not alike or grammar.judged(sentences[0].text) in (None, value)


def _counted(sentence: Sentence, grammar: Grammar) -> Iterator[tuple[str, Any]]:
    """The things counted, in two words, and their number: "objects left", 3."""
    for mention in grammar.mentions(sentence.text, False):
        if things := THINGS.match(sentence.text, mention.end):
            yield things[1].lower(), mention.value


def total(sentences: Sequence[Sentence], grammar: Grammar) -> Statement | None:
    """The statement of the last sentence about a total, a remainder or "the number of"."""
    for index, sentence in reversed(list(enumerate(sentences))):
        if not CUES["total"].search(sentence.text) or CUES["part"].search(sentence.text):
            continue
        beside = [] if CUES["undecided"].search(sentence.text) else CUES["summed"].findall(sentence.text)
        value = grammar.alone("".join(beside[0])) if len(beside) == 1 else grammar.stated(sentence.text)
        if not CUES["condition"].match(sentence.text) and value is not None:
            stands = _stands(value, index, sentences, grammar)
            return Statement(value, sentence.start) if stands else None
    return None


def concluded(text: str, grammar: Grammar) -> Statement | None:
    """The answer under a last heading such as "Verdict", or of a last line "Label: answer" unlike the lines before."""
    *lines, line = [CUES["labelled"].fullmatch(part.strip()) for part in text.split("\n") if part.strip()] or [None]
    alike = (grammar.mentions(other[3], False) for other in lines if line and other and other[1] == line[1])
    heading = list(CUES["result_heading"].finditer(text))[-1:]
    label, part = line.group(2, 3) if line else ("", "")
    if heading:
        label, part = heading[0][0], text[heading[0].end() :].strip()
    settled = not any(cue.search(part) for cue in (CUES["hedged"], CUES["negated"], CUES["part"], CUES["withdrawn"]))
    too_long = ("\n\n" if "\n" in label else "\n") in part or len(part) > LONGEST_SENTENCE
    if any(alike) or too_long or not settled or CUES["not_result"].search(label):
        return None
    value = grammar.alone(re.sub(r" ?\([^()]{1,30}\)\Z", "", part))
    if heading and value is None:
        values = {mention.value for mention in grammar.mentions(part, False)}
        stated = values if grammar.reaches_on else values & {grammar.stated(part)}
        return Statement(stated.pop() if len(values) == len(stated) == 1 else None, heading[0].start())
    # Labels that mean no result may belong to a part, or to another yes-or-no question.
    is_truth = grammar.truth(True) is not None or part.strip(" .!").lower() in ("yes", "no")
    return Statement(value, text.rfind(part)) if heading or not (is_truth or isinstance(value, int)) else None


def closing(sentences: Sequence[Sentence], grammar: Grammar) -> Statement | None:
    """The last sentence, if it is a verdict alone, or the last paragraph, if it is one sentence and no list item."""
    if len(sentences) < 2:
        return None
    before, last = sentences[-2:]
    value = _alone(last, grammar)
    is_verdict = value is not None and grammar.truth(True) is not None
    if is_verdict and before.text.rstrip()[-1:] in (".", "!") and not CUES["condition"].match(before.text):
        return Statement(value, last.start)
    if before.paragraph == last.paragraph:
        return None
    if CUES["part"].search(last.text) or not last.text.lstrip()[:1].isupper():
        return None
    value = grammar.judged(last.text)
    return Statement(value if _stands(value, len(sentences) - 1, sentences, grammar) else None, last.start)


def is_corrected(sentences: Sequence[Sentence], grammar: Grammar) -> bool:
    """True if a sentence corrects the count before it, or withdraws yes or no and names no other answer."""
    if grammar.counts:
        turned = [sentence.text for sentence in sentences[1:] if CUES["turned"].match(sentence.text)]
        return any(CUES["recounted"].search(text) or grammar.mentions(text, False) for text in turned)
    turns = [index for index, sentence in enumerate(sentences) if index and CUES["withdrawn"].match(sentence.text)]
    return bool(turns) and not any(grammar.mentions(sentence.text, False) for sentence in sentences[turns[-1] :])


def _alone(sentence: Sentence, grammar: Grammar) -> Any | None:
    return grammar.alone(LABEL_NOUN.sub("", sentence.text.strip()))


def opening(sentences: Sequence[Sentence], grammar: Grammar) -> Statement | None:
    """The statement of the first sentence, if no later one states something else in the same way."""
    if not sentences or (grammar.counts and (len(sentences) < 2 or CUES["part"].search(sentences[0].text))):
        return None
    first, rest = sentences[0], sentences[1:]
    if is_corrected(sentences, grammar):
        return None
    # Including the second sentence, since "No. They are not the same" is as doubtful as with a comma.
    alone = rest and not first.text.endswith(("\n", "?")) and grammar.mentions(f"{first.text} {rest[0].text}", False)
    value = _alone(first, grammar) if alone else None
    explained = grammar.counts and value is not None and grammar.mentions(first.text, False)
    if value is None:
        value = grammar.judged(first.text)
    if value is None and rest and CUES["evident"].match(rest[0].text):
        value = grammar.stated(first.text)
    later = grammar.stated if grammar.counts else grammar.judged
    others = {None if explained else later(sentence.text) for sentence in rest}
    others |= {_alone(sentence, grammar) for sentence in rest} | {None, value}
    return Statement(value, first.start) if value is not None and len(others) == 2 else None
