"""Replies about people that decline to answer, or that name a person (Finding IX), detected by patterns alone.

The paper finds that models asked to reason about two images of a person first name the person, and then do worse on
people they do not know. Only the reply is used: no list of names, and no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from snellen.analysis.cells import result_cell, share_cell
from snellen.analysis.pivot import arm_parts, table_section
from snellen.analysis.run_view import examined_rows, result_rows, row_by_arm
from snellen.analysis.section import ReportSection, Run
from snellen.suites.vlm2_bench.published import TASK_ORDER

# Refusals

_NOT = (
    r"\b(?:can ?not|can['’]?t|could ?n['’]?t|unable to|not able to|won['’]?t|will not|not (?:allowed|permitted) to|"
    r"(?:must|should) not|declin\w+ to|refus\w+ to)\b"
)
_WORDS = r"(?:\s+(?!same\b|if\b|whether\b)[\w'’-]+){0,5}?\s+"
"""Up to five words in between: `cannot identify the same person` and `cannot tell whether` are not refusals."""
REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # I can't identify people; I'm not able to recognize or name individuals; I cannot tell who this is
        rf"{_NOT}{_WORDS}(?:identify(?:ing)?|recogni[sz](?:e|ing)|nam(?:e|ing))(?:{_WORDS}|\s+)"
        r"(?:people|persons?|individuals?|anyone|someone|somebody|faces?|them|who)\b",
        rf"{_NOT}(?:{_WORDS}|\s+)(?:identif\w+|recogni[sz]\w+|determine|confirm|reveal|disclose|verify)"
        rf"(?:{_WORDS}|\s+)identit(?:y|ies)\b",
        rf"{_NOT}\s+(?:tell|say|reveal|disclose)(?:\s+you)?\s+who\b",
        # I'm sorry, but I can't help with that; I cannot assist; I can't comply with this request
        rf"{_NOT}\s+(?:help|assist|comply|fulfil\w*|answer (?:this|that|the|your)|provide (?:an? )?(?:answer|help))\b",
        # I can't compare faces or facial features
        rf"{_NOT}(?:{_WORDS}|\s+)compar\w+(?:{_WORDS}|\s+)(?:people|persons?|individuals?|faces?|facial)\b",
        # against my guidelines; for privacy reasons
        r"\b(?:against|violates?|due to|because of) (?:my|our|the|privacy)\b[^.\n]{0,30}\b(?:polic\w+|guidelines?)\b",
        r"\b(?:for|due to) (?:reasons of )?privacy\b",
    )
)
"""Patterns of refusals. Missed: refusals in other words or languages. False positives: replies that first decline to
name anyone and then answer nevertheless (both a refusal and an answer)."""


def declines(text: str) -> bool:
    """True if the reply declines to distinguish or identify people."""
    return any(pattern.search(text) for pattern in REFUSALS)


# Names

_PART = r"[A-Z][a-zà-öø-ÿ]+(?:[-'’]?[A-Z][a-zà-öø-ÿ]+)?"
_BETWEEN = r"[ \t]+(?:[A-Z]\.[ \t]+|(?:de|da|van|von|der|bin|al|la|le)[ \t]+){0,2}"
_NAME = re.compile(rf"\b(?=(?P<first>{_PART}){_BETWEEN}(?P<last>{_PART})\b)")
"""A lookahead, since names may overlap other words: `Actor Tom Hanks`."""
_OPENERS = """A About Actor Actress After All Also Although American An And Another Any African As Asian At Based Before
Black Blue Both Brown But By Caucasian Comparing Considering Correct Dark Despite Different Each European Final Finally
First Following For Four Fourth From General Given Her Here His However If In Indian Is It Let Light Looking My No None
Not Now Of On One Only Or Other Overall Positive Red Same Second Several She He Similar Similarly Since So The Their
Then There Therefore These They Third This Those Three Thus To Two Upon Using We What When Where Which While White With
Yes You Young"""
_HEADING_WORDS = """Analysis Answer Appearance Background Beard Body Choice Choices Clothing Color Colour Comparison
Conclusion Context Details Eye Eyes Eyebrows Expression Face Faces Facial False Feature Features Female Hair Hairline
Hairstyle Image Images Individual Individuals Jaw Jawline Look Male Man Men Mouth Nose Observation Observations Option
Options People Person Persons Photo Photos Image Images Question Reasoning Shape Skin Smile Statement Step
Structure Summary Tone True Woman Women"""
OPENERS, HEADING_WORDS = frozenset(_OPENERS.split()), frozenset(_HEADING_WORDS.split())
"""Words capitalised at the beginning of a sentence or heading (not a first name), and heading words (never a name)."""


def names_somebody(text: str, question: str) -> bool:
    """True if the reply contains an apparent name: two adjacent capitalised words that the question lacks.

    Initials and particles may be in between (`John F. Kennedy`, `Ludwig van Beethoven`). Headings (lines that begin
    with #, words followed by a colon), `OPENERS` and `HEADING_WORDS` are excluded. Missed: single names, names in
    lower case or all capitals, other scripts. False positives: places, brands and events (`Eiffel Tower`), and
    capitalised words that the lists lack.
    """
    question_text = question.lower()
    for line in text.splitlines():
        for match in () if line.lstrip().startswith("#") else _NAME.finditer(line):
            first, last = match.groups()
            heading = re.match(r"[*_\s]*:", line[match.end("last") :])
            plain = first in OPENERS | HEADING_WORDS or last in HEADING_WORDS
            if not heading and not plain and line[match.start() : match.end("last")].lower() not in question_text:
                return True
    return False


def people_named(run: Run) -> Iterator[ReportSection]:
    """The rates of replies that decline and that name a person in the tasks about people, one line per arm and task."""
    rows = []
    for response in run.responses:
        if response.task.startswith("pc-") and response.status == "ok" and response.text:
            item = run.items.by_id[response.item_id]
            flags = declines(response.text), names_somebody(response.text, item.question)
            rows.append((response.task, response.subject, response.condition, item.cluster_id, *map(float, flags)))
    columns = ["task", "subject", "condition", "cluster", "declines", "names"]
    replies, lines = examined_rows(pd.DataFrame(rows, columns=columns)), []
    for task in TASK_ORDER:
        results = row_by_arm(result_rows(run, task))
        for arm, part in arm_parts(replies[replies["task"] == task]):
            rates = [share_cell(list(part[name]), list(part["cluster"])) for name in ("declines", "names")]
            lines.append([arm.subject, task, arm.condition, len(part), *rates, result_cell(results.get(arm))])
    subjects = list(dict.fromkeys(line[0] for line in lines))
    lines.sort(key=lambda line: subjects.index(line[0]))
    note = (
        "Percent of replies that decline to identify or compare people, and of those that name a person, with 95 % "
        "interval, and the task's score. Both are detected by patterns, not by a reader: a name is two adjacent "
        "capitalised words that the question lacks, so single names are missed and a place may be taken for a name; "
        "refusals in unforeseen words are missed. A reply can be both. The paper states that asking for steps makes "
        "models name people first, and lowers Cpr."
    )
    names = ["subject", "task", "condition", "replies", "declines", "names somebody", "score"]
    yield from table_section("People named, answers declined (Finding IX)", note, names, lines, "people-named")
