"""Verifying honest runs of every kind: no check raises an alarm. test_sealing.py tests that changes are found."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.cli.verification import verify
from snellen.core.build_options import BuildOptions
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Option, ReplySpec
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, read_itemset, recipe_hash
from snellen.core.storage.itemset_cards import BlindCard, BlindScore, FloorScore, write_blind, write_card
from snellen.core.storage.parts import line_of, part_files, read_exchanges
from snellen.core.storage.runfolder import read_run_card
from snellen.core.storage.versions import versions
from snellen.core.suite import Trial, all_trials
from snellen.exam import omissions, verification
from snellen.exam.items import build
from snellen.exam.omissions import left_out
from snellen.exam.rescoring import recover
from snellen.exam.run import run
from snellen.exam.verification import (
    check_card,
    check_commitment,
    check_replies,
    check_rows,
    check_scores,
    read_apart,
)
from snellen.reports.loading import load_run
from snellen.runs.asking.ask import ask, singles
from snellen.runs.asking.replay import replay
from snellen.runs.planning.plan import Arm, Plan, run_card
from snellen.runs.scores.blind import blind_card
from snellen.runs.scores.box_units import set_box_unit
from snellen.stimuli.render import rebuild
from snellen.subjects.registry import make_subject
from snellen.suites import SUITES
from tests.helpers.journey import item
from tests.helpers.sets import small_set
from tests.suites.thresholds.banks import bank, observer


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """Sheets of questions about two objects."""
    options = BuildOptions(
        tmp_path_factory.mktemp("items") / "items", seed=2, n=2, tasks=("pattern-perception",), renderer="toy",
        size=(120, 90), allow_unmatched=True, show_progress=False,
    )  # fmt: skip
    return build(SUITES.get("combo"), "generated", options)


def _recorded(items: ItemSet, path: Path) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item_id", "model", "reply"])
        writer.writerows([item.item_id, "m", str(item.answer)] for item in items.items if item.split == "test")
    return f"recorded:{path}"


@pytest.mark.slow
def test_recorded_answers_to_sheets_are_verified_and_recovered(items: ItemSet, tmp_path: Path) -> None:
    """Each answer was recorded alone, while subjects that are asked get a sheet of all questions about an object."""
    run(items, [_recorded(items, tmp_path / "replies.csv"), "fake:oracle"], tmp_path / "run", show_progress=False)
    verify(str(tmp_path / "run"), 0, None, None, None)
    before = load_run(tmp_path / "run")
    for name in ("responses.parquet", "exchanges.parquet"):
        (tmp_path / "run" / name).unlink()
    recover(tmp_path / "run")
    after = load_run(tmp_path / "run")
    assert {r.response_id: r for r in after.responses} == {r.response_id: r for r in before.responses}
    counts = Counter(response.subject for response in after.responses)
    assert counts["recorded:m"] == counts["fake:oracle"] > 0


def test_questions_of_a_sheet_that_were_asked_alone_are_no_replies_to_it(items: ItemSet, tmp_path: Path) -> None:
    suite, subject = SUITES.get("combo"), make_subject("fake:oracle", items.items)
    (condition,) = parse_conditions(suite.axes, "vanilla")
    arm = Arm(subject, condition, schedule=lambda trials: all_trials([s for trial in trials for s in singles(trial)]))
    plan = Plan(items, suite, [arm], versions=versions())
    ask(tmp_path, plan, run_card(replace(plan, arms=[Arm(subject, condition)])))
    with pytest.raises(SnellenError, match="has no recorded reply to the prompt that its item gives"):
        check_replies(tmp_path, read_run_card(tmp_path), items, suite)


@pytest.mark.parametrize("balance", ["answers", pytest.param("paper", marks=pytest.mark.slow)])
def test_lowered_blind_scores_are_found_and_missing_ones_are_said(
    balance: str, sets_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the recipe are in the package; the paper's answers are measured in each set."""
    root = shutil.copytree(small_set("combo", sets_folder).root, tmp_path / "items")
    items = read_itemset(root)
    recipe = {**items.card.recipe, "balance": balance}
    own_hash = recipe_hash(items.card.suite, items.card.version, items.card.source, recipe)
    write_card(root, items.card.model_copy(update={"recipe": recipe, "recipe_hash": own_hash}))
    items = read_itemset(root)
    card = blind_card(items, SUITES.get("combo"))
    write_blind(root, card)
    assert verify(str(root), 1, None, None, None) == 0
    for change in ({"value": 0.0}, {"value": float("nan")}, {"metric": "other"}, {"chance": 0.0}, {"n": 9}):
        write_blind(root, card.model_copy(update={"scores": tuple(s.model_copy(update=change) for s in card.scores)}))
        if balance == "answers" and "nan" not in str(change):  # NaN is refused as the file is read
            assert verify(str(root), 1, None, None, None) == 1
            assert "not the scores that this version has for the recipe" in capsys.readouterr().out
            continue
        with pytest.raises(SnellenError, match=r"blind\.json"):
            verify(str(root), 1, None, None, None)
    (root / "blind.json").unlink()
    assert verify(str(root), 1, None, None, None) == 1
    assert "grades start at chance" in capsys.readouterr().out


METRICS = {"localization": "giou", "counting": "mae_over_gt", "spatial": "accuracy"}
MEASURED = {"localization": 0.2, "counting": 0.4, "spatial": 0.3}


def _blind(values: dict[str, float], n: int = 100, **change: Any) -> tuple[BlindScore, ...]:
    fields = {"protocol": "strict", "chance": 0.27, "n": n, "attack": "x"}
    return tuple(
        BlindScore.model_validate({**fields, "task": task, "metric": METRICS[task], "value": value, **change})
        for task, value in values.items()
    )


def _checked(
    monkeypatch: pytest.MonkeyPatch,
    scores: Sequence[BlindScore],
    method: str = "folds",
    n: int = 100,
    left_out: tuple[str, ...] = (),
    **card: Any,
) -> str:
    """The words of the check, or of its error, on a card whose scores are measured again as `MEASURED` of n items."""
    again = {score.key: score for score in _blind(MEASURED, n)}
    monkeypatch.setattr(verification, "_measured", lambda items, suite: (again, set(left_out)))
    stored = BlindCard(method=method, scores=tuple(scores), **card)
    items: Any = SimpleNamespace(
        blind=stored, root=Path("set"), card=SimpleNamespace(source="released", instalments=(), recipe={})
    )
    try:
        words, is_equal = verification.check_blind(items, SUITES.get("ava-bench"))
        assert is_equal == (words == "3 scores were measured again")
        return words
    except SnellenError as error:
        return str(error)


@pytest.mark.parametrize(
    ("change", "n", "words"),
    [
        ({}, 100, "3 scores were measured again"),
        # Of 100 items 0.05 of the metric's range may differ: 0.1 of a GIoU from -1 to 1, 0.05 of an accuracy.
        ({"spatial": 0.252}, 100, "again, 1 of them differ by a few items"),
        ({"spatial": 0.248}, 100, "spatial strict accuracy: this machine"),
        ({"spatial": 0.352}, 100, "spatial strict accuracy: this machine"),
        ({"localization": 0.102}, 100, "again, 1 of them differ"),
        ({"localization": 0.098}, 100, "localization strict giou: this machine"),
        ({"counting": 0.452}, 100, "counting strict mae_over_gt: this machine"),
        ({"spatial": float("nan")}, 100, "spatial strict accuracy: this machine"),
        ({"spatial": 0.30009}, 100, "3 scores were measured again"),
        # Of 10 items 0.45 may differ, of 400 items 0.025, and of 2 items half of the range.
        ({"spatial": 0.79}, 2, "again, 1 of them differ"),
        ({"spatial": 0.81}, 2, "spatial strict accuracy: this machine"),
        ({"counting": 0.84}, 10, "again, 1 of them differ"),
        ({"counting": 0.86}, 10, "counting strict mae_over_gt: this machine"),
        ({"counting": 0.424}, 400, "again, 1 of them differ"),
        ({"counting": 0.426}, 400, "counting strict mae_over_gt: this machine"),
        # Most of the scores differ, each by little.
        ({"spatial": 0.29, "counting": 0.41}, 100, "2 of 3 scores: this machine"),
    ],
)
def test_a_blind_score_measured_again_may_differ_by_a_few_items(
    change: dict[str, float], n: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words in _checked(monkeypatch, _blind(MEASURED | change, n), n=n)


@pytest.mark.parametrize(
    ("count", "change", "is_measured"),
    [
        (100, {}, True),
        (20, {"options": tuple(Option(str(n), f"thing {n}") for n in range(1500))}, False),
        (100, {"question": "word " * 20_000}, False),
        (40, {"options": tuple(Option(str(n), f"{n}" * 60_000) for n in range(8)), "question": "word " * 300}, False),
    ],
)
def test_blind_scores_that_would_take_long_are_not_measured_again(
    count: int, change: dict[str, Any], is_measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "measure_by_folds", lambda items, suite: [])
    items: Any = SimpleNamespace(items=[item(f"{n}", [], "1", "choice", task="naming", **change) for n in range(count)])
    assert verification._measured(items, SUITES.get("ava-bench")) == ({}, set() if is_measured else {"naming"})


def test_blind_scores_that_nobody_measures_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a missing score, unless the chance that grades start from instead is as good: 0.27 is near 0.3, not 0.4."""
    whole, stranger = _blind(MEASURED), _blind({"spatial": 0.3}, protocol="other")
    assert "spatial other accuracy: this machine" in _checked(monkeypatch, whole + stranger)
    unmeasured = whole + _blind({"spatial": 0.3}, task="ocr")
    assert "over a minute: ocr" in _checked(monkeypatch, unmeasured, left_out=("ocr",))
    assert "ocr strict accuracy: this machine" in _checked(monkeypatch, unmeasured)
    assert "spatial strict accuracy: this machine" in _checked(monkeypatch, whole + whole[2:]), "twice"
    assert "spatial strict accuracy: this machine" in _checked(
        monkeypatch, (*whole[:2], *_blind({"spatial": 0.3}, n=9))
    )
    other_chance = _blind({"spatial": 0.3}, chance=0.9)
    assert "spatial strict accuracy: this machine" in _checked(monkeypatch, (*whole[:2], *other_chance))
    of_level = _blind({"spatial": 0.3}, factor="size", level="small")
    assert "spatial strict accuracy size small: this machine" in _checked(monkeypatch, whole + of_level)
    assert "1 of them differ" in _checked(monkeypatch, whole[:2])
    assert "counting strict mae_over_gt: this machine" in _checked(monkeypatch, (whole[0], whole[2]))
    floor = FloorScore(task="spatial", protocol="strict", metric="accuracy", name="x", value=0.3, n=100)
    assert "this machine measured another" in _checked(monkeypatch, whole, floors=(floor,))


def test_a_better_score_of_a_subject_without_images_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    better = _blind({"localization": 0.9, "counting": 0.1, "spatial": 0.8})
    assert "again; 3 are those of a subject" in _checked(monkeypatch, better, "a subject without images")
    assert "this machine measured another" in _checked(monkeypatch, better)
    near = _blind(MEASURED | {"spatial": 0.30009})
    assert _checked(monkeypatch, near, "a subject without images") == "3 scores were measured again"
    worse = _blind(MEASURED | {"counting": 0.6})
    assert "counting strict mae_over_gt: this" in _checked(monkeypatch, worse, "a subject without images")


def test_tables_of_calls_are_those_of_the_parts(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path = done.root / "exchanges.parquet"
    table = pq.read_table(path)
    texts = pa.array(["changed", *table["text"].to_pylist()[1:]], pa.string())
    pq.write_table(table.set_column(table.column_names.index("text"), "text", texts), path)
    with pytest.raises(SnellenError, match="other cells than the recorded replies"):
        check_replies(done.root, read_run_card(done.root), items, done.suite)


def test_a_response_without_a_recorded_reply_is_found(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    (part,) = part_files(done.root)
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(SnellenError, match="has no recorded reply to the prompt"):
        check_replies(done.root, read_run_card(done.root), items, done.suite)


@pytest.mark.parametrize("name", ["sent", "exchanges"])
def test_the_tables_of_prompts_and_calls_are_whole(items: ItemSet, tmp_path: Path, name: str) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path = done.root / f"{name}.parquet"
    table = pq.read_table(path)
    key = "digest" if name == "sent" else "key"
    for changed in (pa.concat_tables([table, table.slice(0, 1)]), table.slice(1), table.rename_columns({key: "other"})):
        pq.write_table(changed, path)
        with pytest.raises(
            SnellenError, match=rf"{name}\.parquet: (lacks prompts|has columns or|other cells|missing or)"
        ):
            check_replies(done.root, read_run_card(done.root), items, done.suite)


@pytest.mark.parametrize("recipe", ["", "null", "[1]", "[" * 5000, '{"a": ' * 5000])
def test_recipes_of_images_are_objects(items: ItemSet, tmp_path: Path, recipe: str) -> None:
    shutil.copytree(items.root, tmp_path / "items")
    path = tmp_path / "items" / "image_recipes.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "recipe", pa.array([recipe] * len(table))), path)
    with pytest.raises(SnellenError, match=f"{path}: the recipe of [0-9a-f]{{64}} is no object"):
        check_rows(read_itemset(tmp_path / "items"))


def test_a_fault_of_the_card_names_its_file(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2, conditions=["order=shuffled"])
    path = done.root / "run.json"
    path.write_text(path.read_text().replace('"order=shuffled"', '"order = shuffled"'))
    with pytest.raises(SnellenError, match=f"^{path}: the condition 'order = shuffled' is not in the form"):
        check_replies(done.root, read_run_card(done.root), items, done.suite)


@pytest.mark.parametrize(("status", "fault"), [("ok", True), ("failed", True), ("declined", False)])
def test_only_what_was_declined_needs_no_record(status: Any, fault: bool) -> None:
    """A failure is recorded, too: one that is not may hide a bad answer."""
    stored = Response("a/c/0/1", "fake:x", "a", "1", "t", "c", 0, status, None, "", ReplySpec("text"), ())
    assert bool(verification._response_fault(stored, None)) is fault
    assert verification._response_fault(replace(stored, response_id="other"), None)


@pytest.mark.parametrize("lowered", [1e-6, float("nan")])
def test_a_score_that_differs_by_a_millionth_is_found(lowered: float, items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path = done.root / "scores.strict.parquet"
    table = pq.read_table(path)
    values = pa.array([value - lowered for value in table["value"].to_pylist()], pa.float64())
    pq.write_table(table.set_column(table.column_names.index("value"), "value", values), path)
    with pytest.raises(SnellenError, match="value of item"):
        check_scores(done.root, read_run_card(done.root), items, done.suite)


def test_only_images_drawn_here_must_be_equal(items: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of another renderer, and of a set with later instalments, may have been drawn on another machine."""
    exact = list[bool]()
    monkeypatch.setattr(rebuild, "drawn_here", bool)
    monkeypatch.setattr(rebuild, "rebuild", lambda paths, is_drawn_here: exact.append(is_drawn_here))
    render = {"render": {"renderer": "toy"}}
    changes: list[dict[str, Any]] = [{"provenance": render}, {}, {"provenance": render, "instalments": (1, 2)}]
    for change in changes:
        verification.rebuild_images(replace(items, card=items.card.model_copy(update={"provenance": {}, **change})), 1)
    assert exact == [True, False, False]
    monkeypatch.undo()
    assert rebuild.drawn_here("mitsuba")


def test_another_parser_excuses_other_readings_and_no_other_score(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path, card = done.root / "scores.strict.parquet", read_run_card(done.root)
    table = pq.read_table(path)
    values = pa.array([value - 0.5 for value in table["value"].to_pylist()], pa.float64())
    pq.write_table(table.set_column(table.column_names.index("value"), "value", values), path)
    with pytest.raises(SnellenError, match="value of item"):
        check_scores(done.root, card.model_copy(update={"versions": {}}), items, done.suite)
    for excused, columns in (True, ("prediction",)), (False, ("prediction", "chance")):
        other = table
        for name in columns:
            cells = pa.array(['"?"' if name == "prediction" else 0.99] * len(table), table.schema.field(name).type)
            other = other.set_column(table.column_names.index(name), name, cells)
        pq.write_table(other, path)
        with nullcontext() if excused else pytest.raises(SnellenError, match="of item"):
            assert check_scores(done.root, card.model_copy(update={"versions": {}}), items, done.suite)[1]


def test_rows_of_responses_and_scores_are_neither_left_out_nor_added(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    card = read_run_card(done.root)
    path = done.root / "scores.strict.parquet"
    table = pq.read_table(path)
    for other in (table.slice(0, len(table) - 1), pa.concat_tables([table, table.slice(0, 1)])):
        pq.write_table(other, path)
        with pytest.raises(SnellenError, match=f"has {len(other)} rows, and the replies give {len(table)}"):
            check_scores(done.root, card, items, done.suite)
    path = done.root / "responses.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    with pytest.raises(SnellenError, match="is missing, although its replies are recorded"):
        check_replies(done.root, card, items, done.suite)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    with pytest.raises(SnellenError, match=r"responses\.parquet: a response is in it twice"):
        check_replies(done.root, card, items, done.suite)


def test_counts_hashes_and_the_commitment_of_a_card_are_compared(items: ItemSet) -> None:
    assert check_rows(items)
    changes: list[tuple[dict[str, Any], str]]
    changes = [({"counts": {}}, "other counts"), ({"rows_hash": "0"}, "rows_hash"), ({"test_hash": "0"}, "test_hash")]
    changes += [({"recipe_hash": "0"}, "recipe_hash"), ({"recipe": {"seed": 9}}, "recipe_hash")]
    for change, words in changes:
        with pytest.raises(SnellenError, match=words):
            check_rows(replace(items, card=items.card.model_copy(update=change)))
    sealed = replace(items, card=items.card.model_copy(update={"recipe": {"sealed": "ab"}}))
    check_commitment(sealed, " AB\n")
    for other in ("ac", "", "a", "abc"):
        with pytest.raises(SnellenError, match=f"published commitment {other}"):
            check_commitment(sealed, other)


def test_a_reading_by_another_parser_is_counted_and_no_forgery(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same parser it is refused; a run of an earlier version, which records none, has a hint."""
    root = tmp_path / "run"
    run(items, ["fake:chance"], root, show_progress=False, limit=2)
    card = read_run_card(root)
    count = sum(item.split == "test" for item in items.items)
    for is_old in (False, True):
        if is_old:
            known = {name: version for name, version in card.versions.items() if name != "parser"}
            (root / "run.json").write_text(card.model_copy(update={"versions": known}).model_dump_json())
        assert verify(str(root), 0, None, None, None) == 0
        printed = capsys.readouterr().out
        assert ("not recorded" in printed, f"{count} test items, {count - 2} not asked" in printed) == (is_old, True)
        with monkeypatch.context() as patch:
            patch.setattr("snellen.runs.scores.score._read", lambda response, protocol: None)
            if not is_old:
                with pytest.raises(SnellenError, match="prediction of item"):
                    verify(str(root), 0, None, None, None)
                continue
            assert verify(str(root), 0, None, None, None) == 1
            assert "2 replies are read otherwise, perhaps another version" in capsys.readouterr().out


def test_report_and_diff_count_what_another_parser_read_otherwise(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for root in (old, new):
        run(items, ["fake:chance"], root, show_progress=False, limit=2)
    assert list(read_apart([old, new])) == []
    card = read_run_card(old)
    (old / "run.json").write_text(card.model_copy(update={"versions": {"parser": "older"}}).model_dump_json())
    assert [line.rpartition("; ")[2] for line in read_apart([old, new])] == ["this one reads 0 replies otherwise"]
    assert list(read_apart([old])) == [], "a run alone is compared with none"
    monkeypatch.setattr("snellen.runs.scores.score._read", lambda response, protocol: None)
    for command in ("report", "diff"):
        out = str(tmp_path / command)
        printed = CliRunner().invoke(app, [command, str(old), str(new), "--out", out]).output
        assert "old: read by another version" in printed
        assert "this one reads 2 replies otherwise" in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "subjects", "how"),
    [
        ("combo", ["fake:chance", "fake:blind-to=colour"], {"conditions": ["images=shuffled", "order=shuffled"]}),
        ("combo", ["encoder:colour-histogram"], {"conditions": ["vanilla", "sheet=single"], "repeats": 2}),
        ("combo", ["fake:oracle"], {"conditions": ["method=perceive-then-classify", "samples=1,questions=one"]}),
        ("vlm2-bench", ["fake:chance", "encoder:hog"], {"conditions": ["vanilla", "images=grey"]}),
        ("vfm-bench", ["fake:chance", "encoder:efficientnet-lite0"], {"conditions": ["shots=0..2"]}),
        ("ava-bench", ["fake:chance", "encoder:hog"], {"until_decided": True, "seed": 5}),
    ],
    ids=str,
)
def test_honest_runs_are_verified(
    suite: str, subjects: list[str], how: dict[str, Any], sets_folder: Path, tmp_path: Path
) -> None:
    run(small_set(suite, sets_folder), subjects, tmp_path / "run", show_progress=False, **how)
    verify(str(tmp_path / "run"), 1, None, None, None)


def test_boxes_in_a_unit_that_was_decided_later_are_said(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    assert verify(str(done.root), 0, None, None, None) == 0
    set_box_unit(done.root, "pixels", ["fake:oracle"])
    assert verify(str(done.root), 0, None, None, None) == 1
    assert "box_units.json: boxes of fake:oracle are read in pixels" in capsys.readouterr().out


def _changed_card(root: Path, **change: Any) -> None:
    path = root / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def test_what_the_record_does_not_give_is_no_full_check(items: ItemSet, tmp_path: Path) -> None:
    """Tables of annotations that no condition uses excuse nothing, and the numbers of items to ask are compared."""
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    assert verify(str(done.root), 0, str(items.root), None, None) == 0
    _changed_card(done.root, annotations={"captions": "somebody 1234"})
    assert verify(str(done.root), 0, str(items.root), None, None) == 1
    card = read_run_card(done.root)
    changes: tuple[dict[str, Any], ...]
    changes = {"test_items": {"pattern-perception": 1}}, {"test_items": {}}, {"columns": {"sheet": "alone"}}
    for change in (*changes, {"fingerprint": "0" * 12}):
        _changed_card(done.root, annotations={}, arms=[{**card.arms[0].model_dump(), **change}])
        fault = r"run\.json: (test_items, columns or fingerprint|columns) of fake:oracle"
        with pytest.raises(SnellenError, match=fault):
            verify(str(done.root), 0, str(items.root), None, None)


@pytest.mark.parametrize("name", ["suite", "version", "recipe_hash", "rows_hash", "test_hash"])
def test_the_card_of_a_run_names_its_own_item_set(name: str, items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    card = read_run_card(done.root)
    check_card(done.root, card, items, done.suite)
    with pytest.raises(SnellenError, match=f"{name} is not that of the item set"):
        check_card(done.root, card.model_copy(update={name: "other"}), items, done.suite)


def test_prompts_that_a_report_shows_are_those_of_the_items(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path = done.root / "sent.parquet"
    table = pq.read_table(path)
    forged = pa.array([text.replace("object", "thing") for text in table["parts"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("parts"), "parts", forged), path)
    with pytest.raises(SnellenError, match=r"sent\.parquet: the prompt"):
        check_replies(done.root, read_run_card(done.root), items, done.suite)


def test_no_image_of_a_prompt_is_replaced_by_images_laid_out(items: ItemSet, tmp_path: Path) -> None:
    """Replaying lays montages out, which were not for subjects that read no images."""
    montage, names = {"montage": ["0" * 64, "f" * 64], "title": "FORGED"}, {"0.png"}
    assert verification._is_same_part(montage, {"media": "laid out.png"}, names)
    assert verification._is_same_part(montage, montage, names)
    for part, other in ((montage, {"media": "0.png"}), ({"media": "0.png"}, montage), ("text", {"media": "1.png"})):
        assert not verification._is_same_part(part, other, names)


def test_people_may_be_given_fewer_tasks(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    card = read_run_card(done.root)
    person = card.arms[0].model_dump() | {"role": "person", "test_items": {}}
    _changed_card(done.root, arms=[person])
    assert check_replies(done.root, read_run_card(done.root), items, done.suite) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"condition": "images=none"}, "'fake:oracle' under 'vanilla' was not asked"),
        ({"repeat": 2**31}, "less than 2147483648"),
        ({"test_items": {"pattern-perception": -1}}, "greater than or equal to 0"),
        ({}, "two arms are the same"),
    ],
    ids=str,
)
def test_arms_that_no_run_has_are_refused(change: dict[str, Any], words: str, items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    arm = read_run_card(done.root).arms[0].model_dump()
    _changed_card(done.root, arms=[{**arm, **change}] if change else [arm, arm])
    with pytest.raises(SnellenError, match=words):
        load_run(done.root)


def test_a_second_table_of_a_protocol_is_not_read(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    (done.root / "scores.strict.zzz.parquet").write_bytes(b"")
    assert check_scores(done.root, read_run_card(done.root), items, done.suite) == (["strict"], [])


def test_a_table_of_calls_has_the_columns_of_a_run(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    path = done.root / "exchanges.parquet"
    table = pq.read_table(path)
    encoded = [table[name].dictionary_encode() if name == "text" else table[name] for name in table.column_names]
    for other in (table.append_column("note", pa.array(["x"] * len(table))), pa.table(encoded, table.column_names)):
        pq.write_table(other, path)
        with pytest.raises(SnellenError, match="columns or types that are not those of a run"):
            check_replies(done.root, read_run_card(done.root), items, done.suite)


def test_a_run_from_which_items_were_left_out_is_not_fully_checked(items: ItemSet, tmp_path: Path) -> None:
    """Whatever the card says of the rule and of the numbers of items."""
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    card, whole = read_run_card(done.root), len(done.responses)
    fewer = [response for response in done.responses if response.item_id != done.responses[0].item_id]
    name = "fake:oracle under vanilla, pattern-perception"

    def lines(responses: Sequence[Response], **change: Any) -> list[str]:
        arms = [card.arms[0].model_copy(update={"max_items": whole, **change})]
        return left_out(card.model_copy(update={"arms": arms}), items, done.suite, responses)

    person = "human:study/p1"
    theirs = [replace(response, subject=person) for response in fewer]
    assert lines(done.responses) == lines(theirs, subject=person, role="person") == []
    (line,) = lines(theirs, subject=person)
    assert line.startswith(person), "a model with the name of a person"
    for rule in ("", "look", "none", "drop"):
        assert lines(done.responses, decide=rule) == []
        changes: list[dict[str, Any]] = [{}, {"source": "recorded"}, {"role": "person"}, {"test_items": {}}]
        for change in changes:
            (line,) = lines(fewer, decide=rule, **change)
            assert line == f"{name}: {len(fewer)} of {whole} items were asked, not those that its rule asks", change
        assert lines([], decide=rule) == [f"{name}: 0 of {whole} items were asked, not those that its rule asks"]
    declined = [replace(response, status="declined", text=None) for response in done.responses]
    assert lines(declined) == [], "a task that a subject cannot be asked"
    assert lines([declined[0], *done.responses[1:]]) == [f"{name}: 1 items were declined, of which no record shows why"]


@pytest.mark.parametrize(("rule", "is_found"), [("", True), ("look", True), ("none", False), ("drop", False)])
def test_only_rules_that_stop_ask_the_first_batches_alone(
    rule: str, is_found: bool, items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of planned looks all items are asked."""
    alone = ["samples=1,questions=one"]
    done = run(items, ["fake:oracle"], tmp_path / "run", conditions=alone, show_progress=False)
    card = read_run_card(done.root)
    card = card.model_copy(update={"arms": [card.arms[0].model_copy(update={"max_items": 99, "decide": rule})]})
    monkeypatch.setattr(omissions, "batches", lambda items, task, trials, order, most: [[trial] for trial in trials])
    assert bool(left_out(card, items, done.suite, done.responses[:1])) == is_found


def test_replies_under_one_condition_are_not_those_of_another(items: ItemSet, tmp_path: Path) -> None:
    """The card's columns say what an arm was shown, and follow from its condition."""
    done = run(items, ["fake:chance"], tmp_path / "run", show_progress=False, limit=2, conditions=["images=none"])
    path, card = done.root / "run.json", read_run_card(done.root)
    other = card.arms[0].model_copy(update={"columns": {**card.arms[0].columns, "images": "shuffled"}})
    path.write_text(card.model_copy(update={"arms": [other]}).model_dump_json())
    with pytest.raises(SnellenError, match="columns of fake:chance under images=none are not those of the condition"):
        check_card(done.root, read_run_card(done.root), items, done.suite)


def test_a_failure_takes_away_no_complete_reply(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, limit=2)
    (part,) = part_files(done.root)
    first, *_ = read_exchanges(done.root)
    with part.open("a") as file:
        file.write(line_of(replace(first, reply=None, error="timed out")))
    assert replay(done.root, items, done.suite, {}) == done.responses


def test_arms_without_a_record_and_missing_repeats_are_told(items: ItemSet, tmp_path: Path) -> None:
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False, repeats=2)
    card = read_run_card(done.root)
    second = card.model_copy(update={"arms": card.arms[1:]})
    responses = [response for response in done.responses if response.repeat == 1]
    repeats = "fake:oracle under vanilla: the repeats on the card are not all of them"
    assert left_out(card, items, done.suite, done.responses) == []
    assert left_out(second, items, done.suite, responses) == [repeats]
    arms = [card.arms[0].model_copy(update={"repeat": number}) for number in range(101)]
    with pytest.raises(SnellenError, match="101 arms without a record; more than 100 are refused"):
        left_out(card.model_copy(update={"arms": arms}), items, done.suite, [])


def test_a_run_with_failed_calls_is_whole(items: ItemSet, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text("{}")
    done = run(items, [f"fake:scripted={tmp_path / 'script.json'}"], tmp_path / "run", keep_going=True, limit=2)
    assert done.failed == len(done.responses) > 0
    assert verify(str(done.root), 0, None, None, None) == 0


@pytest.mark.parametrize("limit", [None, 10])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_answers_left_out_of_a_schedule_of_its_own_are_missed(
    tmp_path: Path, limit: int | None, concurrency: int
) -> None:
    """What a task of the thresholds asks next depends on the answers so far."""
    thresholds = bank(tmp_path / "bank")
    subject = observer(thresholds, "chat:a/b", concurrency, thresholds={"acuity": 6.0})
    arms = [Arm(subject, Condition(SUITES.get("thresholds").axes), decide="none")]
    responses = ask(tmp_path / "run", Plan(thresholds, SUITES.get("thresholds"), arms, limit=limit))
    card, suite = read_run_card(tmp_path / "run"), SUITES.get("thresholds")
    assert left_out(card, thresholds, suite, responses) == []
    for number in (0, len(responses) // 2, len(responses) - 1):
        (line,) = left_out(card, thresholds, suite, [*responses[:number], *responses[number + 1 :]])
        assert line.startswith(f"chat:a/b under vanilla, acuity: {len(responses) - 1} of {limit or 272} items")
    tested = [item for item in thresholds.items if item.split == "test"][:limit]
    schedule = suite.tasks["acuity"].schedule
    assert schedule is not None
    first = next(schedule(tested)([Trial((item.view(),)) for item in tested]))
    names = {view.item_id for trial in first for view in trial.views}
    fewer = [response for response in responses if response.item_id in names]
    for decide in ("", "none"):  # such a task has no other rule, so its first batches are not enough
        other = card.model_copy(update={"arms": [card.arms[0].model_copy(update={"decide": decide})]})
        assert left_out(other, thresholds, suite, responses) == []
        assert bool(left_out(other, thresholds, suite, fewer)) == (len(fewer) < len(responses))


@pytest.mark.parametrize("options", [{}, {"max_items": 24}, {"limit": 30}])
def test_what_is_asked_until_decided_is_the_first_part(items: ItemSet, tmp_path: Path, options: dict[str, Any]) -> None:
    done = run(
        items, ["fake:oracle", "fake:chance"], tmp_path / "run", show_progress=False, until_decided=True, **options
    )
    assert left_out(read_run_card(done.root), items, done.suite, done.responses) == []
