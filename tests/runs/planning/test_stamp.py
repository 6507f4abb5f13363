"""The stamp of a finished run is valid as long as its inputs and its files are unchanged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import snellen.exam.run
import snellen.exam.session
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Response
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.core.subject import Base, SubjectCard
from snellen.curation.steps import copy_media
from snellen.exam.examination import Examination
from snellen.runs.asking.ask import ask
from snellen.runs.planning import stamp
from tests.helpers.sets import small_set

SUBJECTS = ("fake:oracle", "fake:chance")


@pytest.fixture(scope="module")
def finished(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four items with a finished run next to them, to be copied."""
    folder, whole = tmp_path_factory.mktemp("finished"), small_set("combo", sets_folder)
    items = whole.task("img2text")[:4]
    copy_media(items, whole.media, MediaFolder(folder / "items" / "media"))
    write_itemset(folder / "items", items, source="generated", recipe={})
    snellen.exam.run.run(read_itemset(folder / "items"), SUBJECTS, folder / "run", show_progress=False)
    return folder


@pytest.fixture
def work(finished: Path, tmp_path: Path) -> Path:
    """A copy under another name, run once more there so that its stamp is about the copy."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    again(tmp_path)
    return tmp_path


def again(work: Path, *subjects: Any, **options: Any) -> Examination:
    items: ItemSet = read_itemset(work / "items")
    return snellen.exam.run.run(items, subjects or SUBJECTS, work / "run", show_progress=False, **options)


@pytest.fixture
def askings(work: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The runs that were asked since the first."""
    roots: list[Path] = []

    def note(root: Path, plan: Any) -> list[Response]:
        roots.append(root)
        return ask(root, plan)

    monkeypatch.setattr(snellen.exam.session, "ask", note)
    return roots


def test_nothing_is_asked_or_written_again(work: Path, askings: list[Path]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (work / "run").rglob("*")}
    assert again(work).responses == read_responses(work / "run")
    assert {path: path.stat().st_mtime_ns for path in (work / "run").rglob("*")} == before
    assert askings == []


def append(path: Path, text: str = "\n") -> None:
    path.write_bytes(path.read_bytes() + text.encode())


def alter_table(path: Path) -> None:
    pd.read_parquet(path).iloc[::-1].to_parquet(path)


def touch_image(work: Path) -> None:
    image = next((work / "items" / "media").rglob("*.png"))
    image.write_bytes(image.read_bytes())


ALTERATIONS: dict[str, Callable[[Path], Any]] = {
    "record": lambda work: append(work / "run" / "parts" / "0000.jsonl", '{"key": "torn'),
    "a new part": lambda work: (work / "run" / "parts" / "0001.jsonl").write_text(""),
    "card": lambda work: append(work / "run" / "run.json"),
    "responses": lambda work: alter_table(work / "run" / "responses.parquet"),
    "exchanges": lambda work: alter_table(work / "run" / "exchanges.parquet"),
    "scores": lambda work: alter_table(work / "run" / "scores.strict.parquet"),
    "no scores": lambda work: (work / "run" / "scores.strict.parquet").unlink(),
    "judgements": lambda work: files.write_text(work / "run" / "judgements" / "x", ""),
    "blind scores": lambda work: (work / "items" / "blind.json").write_text('{"schema_version": 2, "method": "none"}'),
    "an image": touch_image,
    "stamp": lambda work: (work / "run" / "stamp.json").write_text("{"),
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_altered_files_invalidate_the_stamp(work: Path, askings: list[Path], alteration: str) -> None:
    responses = again(work).responses
    ALTERATIONS[alteration](work)
    assert again(work).responses == responses
    assert len(askings) == 1
    again(work)
    assert len(askings) == 1, "a repeated run is stamped again"


@pytest.mark.parametrize("options", [{"conditions": ["vanilla", "images=none"]}, {"repeats": 2}], ids=str)
def test_other_options_invalidate_the_stamp(work: Path, askings: list[Path], options: dict[str, Any]) -> None:
    again(work, **options)
    assert len(askings) == 1


def test_other_code_and_versions_invalidate_the_stamp(
    work: Path, askings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(stamp, "code_digest", lambda: "of tomorrow")
        again(work)
    monkeypatch.setattr(stamp, "versions", lambda: {"numpy": "9"})
    again(work)
    assert len(askings) == 2


def test_failed_items_are_asked_again(work: Path, askings: list[Path]) -> None:
    (work / "script.json").write_text("{}")
    spec = f"fake:scripted={work / 'script.json'}"
    assert again(work, spec).failed
    again(work, spec)
    assert len(askings) == 2


class Foreign(Base):
    """A subject whose code is not in this package."""


def test_foreign_code_is_not_trusted(work: Path) -> None:
    assert stamp.run_key(work / "items", [Foreign(SubjectCard("own:x"))], {}) == ""  # type: ignore[list-item]


def test_a_part_of_a_set_is_not_the_whole_set(work: Path) -> None:
    items = read_itemset(work / "items")
    for count in (2, 3):  # in memory only: on disk the set is unchanged
        some = replace(items, items=items.items[:count])
        examination = snellen.exam.run.run(some, SUBJECTS, work / "some", show_progress=False)
        assert len(examination.responses) == count * len(SUBJECTS)
    assert not (work / "some" / "stamp.json").exists()


@dataclass(frozen=True)
class Thinker(Base):
    """All its replies end at the limit of tokens."""

    prompts: list[Prompt] = field(default_factory=list)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.prompts.append(prompt)
        return Reply("", stop="length", tokens_out=100, token_limit=100)


def test_a_run_that_ended_early_is_not_finished(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message that says so recommends to keep going: then the rest is asked."""
    monkeypatch.setattr(Thinker, "__module__", "snellen.subjects")  # others' runs have no stamp
    items = read_itemset(work / "items")
    subject = Thinker(SubjectCard("chat:thinker", token_limit=100, max_concurrency=1))
    early = snellen.exam.run.run(items, [subject], tmp_path / "early", show_progress=False)
    assert early.unasked()
    count = len(subject.prompts)
    whole = snellen.exam.run.run(items, [subject], tmp_path / "early", keep_going=True, show_progress=False)
    assert len(subject.prompts) > count
    assert not whole.unasked()
