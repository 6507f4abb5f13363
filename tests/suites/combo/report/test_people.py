"""Report sections from people's votes and manual scores: planted answers, computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.analysis.tables.cells import percent_interval, share_cell
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.run_tables import read_responses
from snellen.exam.items import build
from snellen.exam.judge import judge
from snellen.exam.run import run
from snellen.reports.loading import load_run, registered, with_inputs
from snellen.runs.scores.judgements import (
    judgement_items,
    people_as_judge,
    read_agreement,
    read_verdicts,
    write_sample_items,
)
from snellen.runs.scores.score import read_scores
from snellen.runs.sets.gate import open_run_items
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo import SUITE
from snellen.suites.combo.report.people import people_sections
from snellen.web.reviewing import decide_review
from tests.helpers.reviewers import Entries, reviewed_by


@pytest.fixture(scope="module")
def examined(toy: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a subject that always replies with the same chain of thought."""
    root = tmp_path_factory.mktemp("examined") / "run"
    subjects = ["fake:constant=All are red. Answer: A"]
    return run(toy, subjects, root, conditions=["method=cot"], show_progress=False).root


def ask(toy: ItemSet, step: str, out: Path, **fields: int) -> ItemSet:
    return build(SUITE, "curated", BuildOptions(out, tasks=(step,), sources={"items": toy.root}, **fields))  # type: ignore[arg-type]


def section(root: Path, **inputs: Path) -> list[dict[str, Any]]:
    (loaded,) = with_inputs(
        [load_run(root, registered)], {name.replace("_", "-"): path for name, path in inputs.items()}
    )
    (only,) = people_sections(loaded)
    return list(only.table.to_dict("records"))


def test_comparisons_are_reported_with_their_agreement_with_the_distance(
    toy: ItemSet, examined: Path, tmp_path: Path
) -> None:
    itemset = ask(toy, "pair-comparisons", tmp_path / "set", n=10)
    closer = {
        item.item_id: "first" if item.measures["first"] < item.measures["second"] else "second"
        for item in itemset.items
    }
    other = {"first": "second", "second": "first"}
    agrees: Entries = {name: (side, "") for name, side in closer.items()}
    last = itemset.items[-1].item_id
    tie: Entries = {**agrees, last: (other[closer[last]], "")}
    people = reviewed_by(itemset, {"ann": agrees, "bob": tie, "cem": tie, "dan": agrees}, tmp_path / "people")
    (row,) = section(examined, pair_comparisons=people)
    # Nine comparisons of which all agree, and one tie: 9.5 of 10; 38 of 40 votes.
    assert (row["people"], row["comparisons"], row["ties"]) == (4, 10, 1)
    assert row["by majority"].startswith("95 [")
    assert row["by vote"].startswith("95 [")


def test_votes_about_another_set_are_refused(toy: ItemSet, examined: Path, tmp_path: Path) -> None:
    itemset = ask(toy, "natural-votes", tmp_path / "set")
    others = BuildOptions(
        tmp_path / "x", n=4, tasks=("category-building",), quick=True, renderer="blank", show_progress=False
    )
    strange = build(SUITE, "generated", others)
    about_strange = ask(strange, "pair-comparisons", tmp_path / "y")
    people = reviewed_by(about_strange, {"ann": {}}, tmp_path / "people")
    with pytest.raises(SnellenError, match="has no pair-comparisons for it; build it with `snellen build combo/pair"):
        section(examined, pair_comparisons=people)
    names = {item.item_id: (item.options[0].key, "") for item in itemset.items}
    del names[itemset.items[0].item_id]
    votes = reviewed_by(itemset, {"ann": names}, tmp_path / "votes")
    rows = {row["category"]: row for row in section(examined, natural_votes=votes)}
    assert rows["(all)"]["fits"].startswith("100"), "one person says that every name fits"


def test_votes_by_category(toy: ItemSet, examined: Path, tmp_path: Path) -> None:
    itemset = ask(toy, "natural-votes", tmp_path / "set")
    category = itemset.items[0].provenance["category"]
    wrong = next(option.key for option in itemset.items[0].options if option.key != category)

    def entry(named: bool, fits: bool) -> Entries:
        return {
            item.item_id: (
                (item.provenance["category"] if named or item.provenance["category"] != category else wrong)
                if item.item_id.startswith("name-")
                else ("fits" if fits or item.provenance["category"] != category else "does not fit"),
                "",
            )
            for item in itemset.items
        }

    people = {
        "ann": entry(True, True),
        "bob": entry(False, True),
        "cem": entry(False, False),
        "dan": entry(False, True),
    }
    votes = reviewed_by(itemset, people, tmp_path / "votes")
    rows = {row["category"]: row for row in section(examined, natural_votes=votes)}
    row = rows[category]
    assert row["people"] == 4
    assert row["named so"].startswith("25")
    assert row["fits"].startswith("75")
    assert row["taken for"] == f"{wrong} ({3 * row['images']})"
    other = next(row for name, row in rows.items() if name not in (category, "(all)"))
    assert other["taken for"] == ""


def test_chains_of_thought_are_scored_by_two_people(toy: ItemSet, examined: Path, tmp_path: Path) -> None:
    _, items, suite = open_run_items(examined)
    responses = read_responses(examined)
    texts = judgement_items(responses, items, suite, "manual")
    assert len(texts) == 16
    count = write_sample_items(tmp_path / "queue", texts, {}, 400, 0, items.media)
    queue = read_itemset(tmp_path / "queue")
    assert count == len(queue.items) == 16
    first = queue.items[0]
    assert "All are red. Answer: A" in first.question
    assert f"The correct answer is {toy.by_id[responses_item(responses, first.item_id)].answer}." in first.question
    assert [len(demo.media) for demo in first.support] == [4, 4], "examples and test object are shown"
    assert len(first.query) == 1
    # Four replies without a mistake, four with a wrong rule, eight with a wrong perception.
    mistakes = ["none"] * 4 + ["rule"] * 4 + ["perception"] * 8
    ann = {item.item_id: (mistake, "") for item, mistake in zip(queue.items, mistakes, strict=True)}
    people = reviewed_by(queue, {"ann": ann, "bob": ann}, tmp_path / "people")
    decide_review([people], tmp_path / "decisions.csv")
    done = judge(examined, people_as_judge(tmp_path / "decisions.csv"), protocol="manual", show_progress=False)
    assert (done.judge, done.texts, done.failed, done.unreadable) == ("human:review", 16, 0, 0)
    scores = read_scores(examined)["manual"]
    assert scores["value"].tolist().count(1.0) == 4
    by_response = {response.response_id: response.item_id for response in responses}
    clusters = [toy.by_id[by_response[item.item_id]].cluster_id for item in queue.items]
    (row,) = section(examined)
    assert (row["replies"], row["scored by"]) == (16, "human:review")
    for name, word in (("no mistake", "none"), ("rule", "rule"), ("perception", "perception"), ("format", "format")):
        assert row[name] == share_cell([float(mistake == word) for mistake in mistakes], clusters)
    # A separate reader: `strict` is scored as before.
    assert set(read_scores(examined)) == {"strict", "manual"}


def responses_item(responses: list[Response], response_id: str) -> str:
    return next(response.item_id for response in responses if response.response_id == response_id)


def test_a_model_s_scores_are_compared_with_people(toy: ItemSet, tmp_path: Path) -> None:
    root = tmp_path / "run"
    run(toy, ["fake:constant=All are red. Answer: A"], root, conditions=["method=cot"], show_progress=False)
    judge(root, "fake:constant=rule", protocol="manual", show_progress=False)
    _, items, suite = open_run_items(root)
    texts = judgement_items(read_responses(root), items, suite, "manual")
    verdicts = read_verdicts(root, texts)
    assert write_sample_items(tmp_path / "queue", texts, verdicts, 5, 0, items.media) == 5
    queue = read_itemset(tmp_path / "queue")
    entry = {item.item_id: ("rule" if n < 3 else "none", "") for n, item in enumerate(queue.items)}
    people = reviewed_by(queue, {"ann": entry, "bob": entry}, tmp_path / "people")
    decide_review([people], tmp_path / "d.csv")
    for path in (tmp_path / "d.csv", people):
        (rate,) = read_agreement(path, texts, verdicts, suite, "manual")
        assert (rate.judge, rate.agreed, rate.checked) == ("fake:constant=rule", 3, 5)
        assert (rate.low, rate.high) == wilson(3, 5)
    assert percent_interval(rate.share, rate.low, rate.high, 5).startswith("60")
