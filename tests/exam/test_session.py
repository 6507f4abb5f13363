"""A session resolves what a run needs once."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import snellen
from snellen.core.errors import SnellenError
from snellen.core.storage import runfolder, schemas
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.exam.session import AskingOptions, check, sessions
from snellen.runs.scores.score import read_scores
from snellen.runs.scores.unread import with_judged_reading
from snellen.suites import SUITES
from tests.helpers.sets import small_set
from tests.suites.questions.tables import build_set, image_text, write_csv


def test_a_short_run_reads_its_card_twice(sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is opened, and when it is counted what was not asked."""
    read, names = schemas.read_card_file, list[str]()

    def counted(card: Any, path: Path, *words: str) -> Any:
        names.append(path.name)
        return read(card, path, *words)

    monkeypatch.setattr(runfolder, "read_card_file", counted)
    options = AskingOptions(limit=2, show_progress=False)
    (session,) = sessions([small_set("combo", sets_folder).root], ["fake:chance"], options, [tmp_path / "run"])
    check([session])
    assert session.finished() is None
    session.examine()
    assert names.count("run.json") <= 2


def test_a_short_run_enters_few_files_before_its_first_answer(sets_folder: Path, tmp_path: Path) -> None:
    """A file is entered if one of its functions is called."""
    entered, counts = set[str](), list[int]()
    source = str(Path(snellen.__file__).parent)

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(source):
            entered.add(frame.f_code.co_filename)

    def answer(parts: list[Any]) -> str:
        counts.append(len(entered))
        return "A"

    root = small_set("combo", sets_folder).root
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        snellen.examine(answer, root, out=tmp_path / "run", limit=3, show_progress=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert 0 < counts[0] <= 60, sorted(entered)


def test_what_cannot_be_asked_is_refused_before_a_set_is_built(tmp_path: Path) -> None:
    for options, message in (
        (AskingOptions(conditions=("images=nothing",)), "has no value 'nothing'"),
        (AskingOptions(conditions=("nothing=1",)), "no axis"),
    ):
        (session,) = sessions(["combo"], ["fake:chance"], options, [None])
        with pytest.raises(SnellenError, match=message):
            check([session])
        assert session.card is None, "nothing was built"


def test_sessions_share_their_subjects_and_first_questions(sets_folder: Path) -> None:
    roots = [small_set(name, sets_folder).root for name in ("combo", "vfm-bench")]
    first, second = sessions(roots, ["encoder:hog", "fake:oracle"], AskingOptions(), [None, None])
    assert first.subjects is second.subjects
    assert first.subjects[1] == "fake:oracle", "it needs the items"
    assert first.options.preflight is second.options.preflight
    assert first.root != second.root


def test_a_subject_added_later_is_scored_under_every_protocol(sets_folder: Path, tmp_path: Path) -> None:
    items, suite, root = small_set("combo", sets_folder), with_judged_reading(SUITES.get("combo")), tmp_path / "run"
    run(items, ["fake:oracle"], root, show_progress=False)
    for protocol in ("published", "judged-reading"):
        rescore(root, items, suite, protocol)
    run(items, ["fake:chance"], root, show_progress=False)
    scored = {name: set(rows["subject"]) for name, rows in read_scores(root).items()}
    subjects = {"fake:oracle", "fake:chance"}
    assert scored == dict.fromkeys(("strict", "published", "judged-reading"), subjects)


def test_a_table_named_by_its_folder_is_asked_about_its_own_tasks(tmp_path: Path) -> None:
    """Tasks of `questions` are those of each set, which are known once it is opened."""
    rows = [
        {
            "image": image_text(number), "question": "Which?", "A": "red", "B": "blue", "answer": "B",
            "category": "colour",
        }
        for number in range(3)
    ]  # fmt: skip
    root = build_set(write_csv(tmp_path / "table.csv", rows), tmp_path / "set").root
    (session,) = sessions([root], ["fake:oracle"], AskingOptions(show_progress=False), [tmp_path / "run"])
    check([session])
    examination = session.examine()
    assert len(examination.responses) == len(session.items.items) > 0
    (again,) = sessions([root], ["fake:oracle"], AskingOptions(show_progress=False), [tmp_path / "run"])
    assert [row.task for row in again.examine().results().itertuples()] == ["colour"], "read from its stamp"
