"""Checkups: folders that they remove before they build, and the sets that they enlarge."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.core.errors import SnellenError
from snellen.core.suite import BuildOptions
from snellen.exam import checkup
from tests.helpers.journey import colour_set


def test_only_an_item_set_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "build", lambda suite, how, options: None)
    notes = tmp_path / "items" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    battery = checkup._Battery("combo", BuildOptions(notes.parent), tmp_path / "run")
    checkup._build(battery)
    assert notes.read_text() == "mine", "no item set is in the folder"
    colour_set(notes.parent)
    checkup._build(battery)
    assert not notes.parent.exists()


def test_a_missing_extra_is_named_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(checkup, "build", lambda suite, how, options: pytest.fail("built"))
    with pytest.raises(SnellenError, match=r"PyAV.*\[video\]"):
        checkup.checkup(out=tmp_path / "checkup", renderer="toy", quick=True, show_progress=False)
    assert not (tmp_path / "checkup").exists()


SECONDS = {"combo": 50.0, "vlm2-bench": 10.0, "vfm-bench": 20.0}
"""The time that a part takes."""


def simulated(monkeypatch: pytest.MonkeyPatch, undecided: dict[str, int], parts_left: int = 9) -> dict[str, Any]:
    """Examinations with these numbers of undecided scores, of which each further part decides one."""
    counts = dict(undecided)

    def examination(name: str, count: int) -> Any:
        card = SimpleNamespace(parts=(None,) * count, parts_left=parts_left + 1 - count)
        return SimpleNamespace(name=name, items=SimpleNamespace(card=card), suite=None)

    def scores(exam: Any, *_: Any) -> list[tuple[str, str]]:
        return [("chat:model", str(number)) for number in range(counts[exam.name])] + [("fake:chance", "task")]

    def run(items: Any, subjects: Any, root: Path, *, max_parts: int, **_: Any) -> Any:
        counts[root.name] -= 1
        order.append(root.name)
        return examination(root.name, max_parts)

    order = list[str]()
    monkeypatch.setattr(checkup, "undecided", scores)
    monkeypatch.setattr(checkup, "run", run)
    monkeypatch.setattr(checkup, "_part_seconds", lambda options: SECONDS[options.out.name])
    return {"examinations": {name: examination(name, 1) for name in undecided}, "order": order}


def batteries(names: dict[str, int]) -> list[checkup._Battery]:
    return [checkup._Battery(name, BuildOptions(Path(name)), Path("run") / name) for name in names]


def test_the_next_part_is_of_the_set_with_most_undecided_scores_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"combo": 6, "vlm2-bench": 2, "vfm-bench": 3}
    setting = simulated(monkeypatch, names)
    checkup._grow(batteries(names), [], setting["examinations"], time.monotonic() + 60, False)
    # Scores a second are .12, .2, .15; then .12, .1, .15; then .12, .1, .1; then .1 of each; and so on, to the end.
    combo, vlm2, vfm = names
    assert setting["order"] == [vlm2, vfm, combo, combo, vlm2, vfm, combo, combo, vfm, combo, combo]


def test_nothing_is_drawn_after_the_deadline_or_for_simulated_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    for names, deadline in (({"combo": 6}, time.monotonic()), ({"combo": 0}, time.monotonic() + 60)):
        setting = simulated(monkeypatch, names)
        checkup._grow(batteries(names), [], setting["examinations"], deadline, False)
        assert setting["order"] == []


def test_expected_decisions_follow_from_the_items_that_scores_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 180 seconds is enough to draw two parts of VLM2-Bench and two of ComBo."""
    names = {"combo": 3, "vlm2-bench": 2}
    setting = simulated(monkeypatch, names, parts_left=4)
    monkeypatch.setattr("snellen.reports.rows.metric_in", lambda suite, row: None)
    monkeypatch.setattr(checkup, "units_to_decide", lambda row, metric: row.needed)
    rows = [
        ("combo", 24, 30),
        ("combo", 24, 90),
        ("combo", 24, math.inf),
        ("vlm2-bench", 12, 30),
        ("vlm2-bench", 12, 90),
    ]
    too_few = pd.DataFrame(rows, columns=["suite", "n", "needed"])
    # vlm2-bench: 30 of 12 items are two more parts; 90 are seven, of which only four are left. combo: one and three.
    assert checkup._expected(too_few, batteries(names), setting["examinations"]) == 2
    assert checkup._expected(too_few.iloc[:0], batteries(names), setting["examinations"]) == 0
