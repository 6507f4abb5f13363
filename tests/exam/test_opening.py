"""The first items of a generated set are asked while the others are drawn, and nothing is asked twice."""

from __future__ import annotations

import itertools
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.cli import main
from snellen.core.build_options import BuildOptions
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.home import home
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.exam import opening
from snellen.exam.examine import examine, run
from snellen.exam.items import find_items
from snellen.runs.planning.options import RunOptions
from snellen.runs.sets.generated_sets import itemset_folder
from snellen.suites import SUITES

LIMIT = 4


@dataclass(frozen=True)
class Counting(Base):
    """Answers right, and counts the calls and those made before the whole set was drawn; the call `fatal` ends all."""

    card: SubjectCard = field(default_factory=lambda: SubjectCard("counting", {}))
    calls: list[bool] = field(default_factory=list)
    fatal: int = 0

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.calls.append(itemset_folder("thresholds", LIMIT, test_only=True).joinpath("itemset.json").exists())
        if len(self.calls) == self.fatal:
            raise SnellenError("stopped")
        return Reply("right")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("snellen.exam.opening.cores", lambda: 2)


def test_the_first_task_is_asked_before_the_set_is_drawn(tmp_path: Path) -> None:
    subject = Counting()
    examination = run(subject, "thresholds", out=tmp_path / "run", limit=LIMIT, show_progress=False)
    assert len(subject.calls) == sum(response.text is not None for response in examination.responses)
    assert not subject.calls[0]
    assert subject.calls[-1]
    assert not list((home() / "openings").iterdir())


def test_a_run_that_ended_in_the_opening_continues_without_a_repeated_call(tmp_path: Path) -> None:
    first, second = Counting(fatal=3), Counting()
    with pytest.raises(SnellenError, match="stopped"):
        run(first, "thresholds", out=tmp_path / "run", limit=LIMIT, show_progress=False)
    examination = run(second, "thresholds", out=tmp_path / "run", limit=LIMIT, show_progress=False)
    recorded = 2
    assert len(second.calls) == len(examination.responses) - recorded


def test_code_is_asked_anew(tmp_path: Path) -> None:
    for word in ("left", "right"):
        examination = examine(lambda parts: word, "thresholds", limit=LIMIT, show_progress=False)  # noqa: B023
        assert {response.text for response in examination.responses} == {word}


@pytest.mark.parametrize("is_drawn", [False, True])
def test_code_that_was_stopped_in_the_opening_is_asked_anew(is_drawn: bool) -> None:
    """Its code is the same, but its model may have been trained further meanwhile."""
    words, count = ["left"], itertools.count(1)

    def stop() -> None:
        if next(count) == 3:
            raise SnellenError("stopped")

    def answer(parts: Any) -> str:
        return words[0]

    with pytest.raises(SnellenError, match="stopped"):
        examine(answer, "thresholds", limit=LIMIT, show_progress=False, after_call=stop)
    if is_drawn:
        find_items("thresholds", limit=LIMIT, test_only=True, show_progress=False)
    words[0] = "right"
    examination = examine(answer, "thresholds", limit=LIMIT, show_progress=False)
    assert {response.text for response in examination.responses} == {"right"}


@pytest.mark.parametrize("out", [("--out", "run"), ()])
def test_a_signal_while_the_opening_is_drawn_ends_the_command(
    out: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is drawn to find out where the run would have been."""
    builds = []

    def interrupted(*args: object) -> None:
        builds.append(args)
        raise Interrupted(signal.SIGTERM)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("snellen.exam.items.build", interrupted)
    monkeypatch.setattr("sys.argv", ["snellen", "run", "thresholds", "--subject", "fake:chance", *out])
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, len(builds)) == (128 + signal.SIGTERM, 1)


OPENINGS = [name for name in SUITES if hasattr(SUITES.get(name).recipes.get("generated"), "opening")]


@pytest.mark.parametrize("suite", OPENINGS)
def test_the_opening_has_the_first_items_of_the_whole_set(suite: str, tmp_path: Path) -> None:
    recipe: Any = SUITES.get(suite).recipes["generated"]
    options = BuildOptions(tmp_path / "whole", n=4, renderer="toy", allow_unmatched=True, show_progress=False)
    whole = recipe.build(options)
    task, count = recipe.opening
    is_smaller = count < max(recipe.parameters(BuildOptions(tmp_path, tasks=(task,)))["counts"].values())
    few = recipe.build(replace(options, out=tmp_path / "few", n=2 if is_smaller else 4, tasks=(task,)))
    first = [item for item in few.items if item.split == "test"]
    assert first
    assert first == [item for item in whole.task(task) if item.split == "test"][: len(first)]


@pytest.mark.parametrize(
    ("options", "cores", "may_open"),
    [
        ({}, 2, True), ({}, 1, False), ({"until_decided": True}, 2, False), ({"inputs": {"a": Path()}}, 2, False),
        ({"budget": 0.0}, 2, False), ({"limit": 3, "seed": 5, "repeats": 2, "max_items": 9}, 2, True),
    ],
    ids=str,
)  # fmt: skip
def test_an_opening_is_asked_only_as_it_would_be_in_the_whole_set(
    options: dict[str, Any], cores: int, may_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "cores", lambda: cores)
    assert opening._may_open(RunOptions(**options)) is may_open
    if not may_open:
        refuse = lambda items, folder: pytest.fail("asked")  # noqa: E731
        assert opening.ask_opening("thresholds", RunOptions(**options), ["a"], refuse, is_code=False) is None


def test_the_run_of_an_opening_is_named_by_what_decides_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set is drawn, so that the folder of an earlier command is returned if it is there."""
    monkeypatch.setattr(opening, "is_itemset", lambda folder: True)
    folders = list[Path]()

    def is_dir(folder: Path) -> bool:
        folders.append(folder)
        return True

    monkeypatch.setattr(Path, "is_dir", is_dir)
    changes: list[dict[str, Any]] = [{}, {"seed": 1}, {"limit": 3}, {"repeats": 2}, {"keep_going": True}]
    for change in changes:
        opening.ask_opening("thresholds", RunOptions(**change), ["a", "b"], print, is_code=False)
    opening.ask_opening("thresholds", RunOptions(), ["b", "a"], print, is_code=False)
    names = [folder.name for folder in folders if folder.parent.name == "openings"]
    assert len(names) == 6
    assert len(set(names)) == 5
    assert names[0] == names[4]
    for other in ("questions", "no suite"):
        assert opening.ask_opening(other, RunOptions(), ["a"], print, is_code=False) is None
