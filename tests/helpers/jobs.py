"""Eight small jobs with their inputs and results: for kills, full disks and odd clocks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from snellen.core.hashing import sha256
from snellen.core.storage.itemset_cards import read_card
from snellen.core.storage.parts import read_exchanges
from snellen.runs.sets.gate import open_items
from snellen.web.stand_ins import make_stand_in
from snellen.web.study import read_plan, read_study
from tests.helpers.lives import command, live
from tests.helpers.sets import SMALL_BUILD
from tests.helpers.studies import entered


@dataclass(frozen=True)
class Job:
    """A command: `prepare` makes its inputs in a folder, once; `act` runs it, into `out` below another folder.

    `product` reads its result as plain data. `copies` are the inputs that it writes into.
    """

    name: str
    prepare: Callable[[Path], None]
    act: Callable[[Path, Path], Callable[[], int]]
    product: Callable[[Path], Any]
    copies: tuple[str, ...] = ()

    def begin(self, inputs: Path, trial: Path) -> None:
        """A folder for one trial."""
        trial.mkdir(parents=True)
        for name in self.copies:
            shutil.copytree(inputs / name, trial / "out" / name)


def done(words: Sequence[object], folder: Path) -> None:
    """Run a command that must succeed, in a separate process."""
    folder.mkdir(parents=True, exist_ok=True)
    life = live(command(words, folder / "home"), folder)
    assert life.code == 0, life


def words_of(*words: object) -> Callable[[Path, Path], Callable[[], int]]:
    """The command with `INPUTS` and `OUT` replaced by the two folders."""

    def act(inputs: Path, trial: Path) -> Callable[[], int]:
        places = {"INPUTS": str(inputs), "OUT": str(trial / "out")}
        filled = [_filled(str(word), places) for word in words]
        return command(filled, trial / "home")

    return act


def _filled(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word


def prepare_nothing(inputs: Path) -> None:
    inputs.mkdir(parents=True, exist_ok=True)


def prepare_items(inputs: Path) -> None:
    done(["build", "vlm2-bench/gc-mat", *SMALL_BUILD, "--n", 4, "--out", inputs / "items"], inputs)


def prepare_run(inputs: Path) -> None:
    prepare_items(inputs)
    done(["run", inputs / "items", "-s", "fake:oracle", "-s", "fake:chance", "--out", inputs / "run"], inputs)


def prepare_relative_run(inputs: Path) -> None:
    """A set and a run on it that names it as `items`, so that copies of both belong together."""
    prepare_run(inputs)
    card = (inputs / "run" / "run.json").read_text()
    (inputs / "run" / "run.json").write_text(card.replace(json.dumps(str((inputs / "items").resolve())), '"items"'))


def prepare_judgeable(inputs: Path) -> None:
    done(["build", "vlm2-bench/oc-vid", *SMALL_BUILD, "--n", 4, "--out", inputs / "items"], inputs)
    done(["run", inputs / "items", "-s", "fake:oracle", "-s", "fake:chance", "--out", inputs / "run"], inputs)
    (inputs / "judge.json").write_text(json.dumps({"*": "Score: 1"}))


def prepare_towers(inputs: Path) -> None:
    done(["build", "ava-bench/counting", *SMALL_BUILD, "--n", 3, "--out", inputs / "items"], inputs)


def prepare_llava(inputs: Path) -> None:
    """A tiny LLaVA and conversations without images for two steps."""
    from tests.subjects.chat.tiny_models import llava_1_5

    (inputs / "llava").mkdir(parents=True)
    llava_1_5(inputs / "llava")
    turns = [{"from": side, "value": text} for side, text in (("human", "Which?"), ("gpt", "This one."))]
    (inputs / "talks.json").write_text(json.dumps([{"id": n, "conversations": turns} for n in range(300)]))


def prepare_design(inputs: Path) -> None:
    prepare_items(inputs)
    (inputs / "design.yaml").write_text(
        "texts: {title: Seeing, consent: You may stop.}\nforms: 3\nblocks: [{name: b, questions: 4, practice: 1}]\n"
    )


def prepare_results(inputs: Path) -> None:
    """A study, and two files of answers of people."""
    prepare_design(inputs)
    done(["study", "build", inputs / "items", "--design", inputs / "design.yaml", "--out", inputs / "study"], inputs)

    def answer() -> int:
        card, plan = read_study(inputs / "study"), read_plan(inputs / "study")
        stand_in = make_stand_in(card, "fake:chance", 2, inputs / "own")
        for person in range(2):
            lines = (f"{row.model_dump_json()}\n" for row in entered(plan, stand_in, person))
            (inputs / f"p{person + 1:02d}.txt").write_text("".join(lines))
        return 0

    assert live(answer, inputs).code == 0


def set_product(trial: Path) -> Any:
    open_items(trial / "out", remember=False)
    return read_card(trial / "out").model_dump(), digests(trial / "out" / "media")


def run_product(trial: Path, name: str = "out") -> Any:
    """Rows of responses and scores; asserts that no exchange is recorded twice."""
    root = trial / name
    keys = [exchange.key for exchange in read_exchanges(root)]
    assert len(keys) == len(set(keys))
    return [rows(root / "responses.parquet"), *(rows(path) for path in sorted(root.glob("scores.*.parquet")))]


def judge_product(trial: Path) -> Any:
    return run_product(trial, "out/run"), [
        rows(path) for path in sorted(trial.rglob("judgements/*/run/responses.parquet"))
    ]


def sweep_product(trial: Path) -> Any:
    cards = sorted((trial / "out").glob("heads/*/*/head.json"))
    weights = [(card.parent.name, json.loads(card.read_text())["weights"]) for card in cards]
    return weights, (trial / "out" / "ranks.csv").read_text().replace(str(trial), "")


def llava_product(trial: Path) -> Any:
    return {name: digest for name, digest in digests(trial / "out").items() if name != "tuning.json"}


def study_product(trial: Path) -> Any:
    return digests(trial / "out" / "bundle"), (trial / "out" / "study.json").read_text()


def people_product(trial: Path) -> Any:
    runs = [path.parent for path in sorted((trial / "out").rglob("run.json"))]
    assert runs
    return [run_product(trial, str(run.relative_to(trial))) for run in runs], (trial / "out" / "people.csv").read_text()


def report_product(trial: Path) -> Any:
    return [(trial / "out" / name).read_text("utf-8") for name in ("results.csv", "index.html", "vlm2-bench.html")]


def rows(path: Path) -> str:
    table = pd.read_parquet(path)
    return table.sort_values(list(table.columns[:6])).to_csv(index=False)


def digests(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): sha256(path.read_bytes()) for path in sorted(root.rglob("*")) if path.is_file()
    }


JOBS = {
    job.name: job
    for job in (
        Job(
            "build",
            prepare_nothing,
            words_of("build", "vlm2-bench/gc-mat", *SMALL_BUILD, "--n", 4, "--out", "OUT"),
            set_product,
        ),
        Job(
            "run",
            prepare_items,
            words_of("run", "INPUTS/items", "-s", "fake:oracle", "-s", "fake:chance", "--repeats", 3, "--out", "OUT"),
            run_product,
        ),
        Job(
            "judge",
            prepare_judgeable,
            words_of("judge", "OUT/run", "--by", "fake:scripted=INPUTS/judge.json"),
            judge_product,
            ("run",),
        ),
        Job(
            "sweep",
            prepare_towers,
            words_of("tower", "sweep", "--towers", "tiny/clip-l,tiny/siglip-1", "--abilities", "counting",
                     "--language-model", "random-qwen2?layers=1&width=32", "--epochs", 1, "--items", "INPUTS/items",
                     "--out", "OUT"),
            sweep_product,
        ),
        Job(
            "llava",
            prepare_llava,
            words_of("tower", "tune", "--base", "INPUTS/llava", "--scope", "lora", "--data", "INPUTS/talks.json",
                     "--images", "INPUTS", "--out", "OUT"),
            llava_product,
        ),
        Job(
            "study",
            prepare_design,
            words_of("study", "build", "INPUTS/items", "--design", "INPUTS/design.yaml", "--out", "OUT"),
            study_product,
        ),
        Job(
            "import",
            prepare_results,
            words_of("study", "import", "INPUTS/study", "INPUTS/p01.txt", "INPUTS/p02.txt", "--out", "OUT"),
            people_product,
        ),
        Job("report", prepare_run, words_of("report", "INPUTS/run", "--out", "OUT"), report_product),
    )
}  # fmt: skip
