"""Towers from the command line: stages, a fitted ability, a sweep with ranks; everything resumes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build
from snellen.reports import loading
from snellen.reports.loading import load_run
from snellen.suites import SUITES
from snellen.towers.evaluators import compare_runs
from snellen.towers.heads.llava_files import read_llava
from snellen.towers.heads.stages import STAGES
from snellen.towers.probes.inputs import ProbeSettings
from snellen.towers.sweep import JobOutcome, ask_heads, folder_name, run_job, sweep_jobs, train_all, train_items
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
need("torch", "models")
costs = lazy_module("snellen.towers.heads.costs")
fitting = lazy_module("snellen.towers.heads.fitting")

Command = Callable[..., tuple[int, str, str]]
SMALL = "random-qwen2?layers=1&width=32"
TRIAL = ("--language-model", SMALL, "--epochs", 1)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A few generated images for counting and colour questions."""
    folder = tmp_path_factory.mktemp("towers") / "items"
    options = BuildOptions(folder, n=4, quick=True, tasks=("counting", "colour"), renderer="toy", show_progress=False)
    return build(SUITES.get("ava-bench"), "generated", options)


@pytest.mark.slow
def test_a_sweep_ranks_towers_and_resumes(snellen: Command, items: ItemSet, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    names = ("--towers", "tiny/clip-l,tiny/sam-h", "--abilities", "counting,colour")
    words = ("tower", "sweep", *names, *TRIAL, "--items", items.root, "--out", out)
    code, output, _ = snellen(*words, "--plan")
    assert code == 0
    assert output.startswith("4 heads: ")
    assert "GB of disk" in output
    assert not out.exists()
    code, output, _ = snellen(*words)
    assert code == 0
    assert "Ranks" in output
    jobs, ranks = (pd.read_csv(out / name) for name in ("jobs.csv", "ranks.csv"))
    assert list(jobs["status"]) == ["done"] * 4
    assert (jobs["samples_per_second"] > 0).all()
    assert (jobs["conversations"] == [len(train_items(items, name)) for name in ("counting", "colour")] * 2).all()
    assert set(ranks["tower"]) == {"tiny/clip-l", "tiny/sam-h"}
    assert set(ranks["task"].fillna("")) == {"counting", "colour", ""}
    assert ((ranks["low"] <= ranks["rank"]) & (ranks["rank"] <= ranks["high"])).all()
    cards = {path: path.stat().st_mtime_ns for path in out.glob("heads/*/*/head.json")}
    assert len(cards) == 4
    code, output, _ = snellen(*words)
    assert code == 0
    assert output.startswith("4 heads: 0 TFLOP of training to do")
    assert {path: path.stat().st_mtime_ns for path in out.glob("heads/*/*/head.json")} == cards


@pytest.mark.slow
def test_a_diverged_job_is_unstable_and_a_failed_one_states_the_reason(items: ItemSet, tmp_path: Path) -> None:
    stage = replace(STAGES["fit"], epochs=2)
    plan = fitting.HeadPlan("", SMALL, stage)
    jobs = sweep_jobs(items, ["tiny/clip-l", "tiny/siglip-1"], ["counting"], plan, tmp_path)
    wild = replace(jobs[0], plan=replace(jobs[0].plan, stage=replace(stage, rate=1e30, epochs=5)))
    outcome = run_job(wild)
    assert outcome.status == "unstable"
    assert "the loss is not finite" in outcome.reason
    assert run_job(jobs[0]) == outcome  # noted, and not tried again
    lost = replace(jobs[1], plan=replace(jobs[1].plan, language_model="no/such-model"))
    failed = run_job(lost)
    assert (failed.status, "no such model" in failed.reason or "no tokenizer" in failed.reason) == ("failed", True)
    outcomes = train_all(jobs)
    assert [each.status for each in outcomes] == ["unstable", "done"]
    sweep = ask_heads(items, outcomes, tmp_path, show_progress=False)
    assert list(pd.read_csv(tmp_path / "jobs.csv")["status"]) == ["unstable", "done"]
    assert sweep.ranks.empty  # one tower has no rank
    assert {(r.task, r.status) for r in sweep.examination.responses} == {("counting", "ok")}
    both = [*outcomes, JobOutcome("tiny/siglip-1", "colour", "failed", "no disk")]
    sweep = ask_heads(items, both, tmp_path, show_progress=False)
    assert {(r.task, r.status) for r in sweep.examination.responses} == {("counting", "ok"), ("colour", "declined")}


THREE = ("tiny/clip-l", "tiny/siglip-1", "tiny/dinov2-l")


def as_of_another(sweep: Path, folder: Path) -> Path:
    """A copy of a sweep whose cards name the language model `large`."""
    shutil.copytree(sweep, folder)
    for path in folder.glob("heads/*/*/head.json"):
        card = json.loads(path.read_text())
        if path.parts[-3] == "tiny-clip-l":  # based on an earlier stage that took two hours
            stage = {**card, "language_model": "large", "stage": {**card["stage"], "name": "tune"}, "device_hours": 2}
            (folder / "base").mkdir()
            (folder / "base" / "head.json").write_text(json.dumps(stage))
            card["base"] = str(folder / "base")
        path.write_text(json.dumps({**card, "language_model": "large", "device_hours": 8 * card["device_hours"]}))
    return folder


@pytest.mark.slow
def test_a_sweep_with_probes_compares_both_tiers(
    snellen: Command, items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snellen.towers.probes.subject.ProbeSettings", partial(ProbeSettings, steps=12))
    monkeypatch.setattr("snellen.towers.sweep.sweep_cost", lambda items, jobs: costs.Cost(0.0, 0.0))
    out = tmp_path / "sweep"
    names = ("--towers", ",".join(THREE), "--abilities", "counting", "--items", items.root)
    code, output, err = snellen("tower", "sweep", *names, *TRIAL, "--out", out, "--probes")
    assert code == 0, err
    for text in (
        "Agreement of the rankings by probes and heads",
        "Advantage of probes over heads",
        "Scale: small (3 towers",
    ):
        assert text in output
    table = pd.read_csv(out / "tiers.csv", keep_default_na=False)
    gaps = table[table["measure"] == "gap"]
    assert list(table.loc[table["measure"] == "tau", "task"]) == ["counting"]  # one ability has no mean
    assert list(gaps["encoder"]) == ["", *THREE]
    assert set(table["scale"]) == {"small"}
    assert set(table["training_items"]) == {len(train_items(items, "counting"))}
    # Errors are scored: the heads' minus the probes' values equal those of the result tables.
    heads, probes = (load_run(out / name).results for name in ("run", "probes"))
    means = [
        rows.loc[(rows["factor"] == "") & (rows["metric"] == "mae_over_gt"), "value"].mean() for rows in (heads, probes)
    ]
    assert float(gaps["value"].iloc[0]) == pytest.approx(means[0] - means[1])
    assert float(gaps["value"].iloc[0]) == pytest.approx(gaps["value"].iloc[1:].astype(float).mean())
    assert set(pd.read_csv(out / "probe-ranks.csv")["tower"]) == set(THREE)
    # Counts as classes, before and after the connector.
    head, file = out / "heads" / "tiny-clip-l" / "counting", tmp_path / "connector.csv"
    assert snellen("tower", "probe", head, "--items", items.root, "--out", file)[0] == 0
    places = pd.read_csv(file)
    assert list(places["place"]) == ["before the connector", "behind the connector", "blind", "change"]
    assert list(places["features"].iloc[:2]) == [32, 32]
    assert set(places["items"]) == {4}
    code, _, err = snellen("tower", "probe", tmp_path, "--items", items.root)
    assert (code, "no trained head" in err) == (2, True)
    # The same heads as those of another language model, with eight times the time and two more hours for its base.
    twin = as_of_another(out, tmp_path / "twin")
    code, output, err = snellen("tower", "compare", out, twin, "--out", tmp_path / "compared")
    assert code == 0, err
    assert "Agreement of the rankings by random-qwen2?layers=1&width=32 and large" in output
    table, hours = (pd.read_csv(tmp_path / "compared" / name) for name in ("compare.csv", "hours.csv"))
    assert set(table["other_evaluator"]) == {"large"}
    assert table.loc[table["measure"] == "gap", "value"].abs().max() == 0
    assert list(zip(hours["stage"], hours["trainings"], strict=True)) == [("fit", 3), ("tune", 1), ("fit", 3)]
    assert hours["device_hours"].iloc[2] == pytest.approx(8 * hours["device_hours"].iloc[0])
    assert hours["device_hours"].iloc[1] == 2
    code, _, err = snellen("tower", "compare", out, tmp_path)
    assert (code, "no heads there" in err) == (2, True)
    run = load_run(out / "run")
    other = replace(run, card=run.card.model_copy(update={"content_hash": "of others"}))
    runs = iter([run, other, run, replace(run, card=run.card.model_copy(update={"arms": []}))])
    monkeypatch.setattr(loading, "load_run", lambda root: next(runs))
    with pytest.raises(SnellenError, match="only runs on the same items"):
        compare_runs(out / "run", out / "run", ("a", "b"))
    with pytest.raises(SnellenError, match="no tower in common"):
        compare_runs(out / "run", out / "run", ("a", "b"))


@pytest.mark.slow
def test_settings_of_table_3_are_rows_and_diverged_ones_unstable(
    snellen: Command, items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"rate 1e30": (1e30, 128), "rate 1e-4": (1e-4, 128), "rank 128": (1e-4, 128)}
    monkeypatch.setattr("snellen.towers.heads.stages.TABLE_3", settings)
    names = ("--towers", "tiny/clip-l", "--abilities", "counting", "--items", items.root, "--out", tmp_path / "sweep")
    model = ("--language-model", SMALL, "--epochs", 5)
    code, output, err = snellen("tower", "sweep", *names, *model, "--table-3")
    assert code == 0, err
    assert output.startswith("2 heads: ")  # two settings lead to the same training
    assert "unstable" in output
    rows = pd.read_csv(tmp_path / "sweep" / "settings.csv").set_index("setting")
    assert list(rows.index) == list(settings)
    assert list(rows["status"]) == ["unstable", "done", "done"]
    assert list(rows["rank"]) == [128] * 3
    assert rows["value"].isna().tolist() == [True, False, False]
    assert rows["value"].iloc[1] == rows["value"].iloc[2]
    assert "the loss is not finite" in rows["reason"].iloc[0]
    code, _, err = snellen("tower", "sweep", *names, *model, "--table-3", "--scope", "language-model")
    assert (code, "Table 3 varies LoRA" in err) == (2, True)


def llava_file(folder: Path) -> Path:
    """A caption, two turns, text only, and a missing image."""
    for name in ("a", "b"):
        Image.new("RGB", (20, 20), "red").save(folder / f"{name}.png")
    turns = [{"from": side, "value": text} for side, text in (("human", "<image>\nWhat?"), ("gpt", "Red."))]
    more = [{"from": "human", "value": "Sure?"}, {"from": "gpt", "value": "Yes."}]
    records = [
        {"id": 1, "image": "a.png", "conversations": turns},
        {"id": "2", "image": "b.png", "conversations": turns + more},
        {"id": "3", "conversations": more},
        {"id": "4", "image": "lost/c.png", "conversations": turns},
    ]
    path = folder / "conversations.json"
    path.write_text(json.dumps(records))
    return path


def test_llava_files_are_read(tmp_path: Path) -> None:
    path = llava_file(tmp_path)
    file = read_llava(path, tmp_path, skip_missing=True)
    assert file.missing == 1
    first, second, third = file.conversations
    assert first.turns[0].parts == (tmp_path / "a.png", "What?")
    assert [(turn.parts[-1], turn.reply) for turn in second.turns] == [("What?", "Red."), ("Sure?", "Yes.")]
    assert third.images == ()


def test_odd_records_of_llava_are_read_or_named(tmp_path: Path) -> None:
    """A leading answer is dropped, a mark without an image too; an image without a mark is not shown."""
    Image.new("RGB", (20, 20), "red").save(tmp_path / "a.png")
    messages = [{"from": side, "value": f"{side} {n} <image>"} for n in range(2) for side in ("gpt", "human")]
    plain = [{"from": "human", "value": " <image> \n"}, {"from": "gpt", "value": "Red."}]
    path = tmp_path / "odd.json"

    def read(*records: object, **more: bool) -> list[tuple[str, list[object]]]:
        path.write_text(json.dumps(records))
        return [
            (each.name, [(turn.parts, turn.reply) for turn in each.turns])
            for each in read_llava(path, tmp_path, **more).conversations
        ]

    answer = {"from": "gpt", "value": "last"}
    texts = [(("human 0",), "gpt 1 <image>"), (("human 1",), "last")]
    assert read({"id": 7, "conversations": [*messages, answer]}) == [("7", texts)]
    image_turns = [((tmp_path / "a.png",), "Red.")]
    words = [{"from": "human", "value": "Which?"}, answer]
    assert read({"image": "a.png", "conversations": plain}, {"image": "a.png", "conversations": words}) == [
        ("", image_turns), ("", [(("Which?",), "last")])
    ]  # fmt: skip
    assert read({"conversations": plain}) == [("", [((), "Red.")])]
    assert read({"image": "b.png", "conversations": []}, skip_missing=True) == []
    with pytest.raises(SnellenError, match=r"images missing under .*\n.*b\.png"):
        read({"image": "b.png", "conversations": plain})
    with pytest.raises(SnellenError, match="x: turns are not in pairs"):
        read({"id": "x", "conversations": [*plain, plain[0]]})
    with pytest.raises(SnellenError, match="cannot be read in LLaVA's layout"):
        read({"id": "x", "conversations": [{"from": "user", "value": ""}]})


def test_stages_from_the_command_line(snellen: Command, items: ItemSet, tmp_path: Path) -> None:
    path = llava_file(tmp_path)
    source = ("--data", path, "--images", tmp_path, "--tower", "tiny/siglip-1", "--language-model", SMALL)
    code, _, err = snellen("tower", "pretrain", *source, "--out", tmp_path / "first")
    assert code == 2
    assert "1 of images missing under" in err
    assert "lost/c.png" in err
    code, output, _ = snellen("tower", "pretrain", *source, "--out", tmp_path / "first", "--skip-missing")
    assert code == 0
    assert "skipped, since their images are missing: 1" in output
    tuned = ("--base", tmp_path / "first", "--out", tmp_path / "second", "--skip-missing")
    assert snellen("tower", "tune", *source, *tuned)[0] == 0
    fit = ("tower", "fit", "counting", "--items", items.root, "--tower", "tiny/siglip-1", *TRIAL)
    code, output, _ = snellen(*fit, "--base", tmp_path / "second", "--out", tmp_path / "head")
    assert code == 0
    assert f"--subject head:{tmp_path / 'head'}" in output
    assert json.loads((tmp_path / "head" / "head.json").read_text())["base"] == str(tmp_path / "second")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--towers", "clip", "--abilities", "counting"), "no tower 'clip'; did you mean 'clip-l'?"),
        (("--towers", "tiny/clip-l", "--abilities", "countin"), "did you mean 'counting'?"),
        (("--towers", ",", "--abilities", "counting"), "a sweep needs --towers and --abilities"),
        (("--towers", "tiny/clip-l", "--abilities", "counting", "--scope", "lorra"), "did you mean 'lora'?"),
        (("--towers", "tiny/clip-l", "--abilities", "ocr"), "no training items of ocr"),
    ],
)
def test_wrong_words_name_the_nearest(
    snellen: Command, items: ItemSet, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    code, _, err = snellen("tower", "sweep", *words, "--items", items.root, "--out", tmp_path, "--plan")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_the_list_names_every_tower(snellen: Command) -> None:
    code, output, _ = snellen("tower", "list")
    assert code == 0
    for name in ("siglip-2", "midas-3.0", "efficientnet-lite0", "sam-h-compat", "unverified"):
        assert name in output


def test_folders_of_towers() -> None:
    assert folder_name("tiny/clip-l?side=84&layer=-1") == "tiny-clip-l-side=84-layer=-1"


def test_a_plan_counts_memory_before_anything_is_loaded(snellen: Command, tmp_path: Path) -> None:
    """A measured training held 33.6 GB of an H100 and 127.4 GB of main memory."""
    words = ["tower", "tune", "--data", "none.json", "--images", tmp_path, "--tower", "siglip-1", "--out", "o"]
    words += ["--language-model", "lmsys/vicuna-7b-v1.5", "--device", "cuda", "--micro-batch", 8, "--plan"]
    code, out, _ = snellen(*words, "--recompute", "--offload")
    assert (code, out) == (0, "about 34.8 GB on cuda, and 125 GB of main memory, with 8 conversations at a time\n")
    plain, recomputed = (float(snellen(*words, *more)[1].split()[1]) for more in ((), ("--recompute",)))
    assert plain > recomputed > 100
    assert snellen("tower", "tune", "--base", "x", "--data", "a", "--images", tmp_path, "--out", "o", "--plan")[0] == 2
