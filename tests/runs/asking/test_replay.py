"""A killed run can be reported: its tables are made from its record, and missing items are stated everywhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.coverage import Gap, gaps, partial_note
from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.runfolder import read_run_card
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample, with_examples
from snellen.exam.examination import open_examination
from snellen.exam.rescoring import recover
from snellen.exam.run import run
from snellen.runs.asking.ask import ask
from snellen.runs.asking.replay import is_behind, replay
from snellen.runs.planning.plan import Plan
from snellen.runs.scores.score import read_scores, score, write_scores
from snellen.suites import SUITES
from tests.helpers.journey import arm, colour_set, looker, suite_of
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set
from tests.reports.exam import leave_out_figures


@dataclass(frozen=True)
class Mortal(Base):
    """Fits; fails at item 001; at item `last` the kernel ends its process."""

    last: str = ""

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        return replace(self, card=with_examples(self.card, examples))

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        item_id = prompt.views[0].item_id
        if item_id == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        if item_id == "001":
            raise CallFailed("503 busy")
        return Reply(f"{rng.integers(10**6)}")


def test_tables_of_a_killed_run_are_those_of_its_record(tmp_path: Path) -> None:
    built, suite, root = colour_set(tmp_path / "set", 6), suite_of(), tmp_path / "run"
    card = SubjectCard(
        "own:mortal", {"depth": 2}, attributes={"family": "lab"}, max_concurrency=1, role="encoder", source="recorded",
        fitted=True,
    )  # fmt: skip
    mortal, immortal = (Mortal(card, last) for last in ("004", ""))
    child = os.fork()
    if child == 0:
        try:
            ask(root, Plan(built, suite, [arm(mortal, suite)]))
        finally:
            os._exit(3)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert is_behind(root)
    arms = read_run_card(root).arms
    parts = [path.read_bytes() for path in (root / "parts").iterdir()]
    responses = replay(root, built, suite, {})
    assert not is_behind(root)
    assert responses == read_responses(root)
    assert read_run_card(root).arms == arms, "and its subject is described as it was"
    assert [(r.item_id, r.status, r.reason) for r in responses] == [
        ("000", "ok", ""),
        ("001", "failed", "503 busy"),
        ("002", "ok", ""),
        ("003", "ok", ""),
    ]
    assert [path.read_bytes() for path in (root / "parts").iterdir()] == parts, "no call is made or recorded"
    shortfalls = gaps(read_run_card(root).arms, responses)
    assert shortfalls == [Gap("own:mortal", "vanilla", "task", 2, 6)]
    assert "own:mortal: task 4 of 6" in partial_note(shortfalls)
    whole = ask(tmp_path / "whole", Plan(built, suite, [arm(immortal, suite)]))
    finished = ask(root, Plan(built, suite, [arm(immortal, suite)]))
    assert finished == whole
    assert [r for r in whole if r.item_id < "004"] == responses
    assert gaps(read_run_card(root).arms, finished) == []


def test_scores_by_every_protocol_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built, suite, root = colour_set(tmp_path / "set"), suite_of(), tmp_path / "run"
    monkeypatch.setitem(SUITES._loaded, "hard", suite)
    responses = ask(root, Plan(built, suite, [arm(looker(built), suite)]))
    for protocol in ("strict", "published"):
        write_scores(root, score(responses[:2], built, suite, protocol), protocol)
    (root / "responses.parquet").unlink()
    recover(root)
    assert {name: len(table) for name, table in read_scores(root).items()} == {"strict": 4, "published": 4}
    before = {path.name: path.stat().st_mtime_ns for path in root.iterdir()}
    recover(root)
    assert {path.name: path.stat().st_mtime_ns for path in root.iterdir()} == before, "nothing is made again"
    for path in root.glob("*.parquet"):
        path.unlink()
    recover(root)
    assert {name: len(table) for name, table in read_scores(root).items()} == {"strict": 4}, "killed before any score"
    card = read_run_card(root).model_copy(update={"annotations": {"votes": "a 1", "boxes": "b 2"}})
    (root / "run.json").write_text(card.model_dump_json())
    (root / "responses.parquet").unlink()
    assert_refused(lambda: recover(root), f"{root}: the run was interrupted, and it uses boxes, votes; run the same")


@pytest.fixture
def cut_off(tmp_path: Path, sets_folder: Path) -> Path:
    """A run with two subjects, killed after two thirds of its calls."""
    root = tmp_path / "run"
    items = small_set("combo", sets_folder)
    run(items, ["fake:oracle", "fake:chance"], root, show_progress=False)
    (part,) = (root / "parts").iterdir()
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[: len(lines) * 2 // 3]) + lines[-1][:20])
    for table in [*root.glob("*.parquet"), root / "stamp.json"]:
        table.unlink(missing_ok=True)
    return root


@pytest.mark.slow
def test_every_table_on_a_killed_run_states_the_missing_items(tmp_path: Path, cut_off: Path) -> None:
    recorded = {exchange.key for exchange in read_exchanges(cut_off)}
    recover(cut_off)
    examination = open_examination(cut_off)
    calls = {call for response in examination.responses for call in response.calls}
    assert calls == recorded
    unasked = examination.unasked()
    assert sum(unasked.values()) > 0
    report = examination.report(tmp_path / "report")
    rows = pd.read_csv(report.root / "results.csv")
    tasks = rows[rows["factor"].isna() & (rows["protocol"] == "strict")].drop_duplicates(["subject", "task"])
    counts = tasks.groupby("subject")["unasked"].sum()
    for subject, missing in unasked.items():
        assert 0 < counts.get(subject, 0) <= missing, "tasks without any response have no row"
    page = "".join(path.read_text("utf-8") for path in report.pages)
    assert page.count("Partial: not all items were asked") >= page.count('<table class="grid')
    tables = [path.read_text("utf-8") for path in (report.root / "tables").rglob("*.[mt][de]*")]
    assert tables
    assert all("Partial: not all items were asked" in text for text in tables)


def test_a_complete_run_states_no_missing_items(
    tmp_path: Path, cut_off: Path, sets_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_figures(monkeypatch)
    examination = run(small_set("combo", sets_folder), ["fake:oracle", "fake:chance"], cut_off, show_progress=False)
    assert examination.unasked() == {}
    report = examination.report(tmp_path / "report")
    assert "unasked" not in report.results
    assert "Partial" not in "".join(path.read_text("utf-8") for path in report.pages)


@dataclass(frozen=True)
class Shy(Mortal):
    """Declines one item, which no record shows."""

    def declines(self, prompt: Prompt) -> str | None:
        return "is shy" if prompt.views[0].item_id == "002" else None


def test_what_was_declined_stays_in_tables_that_are_made_again(tmp_path: Path) -> None:
    built, suite, root = colour_set(tmp_path / "set", 4), suite_of(), tmp_path / "run"
    shy = arm(Shy(SubjectCard("own:shy"), ""), suite)
    before = {response.item_id: response for response in ask(root, Plan(built, suite, [shy]))}
    assert (before["002"].status, before["002"].reason) == ("declined", "is shy")
    part = root / "parts" / "0000.jsonl"
    (root / "parts" / "0001.jsonl").write_bytes(part.read_bytes().splitlines(keepends=True)[0])
    assert is_behind(root)
    replay(root, built, suite, {})
    assert {response.item_id: response for response in read_responses(root)} == before
    (root / "responses.parquet").unlink()
    replay(root, built, suite, {})
    assert {response.item_id for response in read_responses(root)} == {"000", "001", "003"}, "nothing tells of it"
