"""Words that mean the same: other names of truth values, options and sides, numerals and spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
_SUFFIXES = ("st", "nd", "rd", *["th"] * 6)
NUMERALS = (ORDINALS, [f"{n}{end}" for n, end in enumerate(_SUFFIXES, 1)], [f"image {n}" for n in range(1, 10)])
NUMBER_OF = {name: n for names in (*NUMERALS, ONES.split()[1:10], "123456789") for n, name in enumerate(names, 1)}
"""The numbers 1 to 9 by their names: "third", "3rd", "three", "3"."""
NUMBERS = {word: number for number, word in enumerate(ONES.split())}
NUMBERS |= {word: 10 * number for number, word in enumerate(TENS.split(), 2)}
NUMBERS |= {f"{ten} {word}": NUMBERS[ten] + NUMBERS[word] for ten in TENS.split() for word in ONES.split()[1:10]}
NUMBERS |= {"hundred": 100, "a hundred": 100, "one hundred": 100}
COUNTERS = "个個只隻张張本匹人枚条條把辆块颗件座杯名位台つ"
"""Words after a number in Chinese and Japanese."""
METRES = {None: 1.0, "cm": 0.01, "mm": 0.001, "inches": 0.0254}
"""Lengths of units; a foot if not named here."""
SAME = """
true | correct | right | richtig | wahr | vrai | verdadero | vero | corretto | verdadeiro
true | 正确 | 对 | 正しい | 맞습니다 | верно | صحيح
false | incorrect | wrong | untrue | not correct | not true | not right | falsch | faux | falso | errato
false | 错误 | 不正确 | 不对 | 間違い | 거짓 | 틀렸습니다 | неверно | خطأ
yes | yep | yup | yeah | ja | oui | sí | sì | sim | да | 是 | 是的 | はい | 네 | 예 | نعم | evet
no | nope | nah | certainly not | nein | non | não | нет | 否 | 不是 | いいえ | 아니요 | 아니오 | لا | hayır

conical frustum | truncated cone | frustum | cone frustum | frustum of a cone | cone like frustum
zigzagged | zigzag | zig zag | zigzag striped | zig zag striped | zigzag stripes | zig zag stripes | chevron
chequered | checkered | checked | checks | checkerboard | checker board
striped | stripes | stripy
dotted | dots | polka dot | polka dots | polka dotted | spotted
metal | metallic
wood | wooden
rubber | rubbery
sphere | ball | spherical
cylinder | cylindrical
cube | cubic
cone | conical
purple | violet
hemisphere | half sphere
teddy bear
hot dog
sea lion
"""
"""One meaning a line. The truth values and yes and no, in the first paragraph, have other words only alone."""
DEGREES = frozenset(("no", "not", "non", "half", "nearly", "almost", "partly", "partially", "less", "too", "very"))
ROWS = [[row.split(" | ") for row in part.strip().split("\n")] for part in SAME.split("\n\n")]
VERDICTS = {name: [word for first, *words in ROWS[0] if first == name for word in words] for name, *_ in ROWS[0]}
TRUTHS = ("true", "false")
WRONG_WORDS = frozenset(("false", "incorrect", "wrong", "inaccurate", "untrue"))
ANSWER_KEY = re.compile(r"(?i)[\s_-]*(?:(?:final|correct|selected)[\s_-]*)?(?:answer|choice|option|prediction)[\s_-]*")
"""A key of JSON whose value is the answer."""
CORNERS, CORNER_SIZE, CENTRE_SIZE = ("x1", "y1", "x2", "y2"), ("x1", "y1", "w", "h"), ("cx", "cy", "w", "h")
FORMATS = {"xywh": CORNER_SIZE, "ltwh": CORNER_SIZE, "coco": CORNER_SIZE, "cxcywh": CENTRE_SIZE, "yolo": CENTRE_SIZE}
FORMATS |= {"xyxy": CORNERS, "ltrb": CORNERS, "yxyx": ("y1", "x1", "y2", "x2"), "tlbr": ("y1", "x1", "y2", "x2")}
"""Names of the order of the four numbers of a box."""
EDGES = {
    "x1": "x1|x_?min|left|x", "y1": "y1|y_?min|top|y", "x2": "x2|x_?max|right", "y2": "y2|y_?max|bottom",
    "cx": "cx|xc|x_?cent(?:er|re)|cent(?:er|re)_?x", "cy": "cy|yc|y_?cent(?:er|re)|cent(?:er|re)_?y",
    "w": "w|width", "h": "h|height",
}  # fmt: skip
CHANNELS = {"red": "r(?:ed)?", "green": "g(?:reen)?|v", "blue": "b(?:lue)?"}
"""Patterns of the names of a box's edges, centre and size, and of colour channels."""
SPELLINGS = (("colour", "color"), ("grey", "gray"), ("centre", "center"), ("metre", "meter"))
_VIEWER = r"(?:the )?(?:camera|viewer|observer|us|me)"
SIDE = re.compile(
    r"\b(?:(?P<left>left(?:wards?|most)?)|(?P<right>right(?:wards?|most)?)"
    r"|(?P<up>top(?:most)?|up(?:per(?=\W{1,3}[a-z]{2})|wards?)?|above)"
    r"|(?P<down>bottom|down(?:wards?)?|lower(?=\W{1,3}[a-z]{2})|(?<=(?:ghtly|a bit|ittle) )lower|below|beneath"
    r"|under(?:neath)?)"
    rf"|(?P<front>(?<!its )front|forwards?|(?:towards?|facing|faces) {_VIEWER})"
    rf"|(?P<back>(?<!its )back(?:wards?)?|rear|behind|away(?: from {_VIEWER})?)|(?P<middle>cent(?:er|re)|middle)"
    r"|(?P<cut>upper|lower))\b(?! (?:next|here|there|now|answer|choice|option)\b| (?:l|le|lef|r|ri|rig|righ)\W*\Z)"
)
JOINT = re.compile(
    r",? (?:(?:and|of|but|then|also|slightly|somewhat|pointing|facing|turned|to|on|in|at|towards?|the|a|bit|little|more"
    r"|hand|side|part|half|edge|corner) )*"
)
"""Between two sides that are meant as one: "up and to the right"."""
AXES = {"left": 0, "right": 0, "up": 1, "down": 1, "front": 2, "back": 2, "middle": 3, "cut": 4}
"""The axis of each side. cut: "upper" or "lower", after which the other side may have been broken off."""


def sides(small: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """(start, end, parts) of every side named in a text in lower case: "up and to the right" is one of two parts."""
    start, end, parts = 0, 0, tuple[str, ...]()
    for match in SIDE.finditer(small):
        part = str(match.lastgroup)
        is_joined = JOINT.fullmatch(small, end, match.start()) and AXES[part] not in map(AXES.get, parts)
        if parts and not is_joined:
            yield start, end, parts
        start, parts = (start, (*parts, part)) if parts and is_joined else (match.start(), (part,))
        end = match.end()
    if parts:
        yield start, end, parts


def only_sides(texts: Mapping[str, str | None]) -> dict[frozenset[str], str | None]:
    """The option of each side; empty if there is an option that is no side."""
    spans = {name: list(sides(name)) for name in texts}
    is_side = all(len(found) == 1 and found[0][1] - found[0][0] == len(name) for name, found in spans.items())
    return {frozenset(spans[name][0][2]): key for name, key in texts.items()} if is_side and len(texts) > 1 else {}


def other_names(texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Other words and spellings of options. The name of something else has None: "truncated cone", if not offered."""
    others = dict[str, str | None]()
    for names in ROWS[1]:
        keys = {texts[name] for name in names if name in texts}
        if keys or any(name.split()[-1] in texts or name.split()[0] in texts for name in names):
            others |= dict.fromkeys(names, keys.pop() if len(keys) == 1 else None)
    for name, key in texts.items():
        for written, other in (*SPELLINGS, *(pair[::-1] for pair in SPELLINGS)):
            others |= {name.replace(written, other): key} if written in name else {}
    return others


def short_names(texts: Mapping[str, str | None]) -> Iterator[tuple[str, str | None]]:
    """Names that count only alone: plurals, and the last of two words that no other option has ("mug")."""
    words = [word for name in texts for word in name.split()]
    for name, key in texts.items():
        first, _, last = name.removeprefix("pair of ").rpartition(" ")
        yield f"{name}s", key
        if f"{first}{last}".isalpha() and words.count(last) == 1 and first not in DEGREES:
            yield last, key
