"""Estimates of a study: numbers by hand, no files left behind, no paid calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.cli.estimate import _prices
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import BuildOptions
from snellen.exam.estimate import Machines, RemoteService, StudyEstimate, StudyStep, estimate_study
from snellen.runs.preview import CALL_CPU_S, REPLY_TOKENS
from snellen.stimuli.render import RenderSettings, costs
from snellen.stimuli.scenes.model import RenderSpec
from tests.helpers.sets import small_set

OPTIONS = BuildOptions(Path(), n=3, size=(120, 90), renderer="toy", show_progress=False)
ONE_MACHINE = Machines(1, 2, 1)


@pytest.fixture(scope="module")
def combo(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


@pytest.fixture(autouse=True)
def command_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen.exam.estimate._command_seconds", lambda: 0.0)


def test_calls_tokens_and_money_of_a_service(combo: ItemSet) -> None:
    subjects = ["chat:openai/gpt-4o?max_concurrency=4", "vllm/none?price_in=1&price_out=2"]
    service = RemoteService(3.0, 2.5, 10.0)
    plan = estimate_study([str(combo.root)], subjects, ["vanilla", "images=none"], OPTIONS, ONE_MACHINE, service)
    first, second = plan.steps
    calls = first.count
    tests = [item for item in combo.items if item.split == "test"]
    of_tasks = {
        task: sum(item.task == task for item in tests) for task in ("img2text", "text2img", "category-building")
    }
    assert calls >= 2 * sum(of_tasks.values())  # both conditions, and sheets of Pattern Perception
    assert calls < 2 * len(tests)
    assert first.money == pytest.approx((first.tokens_in * 2.5 + calls * REPLY_TOKENS * 10) / 1e6)
    assert second.money == pytest.approx((second.tokens_in * 1 + calls * REPLY_TOKENS * 2) / 1e6)
    assert first.wall_s == pytest.approx(calls * 3.0 / 4)
    assert first.cpu_s == pytest.approx(calls * CALL_CPU_S)
    twice = estimate_study(
        [str(combo.root)], subjects, ["vanilla", "images=none"], OPTIONS, replace(ONE_MACHINE, count=2), service
    )
    assert twice.steps[0].wall_s == pytest.approx(first.wall_s / 2)
    unpriced = estimate_study([str(combo.root)], subjects[:1], ["vanilla"], OPTIONS, ONE_MACHINE, RemoteService())
    assert unpriced.total()["money"] is None
    assert plan.bottleneck is first


def test_waiting_time_counts_as_clock_time(combo: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local subject may wait for another machine: 3 s of clock time per item, almost no CPU time."""
    counted = 0

    def ask(model: Any, items: ItemSet, spec: str, label: str) -> tuple[float, float]:
        nonlocal counted
        counted = sum(item.split == "test" for item in items.items)
        return 0.01, 3.0 * counted

    monkeypatch.setattr("snellen.exam.estimate._Asking._ask", ask)
    plan = estimate_study([str(combo.root)], ["fake:constant=A"], ["vanilla"], OPTIONS, ONE_MACHINE, RemoteService())
    tests = sum(item.split == "test" for item in combo.items)
    assert counted > 0
    assert plan.steps[0].wall_s == pytest.approx(3.0 * tests)


@pytest.mark.parametrize("price", ["nan,1", "1,inf", "-1,2", "1", "a,b"])
def test_a_price_is_two_amounts(price: str) -> None:
    with pytest.raises(SnellenError, match="write IN,OUT"):
        _prices(price)


def test_mistakes_are_reported_in_one_line(combo: ItemSet) -> None:
    mistakes: dict[str, tuple[list[str], list[str], list[str]]] = {
        "name at least one": ([], [], ["vanilla"]),
        "no kind of subject 'chta'": ([str(combo.root)], ["chta:openai/x"], ["vanilla"]),
        "picturs": ([str(combo.root)], [], ["picturs=none"]),
        "neither a folder nor a suite": (["comboo"], [], ["vanilla"]),
    }
    for words, (sets, subjects, conditions) in mistakes.items():
        with pytest.raises(SnellenError, match=words):
            estimate_study(sets, subjects, conditions, OPTIONS, ONE_MACHINE, RemoteService())


def test_drawing_time_is_estimated_by_scenes_and_views(monkeypatch: pytest.MonkeyPatch) -> None:
    class Camera:
        width_px, height_px = 4, 3

    class Spec:
        camera = Camera()

        def __init__(self, scene: int) -> None:
            self.scene = scene

    def draw_some(specs: list[Any], settings: object, threads: int, folder: object) -> tuple[float, int]:
        return 5.0 * len({spec.scene for spec in specs}) + 2.0 * len(specs), 100 * len(specs)

    monkeypatch.setattr(costs, "_draw_some", draw_some)
    specs: list[RenderSpec] = [Spec(scene) for scene in range(7) for _ in range(3)]  # type: ignore[misc]  # as far as it is looked at
    cost = costs.drawing_cost(specs, RenderSettings(renderer="toy"), 2)
    assert (cost.start_s, cost.bytes) == (0.0, 2100)
    assert cost.cpu_s == pytest.approx(7 * 5 + 21 * 2)


def test_totals_are_sums_of_steps() -> None:
    steps = (StudyStep("draw", "a", 3, "images", 4.0, 2.0, 10), StudyStep("ask", "b", 1, "calls", 1.0, 9.0, 0, 5, 0.5))
    plan = StudyEstimate(steps, ())
    assert plan.total() == {"cpu_s": 5.0, "wall_s": 11.0, "bytes": 10, "money": 0.5}
    assert plan.bottleneck is steps[1]
