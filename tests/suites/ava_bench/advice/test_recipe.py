"""From a file of questions to a ranking for their task: reading, tagging, checking, weighting and refusals."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.section import ReportSection
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.queues import write_queue
from snellen.exam.run import run as ask
from snellen.suites import SUITES
from snellen.suites.ava_bench.advice.recipe import SHEET, Questions
from snellen.suites.ava_bench.advice.user_questions import read_rows, with_images
from snellen.web.reviewing import decide_review
from tests.helpers.reviewers import reviewed_by
from tests.suites.ava_bench.report.test_sections import report_of, right_on, row_of, run

TAGS: Mapping[str, tuple[str, ...] | str] = {
    "q0": ("ocr",),
    "q1": ("ocr", "colour"),
    "q2": ("counting",),
    "q3": (),
    "q4": "it needs eyes",
}
"""The replies about each question: ocr has 1 + 1/2 votes, counting 1, colour 1/2; the last reply cannot be read."""
CHECKS = {"q0": "drop", "q1": "keep", "q2": "Keep.", "q3": "who knows"}


def write_questions(root: Path) -> Path:
    """Write five questions; the first two are about one image in a folder next to the file."""
    (root / "seen").mkdir(parents=True)
    Image.new("RGB", (6, 4), (200, 30, 30)).save(root / "seen" / "sign.png")
    path = root / "questions.csv"
    with path.open("w", encoding="utf-8", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["question_id", "question", "image", "split"])
        for n, question in enumerate(("What is written there?", "In red, what?", "How many?", "Who?", "Is it {true}?")):
            rows.writerow([f"q{n}", question, "seen/sign.png" if n < 2 else "", "mine"])
    return path


def build(root: Path, step: str, questions: Path, **fields: Any) -> ItemSet:
    return Questions().build(BuildOptions(root, tasks=(step,), sources={"questions": questions}, **fields))


def answered(items: ItemSet, texts: Mapping[str, str], root: Path, name: str) -> Path:
    """A run on the items by a subject with these replies."""
    script = root / f"{name}.json"
    script.write_text(json.dumps(texts))
    ask(items, [f"fake:scripted={script}"], root / name, show_progress=False)
    return root / name


def tag_run(root: Path, questions: Path, tags: Mapping[str, tuple[str, ...] | str] = TAGS) -> Path:
    texts = {name: text if isinstance(text, str) else json.dumps({"abilities": text}) for name, text in tags.items()}
    return answered(build(root / "work", "tagging", questions), texts, root, "tagger")


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_questions(tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module")
def tags(questions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tag_run(tmp_path_factory.mktemp("tags"), questions)


@pytest.fixture(scope="module")
def checks(questions: Path, tags: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checks")
    return answered(build(root / "work", "tag-check", questions, inputs={"tags": tags}), CHECKS, root, "checker")


# Files of questions


def test_csv_and_json_give_the_same_questions(questions: Path, tmp_path: Path) -> None:
    rows = [
        {"question_id": "q0", "text": "What is written there?", "image": "seen/sign.png"},
        {"question_id": 7, "question": " How many? ", "image": None},
    ]
    path = questions.parent / "questions.json"
    path.write_text(json.dumps(rows))
    media = MediaFolder(tmp_path)
    (by_csv, *_), (by_json, other) = (with_images(read_rows(file), media) for file in (questions, path))
    assert by_csv == by_json
    assert (by_json.question, by_json.images[0].width) == ("What is written there?", 6)
    assert (other.question_id, other.question, other.images) == ("7", "How many?", ())


HEAD = "question_id,question,image\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", HEAD, r"a\.csv: no questions"),
        ("a.csv", "id,question\n1,What?\n", r"a\.csv line 2: no question_id"),
        ("a.csv", "question_id,asked\n1,What?\n", r"a\.csv line 2: no question;"),
        ("a.csv", HEAD + "1,What?,\n2,,\n", r"a\.csv line 3: no question;"),
        ("a.csv", HEAD + '1,"What\nnow?",\n1,How?,\n', r"a\.csv line 4: question_id '1' is also in .*a\.csv line 3;"),
        ("a.csv", HEAD + "1,Is it red, or green?,,\n", r"a\.csv line 2: more cells than columns"),
        ("a.csv", HEAD + "1,What?,\n2,What?,none.png\n", r"a\.csv line 3: .*none\.png: not a readable image"),
        ("a.csv", HEAD + "1,What?,torn.png\n", r"a\.csv line 2: .*torn\.png: a damaged image"),
        ("a.csv", HEAD + "1,What?,a.csv\n", r"a\.csv line 2: .*a\.csv: not a readable image"),
        ("a.json", "[", r"a\.json: not JSON"),
        ("a.json", '{"question_id": 1}', r"a\.json: not a JSON list"),
        ("a.json", "[]", r"a\.json: no questions"),
        ("a.json", '[{"question_id": 1, "text": "What?"}, 2]', r"a\.json entry 2: not a JSON object"),
        ("a.json", '[{"question_id": true, "text": "What?"}]', r"a\.json entry 1: no question_id"),
        (
            "a.json",
            '[{"question_id": 1, "text": "What?", "image": ["b.png"]}]',
            r"entry 1: image .* not a path",
        ),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_row(name: str, text: str, message: str, tmp_path: Path) -> None:
    noise = Image.effect_noise((64, 64), 90)
    noise.save(tmp_path / "whole.png")
    raw = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "torn.png").write_bytes(raw[: len(raw) // 2])
    (tmp_path / name).write_text(text)
    with pytest.raises(SnellenError, match=message):
        with_images(read_rows(tmp_path / name), MediaFolder(tmp_path / "media"))


# Work


def test_every_question_is_an_item_of_work_with_its_id(tags: Path) -> None:
    items = read_itemset(tags.parent / "work")
    assert [item.item_id for item in items.items] == ["q0", "q1", "q2", "q3", "q4"]
    assert (items.card.suite, items.card.recipe["step"]) == ("curation-steps", "tagging")
    first, second, third, *_ = items.items
    assert first.query == second.query != third.query == ()
    with items.media.open(first.query[0]) as opened:
        assert opened.size == (6, 4)
    assert "Is it {true}?" in items.items[4].question


def test_a_spot_check_asks_about_tagged_questions(questions: Path, tags: Path, tmp_path: Path) -> None:
    items = build(tmp_path / "check", "tag-check", questions, inputs={"tags": tags})
    assert [item.item_id for item in items.items] == ["q0", "q1", "q2", "q3"]
    assert "exactly these visual abilities: colour, ocr." in items.items[1].question
    assert items.card.provenance["construction_subjects"] == ["fake:scripted=tagger.json"]
    rows = pd.read_csv(items.root / SHEET, keep_default_na=False).set_index("item_id")
    assert list(rows["decision"]) == [""] * 4
    assert list(rows["tags"]) == ["ocr", "colour, ocr", "counting", "none"]
    two = build(tmp_path / "two", "tag-check", questions, inputs={"tags": tags}, n=2, seed=3)
    assert len(two.items) == 2
    stored = {path.stem for path in two.media.root.glob("??/*")}
    assert stored == {media.sha256 for item in two.items for media in item.media()}


def test_plans_count_items(questions: Path, tags: Path, tmp_path: Path) -> None:
    def planned(step: str, **fields: Any) -> Any:
        options = BuildOptions(tmp_path / "x", tasks=(step,), sources={"questions": questions}, **fields)
        return Questions().plan(options)["items"]

    assert planned("tagging") == {"tagging": 5}
    assert planned("tag-check", inputs={"tags": tags}) == {"tag-check": 4}
    assert planned("tag-check", inputs={"tags": tags}, n=3) == {"tag-check": 3}
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("step", "fields", "message"),
    [
        ("tagging", {"n": 3}, "--n 3: all questions are tagged"),
        ("tagging", {"inputs": {"tags": Path("x")}}, "does not use --input 'tags'"),
        ("tag-check", {}, "--input tags=TAGS is missing; build the work with `snellen build ava-bench/tagging"),
        ("tag-check", {"n": 0, "inputs": {"tags": Path("x")}}, "--n 0: checks nothing"),
        ("tag-chek", {}, "did you mean 'tag-check'"),
    ],
)
def test_steps_refuse_other_options(
    step: str, fields: dict[str, Any], message: str, questions: Path, tmp_path: Path
) -> None:
    with pytest.raises(SnellenError, match=message):
        build(tmp_path / "x", step, questions, **fields)
    assert not (tmp_path / "x").exists()


def test_tags_of_other_questions_are_refused(questions: Path, tags: Path, checks: Path, tmp_path: Path) -> None:
    changed = write_questions(tmp_path)
    changed.write_text(changed.read_text().replace("How many?", "How few?"))
    with pytest.raises(SnellenError, match="question 'q2' differs from the file of questions"):
        build(tmp_path / "check", "tag-check", changed, inputs={"tags": tags})
    with pytest.raises(SnellenError, match="contains no question tags"):
        build(tmp_path / "check", "tag-check", questions, inputs={"tags": checks})
    unread = tag_run(tmp_path / "mute", questions, dict.fromkeys(TAGS, "hm"))
    with pytest.raises(SnellenError, match="no question has readable tags"):
        build(tmp_path / "check", "tag-check", questions, inputs={"tags": unread})


# The ranking


def only(*tasks: str) -> Callable[[Item], str]:
    """Replies that are right in these tasks."""
    return lambda item: str(right_on(*(range(4) if item.task in tasks else ()))(item))


def report_with(**inputs: Path) -> dict[str, ReportSection]:
    """The report of two subjects, one of which reads and the other counts, in a run without colours."""
    counts_and_reads = run(
        {("reads", ""): only("ocr"), ("counts", ""): only("counting"), ("fake:oracle", ""): right_on(0)}
    )
    return report_of(replace(counts_and_reads, inputs={name.replace("_", "-"): path for name, path in inputs.items()}))


def test_a_report_without_tags_has_no_task_ranking() -> None:
    assert not {"task-ranking", "task-needs"} & set(report_with())


def test_the_ranking_follows_the_tags(tags: Path) -> None:
    report = report_with(tags=tags)
    # Votes of 3: ocr 1.5, counting 1, colour 0.5, which no subject was asked; so 0.6 and 0.4 remain.
    needs = report["task-needs"]
    assert needs.table.to_numpy().tolist() == [
        ["ocr", "2", "50.0", "60.0"],
        ["counting", "1", "33.3", "40.0"],
        ["colour", "1", "16.7", "–"],
    ]
    ranking = report["task-ranking"]
    assert next(iter(report)) == "task-ranking"
    # First in one and second in the other: 0.6 + 2 * 0.4 = 1.4 and 2 * 0.6 + 0.4 = 1.6.
    assert list(ranking.table["subject"]) == ["reads", "counts"]
    assert [cell.split(" ")[0] for cell in ranking.table["weighted average rank"]] == ["1.40", "1.60"]
    # Of the 27 resamples of q0, q1 and q2, 17 have more votes for ocr, 7 for counting, and 3 are even: 18.5 / 27.
    firsts = [int(cell) for cell in ranking.table["first in % of draws"]]
    assert sum(firsts) == 100
    assert firsts[0] == pytest.approx(68.5, abs=4)
    assert "Left out, since the subjects were not asked: colour, 17 % of the total weight." in ranking.note
    for section in (ranking, needs):
        assert "Tags by fake:scripted=tagger.json: 4 of 5 questions have readable tags" in section.note
        assert "1 of them needing none of the fourteen abilities; 1 unread." in section.note
        assert "The tags were not checked" in section.note


def write_checks(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["item_id,decision,author,reason", *rows]))
    return path


def test_a_dropped_tag_changes_the_ranking(tags: Path, checks: Path, tmp_path: Path) -> None:
    people = write_checks(tmp_path / "a.csv", "q0,drop,ann,", "q1,keep,ann,", "q2,KEEP ,bob,clear", "q3,,,")
    for check, author in ((checks, "fake:scripted=checker.json"), (people, "ann, bob")):
        report = report_with(tags=tags, tag_check=check)
        # Without q0 there are 2 votes: counting 1, ocr and colour 1/2 each; so 2/3 and 1/3 remain.
        assert row_of(report["task-needs"], "ocr", "ability") == {
            "ability": "ocr", "questions": "1", "weight in %": "25.0", "in the ranking in %": "33.3",
        }  # fmt: skip
        assert row_of(report["task-ranking"], "counts")["weighted average rank"].startswith("1.33 ")
        assert list(report["task-ranking"].table["subject"]) == ["counts", "reads"]
        # Wilson's interval of 2 of 3.
        sentence = f"Spot check by {author}: tags of 3 questions, 66.7 % kept [20.8, 93.9]; 1 without a decision;"
        assert sentence in report["task-ranking"].note


def test_two_people_check_tags(questions: Path, tags: Path, tmp_path: Path) -> None:
    queue = write_queue(
        "tag-check", build(tmp_path / "s", "tag-check", questions, inputs={"tags": tags}), tmp_path / "q"
    )
    entry = {item.item_id: ("drop" if item.item_id == "q0" else "keep", "") for item in queue.items}
    people = reviewed_by(queue, {"ann": entry, "bob": entry}, tmp_path / "people")
    decide_review([people], tmp_path / "decisions.csv")
    for check in (people, tmp_path / "decisions.csv"):
        note = report_with(tags=tags, tag_check=check)["task-ranking"].note
        assert f"Spot check by human:review/ann, human:review/bob: tags of {len(entry)} questions, 75.0 % kept" in note


def test_invalid_spot_checks_are_refused(questions: Path, tags: Path, checks: Path, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="q0: no decision 'maybe'; write keep or drop"):
        report_with(tags=tags, tag_check=write_checks(tmp_path / "a.csv", "q0,maybe,ann,"))
    with pytest.raises(SnellenError, match="item 'q9' is not in"):
        report_with(tags=tags, tag_check=write_checks(tmp_path / "b.csv", "q9,keep,ann,"))
    with pytest.raises(SnellenError, match="'q4': it has no tags"):
        report_with(tags=tags, tag_check=write_checks(tmp_path / "c.csv", "q4,keep,ann,"))
    with pytest.raises(SnellenError, match="give --input tags=TAGS too"):
        report_with(tag_check=checks)
    other = tag_run(tmp_path / "other", questions, {**TAGS, "q1": ("ocr",)})
    with pytest.raises(SnellenError, match="q1: no spot check of these tags"):
        report_with(tags=other, tag_check=checks)
    none = report_with(tags=tags, tag_check=write_checks(tmp_path / "d.csv", "q0,,,"))
    assert "The spot check has no decisions." in none["task-ranking"].note


def test_without_two_scored_subjects_there_are_only_weights(questions: Path, tmp_path: Path) -> None:
    tags = tag_run(tmp_path, questions, dict.fromkeys(TAGS, ("emotion",)))
    two_runs = replace(run({("a", ""): right_on(0), ("b", ""): right_on(1)}), inputs={"tags": tags})
    by_name = {section.name: section for section in SUITES.get("ava-bench").sections(two_runs)}  # type: ignore[misc]
    assert "No ranking: fewer than two subjects have scores in all of emotion." in by_name["task-ranking"].note
    assert by_name["task-needs"].table.to_numpy().tolist() == [["emotion", "5", "100.0", "–"]]


def test_subjects_without_scores_are_named(tags: Path) -> None:
    def no_numbers(item: Item) -> str | None:
        return None if item.task == "counting" else right_on(0)(item)

    examined = run({("a", ""): right_on(0), ("b", ""): right_on(1), ("c", ""): no_numbers})
    ranking = report_of(replace(examined, inputs={"tags": tags}))["task-ranking"]
    assert set(ranking.table["subject"]) == {"a", "b"}
    assert "and so not ranked: c." in ranking.note
