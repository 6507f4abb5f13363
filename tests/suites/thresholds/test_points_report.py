"""Bias and spread of points by hand, and the table of a pointer that always misses by the same."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from snellen.core.item import Item, Media
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import MEASURED, NOT_UNDERSTOOD
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.measures.pointing import ECCENTRICITIES
from snellen.suites.thresholds.pointing import fit_errors, metrics
from snellen.suites.thresholds.report.pointing import SIZES, pointing
from snellen.suites.thresholds.scoring import error
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import asked_of, bank
from tests.suites.thresholds.test_pointing import Pointer

IMAGE = Media("a" * 64, "image", "png", 448, 448)
ITEM = Item("p", "thresholds", "pointing", "Where?", (IMAGE,), (10.0, 20.0), "point", "p", "p", "p",
            measures={"radius_px": 5.0})  # fmt: skip
BY_NAME = {metric.name: metric for metric in metrics()}


def test_errors_are_to_the_right_and_downwards() -> None:
    assert list(BY_NAME) == ["bias_x", "spread_x", "bias_y", "spread_y"]
    assert [metric.score(ITEM, (13.0, 15.0)) for metric in BY_NAME.values()] == [3.0, 3.0, -5.0, -5.0]
    assert [error(ITEM, point) for point in ((13.0, 16.0), (13.0, 24.1), (10.0, 20.0))] == [0.0, 1.0, 0.0]
    for metric in BY_NAME.values():
        assert (metric.higher_is_better, metric.share, metric.bounds, math.isnan(metric.worst)) == (
            False,
            False,
            None,
            True,
        )
        assert metric.title.endswith(f" along {metric.name[-1]}, px")


def test_bias_and_spread_worked_by_hand() -> None:
    """Half at 2 and half at 4 px: 3 +- 1.96 s / sqrt(40), where s is sqrt(40 / 39); log s +- 1.96 / sqrt(78)."""
    errors, spread = [2.0, 4.0] * 20, math.sqrt(40 / 39)
    half, step = 1.959964 * spread / math.sqrt(40), math.exp(1.959964 / math.sqrt(78))
    for name in BY_NAME:
        estimate = BY_NAME[name].estimate
        assert estimate is not None
        found = estimate([ITEM] * 40, errors)
        ends = (3.0, 3 - half, 3 + half) if name.startswith("bias") else (spread, spread / step, spread * step)
        assert (found.value, found.low, found.high) == pytest.approx(ends, rel=0.02)
        assert found.reason == MEASURED
        few = estimate([ITEM] * 5, [1.0, 2.0, 3.0, 4.0, math.nan])
        assert (few.reason, few.note, math.isnan(few.value)) == (NOT_UNDERSTOOD, "too few points", True)
        assert estimate([], []).reason == ""
    assert BY_NAME["bias_x"].estimate([ITEM] * 40, errors).note == "3.0 px [2.7, 3.3]"  # type: ignore[misc]
    five, same = fit_errors([1.0, 2.0, 3.0, 4.0, 5.0]), fit_errors([7.0] * 9)
    assert five is not None
    assert same is not None
    assert five.bias == pytest.approx(3.0, abs=0.1)
    assert (same.bias, same.spread, same.points) == pytest.approx((7.0, 0.05, 9.0), abs=0.01)
    slips = fit_errors([*errors, 200.0, -150.0, 120.0, 90.0])
    assert slips is not None
    assert slips.points == pytest.approx(40.0, abs=0.2)


class Missing(Pointer):
    """Points 30 px to the right and 42 px above, about 51.6 px away: easy discs alone are hit."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        x, y = self.items[view.item_id].answer
        return Reply(view.reply.write((x + 30 + rng.normal(0, 0.3), y - 42 + rng.normal(0, 1))))


def test_a_report_has_the_points_of_every_place_and_size(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("pointing",), n=68, test_only=True)
    responses = asked_of(tmp_path / "run", items, [Missing(SubjectCard("py:x"), dict(items.by_id))])
    write_scores(tmp_path / "run", score(responses, items, SUITE), "strict")
    rows = {
        row["discs"]: row for row in by_name(pointing(load_run(tmp_path / "run")))["pointing"].table.to_dict("records")
    }
    assert list(rows) == ["all", *ECCENTRICITIES, "3 to 7.56 px", "9.524 to 24 px", "30.24 to 96 px"]
    asked = [items.by_id[response.item_id] for response in responses]
    easy = [item for item in asked if item.factors["control"] == "yes"]
    assert easy
    assert len(asked) > len(easy) + 8, "asking goes on, although all but the easy ones are missed"
    points = {name: int(row["points"]) for name, row in rows.items()}
    assert points["all"] == len(asked) == sum(points[name] for name in ECCENTRICITIES)
    assert sum(points[name] for name in SIZES) == len(asked) - len(easy)
    assert rows["all"]["hits"] == str(len(easy))
    assert rows["3 to 7.56 px"]["hits"] == "0"
    right, down, spread = (
        float(rows["all"][name].split()[0]) for name in ("bias to the right", "bias downwards", "spread")
    )
    assert (right, down) == pytest.approx((30, -42), abs=0.6)
    assert rows["all"]["bias to the right"].startswith("+")
    assert spread == pytest.approx(math.sqrt((0.09 + 1) / 2), abs=0.2)
    assert rows["all"]["slips"] == "0"
