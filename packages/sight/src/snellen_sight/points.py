"""Reading a point in a reply: two numbers in any of the forms in which models give them.

Read are pairs in brackets or bare, points and boxes in tags, JSON with names or lists, click calls of agents, and
distances from two edges in words. A box of four numbers stands for its middle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_UNIT = r"\s*(?:%|px|pixels?|percent)?"
_SEPARATOR = r"(?:\s*[,;]\s*|\s+)"
_THOUGHT = re.compile(r".*</(?:think|thinking|thought|reasoning)>|.*◁/think▷", re.DOTALL | re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.,])(\d),(\d{3})(?=\s*(?:px|pixels?)\b)")
_AFTER_NAME = r"\d?\b[\"']?\s*(?:[-_ ]?coordinate)?\s*(?:[:=]|\bis\b|\bat\b)?\s*[\"'(]?"
_NAMED = re.compile(
    rf"\b(?P<first>x|y){_AFTER_NAME}(?P<a>{_NUMBER}){_UNIT}[\"')]?(?:\s*[,;]\s*|\s+and\s+|\s+)"
    rf"[\"']?\b(?P<second>x|y){_AFTER_NAME}(?P<b>{_NUMBER})",
    re.IGNORECASE,
)
_EDGE = re.compile(
    rf"(?P<number>{_NUMBER}){_UNIT}\s+(?:in\s+)?(?:from|of|to\s+the\s+right\s+of|below)\s+(?:the\s+)?"
    rf"(?P<edge>left|top|right|bottom)|\b(?P<edge_first>left|top)\b\s*(?:edge)?\s*[:=]\s*(?P<after>{_NUMBER})",
    re.IGNORECASE,
)
_LISTS = re.compile(rf"(?<![\w.])({_NUMBER}{_UNIT}(?:{_SEPARATOR}{_NUMBER}{_UNIT})+)(?![\w]|\.\d)", re.IGNORECASE)
_NONE = r"[-+]?(?:NaN|nan|null|None|inf|Infinity)"
_PARTLY_NONE = re.compile(rf"\d\s*,\s*{_NONE}\s*[,\])]|[\[(,]\s*{_NONE}\s*,\s*[-+]?\.?\d")
"""A list of numbers with one that is none, so that the others beside it are no point."""

LONGEST, _LONG_NUMBER = 4000, re.compile(r"\d{25}")
"""Only the end of a longer reply is read."""


@dataclass(frozen=True)
class PointReply:
    """The two numbers of a reply in the order given; `is_named` if they were named x and y, and then x is first."""

    first: float
    second: float
    is_named: bool = False


def read_point(reply: str) -> PointReply | None:
    """The point of a reply, None if it holds none or several that differ.

    >>> read_point("pyautogui.click(x=412, y=88)")
    PointReply(first=412.0, second=88.0, is_named=True)

    """
    end = reply[-LONGEST:]
    if _LONG_NUMBER.search(end):  # no place, and slow to read
        return None
    text = _THOUSANDS.sub(r"\1\2", _THOUGHT.sub("", end)).replace("−", "-")
    found = _named(text) or _from_edges(text) or _listed(text)
    return found[0] if found and all(point == found[0] for point in found) else None


def _named(text: str) -> list[PointReply]:
    points = []
    for match in _NAMED.finditer(text):
        numbers = {match["first"].lower(): float(match["a"]), match["second"].lower(): float(match["b"])}
        if len(numbers) == 2:
            points.append(PointReply(numbers["x"], numbers["y"], is_named=True))
    corners = [
        [float(match[1]) for match in re.finditer(rf"\b(?:{name})\b[\"']?\s*[:=]\s*({_NUMBER})", text, re.IGNORECASE)]
        for name in ("x1|xmin|x_min", "y1|ymin|y_min", "x2|xmax|x_max", "y2|ymax|y_max")
    ]
    if all(len(numbers) == 1 for numbers in corners):
        (left,), (top,), (right,), (bottom,) = corners
        return [PointReply((left + right) / 2, (top + bottom) / 2, is_named=True)]
    return points


def _from_edges(text: str) -> list[PointReply]:
    """A point given as its distances from the left and the top edge."""
    distances: dict[str, set[float]] = {}
    for match in _EDGE.finditer(text):
        edge = (match["edge"] or match["edge_first"]).lower()
        distances.setdefault(edge, set()).add(float(match["number"] or match["after"]))
    if set(distances) != {"left", "top"} or any(len(numbers) > 1 for numbers in distances.values()):
        return []
    return [PointReply(distances["left"].pop(), distances["top"].pop(), is_named=True)]


def _listed(text: str) -> list[PointReply]:
    """Pairs, and the middles of lists of four, without names."""
    points = list[PointReply]()
    if _PARTLY_NONE.search(text):
        return points
    for match in _LISTS.finditer(re.sub(r"[()\[\]{}<>|]+", " ; ", _joined_boxes(text))):
        texts = re.findall(_NUMBER, match[1])
        if any(re.match(r"0\d", text) for text in texts):  # the rest of a number such as 1,024
            return []
        numbers = [float(text) for text in texts]
        if len(numbers) == 2:
            points.append(PointReply(numbers[0], numbers[1]))
        elif len(numbers) == 4 and numbers[0] < numbers[2] and numbers[1] < numbers[3]:
            points.append(PointReply((numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2))
    return points


def _joined_boxes(text: str) -> str:
    """Boxes written as two corners as lists of four numbers."""
    corner = rf"[(\[]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[)\]]"
    return re.sub(rf"(?:\[\s*)?{corner}\s*,?\s*{corner}", r"[\1, \2, \3, \4]", text)
