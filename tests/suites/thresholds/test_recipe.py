"""The bank: levels, balance, fresh exemplars, canvases, and what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.suites.thresholds.generated.recipe import DRAWS, EASY, TRAIN_EXEMPLARS, Generated
from snellen.suites.thresholds.measures import MEASURES, orientation
from snellen.suites.thresholds.measures.measure import SIDE, Measure, Stimulus
from snellen_sight.figures import bar
from tests.suites.thresholds.banks import bank


def test_widths_of_bars_are_uniform_in_their_logarithm(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3 to 9 pixels half of them are below the root of 27, 5.2; of as many uniform ones 37 % would be."""
    widths = list[float]()

    def wide(x: float, y: float, length: float, width: float, degrees: float) -> Any:
        widths.append(width)
        return bar(x, y, length, width, degrees)

    monkeypatch.setattr(orientation, "bar", wide)
    for n in range(40):
        orientation.draw(Stimulus(5.0, 0, SIDE, ""), stream("test", "widths", n))
    assert (len(widths), min(widths) >= 3, max(widths) <= 9) == (9 * 40, True, True)
    assert 0.44 < sum(width < 27**0.5 for width in widths) / len(widths) < 0.56


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.task)
def test_levels_go_up_to_easy_controls(measure: Measure) -> None:
    levels = measure.levels
    assert len(levels) == 16
    assert list(levels) == sorted(set(levels))
    assert measure.control > levels[-1]


def test_every_level_has_as_many_exemplars_and_balanced_answers(tmp_path: Path) -> None:
    tasks = ("acuity", "contrast", "number")
    items = bank(tmp_path / "bank", tasks)
    tests = Counter(item.task for item in items.items if item.split == "test")
    assert tests == dict.fromkeys(tasks, 16 * 17)
    by_level: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in items.items:
        level = "control" if item.factors["control"] == "yes" else item.factors["level"]
        by_level[item.task, item.split, level].append(item.answer)
        assert item.measures[MEASURES[item.task].quantity] > 0
    for (task, split, _), answers in by_level.items():
        assert len(answers) == (16 if split == "test" else DRAWS * TRAIN_EXEMPLARS)
        counts = Counter(answers)
        assert max(counts.values()) - min(counts.get(name, 0) for name in MEASURES[task].answers) <= 1
    trained = {level for task, split, level in by_level if split == "train"}
    assert len(trained) == EASY
    of_draws = Counter((item.task, item.factors.get("draw", "")) for item in items.items)
    in_draw = {"": 16 * 17, "1": EASY * TRAIN_EXEMPLARS, "2": EASY * TRAIN_EXEMPLARS}
    assert of_draws == {(task, draw): count for task in tasks for draw, count in in_draw.items()}


def test_the_first_items_are_a_smaller_bank(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("length",), n=34).task("length")
    counts = Counter(item.factors["level"] for item in items if item.split == "test")
    assert set(counts.values()) == {2}
    assert len(counts) == 17


def test_exemplars_differ_and_a_seed_fixes_them(tmp_path: Path) -> None:
    def draw(name: str, seed: int) -> list[str]:
        options = BuildOptions(tmp_path / name, seed=seed, n=17, quick=True, tasks=("length",))
        return [item.query[0].sha256 for item in Generated().build(options).items]

    first, same, other = draw("first", 3), draw("same", 3), draw("other", 4)
    assert first == same
    assert not set(first) & set(other)
    assert len(set(first)) == len(first)


def test_larger_canvases_are_for_acuity_alone(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", (), n=17, settings={"canvas": "1024"})
    assert set(items.card.counts) == {"acuity"}
    assert {item.measures["canvas_px"] for item in items.items} == {1024}
    stimulus = Stimulus(0.5, 3, 1024, "")
    assert MEASURES["acuity"].draw(stimulus, stream("test", "large")).image.size == (1024, 1024)
    gaps = sorted({item.measures["gap_px"] for item in items.items if item.factors["control"] == "no"})
    assert [gaps[0], gaps[-1]] == pytest.approx([0.5, 32 * 1024 / 448], rel=1e-3)
    with pytest.raises(SnellenError, match="length has no canvas of 1024 px"):
        Generated().plan(BuildOptions(tmp_path, tasks=("length",), settings={"canvas": "1024"}))
    with pytest.raises(SnellenError, match="canvas"):
        Generated().plan(BuildOptions(tmp_path, settings={"canvas": "512"}))
