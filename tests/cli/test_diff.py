"""`snellen diff`: exit codes, named drops, and its page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.analysis.changes import changes
from snellen.cli.diff import side
from snellen.core.storage.itemset import read_itemset
from snellen.exam.run import run
from snellen.reports.changes_page import render_changes
from snellen.suites import SUITES
from tests.helpers.sets import undrawn_set

Command = Callable[..., tuple[int, str, str]]
HOSTILE = """</script><img src=x onerror=alert(1)>=HYPERLINK("http://x")\u202e"""
ORACLE, BLIND = "fake:oracle", "fake:blind-to=colour"


@pytest.fixture(scope="module")
def run_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle and a colour-blind observer on ten objects with seven questions each, rendered blank."""
    folder = tmp_path_factory.mktemp("diff")
    items = undrawn_set(SUITES.get("combo"), folder, seed=1, test_items=10, tasks=("pattern-perception",))
    run(read_itemset(items.root), [ORACLE, BLIND], folder / "run", show_progress=False)
    return folder / "run"


def test_a_drop_has_its_own_exit_code(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = "diff", f"{run_root}:{ORACLE}", f"{run_root}:{BLIND}", "--out", page
    code, out, err = snellen(*words)
    assert (code, err) == (0, "")
    assert "Dropped: colour (pattern-perception)\n" in out
    assert "material" in out
    code, out, _ = snellen(*words, "--fail-on", "drop", "--json")
    assert code == 4
    compared = json.loads(out)
    assert compared["dropped"] == ["colour (pattern-perception)"]
    assert (compared["before"], compared["after"], compared["rose"]) == (ORACLE, BLIND, [])
    assert all(flip["before"] == 1.0 and flip["after"] == 0.0 for flip in compared["flips"])
    back = snellen("diff", f"{run_root}:{BLIND}", f"{run_root}:{ORACLE}", "--out", page, "--fail-on", "drop")
    assert back[0] == 0
    assert "Rose: colour" in back[1]


def test_the_page_loads_nothing_and_runs_no_script(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    snellen("diff", f"{run_root}:{ORACLE}", f"{run_root}:{BLIND}", "--out", page)
    text = page.read_text("utf-8")
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "Dropped: " in text
    assert text.count("<article>") == text.count("data:image/jpeg") > 0
    assert "fake:blind-to=colour" in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_subject_compared_with_itself_shows_no_drop(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    subject = f"{run_root}:{ORACLE}"
    code, out, _ = snellen("diff", subject, subject, "--out", tmp_path / "p.html", "--fail-on", "drop", "--json")
    compared = json.loads(out)
    assert (code, compared["flips"], compared["dropped"]) == (0, [], [])
    assert set(compared["unpaired"].values()) == {0}


def test_incomparable_runs_are_refused_in_one_line(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    other = undrawn_set(SUITES.get("combo"), tmp_path, seed=2, test_items=2, tasks=("pattern-perception",))
    run(other, [ORACLE], tmp_path / "other", show_progress=False)
    subject = f"{run_root}:{ORACLE}"
    cases = (
        ((run_root, subject), f"write {run_root}:SUBJECT"),
        ((f"{run_root}:fake:oracl", subject), "did you mean 'fake:oracle'"),
        ((tmp_path / "nowhere", subject), "contains no run"),
        ((subject, tmp_path / "other"), "have different items"),
        ((subject, subject, "--fail-on", "rise"), "only 'drop'"),
    )
    for words, message in cases:
        code, out, err = snellen("diff", *words, "--out", tmp_path / "p.html")
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert message in err
    assert not (tmp_path / "p.html").exists()


def test_items_without_a_partner_are_reported(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    items = read_itemset(run_root.parent / "combo-10-seed1-undrawn")
    run(items, [ORACLE], tmp_path / "part", limit=5, show_progress=False)
    words = "diff", f"{run_root}:{ORACLE}", tmp_path / "part", "--out", tmp_path / "p.html"
    code, out, _ = snellen(*words, "--fail-on", "drop")
    assert code == 1
    assert "items unpaired" in out
    assert "Too few items to tell: " in out
    assert snellen(*words)[0] == 0


def test_foreign_texts_are_escaped(run_root: Path) -> None:
    """A reply that contains markup and a right-to-left override."""
    sides = [side(f"{run_root}:{name}") for name in (ORACLE, BLIND)]
    hostile = [
        replace(each, responses=tuple(replace(response, text=HOSTILE) for response in each.responses)) for each in sides
    ]
    text = render_changes(changes(*hostile))
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;=HYPERLINK" in text
    assert "<img src=x" not in text
    assert "\u202e" not in text
