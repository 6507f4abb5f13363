"""What every earlier version wrote is read and scores the same; what a later one wrote is refused in a line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core import schemas
from snellen.core.files import write_table
from snellen.core.hashing import digest
from snellen.core.itemset import BlindCard, ItemSetCard, read_blind, read_card, read_itemset, write_blind
from snellen.core.media import MediaFolder
from snellen.core.parts import read_exchanges
from snellen.core.runfolder import RunCard, open_run, read_responses, read_run_card
from snellen.core.schemas import Card, Step
from snellen.reports.loading import load_run
from snellen.runs.gate import open_run_items
from snellen.runs.score import read_scores, score, write_scores
from snellen.web.study import StudyCard, read_study
from tests.helpers.refusals import assert_refused
from tests.helpers.studies import write_study

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("schema-*"))
"""An item set and a run on it, as the version in the name wrote them; they stay as they are."""


def numbers() -> list[int]:
    return [int(folder.name.partition("-")[2]) for folder in FIXTURES]


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(params=FIXTURES, ids=lambda folder: folder.name)
def earlier(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what a version wrote, as the current folder: its run names its set by a relative path."""
    shutil.copytree(request.param, tmp_path / "earlier")
    monkeypatch.chdir(tmp_path / "earlier")
    return tmp_path / "earlier"


def test_there_is_a_fixture_of_every_version() -> None:
    """Whoever adds a step adds a folder that the code before it wrote: a set and a run of it."""
    current = max(schemas.current_version(card.file) for card in (ItemSetCard, RunCard))
    assert numbers() == list(range(1, current + 1))
    assert sum(len(raw) for folder in FIXTURES for raw in tree(folder).values()) < 60_000 * len(FIXTURES)


def test_what_an_earlier_version_wrote_scores_the_same(earlier: Path) -> None:
    before = tree(earlier)
    card, items, suite = open_run_items(Path("run"))
    responses = read_responses(Path("run"))
    kept = read_scores(Path("run"))["strict"]
    pd.testing.assert_frame_equal(score(responses, items, suite), kept, check_dtype=False)
    assert {(row.subject, row.value) for row in kept.itertuples() if row.subject == "fake:oracle"} == {
        ("fake:oracle", 1.0)
    }
    assert 0 < kept.loc[kept["subject"] == "fake:chance", "value"].mean() < 1, "scores that could be otherwise"
    calls = {exchange.key for exchange in read_exchanges(Path("run"))}
    assert {call for response in responses for call in response.calls} <= calls
    assert len(load_run(Path("run")).results) >= 4
    assert card.schema_version == schemas.current_version("run.json")
    assert tree(earlier) == before, "reading writes nothing"


def later(path: Path, cells: Callable[[dict[str, object]], object] = lambda cells: None) -> None:
    card = json.loads(path.read_text())
    card |= {"schema_version": 7, "of tomorrow": [1]}
    cells(card)
    path.write_text(json.dumps(card))


@pytest.mark.parametrize(("name", "read"), [("items/itemset.json", read_card), ("run/run.json", read_run_card)])
def test_what_a_later_version_wrote_is_refused(earlier: Path, name: str, read: Callable[[Path], object]) -> None:
    later(earlier / name)
    assert_refused(
        lambda: read((earlier / name).parent),
        f"{name}: written by a later Snellen (schema 7; this one reads up to schema "
        f"{schemas.current_version(name.partition('/')[2])}); update Snellen",
    )


def test_a_study_and_blind_scores_of_a_later_version_are_refused(earlier: Path, tmp_path: Path) -> None:
    write_study(tmp_path / "study")
    assert read_study(tmp_path / "study").schema_version == schemas.current_version(StudyCard.file)
    later(tmp_path / "study" / "study.json")
    assert_refused(lambda: read_study(tmp_path / "study"), "schema 7; this one reads up to schema 1")
    write_blind(earlier / "items", BlindCard(method="none"))
    later(earlier / "items" / "blind.json")
    assert_refused(lambda: read_blind(earlier / "items"), "schema 7; this one reads up to schema 1")


@pytest.mark.parametrize("version", ["2", 0, -1, 1.5, None, [1]])
def test_a_version_that_is_no_number_is_malformed(earlier: Path, version: object) -> None:
    later(earlier / "items" / "itemset.json", lambda cells: cells.update({"schema_version": version}))
    assert_refused(lambda: read_card(earlier / "items"), "itemset.json: ")


def test_every_card_says_its_version(earlier: Path) -> None:
    for card in (read_card(earlier / "items"), read_run_card(earlier / "run")):
        assert json.loads(card.model_dump_json())["schema_version"] == schemas.current_version(card.file)
    assert {card.file for card in cards()} >= {"itemset.json", "run.json", "blind.json", "study.json"}


def cards() -> list[type[Card]]:
    return Card.__subclasses__()


# Steps of a tomorrow: `question` of items was called `wording`, and `seed` of runs `number`.


def renamed(before: str, after: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.rename_columns([after if name == before else name for name in table.column_names])


def moved(before: str, after: str) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda cells: {after if name == before else name: cell for name, cell in cells.items()}


@pytest.fixture
def tomorrow(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders as a version before would have written them, and the steps from there."""
    items, run = earlier / "items", earlier / "run"
    table = renamed("question", "wording")(pq.read_table(items / "items.parquet"))
    write_table(items / "items.parquet", table)
    card = json.loads((items / "itemset.json").read_text())
    card["content_hash"] = digest(table.to_pylist())
    card["made_by"] = card.pop("source")
    (items / "itemset.json").write_text(json.dumps(card))
    run_card = json.loads((run / "run.json").read_text())
    run_card |= {"number": run_card.pop("seed"), "content_hash": card["content_hash"]}
    (run / "run.json").write_text(json.dumps(run_card))
    for name, before, after in (("responses", "text", "words"), ("scores.strict", "prediction", "said")):
        write_table(run / f"{name}.parquet", renamed(before, after)(pq.read_table(run / f"{name}.parquet")))
    (part,) = (run / "parts").iterdir()
    part.write_text(part.read_text().replace('"reply":', '"answer":'))
    steps = {
        "itemset.json": (
            Step(moved("made_by", "made"), {"items.parquet": renamed("wording", "question")}),
            Step(moved("made", "source")),
        ),
        "run.json": (
            Step(
                moved("number", "seed"),
                {"responses.parquet": renamed("words", "text"), "scores.*.parquet": renamed("said", "prediction")},
                moved("answer", "reply"),
            ),
        ),
    }
    monkeypatch.setattr(schemas, "STEPS", steps)
    return earlier


def test_steps_bring_a_set_and_a_run_to_the_present(tomorrow: Path) -> None:
    before = tree(tomorrow)
    itemset = read_itemset(tomorrow / "items")
    assert (itemset.card.schema_version, itemset.card.source) == (3, "generated")
    assert all(item.question for item in itemset.items)
    test_what_an_earlier_version_wrote_scores_the_same(tomorrow)
    assert tree(tomorrow) == before


def test_nothing_is_written_into_an_older_run(tomorrow: Path) -> None:
    run, before = tomorrow / "run", tree(tomorrow)
    scores, card = read_scores(run)["strict"], read_run_card(run)

    def go_on() -> None:
        with open_run(run, card, MediaFolder(tomorrow / "items" / "media")):
            pass

    for write in (go_on, lambda: write_scores(run, scores, "strict")):
        assert_refused(write, "run.json: of schema 1, and this Snellen writes schema 2: such a folder is read as it is")
    after = tree(tomorrow)
    assert after.pop("run/lock") == b""
    assert after == before


def test_a_card_that_a_step_cannot_read_is_one_line(tomorrow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schemas.STEPS, "itemset.json", (Step(lambda cells: {"suite": cells["no such field"]}),))
    assert_refused(lambda: read_card(tomorrow / "items"), "malformed for schema 1 (KeyError('no such field'))")


def test_altered_rows_of_an_older_set_are_found(tomorrow: Path) -> None:
    table = pq.read_table(tomorrow / "items" / "items.parquet")
    rows = table.to_pylist()
    rows[0]["wording"] += "!"
    write_table(tomorrow / "items" / "items.parquet", pa.Table.from_pylist(rows, table.schema))
    assert_refused(lambda: read_itemset(tomorrow / "items"), "content_hash")
