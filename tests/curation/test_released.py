"""Shared parts of the `released` recipes of all suites: checks of options, files read line by line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.curation.released import ReleasedItems, ReleasedRecipe, draw_names, read_json_lines, validate_line
from tests.helpers.journey import item


class Line(BaseModel):
    """A line with three fields."""

    item_id: str
    task: str
    value: float


def choose_tasks(options: BuildOptions, root: Path | None) -> Sequence[str]:
    if unknown := set(options.tasks) - {"naming"}:
        raise SnellenError(f"no task {unknown}")
    return ("naming",)


RECIPE = ReleasedRecipe(
    suite="toy",
    source="toy",
    instructions="give --source toy=FOLDER",
    layout="no folder with questions.jsonl",
    problem="the lines are wrong",
    remedy="get them again",
    find_root=lambda path: path if (path / "questions.jsonl").is_file() else None,
    choose_tasks=choose_tasks,
    count_items=lambda options, root: {"naming": 3 if options.n is None else options.n},
    digest=lambda options, root: {"questions": "abc"},
    read=lambda options, root: ReleasedItems(()),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "questions.jsonl").write_text('\ufeff{"q": 1}\n\n{\n[2]', "utf-8")
    return tmp_path


def test_the_card_keeps_n_only_where_it_is_given(root: Path) -> None:
    options = BuildOptions(root / "out", sources={"toy": root})
    whole = {"tasks": ["naming"], "seed": 0, "files": {"questions": "abc"}}
    assert RECIPE.parameters(options) == whole
    assert RECIPE.parameters(replace(options, n=2)) == {**whole, "n": 2}


def test_a_plan_needs_no_files_and_measures_them_if_present(root: Path) -> None:
    options = BuildOptions(root / "out", n=2)
    assert RECIPE.plan(options) == {"suite": "toy", "needs": RECIPE.instructions, "items": {"naming": 2}, "bytes": 0}
    (root / "deep").mkdir()
    (root / "deep" / "image.png").write_bytes(b"12345")
    size = (root / "questions.jsonl").stat().st_size + 5
    assert RECIPE.plan(replace(options, sources={"toy": root}))["bytes"] == size
    of_file = replace(RECIPE, find_root=lambda path: path)
    assert of_file.plan(replace(options, sources={"toy": root / "questions.jsonl"}))["bytes"] == size - 5


@pytest.mark.parametrize(
    ("sources", "tasks", "n", "message"),
    [
        ((), (), None, "toy: the released files are needed; give --source toy=FOLDER"),
        (("toy", "other"), (), None, "toy has no source 'other' here"),
        (("toy",), ("other",), None, "no task"),
        (("toy",), (), 0, "--n 0 makes no items"),
        (("toy",), (), None, "no folder with questions.jsonl"),
    ],
)
def test_wrong_options(tmp_path: Path, sources: Sequence[str], tasks: tuple[str, ...], n: int, message: str) -> None:
    options = BuildOptions(tmp_path / "out", n=n, tasks=tasks, sources=dict.fromkeys(sources, tmp_path))
    with pytest.raises(SnellenError, match=message):
        RECIPE.build(options)


def test_lines_are_read_with_their_numbers_and_faults_are_collected(root: Path) -> None:
    problems: list[str] = []
    lines = list(read_json_lines(root / "questions.jsonl", "questions.jsonl", problems))
    assert lines == [("questions.jsonl line 1", {"q": 1}), ("questions.jsonl line 4", [2])]
    assert [problem.partition(" (")[0] for problem in problems] == ["questions.jsonl line 3: not JSON"]
    assert list(read_json_lines(root / "answers.jsonl", "answers.jsonl", problems)) == []
    assert problems[1] == "answers.jsonl: missing"
    os.mkfifo(root / "pipe.jsonl")
    assert list(read_json_lines(root / "pipe.jsonl", "pipe.jsonl", problems)) == []
    assert "pipe.jsonl: cannot be read ([Errno 22] not a file" in problems.pop()
    with pytest.raises(SnellenError, match="2 of the lines are wrong; get them again"):
        RECIPE.refuse(root, problems)


def test_a_build_warns_of_differences_and_keeps_notes_and_provenance(root: Path) -> None:
    released = ReleasedItems([item("1", [], "red", "text")], ["a note"], ["one", "two"], {"images": 3})
    recipe = replace(RECIPE, read=lambda options, root: released)
    options = BuildOptions(root / "out", sources={"toy": root}, n=1)
    with pytest.warns(UserWarning, match="one|two") as caught:
        built = recipe.build(options)
    assert [str(warning.message) for warning in caught] == ["one", "two"]
    assert (built.card.source, built.card.notes, built.card.provenance) == ("released", ["a note"], {"images": 3})
    assert built.card.recipe == recipe.parameters(options)


def test_all_faults_of_a_line_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"^item_id: Field required; task: Field required; value: Input should be a val"
    ):
        validate_line(Line, {"value": "x"})
    with pytest.raises(ValueError, match=r"^line: Input should be"):
        validate_line(Line, [1])


def test_each_name_is_drawn_once() -> None:
    names = ["a", "b", "a", "c"]
    assert len(draw_names(names, 2, stream("toy", 0))) == 2
    assert draw_names(names, 9, stream("toy", 0)) == {"a", "b", "c"}
