"""Plans and items of banks by hand, the order of several canvases, and what a report says of them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import MEASURED
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Trial
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE, scoring
from snellen.suites.thresholds.generated.recipe import Generated, balanced, conditions
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.report.sections import canvases, exponent, verdict
from snellen.suites.thresholds.scoring import schedule, side_of, threshold
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import asked_of, bank, observer

RECIPE = Generated()


def options(folder: Path = Path("out"), **changes: object) -> BuildOptions:
    return BuildOptions(folder, **{"tasks": ("acuity",), "n": 17, **changes})  # type: ignore[arg-type]


def test_a_plan_counts_images_seconds_and_bytes() -> None:
    """17 test items, and twice 32 training items of six levels: 401 images of 0.013 s and 12 kB; 27.1 times with all.

    The canvases have 1 + (1024 / 448)^2 + (2048 / 448)^2 = 27.122 times the pixels of the smallest.
    """
    assert RECIPE.plan(options(workers=2)) == {
        "suite": "thresholds", "images": 401, "items": {"acuity": 17}, "parts": 1, "seconds": 3, "bytes": 4_812_000,
        "workers": 2,
    }  # fmt: skip
    every = RECIPE.plan(options(settings={"canvas": "all"}))
    assert (every["images"], every["items"], every["parts"]) == (1203, {"acuity": 51}, 3)
    assert (every["seconds"], every["bytes"]) == (141, pytest.approx(401 * 27.122 * 12_000, rel=1e-4))
    quick = RECIPE.plan(options(n=None, quick=True))
    assert (quick["images"], quick["items"]) == (68 + 96, {"acuity": 68})
    assert RECIPE.plan(options(n=None))["items"] == {"acuity": 272}
    assert RECIPE.plan(options(tasks=()))["items"] == dict.fromkeys(MEASURES, 17)


def test_parameters_name_the_canvas_only_if_it_was_chosen() -> None:
    assert RECIPE.parameters(options(seed=5)) == {"counts": {"acuity": 17}, "train": 384, "seed": 5}
    every = RECIPE.parameters(options(settings={"canvas": "all"}, quick=True))
    assert every == {"counts": {"acuity": 51}, "train": 288, "seed": 0, "settings": {"canvas": "all"}}
    with pytest.raises(SnellenError, match="sharpness"):
        RECIPE.plan(options(tasks=("sharpness",)))


def test_items_come_in_rounds_from_controls_to_the_hardest() -> None:
    acuity, contrast, pointing = (MEASURES[task] for task in ("acuity", "contrast", "pointing"))
    assert [level for level, _ in conditions(acuity, 18)] == [*reversed(range(17)), 16]
    assert [level for level, _ in conditions(acuity, 3)] == [16, 11, 5]
    turns = [variant for _, variant in conditions(contrast, 5 * 17)]
    assert turns[::17] == ["1/32", "1/16", "1/8", "1/4", "1/32"]
    assert len(set(turns[:17])) == 1
    few = conditions(pointing, 4)
    assert {variant for _, variant in few} == {"near", "middle", "far"}
    answers = balanced([1, 2, 1, 2, 1, 1], 4, stream("test", "balanced"))
    assert sorted([*answers[::2], answers[5]]) == [0, 1, 2, 3]
    assert answers[1] != answers[3]


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A round of every level on each canvas, without training items."""
    folder = tmp_path_factory.mktemp("plans") / "bank"
    return bank(folder, ("acuity",), n=34, settings={"canvas": "all"}, test_only=True)


def test_an_item_states_its_level_and_canvas(items: ItemSet) -> None:
    assert {item.split for item in items.items} == {"test"}
    first, second = items.items[0], next(item for item in items.items if item.factors["canvas"] == "1024")
    assert (first.item_id, second.item_id) == ("generated/acuity-448-test-0000", "generated/acuity-1024-test-0000")
    assert (first.factors["control"], first.factors["level"], first.measures["gap_px"]) == ("yes", "17", 56.0)
    assert second.measures["gap_px"] == pytest.approx(56 * 1024 / 448)
    assert second.measures["canvas_px"] == 1024
    easiest = items.items[1]
    assert (easiest.factors["control"], easiest.factors["level"], easiest.measures["gap_px"]) == ("no", "16", 32.0)
    assert easiest.latent["level"] == round(math.log10(32), 6)
    assert first.provenance == {"source": "generated", "seed": 0}
    assert side_of(items.items[::-1]) == 448
    assert len({item.stimulus_id for item in items.items}) == len(items.items)


def test_canvases_are_asked_one_after_the_other_from_the_smallest(items: ItemSet) -> None:
    by_id = {item.item_id: item for item in items.items}
    order = schedule(items.items[::-1])([Trial((item.view(),)) for item in items.items[::-1]])
    batches: list[list[Item]] = []
    try:
        batch = next(order)
        while True:
            batches.append([by_id[trial.views[0].item_id] for trial in batch])
            batch = order.send({item.item_id: 0.0 for item in batches[-1]})
    except StopIteration:
        pass
    sides = [{item.factors["canvas"] for item in batch} for batch in batches]
    assert [next(iter(side)) for side in sides] == [
        side for side in ("448", "1024", "2048") for _ in range(len(sides) // 3)
    ]
    assert all(len(side) == 1 for side in sides)
    easy = [Counter(item.factors["control"] for item in batch) for batch in batches]
    assert easy[0] == {"no": 8, "yes": 2}, "there are two easy ones of each canvas"
    assert [len(batch) for batch in batches[:4]] == [10, 8, 8, 8]


def test_a_report_has_the_threshold_of_every_canvas_and_its_exponent(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An observer that needs the same share of every canvas; on the whole its threshold is that of the smallest."""
    monkeypatch.setattr(scoring, "goodness_of_fit", lambda task, fitted: 1.0)  # it takes seconds
    monkeypatch.setattr(scoring, "has_drift", lambda fitted, items, errors: False)
    subject = observer(items, thresholds={"acuity": 3.0}, exponent=1.0)
    responses = asked_of(tmp_path, items, [subject])
    write_scores(tmp_path, score(responses, items, SUITE), "strict")
    run = load_run(tmp_path)
    rows = run.results[(run.results["metric"] == "threshold") & (run.results["factor"].isin(["", "canvas"]))]
    by_level = {row["level"]: row for row in rows.to_dict("records")}
    section = by_name(canvases(run), with_figures=False)["canvases"]
    (cells,) = section.table.to_dict("records")
    assert list(cells) == ["subject", "448 px", "1024 px", "2048 px", "exponent", "in words"]
    ends = {}
    for side in (448, 1024, 2048):
        row = by_level[str(side)]
        assert row["reason"] == MEASURED
        ends[side] = (row["value"], row["low"], row["high"])
        assert float(cells[f"{side} px"].split()[0]) == pytest.approx(row["value"], rel=0.005)
    power = exponent(ends)
    assert power is not None
    assert cells["exponent"].startswith(f"{power.value:.2f} [")
    assert cells["in words"] == verdict(power)
    assert by_level[""]["value"] == by_level["448"]["value"]
    asked = [items.by_id[response.item_id] for response in responses]
    errors = [float(response.text != item.answer) for response, item in zip(responses, asked, strict=True)]
    assert threshold(MEASURES["acuity"], asked, errors).value == pytest.approx(by_level["448"]["value"])
