"""Test and retest: thresholds of two repeats, and people whose thresholds are beyond what pixels show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.score import BELOW, MEASURED, Measurement
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name, read_run_card
from snellen.core.subject import Subject, SubjectCard, TrainingExample, with_examples
from snellen.exam.run import run
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.report.sections import ratio, sections
from tests.goldens.sections import sections_text
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import Observer, asked_of, bank, observer


def measurement(value: float, low: float, high: float) -> Measurement:
    """A threshold with its interval."""
    return Measurement(value, low, high, "", MEASURED, "")


def test_a_ratio_worked_by_hand() -> None:
    # Logarithms of both intervals are log 4 wide: that of the ratio is sqrt(2) log 4, half of it log 2.665.
    same, words = ratio(measurement(4.0, 2.0, 8.0), measurement(6.0, 3.0, 12.0))
    assert same == "x1.50 [0.56, 4.00]"
    assert words == "no clear difference"
    changed, words = ratio(measurement(4.0, 2.0, 8.0), measurement(12.0, 6.0, 24.0))
    assert changed.startswith("x3.00 [1.1")
    assert words == "differs from one repeat to the other"
    assert ratio(measurement(4.0, 2.0, 8.0), Measurement(0.5, 0.5, 0.5, "", BELOW, "")) == ("–", "not estimable")


class Pupil(Observer):
    """An observer whose threshold for rings depends on the draw of the training items that it is given."""

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        (draw,) = {self.items[example.view.item_id].factors["draw"] for example in examples}
        return replace(
            self, card=with_examples(self.card, examples), thresholds={"acuity": {"1": 4.0, "2": 12.0}[draw]}
        )


def test_the_interval_of_a_subject_that_learns_covers_both_draws(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", quick=True, n=272)
    pupil = Pupil(SubjectCard("py:pupil", **kind_by_name("py:pupil")), items.by_id)
    examination = run(
        items, [pupil, observer(items, thresholds={"acuity": 4.0})], tmp_path / "run", show_progress=False
    )
    assert [(arm.subject, arm.repeat) for arm in read_run_card(tmp_path / "run").arms] == [
        ("py:pupil", 0), ("py:pupil", 1), ("py:observer", 0),
    ]  # fmt: skip
    rows = {row["subject"]: row for row in examination.results().to_dict("records") if row["metric"] == "threshold"}
    learned = rows["py:pupil"]
    assert learned["low"] < 4 < 6 < learned["value"] < 10 < 12 < learned["high"]
    assert rows["py:observer"]["high"] < 6
    assert learned["note"].count("of training items") == 2


def test_two_repeats_are_compared(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("acuity", "touching"))
    run(items, ["fake:threshold=9"], tmp_path / "run", repeats=2, show_progress=False)
    section = by_name(sections(load_run(tmp_path / "run")))["retest"]
    rows = sections_text([section]).splitlines()[3:]  # of levels asked one after another: other processors ask others
    assert [row.split("|")[:2] for row in rows] == [[task, "fake:threshold=9"] for task in ("acuity", "touching")]
    assert all(row.endswith("|no clear difference") and "|x" in row for row in rows)
    table = section.table.set_index("task")
    assert list(table.index) == ["acuity", "touching"]
    for cells in table[["first", "second"]].to_numpy():
        assert all(cell.endswith("]") for cell in cells)
    assert table.loc["acuity", "first"] != table.loc["acuity", "second"]
    first, second = (float(table.loc["acuity", name].split()[0]) for name in ("first", "second"))
    assert float(table.loc["acuity", "ratio"].split()[0][1:]) == pytest.approx(second / first, rel=0.01)


@pytest.mark.slow
def test_a_person_who_reads_the_smallest_gap_is_too_near(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("acuity", "number"))
    sharp: Any = observer(items, "human:ours/p01", thresholds={"acuity": 1e-6, "number": 1e-6})
    model = replace(sharp, card=SubjectCard("py:perfect"))
    responses = asked_of(tmp_path / "run", items, [sharp, model])
    write_scores(tmp_path / "run", score(responses, items, SUITE), "strict")
    table = by_name(sections(load_run(tmp_path / "run")))["in-words"].table
    words = dict(zip(zip(table["task"], table["subject"], strict=True), table["in words"], strict=True))
    (person,) = {name for _, name in words if name.startswith("human:")}
    assert words["acuity", person] == "not measurable at this distance: reads 0.50 px"
    assert words["acuity", "py:perfect"] == "needs a gap of less than 0.50 px"
    assert words["number", person] == "needs less than 5.00 % more dots"
