"""Acuity on several canvases: one bank, one run, thresholds by canvas, and what they say about the images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.report.sections import Exponent, draw_canvases, exponent, sections, verdict
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import MOST_ITEMS, asked_of, bank, observer


def test_an_exponent_worked_by_hand() -> None:
    # 4 px of 448 and 8 px of 896, with equally wide intervals: the slope is log 2 / log 2.
    same_share = exponent({448: (4.0, 3.2, 5.0), 896: (8.0, 6.4, 10.0)})
    assert same_share is not None
    assert same_share.value == pytest.approx(1.0)
    # Standard errors s of each logarithm: log(5 / 3.2) / 3.92 = .1138. That of the slope is sqrt(2) s / log 2 = .2323.
    assert (same_share.high - same_share.low) / 2 == pytest.approx(1.96 * 0.2323, rel=1e-3)
    same_pixels = exponent({448: (4.0, 3.2, 5.0), 1024: (4.0, 3.2, 5.0), 2048: (4.0, 3.2, 5.0)})
    assert same_pixels is not None
    assert same_pixels.value == pytest.approx(0.0)
    assert exponent({448: (4.0, 3.2, 5.0)}) is None


def test_the_slope_is_that_of_a_weighted_regression() -> None:
    thresholds = {448: (3.0, 2.0, 4.0), 1024: (5.0, 4.5, 5.5), 2048: (16.0, 9.0, 24.0)}
    power = exponent(thresholds)
    x, y = np.log(list(thresholds)), np.log([value for value, _, _ in thresholds.values()])
    errors = [np.log(high / low) / 3.92 for _, low, high in thresholds.values()]
    assert power is not None
    assert power.value == pytest.approx(np.polyfit(x, y, 1, w=1 / np.array(errors))[0])


def test_verdicts() -> None:
    assert verdict(None) == "needs two thresholds or more"
    assert verdict(Exponent(0.1, -0.2, 0.4)).endswith("pixels arrive as sent")
    assert verdict(Exponent(0.9, 0.6, 1.2)).endswith("images are made a fixed size")
    assert verdict(Exponent(0.5, -0.1, 1.1)).startswith("cannot tell")
    assert verdict(Exponent(0.5, 0.3, 0.7)).endswith("only large images are made smaller")
    assert verdict(Exponent(1.6, 1.3, 1.9)).startswith("is neither")


def test_bars_of_the_figure_reach_from_the_low_to_the_high_end() -> None:
    """Lines start at 6, the geometric mean of 4 and 9 on the smallest canvas; subjects are 3 % apart."""
    series = [("py:a", {448: (4.0, 3.0, 9.0), 896: (8.0, 7.0, 12.0)}), ("py:b", {448: (9.0, 8.0, 13.0)})]
    (axes,) = draw_canvases(series, [448, 896]).axes
    constant, share = axes.lines[:2]
    assert (constant.get_linestyle(), share.get_linestyle()) == ("--", ":")
    assert [*np.asarray(constant.get_ydata()), *np.asarray(share.get_ydata())] == pytest.approx([6, 6, 6, 12])
    bars = [bar.tolist() for bars_of_subject in axes.containers for bar in bars_of_subject[2][0].get_segments()]
    assert [[y for _, y in bar] for bar in bars] == [pytest.approx(ends) for ends in ((3, 9), (7, 12), (8, 13))]
    assert [bar[0][0] for bar in bars] == pytest.approx([448 / 1.03**0.5, 896 / 1.03**0.5, 448 * 1.03**0.5])
    assert [y for bars_of_subject in axes.containers for y in bars_of_subject[0].get_ydata()] == pytest.approx(
        [4, 8, 9]
    )


def test_one_bank_has_all_canvases(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", (), n=17, settings={"canvas": "all"})
    assert Counter(item.factors["canvas"] for item in items.items if item.split == "test") == {
        "448": 17, "1024": 17, "2048": 17,
    }  # fmt: skip
    assert set(items.card.counts) == {"acuity"}
    plan = Generated().plan(BuildOptions(tmp_path, n=17, settings={"canvas": "all"}))
    assert plan["items"] == {"acuity": 51}
    assert plan["images"] == len(items.items)
    with pytest.raises(SnellenError, match="touching has no canvas of 1024 px"):
        Generated().plan(BuildOptions(tmp_path, tasks=("touching",), settings={"canvas": "all"}))


@pytest.mark.slow
def test_native_and_resized_observers_are_told_apart(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("acuity",), settings={"canvas": "all"})
    subjects = [
        observer(items, "py:native", thresholds={"acuity": 3.0}),
        observer(items, "py:resized", thresholds={"acuity": 3.0}, exponent=1.0),
        observer(items, "py:blind", thresholds={"acuity": 1e6}),
    ]
    responses = asked_of(tmp_path / "run", items, subjects)
    counts = Counter((r.subject, items.by_id[r.item_id].factors["canvas"]) for r in responses)
    assert {counts["py:native", side] for side in ("448", "1024", "2048")} == {MOST_ITEMS}
    write_scores(tmp_path / "run", score(responses, items, SUITE), "strict")
    run = load_run(tmp_path / "run")
    section = by_name(sections(run))["canvases"]
    table = section.table.set_index("subject")
    assert table.loc["py:native", "in words"].endswith("pixels arrive as sent")
    assert table.loc["py:resized", "in words"].endswith("images are made a fixed size")
    assert table.loc["py:blind", "2048 px"] == "question not understood"
    gaps = [float(table.loc["py:resized", f"{side} px"].split()[0]) for side in (448, 1024, 2048)]
    assert np.log(gaps[2] / gaps[0]) / np.log(2048 / 448) == pytest.approx(1.0, abs=0.3)
    # The row of the whole task is that of the smallest canvas.
    rows = run.results[(run.results.metric == "threshold") & (run.results.subject == "py:resized")]
    values = dict(zip(rows["level"], rows["value"], strict=True))
    assert values[""] == values["448"] == pytest.approx(gaps[0], rel=0.01)


def test_a_run_on_one_canvas_has_no_such_section(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("acuity",))
    responses = asked_of(tmp_path / "run", items, [observer(items, thresholds={"acuity": 3.0})])
    write_scores(tmp_path / "run", score(responses, items, SUITE), "strict")
    assert "canvases" not in by_name(sections(load_run(tmp_path / "run")), with_figures=False)
