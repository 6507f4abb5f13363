"""Replies that came back through pages, compared with the subject's own."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from snellen.core.response import Response

EDGE_PX = 1 / 384
"""Tolerance of drawn box edges: one pixel of an image of 384 px, in shares."""


def assert_same_replies(imported: Iterable[Response], own: Iterable[Response]) -> None:
    """Assert equal texts, and boxes equal within `EDGE_PX`.

    Imported subjects are `…/p01` and so on; person n is repeat n - 1 of the subject.
    """
    texts = {(response.condition, response.repeat, response.item_id): response.text or "" for response in own}
    imported = list(imported)
    assert imported
    for response in imported:
        person = response.subject.rpartition("/")[2]
        repeat = int(person.removeprefix("p")) - 1 if person.startswith("p") else 0  # reviewers have their own names
        text, expected = response.text or "", texts[response.condition, repeat, response.item_id]
        if response.reply_spec.kind == "box":
            assert json.loads(text) == pytest.approx(json.loads(expected), abs=EDGE_PX)
        else:
            assert text == expected
