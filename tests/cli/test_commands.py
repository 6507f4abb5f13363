"""The commands as typed by a user: output, files and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from snellen.core.storage import files
from snellen.core.storage.schemas import SCHEMA
from snellen.suites import SUITES
from snellen.web.lock import present_parts
from tests.helpers.sets import SMALL_BUILD, small_set
from tests.helpers.stub_server import StubServer

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def built(sets_folder: Path) -> Path:
    """A small set drawn by the toy renderer."""
    return small_set("combo", sets_folder).root


def test_from_items_to_report(snellen: Command, built: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "report"
    subjects = ("--subject", "fake:oracle", "--subject", "fake:blind-to=colour", "--subject", "fake:chance")
    code, printed, _ = snellen("verify", built)
    assert (code, "Only hashes were checked" in printed) == (1, True)
    assert snellen("run", built, *subjects, "--out", run)[0] == 0
    record = (run / "parts" / "0000.jsonl").read_bytes()
    printed = snellen("run", built, *subjects, "--out", run)[1]
    assert f"Next: snellen report {run} --out report" in " ".join(printed.split())
    assert [path.read_bytes() for path in (run / "parts").iterdir()] == [record], "a finished run asks no questions"
    code, _, err = snellen("report", tmp_path, "--out", out)
    assert (code, f"1 are in it (run); give {tmp_path}/*" in err) == (2, True)
    assert snellen("verify", run)[0] == 0
    assert snellen("score", run, "--protocol", "published")[0] == 0
    code, printed, _ = snellen("report", run, "--out", out, "--compare", "published", "--json")
    assert code == 0
    scores = json.loads(printed)["results"]
    assert {row["subject"] for row in scores} == {"fake:oracle", "fake:blind-to=colour", "fake:chance"}
    assert all({"value", "n", "grade", "state"} <= row.keys() for row in scores)
    rows = pd.read_csv(out / "results.csv", keep_default_na=False)
    oracle = rows[rows.subject == "fake:oracle"]
    assert set(oracle.protocol) == {"strict", "published"}
    assert (oracle.value == 1).all()
    assert "GPT-4V" in (out / "combo.html").read_text()


def test_help_of_the_command_line(snellen: Command) -> None:
    assert snellen("--version") == (0, f"snellen {version('snellen')}\n", "")
    code, out, _ = snellen()
    assert code == 0
    assert "Usage: snellen" in out
    assert "checkup" in out
    code, out, _ = snellen("list")
    assert code == 0
    assert all(name in out for name in SUITES)
    assert "snellen list tasks (" in out
    code, out, _ = snellen("list", "--json")
    assert set(json.loads(out)) == {"suites", "tasks", "axes", "subjects", "fakes"}


def test_images_are_rendered_again_and_compared(snellen: Command, built: Path, tmp_path: Path) -> None:
    code, out, _ = snellen("verify", built, "--rebuild", 3)
    assert code == 0
    assert "3 of " in out
    assert "at most 0.0 of 255 levels" in out
    shutil.copytree(built, tmp_path / "other")
    recipes = tmp_path / "other" / "image_recipes.parquet"
    table = files.read_table(recipes).to_pylist()
    swapped = [{"sha256": row["sha256"], "recipe": table[0]["recipe"]} for row in table]
    files.write_table(recipes, pa.Table.from_pylist(swapped))
    code, _, err = snellen("verify", tmp_path / "other")
    assert code == 2
    assert "two names of an object become one" in err
    recipes.unlink()
    code, out, _ = snellen("verify", tmp_path / "other")
    assert code == 1
    assert "rows_hash cannot be checked" in out
    code, _, err = snellen("verify", tmp_path / "other", "--rebuild", 3)
    assert code == 2
    assert "the set contains none" in err


def test_folders_of_an_earlier_version_are_refused_in_one_line(snellen: Command, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "set")
    assert snellen("run", built, "-s", "fake:chance", "--limit", 1, "--out", tmp_path / "run")[0] == 0
    for card in (tmp_path / "set" / "itemset.json", tmp_path / "run" / "run.json"):
        card.write_text(card.read_text().replace(f'"schema_version": {SCHEMA}', '"schema_version": 1'))
    for words in (
        ("verify", tmp_path / "set"),
        ("run", tmp_path / "set", "-s", "fake:chance", "--out", tmp_path / "new"),
        ("report", tmp_path / "run", "--out", tmp_path / "report"),
        ("score", tmp_path / "run"),
    ):
        code, out, message = snellen(*words)
        assert (code, out, message.count("\n")) == (2, "", 1), words
        assert "written by an earlier version of Snellen" in message


def test_the_shell_completes_commands() -> None:
    """As bash requests it; `python -m snellen` does the same."""
    environment = {**os.environ, "_SNELLEN_COMPLETE": "complete_bash", "COMP_WORDS": "snellen chec", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "snellen"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["checkup"]


def test_build_prints_a_summary(snellen: Command, tmp_path: Path) -> None:
    words = ("build", "combo/img2text", *SMALL_BUILD, "--n", 3, "--out", tmp_path / "x", "--json")
    code, out, _ = snellen(*words)
    assert code == 0
    summary = json.loads(out)
    assert summary["counts"] == {"img2text": {"test": 3}}
    assert summary["items"] == 3
    assert not any("pattern-perception" in note for note in summary["notes"]), "a task that the set does not have"
    code, _, err = snellen(*words)
    assert code == 2
    assert "never edited" in err


def test_a_build_prints_the_notes_of_the_card(snellen: Command, tmp_path: Path) -> None:
    code, out, _ = snellen("build", "vlm2-bench/oc-cnt", *SMALL_BUILD, "--n", 2, "--out", tmp_path / "x")
    assert code == 0
    assert "notes: not covered of the paper: photographs; the tasks about people (no people are rendered)\n" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("build", "comboo", "--from", "generated", "--plan"), "did you mean 'combo'"),
        (("build", "combo", "--from", "relesed", "--plan"), "available: generated"),
        (("build", "combo/img2txt", "--from", "generated", "--plan"), "img2text"),
        (("build", "combo", "--from", "generated"), "--out FOLDER is required"),
        (("build", "combo", "--from", "generated", "--source", "x", "--plan"), "NAME=PATH"),
        (
            ("build", "combo", "--from", "generated", "--source", "x=.", "--source", "x=..", "--plan"),
            "give each name once",
        ),
        (("list", "suits"), "did you mean 'suites'"),
        (("report", "nowhere", "--out", "r"), "nowhere"),
        (("report", "nowhere", "--out", ""), "an argument is empty; leave it out, or fill it in"),
        (("report", "nowhere", "--out="), "an argument is empty: --out=; leave it out"),
        (("verify", "nowhere"), "nowhere"),
        (("run", "nowhere", "--subject", "fake:oracle"), "neither a folder nor a suite"),
    ],
)
def test_bad_input_is_refused_in_one_line(snellen: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = snellen(*words)
    assert code == 2
    assert message in err
    assert out == ""
    assert err.count("\n") == 1


@pytest.mark.parametrize("subject", ["fake:oracl", "encodr:hog", "encoder:hogg", "chat:nobody/x?temprature=1", "hog"])
def test_unknown_subjects(snellen: Command, built: Path, tmp_path: Path, subject: str) -> None:
    code, _, err = snellen("run", built, "--subject", subject, "--out", tmp_path / "run")
    assert code == 2
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["run", "show", "score"])
def test_altered_images_are_refused(snellen: Command, built: Path, tmp_path: Path, command: str) -> None:
    items, run = tmp_path / "items", tmp_path / "run"
    shutil.copytree(built, items)
    assert snellen("run", items, "--subject", "fake:chance", "--out", run)[0] == 0
    image = next((items / "media").rglob("*.png"))
    image.write_bytes(image.read_bytes() + b"\n")
    words = {
        "run": ("run", items, "--subject", "fake:chance", "--out", run),
        "show": ("show", items),
        "score": ("score", run),
    }
    code, _, err = snellen(*words[command])
    assert code == 2
    assert image.name in err


def test_show_prints_what_is_sent(snellen: Command, built: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = snellen("show", built, "--condition", "sheet=single,prompt=short", "--html", page)
    assert code == 0
    assert out.count("=== ") == 4
    assert page.read_text().count("<img ") == 4, "one montage per call"
    code, out, _ = snellen("show", built, "img2text-0000")
    assert code == 0
    assert out.count("=== ") == 1
    assert all(letter in out for letter in ("A. ", "B. ", "C. ", "D. "))


def test_a_chat_model_behind_a_local_server(
    snellen: Command, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    with StubServer("A") as server:
        monkeypatch.setenv("NEARBY_BASE_URL", server.url)
        monkeypatch.setenv("NEARBY_API_KEY", "none")
        words = ("run", built, "--subject", "chat:openai-api/nearby/model", "--limit", 2, "--out", tmp_path / "run")
        code, out, err = snellen(*words)
        assert code == 0
        assert "calls, about" in err, "an estimate is printed first"
        calls = server.count
        assert calls == 1 + 1 + 2 + 2 + 2  # a first question, one sheet, then two items per task
        assert snellen(*words)[0] == 0
        assert server.count == calls
    assert "new kinds?" in out


def test_failed_items_give_exit_code_1(snellen: Command, built: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"img2text-0000": "A"}))
    code, _, err = snellen("run", built, "--subject", f"fake:scripted={script}", "--out", tmp_path / "run")
    assert code == 1
    assert "items failed and are not scored" in err
    script.write_text(json.dumps({"img2text-0000": "A", "*": "B"}))
    assert snellen("run", built, "--subject", f"fake:scripted={script}", "--out", tmp_path / "run")[0] == 0


def test_three_lines_of_python(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import snellen

    monkeypatch.chdir(tmp_path)
    image_counts: list[int] = []

    def answer(parts: list[Any]) -> str:
        image_counts.append(sum(not isinstance(part, str) for part in parts))
        return "A"

    examination = snellen.examine(answer, built, show_progress=False)
    report = examination.report()
    assert report.page.is_file()
    assert (report.root / "explore.html").is_file() == (present_parts() is not None), "as the command writes it"
    monkeypatch.setattr("snellen.web.explorer.page.present_parts", lambda: None)
    assert not (examination.report("other").root / "explore.html").exists()
    assert "explore.html is left out" in capsys.readouterr().err
    assert sorted(set(image_counts)) == [1, 3, 4, 5]  # img2text, category-building, text2img, a sheet of five samples


@pytest.mark.slow
def test_a_second_checkup_reuses_the_first(snellen: Command, tmp_path: Path) -> None:
    code, out, _ = snellen("checkup", "--quick", "--renderer", "toy", "--out", tmp_path / "checkup")
    assert code == 0
    assert str(tmp_path / "checkup" / "report" / "index.html") in out.replace("\n", "")
    parts = sorted((tmp_path / "checkup" / "run" / "combo" / "parts").iterdir())
    page = tmp_path / "checkup" / "report" / "index.html"
    written = page.stat().st_mtime_ns
    assert snellen("checkup", "--quick", "--renderer", "toy", "--out", tmp_path / "checkup")[0] == 0
    assert sorted((tmp_path / "checkup" / "run" / "combo" / "parts").iterdir()) == parts
    assert page.stat().st_mtime_ns == written, "an unchanged report is not written again"
    rows = pd.read_csv(tmp_path / "checkup" / "report" / "results.csv")
    assert {"encoder:efficientnet-lite0", "encoder:conse", "fake:oracle"} <= set(rows.subject)
