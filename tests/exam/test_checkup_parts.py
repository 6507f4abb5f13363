"""Parts of a checkup that other packages add."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PIL import Image

from snellen.exam import checkup, checkup_parts
from snellen.exam.checkup_parts import CheckupPart
from snellen.runs.planning.options import CheckupOptions


def write_questions(folder: Path, count: int) -> Path:
    """Questions about the colour of a plain image."""
    folder.mkdir()
    path = folder / "questions.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "question", "answer", "task", "colour"])
        for number in range(count):
            name = ("red", "blue")[number % 2]
            Image.new("RGB", (64, 64 + number), name).save(folder / f"{number}.png")
            writer.writerow([f"{number}.png", "What is the colour of the image?", name, "colour", name])
    return path


def test_subjects_of_another_package_are_asked_its_questions_and_the_suites_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkup, "CHECKUP_SUITES", {"thresholds": ("acuity",)})
    monkeypatch.setattr(checkup, "CHECKUP_SUBJECTS", ("fake:chance",))
    part = CheckupPart(("fake:oracle", "nothing:absent"), write_questions, suites=("thresholds",))
    monkeypatch.setattr(checkup, "installed_part", lambda: part)
    options = CheckupOptions(tmp_path / "checkup", quick=True, show_progress=False)
    done = checkup.checkup((), options)
    assert "left out" in capsys.readouterr().err
    names = {e.suite.card.name: set(e.grades()["subject"]) for e in done.examinations}
    assert names == {"thresholds": {"fake:chance", "fake:oracle"}, "questions": {"fake:oracle"}}
    questions = done.examinations[-1]
    assert len(questions.items.items) == checkup_parts.QUICK_COUNT
    assert questions.grades()["value"].tolist() == [1.0]
    files = sorted((tmp_path / "checkup/items/questions").rglob("*"))
    again = checkup.checkup((), options).examinations[-1]
    assert again.responses == questions.responses
    assert sorted((tmp_path / "checkup/items/questions").rglob("*")) == files
    checkup.checkup((), CheckupOptions(tmp_path / "checkup", quick=True, more=True, show_progress=False))


def test_no_part_is_installed_without_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup_parts.PARTS, "_entry_points", {})
    assert checkup_parts.installed_part() is None
    checkup_parts.PARTS.add("empty", CheckupPart((), write_questions))
    assert checkup_parts.installed_part() is None
