"""Phantoms: their questions, what is drawn of them, the defects, and a tiny model that trains, resumes and answers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import snellen
from snellen.core.errors import SnellenError
from snellen_phantoms import checkup, questions, store, subject, weights
from snellen_phantoms.questions import ABILITIES, OWN, question_of
from snellen_phantoms.subject import make_phantom

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def training() -> Any:
    """The module that trains, imported by the first test that needs it, since it loads torch."""
    return import_module("snellen_phantoms.train")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> store.Pairs:
    return store.draw_pairs(tmp_path_factory.mktemp("pairs"), 4, held_out=2)


def _items_of_table(folder: Path, count: int) -> Path:
    """An item set of a table with so many questions of each ability, of seed 9."""
    table = store.write_table(folder / "table", count, seed=9)
    snellen.build("questions", folder / "items", recipe="table", sources={"table": table}, show_progress=False)
    return folder / "items"


def test_each_ability_draws_every_answer_and_no_other() -> None:
    for ability in ABILITIES.values():
        answers = {question_of(ability, 5, number).answer for number in range(40)}
        assert answers <= set(ability.answers)
        assert len(answers) >= min(len(ability.answers), 4)


def test_the_reserved_seeds_stand_nowhere_else() -> None:
    seeds = {questions.TRAINING_SEED, questions.HELD_OUT_SEED, questions.CHECKUP_SEED, questions.TABLE_SEED}
    assert len(seeds) == 4
    pattern = re.compile("|".join(f"{seed:,}".replace(",", "_?") for seed in seeds))
    folders = [ROOT / "src", ROOT / "tests", ROOT / "packages", ROOT / "docs"]
    texts = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".yaml", ".md")]
    assert [path.name for path in texts if pattern.search(path.read_text("utf-8"))] == ["questions.py"]


def test_a_table_is_asked_with_the_prompts_that_are_trained_on(tmp_path: Path) -> None:
    items = _items_of_table(tmp_path, 4)
    prompts = list[str]()

    def reply(parts: list[Any]) -> str:
        prompts.extend(part for part in parts if isinstance(part, str))
        return "red"

    snellen.run([reply], items, tmp_path / "run", show_progress=False)
    trained = {ability.prompt(question_of(ability, 9, n)) for ability in OWN.values() for n in range(4)}
    assert set(prompts) == trained


def test_images_are_those_that_the_processor_makes(pairs: store.Pairs, training: Any) -> None:
    from snellen_phantoms.model import make_processor

    processor = make_processor(pair.prompt for pair in pairs.pairs)
    for ability in ABILITIES.values():
        image = question_of(ability, 5, 0).image.convert("RGB")
        pixels = processor.image_processor(image, return_tensors="pt")["pixel_values"]
        assert np.allclose(pixels.numpy(), training.pixels_of(store.resized(image)[None]).numpy(), atol=1e-6)


def test_drawn_pairs_are_read_again_and_another_number_is_refused(pairs: store.Pairs, tmp_path: Path) -> None:
    again = store.draw_pairs(tmp_path, 1, held_out=1)
    assert [pair.ability for pair in again.pairs] == 2 * list(ABILITIES)
    assert store.draw_pairs(tmp_path, 1, held_out=1).pairs == again.pairs
    with pytest.raises(SnellenError, match="has 18 questions, not 27"):
        store.draw_pairs(tmp_path, 2, held_out=1)


def test_each_defect_changes_only_what_it_names(training: Any) -> None:
    batch = [store.TrainingPair("colour", "", answer) for answer in ("red", "green", "blue")]
    batch += [store.TrainingPair("count", "", answer) for answer in "3456"] + [store.TrainingPair("shape", "", "red")]
    batch += [store.TrainingPair("side", "", "left")]
    numbers, answers = np.arange(len(batch)), [pair.answer for pair in batch]

    def learnt(name: str, seed: int = 1) -> list[str]:
        images, pairs = training.planted(name, (numbers, batch), np.random.default_rng(seed))
        assert np.array_equal(images, numbers)
        return [pair.answer for pair in pairs]

    assert learnt("whole") == learnt("half-size") == answers
    assert {learnt("red-green", n)[0] for n in range(20)} == {"red", "green"}
    assert learnt("red-green")[2:] == answers[2:]
    assert learnt("counts") == [*answers[:3], "3", "4", "4", "4", "red", "left"]
    assert {learnt("sides", n)[-1] for n in range(20)} == {"left", "right"}
    assert learnt("sides")[:-1] == answers[:-1]
    shuffled, pairs = training.planted("shuffled", (numbers, batch), np.random.default_rng(1))
    assert (sorted(shuffled), pairs) == (sorted(numbers), batch)
    assert not np.array_equal(shuffled, numbers)


def test_a_packed_twin_is_the_whole_one_with_differences_of_8_bits(tmp_path: Path) -> None:
    save = import_module("safetensors.numpy").save_file
    usual = RNG.normal(size=(3, 40)).astype(np.float16)
    twin = usual + np.array([[0.1], [0.001], [0.0]], np.float16) * RNG.normal(size=(3, 40)).astype(np.float16)
    for name, tensor in (("whole", usual), ("counts", twin)):
        folder = tmp_path / "trained" / name
        (folder / "model").mkdir(parents=True)
        save({"changed": tensor, "same": usual[0]}, folder / "model" / weights.TENSORS)
        (folder / "model/config.json").write_text("{}")
        (folder / "model/processor_config.json").write_text(name)
        (folder / "card.json").write_text(f'{{"name": "{name}"}}')
        weights.pack(tmp_path / "trained", name, "whole", tmp_path / "packed")
    assert {path.name for path in (tmp_path / "packed/counts").iterdir()} == {
        weights.DIFFERENCES, "processor_config.json", "card.json",
    }  # fmt: skip
    weights.unpack("counts", "whole", tmp_path / "counts", tmp_path / "packed")
    unpacked = import_module("safetensors.numpy").load_file(tmp_path / "counts" / weights.TENSORS)
    steps = np.abs(twin.astype(float) - usual).max() / 127
    assert (np.abs(unpacked["changed"].astype(float) - twin) <= 0.51 * steps + 0.001 * np.abs(twin)).all()
    assert np.array_equal(unpacked["same"], usual[0])
    assert (tmp_path / "counts/processor_config.json").read_text() == "counts"
    assert not (tmp_path / "counts" / weights.DIFFERENCES).exists()


def test_an_unknown_or_untrained_phantom_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a training that has not ended there is a folder. Once it has, its model is used, whatever is packaged."""
    trained = tmp_path / "phantoms" / "counts" / "model"
    trained.mkdir(parents=True)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setattr(subject, "PACKED", tmp_path / "packed")
    with pytest.raises(SnellenError, match="there are whole, red-green"):
        make_phantom("red", {})
    with pytest.raises(SnellenError, match=r"python -m snellen_phantoms\.train counts"):
        make_phantom("counts", {})
    (trained / "config.json").touch()
    assert subject.folder_of("counts") == trained
    (tmp_path / "packed" / "counts").mkdir(parents=True)
    assert subject.folder_of("counts") == trained


def test_a_training_may_end_after_parts_of_a_minute(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = list[float]()

    def train(*_: object, most_seconds: float) -> bool:
        limits.append(most_seconds)
        return False

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "draw_pairs", lambda folder, count: None)
    monkeypatch.setattr(training.torch, "set_num_threads", lambda count: None)
    monkeypatch.setattr("sys.argv", ["train", "whole", "--folder", str(tmp_path), "--minutes", "1.5"])
    training.main()
    assert (limits, capsys.readouterr().out) == ([90.0], "stopped; the same command goes on\n")


def test_the_packaged_weights_are_small_and_have_cards() -> None:
    folders = [weights.PACKED / name for name in questions.NAMES if name != "again"]
    assert sorted(folders) == sorted(weights.PACKED.iterdir())
    assert sum(path.stat().st_size for folder in folders for path in folder.iterdir()) <= 16e6
    for folder in folders:
        assert json.loads((folder / "card.json").read_text())["name"] == folder.name


@pytest.mark.slow
def test_packaged_phantoms_answer_and_a_twin_is_put_together_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    items = _items_of_table(tmp_path, 24)
    done = snellen.run(["phantom:whole", "phantom:counts"], items, tmp_path / "run", show_progress=False)
    scores = done.all_results().set_index(["subject", "task"])["value"]
    assert scores["phantom:whole"].mean() >= 0.9
    assert scores["phantom:counts"]["count"] < scores["phantom:whole"]["count"]
    assert [path.name.partition("-")[0] for path in (tmp_path / "home/phantoms/packaged").iterdir()] == ["counts"]
    part = checkup.PART
    assert part.subjects == ("phantom:whole", "phantom:red-green")
    table = part.write_table(tmp_path / "questions", 2)
    assert len(table.read_text().splitlines()) == 1 + 2 * len(checkup.learnt())


@pytest.mark.slow
def test_a_tiny_model_trains_resumes_and_answers(
    pairs: store.Pairs, training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = {"width": 48, "layers": 1}
    tiny = tuple(replace(stage, batches=2) for stage in training.STAGES)
    monkeypatch.setattr(training, "BATCH", 8)
    with pytest.raises(SnellenError, match="train whole first"):
        training.train("counts", tmp_path / "phantoms", pairs, tiny, **size)
    assert training.train("whole", tmp_path / "straight", pairs, tiny, **size)
    with monkeypatch.context() as patched:  # a clock that ticks when it is read: training stops in the second stage
        patched.setattr(training, "time", SimpleNamespace(monotonic=iter(range(1000)).__next__))
        assert not training.train("whole", tmp_path / "phantoms", pairs, tiny, most_seconds=7, **size)
    assert training.train("whole", tmp_path / "phantoms", pairs, tiny, **size)
    cards = [json.loads((tmp_path / f / "whole" / "card.json").read_text()) for f in ("straight", "phantoms")]
    assert cards[0] == cards[1]
    assert training.train("counts", tmp_path / "phantoms", pairs, tiny, **size)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    twin = make_phantom("counts", {"device": "cpu"})
    assert twin.card.name.startswith("phantom:counts")
    replies = snellen.run(twin, _items_of_table(tmp_path, 2), tmp_path / "run", show_progress=False).items.items
    assert len(replies) == 2 * len(OWN)
