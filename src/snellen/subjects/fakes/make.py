"""Creates simulated subjects by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.storage.user_files import read_text
from snellen.core.subject import Subject, SubjectCard
from snellen.subjects.fakes.ideal import (
    Bias,
    Biased,
    IdealObserver,
    appearances_by_image,
    counting_to,
    dimensions_of,
    preference_for,
    says_yes,
)
from snellen.subjects.fakes.simple import Chance, Constant, FirstOption, KnowsNames, Scripted, true_names

FAKES = {
    "oracle": "answers from the contents of the images shown; must be perfect",
    "chance": "draws uniformly from the offered options",
    "first-option": "always the first option",
    "always-true": "replies true to every statement",
    "constant=TEXT": "replies TEXT to everything",
    "scripted=FILE": "replies with the text that a JSON file gives for each item id (`*` for all others)",
    "blind-to=FACTOR": "the oracle with one factor (colour) or dimension (colour/primary) erased",
    "counts-to=NUMBER": "the oracle, but counts above NUMBER are answered with NUMBER",
    "misses-image=PLACE": "the oracle, but the image at that place (1 is the first) of a question is not seen",
    "prefers-option=NAME": "the oracle, but half of the time it takes the option shown as NAME (A) if there is one",
    "threshold=LEVEL": "right as often as a psychometric function with its threshold at LEVEL (1 to 16) of a bank",
    "says-yes": "the oracle, but it replies true to every statement",
    "knows-names": "knows the names of objects without seeing them, and picks the option of that name",
    "compares-images": "the oracle without names: learns options only from their solved examples",
    "exact-boxes": "a detector that finds exactly the boxes in the items' regions",
}


def make_fake(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Subject:
    """A simulated subject by the name after `fake:`. Raises SnellenError for an unknown name, or any settings."""
    if settings:
        raise SnellenError(f"fake:{name} has no settings; leave out everything after '?'")
    kind, equals, argument = name.partition("=")
    needs_value = {fake.partition("=")[0]: "=" in fake for fake in FAKES}
    if kind not in needs_value:
        raise SnellenError(f"no subject fake:{name}; {near(kind, needs_value)}")
    if needs_value[kind] != bool(equals):
        raise SnellenError(
            f"fake:{kind} {'needs a value, as in ' if needs_value[kind] else 'takes no value: '}"
            f"fake:{kind}{'=…' * needs_value[kind]}"
        )
    return _MAKERS[kind](argument, items)


def _card(name: str, **settings: Any) -> SubjectCard:
    return SubjectCard(f"fake:{name}", settings, attributes={"family": "fake"}, reads="views", role="simulated")


def _by_id(items: Sequence[Item]) -> dict[str, Item]:
    return {item.item_id: item for item in items}


def _ideal(name: str, items: Sequence[Item], blind_to: frozenset[str] = frozenset()) -> Subject:
    dimensions = dimensions_of(items)
    factors = dimensions | {d.split("/")[0] for d in dimensions}
    if items and (unknown := sorted(blind_to - factors)) and dimensions:
        raise SnellenError(f"fake:{name}: no item here has {unknown[0]!r}; {near(unknown[0], sorted(factors))}")
    return IdealObserver(_card(name), _by_id(items), appearances_by_image(items), blind_to)


def _biased(name: str, items: Sequence[Item], bias: Bias) -> Subject:
    card = _card(name)
    return Biased(card, IdealObserver(card, _by_id(items), appearances_by_image(items)), bias)


def _number(name: str, argument: str) -> int:
    if not argument.isdecimal() or int(argument) < 1:
        raise SnellenError(f"fake:{name}={argument}: {argument!r} is not a whole number from 1; write fake:{name}=3")
    return int(argument)


def _missing_image(argument: str, items: Sequence[Item]) -> Subject:
    place = _number("misses-image", argument)
    return IdealObserver(_card(f"misses-image={place}"), _by_id(items), appearances_by_image(items), missing=place)


def _counting(argument: str, items: Sequence[Item]) -> Subject:
    limit = _number("counts-to", argument)
    return _biased(f"counts-to={limit}", items, counting_to(limit))


def _scripted(argument: str, items: Sequence[Item]) -> Subject:
    path = Path(argument)
    try:
        script = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise SnellenError(f"{path}: not a readable JSON file ({error}); it should map item ids to texts") from error
    if not isinstance(script, dict) or not all(isinstance(text, str) for text in script.values()):
        raise SnellenError(f"{path}: should be one JSON object that maps item ids to texts")
    return Scripted(_card(f"scripted={path.name}", script=digest(script, 12)), script)


def _planted(argument: str, items: Sequence[Item]) -> Subject:
    from snellen.subjects.fakes.planted import Planted

    try:
        level = float(argument)
    except ValueError:
        level = math.nan
    if math.isnan(level):
        raise SnellenError(f"fake:threshold={argument}: {argument!r} is no number; write fake:threshold=8.5")
    return Planted(_card(f"threshold={argument}"), _by_id(items), level)


def _exact_boxes(argument: str, items: Sequence[Item]) -> Subject:
    from snellen.subjects.fakes.boxes import ExactBoxes, exact_boxes

    return ExactBoxes(_card("exact-boxes"), *exact_boxes(items))


_MAKERS: dict[str, Callable[[str, Sequence[Item]], Subject]] = {
    "oracle": lambda argument, items: _ideal("oracle", items),
    "chance": lambda argument, items: Chance(_card("chance"), _by_id(items)),
    "first-option": lambda argument, items: FirstOption(_card("first-option")),
    "always-true": lambda argument, items: Constant(_card("always-true"), "True"),
    "constant": lambda argument, items: Constant(_card(f"constant={argument}"), argument),
    "scripted": _scripted,
    "counts-to": _counting,
    "misses-image": _missing_image,
    "prefers-option": lambda argument, items: _biased(f"prefers-option={argument}", items, preference_for(argument)),
    "says-yes": lambda argument, items: _biased("says-yes", items, says_yes),
    "threshold": _planted,
    "knows-names": lambda argument, items: KnowsNames(_card("knows-names"), true_names(items)),
    "compares-images": lambda argument, items: IdealObserver(
        _card("compares-images"), _by_id(items), appearances_by_image(items), names=False
    ),
    "exact-boxes": _exact_boxes,
    "blind-to": lambda argument, items: _ideal(f"blind-to={argument}", items, frozenset(argument.split("+"))),
}
