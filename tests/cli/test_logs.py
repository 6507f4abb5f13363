"""`snellen diff` of logs: exit codes, what is printed, and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.logs import FORMS, answers, json_lines, table

Command = Callable[..., tuple[int, str, str]]
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def written(folder: Path, name: str, right: int, count: int = 400) -> Path:
    rows = [
        {
            "id": f"q{n}", "question": f"Is this {n}? {HOSTILE}", "target": "yes",
            "response": "yes" if n < right else HOSTILE, "score": n < right,
        }
        for n in range(count)
    ]  # fmt: skip
    return json_lines(folder / f"{name}.jsonl", rows)


@pytest.mark.parametrize(
    ("right", "margin", "code"), [(400, (), 0), (300, (), 4), (400, (5,), 0), (385, (5,), 1), (300, (5,), 4)]
)
def test_a_gate_passes_fails_or_is_undecided(
    right: int, margin: tuple[int, ...], code: int, snellen: Command, tmp_path: Path
) -> None:
    words = ["diff", written(tmp_path, "a", 400), written(tmp_path, "b", right), "--out", tmp_path / "diff.html"]
    options = ["--fail-on", "drop", *(["--margin", *margin] if margin else [])]
    assert snellen(*words)[0] == 0
    assert snellen(*words, *options)[0] == code


@pytest.mark.parametrize("margin", [(), ("--margin", 5)])
def test_a_gate_is_undecided_if_items_are_missing(margin: tuple[str, ...], snellen: Command, tmp_path: Path) -> None:
    logs = [written(tmp_path, "a", 800, 800), written(tmp_path, "b", 400)]
    for first, second in (logs, logs[::-1]):
        assert snellen("diff", first, second, "--out", tmp_path / "d.html", "--fail-on", "drop", *margin)[0] == 1


def test_the_page_shows_both_replies_and_why(snellen: Command, tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    code, out, _ = snellen("diff", written(tmp_path, "a", 400), written(tmp_path, "b", 300), "--out", page)
    assert code == 0
    assert "400 items joined: 100% by id" in out
    assert "Why 100 flipped: 100 another reply." in out
    text = page.read_text("utf-8")
    assert "&lt;/script&gt;" in text
    assert HOSTILE not in text
    assert "another reply" in text
    compared = json.loads(snellen("diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--out", page, "--json")[1])
    assert (compared["joined"], compared["causes"], compared["dropped"]) == (
        {"id": 400}, {"another reply": 100}, ["all items"],
    )  # fmt: skip


def test_notes_about_files_of_any_name_are_printed_as_they_are(snellen: Command, tmp_path: Path) -> None:
    rows = [{"id": n, "exact_match": 1, "hit": 0} for n in range(9)]
    paths = [table(tmp_path / name, rows) for name in ("[red]a.csv", "b.csv")]
    code, out, _ = snellen("diff", *paths, "--out", tmp_path / "diff.html")
    assert code == 0
    assert "[red]a.csv: scores are 'exact_match'; also there: hit." in " ".join(out.split())


def test_logs_of_inspect_as_json_are_no_results_of_sight(snellen: Command, tmp_path: Path) -> None:
    replies, page = list("ABCD" * 5), tmp_path / "diff.html"
    paths = [FORMS["Inspect"](tmp_path, name, answers(replies, [1.0] * 20)) for name in ("m1", "m2")]
    code, out, _ = snellen("diff", *paths, "--out", page)
    assert code == 0
    assert "20 answers paired" in out


def test_more_than_two_logs_are_ranked(snellen: Command, tmp_path: Path) -> None:
    paths = [written(tmp_path, name, right) for name, right in (("a", 390), ("b", 200), ("c", 195))]
    code, out, _ = snellen("diff", *paths)
    assert code == 0
    assert "[1, 1]" in out
    ranks = json.loads(snellen("diff", *paths, "--json")[1])
    assert [row["log"] for row in ranks["ranks"]] == ["a", "b", "c"]
    assert len(ranks["pairs"]) == 3
    assert snellen("diff", *paths, "--fail-on", "drop")[0] == 2


def test_other_items_are_refused(snellen: Command, tmp_path: Path) -> None:
    first = table(tmp_path / "a.csv", [{"item_id": n, "score": 1, "target": f"word {n}"} for n in range(9)])
    second = table(tmp_path / "b.csv", [{"item_id": n, "score": 1, "target": f"other {n}"} for n in range(9)])
    code, _, err = snellen("diff", first, second)
    assert code == 2
    assert "9 of 9 joined rows contradict each other" in err
    assert snellen("diff", f"{first}?target=none", second, "--out", tmp_path / "diff.html")[0] == 0
    assert snellen("diff", first, tmp_path / "none.csv")[0] == 2
