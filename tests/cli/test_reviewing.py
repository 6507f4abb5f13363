"""Reviews by commands: queues are listed and built, two people decide, a third decides the rest."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

from snellen.core.storage.itemset import read_itemset, write_itemset
from snellen.curation.queues import queues
from snellen.curation.steps import step_item
from snellen.web.study import read_study
from tests.helpers.reviewers import reviewed_by, words

Command = Callable[..., tuple[int, str, str]]


def test_from_a_step_to_decisions(snellen: Command, tmp_path: Path) -> None:
    questions = [step_item("screening", f"i{n}", f"Question {n}", (), "text") for n in range(3)]
    write_itemset(tmp_path / "step", questions, source="scene-merges", recipe={})
    code, out, _ = snellen("study", "queue", "scene-merges", tmp_path / "step", "--out", tmp_path / "queue", "--json")
    assert (code, json.loads(out)["decisions"]) == (0, 3)
    queue = read_itemset(tmp_path / "queue")
    two = {"a": words(i0="keep", i1="keep", i2="drop"), "b": words(i0="keep", i1="drop", i2="drop")}
    reviewed_by(queue, two, tmp_path / "people")
    first = ("study", "decide", tmp_path / "people", "--out", tmp_path / "first.csv", "--third", tmp_path / "third")
    code, out, _ = snellen(*first, "--json")
    # Of three items two agree. keep 3, drop 3 of 6: chance 1/2; kappa (2/3 - 1/2) / (1/2) = 1/3.
    # Alpha: observed 1/3, expected 2 * 3 * 3 / (6 * 5) = 3/5; 1 - 5/9 = 4/9.
    summary = json.loads(out)
    assert (code, summary["decided"], summary["undecided"]) == (0, 2, ["i1"])
    numbers = [summary[name] for name in ("percent", "fleiss_kappa", "krippendorff_alpha")]
    assert numbers == [round(number, 6) for number in (2 / 3, 1 / 3, 4 / 9)]
    named = (*first[:-1], tmp_path / "named", "--reviewer", "carla")
    assert snellen(*named)[1].splitlines()[1:] == [
        str(tmp_path / "first.csv"), f"for the third reviewer: snellen study serve {tmp_path / 'named'}; import it, "
        "then give both runs to `decide`",
    ]  # fmt: skip
    assert read_study(tmp_path / "named").design.reviewers == ("carla",)
    third = reviewed_by(read_itemset(tmp_path / "third" / "items"), {"third": words(i1="drop")}, tmp_path / "more")
    code, out, _ = snellen("study", "decide", tmp_path / "people", third, "--out", tmp_path / "second.csv")
    assert (code, out.splitlines()[0]) == (
        0, "2 reviewers: 3 of 3 decided, 0 disputed; agreement: percent 0.667, Fleiss 0.333, Krippendorff 0.444"
    )  # fmt: skip
    alone = reviewed_by(queue, {"a": words(i0="keep"), "b": words(i0="keep", i1="drop")}, tmp_path / "alone")
    out = snellen("study", "decide", alone, "--out", tmp_path / "alone.csv")[1]
    assert out.startswith("2 reviewers: 1 of 3 decided, 0 disputed; "), "of one vote and of none"
    with (tmp_path / "second.csv").open(newline="") as opened:
        lines = list(csv.DictReader(opened))
    assert [line["decision"] for line in lines] == ["keep", "drop", "drop"]
    assert lines[1]["author"] == "human:review/b, human:review/third", "who decided so, not who was against it"


def test_queues_are_listed(snellen: Command, tmp_path: Path) -> None:
    code, out, _ = snellen("study", "queue")
    assert code == 0
    assert all(f"{name}: {queue.purpose}" in out for name, queue in queues().items())
    assert set(json.loads(snellen("study", "queue", "--json")[1])) == set(queues())
    code, _, message = snellen("study", "queue", "scene-merges")
    assert code == 2
    assert "give the item set of the step and --out FOLDER" in message
