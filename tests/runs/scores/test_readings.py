"""The audit of the parser on a run's replies: what is drawn for a person to check, and the share that is misread."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import beta

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import ReplySpec
from snellen.core.storage.itemset import ItemSet
from snellen.exam.run import run
from snellen.runs.scores.judgements import responses_in_units
from snellen.runs.scores.readings import FORMS, ReplyReading, misread_share, parser_readings, write_readings
from snellen.runs.sets.gate import open_run_items
from tests.runs.scores.test_unread import items, script  # noqa: F401

READINGS = {
    "some": [
        ReplyReading(f"r{n}", "" if n < 600 else FORMS[(n >= 900) + (n >= 980)], "?", "A\nB", "a reply", "A")
        for n in range(1000)
    ]
}
"""600 answers alone, 300 of up to three words, 80 of one line, 20 of several."""


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def check(path: Path, words: dict[str, str], default: str) -> None:
    """Fill in a sheet, as a person does."""
    lines = lines_of(path)
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, "right": words.get(line["reading_id"], default)} for line in lines)


def test_readings_are_drawn_in_proportion_to_the_form_of_the_reply(tmp_path: Path) -> None:
    assert write_readings(tmp_path / "sheet.csv", READINGS, 0) == 50
    sheet = lines_of(tmp_path / "sheet.csv")
    counts = Counter(line["form"] for line in sheet)
    assert counts.keys() == set(FORMS), "answers alone are not drawn"
    assert all(abs(counts[form] - share) <= 1 for form, share in zip(FORMS, (37.5, 10, 2.5), strict=True))
    assert len({line["reading_id"] for line in sheet}) == 50
    firsts = Counter(line["form"] for line in sheet[:25])
    assert min(firsts[form] for form in FORMS[:2]) > 0, "whoever checks the first half sees short and long replies"
    write_readings(tmp_path / "again.csv", READINGS, 0)
    write_readings(tmp_path / "other.csv", READINGS, 1)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "sheet.csv").read_bytes()
    assert (tmp_path / "other.csv").read_bytes() != (tmp_path / "sheet.csv").read_bytes()


def test_few_readings_are_all_drawn_for_each_subject(tmp_path: Path) -> None:
    others = [row._replace(reading_id=f"o{n}") for n, row in enumerate(READINGS["some"][970:])]
    assert write_readings(tmp_path / "sheet.csv", {**READINGS, "other": others}, 0) == 50 + 30
    assert {line["reading_id"] for line in lines_of(tmp_path / "sheet.csv")} >= {row.reading_id for row in others}
    with pytest.raises(SnellenError, match="nothing to check"):
        write_readings(tmp_path / "none.csv", {"some": READINGS["some"][:600]}, 0)


def test_share_and_interval_are_weighted_by_the_share_of_longer_replies(tmp_path: Path) -> None:
    write_readings(tmp_path / "sheet.csv", READINGS, 0)
    wrong = [line["reading_id"] for line in lines_of(tmp_path / "sheet.csv")][::25]
    check(tmp_path / "sheet.csv", dict.fromkeys(wrong, " No "), "yes")
    # Clopper and Pearson's ends for 2 of 50
    low, high = 40 * beta.ppf(0.025, 2, 49), 40 * beta.ppf(0.975, 3, 48)
    assert misread_share(tmp_path / "sheet.csv", READINGS) == (
        "The parser read 1000 replies of some; 400 say more than the answer alone. A person checked 50 of these, drawn "
        f"in proportion to their form, and found 2 misread: 1.6 % [{low:.1f}, {high:.1f}] of all readings (exact "
        "binomial 95 % interval)."
    )


def test_lines_without_a_word_are_left_out_and_other_words_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    write_readings(sheet, READINGS, 0)
    assert misread_share(sheet, READINGS) == ""
    check(sheet, {lines_of(sheet)[0]["reading_id"]: "yes"}, "")
    assert "checked 1 of these, drawn in proportion to their form, and found 0" in misread_share(sheet, READINGS)
    with pytest.raises(SnellenError, match="not a sheet of these readings"):
        misread_share(sheet, {"some": READINGS["some"][:600]})
    check(sheet, {}, "maybe")
    with pytest.raises(SnellenError, match="with yes or no"):
        misread_share(sheet, READINGS)
    sheet.write_bytes(b"\xff\xfe")
    with pytest.raises(SnellenError, match="not a readable CSV file"):
        misread_share(sheet, READINGS)


def test_readings_of_a_run_show_the_reply_and_the_answer_in_words(items: ItemSet, tmp_path: Path) -> None:  # noqa: F811
    lines = {item.item_id: item.view().reply.write(item.answer) for item in items.items}
    alone, *others = [item for item in items.items if item.answer_kind != "integer"]
    for item, form in zip(others, ("I say {}.", "The answer is clearly {}.", "Answer: {}\n\nIt fits."), strict=False):
        lines[item.item_id] = form.format(lines[item.item_id])
    run(items, [script(tmp_path / "some.json", lines)], tmp_path / "run", show_progress=False)
    _, run_items, suite = open_run_items(tmp_path / "run")
    responses = responses_in_units(tmp_path / "run", run_items)
    (readings,) = parser_readings(responses, run_items, suite).values()
    assert [row.form for row in readings if row.form] == list(FORMS)[: len(others)]
    row = next(row for row in readings if row.form == FORMS[0])
    spec: ReplySpec = next(r.reply_spec for r in responses if (r.text or "").startswith("I say"))
    assert row.reply in {f"I say {name}." for name, _ in spec.keys}
    assert row.reading.split(" ")[0] in row.reply
    assert row.reading in row.options.split("\n")
    response = next(r for r in responses if r.text == row.reply)
    assert row.reading_id == f"r{digest([response.response_id, row.reading], 12)}"
    assert alone.item_id in lines
    ((hostile,),) = parser_readings([replace(response, text=f"=1+1\n{response.text}")], run_items, suite).values()
    assert hostile.reply == f"'=1+1\n{row.reply}", "no formula of a spreadsheet"
