"""Deficits of a subject in plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from snellen.analysis.comparison.deficits import Deficit, Findings, Preference
from snellen.analysis.grading.grades import QUARTER
from snellen.analysis.tables.cells import listing

NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
LETTERS = "ABCDEFGHIJ"
MAX_NAMES = 3
DECIDED = {"false": "where a statement is false: ", "true": "where a statement is true: ", "image": "where needed: "}
"""The items that a property decides, by kind, if the sentence does not say it."""


def sentences(findings: Findings, undecided: Collection[str] = ()) -> tuple[str, ...]:
    """A sentence for each deficit and a preferred option, with numbers; no failure where all tasks are `undecided`."""
    texts = [f"{_deficit(deficit, findings.words, undecided)} ({_shares(deficit)})" for deficit in findings.deficits]
    if findings.deficits and findings.dimensions:
        names = [_required(name, findings.words) for name in findings.dimensions]
        if len(names) > MAX_NAMES + 1:
            names = [*names[:MAX_NAMES], f"{len(names) - MAX_NAMES} other properties"]
        texts[-1] += f"; does most of what depends on {listing(names)}"
    if findings.preference is not None:
        texts.append(_preference(findings.preference))
    return tuple(texts)


def _deficit(deficit: Deficit, words: Mapping[str, str], undecided: Collection[str]) -> str:
    key, fails = deficit.properties[0], deficit.affected.high < QUARTER and bool(deficit.tasks.difference(undecided))
    if key.kind == "count":
        return f"{'does not count' if fails else 'is worse at counting'} beyond {_number(key.name)}"
    if key.kind in ("false", "true"):
        word = "yes" if key.kind == "false" else "no"
        return f"says {word} too readily" if fails else f"tends to say {word}"
    if key.kind == "image":
        return f"{'ignores' if fails else 'makes little use of'} the {PLACES[int(key.name) - 1]} image"
    if key.kind == "factor" and key.key not in words:
        factor = words.get(f"{key.name}=", f"the {_plain(key.name)}")
        return f"{'fails' if fails else 'is worse'} where {factor} is {_plain(key.level)}"
    names = [words[key.key]] if key.kind == "factor" else [_required(p.name, words) for p in deficit.properties]
    alternatives = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    alike = ", which the same items need" if len(names) > 1 else ""
    return f"{'cannot tell' if fails else 'is worse at telling'} {alternatives}{alike}"


def _required(name: str, words: Mapping[str, str]) -> str:
    return words.get(name, f"the {_plain(name)}")


def _shares(deficit: Deficit) -> str:
    affected, elsewhere, kind = deficit.affected, deficit.elsewhere, deficit.properties[0].kind
    right, others = (f"{100 * share.right:.0f} % of {share.n}" for share in (affected, elsewhere))
    place = f"from {_number(str(deficit.next_count))} on: " if kind == "count" else DECIDED.get(kind, "")
    return f"{place}{right} right, blind {100 * affected.floor:.0f} %; elsewhere {others}"


def _preference(preference: Preference) -> str:
    position = preference.position
    name = f"{LETTERS[position]} (the {PLACES[position]})" if position < len(PLACES) else str(position + 1)
    return (
        f"prefers option {name}: {preference.taken} of {preference.wrong} wrong answers that could take it did, "
        f"{preference.expected:.1f} expected by chance"
    )


def _number(count: str) -> str:
    return NUMBERS[int(count)] if int(count) < len(NUMBERS) else count


def _plain(name: str) -> str:
    """A code name such as `contact-point` or `count_range` as words; ranges of numbers stay."""
    return re.sub(r"(?<=[a-z])[-_/](?=[a-z])", " ", name)
