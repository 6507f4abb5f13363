"""What `snellen run` prints of a run and before it, and how it exits, by summaries and estimates by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from snellen.cli import checkup
from snellen.cli.asking import _as_json, _print_results, _roots, announce, explain, finish
from snellen.cli.finished import RunSummary
from snellen.core.errors import SnellenError
from snellen.runs.asking.preview import Estimate
from snellen.runs.planning.options import CheckupOptions

Captured = pytest.CaptureFixture[str]


def _summary(root: str = "runs/a", responses: int = 9, failed: int = 0, **fields: Any) -> RunSummary:
    return RunSummary(Path(root), responses, failed, **fields)


def test_each_paid_subject_is_announced_with_calls_tokens_and_money(capsys: Captured) -> None:
    announce(
        [
            Estimate("chat:a", 12, 0, 3400, 1.236, is_most=True),
            Estimate("chat:b", 1, 5, 60, 0.0),
            Estimate("c", 2, 0, 7, None),
        ]
    )
    assert capsys.readouterr().err.splitlines() == [
        "chat:a: at most 12 calls, about 3400 tokens sent, about 1.24 for input tokens",
        "chat:b: 1 calls (5 more are recorded), about 60 tokens sent, about 0.00 for input tokens",
        "c: 2 calls, about 7 tokens sent, no price given (?price_in=…&price_out=…)",
    ]


def test_declines_failures_cut_off_and_missing_replies_are_explained(capsys: Captured) -> None:
    summary = _summary(
        declines={"a": ["1 × x", "2 × y"]}, failures={"b": ["3 × z", "4 × w"]}, cut_off=5,
        unasked={"c": 6, "recorded:d": 7}, recorded=frozenset(["recorded:d"]),
    )  # fmt: skip
    explain(summary)
    printed = capsys.readouterr()
    assert printed.out == "a declined: 1 × x; 2 × y\n"
    assert printed.err.splitlines() == [
        "b failed: 3 × z; 4 × w",
        "5 replies were cut off at the token limit; a larger ?max_tokens= asks only these again",
        "c: partial, 6 items were not asked",
        "recorded:d: partial, 7 items have no recorded reply",
    ]
    explain(summary, with_declines=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ([{}, {}], None),
        (
            [{"failed": 2, "failures": {"a": ["x"]}}, {"failed": 1, "failures": {"r": ["x"]}}],
            "3 items failed and are not scored{again}",
        ),
        ([{"failed": 2, "failures": {"r": ["x"]}}], "2 items failed and are not scored"),
        ([{}, {"unasked": {"a": 3, "r": 4}}], "0 items failed and are not scored, 3 were not asked{again}"),
        ([{"unasked": {"a": 3}}, {"unasked": {"b": 2}}], "0 items failed and are not scored, 5 were not asked{again}"),
        ([{"unasked": {"r": 4}}], ""),
    ],
    ids=str,
)  # fmt: skip
def test_failed_and_missing_items_of_all_runs_end_with_code_1(
    fields: list[dict[str, Any]], line: str | None, capsys: Captured
) -> None:
    """The subject r is recorded, so that no command asks it again."""
    summaries = [_summary(recorded=frozenset("r"), **each) for each in fields]
    if line is None:
        finish(summaries)
    else:
        with pytest.raises(typer.Exit) as end:
            finish(summaries)
        assert end.value.exit_code == 1
    words = line and f"snellen: {line.format(again='; the same command asks them again')}\n"
    assert capsys.readouterr().err == (words or "")


def test_the_object_of_a_run_has_all_its_numbers() -> None:
    summary = _summary(
        "r", 9, 2, failures={"a": ["x"]}, declines={"b": ["y"]}, unasked={"a": 3, "b": 4}, rows=[{"task": "t"}],
        is_old=True, cost={"a": 0.12345678},
    )  # fmt: skip
    assert _as_json(summary) == {
        "run": "r", "responses": 9, "failed": 2, "unasked": 7, "finished_earlier": True, "cost": {"a": 0.123457},
        "failures": {"a": ["x"]}, "declines": {"b": ["y"]}, "results": [{"task": "t"}],
    }  # fmt: skip


def test_what_follows_a_run_depends_on_what_was_answered(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without a reply has no report; one of which all calls failed is repeated first."""
    sights = list[Path]()
    monkeypatch.setattr("snellen.cli.asking._print_sight", sights.append)
    summaries = [
        _summary("runs/none", 0), _summary("runs/failed", 4, 4), _summary("runs/a b", 5, 4, cost={"x": 0.5, "y": 1.25}),
        _summary("runs/c", 5, is_old=True),
    ]  # fmt: skip
    _print_results(summaries)
    printed = capsys.readouterr()
    lines = [line for line in printed.out.splitlines() if line != "None"]
    assert lines == [
        "Run: runs/failed",
        "Cost of all calls: x 0.5000, y 1.2500",
        "Run: runs/a b",
        "Run: runs/c",
        "Next: the same command again, which repeats the failed calls",
        "Next: snellen report 'runs/a b' runs/c --out report",
    ]
    assert printed.err.splitlines() == [
        "runs/none: nothing was asked",
        "runs/c: finished earlier, so nothing was asked; another --out asks again",
    ]
    assert sights == [Path("runs/failed"), Path("runs/a b"), Path("runs/c")]
    _print_results([summaries[0]])
    assert capsys.readouterr().out == ""


def test_each_of_several_sets_has_a_folder_of_its_suite(tmp_path: Path) -> None:
    assert _roots(["combo", "ava-bench"], None) == {}
    assert _roots(["combo"], tmp_path) == {"combo": tmp_path}
    both = {"combo": tmp_path / "combo", "ava-bench/localization": tmp_path / "ava-bench"}
    assert _roots([*both], tmp_path) == both
    with pytest.raises(SnellenError, match=f"--out {tmp_path}: two of the sets are of the same suite"):
        _roots(["combo", "combo/img2text"], tmp_path)


def test_a_checkup_ends_with_the_commands_that_follow(tmp_path: Path) -> None:
    root = tmp_path / "my items"
    examination = SimpleNamespace(items=SimpleNamespace(root=root))
    done: Any = SimpleNamespace(expected=3, scores=11, examinations=[examination, SimpleNamespace(items=None)])
    show = (f"snellen show '{root}'", "shows exactly what is sent")
    more = "decides about 3 more of 11 scores, 3 minutes"
    for out, words in (("checkup", ""), ("a b", " --out 'a b'")):
        model = (f"snellen checkup -s chat:openai/gpt-4o{words}", "examines your model beside them")
        options = CheckupOptions(Path(out))
        assert checkup._next(done, options) == [(f"snellen checkup --more{words}", more), model, show]
    done.expected = 0
    assert checkup._next(done, CheckupOptions()) == [
        ("snellen checkup -s chat:openai/gpt-4o", "examines your model beside them"), show,
    ]  # fmt: skip
