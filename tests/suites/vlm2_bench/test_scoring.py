"""From replies to scores under `strict`, `published` and `vlmevalkit`, compared with values computed by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.results import results
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option, ReplySpec
from snellen.core.response import Response, Status
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.presentation.controls import Lettered
from snellen.runs.scores.score import score
from snellen.scoring.metrics import acc_num
from snellen.suites.vlm2_bench.scoring import (
    judgement,
    kit_acc_num,
    read_bare_truth,
    read_first_score,
    read_last_score,
    read_letter_before_bracket,
    read_one_number,
    read_one_truth,
)
from snellen.suites.vlm2_bench.tasks import protocols
from tests.helpers.journey import suite_of, task

FREE = ReplySpec("text")
LETTERS = ReplySpec("choice", (("A", "1+3"), ("1 and 3", "1+3"), ("B", "none"), ("None", "none"), ("C", "2+3")))


@pytest.mark.parametrize(
    ("text", "bare", "only"),
    [
        ("T", "true", "true"), (" F\n", "false", "false"), ("t", None, "true"), ("T.", None, "true"),
        ("True", None, "true"), ("The answer is F.", None, "false"), ("T or F? T", None, None),
        ("True, since they are the same (T).", None, None), ("Not sure", None, None), ("", None, None),
    ],
)  # fmt: skip
def test_truths_are_read_as_by_the_scripts(text: str, bare: str | None, only: str | None) -> None:
    assert (read_bare_truth(text, FREE), read_one_truth(text, FREE)) == (bare, only)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2), ("There are 3 cups.", 3), ("-1", 1), ("1.5", None), ("2 (two)", None), ("one two", 3),
        ("Twenty-one", 21), ("one hundred and five", 105), ("hundred", 100), ("two thousand", 2000), ("zero", None),
        ("0", 0), ("nobody", None), ("9" * 5000, 10**9),
    ],
)  # fmt: skip
def test_numbers_are_read_as_by_the_scripts(text: str, number: int | None) -> None:
    assert read_one_number(text, FREE) == number


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("A) 1 and 3", "1+3"), ("A", "1+3"), ("B)", "none"), (" C ) 2 and 3", "2+3"), ("(A) 1 and 3", None),
        ("a) 1 and 3", None), ("1 and 3", None), ("The answer is A)", None), ("D) 1 and 2", None),
        ("A) 1 and 3, (B) or (C)", None),
    ],
)  # fmt: skip
def test_letters_are_read_as_by_the_scripts(text: str, key: str | None) -> None:
    assert read_letter_before_bracket(text, LETTERS) == key


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Score: 1", 1, 1), ("Score:2\nBecause both are named.", 2, 2),
        ('I would return "Score: 0" if not. Score: 2', 0, 2), ("**Score:** 1", None, 1),
        ("<think>Score: 2?</think>Score: 0", 2, 0), ("Score: 7", 7, None), ("Score: 2 ... Score: 1.5", 2, None),
        ("1", None, 1), ("There are 2 people.", None, None), ("", None, None),
    ],
)  # fmt: skip
def test_verdicts(text: str, first: int | None, last: int | None) -> None:
    spec = ReplySpec("integer", tuple((str(n), str(n)) for n in range(3)))
    assert (read_first_score(text, spec), read_last_score(text, spec)) == (first, last)


def test_vlmevalkit_gives_points_for_impossible_counts() -> None:
    # 1 - (1/3)^.1 = .104042 for an error of 1 of at most 3, 1 - (2/3)^.1 = .039735 for 2; 1 - (1/2)^.1 = .066967.
    assert [kit_acc_num(1, count, 4) for count in range(5)] == pytest.approx(
        [0.104042, 1, 0.104042, 0.039735, 0], abs=1e-6
    )
    assert kit_acc_num(4, 5, 4) == pytest.approx(0.104042, abs=1e-6)
    assert kit_acc_num(2, 3, 4) == pytest.approx(0.066967, abs=1e-6)
    assert [acc_num(1, 0, 4), acc_num(4, 5, 4)] == [0, 0]
    possible = [(n, answer, count) for n in (2, 3, 4) for answer in range(1, n + 1) for count in range(1, n + 1)]
    assert [kit_acc_num(a, s, n) for n, a, s in possible] == [acc_num(a, s, n) for n, a, s in possible]
    assert kit_acc_num(1, 10**9, 4) == 0


# From replies to the results of a task


def images(count: int) -> tuple[Media, ...]:
    return tuple(Media(f"{n:064x}", "image", "png", 8, 6) for n in range(count))


def make_item(name: str, item_id: str, answer: Any, **fields: Any) -> Item:
    kind = {"cnt": "integer", "grp": "choice", "vid": "description"}.get(name[3:], "true_false")
    fields = {"query": images(2), "group_id": item_id, "stimulus_id": item_id, **fields}
    fields = {"cluster_id": fields["group_id"], **fields}
    return Item(item_id, "hard", name, "?", answer=answer, answer_kind=kind, **fields)  # type: ignore[arg-type]


def response_to(item: Item, text: str | None, status: Status = "ok") -> Response:
    view = item.view()
    if item.answer_kind == "choice":
        view = Lettered()(view, MediaFolder(Path()), np.random.default_rng(0))
    return Response(
        f"reply-{item.item_id}", "own:x", "f", item.item_id, item.task, "vanilla", 0, status, text, "", view.reply, ()
    )


def table(root: Path, items: Sequence[Item], responses: Sequence[Response], verdicts: Any = None) -> pd.DataFrame:
    """The results, indexed by protocol and metric."""
    built: ItemSet = write_itemset(root, items, source="released", recipe={})
    name = items[0].task
    suite = suite_of(tasks=[task(id=name, kind=items[0].answer_kind, protocols=protocols(name))])
    tables = [
        results(score(responses, built, suite, protocol, verdicts), built, suite, []) for protocol in protocols(name)
    ]
    return pd.concat(tables).set_index(["protocol", "metric"])


def column(rows: pd.DataFrame, name: str, metric: str) -> list[float]:
    return [float(rows.loc[(protocol, metric), name]) for protocol in dict.fromkeys(rows.index.get_level_values(0))]


def test_pairs_of_cues_and_a_group_of_four(tmp_path: Path) -> None:
    lines = [
        ("7", "true", "T"), ("7", "false", "F"), ("7", "true", "I cannot tell"), ("7", "false", "F"),
        ("8", "true", "The answer is T."), ("8", "false", "The answer is F. (T would be wrong.)"),
        ("9", "true", "True"), ("9", "false", "False"),
    ]  # fmt: skip
    items = [make_item("gc-mat", f"{n:02}", truth, group_id=group) for n, (group, truth, _) in enumerate(lines)]
    rows = table(tmp_path, items, [response_to(item, text) for item, (*_, text) in zip(items, lines, strict=True)])
    # strict: all of 7, 8, 9 -> 0 (one unreadable), 1, 1. published: any T and any F of 7; 8 and 9 are not bare.
    # vlmevalkit: 7 has an unreadable one, 8 names T and F in one reply, 9 is right.
    assert column(rows, "value", "pair_accuracy") == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert column(rows, "n", "pair_accuracy") == [3, 3, 3]
    assert column(rows, "value", "accuracy") == pytest.approx([7 / 8, 3 / 8, 6 / 8])
    # Guessing: all four of 7 come right in 1/16, one of two T and one of two F in (3/4)^2; a plain pair in 1/4.
    assert column(rows, "chance", "pair_accuracy") == pytest.approx([3 / 16, (9 / 16 + 2 / 4) / 3, 3 / 16])
    assert column(rows, "no_answer_rate", "accuracy") == pytest.approx([1 / 8, 5 / 8, 2 / 8])


def test_pairs_of_comparisons_with_an_incomplete_and_a_double_one(tmp_path: Path) -> None:
    lines = [
        ("3", "p", "true", "T"), ("3", "n", "false", "false"),
        ("4", "p", "false", "F"), ("4", "n", "true", "True. The statement is true."),
        ("5", "p", "true", "T"),
        ("6", "p", "true", "F"), ("6", "n", "false", "T"), ("6", "p", "true", "T"), ("6", "n", "false", "F"),
    ]  # fmt: skip
    items = [
        make_item("oc-cpr", f"{n:02}-{mark}", truth, group_id=group) for n, (group, mark, truth, _) in enumerate(lines)
    ]
    rows = table(tmp_path, items, [response_to(item, text) for item, (*_, text) in zip(items, lines, strict=True)])
    # 4 says true twice, which the scripts do not read. 5 has one statement: right, no pair, or a pair never right.
    # Of 6 the authors' script keeps the last statement of each kind, which are right; the first ones are wrong.
    assert column(rows, "value", "pair_accuracy") == pytest.approx([3 / 4, 2 / 3, 1 / 4])
    assert column(rows, "n", "pair_accuracy") == [4, 3, 4]
    chances = [(1 / 4 + 1 / 4 + 1 / 2 + 1 / 16) / 4, 1 / 4, (1 / 4 + 1 / 4 + 1 / 16) / 4]
    assert column(rows, "chance", "pair_accuracy") == pytest.approx(chances)


def test_a_failed_call_is_not_a_wrong_answer(tmp_path: Path) -> None:
    items = [
        make_item("gc-mat", f"{n}-{'pn'[n % 2]}", ("true", "false")[n % 2], group_id=str(n // 2)) for n in range(4)
    ]
    responses = [
        response_to(items[0], "T"),
        response_to(items[1], None, "failed"),
        response_to(items[2], "T"),
        response_to(items[3], "F"),
    ]
    rows = table(tmp_path, items, responses)
    assert column(rows, "n", "pair_accuracy") == [1, 1, 1]
    assert column(rows, "value", "pair_accuracy") == [1, 1, 1]
    compared = [Item(**{**vars(item), "task": "pc-cpr"}) for item in items]
    rows = table(tmp_path, compared, [replace(response, task="pc-cpr") for response in responses])
    assert column(rows, "n", "pair_accuracy") == [1, 1, 1]


def test_counts(tmp_path: Path) -> None:
    lines = [(2, 1, "1"), (4, 1, "0"), (4, 4, "2 (two)"), (3, 3, "two"), (2, 2, "many")]
    items = [
        make_item("pc-cnt", str(n), count, query=images(length), options=tuple(map(Option, "1234"[:length])))
        for n, (length, count, _) in enumerate(lines)
    ]
    rows = table(tmp_path, items, [response_to(item, text) for item, (*_, text) in zip(items, lines, strict=True)])
    # L=2: right. L=4, 0 for 1: impossible; the kit counts an error of 1, 1 - (1/3)^.1 = .104042. L=4, 2 for 4:
    # 1 - (2/3)^.1 = .039735, but two numbers to the scripts. L=3, 2 for 3: 1 - 4/3 (1/2)^.1 < 0. The last one cannot be
    # read. strict and vlmevalkit average over five, published over the two that it can place (1 and 0).
    assert column(rows, "value", "acc_num") == pytest.approx([1.039735 / 5, 1 / 2, 1.104042 / 5], abs=1e-6)
    assert column(rows, "n", "acc_num") == [5, 2, 5]
    assert column(rows, "value", "accuracy") == pytest.approx([1 / 5, 1 / 5, 1 / 5])
    assert column(rows, "n", "accuracy") == [5, 5, 5]
    assert column(rows, "no_answer_rate", "acc_num") == pytest.approx([1 / 5, 2 / 5, 2 / 5])
    # E(2) twice, E(3), E(4) twice; published keeps one of two images and the one of three.
    overall = (2 / 2 + 1 / 3 + 2 * 0.284714) / 5
    assert column(rows, "chance", "acc_num") == pytest.approx([overall, (1 / 2 + 1 / 3) / 2, overall], abs=1e-6)
    assert column(rows, "chance", "accuracy") == pytest.approx([(1 / 2 + 1 / 4 + 1 / 4 + 1 / 3 + 1 / 2) / 5] * 3)


def test_groups(tmp_path: Path) -> None:
    texts = {"1+3": "1 and 3", "none": "None", "2+3": "2 and 3", "1+2": "1 and 2"}
    options = tuple(Option(key, text) for key, text in texts.items())
    lines = [("1+3", "A) 1 and 3"), ("none", "The answer is B)"), ("2+3", "(C) 2 and 3"), ("1+2", "A")]
    items = [make_item("oc-grp", str(n), key, options=options, query=images(3)) for n, (key, _) in enumerate(lines)]
    rows = table(tmp_path, items, [response_to(item, text) for item, (_, text) in zip(items, lines, strict=True)])
    assert column(rows, "value", "accuracy") == [3 / 4, 1 / 4, 1 / 4]
    assert column(rows, "chance", "accuracy") == [1 / 4] * 3


def film(n: int, pattern: str) -> Item:
    return make_item("pc-vid", f"{n:03}", "", group_id=f"{n:03}-{pattern}", factors={"pattern": pattern}, query=())


def judged(items: Sequence[Item], verdicts: Sequence[str | None]) -> tuple[list[Response], dict[str, Response]]:
    """Descriptions and the verdicts of a judge by response; None leaves the description empty."""
    responses = [
        response_to(item, "somebody" if verdict is not None else "")
        for item, verdict in zip(items, verdicts, strict=True)
    ]
    judgements = [
        (response, judgement(item, response), text)
        for item, response, text in zip(items, responses, verdicts, strict=True)
    ]
    return responses, {
        response.response_id: response_to(judge_item, text)
        for response, judge_item, text in judgements
        if text is not None
    }


def test_descriptions_are_judged_and_both_patterns_count_equally(tmp_path: Path) -> None:
    items = [film(n, pattern) for n, pattern in enumerate(["PQ", "PQ", "PQP", "PQP", "PQP"])]
    responses, verdicts = judged(items, ["Score: 1", "no idea", "Score: 2", 'not "Score: 0". Score: 1', None])
    rows = table(tmp_path, items, responses, verdicts)
    # strict: PQ (1 + 0) / 2, PQP (2 + 1 + 0) / 6, unreadable verdict and empty description at 0 -> 1/2.
    # published: PQ 1 / 1, PQP (2 + 0) / 4, both left out -> 3/4, where the plain mean would be (1 + 1 + 0) / 3.
    assert column(rows, "value", "judge_score") == pytest.approx([1 / 2, 3 / 4])
    assert column(rows, "n", "judge_score") == [5, 3]
    assert column(rows, "no_answer_rate", "judge_score") == pytest.approx([2 / 5, 2 / 5])


def test_a_hundred_videos_per_pattern_give_the_printed_scores(tmp_path: Path) -> None:
    items = [film(n, "PQ" if n < 100 else "PQP") for n in range(200)]

    def score_of(two: int, three: int) -> float:
        """The score of `two` points over the videos of two parts and `three` over those of three."""
        points = [int(n < two) for n in range(100)] + [min(2, max(0, three - 2 * n)) for n in range(100)]
        rows = table(tmp_path / f"{two}-{three}", items, *judged(items, [f"Score: {n}" for n in points]))
        return column(rows, "value", "judge_score")[1]

    assert score_of(70, 127) == pytest.approx(0.6675), "(70/100 + 127/200) / 2, as GPT-4o in Table 1"
    assert score_of(5, 5) == pytest.approx(0.0375), "LongVA: steps are 1/400"


def test_the_judge_gets_only_text() -> None:
    item = film(0, "PQP")
    judge_item = judgement(item, response_to(item, "first {Ann}, then Bob"))
    assert (judge_item.item_id, judge_item.suite, judge_item.task, judge_item.version) == (
        "reply-000",
        "curation-steps",
        "judgement",
        "1",
    )
    assert judge_item.query == ()
    assert judge_item.view().reply.offered == ("0", "1", "2")
    assert judge_item.question.endswith("#Description\nfirst {Ann}, then Bob")
    assert "PQP pattern" in judge_item.question
    assert judgement(film(1, "PQ"), response_to(item, "x")).view().reply.offered == ("0", "1")


def test_published_pairs_have_the_printed_denominators() -> None:
    # 260 pairs under 259 ids, 93 of them right: 35.91 in Table 1.
    ids = [str(n) for n in range(259)] + ["0"]
    rows = [
        {"group_id": name, "cluster_id": name, "item_id": f"{n}", "truth": truth, "chance": 0.5,
         "value": float(int(name) < 93), "metric": "pair_accuracy"}
        for n, name in enumerate(ids) for truth in ('"true"', '"false"')
    ]  # fmt: skip
    units = protocols("gc-mat")["published"].units(pd.DataFrame(rows))
    assert len(units) == 259
    assert round(100 * units["value"].mean(), 2) == 35.91
    assert units.index.name == "group_id"


@pytest.mark.parametrize(("values", "is_right"), [((1, 1, 0, 1), 0), ((1, 1, 1, 0), 0), ((0, 0, 1, 1), 1)])
def test_of_a_published_comparison_with_a_repeated_id_the_last_statements_count(
    values: tuple[int, ...], is_right: int
) -> None:
    rows = [
        {"group_id": "7", "cluster_id": "7", "item_id": f"{n // 2}-{'pn'[n % 2]}", "chance": 0.5,
         "value": float(value), "metric": "pair_accuracy"}
        for n, value in enumerate(values)
    ]  # fmt: skip
    units = protocols("oc-cpr")["published"].units(pd.DataFrame(rows))
    assert (list(units["value"]), list(units["chance"])) == ([is_right], [1 / 4])


def test_every_task_has_its_protocols() -> None:
    assert set(protocols("oc-cnt")) == {"strict", "published", "vlmevalkit"}
    assert set(protocols("oc-vid")) == {"strict", "published"}
    assert math.isnan(protocols("oc-cnt")["published"].metrics[0].worst)
    with pytest.raises(SnellenError, match="no task 'vid'"):
        protocols("vid")
