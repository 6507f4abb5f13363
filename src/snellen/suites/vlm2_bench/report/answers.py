"""What answers are like: a preference for yes or no, for a letter, for a number; refusals, and people named.

The paper finds that models asked to reason about two images of a person first name the person, and then do worse on
people they do not know (Finding IX). Both are detected in the reply by patterns alone: no list of names, and no model.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.tables.cells import DASH, percent, result_cell, share_cell, with_interval
from snellen.analysis.tables.pivot import answers_by_arm, arm_parts, chosen_cell, position_cells, table_section
from snellen.analysis.tables.run_view import (
    ReportArm,
    examined_rows,
    response_key,
    response_keys,
    result_rows,
    row_by_arm,
    score_rows,
)
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import cluster_wilson, mean_interval
from snellen.suites.vlm2_bench.published import TASK_ORDER
from snellen.suites.vlm2_bench.tasks import COUNTS, GROUPS, TRUE_FALSE

Flag: TypeAlias = Literal["yes-bias", "no-bias", ""]
FLAG_LEVEL, FLAG_GAP = 0.99, 0.2
"""A bias is flagged if an interval of this level excludes the share of true statements, with at least this gap."""
PAIR_PATTERNS = ("T-T", "F-F", "T-F", "F-T")
LETTERS = "ABCDEFGH"


# Yes and no


def statements(run: Run) -> Iterator[ReportSection]:
    """The rate of "true" answers, and the combinations of answers to the two statements of a pair."""
    lines = []
    for task in (task for task in TASK_ORDER if task in TRUE_FALSE):
        results = row_by_arm(result_rows(run, task))
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy")):
            yes, true = part["prediction"] == "true", float((part["truth"] == "true").mean())
            flag = leaning(yes.to_numpy(float), part["group_id"].to_numpy(str), true, results[arm])
            pairs = paired_answers(run, part)
            both = [percent(pairs[name] / pairs.total(), 0) if pairs.total() else DASH for name in PAIR_PATTERNS]
            shares = share_cell(list(yes.astype(float)), list(part["group_id"])), percent(true, 0)
            lines.append([*arm, task, len(part), *shares, flag, result_cell(results[arm]), *both])
    note = (
        "Percent of readable answers that call a statement true, with 95 % interval (pairs resampled), and the percent "
        "of these statements that are true. Then percent of pairs by combination of answers; the positive statement "
        "(for Mat and Trk the right one) comes first. In Mat and Trk only T-F is right; in Cpr T-F if all images show "
        "the same, else F-T; T-T and F-F are contradictory. A bias is flagged under three conditions: "
        f"the {100 * FLAG_LEVEL:.0f} % interval excludes the percent that is true, the two differ by at least "
        f"{100 * FLAG_GAP:.0f} points, and the 95 % interval of the pair accuracy is not above chance. So a subject "
        "that guesses or knows is hardly ever flagged, nor is one that leans to one side but solves pairs."
    )
    names = ["subject", "condition", "task", "answers", "said true", "true", "flag", "pairs right", *PAIR_PATTERNS]
    yield from table_section("Yes-bias and contradictory answers", note, names, lines, "yes-bias")


def leaning(yes: Sequence[float] | Any, pairs: Sequence[str] | Any, true: float, row: Any) -> Flag:
    """The flag for a subject that says yes or no regardless of the truth, or empty.

    `yes` is 1 for every statement called true and 0 for others, `pairs` the pair of each, `true` the share that is
    true, and `row` the row of results with the pair accuracy. The note of the section states the rule.
    """
    yes_share = float(np.mean(yes))
    low, high = cluster_wilson(yes, pairs, FLAG_LEVEL)
    solves = not math.isnan(row.low) and row.low > row.chance
    if solves or low <= true <= high or abs(yes_share - true) < FLAG_GAP:
        return ""
    return "yes-bias" if yes_share > true else "no-bias"


def paired_answers(run: Run, part: pd.DataFrame) -> Counter[str]:
    """Counts of pairs by combination of answers (`PAIR_PATTERNS`), positive statement first.

    Partly answered pairs and groups of four are left out.
    """
    patterns: Counter[str] = Counter()
    for _, rows in part.groupby(["repeat", "group_id"], sort=False):
        by_wording = {
            run.items.by_id[str(name)].factors.get("wording", ""): answer
            for name, answer in zip(rows["item_id"], rows["prediction"], strict=True)
        }
        if len(rows) == 2 and set(by_wording) == {"positive", "negative"}:
            patterns["-".join("T" if by_wording[side] == "true" else "F" for side in ("positive", "negative"))] += 1
    return patterns


# Letters


def letters(run: Run) -> Iterator[ReportSection]:
    """The frequency of each letter and of `None` among the answers in Grp, compared with how often they are right."""
    offered = {response_key(r): r.reply_spec.offered for r in run.responses if r.task in GROUPS}
    answers = [
        (task, arm, part, [offered[key] for key in response_keys(part)])
        for task in GROUPS
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy"))
    ]
    letters = LETTERS[: max((len(keys) for *_, options in answers for keys in options), default=0)]
    lines = []
    for task, arm, part, options in answers:
        none = chosen_cell(list(part["prediction"]), list(part["truth"]), "none", list(part["cluster_id"]))
        lines.append([*arm, task, len(part), *position_cells(part, options, len(letters)), none])
    note = (
        "Percent of readable answers that chose each letter, with 95 % interval, and in parentheses the percentage for "
        "which it was right; the same for the choice None, in any position."
    )
    names = ["subject", "condition", "task", "answers", *letters, "None"]
    yield from table_section("Letters chosen in Grp", note, names, lines, "letters")


# Counts


def counts(run: Run) -> Iterator[ReportSection]:
    """The counts answered in Cnt, by number of images, and their error."""
    lines = []
    for task in COUNTS:
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy")):
            length = part["item_id"].map(lambda name: len(run.items.by_id[name].query))
            for images in sorted(set(length)):
                lines.append([*arm, task, images, *_count_cells(part[length == images], arm, images)])
    max_count = max((line[3] for line in lines), default=0)
    lines = [[*line[:-1], *[""] * (max_count - line[3]), line[-1]] for line in lines]
    note = (
        "Readable answers by number of images: the mean of answered minus true count, with 95 % interval (none if all "
        "errors are equal), then the percentage of each count among the answers, and in parentheses the percentage for "
        "which it was right. `other` are counts that the images do not allow."
    )
    counts_said = [f"said {n}" for n in range(1, max_count + 1)]
    names = ["subject", "condition", "task", "images", "answers", "mean error", *counts_said, "other"]
    yield from table_section("Counts answered in Cnt", note, names, lines, "counts")


def _count_cells(part: pd.DataFrame, arm: ReportArm, image_count: int) -> list[Any]:
    """Number of answers, mean error, one cell per possible count, and the share of impossible counts."""
    answers, true = part["prediction"].astype(int), part["truth"].astype(int)
    total = len(part)

    def count_cell(n: int) -> str:
        return f"{percent(float((answers == n).mean()), total)} ({percent(float((true == n).mean()), total)})"

    other = float((~answers.between(1, image_count)).mean())
    error = mean_error((answers - true).to_numpy(float), part["cluster_id"].to_numpy(str), arm, image_count)
    return [total, error, *map(count_cell, range(1, image_count + 1)), percent(other, total)]


def mean_error(errors: Any, clusters: Any, arm: ReportArm, image_count: int) -> str:
    """The mean of answered minus true counts, signed, with its confidence interval if estimable."""
    text = f"{np.mean(errors):+.2f}"
    low, high, _ = mean_interval(errors, clusters, None, stream("vlm2-bench", "counts", *arm, image_count))
    return text if math.isnan(low) else with_interval(text, f"{low:+.2f}", f"{high:+.2f}")


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
    replies, lines = examined_rows(run, pd.DataFrame(rows, columns=columns)), []
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
