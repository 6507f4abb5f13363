"""Verdicts in a second run: asked once, recorded, scored per judge, sampled for people."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.cli.verification import verify
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.exam.items import build
from snellen.exam.judge import judge
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.runs.scores.judgements import (
    FOLDER,
    judgement_items,
    judging_runs,
    lines_without_verdict,
    people_as_judge,
    read_agreement,
    read_verdicts,
    write_sample,
    write_sample_items,
)
from snellen.runs.scores.score import read_scores
from snellen.runs.sets.gate import open_run_items
from snellen.suites import SUITES
from tests.helpers.refusals import assert_refused
from tests.helpers.reviewers import reviewed_by


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    out = tmp_path_factory.mktemp("judged") / "items"
    options = BuildOptions(out, n=4, tasks=("oc-vid", "gc-mat"), quick=True, renderer="toy", show_progress=False)
    return build(SUITES.get("vlm2-bench"), "generated", options)


@pytest.fixture
def run_root(items: ItemSet, tmp_path: Path) -> Path:
    run(items, ["fake:oracle", "fake:constant=it moves"], tmp_path / "run", show_progress=False)
    return tmp_path / "run"


def script(path: Path, lines: dict[str, str]) -> str:
    path.write_text(json.dumps(lines))
    return f"fake:scripted={path}"


def values(root: Path) -> pd.DataFrame:
    scores = read_scores(root)["strict"]
    return scores[scores["task"] == "oc-vid"]


def judge_questions(root: Path) -> dict[str, str]:
    """The questions to a judge, by response."""
    _, items, suite = open_run_items(root)
    return {item.item_id: item.question for item in judgement_items(read_responses(root), items, suite)}


def test_replies_are_unjudged_until_a_judge_decides(run_root: Path, tmp_path: Path) -> None:
    assert values(run_root)["value"].isna().all()
    assert set(values(run_root)["judge"]) == {""}
    full = {key: "Score: 2" if "PQP" in text else "Score: 1" for key, text in judge_questions(run_root).items()}
    # only the oracle's replies
    crossing = {key for key, text in judge_questions(run_root).items() if "crosses the floor" in text}
    lines = {key: score if key in crossing else "Score: 0" for key, score in full.items()}
    done = judge(run_root, script(tmp_path / "judge.json", lines), show_progress=False)
    assert (done.texts, done.failed, done.unreadable) == (8, 0, 0)
    by_subject = values(run_root).groupby("subject")["value"].agg(set).to_dict()
    assert by_subject == {"fake:oracle": {1.0}, "fake:constant=it moves": {0.0}}
    assert set(values(run_root)["judge"]) == {"fake:scripted=judge.json"}
    others = read_scores(run_root)["strict"]
    assert set(others[others["task"] == "gc-mat"]["judge"]) == {""}
    assert not others.duplicated(["subject", "item_id", "metric", "judge"]).any(), (
        "tasks without a judge are scored once"
    )


def test_nothing_is_judged_twice_and_failed_calls_are_asked_again(run_root: Path, tmp_path: Path) -> None:
    first, *rest = judge_questions(run_root)
    lines = dict.fromkeys(rest, "Score: 1")
    done = judge(run_root, script(tmp_path / "judge.json", lines), show_progress=False)
    assert (done.texts, done.failed) == (8, 1)
    _, items, suite = open_run_items(run_root)
    line = "fake:scripted=judge.json: no verdict on 1 of 8 texts under strict"
    assert lines_without_verdict(run_root, items, suite, "strict") == [line]
    assert verify(str(run_root), 0, None, None, None) == 1
    for path in run_root.glob(f"{FOLDER}/*/run/run.json"):
        path.write_text(path.read_text().replace('"role":"simulated"', '"role":"person"'))
    assert lines_without_verdict(run_root, items, suite, "strict") == [line], "a model whose card says person"
    before = sum(1 for folder in run_root.glob(f"{FOLDER}/*/run") for _ in read_exchanges(folder))
    # The judge has the same name; its script now has the line that failed before.
    done = judge(run_root, script(tmp_path / "judge.json", {**lines, first: "Score: 0"}), show_progress=False)
    assert (done.texts, done.failed) == (8, 0)
    after = sum(1 for folder in run_root.glob(f"{FOLDER}/*/run") for _ in read_exchanges(folder))
    assert after - before == 1
    judge(run_root, script(tmp_path / "judge.json", {}), show_progress=False)
    assert sum(1 for folder in run_root.glob(f"{FOLDER}/*/run") for _ in read_exchanges(folder)) == after


def test_verdicts_on_another_text_are_not_believed(run_root: Path, tmp_path: Path) -> None:
    """As after a reply that was cut off, judged and asked again: the response has the same name and another text."""
    lines = dict.fromkeys(judge_questions(run_root), "Score: 1")
    judge(run_root, script(tmp_path / "judge.json", lines), show_progress=False)
    _, items, suite = open_run_items(run_root)
    first, *rest = judgement_items(read_responses(run_root), items, suite)
    (verdicts,) = read_verdicts(run_root, [replace(first, question=f"{first.question} And then?"), *rest]).values()
    assert set(verdicts) == {item.item_id for item in rest}


def test_verdicts_are_not_written_through_links(run_root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for link in (run_root / FOLDER, run_root / FOLDER / "0123456789ab", run_root / FOLDER / "0123456789ab/run/parts"):
        shutil.rmtree(run_root / FOLDER, ignore_errors=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(SnellenError, match=f"{link}: a link, but what is written in run stays there"):
            judge(run_root, script(tmp_path / "kind.json", {"*": "Score: 1"}), show_progress=False)
        link.unlink()
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", ["judgements", "judgements/0123456789ab", "judgements/0123456789ab/run"])
def test_verdicts_are_not_read_through_links(name: str, tmp_path: Path) -> None:
    """They may lead back to the run itself, whose verdicts would be verified without end."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path)
    assert_refused(lambda: judging_runs(tmp_path), f"{tmp_path / name}: a link, but verdicts")


def test_verdicts_move_with_their_run(run_root: Path, tmp_path: Path) -> None:
    judge(run_root, script(tmp_path / "kind.json", {"*": "Score: 1"}), show_progress=False)
    moved = run_root.rename(tmp_path / "elsewhere")
    _, items, suite = open_run_items(moved)
    rows = rescore(moved, items, suite, "strict")
    assert set(rows[rows["task"] == "oc-vid"]["judge"]) == {"fake:scripted=kind.json"}
    assert judge(moved, script(tmp_path / "kind.json", {}), show_progress=False).failed == 0


def test_verdicts_are_those_of_the_judges_record(run_root: Path, tmp_path: Path) -> None:
    judge(run_root, script(tmp_path / "kind.json", {"*": "Score: 1"}), show_progress=False)
    assert verify(str(run_root), 0, None, None, None) == 0
    _, whole, judged = open_run_items(run_root)
    assert lines_without_verdict(run_root, whole, judged, "strict") == []
    (folder,) = (run_root / FOLDER).iterdir()
    table = pq.read_table(folder / "run" / "responses.parquet")
    better = pa.array(["Score: 2"] * len(table), table.schema.field("text").type)
    changed = table.set_column(table.schema.get_field_index("text"), "text", better)
    shutil.copytree(folder, run_root / FOLDER / "drawing")  # a name that digests leave out
    pq.write_table(changed, run_root / FOLDER / "drawing" / "run" / "responses.parquet")
    _, items, suite = open_run_items(run_root)
    assert set(rescore(run_root, items, suite, "strict").dropna(subset="value")["prediction"]) >= {"1"}
    assert verify(str(run_root), 0, None, None, None) == 0
    again = run_root / FOLDER / "ffffffffffff"
    shutil.copytree(folder, again)
    line = "fake:scripted=kind.json: several verdicts on a text under strict"
    assert lines_without_verdict(run_root, items, suite, "strict") == [line]
    shutil.rmtree(again)
    pq.write_table(changed, folder / "run" / "responses.parquet")
    rescore(run_root, items, suite, "strict")
    with pytest.raises(SnellenError, match=rf"{folder.name}/run/responses.parquet: .* does not follow"):
        verify(str(run_root), 0, None, None, None)


def test_two_judges_are_two_results(run_root: Path, tmp_path: Path) -> None:
    judge(run_root, script(tmp_path / "kind.json", {"*": "Score: 1"}), show_progress=False)
    judge(run_root, script(tmp_path / "vague.json", {"*": "It is hard to say."}), show_progress=False)
    _, items, suite = open_run_items(run_root)
    rows = rescore(run_root, items, suite, "strict")
    judged = rows[rows["task"] == "oc-vid"]
    assert set(judged["judge"]) == {"fake:scripted=kind.json", "fake:scripted=vague.json"}
    vague = judged[judged["judge"].str.contains("vague")]
    assert set(vague["outcome"]) == {"no_answer"}
    assert set(vague["value"]) == {0.0}, "an unreadable verdict counts as the worst under strict"
    published = rescore(run_root, items, suite, "published")
    left_out = published[published["judge"].str.contains("vague")]
    assert left_out["value"].isna().all(), "and is left out as published"


def test_people_check_a_sample(run_root: Path, tmp_path: Path) -> None:
    judge(run_root, script(tmp_path / "kind.json", {"*": "Score: 1"}), show_progress=False)
    _, items, suite = open_run_items(run_root)
    texts = judgement_items(read_responses(run_root), items, suite)
    verdicts = read_verdicts(run_root, texts)
    path = tmp_path / "sample.csv"
    assert write_sample(path, texts, verdicts, 3, 0) == 6, "three for each of two subjects"
    with pytest.raises(SnellenError, match="people may have filled it in"):
        write_sample(path, texts, verdicts, 3, 0)
    lines = list(csv.DictReader(path.open(newline="")))
    for number, line in enumerate(lines):
        line["decision"] = ("1", "1", "1", "0", "1", "")[number]
    with path.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    (agreement,) = read_agreement(path, texts, verdicts, suite)
    assert (agreement.agreed, agreement.checked, agreement.share) == (4, 5, 0.8)
    assert agreement.low < 0.8 < agreement.high
    hostile, ((judge_name, by_item),) = replace(texts[0], question="=1+1"), verdicts.items()
    verdict = replace(by_item[hostile.item_id], text="@SUM(A1)")
    write_sample(tmp_path / "hostile.csv", [hostile], {judge_name: {hostile.item_id: verdict}}, 1, 0)
    cells = (tmp_path / "hostile.csv").read_text().splitlines()[1].split(",")
    assert cells[2:4] == ["'=1+1", "'@SUM(A1)"], "no formulas of a spreadsheet"
    path.write_text(path.read_text().replace("fake:scripted=kind.json", "somebody"))
    with pytest.raises(SnellenError, match="line 2: somebody never judged"):
        list(read_agreement(path, texts, verdicts, suite))


def test_people_are_a_judge_and_agree_with_another(run_root: Path, tmp_path: Path) -> None:
    _, items, suite = open_run_items(run_root)
    texts = judgement_items(read_responses(run_root), items, suite)
    assert write_sample_items(tmp_path / "queue", texts, {}, 100, 0, items.media) == 8, "no judge has decided yet"
    with pytest.raises(SnellenError, match="queue: already contains an item set"):
        write_sample_items(tmp_path / "queue", texts, {}, 1, 0, items.media)
    queue = read_itemset(tmp_path / "queue")
    assert {(item.task, item.answer_kind) for item in queue.items} == {("decision", "choice")}
    scores = {item.item_id: item.options[-1].key for item in queue.items}  # 1 of two parts, 2 of three
    full = {name: (score, "") for name, score in scores.items()}
    first = queue.items[0].item_id
    people = reviewed_by(queue, {"ann": full, "bob": full}, tmp_path / "people")
    done = judge(run_root, people_as_judge(people), show_progress=False)
    assert (done.judge, done.texts, done.failed, done.unreadable) == ("human:review", 8, 0, 0)
    assert set(values(run_root)["value"]) == {1.0}
    script_lines = {**{name: f"Score: {score}" for name, score in scores.items()}, first: "Score: 0"}
    judge(run_root, script(tmp_path / "model.json", script_lines), show_progress=False)
    verdicts = read_verdicts(run_root, texts)
    rates = {rate.judge: (rate.agreed, rate.checked) for rate in read_agreement(people, texts, verdicts, suite)}
    assert rates == {"human:review": (8, 8), "fake:scripted=model.json": (7, 8)}
    with pytest.raises(SnellenError, match="no judge judged"):
        list(read_agreement(people, texts, {}, suite))


def test_replies_without_a_decision_of_people_are_not_judged(run_root: Path, tmp_path: Path) -> None:
    _, items, suite = open_run_items(run_root)
    texts = judgement_items(read_responses(run_root), items, suite)
    assert write_sample_items(tmp_path / "queue", texts, {}, 1, 0, items.media) == 2, "one of each subject"
    queue = read_itemset(tmp_path / "queue")
    people = reviewed_by(queue, {"ann": {item.item_id: ("0", "") for item in queue.items}}, tmp_path / "people")
    done = judge(run_root, people_as_judge(people), show_progress=False)
    assert (done.texts, done.failed) == (8, 6)
    assert values(run_root)["value"].notna().sum() == 2


def test_a_run_without_anything_to_judge_is_reported(items: ItemSet, tmp_path: Path) -> None:
    run(items, ["encoder:colour-histogram"], tmp_path / "run", show_progress=False)
    with pytest.raises(SnellenError, match="no response is scored by a judge"):
        judge(tmp_path / "run", "fake:chance", show_progress=False)
