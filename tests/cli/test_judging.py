"""`snellen judge` and `--input` as typed by a user, from a built set to the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.sets import SMALL_BUILD

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.slow
def test_descriptions_are_unjudged_then_judged(snellen: Command, tmp_path: Path) -> None:
    items, run, script = tmp_path / "items", tmp_path / "run", tmp_path / "judge.json"
    arguments = (*SMALL_BUILD, "--n", 4, "--out", items)
    assert snellen("build", "vlm2-bench/oc-vid", *arguments)[0] == 0
    code, out, _ = snellen("run", items, "--subject", "fake:oracle", "--out", run)
    assert (code, "unjudged" in out) == (0, True)
    assert snellen("judge", run)[0] == 2, "a judge is required"
    script.write_text(json.dumps({"*": "Score: 1"}))
    code, out, _ = snellen("judge", run, "--by", f"fake:scripted={script}", "--sample", tmp_path / "s.csv", "--json")
    assert (code, json.loads(out)["texts"], json.loads(out)["unreadable"]) == (0, 4, 0)
    lines = list(csv.DictReader((tmp_path / "s.csv").open(newline="")))
    assert len(lines) == 4
    with (tmp_path / "filled.csv").open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, "decision": "1"} for line in lines)
    code, out, _ = snellen("judge", run, "--agreement", tmp_path / "filled.csv", "--json")
    assert json.loads(out)["agreement"][0]["share"] == 1.0
    assert snellen("score", run, "--protocol", "published")[0] == 0
    assert snellen("report", run, "--out", tmp_path / "report")[0] == 0
    rows = pd.read_csv(tmp_path / "report" / "results.csv", keep_default_na=False)
    whole = rows[rows.factor == ""]
    assert set(whole.judge) == {"fake:scripted=judge.json"}
    # Two videos of two parts with 1 of 1, two of three parts with 1 of 2: 0.75 in either order.
    assert set(whole.value.astype(float)) == {0.75}


def test_unread_replies_are_read_by_a_subject(snellen: Command, tmp_path: Path) -> None:
    items, run, script = tmp_path / "items", tmp_path / "run", tmp_path / "reader.json"
    arguments = (*SMALL_BUILD, "--n", 1, "--out", items)
    assert snellen("build", "vlm2-bench/gc-mat", *arguments)[0] == 0
    assert snellen("run", items, "--subject", "fake:constant=Who could say.", "--out", run)[0] == 0
    script.write_text(json.dumps({"*": "T"}))
    reader = ("--by", f"fake:scripted={script}")
    assert snellen("judge", run, *reader, "--unread", "--sample", tmp_path / "s.csv")[0] == 2, "descriptions only"
    assert snellen("judge", run, "--unread")[0] == 2, "a reader is required"
    card = (run / "run.json").read_text("utf-8")
    arm, *_ = json.loads(card)["arms"]
    people = json.dumps(json.loads(card) | {"arms": [arm | {"role": "person"}]})
    (run / "run.json").write_text(people)
    for how in ((*reader, "--unread"), ("--sample", tmp_path / "s.csv"), ("--sample", tmp_path / "queue")):
        assert "does not share go to the judge or sample (people: 1)" in snellen("judge", run, *how)[2]
    assert "does not share" not in snellen("judge", run, "--readings", tmp_path / "r.csv")[2]
    (run / "run.json").write_text(card)
    code, out, _ = snellen("judge", run, *reader, "--unread", "--json")
    assert (code, json.loads(out)["failed"], json.loads(out)["unreadable"]) == (0, 0, 0)
    assert snellen("report", run, "--out", tmp_path / "report")[0] == 0
    rows = pd.read_csv(tmp_path / "report" / "results.csv", keep_default_na=False)
    rows = rows[(rows.factor == "") & (rows.metric == "accuracy")].set_index("protocol")
    # Statements come in pairs, one true and one false: always answering T is right on half of them.
    assert (float(rows.value["strict"]), float(rows.no_answer_rate["strict"])) == (0.0, 1.0)
    assert (float(rows.value["judged-reading"]), rows.judge["judged-reading"]) == (0.5, "fake:scripted=reader.json")


def test_readings_are_drawn_and_checked_by_a_person(snellen: Command, tmp_path: Path) -> None:
    items, run, sheet = tmp_path / "items", tmp_path / "run", tmp_path / "readings.csv"
    assert snellen("build", "vlm2-bench/gc-mat", *SMALL_BUILD, "--n", 1, "--out", items)[0] == 0
    assert snellen("run", items, "--subject", "fake:constant=I would say T.", "--out", run)[0] == 0
    code, out, _ = snellen("judge", run, "--readings", sheet)
    assert (code, out) == (0, "readings: 2\n")
    lines = sheet.read_text(encoding="utf-8-sig").replace(",\n", ",no\n")
    sheet.write_text(lines, encoding="utf-8")
    code, out, _ = snellen("judge", run, "--readings", sheet, "--json")
    assert code == 0
    assert "and found 2 misread: 100.0 % [15.8, 100.0] of all readings" in json.loads(out)["readings"]


def test_images_are_cropped_to_the_boxes_of_a_detector_run(snellen: Command, tmp_path: Path) -> None:
    items, work = tmp_path / "items", tmp_path / "work"
    arguments = (*SMALL_BUILD, "--n", 1, "--out", items)
    assert snellen("build", "vlm2-bench/oc-cpr", *arguments)[0] == 0
    assert snellen("build", "vlm2-bench/zoom", "--from", "curated", "--source", f"items={items}", "--out", work)[0] == 0
    assert snellen("run", work, "--subject", "fake:exact-boxes", "--out", tmp_path / "boxes")[0] == 0
    how = ("--condition", "visual_prompt=vp-zoom-o", "--input", f"boxes={tmp_path / 'boxes'}")
    assert snellen("run", items, "--subject", "fake:oracle", *how, "--out", tmp_path / "run")[0] == 0
    code, out, _ = snellen("show", items, *how)
    assert code == 0
    assert "384x288" not in out, "crops are smaller than the stored images"
    other = tmp_path / "other"
    assert snellen("build", "vlm2-bench/oc-cpr", *arguments[:-1], other, "--seed", 1)[0] == 0
    code, _, err = snellen("run", other, "--subject", "fake:oracle", *how, "--out", tmp_path / "wrong")
    assert (code, "was not made for" in err) == (2, True)
