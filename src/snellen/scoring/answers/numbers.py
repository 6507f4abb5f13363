"""Answers that are numbers, in digits or in English words up to a hundred."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.grammar import Grammar, Mention
from snellen.scoring.answers.plain import UNSPACED, lower
from snellen.scoring.answers.vocabulary import COUNTERS, NUMBERS

_WORD = "|".join(sorted((word.replace(" ", "[ -]") for word in NUMBERS), key=len, reverse=True))
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d{1,3}(?!\w))?"
NUMBER = re.compile(
    rf"(?i)(?:(?<![\w)\]])(?P<sign>[+-])|\b(?P<minus>minus|negative)\s)?"
    rf"(?:(?:(?<=[{UNSPACED}])|(?<![\w.]))(?P<digits>{DIGITS})|(?<![\w-])(?P<word>{_WORD})(?!\w))"
)
UNIT = re.compile(r"\s?(?:[mck]?m|(?:centi|kilo)?met(?:er|re)s?|px|pixels|k?g|s|seconds|bar|deg|degrees|°)(?!\w)")
COUNTER = re.compile(rf"\s?[{COUNTERS}羽명개마대권](?:です|입니다)?(?!\w)")
ROUGHLY = re.compile(r"(?i)\A(?:approx(?:\b\.?|imately\b)|(?:about|around|roughly|circa)\b|ca\.|[~≈]) ?")
ORDINAL = re.compile(
    rf"(?i)(?:st|nd|rd|th)\b|-?[^\W{UNSPACED}]*(?![{UNSPACED}])[^\W\d_]| ?(?:번째|번|番|号|[个張张枚本つ台]目)"
)
NUMBERED = re.compile(r"(?:第|[图圖图表](?:片|像)?|画像|写真|사진|그림) ?$")
"""Before a number: "picture 2", in Chinese, Japanese or Korean."""
PERCENT = re.compile(r"\s?(?:%|percent\b)")
APART = re.compile(r"(?i)[,;]|\b(?:and|or|but|while)\b")
REPEATED = re.compile(r"(?i)\b(?:the|these|those|all|both|our|your|their)(?: other| given| same| different)? ?$")
"""Before a number without a verb it shows that the things are already known: "the gap between the two people"."""
GROUPED = re.compile(r"(?i) [^\W\d_]+ of $")
"""Between two numbers it shows that they are factors: "3 rows of 4 chairs"."""
DATED = re.compile(r"(?i)\b(?:in|of|at|for|from|on|by|than|year|since|until) ?$")
YEAR = re.compile(r"(?:1[5-9]|20)\d\d(?!\d)")
"""A number that is a date, not a count: "so, in 2014, it was higher"."""
EQUAL = re.compile(r"[=≈:] ?$")
LETTER = re.compile(r"[^\W\d_]")
STEP_LINE = re.compile(r"\n[^\w\n(]{0,9}\(?(\d{1,2})[.)] +(?=[^\W\d_])")
ALGEBRA = re.compile(r"(?:\s?[-+*/^]\s?\d*)?\s?(?:\\(?!circ|deg|%)[a-zA-Z]|[π√]|pi\b)")
"""After a number it shows a factor or a term of an expression: 4\\pi is not 4."""
STEP = re.compile(r"\s*[^\w\s(]?\s*\(?(\d{1,2})[.)](?= \S)")
MORE = re.compile(
    r"(?i)\+|.?(?:以上|以下|이상|이하)|\.\d| (?:or|and) (?:more|less|fewer|above|below|over|under)\b|\s?[/^]\s?\d"
    r"|\s(?:hundred|thousand|million|billion|dozen|score)s?\b|\s?(?:[k‰]|mi?o|mrd|[mbt]n)\b|\s?(?-i:[MBT])\W*$"
)
"""After a number it shows a bound, a fraction or a larger number."""
SURE = re.compile(r"(?i)\b(?:is|are|there's|exactly|only|just|total of|count of|see|contains|has|have|answer|:)\s$")
LARGEST = 10**15
"""Larger numbers are not distinguishable as floats, and no count is as large."""
POWER = re.compile(
    r"(?<![\w^*.])(?:(\d{1,20}(?:,\d{3}){0,4}(?:\.\d{1,20})?|\.\d{1,20})\s?(?:[x×*·]|\\times|\\cdot)\s?)?10"
    r"(?:\s?(?:\^|\*\*)\s?\{?([+-]?\d{1,2})\}?|([⁺⁻]?[⁰¹²³⁴-⁹]{1,2}))(?![\w.]?\d)"
)
"""A power of ten, perhaps with a factor: "2×10^6", "$1.5 \\times 10^{3}$", "10⁶"."""
SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
TRIMMINGS = " \t\n\"'()[]{}.,:;!?#~="


def powers_written_out(text: str) -> str:
    """The text with powers of ten as 2e6, and without underscores in numbers and spaces after a minus."""
    text = re.sub(r"(?<=\d)_(?=\d{3}(?!\d))", "", re.sub(r"(?:(?<=[=≈] )-|(?<!\d )\u2212) (?=\d)", "-", text))
    return POWER.sub(lambda power: f"{power[1] or 1}e{power[2] or power[3].translate(SUPERSCRIPTS)}", text)


@dataclass(frozen=True)
class Numbers(Grammar):
    """Numbers, or only whole ones."""

    integers: bool
    counts = True

    def alone(self, passage: str) -> int | float | None:
        """The number that the passage consists of, possibly with a unit, or written twice: "2 (two)"."""
        stripped = passage.strip()
        if len(stripped) > 400:
            return None
        stripped = ROUGHLY.sub("", stripped)
        if self.integers and (value := _result(stripped)) is not None:
            return value
        matches = list(NUMBER.finditer(stripped))
        if not 1 <= len(matches) <= 2 or any(ALGEBRA.match(stripped, match.end()) for match in matches):
            return None
        before, between = stripped[: matches[0].start()], stripped[matches[0].end() : matches[-1].start()]
        behind = (COUNTER if self.integers else UNIT).sub("", stripped[matches[-1].end() :], count=1)
        if before.strip(" \t\n\"'([{#=") or between.strip(" (=") or behind.strip(TRIMMINGS):
            return None
        if len(matches) == 2 and not {"(", "="} & set(between):
            return None
        values = {self._value(match) for match in matches}
        return values.pop() if len(values) == 1 else None

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every number in the passage; without value if it is a bound, a part of a larger number, or not whole."""
        found = [Mention(*match.span(), None) for match in CUES["counted"].finditer(passage)]
        aside = _asides(passage) if declared else []
        steps = _steps(passage)
        for match in NUMBER.finditer(passage):
            start, end = match.span()
            lead, rest = passage[max(0, start - 30) : start], passage[end : end + 20]
            if match.start("digits") in steps or any(low < start < high for low, high in aside) or _is_part(lead, rest):
                continue
            # Nothing is denied without a letter before it: this halves the time for rows of numbers.
            if LETTER.search(lead) and CUES["denied_before"].search(lead):
                continue
            value = self._value(match)
            counts = SURE.search(lead) or (declared and not lead.strip())
            # "the left one", "one of these": not a count
            is_thing = (match["word"] or "").lower() == "one" and (not counts or rest.startswith(" of"))
            is_share = not self.integers and PERCENT.match(rest)
            if is_thing or is_share or CUES["bound"].search(lead) or MORE.match(rest) or ALGEBRA.match(rest):
                value = None
            found.append(Mention(start, end, value))
        return found

    def stated(self, sentence: str) -> int | float | None:
        """The number that a sentence states: "There are 5 cups", "2 + 3 = 5", "The mode is 7"; None if several."""
        if CUES["undecided"].search(sentence):
            return None
        sentence = STEP.sub("", sentence, count=1)
        mentions = self.mentions(sentence, False)
        words, signs, attributes = list[Mention](), list[Mention](), list[Mention]()
        alone = len(_outside(mentions, sentence)) == 1
        for mention in mentions:
            lead = sentence[max(0, mention.start - 60) : mention.start]
            if CUES["term"].match(sentence, mention.end):
                attributes.append(mention)
                continue
            if CUES["copula"].search(lead) or (alone and CUES["having"].search(lead)):
                words.append(mention)
            elif EQUAL.search(lead):
                # "= 2 * 3 = 6" is one calculation, "x = 3 and y = 4" are two
                apart = signs and APART.search(sentence, signs[-1].end, mention.start)
                signs = [*signs, mention] if apart else [mention]
            elif REPEATED.search(lead) or (DATED.search(lead) and YEAR.match(sentence, mention.start)):
                attributes.append(mention)
        named = words or signs
        if not named:
            named = [mention for mention in mentions if mention not in attributes]
        elif len(named) == 1:
            later = [mention.start for mention in mentions if mention.start >= named[0].end][:1]
            joints = (CUES["coordinated"], GROUPED)  # "3 cubes and 2 spheres", "3 rows of 4"
            if any(joint.fullmatch(sentence, named[0].end, start) for joint in joints for start in later):
                return None
        values = {mention.value for mention in named}
        return values.pop() if len(values) == 1 else None

    def judged(self, sentence: str) -> int | float | None:
        """The number stated by a verb, unless it is that of one part among several, a condition or a question."""
        if CUES["part"].search(sentence) or CUES["condition"].match(sentence) or sentence.rstrip().endswith(("?", ":")):
            return None
        mentions = _outside(self.mentions(sentence, False), sentence)
        leads = [sentence[max(0, mention.start - 60) : mention.start] for mention in mentions]
        has_one = len(leads) == 1 and CUES["having"].search(leads[0])
        return self.stated(sentence) if has_one or any(map(CUES["copula"].search, leads)) else None

    def listed(self, line: str) -> int | None:
        """The number of a numbered step: "2. I counted"."""
        step = STEP.match(line)
        return int(step[1]) if step else None

    def _value(self, match: re.Match[str]) -> int | float | None:
        number = float(match["digits"].replace(",", "") if match["digits"] else NUMBERS[lower(match["word"])])
        if match["sign"] == "-" or match["minus"]:
            number = -number
        if not self.integers:
            return number if math.isfinite(number) else None
        return int(number) if abs(number) < LARGEST and number == int(number) else None


def _result(passage: str) -> int | None:
    """0 for "There are no cups", 5 for "2 + 3 = 5" if the calculation is right, None for all else."""
    if CUES["nothing"].fullmatch(passage) and not NUMBER.search(passage):
        return 0
    match = CUES["sum"].fullmatch(passage)
    if not match or ("+" in match[1] and re.search(r"[*×]|\bx\b", match[1])):
        return None
    terms = [int(term) for term in re.findall(r"\d+", match[1])]
    return int(match[2]) if int(match[2]) == (sum(terms) if "+" in match[1] else math.prod(terms)) else None


def _asides(passage: str) -> list[tuple[int, int]]:
    """Spans of parentheses with more than one number: "5 (3 red, 2 blue)", but not "2 (two)"."""
    asides = re.finditer(r"\(([^()\n]*)\)", passage)
    return [aside.span() for aside in asides if not NUMBER.fullmatch(aside[1].strip())]


def _outside(mentions: list[Mention], sentence: str) -> list[Mention]:
    """The mentions outside asides."""
    asides = _asides(sentence)
    return [mention for mention in mentions if not any(low < mention.start < high for low, high in asides)]


def _steps(passage: str) -> set[int]:
    """Positions of step numbers: 1, 2, ... each at the beginning of a later line and before a word."""
    steps = set[int]()
    for match in STEP_LINE.finditer(passage):
        if int(match[1]) == len(steps) + 1:
            steps.add(match.start(1))
    return steps


def _is_part(lead: str, rest: str) -> bool:
    """True if the number belongs to a name or a word: "2nd", "3D", "COVID-19", "three-sided"."""
    if re.search(r"[^\W\d][-+*/^]$|#$|\d ?(?:\^|\*\*) ?$|\d*[xyn] ?[-+*/^] ?$", lead) or NUMBERED.search(lead):
        return True
    return bool(ORDINAL.match(rest)) and not UNIT.match(rest)
