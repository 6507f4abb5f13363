"""Deficits of a subject in plain words."""

from __future__ import annotations

from snellen.analysis.cells import listing
from snellen.analysis.deficits import FAILS, Deficit, Findings, Preference, Property, Share

NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
LETTERS = "ABCDEFGHIJ"


def sentences(findings: Findings) -> tuple[str, ...]:
    """A sentence for each deficit and for a preferred option, each with its numbers."""
    texts = [f"{_deficit(deficit)} ({_shares(deficit)})" for deficit in findings.deficits]
    if findings.deficits and findings.dimensions:
        texts[-1] += f"; most of {listing(findings.dimensions)}"
    if findings.preference is not None:
        texts.append(_preference(findings.preference))
    return tuple(texts)


def _deficit(deficit: Deficit) -> str:
    key, fails = deficit.properties[0], deficit.affected.high < FAILS
    verb = "fails" if fails else "does worse"
    if key.kind == "count":
        count, further = _number(key.name), _number(str(deficit.next_count))
        return f"counts only to {count}, {verb} from {further} on"
    if key.kind in ("false", "true"):
        word = "yes" if key.kind == "false" else "no"
        says = f"says {word}" if fails else f"tends to say {word}"
        return f"{says}: {verb} where a statement is {key.kind}"
    if key.kind == "image":
        place = PLACES[int(key.name) - 1]
        return f"{'ignores' if fails else 'makes little use of'} the {place} image: {verb} where it decides"
    return f"{verb} where {_decider(key, deficit)}"


def _decider(key: Property, deficit: Deficit) -> str:
    if key.kind == "factor":
        return f"{_plain(key.name)} is {key.level}"
    names = [_plain(alike.name) for alike in deficit.properties]
    if len(names) == 1:
        return f"{names[0]} decides"
    return f"{', '.join(names[:-1])} or {names[-1]} decides (the same items need each)"


def _shares(deficit: Deficit) -> str:
    affected, elsewhere = deficit.affected, deficit.elsewhere
    floor = f"blind {100 * affected.floor:.0f} %"
    return f"{_right(affected)} there, {floor}; {_right(elsewhere)} elsewhere"


def _right(share: Share) -> str:
    return f"{100 * share.right:.0f} % of {share.n} right"


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
    """A code name such as `contact-point` or `count_range` as words."""
    return name.replace("-", " ").replace("_", " ").replace("/", " ")
