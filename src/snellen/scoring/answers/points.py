"""Answers that are points, in any of the forms in which models write them.

A reply whose points all agree is that point; of several, the one that is declared counts. A box stands for its middle.
"""

from __future__ import annotations

import json
import re

from snellen.core.box_units import BOX_UNITS, asks_for_fractions
from snellen.core.item import Point, ReplySpec
from snellen.scoring.answers.grammar import Grammar, Mention
from snellen.scoring.answers.plain import prepare, without_thoughts
from snellen.scoring.answers.reading import read
from snellen.scoring.answers.shapes import FARTHEST_FRACTION, LARGEST, box_form
from snellen_sight.points import PointReply, read_point

LONGEST, LONG_NUMBER, NUMBER = 4000, re.compile(r"\d{41}"), re.compile(r"\d+(?:\.\d+)?")
"""In a longer reply only a declared point is read. No number has as many digits. Any number."""
SENTENCE = re.compile(r"(?:[^.!?]|[.!?](?!\s|$)){1,4000}[.!?]?")


class Points(Grammar):
    """Two numbers; a passage of four or more numbers that are not one point has a point that is not valid."""

    reaches_on = counts = True

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """The point of every sentence."""
        found = [(match, _given(match[0])) for match in SENTENCE.finditer(passage)]
        return [Mention(*match.span(), point) for match, point in found if point or len(NUMBER.findall(match[0])) >= 4]


def _given(text: str) -> PointReply | None:
    point = None if len(text) > LONGEST or LONG_NUMBER.search(text) else read_point(text)
    return point if point is not None and max(abs(point.first), abs(point.second)) <= LARGEST else None


def read_as_given(text: str, is_cut_off: bool = False) -> PointReply | None:
    """The point of a reply in its own numbers, or None. Of a reply that was cut off, only a declared one."""
    if not is_cut_off and (point := _given(without_thoughts(text))) is not None:
        return point
    reply = prepare(text)
    declared: PointReply | None = read(reply._replace(cut=reply.cut or is_cut_off), Points())
    return declared


def read_stored(text: str, spec: ReplySpec, is_cut_off: bool = False) -> Point | None:
    """The point in pixels of the stored image; None if its numbers are in another unit than the one asked for."""
    point = read_as_given(text, is_cut_off)
    if point is None:
        return None
    x, y = point.first, point.second
    if spec.frame is None:
        return x, y
    greatest = max(abs(x), abs(y))
    if greatest > FARTHEST_FRACTION if asks_for_fractions(spec) else spec.unit and greatest <= 1:
        return None
    is_swapped = point.is_named and spec.unit in BOX_UNITS and BOX_UNITS[spec.unit].y_first
    return spec.frame.inverse().point(*((y, x) if is_swapped else (x, y)))


def point_form(text: str, spec: ReplySpec) -> str:
    """The units in which a point that is not read is within the image, as `box_form` has them for boxes."""
    point = read_as_given(text)
    return "" if point is None else box_form(json.dumps([point.first, point.second] * 2), spec)
