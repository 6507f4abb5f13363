"""A folder of another schema version is refused in one line by every reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.core.storage.itemset_cards import BlindCard, read_blind, read_card, write_blind
from snellen.core.storage.runfolder import read_run_card
from snellen.core.storage.schemas import SCHEMA, Card
from snellen.exam.run import run
from snellen.web.study import read_study
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set
from tests.helpers.studies import write_study


@pytest.fixture
def folders(sets_folder: Path, tmp_path: Path) -> Path:
    """A set with blind scores, a run on it, and a study."""
    items = small_set("combo", sets_folder)
    run(items, ["fake:chance"], tmp_path / "run", limit=1, show_progress=False)
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "itemset.json").write_text((items.root / "itemset.json").read_text())
    write_blind(tmp_path / "items", BlindCard(method="none"))
    write_study(tmp_path / "study")
    return tmp_path


def rewrite(path: Path, version: object) -> None:
    cells = json.loads(path.read_text())
    cells["schema_version"] = version
    if version is None:
        del cells["schema_version"]
    path.write_text(json.dumps(cells | {"of another time": [1]}))


READERS: dict[str, Callable[[Path], object]] = {
    "items/itemset.json": read_card,
    "items/blind.json": read_blind,
    "run/run.json": read_run_card,
    "study/study.json": read_study,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            SCHEMA + 5,
            f"written by a later version of Snellen (schema {SCHEMA + 5}; this one reads {SCHEMA}); update Snellen",
        ),
        (1, f"written by an earlier version of Snellen (schema 1; this one reads {SCHEMA}); make the folder again"),
        (None, f"written by an earlier version of Snellen (schema 1; this one reads {SCHEMA}); make the folder again"),
    ],
)
def test_another_version_is_refused(folders: Path, name: str, version: object, message: str) -> None:
    rewrite(folders / name, version)
    assert_refused(lambda: READERS[name]((folders / name).parent), f"{Path(name).name}: {message}")


@pytest.mark.parametrize("version", ["2", 0, -1, 1.5, [1]])
def test_a_version_that_is_not_a_number_is_malformed(folders: Path, version: object) -> None:
    rewrite(folders / "items" / "itemset.json", version)
    assert_refused(lambda: read_card(folders / "items"), "itemset.json: ")


def test_every_card_states_its_version(folders: Path) -> None:
    for name in READERS:
        assert json.loads((folders / name).read_text())["schema_version"] == SCHEMA
    files = {card.file for card in Card.__subclasses__() if hasattr(card, "file")}  # some only share fields
    assert files >= {"itemset.json", "run.json", "blind.json", "study.json"}
