r"""OCR replies without their wrappers: `The text in the red bounding box reads "STOP".` is STOP.

Wrappers are tags, `\boxed{}`, JSON, code fences, labels (`Text: STOP`), quotes, code, bold and italics, and sentences
of reading (`It says: STOP`). `Answer: B` is B even if the sign says so: what looks like a wrapper is one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from snellen.core.item import ReplySpec
from snellen.scoring.answers import read_answer
from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.plain import LONGEST

WORDS = (
    "texts?|words?|writing|letters?|sign|label|inscription|answer|numbers?|characters?|says?|reads?|spells?|states?|see"
    "|shows?|displays?|written|printed|[Ii]t(?:['’]s| is)|Text|Wort|Schild|lautet|steht|heißt|texte|mot|écrit|indique"
    "|texto|palabra|[Dd]ice|escrito|palavra|[Dd]iz|testo|parola|scritt[oa]|текст|слово|[Нн]аписано|надпись|гласит"
)
"""Words of a sentence of reading. The English ones are in lower case: a sign in capitals is no sentence."""
CUE = re.compile(rf"\b(?:{WORDS})\b|文字|文本|单词|内容|写着|答案|書かれ|書いて|テキスト|텍스트|글자|단어|쓰여|적혀")
BEFORE = re.compile(
    rf"(?:^|\b(?:{WORDS}|is|are|be|as|like|contains?|has|with|follow(?:s|ing)|box|image|ist|est|es|è|é)"
    r"(?: (?:just|simply|likely|probably|clearly))?|[^\x00-\u024f])[\s,:(*_`\"]*$"
)
LABEL = re.compile(r"(?i)(?:(?:the|final|correct|extracted|detected) ){0,2}(?:text|answer|ocr|word|texte|texto|текст)")
COLON = re.compile(
    r"(?m)^[\s>#-]{0,6}(\*\*)?((?:\*\*[^*\n]{1,99}\*\*|[^*\n:：\"“„«「`]){1,200}?)(\*\*)?\s?[:：](?(1)(?(3)|\*\*))"
)
STOP = re.compile(r"(?<![.\s])(?<!\b[^\W\d])\.$|(?<=[^.]\.)\.$|。$")
"""A full stop of a sentence, unlike those of `A.`, `U.S.A.` and `...`."""
DECLARED = (
    re.compile(r"(?is)<(\w*answer|text|ocr|\|begin_of_box\|)>((?:(?!</\1>|<\|end).){1,400})<(?:/\1|\|end_of_box\|)>"),
    re.compile(r"(\\boxed|\\text\w{0,2}|\\math\w{2})\s?\{((?:[^{}]|\{[^{}]{0,400}\}){1,400})\}"),
    re.compile(r'(?i)"(\w{0,20}(?:text|answer|ocr|word|content|transcription))" ?: ?"((?:[^"\\]|\\.){0,400})"'),
    re.compile(r"(```(?:[\w-]{0,20}\n)?)([^`]{1,400})```"),
)
QUOTED = re.compile(
    "|".join(rf"{a}([^{a}{b}]{{1,400}}){b}" for a, b in ('""', "“”", "„“", "„”", "«»", "»«", "‹›", "「」", "『』"))
    + r"|(?<![\w'])'((?:[^'\n]|(?<=\w)'(?=\w)){1,400})'(?![\w'])|‘((?:[^‘’\n]|(?<=\w)’(?=\w)){1,400})’(?!\w)"
)
EMPHASISED = re.compile(
    r"(?<!`)`([^`\n]{1,400})`(?!`)|(?<!\*)\*{1,3}(?=[^\s*])([^*\n]{1,400})(?<=\S)\*{1,3}(?!\*)"
    r"|(?<!\w)__?(?=[^\s_])([^\n]{1,80}?)(?<=[^\s_])__?(?!\w)"
)
BOX = re.compile(r"(?:the )?(?:red ?)?(?:bounding )?(?:box|rectangle|image)?")
STATED = re.compile(
    r"(?:[^\n\".:]{1,80}, )?(?:[Tt](?:he|his)\b[^\n\":]{0,120}?\b(?:text|words?|writing|letters?|sign|label|box)\b"
    r"[^\n\":]{0,120}?|[Ii]t) (?:says|reads|spells|is(?= [^\sa-z])) ((?:(?![.!?]\s)[^\n]){1,400})"
)
CONCLUDED = re.compile(
    r"(?:^|[.!?,;\n]\s?)(?:(?:[Ss]o|[Tt]hus|[Tt]herefore|[Hh]ence|I (?:would )?(?:say|think|believe))(?: that)?,? )*"
    r"(?:(?:[Tt]he|[Mm]y) (?:final |correct |best )?answer (?:is|would be)|(?<=[.!?]\s)[Ii]t (?:says|reads|spells)) "
    r"((?:(?![.!?]\s)[^\n]){1,400})$"
)
"""The last sentence of a reply, or its last clause, that states the answer."""


def read_text(text: str, spec: ReplySpec) -> str | None:
    """The text that a reply to an OCR question gives, unwrapped; None if it refuses or is empty."""
    return None if (reply := read_answer(text, spec)) is None else unwrap(reply)


@lru_cache(maxsize=1 << 16)
def key_forms(answer: str) -> frozenset[str]:
    """The key as it stands and unwrapped as a reply is: one or two texts. The nearer one counts."""
    return frozenset((answer, unwrap(answer) or answer))


def unwrap(text: str) -> str | None:
    """The text within a reply's wrappers; the reply itself if it has none or several texts; None if it refuses."""
    text, is_marked = text.strip(), False
    for _ in range(8 if len(text) <= LONGEST else 0):
        refusal = None if is_marked else CUES["unreadable"].match(text)  # words of refusal in quotes are a text
        if refusal and not CUES["yet"].search(text, refusal.end()):
            return None
        if not (texts := _declared(text) or _after_colon(text)):
            texts, is_marked = _marked(text), True
        if len(texts) != 1:
            return None if refusal else text or None
        text = texts.pop().strip()
    return text or None


def _declared(text: str) -> set[str]:
    """The texts in tags, boxes, fences or fields of JSON: of the first of these that occurs."""
    texts = ({match[2] for match in pattern.finditer(text)} for pattern in DECLARED)
    return {re.sub(r"\\([%&#_$\"\\])", r"\1", inner) for inner in next(filter(None, texts), set[str]())}


def _after_colon(text: str) -> set[str]:
    """The paragraphs after labels and sentences that end with a colon; after an answer's, if there is one."""
    texts, answers, end = set[str](), set[str](), len(text)
    for match in reversed(list(COLON.finditer(text))):
        is_label = LABEL.fullmatch(match[2].strip("* "))
        if is_label or (CUE.search(match[2]) and BEFORE.search(match[2])):
            if inner := re.split(r"\n\s*\n", text[match.end() : end].strip())[0]:
                (answers if "nswer" in match[2] else texts).add(inner if is_label else STOP.sub("", inner))
            end = match.start()
    return answers or texts


def _marked(text: str) -> set[str]:
    """The texts in quotes or else in emphasis, alone or introduced by a sentence, or else the end of a sentence."""
    for pattern in (QUOTED, EMPHASISED) if text.count('"') % 2 == 0 else (EMPHASISED,):
        matches = list(pattern.finditer(text))
        matches = [match for match in matches if not BOX.fullmatch(match[0][1:-1].strip("*_"))] or matches
        rest = pattern.sub(" ", text).strip(" \n.:。")
        if matches and (not rest or (CUE.search(rest) and BEFORE.search(text[: matches[0].start()][-80:]))):
            texts = {next(filter(None, match.groups())) for match in matches}
            is_end = rest and matches[-1].end() == len(text)  # then the sentence's full stop stands within the quotes
            return {STOP.sub("", inner) for inner in texts} if is_end else texts
    stated = STATED.fullmatch(text) or CONCLUDED.search(text)
    return {STOP.sub("", stated[1])} if stated else set()
