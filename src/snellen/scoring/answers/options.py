"""Answers by option: its letter or number, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from snellen.core.item import ReplySpec
from snellen.scoring.answers import vocabulary
from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.grammar import Grammar, Mention, is_compared
from snellen.scoring.answers.option_names import GROUP, RANGE, SINGLE, is_label, is_whole_word, variants
from snellen.scoring.answers.plain import flat, lower
from snellen.scoring.answers.vocabulary import AXES, METRES, NUMBER_OF, TRUTHS, VERDICTS

STOPS = " \t\n.,:;!?\"'"
TRIMMINGS = " \t\n*_\"'()[]{}<>.,:;!?#&+-=/|~^"
SIGNS = re.compile(r"\A[^\w$€£%√±∠\u2212]+|[^\w$€£%√±∠\u2212]+\Z")
"""Emoji and trimmings at both ends of a text."""
LABEL = re.compile(
    r"(?:(?:the )?(?:option|choice|letter)\b ?[:#]? ?)?[(\[]?([a-z]|\d{1,3})(?:[)\].:,]+ ?| - ?| )(?=\S)"
)
MANY_TEXTS = 50
SUBJECT = 24
"""Characters within which a clause names its subject."""


class _Name(NamedTuple):
    """Forms of a shown name: plain characters, lower case, search form, without signs around it, and kind of label."""

    plain: str
    small: str
    name: str
    bare: str
    label: str


@lru_cache(maxsize=1 << 16)
def _forms_of(name: str) -> _Name:
    """The forms of a shown name, cached since many items offer the same names."""
    plain = flat(name) or name.strip()
    looked_for = lower(plain)
    bare = looked_for.strip("()[].: ")
    label = "letter" if re.fullmatch(r"[a-z]", bare) else "number" if re.fullmatch(r"\d{1,3}", bare) else ""
    return _Name(plain, plain.lower(), looked_for.strip(STOPS) or looked_for, bare, label)


@dataclass(frozen=True)
class Options(Grammar):
    """The names of the options in lower case, each with its option key; None for a name of several options.

    `texts` count anywhere as whole words, `labels` (a letter, or a number next to a text) in the forms of labels,
    `asides` (yes and no) only alone or right after a declaration; those in `openings`, which were shown, also at the
    beginning of the reply. `verdicts` (the same in other words and languages, and numbers without the unit of all
    texts) count only alone. `ranges` are the texts that are a range of numbers.
    """

    texts: Mapping[str, str | None]
    labels: Mapping[str, str | None]
    asides: Mapping[str, str | None]
    openings: frozenset[str]
    verdicts: Mapping[str, str | None]
    ranges: tuple[tuple[float, float, str | None], ...] = ()
    judges: bool = False
    by_side: Mapping[frozenset[str], str | None] = field(default_factory=dict)

    @classmethod
    @lru_cache(maxsize=1024)
    def from_spec(cls, spec: ReplySpec) -> Options:
        """The names that `spec` offers; for true and false also the usual other names."""
        pairs, also, shown = list(spec.keys), list[tuple[str, str]](), {_forms_of(name).small for name, _ in spec.keys}
        if spec.kind == "true_false":
            pairs = pairs or [("T", "true"), ("F", "false")]
            pairs += [(truth, truth) for truth in TRUTHS]
            also = [("yes", "true"), ("no", "false"), ("correct", "true"), ("incorrect", "false"), ("wrong", "false")]
            also += [(truth[0], truth) for truth in TRUTHS if truth[0] not in shown]
        elif all(_forms_of(name).small in ("t", "f") for name, _ in pairs) and len(shown) == 2:
            pairs += [(truth, key) for name, key in pairs for truth in TRUTHS if truth[0] == _forms_of(name).small]
        texts: dict[str, str | None] = {}
        labels: dict[str, str | None] = {}
        asides: dict[str, str | None] = {}
        like_labels, first, many = list[tuple[str, str, str, str]](), dict[str, str](), set[str]()
        for written, key in (*pairs, *also):
            plain, _, name, bare, label = _forms_of(written)
            if first.setdefault(key, plain) != plain:
                many.add(key)
            if label and (written, key) not in also:
                like_labels.append((label, name, bare, key))
                continue
            names = asides if name in ("yes", "no") or (written, key) in also else texts
            names[name] = key if names.get(name, key) == key else None
        for label, name, bare, key in like_labels:  # a number is a label if its option has another name too
            names, name = (labels, bare) if label == "letter" or key in many else (texts, name)
            names[name] = key if names.get(name, key) == key else None
        asides = {name: key for name, key in asides.items() if any(key == pair_key for _, pair_key in pairs)}
        for name in {"yes", "no"} & shown & asides.keys():  # nope, nein
            also += [(word, word) for word in VERDICTS[name]]
            asides |= dict.fromkeys(VERDICTS[name], asides[name])
        openings = frozenset(asides) & (shown | {name for name, _ in also})
        measures = [(match, key) for name, key in texts.items() if (match := MEASURE.fullmatch(name))]
        spans = [(match, key) for name, key in texts.items() if (match := RANGE.fullmatch(name))]
        ranges = tuple((float(match[1]), float(match[2]), key) for match, key in spans)
        by_side = vocabulary.only_sides(texts)
        meanings = asides | {truth: texts[truth] for truth in TRUTHS if spec.kind == "true_false"}
        verdicts = {} if by_side else {name: key for name, key in vocabulary.short_names(texts) if name not in texts}
        verdicts |= {word: key for name, key in meanings.items() for word in VERDICTS.get(name, ())}
        if len(measures) == len(texts) and len({match[2] for match, _ in measures}) == 1:
            verdicts |= {match[1]: key for match, key in measures}
        others = {other: key for name, key in texts.items() for other in variants(name)}
        texts = others | vocabulary.other_names(texts) | texts
        judges = spec.kind == "true_false" and not {"yes", "no"} & shown
        return cls(texts, labels, asides, openings, verdicts, ranges, judges, by_side)

    def within(self, text: str) -> Options:
        """Only the names that occur in the text, so that sentences are searched quickly however many are offered."""
        if len(self.texts) < MANY_TEXTS:
            return self
        small = lower(text)
        return replace(self, texts={name: key for name, key in self.texts.items() if name in small})

    def alone(self, passage: str) -> str | None:
        """The key of the option whose name the passage is, with or without trimmings, or as a label with its text."""
        small, all_names = lower(passage), self._names
        short = small.strip(STOPS)
        signed = len(short) <= 400 and not (short[:1] + short[-1:]).isalnum()
        bare = SIGNS.sub("", short) if signed else LEAD.sub("", short, count=1)
        for form in dict.fromkeys((small, short, short.strip(TRIMMINGS), bare)):
            for names in all_names:
                if form in names:
                    return names[form]
        if len(small) > 400:
            return None
        if short[-1:].isalnum() and (match := NUMBERED.fullmatch(short)):
            nth = NUMBER_OF[match[1]]
            return self.texts.get(str(nth)) if self.texts else self.labels.get("?abcdefghi"[nth])
        if {"yes", "no"} <= self.openings and (match := CUES["stance"].fullmatch(short)):
            return None if self.judges else self.asides["no" if match[1] else "yes"]
        if "none" in self.texts and CUES["none_alike"].fullmatch(small):
            return self.texts["none"]
        if (label := LABEL.match(small)) and label[1] in self.labels:
            key, rest = self.labels[label[1]], small[label.end() :]
            forms = (rest, rest.strip(TRIMMINGS))
            if key is not None and key in (names.get(form) for names in self._names for form in forms):
                return key
        return None

    @property
    def _names(self) -> tuple[Mapping[str, str | None], ...]:
        return self.texts, self.labels, self.asides, self.verdicts

    def stated(self, sentence: str) -> str | None:
        """The one option that the main clause of a sentence names without hedge or denial."""
        opening = CUES["subordinate"].match(sentence)
        bodies = [sentence[opening.end() :], sentence] if opening else [sentence]
        for body in bodies:
            mentions = [mention for mention in self.mentions(body, False) if not is_compared(body, mention)]
            aside = {mention.value for mention in self._asides(lower(body), False)}
            if mentions:  # "so no, the lamp is off"
                value = _clause_value(body, mentions)
                return mentions[0].value if aside == {mention.value for mention in mentions} else value
        return None

    def judged(self, sentence: str) -> str | None:
        """The option stated by a sentence that compares options, or that gives a label with its text."""
        if sentence.rstrip().endswith("?") or CUES["condition"].match(sentence):
            return None
        mentions = self.mentions(sentence, False)
        paired = any(mention.label and mention.end - mention.start > 3 for mention in mentions)
        lead = CUES["subordinate"].match(sentence)
        begins = mentions and mentions[0].start - (lead.end() if lead else 0) <= SUBJECT
        turn = CUES["contrast"].search(sentence, mentions[0].end) if begins else None
        clause = sentence[: turn.start()] if turn else sentence
        described = CUES["described"].search(clause) and not CUES["judged_object"].search(clause)
        judges = paired or (begins and CUES["judged"].search(clause) and not described)
        value = self.stated(sentence) if judges else None
        # "B is taller than A and C is taller than B"
        rivals = (mention for mention in mentions if mention.value != value and not is_compared(sentence, mention))
        return None if any(CUES["judged"].search(clause, mention.end) for mention in rivals) else value

    def truth(self, right: bool) -> str | None:
        """The option that means true, or the one that means false, if both are offered."""
        return self.texts.get("true" if right else "false") if self.texts.keys() >= set(TRUTHS) else None

    def listed(self, line: str) -> str | None:
        """The key of the option whose label begins a line."""
        item = ITEM.match(line)
        return self.labels.get(item[1].lower()) if item else None

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every option named in the passage and not denied there, in order. A label and its text are one mention."""
        small = lower(passage)
        candidates = [
            *(self._sides(small) if self.by_side else self._texts(small, passage)),
            *self._distances(passage),
            *self._labels(passage, declared),
            *self._asides(small, declared),
        ]
        taken, mentions = bytearray(len(passage)), []
        for mention in sorted(candidates, key=lambda mention: mention.start - mention.end):
            if taken.find(1, mention.start, mention.end) < 0:
                taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
                mentions.append(mention)
        mentions.sort(key=lambda mention: mention.start)
        return _not_denied(self._pair_labels(mentions, passage), passage)

    def _texts(self, small: str, passage: str) -> Iterator[Mention]:
        for name in [name for name in self.texts if name in small and name]:
            key, start = self.texts[name], small.find(name)
            while start >= 0:
                end = start + len(name)
                apart = CUES["attribute" if name in TRUTHS else "told_apart"].match(small, end)
                if is_whole_word(passage, start, end) and not (apart and (name in TRUTHS or GROUP.match(name))):
                    kind = "partly" if name in TRUTHS else "part"
                    part = CUES[f"{kind}_before"].search(small[max(0, start - 60) : start])
                    yield Mention(start, end, None if part or CUES[f"{kind}_after"].match(small, end) else key)
                start = small.find(name, end)

    def _sides(self, small: str) -> Iterator[Mention]:
        """Every side named, if the options are sides: "up and to the right" is upper right, and not right."""
        axes = {AXES[part] for side in self.by_side for part in side}
        for start, end, parts in vocabulary.sides(small):
            side = frozenset(part for part in parts if AXES[part] in axes)
            key = self.by_side.get(side) or self.by_side.get(side - {"middle"})
            if key is not None or len(side) > 1:
                yield Mention(start, end, key if AXES[parts[-1]] in axes else None)

    def _distances(self, passage: str) -> Iterator[Mention]:
        """Every number with a unit of length, as the one range around it: "6.5 meters" for 6-7."""
        for match in CUES["length"].finditer(passage) if self.ranges else ():
            length = float(match[1] or match[2]) * METRES.get(match[3], 0.3048)
            keys = {key for low, high, key in self.ranges if low < length < high}
            bounded = CUES["bound"].search(passage[max(0, match.start() - 30) : match.start()])
            yield Mention(*match.span(), keys.pop() if len(keys) == 1 and not bounded else None)

    def _labels(self, passage: str, declared: bool) -> Iterator[Mention]:
        if not self.labels:
            return
        at_start, end = len(passage) - len(passage.lstrip(" \"'([")) if declared else -1, 0
        for match in SINGLE.finditer(passage):
            name = match[1].lower()
            if name not in self.labels or CUES["geometry"].match(passage, match.end()):
                continue
            if aside := ASIDE.match(passage, match.end()):
                small = lower(aside[1]).strip(TRIMMINGS)  # "A (Yes)"
                key = next((names[small] for names in self._names if small in names), None)
                if key is not None:
                    value = key if key == self.labels[name] else None
                    yield Mention(match.start(), aside.end(), value, True)
                    continue
            opens = match.start() == at_start or bool(end and CUES["joined"].fullmatch(passage, end, match.start()))
            meant = is_label(passage, match.start(), match.end(), opens)
            end = match.end() if meant else end  # "option a or b" names two
            if meant is not False:
                yield Mention(match.start(), match.end(), self.labels[name] if meant else None, True)

    def _pair_labels(self, mentions: list[Mention], passage: str) -> Iterator[Mention]:
        """Merge a label and the same option's text next to it into one mention.

        An "A" that may be an article is an article if an option's text follows it.
        """
        waiting: Mention | None = None
        for second in mentions:
            first, waiting = waiting, second
            if first is None:
                continue
            between = passage[first.end : second.start]
            unclear = first.label and first.value is None
            meant = self.labels[passage[first.start].lower()] if unclear else first.value
            is_pair = first.label != second.label and not LINK.sub("", between, count=1).strip(PAIR_MARKS)
            if meant == second.value and is_pair:
                waiting = None
                yield Mention(first.start, second.end, second.value, second.label)
            elif first.value is not None or passage[first.start] != "A" or between != " ":
                yield first
        if waiting is not None:
            yield waiting

    def _asides(self, small: str, declared: bool) -> Iterator[Mention]:
        lead, behind = CUES["agreed"].pattern, r"(?! \w)" if declared else CUES["aside_end"].pattern
        for name in [name for name in self.asides if name in small[:40] and (declared or name in self.openings)]:
            opening = re.match(rf"{lead}[\"'(\[ ]*({name})\b{behind}", small[:200])
            # "No, they are not the same" denies one statement and agrees with its opposite.
            doubtful = DOUBTFUL.get(name) if (self.judges or name in VERDICTS["yes"]) and not declared else None
            is_part = opening and CUES["partly_after"].match(small, opening.end())
            if opening and not is_part and not (doubtful and doubtful.match(small, opening.end())):
                yield Mention(*opening.span(1), self.asides[name])


def _clause_value(body: str, mentions: list[Mention]) -> str | None:
    """The value of the mentions in the clause of the first one; None if they differ or it is unsettled."""
    values, end, labelled = {mentions[0].value}, mentions[0].end, mentions[0].label
    for mention in mentions[1:]:
        colon = body.find(": ", end, mention.start)
        is_judged = colon > 0 and CUES["judged"].search(body, end, colon)
        if is_judged or CUES["clause_end"].search(body, end, mention.start):
            break
        values.add(mention.value)
        end, labelled = mention.end, labelled or mention.label
    stop = CUES["clause_end"].search(body, end)
    clause = body[: stop.start() if stop else len(body)]
    unsettled = bool(CUES["hedged"].search(clause) or CUES["negated"].search(clause))
    if not CUES["judged"].search(clause):
        # "So the red cube is blurred" names a text in passing; "so it is red" and "the red one is the answer" state it.
        states = labelled or not clause[end:].strip(" .,!)]\"'") or CUES["designated"].match(clause, end)
        unsettled = unsettled or bool(CUES["described"].search(clause)) or not states
    unsettled = unsettled or bool(CUES["reversed"].match(body, mentions[0].end))
    return values.pop() if len(values) == 1 and not unsettled else None


ITEM = re.compile(r"[^\w\n]*([A-Za-z]|\d{1,3})[).:\]]")
DOUBTFUL = {
    "no": re.compile(r"(?i)(?:[.!]\s)?[^.!?\n]*(?:\b(?:not|no|never|neither|nor|none|nothing|but)\b|n't\b)"),
    "yes": re.compile(r"(?i)[^.!?\n]*\b(?:but|although|though|however|and no|aber|mais|pero|maar|но|ama)\b"),
}
DOUBTFUL |= dict.fromkeys(("correct", *VERDICTS["yes"]), DOUBTFUL["yes"])
LEAD = re.compile(r"\A(?:(?:it is|it's|this is|that is|i see) )?(?:an? |the )(?=\w{3})")
LINK = re.compile(r"(?i)\b(?:option|choice|answer|image|picture)\b ")
PAIR_MARKS = " ).:,]([\"'-"
ASIDE = re.compile(r" ?[(\[]([^()\[\]\n]{1,80})[)\]]")
"""Text in brackets right after a label."""
WORD = re.compile(r"[^\W\d_]{2}")
MEASURE = re.compile(r"(\u2212?\d{1,9}(?:\.\d{1,9})?) ?(degrees|°|%|[cmk]?m|meters|metres|pixels|px|seconds|years)")
"""A number with a unit; if all texts are such, the number alone counts too."""
_THING = "(?:image|picture|photo|patch|tile|panel|option|choice|one|region|object)"
NUMBERED = re.compile(
    rf"(?:it is |it's )?(?:the )?(?:{_THING} ?)?(?:number |no\.? ?|# ?|nr\.? ?)?({'|'.join(NUMBER_OF)})(?: {_THING})?"
)
"""A number in words, alone: "the third image", "patch number three"."""


def _not_denied(mentions: Iterator[Mention], passage: str) -> list[Mention]:
    """The mentions that are not denied ("not A", "neither A nor B", "A is wrong")."""
    before: Mention | None = None
    denied = False
    affirmed = list[Mention]()
    for mention in mentions:
        joined = before and CUES["joined"].fullmatch(passage, before.end, mention.start)
        lead = passage[max(0, mention.start - 50) : mention.start]
        denied = bool((denied and joined) or (WORD.search(lead) and CUES["denied_before"].search(lead)))
        if not denied and not CUES["denied_after"].match(passage, mention.end):
            affirmed.append(mention)
        elif joined and not denied and affirmed and affirmed[-1] is before:
            # "A and B are out": the denial covers both.
            affirmed.pop()
        before = mention
    return affirmed
