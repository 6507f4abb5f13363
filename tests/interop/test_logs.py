"""Logs of other tools: what is read, joined and refused, and what a comparison says."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import snellen
from snellen.analysis.comparison.log_changes import LogChanges, _read, log_changes, log_ranks
from snellen.analysis.comparison.logs import Join, Log, LogRow, _by_question, _images_agree, join
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.exam.examine import examine
from snellen.exam.run import run
from snellen.interop.log_files import read_log_files
from snellen.reports.changes_page import change_lines
from tests.helpers.logs import FORMS, LETTERS, LoggedAnswer, answers, json_lines, table
from tests.helpers.refusals import assert_refused
from tests.suites.questions import tables

VERDICT = [
    "before", "after", "difference", "low", "high", "n", "clusters", "p", "p_holm", "verdict", "detectable_drop",
]  # fmt: skip


def compared(first: Path | str, second: Path | str, *, read: bool = False) -> LogChanges:
    result = snellen.compare(first, second, read=read)
    assert isinstance(result, LogChanges)
    return result


def model(accuracy: float, seed: int, count: int = 120) -> list[LoggedAnswer]:
    rng = np.random.default_rng(seed)
    is_right = rng.random(count) < accuracy
    replies = [LETTERS[n % 4] if right else LETTERS[(n + 1) % 4] for n, right in enumerate(is_right)]
    return answers(replies, is_right.astype(float).tolist())


def log(scores: Iterable[float], name: str = "a", **changes: Any) -> Log:
    """A log in memory, one row per score."""
    return Log(name, [LogRow(f"q{n}", score=float(score), number=n, **changes) for n, score in enumerate(scores)])


def test_four_tools_give_one_verdict(tmp_path: Path) -> None:
    sides = {"first": model(0.8, 1), "second": model(0.6, 2)}
    paths = {form: [write(tmp_path / form, *side) for side in sides.items()] for form, write in FORMS.items()}
    tables = {form: compared(*pair).table[VERDICT] for form, pair in paths.items()}
    for form in FORMS:
        pd.testing.assert_frame_equal(tables[form], tables["VLMEvalKit"])
    assert tables["VLMEvalKit"]["verdict"].tolist() == ["dropped"]
    assert tables["VLMEvalKit"]["clusters"].tolist() == [60]  # two questions about each image
    for form, other in combinations(FORMS, 2):
        mixed = compared(paths[form][0], paths[other][1])
        pd.testing.assert_frame_equal(mixed.table[VERDICT], tables["VLMEvalKit"])
        assert mixed.joined.comparable == 120
        assert not mixed.joined.contradictions
        assert len(mixed.notes) == 2  # the join and the causes
        assert compared(paths[form][0], paths[other][0]).flips.empty


def test_rows_of_several_filters_are_refused_by_the_name_of_their_column(tmp_path: Path) -> None:
    rows = [
        {"doc_id": n, "filter": name, "resps": [["B."]], "target": "B", "exact_match": int(name == "none" or n == 0)}
        for name in ("none", "strict-match") for n in range(4)
    ]  # fmt: skip
    file = json_lines(tmp_path / "a.jsonl", rows)
    argument = "?condition=filter:none>vanilla"
    assert_refused(lambda: compared(file, file), f"they differ in 'filter' ('none', 'strict-match'): {argument} takes")
    chosen = compared(f"{file}{argument}", f"{file}?condition=filter:strict-match>vanilla")
    assert (chosen.pairs, len(chosen.flips)) == (4, 3)
    unnamed = json_lines(tmp_path / "b.jsonl", [{**row, "filter": None} for row in rows])
    assert_refused(lambda: compared(unnamed, unnamed), "name the column in which they differ: ?repeat=COLUMN")


def test_the_named_scorer_of_inspect_counts(tmp_path: Path) -> None:
    log = FORMS["Inspect"](tmp_path, "m", model(0.7, 1))
    content = json.loads(log.read_text())
    for sample in content["samples"]:
        sample["scores"]["other"] = {"value": 1 - sample["scores"]["choice"]["value"]}
    log.write_text(json.dumps(content))
    assert compared(log, log).flips.empty
    assert len(compared(log, f"{log}?score=other").flips) == 120


def test_our_parser_reads_what_the_log_has_options_for(tmp_path: Path) -> None:
    side = model(0.7, 1)
    wrongly_scored = [row._replace(score=1 - row.score) for row in side]
    write = FORMS["VLMEvalKit"]
    first, second = write(tmp_path / "a", "m", side), write(tmp_path / "b", "n", wrongly_scored)
    assert compared(first, second).causes == {"the same reply with another score": 120}
    assert compared(first, second, read=True).flips.empty
    batch: list[dict[str, Any]] = [
        {
            "custom_id": str(n),
            "response": {"body": {"choices": [{"message": {"content": row.reply}, "finish_reason": "stop"}]}},
            "error": None,
        }
        for n, row in enumerate(side)
    ]
    batch[0] = {"custom_id": "0", "response": None, "error": {"message": "expired"}}
    by_batch = compared(first, json_lines(tmp_path / "batch.jsonl", batch), read=True)
    assert (by_batch.pairs, by_batch.unpaired_items.only_before, len(by_batch.flips)) == (119, 1, 0)
    mmmu = tmp_path / "output.json"
    mmmu.write_text(json.dumps({str(n): row.reply for n, row in enumerate(side)}))
    assert compared(first, mmmu, read=True).pairs == 120
    assert_refused(lambda: compared(mmmu, mmmu), "no item has a score in both")


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "CSV": lambda folder: table(folder / "a.csv", [{"id": "a", "score": "1"}, {"id": "b", "score": "false"}]),
    "Parquet": lambda folder: _parquet(folder / "a.parquet"),
    "W&B": lambda folder: _json(folder / "a.json", {"columns": ["id", "correct"], "data": [["a", True], ["b", False]]}),
    "MMMU": lambda folder: _json(folder / "a.json", {"a": {"judge": "Correct"}, "b": {"judge": "Wrong"}}),
    "a metric of lmms-eval": lambda folder: json_lines(
        folder / "a.jsonl",
        [{"doc_id": n, "resps": [["x"]], "target": "x", "anls": {"score": 1 - n}} for n in range(2)],
    ),
    "lmms-eval with targets and repeats that are numbers": lambda folder: json_lines(
        folder / "a.jsonl",
        [{"doc_id": n, "target": n, "repeat": 0, "resps": [["x"]], "doc": {"score": n}, "vsr": 1 - n} for n in (0, 1)],
    ),
    "lmms-eval with another number": lambda folder: json_lines(
        folder / "a.jsonl",
        [{"doc_id": n, "target": n, "resps": [["x"]], "seconds": n, "vsr": {"score": 1 - n}} for n in (0, 1)],
    ),
}  # fmt: skip


def _json(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def _parquet(path: Path) -> Path:
    pd.DataFrame({"id": ["a", "b"], "score": [1.0, 0.0]}).to_parquet(path)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_are_found(layout: str, tmp_path: Path) -> None:
    assert [row.score for row in read_log_files(str(LAYOUTS[layout](tmp_path))).rows] == [1, 0]


def test_half_a_character_in_a_log_is_escaped(tmp_path: Path) -> None:
    """In any column, and in the names of columns: no table holds it."""
    rows = [{"item_id": f"q{n}\ud800", "task": "t\ud800", "reply\ud800": "x", "score": 1} for n in range(16)]
    path = json_lines(tmp_path / "a.jsonl", rows)
    assert compared(path, path).table["n"].iloc[0] == 16


def test_a_folder_has_a_task_per_file_and_names_what_it_skips(tmp_path: Path) -> None:
    for name in ("first", "second"):
        for task in ("a", "b"):
            table(tmp_path / name / f"{task}.csv", [{"index": n, "hit": n % 2} for n in range(12)])
        (tmp_path / name / "results.json").write_text('{"accuracy": 0.5}')
    result = compared(tmp_path / "first", tmp_path / "second")
    assert result.table["name"].tolist() == ["a", "b", "all items"]
    assert "Not read" in " ".join(result.notes)
    assert "results.json" in " ".join(result.notes)


def test_one_of_several_scores_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [{"id": n, "exact_match": 1, "hit": 0} for n in range(3)])
    log_of_both = read_log_files(str(path))
    assert [row.score for row in log_of_both.rows] == [1, 1, 1]
    assert log_of_both.notes == ("a.csv: scores are 'exact_match'; also there: hit.",)
    assert not read_log_files(f"{path}:hit").notes


def test_columns_ranges_and_epochs(tmp_path: Path) -> None:
    rows = [
        {"id": n, "epoch": epoch, "judge_a": 5 * (n % 2), "judge_b": 5 * (n % 2) if epoch else 0}
        for n in range(20)
        for epoch in (0, 1)
    ]
    path = table(tmp_path / "scores.csv", rows)
    result = compared(f"{path}:judge_a?range=0..5", f"{path}:judge_b?range=0..5")
    assert result.table[["before", "after"]].iloc[0].tolist() == [0.5, 0.25]
    assert result.subjects == (f"{path}:judge_a?range=0..5", f"{path}:judge_b?range=0..5")
    assert any("from epoch to epoch, 50.0% of the scores flip" in note for note in result.notes)
    assert_refused(lambda: compared(f"{path}:judge_a", f"{path}:judge_b"), "no score from 0 to 1")
    assert_refused(lambda: compared(f"{path}:judge_c", f"{path}:judge_b"), "no column")
    assert_refused(lambda: compared(f"{path}:judge_a?rnage=0..5", f"{path}:judge_b"), "range")


def test_joins_are_checked() -> None:
    questions = [f"How many {word}?" for word in ("cats", "dogs", "houses", "trees", "people", "birds")]
    targets = ["1", "2", "3", "4", "5", "6"]

    def rows(ids: Sequence[str], order: Sequence[int], numbered: bool = True) -> Log:
        return Log(
            "log",
            [
                LogRow(
                    ids[n], "t", question=questions[k], target=(targets[k],), score=1.0, is_numbered=numbered, number=n
                )
                for n, k in enumerate(order)
            ],
        )

    whole, from_0, from_1 = range(6), [str(n) for n in range(6)], [str(n + 1) for n in range(6)]
    assert join(rows(from_0, whole), rows(from_0, whole)).counts == {"id": 6}
    shifted = join(rows(from_0, whole), rows(from_1, whole))
    assert shifted.counts == {"question and images": 6}
    assert all(pair.before[0].target == pair.after[0].target for pair in shifted.pairs)
    shuffled = join(rows(from_0, whole), rows(from_0, [3, 1, 0, 2, 5, 4]))  # the numbers are those of other orders
    assert shuffled.counts == {"question and images": 6}
    part = join(rows(from_0, whole), rows(["4", "2"], [4, 2]))
    assert (part.counts, part.only_before, part.only_after) == ({"id": 2}, 4, 0)
    stated = rows(from_0, whole, numbered=False)
    with pytest.raises(snellen.SnellenError, match="6 of 6 joined rows contradict each other"):
        join(stated, rows(from_0, [5, 4, 3, 2, 1, 0][::1], numbered=False))
    with pytest.raises(snellen.SnellenError, match="another row of '1'; name the column in which they differ"):
        join(stated, rows(["1", "1"], [0, 1]))


def test_images_of_other_items_refuse_a_join_and_unknown_ones_do_not() -> None:
    def image_log(names: Sequence[str]) -> Log:
        return Log("log", [LogRow(f"q{n}", images=(name,), score=1.0, number=n) for n, name in enumerate(names)])

    originals = image_log([f"{n}.png" for n in range(6)])
    with_boxes = image_log([f"{n}.png" if n % 2 else f"{n}-with-a-box.png" for n in range(6)])
    assert join(originals, with_boxes).contradictions == join(with_boxes, originals).contradictions == 0
    with pytest.raises(snellen.SnellenError, match=r"image '0\.png' and '5\.png'"):
        join(originals, image_log([f"{5 - n}.png" for n in range(6)]))


def test_many_images_with_one_question_are_joined_in_a_moment() -> None:
    """Over 20 seconds without an index."""
    start = time.process_time()
    logs = [
        Log(side, [LogRow(f"{side}{n}", question="Which?", images=(f"{n}.png",), number=n) for n in range(6000)])
        for side in "ab"
    ]
    joined = join(*logs)
    assert joined.counts == {"question and images": 6000}
    assert all(pair.before[0].number == pair.after[0].number for pair in joined.pairs)
    assert time.process_time() - start < 5


def test_a_question_and_images_join_only_rows_that_fit_alone() -> None:
    """By definition: rows with an image in common, or else those whose images cannot be compared."""
    random, count = stream("tests.logs"), 0
    images = [(), ("0.png",), ("1.png",), ("a" * 64,), ("b" * 64,), ("0.png", "a" * 64), ("b" * 64, "1.png")]
    for _ in range(300):
        sides = [
            {
                f"{side}{n}": [LogRow(f"{side}{n}", question=random.choice(["x", "y ", ""]), images=images[int(k)])]
                for n, k in enumerate(random.integers(0, len(images), 5))
            }
            for side in "ab"
        ]
        fitting = dict[str, list[str]]()
        for key, (row,) in sides[0].items():
            alike = [name for name, (other,) in sides[1].items() if other.question == row.question != ""]
            agree = {name: _images_agree(row, sides[1][name][0]) for name in alike}
            best = [name for name in alike if agree[name]] or [name for name in alike if agree[name] is None]
            if len(best) == 1:
                fitting.setdefault(best[0], []).append(key)
        expected = {keys[0]: name for name, keys in fitting.items() if len(keys) == 1}
        assert list(_by_question(sides[0], sides[1], {}).items()) == list(expected.items())
        count += len(expected)
    assert count > 100


def test_a_long_question_is_kept_once_for_all_its_images() -> None:
    row = LogRow("a", question="word " * 2_000, images=tuple(f"{n}.png" for n in range(1_000)))
    tracemalloc.start()
    assert _by_question({"a": [row]}, {"b": [row]}, {}) == {"a": "b"}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000  # copies for each image would take ten times that


def test_a_target_that_names_two_options_gives_no_score() -> None:
    """Texts that are letters in another order: the target C is the third option, or the text of the first."""
    row = LogRow("", options=(("A", "C"), ("B", "A"), ("C", "B")), target=("C",))
    assert all(math.isnan(_read(replace(row, reply=reply), row)) for reply in "ABC")
    plain = LogRow("", options=(("A", "red"), ("B", "blue")), target=("Blue",))
    assert [_read(replace(plain, reply=reply), plain) for reply in ("B", "blue", "A")] == [1.0, 1.0, 0.0]


def test_place_counts_only_without_contradictions() -> None:
    sides = [
        [LogRow(str(n + start), score=1.0, target=(str(n),), is_numbered=True) for n in range(5)] for start in (0, 1)
    ]
    first, second = (Log("log", rows) for rows in sides)
    assert join(first, second).counts == {"place": 5}
    longer = Log("log", [replace(row, target=()) for row in sides[1]] + [LogRow("9", is_numbered=True)])
    assert join(first, longer).counts == {"id": 4}
    turned = Log("log", [replace(row, target=(str(4 - n),)) for n, row in enumerate(sides[1])])
    with pytest.raises(snellen.SnellenError, match="no ids or questions in common"):
        join(first, turned)


def test_rows_that_were_left_out_do_not_shift_the_others() -> None:
    """Logs of ten items in one wording, without one each. By place, each target meets the one of its neighbour."""

    def joined(gone: int, also_gone: int, targets: str) -> Join:
        rows = [
            LogRow(str(n), question="Which is nearer?", target=tuple(targets[n : n + 1]), is_numbered=True)
            for n in range(10)
        ]
        return join(*(Log("log", rows[:number] + rows[number + 1 :]) for number in (gone, also_gone)))

    for targets in ("", "ADCBADCBAD"):
        inside = joined(2, 7, targets)
        assert (inside.counts, inside.only_before, inside.only_after) == ({"id": 8}, 1, 1)
        assert all(pair.before[0].item == pair.after[0].item for pair in inside.pairs)
    assert joined(9, 0, "ADCBADCBAD").counts == {"id": 8}
    assert joined(9, 0, "").counts == {"place": 9}, "0 to 8 and 1 to 9 may be one list, numbered from 0 and from 1"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"failure": "timeout"}, "a failed call"),
        ({"target": ("B",)}, "another target"),
        ({"reply": "B. blue"}, "another reply"),
        ({"reply": "B. blue", "stop": "length"}, "a reply that was cut off"),
        ({"reply": "B. blue", "question": "Which colour is it? Think first."}, "another prompt"),
        ({"reply": "B. blue", "images": ("0" * 64,)}, "other images"),
        ({"reply": "B. blue", "images": ("0" * 64,), "is_prompt": False}, "another reply"),
        ({"reply": "B. blue", "question": "Which colour?", "is_prompt": False}, "another reply"),
        ({}, "the same reply with another score"),
    ],
)
def test_each_flip_has_its_cause(change: dict[str, Any], cause: str) -> None:
    usual: dict[str, Any] = {
        "reply": "A",
        "stop": "end",
        "question": "Which colour is it?",
        "images": ("1" * 64,),
        "target": ("A",),
    }
    first, second = log([1] * 100, **usual), log([1] * 99 + [0], "b", **usual)
    last = replace(second.rows[-1], **change)
    result = log_changes(first, Log("b", [*second.rows[:-1], last]))
    assert result.causes == {cause: 1}


def test_a_run_is_compared_with_logs_of_the_same_questions(tmp_path: Path) -> None:
    """A file with ids, one whose ids are positions, one with neither, and one of other questions."""
    cells = [
        {"index": n + 1, "image": tables.image_text(n // 2), "question": f"Which shade has object {n}?", "A": "red",
         "B": "blue", "answer": "AB"[n % 2]}
        for n in range(24)
    ]  # fmt: skip
    items = tables.build_set(tables.write_csv(tmp_path / "t.csv", cells), tmp_path / "set")
    run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    rows = [{**row, "image": "", "prediction": "A", "hit": int(row["answer"] == "A")} for row in cells]
    shifted = [{**row, "index": n, "input": f"{row['question']}\nThink."} for n, row in enumerate(rows)]
    for number, (part, by) in enumerate(((rows, "id"), (shifted, "question and images"))):
        result = compared(tmp_path / "run", table(tmp_path / f"{number}.csv", part))
        assert result.joined.counts == {by: 24}
        assert result.table[["before", "after", "clusters"]].iloc[0].tolist() == [1, 0.5, 12]
        assert result.causes == {"another reply": 12}
        assert compared(tmp_path / f"{number}.csv", tmp_path / "run", read=True).table["before"].tolist() == [0.5]
    for conditions, share in ((["vanilla", "images=none"], 0.5), (["images=none", "vanilla"], 0)):
        root = tmp_path / conditions[0]
        for condition in conditions:  # without an image there is no answer
            examine(
                lambda parts: "neither" if all(isinstance(part, str) for part in parts) else "A",
                items.root, condition=condition, out=root, show_progress=False,
            )  # fmt: skip
        assert compared(root, tmp_path / "0.csv").table["before"].tolist() == [share], "of the first condition alone"
    placed = json_lines(tmp_path / "m_samples_t.jsonl", [
        {"doc_id": n, "input": f"{row['question']} Think.", "target": row["answer"], "filtered_resps": ["A"],
         "exact_match": 1.0}
        for n, row in reversed(list(enumerate(rows)))  # tools write rows as calls end
    ])  # fmt: skip
    assert compared(tmp_path / "run", placed).joined.counts == {"place": 24}
    others = table(tmp_path / "c.csv", [{**row, "question": rows[23 - n]["question"]} for n, row in enumerate(rows)])
    assert_refused(lambda: compared(f"{tmp_path / 'run'}:fake:oracle", f"{others}?id=index"), "contradict each other")
    assert_refused(lambda: compared(others, tmp_path / "nowhere"), "is neither a run nor a log")


def test_what_is_missing_is_counted() -> None:
    first, second = log([1, 1, math.nan, 0]), Log("b", log([1, math.nan, 1, 0, 1]).rows)
    result = log_changes(first, second)
    assert (result.pairs, result.unpaired_items.only_before, result.unpaired_items.only_after) == (2, 1, 2)


def test_a_margin_is_excluded_included_or_exceeded() -> None:
    right = [1.0] * 300
    assert log_changes(log(right), log(right, "b")).beyond(0.05) == ([], [])
    small = log_changes(log(right[:20]), log(right[:20], "b"))
    assert small.beyond(0.05) == ([], ["all items"])
    worse = log_changes(log(right), log([0.0] * 100 + [1.0] * 200, "b"))
    assert worse.beyond(0.05) == (["all items"], [])


def test_equal_logs_are_seldom_called_different() -> None:
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(200):
        sides = (rng.random((2, 150)) < rng.uniform(0.3, 0.9)).astype(float)
        (verdict,) = log_changes(log(sides[0]), log(sides[1], "b")).table["verdict"]
        alarms += verdict in ("dropped", "rose")
    assert alarms <= 16


def test_more_logs_without_scores_are_refused_as_two_are() -> None:
    logs = [log([math.nan] * 3, name) for name in "abc"]
    with pytest.raises(SnellenError, match=r"no item has a score in both; .* `snellen run ITEMSET --subject recorded:"):
        log_ranks(logs)


def test_more_logs_have_pairs_and_ranks() -> None:
    rng = np.random.default_rng(5)
    logs = [log((rng.random(400) < share).astype(float), name) for name, share in (("a", 0.9), ("b", 0.6), ("c", 0.6))]
    ranks = log_ranks(logs)
    assert ranks.ranks["log"].tolist()[0] == "a"
    assert ranks.ranks[["rank", "low", "high"]].iloc[0].tolist() == [1, 1, 1]
    assert ranks.ranks["low"].tolist()[1:] == [2, 2]
    assert dict(zip(ranks.table["first"] + ranks.table["second"], ranks.table["clear"], strict=True)) == {
        "ab": True, "ac": True, "bc": False,
    }  # fmt: skip
    plain = log_changes(logs[1], logs[2]).table.iloc[0]
    pair = ranks.table.iloc[2]
    assert pair["high"] - pair["low"] > plain["high"] - plain["low"]  # for three pairs together


def test_a_long_name_of_a_group_takes_its_memory_once() -> None:
    logs = []
    for name in "abc":
        rows = log([0, 1] * 200, name).rows
        logs.append(Log(name, [replace(row, group="x" * 10**6 * (not n) or f"g{n}") for n, row in enumerate(rows)]))
    tracemalloc.start()
    try:
        assert list(log_changes(*logs[:2]).table["clusters"]) == [400]
        assert list(log_ranks(logs).table["clusters"]) == [400] * 3
        assert tracemalloc.get_traced_memory()[1] < 10**8
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("is_binary", [True, False])
def test_100_000_rows_take_seconds(ending: str, is_binary: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    paths = []
    for name in ("a", "b"):
        scores = rng.integers(0, 2, 100_000) if is_binary else rng.random(100_000)
        rows = [{"id": f"q{n}", "score": score} for n, score in enumerate(scores.tolist())]
        paths.append((table if ending == "csv" else json_lines)(tmp_path / f"{name}.{ending}", rows))
    start = time.process_time()
    changes = compared(*paths)
    assert time.process_time() - start < 20
    assert changes.pairs == 100_000
    assert changes.table["p_normal"].tolist() == [not is_binary]
    assert change_lines(changes)[0].name.endswith("(normal p)") is not is_binary
