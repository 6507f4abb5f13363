"""Recorded answers as subjects: matched to items, asked of nobody, scored as in every run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

import pytest

from snellen.core.condition import Axis
from snellen.core.hashing import digest
from snellen.core.item import ReplySpec
from snellen.core.prompt import Reply
from snellen.core.storage.item_rows import read_image_names
from snellen.core.storage.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.storage.runfolder import read_run_card
from snellen.exam.examination import Examination
from snellen.exam.examine import examine
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.exam.verification import check_replies
from snellen.reports import write_report
from snellen.runs.scores.score import read_scores
from snellen.scoring.answers import read_answer, read_label
from snellen.subjects.joins import RecordedAnswer
from snellen.subjects.recorded import recorded
from snellen.subjects.registry import make_subject, subjects_of
from snellen.suites import SUITES
from tests.contracts.subject_battery import check_subject
from tests.helpers.journey import NAMED, colour_set, item, suite_of, task, value
from tests.helpers.refusals import assert_refused
from tests.suites.questions import tables

METHOD = Axis("method", ("plain", "reasoning"))
BY_PROMPT = "condition=prompt:direct>vanilla+cot>method=reasoning"


@pytest.fixture(autouse=True)
def suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items named 000 (red), 001 (green), 002 (blue), 003 (red)."""
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of(METHOD))


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    colour_set(tmp_path / "items")
    return read_itemset(tmp_path / "items")


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def answers(texts: str, **cells: Any) -> list[dict[str, Any]]:
    """A row for each word, for the items in order; a dot leaves one out."""
    return [{"id": f"{n:03}", "reply": text, **cells} for n, text in enumerate(texts.split()) if text != "."]


def score(items: ItemSet, spec: str, root: Path, **how: Any) -> Examination:
    return run(items, [f"recorded:{spec}"], root, show_progress=False, **how)


def test_answers_asked_with_another_seed_are_refused_where_it_decides_what_is_shown(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Axis("method", METHOD.values, random_values=("reasoning",))
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of(random))
    mark = f"{digest(items.card.rows_hash, 8)}@method=reasoning"
    for n, (name, rest, is_told) in enumerate([("id", "", False), ("id", "&seed=s", True), ("custom_id", "", True)]):
        rows = [{name: f"00{k}@{mark}@seed=5" if name != "id" else f"00{k}", "reply": "red", "how": how, "s": 5}
                for k, how in enumerate(["cot", "cot", "cot", "direct"])]  # fmt: skip
        spec = f"{write_lines(tmp_path / f'{n}.jsonl', rows)}?condition=how:cot>method=reasoning+direct>vanilla{rest}"
        assert score(items, spec, tmp_path / f"five {n}", seed=5).responses
        assert ("; 3 do not say with which --seed they were asked" in capsys.readouterr().err) == (not is_told)
        if is_told:
            line = f"{n}.jsonl row 1 was asked under method=reasoning with --seed 5, not 0; give --seed 5"
            assert_refused(partial(score, items, spec, tmp_path / f"zero {n}"), line)
            assert score(items, spec, tmp_path / f"some {n}", conditions=["method=plain"]).responses, "the others"


def test_two_models_under_two_prompts_are_two_subjects_with_two_arms(items: ItemSet, tmp_path: Path) -> None:
    rows = [
        *answers("red green blue green", model="GPT-4o", prompt="direct"),
        *answers("red red red red", model="GPT-4o", prompt="cot"),
        *answers("blue blue blue nothing", model="Molmo 7B", prompt="direct"),
        *answers("red green blue red", model="Molmo 7B", prompt="cot"),
        *answers("red green blue red", model="Molmo 7B", prompt="other"),
    ]
    file = write_lines(tmp_path / "replies.jsonl", rows)
    examination = score(items, f"{file}?{BY_PROMPT}", tmp_path / "run")
    table = examination.all_results()
    expected = {
        ("recorded:GPT-4o", "vanilla"): 3 / 4,
        ("recorded:GPT-4o", "method=reasoning"): 2 / 4,
        ("recorded:Molmo 7B", "vanilla"): 1 / 4,
        ("recorded:Molmo 7B", "method=reasoning"): 1.0,
    }
    for (subject, condition), accuracy in expected.items():
        assert value(table, subject=subject, condition=condition, metric="accuracy", protocol="strict") == accuracy
    assert len(examination.responses) == 16
    assert examination.failed == 0
    assert examination.unasked() == {}
    again = score(items, f"{file}?{BY_PROMPT}", tmp_path / "run")
    assert list(again.responses) == list(examination.responses)
    write_report([tmp_path / "run"], tmp_path / "report")
    assert "recorded:Molmo 7B" in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_conditions_and_models_are_chosen(items: ItemSet, tmp_path: Path) -> None:
    rows = [
        *answers("red", model="a", prompt="direct"),
        *answers("red", model="a", prompt="cot"),
        *answers("red", model="b", prompt="cot"),
    ]
    file = write_lines(tmp_path / "replies.jsonl", rows)
    score(items, f"{file}?{BY_PROMPT}&name=a", tmp_path / "run", conditions=["method=reasoning"])
    (arm,) = read_run_card(tmp_path / "run").arms
    assert (arm.subject, arm.condition, arm.test_items) == ("recorded:a", "method=reasoning", {"task": 4})
    spec = f"recorded:{file}?{BY_PROMPT}"
    assert [subject.card.name for subject in subjects_of(spec)] == ["recorded:a", "recorded:b"]
    assert_refused(lambda: make_subject(spec), "stands for 2 subjects; choose one of them: recorded:a, recorded:b")
    assert_refused(lambda: make_subject(f"{spec}&name=c"), "no model 'c'")
    assert_refused(
        lambda: score(items, f"{file}?{BY_PROMPT}&name=b", tmp_path / "other", conditions=["vanilla", "vanilla"]),
        "there are answers under method=reasoning only",
    )
    assert not (tmp_path / "other").exists()


def test_conditions_are_checked(items: ItemSet, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "replies.jsonl", answers("red", prompt="cot"))
    assert_refused(lambda: score(items, f"{file}?condition=prompt", tmp_path / "run"), "not one condition of hard")
    wrong = "prompt:cot>method=slow"
    assert_refused(lambda: score(items, f"{file}?condition={wrong}", tmp_path / "run"), "no value 'slow'")
    unused = "prompt:cott>vanilla"
    assert_refused(lambda: make_subject(f"recorded:{file}?condition={unused}"), "no row has 'cott', but 'cot'")
    assert_refused(lambda: make_subject(f"recorded:{file}?condition=prompt:cot"), "write COLUMN:VALUE>CONDITION")
    assert_refused(lambda: make_subject(f"recorded:{file}?condition=promt"), "did you mean 'prompt'?")
    written = write_lines(tmp_path / "written.jsonl", answers("red", asked="method=reasoning"))
    score(items, f"{written}?condition=asked", tmp_path / "run")
    assert [arm.condition for arm in read_run_card(tmp_path / "run").arms] == ["method=reasoning"]


def test_rows_without_a_clear_item_are_counted_and_not_scored(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unclear: list[dict[str, Any]] = [{"id": "elsewhere", "reply": "red"}, {"question": " ? ", "reply": "red"}]
    rows = [*answers("red . blue"), *unclear]
    file = write_lines(tmp_path / "replies.jsonl", rows)
    examination = score(items, str(file), tmp_path / "run")
    (line,) = capsys.readouterr().err.splitlines()
    assert "recorded answers: 2 of 4 rows answer a test item" in line
    assert "1 match no item; 1 match several items (such as 'elsewhere')" in line
    assert [response.item_id for response in examination.responses] == ["000", "002"]
    assert examination.unasked() == {"recorded:replies": 2}
    none = write_lines(tmp_path / "none.jsonl", [{"id": "x", "reply": "red"}])
    assert_refused(lambda: score(items, str(none), tmp_path / "none"), "name the column of ids with ?id=")


def test_ids_of_pandas_and_rows_in_other_orders_of_the_options(items: ItemSet, tmp_path: Path) -> None:
    """A column with gaps is one of floats; VLMEvalKit repeats each question with rolled options, under new ids."""
    numbered = [replace(entry, provenance={"id": str(n + 1)}) for n, entry in enumerate(items.items)]
    texts = [replace(entry, question=f"Which colour is {entry.item_id}?") for entry in numbered]
    built = write_itemset(tmp_path / "numbered", texts, source="test", recipe={})
    rows = [{"index": f"{n + 1}.0", "prediction": str(entry.answer)} for n, entry in enumerate(texts)]
    rolled = [
        {"index": f"{n + 1_000_001}", "question": entry.question, "prediction": "red"} for n, entry in enumerate(texts)
    ]
    examination = score(built, str(write_lines(tmp_path / "a.jsonl", [*rows, *rolled])), tmp_path / "run")
    assert [response.text for response in examination.responses] == [entry.answer for entry in texts]


@pytest.mark.parametrize(
    "form", ["B", "(B)", "**B**", "Option B", "The answer is B.", "B. green", "green", r"\boxed{B}"]
)
def test_letters_of_the_file_are_read_where_the_question_has_words(form: str) -> None:
    words = ReplySpec("choice", (("red", "0"), ("green", "1")))
    answer = RecordedAnswer(Reply(form), options=("red", "green"))
    reply = answer.reply_to(words, read_label)
    assert reply is not None
    assert read_answer(reply.text, words) == "1"
    assert reply.text in ("green", form, f"{form}\nAnswer: green")
    assert answer.reply_to(ReplySpec("choice", (("A", "0"), ("B", "1"))), read_label) == Reply(form)
    unclear = RecordedAnswer(Reply("A or B"), options=("red", "green"))
    assert unclear.reply_to(words, read_label) == Reply("A or B")


def test_two_rows_for_an_item_are_refused_unless_they_are_repeats(items: ItemSet, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "replies.jsonl", [*answers("red", turn=2), *answers("blue", turn=1)])
    assert_refused(lambda: score(items, str(file), tmp_path / "run"), f"{file} row 1 and {file} row 2 both answer item")
    score(items, f"{file}?repeat=turn", tmp_path / "run")
    assert [arm.repeat for arm in read_run_card(tmp_path / "run").arms] == [0, 1]
    results = examine(f"recorded:{file}?repeat=turn", tmp_path / "items", out=tmp_path / "run", show_progress=False)
    assert {response.repeat: response.text for response in results.responses} == {0: "red", 1: "blue"}


FILTERED = [{"id": f"{n:03}", "filter": name} for name in ("flexible-extract", "none") for n in range(2)]
"""Rows of two items by each of two filters."""


def test_rows_of_several_filters_are_named_unless_they_repeat_a_reply(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Harnesses write the rows of each filter after those of another, with other scores and often the same replies."""
    rows = [{**row, "hit": n % 2, "seconds": n / 7, "reply": "red"} for n, row in enumerate(FILTERED)]
    examination = score(items, str(write_lines(tmp_path / "a.jsonl", rows)), tmp_path / "run")
    assert {response.item_id: response.text for response in examination.responses} == {"000": "red", "001": "red"}
    assert "2 repeat the reply of another row" in capsys.readouterr().err
    file = write_lines(tmp_path / "b.jsonl", [{**row, "reply": f"red {n}"} for n, row in enumerate(rows)])
    message = "they differ in 'filter' ('flexible-extract', 'none'): ?condition=filter:flexible-extract>vanilla takes"
    assert_refused(lambda: score(items, str(file), tmp_path / "other"), message)
    chosen = score(items, f"{file}?condition=filter:none>vanilla", tmp_path / "other")
    assert {response.item_id: response.text for response in chosen.responses} == {"000": "red 2", "001": "red 3"}
    assert len(score(items, f"{file}?repeat=filter", tmp_path / "both").responses) == 4


def questions(tmp_path: Path) -> ItemSet:
    """Three items with two questions; the first two have the same question and different images, with file names."""
    built = colour_set(tmp_path / "first")
    texts = {"000": "Which colour?", "001": "Which colour?", "002": "Which  shade\nis it?"}
    items = [
        replace(
            entry, question=texts[entry.item_id],
            provenance={"id": f"shapes/{n}", "file": f"images/{n}.png", "row": n},
        )
        for n, entry in enumerate(built.items[:3])
    ]  # fmt: skip
    write_itemset(tmp_path / "first", items, source="generated", recipe={"seed": 1})
    return read_itemset(tmp_path / "first")


def matched(items: ItemSet, rows: Sequence[Mapping[str, Any]], tmp_path: Path, settings: str = "") -> dict[str, Any]:
    """The replies by item."""
    name = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8]
    file = write_lines(tmp_path / f"{name}.jsonl", rows)
    return {r.item_id: r.text for r in score(items, f"{file}{settings}", tmp_path / name).responses}


def test_items_are_matched_by_provenance_question_and_image(tmp_path: Path) -> None:
    items = questions(tmp_path)
    by_number = [{"task": "shapes", "number": n, "reply": str(n)} for n in range(3)]
    expected = {"000": "0", "001": "1", "002": "2"}
    assert matched(items, by_number, tmp_path, "?id=task+number") == expected
    wordings = ["Which colour?", "Which colour?", "Which shade is it?"]
    by_name = [{"question": text, "image": f"/data/{n}.png", "reply": str(n)} for n, text in enumerate(wordings)]
    assert matched(items, by_name, tmp_path) == expected
    media = [entry.query[0].sha256 for entry in items.items]
    by_bytes = [{"question": text, "image": media[n], "reply": str(n)} for n, text in enumerate(wordings)]
    assert matched(items, by_bytes, tmp_path) == expected
    alone = [{"question": text, "reply": str(n)} for n, text in enumerate(wordings)]
    assert matched(items, alone, tmp_path) == {"002": "2"}
    of_others: list[dict[str, Any]] = [*alone, {"question": wordings[2], "image": "elsewhere.png", "reply": "9"}]
    assert matched(items, of_others, tmp_path) == {"002": "2"}


def test_own_tables_keep_the_names_of_their_images(tmp_path: Path) -> None:
    """ms-swift writes neither an id nor a number: messages, and the paths of images, also as objects."""
    (tmp_path / "img").mkdir()
    names = [tables.image_file(tmp_path / "img", letter) for letter in ("a", "b c", "é", "d")]
    rows = [{"question": "Is it?", "image": f"img/{name}", "answer": f"it is {name}"} for name in names]
    built = tables.build_set(tables.write_csv(tmp_path / "t.csv", rows), tmp_path / "items", n=3)
    own = [names[entry.provenance["row"] - 1] for entry in built.items]
    assert read_image_names(built.root) == {
        entry.query[0].sha256: [name] for entry, name in zip(built.items, own, strict=True)
    }
    prompt = "<image>Look at the image. Is it?\nA. yes\nB. no\nAnswer with a letter."
    for content, wrap in (
        ("<image>Is it?", lambda name: name),
        (prompt, lambda name: {"bytes": None, "path": f"D:\\x\\{name}"}),
        (prompt, lambda name: f"https://host/{quote(normalize('NFD', name))}"),
    ):
        turns = [{"role": "user", "content": content}, {"role": "assistant", "content": "?"}]
        predicted = [{"response": f"it is {name}", "messages": turns, "images": [wrap(name)]} for name in names[::-1]]
        assert matched(built, predicted, tmp_path) == {entry.item_id: str(entry.answer) for entry in built.items}
    shifted = [
        {"item_id": entry.item_id, "reply": "x", "image": name}
        for entry, name in zip(built.items, own[1:] + own[:1], strict=True)
    ]
    assert_refused(
        lambda: matched(built, shifted, tmp_path), "3 of 3 rows contradict their item (row 1: image 'another"
    )
    unknown = [{**row, "image": f"tmp{n}.png"} for n, row in enumerate(shifted)]
    assert len(matched(built, unknown, tmp_path)) == 3


def numbered(first: int, column: str = "doc_id", **cells: Sequence[Any]) -> list[dict[str, Any]]:
    """Right replies to the colour set by numbers from `first`, with one of `cells` each."""
    of_row = [{name: values[n] for name, values in cells.items()} for n in range(4)]
    return [{column: first + n, "reply": RIGHT[n], **of_row[n]} for n in range(4)]


RIGHT = ["red", "green", "blue", "red"]
AS_STORED = ["first-0", "second-0", "first-1", "second-1"]
SHIFTED = [*RIGHT[1:], "blue"]


@pytest.mark.parametrize(
    ("ids", "rows", "problem"),
    [
        ("1234", numbered(0), ""),  # a row number of the tool, not the table's id
        ("0123", numbered(1, "index"), ""),
        ("0123", numbered(0, "index"), ""),
        ("", numbered(0), ""),
        ("", numbered(1, "index"), ""),
        ("abcd", numbered(0, "id", target=RIGHT), ""),
        ("3142", numbered(0, target=RIGHT)[::-1], ""),
        ("1234", numbered(0)[:3], "3 have only a row number"),
        ("1234", numbered(0, "index")[:3], "3 have only a row number"),
        ("1234", numbered(1, "index")[:3], ""),
        ("1234", numbered(0, "index", target=SHIFTED), "row 1: target 'green', not 'red'; row 2: target"),
        ("1234", numbered(1, "index", target=SHIFTED), "4 of 4 rows contradict their item"),
        ("1234", numbered(0, target=[*RIGHT[:3], "blue"]), ""),  # one wrong key
        ("1234", numbered(0, target=["0", "1", 2, 0]), ""),
        ("1234", numbered(0, target=[1, 2, 3, 1]), ""),
        ("1234", numbered(0, target=["(red) it is", "Green.", ["blue"], "?"]), ""),
        ("1234", numbered(0, input=["Hint. What  is in 0?\nA", "IN 1", "Name it", ""]), ""),
        ("1234", numbered(0, input=[f"What is in {n}?" for n in (1, 2, 3, 0)]), "row 1: question 's in 1?', not "),
        ("1234", numbered(0, input=["How many cats?"] * 4), "question 'How many cats?', not 'What is in 0?'"),
        ("1234", numbered(0, image=[0, 1, 2, 3]), ""),
        ("1234", numbered(0, image=[1, 2, 3, 0]), "image 'another item', not 'its own'"),
        ("1234", numbered(0, image=["ab" * 32] * 4), ""),  # other bytes may show the same
    ],
)
def test_numbers_of_rows_are_positions_and_rows_of_other_items_are_refused(
    ids: str, rows: list[dict[str, Any]], problem: str, tmp_path: Path
) -> None:
    """A model that is always right: accuracy 1, or a refusal."""
    built = colour_set(tmp_path / "items")
    entries = [
        replace(
            entry, item_id=f"item-{n}" if ids else f"{n + 1:02}", question=f"What is in {n}?",
            provenance={"id": ids[n : n + 1], "row": n + 1},
        )
        for n, entry in enumerate(built.items)
    ]  # fmt: skip
    write_itemset(tmp_path / "items", entries, source="generated", recipe={"seed": 1})
    media = [entry.query[0].sha256 for entry in entries]
    rows = [{**row, "image": media[row["image"]]} if isinstance(row.get("image"), int) else row for row in rows]
    file, items = write_lines(tmp_path / "replies.jsonl", rows), read_itemset(tmp_path / "items")
    if problem:
        assert_refused(lambda: score(items, str(file), tmp_path / "run"), problem)
        if "have only" not in problem:
            score(items, f"{file}?question=none&image=none&target=none", tmp_path / "run")
    else:
        examination = score(items, str(file), tmp_path / "run")
        assert value(examination.all_results(), metric="accuracy", protocol="strict") == 1.0
        assert len(examination.responses) == len(rows)


@pytest.mark.parametrize(
    ("rows", "name", "expected"),
    [
        (numbered(0)[:2], "1_samples_my_second_x.jsonl", ["second-0", "second-1"]),
        (numbered(0, target=["blue", "red", "", ""])[:2], "a.jsonl", ["second-0", "second-1"]),
        (numbered(0), "a.jsonl", []),  # by task or as the set is stored
        (numbered(0, target=["red", "blue", "green", "red"]), "a.jsonl", AS_STORED),
        (numbered(0, target=RIGHT), "a.jsonl", sorted(AS_STORED)),
    ],
)
def test_positions_of_a_task_or_of_the_set(
    rows: list[dict[str, Any]], name: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set is stored as first, second, first, second."""
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of(tasks=(task(id="first"), task(id="second"))))
    built = colour_set(tmp_path / "items").items
    order = zip(AS_STORED, (0, 2, 1, 3), strict=True)
    entries = [replace(built[n], item_id=item_id, task=item_id[:-2]) for item_id, n in order]
    write_itemset(tmp_path / "items", entries, source="generated", recipe={"seed": 1})
    file, items = write_lines(tmp_path / name, rows), read_itemset(tmp_path / "items")
    if not expected:
        assert_refused(lambda: score(items, str(file), tmp_path / "run"), "4 have only a row number")
    else:
        responses = score(items, str(file), tmp_path / "run").responses
        assert {r.item_id: r.text for r in responses} == dict(zip(expected, RIGHT, strict=False))


ORDER, OTHER = ("red", "green", "blue"), ("blue", "red", "green")
"""The options of the items, and the same in another order: A is red, and A is blue."""


@pytest.mark.parametrize(
    "options",
    [
        {"options": list(OTHER)},
        {"options": json.dumps(OTHER)},
        {"choices": str(list(OTHER))},
        {"options": dict(zip("ABC", OTHER, strict=True))},
        {"options": [f"({letter}) {text}" for letter, text in zip("ABC", OTHER, strict=True)]},
        dict(zip("ABC", OTHER, strict=True)),
        {"question": "?\n" + "\n".join(f"{letter}. {text}" for letter, text in zip("ABC", OTHER, strict=True))},
    ],
    ids=["list", "JSON", "Python", "object", "lettered", "columns", "question"],
)
def test_letters_of_options_in_another_order_are_refused(
    items: ItemSet, tmp_path: Path, options: dict[str, Any]
) -> None:
    by_letter = write_lines(tmp_path / "letters.jsonl", answers("B C A B", **options))
    refused = "4 of 4 rows contradict their item (row 1: options '"
    assert_refused(lambda: score(items, str(by_letter), tmp_path / "refused"), refused)
    by_text = write_lines(tmp_path / "texts.jsonl", answers("red green blue red", **options))
    table = score(items, str(by_text), tmp_path / "texts").all_results()
    assert value(table, metric="accuracy", protocol="strict") == 1.0, "the text of an option needs no letter"


def test_options_in_the_same_order_and_unknown_ones_refuse_nothing(items: ItemSet, tmp_path: Path) -> None:
    for name, setting, options in (("same", "", ORDER), ("others", "", ("x", "y")), ("none", "?options=none", OTHER)):
        file = write_lines(tmp_path / f"{name}.jsonl", answers("B C A B", options=list(options)))
        assert len(score(items, f"{file}{setting}", tmp_path / name).responses) == 4


def test_parts_of_a_file_are_joined_as_one_and_scores_of_others_are_compared(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = numbered(0, exact_match=[1.0, True, 0, "nan"])
    for name, part in (("a", rows[:1]), ("b", rows[1:])):
        write_lines(tmp_path / f"model_{name}.jsonl", [{**row, "model": "m"} for row in part])
    examination = score(items, f"{tmp_path}/model_*.jsonl", tmp_path / "run")
    assert [response.text for response in examination.responses] == RIGHT
    assert "recorded:m: the file's own score differs in 1 of 3 rows" in capsys.readouterr().err


def test_changed_replies_are_another_subject(items: ItemSet, tmp_path: Path) -> None:
    fingerprints = []
    for texts in ("red green blue red", "red green blue blue", "red green blue red"):
        write_lines(tmp_path / "replies.jsonl", answers(texts))
        fingerprints.append(make_subject(f"recorded:{tmp_path / 'replies.jsonl'}").card.fingerprint())
        examination = score(items, str(tmp_path / "replies.jsonl"), tmp_path / "run")
        assert [response.text for response in examination.responses] == texts.split()
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]


def test_a_changed_file_replaces_the_answers_under_its_conditions(items: ItemSet, tmp_path: Path) -> None:
    file, root, spec = tmp_path / "replies.jsonl", tmp_path / "run", f"{tmp_path / 'replies.jsonl'}?{BY_PROMPT}"
    arms = (("direct", 0), ("direct", 1), ("cot", 0))
    cells = [{"model": "m", "prompt": prompt, "repeat": repeat} for prompt, repeat in arms]
    write_lines(file, [row for each in cells for row in answers("red green blue red", **each)])
    before = score(items, spec, root)
    rescore(root, items, before.suite, "published")
    write_lines(file, answers("blue blue red .", model="m", prompt="direct", repeat=0))
    after = run(items, [f"recorded:{file}?condition=prompt:direct>vanilla"], root, show_progress=False)
    assert [(arm.condition, arm.repeat) for arm in read_run_card(root).arms][-1:] == [("vanilla", 0)]
    assert len(read_run_card(root).arms) == 2, "answers under other conditions may be of another file"
    for protocol in ("strict", "published"):
        rows = read_scores(root)[protocol].query("condition == 'vanilla'")
        assert rows[["repeat", "value"]].values.tolist() == [[0, 0.0]] * 3
    values = after.all_results().query("condition == 'vanilla' and factor == '' and metric == 'accuracy'")["value"]
    assert set(values) == {0.0}, "nothing of the earlier answers is averaged in"
    assert check_replies(root, read_run_card(root), items, after.suite) == 0, "prompts are those of these answers"


def test_cut_off_replies_reasoning_and_failures(items: ItemSet, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "000", "reply": "The colour", "finish_reason": "length", "reasoning_content": None},
        {"id": "001", "reply": "<think>It is</think> green", "finish_reason": "stop", "reasoning_content": "Hm."},
        {"id": "002", "reply": None},
        {"id": "003", "reply": "Failed to obtain answer via API."},
    ]
    file = write_lines(tmp_path / "replies.jsonl", rows)
    examination = score(items, str(file), tmp_path / "run")
    first, second, third, fourth = examination.responses
    assert (first.cut_off, second.cut_off, second.text) == (True, False, "green")
    assert (third.status, third.reason, fourth.status) == ("failed", "no reply in the file", "failed")
    record = (tmp_path / "run" / "parts" / "0000.jsonl").read_text()
    assert '"reasoning":"Hm.\\nIt is"' in record
    assert '"stop":"length"' in record


def test_descriptions_are_attributes(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "replies.jsonl", answers("red"))
    card = make_subject(f"recorded:{file}?family=gpt&reasoning=no&name=GPT-4o").card
    assert (card.name, dict(card.attributes)) == ("recorded:GPT-4o", {"family": "gpt", "reasoning": "no"})
    plain = make_subject(f"recorded:{file}?name=GPT-4o").card
    assert plain.fingerprint() == card.fingerprint()
    assert_refused(lambda: make_subject(f"recorded:{file}?familly=gpt"), "did you mean 'family'?")


def test_the_contract_of_subjects(items: ItemSet) -> None:
    views = [entry.view() for entry in items.items]
    texts = {view.item_id: "red" for view in views}
    other = {**texts, "000": "blue"}
    change = partial(recorded, "recorded:model", other)
    check_subject(partial(recorded, "recorded:model", texts), views, items.media, change=change)


def test_a_limit_keeps_the_first_items(items: ItemSet, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "replies.jsonl", answers("red green blue red"))
    examination = score(items, str(file), tmp_path / "run", limit=2)
    assert [response.item_id for response in examination.responses] == ["000", "001"]
    assert examination.unasked() == {}


def test_training_items_are_not_matched(tmp_path: Path) -> None:
    built = colour_set(tmp_path / "items")
    items = [replace(entry, split="train") if entry.item_id == "001" else entry for entry in built.items]
    write_itemset(tmp_path / "items", items, source="generated", recipe={"seed": 1})
    file = write_lines(tmp_path / "replies.jsonl", answers("red green blue red"))
    examination = score(read_itemset(tmp_path / "items"), str(file), tmp_path / "run")
    assert [response.item_id for response in examination.responses] == ["000", "002", "003"]


def test_an_item_of_another_task_is_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage counts the tasks of which the file has answers."""
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of(tasks=(task(), task(id="second"))))
    built = colour_set(tmp_path / "items")
    other = item("other", built.items[0].query, "red", "choice", options=NAMED, task="second")
    write_itemset(tmp_path / "items", [*built.items, other], source="generated", recipe={"seed": 1})
    file = write_lines(tmp_path / "replies.jsonl", answers("red green"))
    examination = score(read_itemset(tmp_path / "items"), str(file), tmp_path / "run")
    assert examination.unasked() == {"recorded:replies": 2}
    assert read_run_card(tmp_path / "run").arms[0].test_items == {"task": 4}


def test_rows_that_are_mostly_of_other_items_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    items = colour_set(tmp_path / "items")
    known_id = next(item.item_id for item in items.items if item.split == "test")
    rows = [{"id": known_id, "reply": "red"}, *({"id": f"other {n}", "reply": "red"} for n in range(38))]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert_refused(
        lambda: run(items, [f"recorded:{tmp_path / 'a.jsonl'}"], tmp_path / "run", show_progress=False),
        "only 1 of 39 rows are of one of",
    )
