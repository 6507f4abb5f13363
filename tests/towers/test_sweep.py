"""The jobs of a sweep and their cost, worked by hand without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build
from snellen.suites import SUITES
from snellen.towers import sweep
from snellen.towers.heads.stages import STAGES
from snellen.towers.sweep import settings_jobs, sweep_jobs
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
costs = lazy_module("snellen.towers.heads.costs")
training = lazy_module("snellen.towers.heads.training")
files = lazy_module("snellen.towers.heads.files")
TOWERS = ("tiny/clip-l", "tiny/sam-h")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    folder, tasks = tmp_path_factory.mktemp("sweep") / "items", ("counting", "localization")
    options = BuildOptions(folder, n=2, quick=True, tasks=tasks, renderer="toy", show_progress=False)
    return build(SUITES.get("ava-bench"), "generated", options)


def plan(**fields: Any) -> Any:
    return training.HeadPlan("tiny/clip-l", "random-qwen2?layers=1&width=32", STAGES["fit"], **fields)


def test_every_tower_learns_every_ability_in_its_folder_from_its_own_base(items: ItemSet, tmp_path: Path) -> None:
    """Localization takes 20 epochs (Table 4), unless another number is asked for."""
    jobs = sweep_jobs(items, (*TOWERS, TOWERS[0]), ("counting", "localization"), plan(), tmp_path, tmp_path / "bases")
    assert [(job.plan.tower, job.ability, job.plan.stage.epochs) for job in jobs] == [
        (tower, ability, epochs) for tower in TOWERS for ability, epochs in (("counting", 10), ("localization", 20))
    ]
    names = [(name, ability) for name in ("tiny-clip-l", "tiny-sam-h") for ability in ("counting", "localization")]
    assert [job.out for job in jobs] == [tmp_path / "heads" / name / ability for name, ability in names]
    assert [job.plan.base for job in jobs] == [tmp_path / "bases" / name for name, _ in names]
    short = replace(plan(), stage=replace(STAGES["fit"], epochs=3))
    (job,) = sweep_jobs(items, TOWERS[:1], ("localization",), short, tmp_path)
    assert (job.plan.stage.epochs, job.plan.base) == (3, None)


def test_settings_of_one_training_share_a_folder(items: ItemSet, tmp_path: Path) -> None:
    jobs = settings_jobs(items, TOWERS[:1], ("counting",), plan(), tmp_path, None)
    places = {name: job.out.relative_to(tmp_path).parts[0] for name, (job,) in jobs.items()}
    assert places == {
        "rate 1e-5": "rate-1e-5", "rate 1e-4": "rate-1e-4", "rate 5e-4": "rate-5e-4", "rank 64": "rank-64",
        "rank 128": "rate-1e-4", "rank 256": "rank-256",
    }  # fmt: skip
    rates = {name: (job.plan.stage.rate, job.plan.stage.lora_rank) for name, (job,) in jobs.items()}
    assert (rates["rate 5e-4"], rates["rank 64"]) == ((5e-4, 128), (1e-4, 64))
    with pytest.raises(SnellenError, match="--scope connector does not train"):
        settings_jobs(items, TOWERS, (), replace(plan(), stage=STAGES["pretrain"]), tmp_path, None)


@pytest.mark.parametrize(
    ("fields", "epochs", "flops", "size"),
    [
        # 7 images of 100 operations, once if their features are kept; 20 conversations of 3 in each epoch.
        ({}, 10, 7 * 100 + 200 * 3, 4),
        ({"device": "cuda"}, 10, 7 * 100 + 200 * 3, 2),
        ({"source": "live"}, 10, 200 * 100 + 200 * 3, 0),
        ({}, 1, 20 * 100 + 20 * 3, 0),
    ],
)
def test_the_cost_of_a_job_by_hand(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], epochs: int, flops: float, size: int
) -> None:
    """On the disk are the numbers of each image's tokens, of so many bytes, and 5 weights in float32."""
    monkeypatch.setattr("snellen.towers.heads.costs._unit_costs", lambda *_: (100, 3, 5))
    tower = costs.find_tower("tiny/clip-l")
    cost = costs.job_cost(replace(plan(**fields), stage=replace(STAGES["fit"], epochs=epochs)), 20, 7)
    assert (cost.flops, cost.disk) == (flops, 7 * tower.tokens * tower.width * size + 20)


def test_the_cost_of_a_sweep_is_that_of_unfinished_jobs(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snellen.towers.heads.costs.job_cost", lambda plan, n, images: costs.Cost(n, 10 * images))
    jobs = sweep_jobs(items, TOWERS, ("counting", "localization"), plan(), tmp_path)
    learned = [sweep.train_items(items, job.ability) for job in jobs[1:]]
    jobs[0].out.mkdir(parents=True)
    (jobs[0].out / "head.json").write_text("{}")
    cost = sweep.sweep_cost(items, jobs)
    images = sum(len({item.query for item in part}) for part in learned)
    assert (cost.flops, cost.disk) == (sum(map(len, learned)), 10 * images)


def card(folder: Path, stage: str, hours: float, device: str, base: Path | str = "") -> Path:
    texts = dict.fromkeys((
        "base_weights", "fingerprint", "features", "tower", "tower_fingerprint", "language_model_weights",
        "task", "weights",
    ), "")  # fmt: skip
    numbers = dict.fromkeys(("conversations", "steps", "trained_parameters"), 0)
    rates = dict.fromkeys((
        "seconds", "samples_per_second", "first_loss", "last_loss", "live_seconds_per_image", "read_seconds_per_image",
    ), 0.0)  # fmt: skip
    facts = {"stage": {"name": stage}, "base": str(base), "device": device, "device_hours": hours, "versions": {}}
    folder.mkdir(parents=True)
    content = files.HeadCard(language_model="small", **texts, **numbers, **rates, **facts)
    (folder / "head.json").write_text(content.model_dump_json())
    return folder


def test_each_stage_of_a_sweep_counts_its_hours_once(tmp_path: Path) -> None:
    """Two abilities build on one head of stage 2, which builds on one of stage 1; a third was trained alone."""
    first = card(tmp_path / "first", "pretrain", 5.0, "gpu")
    second = card(tmp_path / "second", "tune", 7.0, "gpu", first)
    for name, hours, device, base in (("a", 1.0, "gpu", second), ("b", 2.0, "cpu", second), ("c", 4.0, "gpu", "")):
        card(tmp_path / "sweep" / "heads" / "clip" / name, "fit", hours, device, base)
    rows = costs.hours_by_stage(tmp_path / "sweep")
    facts = [(row["stage"], row["trainings"], row["device"], row["device_hours"]) for row in rows]
    assert facts == [("pretrain", 1, "gpu", 5.0), ("tune", 1, "gpu", 7.0), ("fit", 3, "cpu gpu", 7.0)]
    assert {(row["sweep"], row["language_model"]) for row in rows} == {(str(tmp_path / "sweep"), "small")}
    with pytest.raises(SnellenError, match="no heads there; name a folder written by `snellen tower sweep`"):
        costs.hours_by_stage(tmp_path)
