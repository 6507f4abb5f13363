"""An audit of the parser on the replies of a run: a sheet of readings that a person checks, and the share misread.

Replies that are the answer alone cannot be misread, and are not drawn. The others are drawn in proportion to their
form. The number of errors then varies no more than a binomial one of the same mean (Hoeffding 1956), so that Clopper
and Pearson's interval holds; it is multiplied by their share of all readings.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.plain_text import no_formula
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite
from snellen.curation.review import read_lines
from snellen.runs.scores.score import read_one
from snellen.runs.scores.unread import option_line
from snellen.scoring.answers import read_exactly

SHEET = 50
"""Readings per subject."""
FORMS = ("up to three words", "one line", "several lines")


class ReplyReading(NamedTuple):
    """A line of a sheet: a reply, its form (empty: the answer alone), and what was read. `right` is a person's."""

    reading_id: str
    form: str
    question: str
    options: str
    reply: str
    reading: str
    right: str = ""


def parser_readings(responses: Sequence[Response], items: ItemSet, suite: Suite) -> dict[str, list[ReplyReading]]:
    """The readings under `strict` of all replies that the parser could read, except free texts, by subject."""
    readings = dict[str, list[ReplyReading]]()
    for response in responses:
        item, spec, text = items.by_id[response.item_id], response.reply_spec, (response.text or "").strip()
        how = suite.tasks[item.task].protocols["strict"]
        answer = None if how.judge or spec.kind in ("text", "description") else read_one(item, response, how)[1]
        if answer is None:
            continue
        names = {key: option_line(spec, key) for key in spec.offered if spec.kind not in ("integer", "number")}
        keys = answer if spec.kind == "choices" else (answer,)
        named = ", ".join(names[key] for key in keys) if names else replace(spec, keys=()).write(answer)
        is_alone = read_exactly(text.rstrip("."), spec) is not None or text.rstrip(".") == named
        form = "" if is_alone else FORMS[2 if "\n" in text else len(text.split()) > 3]
        cells = map(no_formula, (item.question, "\n".join(names.values()), text, named))
        row = ReplyReading(f"r{digest([response.response_id, named], 12)}", form, *cells)
        readings.setdefault(response.subject, []).append(row)
    return readings


def write_readings(path: Path, readings: Mapping[str, Sequence[ReplyReading]], seed: int) -> int:
    """Write a sheet with `SHEET` readings per subject; returns their number. Raises SnellenError if there are none."""
    sheet = list[ReplyReading]()
    for subject, rows in readings.items():
        rng, longer = stream("readings", seed, subject), [row for row in rows if row.form]
        order = sorted((longer[n] for n in rng.permutation(len(longer))), key=lambda row: FORMS.index(row.form))
        count, start = min(SHEET, len(order)), rng.random()
        places = rng.permutation(count)  # the first lines, if only these are checked, are of all forms
        sheet += [order[int((start + n) * len(order) / count)] for n in places]
    if not sheet:
        raise SnellenError(f"{path}: there is nothing to check, since every reply that was read is an answer alone")
    with path.open("x", encoding="utf-8-sig", newline="") as opened:
        csv.writer(opened).writerows([ReplyReading._fields, *sheet])
    return len(sheet)


def misread_share(path: Path, readings: Mapping[str, Sequence[ReplyReading]]) -> str:
    """For a paper, a sentence per subject: the share of its readings that a checked sheet calls wrong.

    Lines without yes or no are left out. Raises SnellenError for other words and for readings of another run or parser.
    """
    from scipy.stats import binomtest

    words = {line.get("reading_id"): (line.get("right") or "").strip().lower() for line in read_lines(path)}
    known = {row.reading_id for rows in readings.values() for row in rows}
    if words.keys() - known or set(words.values()) - {"yes", "no", ""}:
        raise SnellenError(f"{path}: not a sheet of these readings with yes or no in the column right; write a new one")
    sentences = []
    for subject, rows in readings.items():
        if marks := [word for row in rows if (word := words.get(row.reading_id))]:
            wrong, longer = marks.count("no"), sum(row.form != "" for row in rows)
            ends = binomtest(wrong, len(marks)).proportion_ci(0.95)
            share, low, high = (100 * longer / len(rows) * float(end) for end in (wrong / len(marks), *ends))
            sentences.append(
                f"The parser read {len(rows)} replies of {subject}; {longer} say more than the answer alone. A person "
                f"checked {len(marks)} of these, drawn in proportion to their form, and found {wrong} misread: "
                f"{share:.1f} % [{low:.1f}, {high:.1f}] of all readings (exact binomial 95 % interval)."
            )
    return "\n".join(sentences)
