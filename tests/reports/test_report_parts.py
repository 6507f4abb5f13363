"""Parts of reports with more than one of each: subjects, kinds, runs, inputs, marks; all numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.comparison.deficits import Deficit, Findings, Preference, Property, Share
from snellen.analysis.comparison.groups import COUNTERPARTS
from snellen.analysis.comparison.verdicts import COLUMNS, Comparison, flips
from snellen.analysis.grading import states
from snellen.analysis.grading.coverage import Gap
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard
from snellen.core.storage.seal import SEALED
from snellen.reports import changes_page, figures, front_page, stamp
from snellen.reports.changes_page import change_lines, detection, shortages
from snellen.reports.citation import _conditions, _item_set, _reading
from snellen.reports.comparisons import _matrix_cell, _sentences, group_cells
from snellen.reports.conduct import _arm_summary, _prompt
from snellen.reports.deficit_words import sentences
from snellen.reports.examples import Thumbnail, Thumbs, marks
from snellen.reports.export import add_note, with_unasked, write_frame
from snellen.reports.front_page import AbilityName, GradedAbility, SubjectLine, _best_first, _line
from snellen.reports.loading import gather, of_subject
from snellen.reports.matrix import _worst_first
from snellen.reports.people import people_against
from snellen.reports.words import colour, probability, unread_notes
from snellen.scoring.protocols import ACCURACY
from tests.helpers.guard import run_of
from tests.reports.exam import SUITE, write_items

ERROR = Metric("error", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=None)
SHARE = Metric("near", lambda item, reply: 0.5)
NAN = math.nan
OF_SUITE: Any = SimpleNamespace(suite=SUITE)


def arm(subject: str, **cells: Any) -> ArmCard:
    usual: dict[str, Any] = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla",
                             "columns": {}, "repeat": 0, "role": "model"}  # fmt: skip
    return ArmCard(subject=subject, **usual | cells)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("report-parts") / "items", 4, tasks=("naming",))


# Changes


def _compared(*rows: dict[str, Any], margin: float = 0.2) -> Comparison:
    usual = {"condition": "vanilla", "kind": "task", "tasks": ("t",), "before": 0.5, "after": 0.4, "difference": -0.1,
             "low": -0.2, "high": 0.0, "n": 50, "clusters": 50, "p_holm": 0.25, "p_normal": False,
             "detectable_drop": 0.11, "verdict": "no clear change"}  # fmt: skip
    table = pd.DataFrame([{**usual, **row} for row in rows]).reindex(columns=list(COLUMNS))
    table[["grade_before", "grade_after"]] = table[["grade_before", "grade_after"]].astype(object).fillna("")
    metrics = {"t": ACCURACY, "u": ACCURACY, "v": ERROR}
    return Comparison("x", ("a", "b"), metrics, {"u": "short"}, table, flips({}, {}), 4, {}, (), margin)


def test_lines_of_changes_are_drops_then_rises_then_the_rest_with_signs_and_classes() -> None:
    tests = {"classes": 3, "class_low": -0.3, "class_high": 0.1, "class_p": 0.5}
    lines = change_lines(_compared(
        {"name": "t", "verdict": "too few clusters", "difference": 0.0, "detectable_drop": math.inf},
        {"name": "t", "grade_before": "some", "grade_after": "open: too few items", **tests},
        {"name": "v", "tasks": ("v",), "verdict": "rose", "before": 2.0, "after": 1.5, "difference": -0.5, "low": -1.0,
         "high": -0.1, "detectable_drop": NAN, "p_normal": True},
        {"name": "u", "tasks": ("u",), "verdict": "dropped", "condition": "k=1", "difference": 0.1, "p_holm": 0.0001},
        {"name": "hue", "tasks": ("t", "u"), "kind": "ability", "verdict": "dropped"},
    ))  # fmt: skip
    assert [(line.name, line.verdict, line.difference, line.p, line.detectable) for line in lines] == [
        ("hue (t, short)", "dropped", "−10", "0.25", "11"), ("short (u) [k=1]", "dropped", "+10", "< 0.001", "11"),
        ("v (lower is better) (normal p)", "rose", "−0.50", "0.25", "–"), ("t", "no clear change", "−10", "0.25", "11"),
        ("t", "too few clusters", "0", "0.25", "no drop"),
    ]  # fmt: skip
    assert (lines[2].before, lines[2].after, lines[2].span) == ("2.00", "1.50", "[-1.00, -0.10]")
    assert [line.classes for line in lines] == [""] * 3 + ["95 % interval [-30, 10], p 0.5 (3 classes)", ""]
    assert (lines[3].grade_before, lines[3].grade_after) == ("some", "open: too few items")


def test_what_could_have_been_found_is_told_of_all_tasks() -> None:
    t, u, v = {"name": "t"}, {"name": "u", "tasks": ("u",), "detectable_drop": 0.301}, {"name": "v", "tasks": ("v",)}
    sentence = "No drop found; a drop of {} would have been found in 8 of 10 such comparisons."
    assert detection(_compared(t, v)) == sentence.format("11 points or more")
    rows = t, u, {**u, "kind": "class", "detectable_drop": 0.9}
    assert detection(_compared(*rows)) == sentence.format("31 points or more in any task")
    blind = {**u, "detectable_drop": math.inf}
    assert detection(_compared(t, blind)) == "No drop found; none could have been found in short (u)."
    assert detection(_compared(v)) == "No drop found."
    few = [{**row, "items_needed": needed} for row, needed in ((t, 70.4), (u, 70.4), (v, math.inf))]
    assert list(shortages(_compared(*few, margin=0.05))) == [
        "This comparison could not have told a drop of 5 points in t, short (u): about 70 items are needed.",
        "This comparison could not have told a drop of 5 points in v: no number of items is enough.",
    ]


# Pairs, ranks and groups


def _pair(first: str, second: str, difference: float, **cells: Any) -> Any:
    usual = {"clear": True, "low": difference - 0.1, "high": difference + 0.2, "n": 50, "p_holm": 0.02, "clusters": 25,
             "family": "subjects", "too_few_clusters": False, "task": "naming", "protocol": "strict",
             "metric": "accuracy"}  # fmt: skip
    return {"first": first, "second": second, "difference": difference, **usual, **cells}


def test_each_arm_is_told_better_than_the_best_of_those_that_it_clearly_beats() -> None:
    pairs = {
        ("a", "b"): _pair("a", "b", 0.3, clear=False), ("a", "c"): _pair("a", "c", 0.4),
        ("a", "d"): _pair("a", "d", 0.5), ("b", "c"): _pair("b", "c", -0.2),
        ("c", "d"): _pair("c", "d", 0.01, p_holm=0.0),
    }  # fmt: skip
    differences = list(
        _sentences(list("abcd"), {key: SimpleNamespace(**pair) for key, pair in pairs.items()}, ACCURACY)
    )
    assert [(entry.better, entry.worse, entry.by, entry.span, entry.p) for entry in differences] == [
        ("a", "c", "40 points", "[30, 60]", "0.02"), ("c", "d", "1 point", "[9, 21]", "< 0.001"),
    ]  # fmt: skip
    cells = [_matrix_cell(SimpleNamespace(**_pair("a", "b", gap, clear=clear)), metric)
             for gap, clear, metric in ((0.3, True, ACCURACY), (-0.3, True, ACCURACY), (-0.3, False, ACCURACY),
                                        (0.3, True, ERROR), (-0.3, True, ERROR))]  # fmt: skip
    assert cells == [("+30", 1), ("−30", -1), ("−30", 0), ("+0.30", -1), ("−0.30", 1)]


def test_groups_and_people_are_told_with_signs_verdicts_and_sides() -> None:
    sides = {"subjects_first": 2, "subjects_second": 3}
    rows = [_pair("open", "closed", 0.3, family="weights", **sides),
            _pair("yes", "no", -0.3, family=COUNTERPARTS, clear=False, **sides),
            _pair("x", "y", 0.0, family="weights", too_few_clusters=True, clear=False, **sides)]  # fmt: skip
    assert group_cells(OF_SUITE, pd.DataFrame(rows)).to_numpy().tolist() == [
        ["naming", "weights", "open (2)", "closed (3)", "+30 [20, 50]", "0.02", "clear"],
        ["naming", "reasoning", "yes (2)", "no (3)", "−30 [-40, -10]", "0.02", "not clear"],
        ["naming", "weights", "x (2)", "y (3)", "0 [-10, 20]", "0.02", "too few clusters"],
    ]
    arms = [arm("human:eyes", role="person"), arm("human:eyes", role="person", condition="k=1"), arm("m"),
            arm("fake:x", role="simulated")]  # fmt: skip
    people, other = "human:eyes", "human:eyes [k=1]"
    pairs = [_pair(people, "m", 0.3), _pair("m", people, 0.3, clear=False), _pair(people, other, 0.1),
             _pair("fake:x", people, 0.1, family="simulated")]  # fmt: skip
    run: Any = SimpleNamespace(suite=SUITE, card=SimpleNamespace(arms=arms))
    expected = [
        ["naming", people, "m", 50, 25, "+30 [20, 50]", "0.02", "clear"],
        ["naming", people, "m", 50, 25, "−30 [-50, -20]", "0.02", "not clear"],
    ]
    assert people_against(run, pd.DataFrame(pairs)).to_numpy().tolist() == expected
    simulated = people_against(run, pd.DataFrame(pairs[2:]))
    assert simulated.iloc[:, 1:3].to_numpy().tolist() == [[people, "fake:x"]], "there are no others"


# The front page


def square(task: str, progress: float, word: str = "", state: str = "", reason: str = "", **more: Any) -> GradedAbility:
    row = ResultRow(task=task, grade=Grade(word, state, reason), failure_rate=more.pop("failed", 0.0))
    return GradedAbility("s", task, progress, row=row, about=AbilityName(task.upper()), **more)


def test_questions_are_in_the_column_of_their_grade_and_what_was_not_asked_has_its_reason() -> None:
    hard, some = square("h", 0.1, "none", number="1 %"), square("s", 0.6, "some", number="2 %")
    most, part = (
        square("m", 0.7, "most", number="3 %"),
        square("d", 0.2, "", states.DECLINED, states.IN_PART, number="5"),
    )
    still = square("o", 0.5, state="open", reason="too few items", number="4 %")
    declined = [square(name, NAN, "", states.DECLINED, states.ALL, declined="no text") for name in "rq"]
    unasked = [square("n", NAN, "", states.NOT_ASKED, states.NEVER), *declined]
    of_all = SubjectLine("a", "user", (some, most, hard, still, part, *unasked), (), "")
    columns = {group: [entry.ability for entry in of_all.abilities(group)] for group in front_page.GROUPS}
    assert columns == {"hardly beyond guessing": ["h"], "beyond guessing": ["s", "m"], "open": ["o"], "no grade": ["d"],
                       "not asked": ["n", "q", "r"]}  # fmt: skip
    assert of_all.unasked() == ["Not asked: N", "Declined: no text: Q · R"]
    assert (of_all.decided, of_all.scores, len(of_all.with_scores())) == (3, 5, 5)
    assert (still.reason, part.reason, some.reason) == ("too few items", "partly declined", "")
    # (2 beyond - 1 hardly) of 5 with a score, and a mean progress of 2.1 / 5.
    assert _best_first(of_all) == pytest.approx((-1 / 5, -2.1 / 5))
    keys = [_worst_first([entry]) for entry in (hard, still, part, some, most)]
    assert keys == sorted(keys)
    assert _worst_first([unasked[0], some]) > _worst_first([some, hard])


def test_a_bar_has_room_for_a_twentieth_beyond_guessing_and_people() -> None:
    """It goes from -0.05 to 1.05: guessing (0) is drawn at .05 / 1.1 = 4.5 %, people (1) at 1.05 / 1.1 = 95.5 %."""
    assert square("t", 0.5, low=0.0, high=1.0).positions == (50.0, 4.5, 95.5)
    assert square("t", 0.225, low=-0.05, high=1.05).positions == (25.0, 0.0, 100.0)
    assert square("t", 2.0, low=-0.2, high=9.0).positions == (100.0, 0.0, 100.0)
    assert square("t", 0.5).positions == pytest.approx((50.0, NAN, NAN), nan_ok=True)


def test_a_subject_is_told_the_newest_check_its_own_gaps_and_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def sight(root: str, fingerprint: str) -> Any:
        check = SimpleNamespace(date=root[-1], words=lambda: root, faults=lambda: [f"fault {root}"])
        return check if fingerprint == "chat:a" else None

    monkeypatch.setattr(front_page, "sight_of", sight)
    arms = [arm("chat:a"), arm("chat:b")]
    run = SimpleNamespace(card=SimpleNamespace(arms=arms), roots=["run-2", "run-3", "run-1"])
    gaps = [Gap("chat:a", "vanilla", "t", 2, 9), Gap("chat:b", "vanilla", "u", 1, 9)]
    part: Any = SimpleNamespace(title="s", run=run, gaps=gaps, ability=lambda task: AbilityName(task.upper()))
    unjudged = square("v", 0.5, "", states.NOT_ASKED, states.UNJUDGED, failed=0.25)
    grades = [square("t", 0.5, failed=0.125), unjudged]
    first, second = (_line(entry.subject, grades, [], [(part, ("t", "u", "v"))]) for entry in arms)
    assert (first.sight, first.faults, second.sight, second.faults) == ("run-3", ("fault run-3",), "", ())
    assert ("t 7 of 9" in first.partial, "u 8 of 9" in first.partial) == (True, False)
    assert ("t 7 of 9" in second.partial, "u 8 of 9" in second.partial) == (False, True)
    assert first.partial.endswith("Items without a score because their calls failed: 12.5 % of “T”.")
    assert [entry.ability for entry in first.grades] == ["t", "v", "u"]


# Runs and stamps


def test_runs_of_one_set_are_joined_and_a_subject_is_renamed_only_if_its_arm_was_there(items: ItemSet) -> None:
    table = pd.DataFrame({"subject": ["chat:model"], "value": [0.5]})
    conditions = [{name: "original"} for name in ("vanilla", "k=1", "vanilla")]
    runs = [run_of(items, lambda item: 1.0, tasks=("naming",), conditions=condition) for condition in conditions]
    runs = [replace(run, results=table, roots=(Path(f"r{n}"),)) for n, run in enumerate(runs)]
    (exam,) = gather(runs)
    expected = ["chat:model", "chat:model", "chat:model (run 3)"]
    joined = exam.joined
    assert [entry.subject for entry in joined.card.arms] == list(joined.results["subject"]) == expected
    assert joined.scores["strict"]["subject"].value_counts().to_dict() == {"chat:model": 8, "chat:model (run 3)": 4}
    assert joined.roots == (Path("r0"), Path("r1"), Path("r2"))
    alone = of_subject(joined, "chat:model (run 3)")
    assert [len(alone.card.arms), len(alone.results), len(alone.scores["strict"])] == [1, 1, 4]
    other = replace(runs[1], card=runs[1].card.model_copy(update={"content_hash": "other"}))
    with pytest.raises(SnellenError, match=r"r1 and r0: item sets of the same recipe, but with different items"):
        gather([runs[0], other])
    apart = replace(other, card=other.card.model_copy(update={"recipe_hash": "other"}))
    assert [len(each.runs) for each in gather([runs[0], apart, runs[2]])] == [2, 1]


@pytest.mark.parametrize("changed", ["", "run", "items", "inputs", "options", "code"])
def test_a_stamp_depends_on_everything_that_a_report_is_made_from(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stamped(changed: str) -> str:
        monkeypatch.setattr(stamp, "read_run_card", lambda root: SimpleNamespace(itemset="items"))
        monkeypatch.setattr(stamp, "tree_digest", lambda path: f"{path} {changed == str(path)}")
        monkeypatch.setattr(stamp, "code_digest", lambda: str(changed == "code"))
        return stamp.report_stamp([Path("run")], {"full": changed == "options"}, {"tags": Path("inputs")})

    assert (stamped(changed) == stamped("")) is (changed == "")


# Words, files and run details


def test_each_grade_has_its_colour() -> None:
    words = {"none": "below", "some": "part", "most": "above", "nearly all right": "above"}
    assert {word: colour(Grade(word, "", "")) for word in words} == words
    stated = [(states.OPEN, states.TOO_FEW), (states.FAILED, states.ALL), (states.NOT_ASKED, states.NEVER)]
    assert [colour(Grade("", *state)) for state in stated] == ["same", "same", "none"]


def test_numbers_have_notes_on_what_was_not_read() -> None:
    row = ResultRow(value=0.5, n=10, no_answer_rate=0.1, cut_off_rate=0.004, value_answered=0.625)
    assert unread_notes(row, SHARE) == ["no answer 10 %", "cut off < 1 %", "of what was read 62 %"]
    assert unread_notes(replace(row, no_answer_rate=0.0), SHARE) == ["cut off < 1 %", "of what was read 62 %"]
    assert unread_notes(replace(row, value_answered=NAN), SHARE) == ["no answer 10 %", "cut off < 1 %"]
    assert unread_notes(replace(row, no_answer_rate=0.0, cut_off_rate=0.0), SHARE) == []
    assert [probability(p) for p in (NAN, 0.0009, 0.001, 0.0456, 1.0)] == ["–", "< 0.001", "0.001", "0.046", "1"]


def test_what_was_not_asked_is_counted_for_its_own_rows_alone() -> None:
    usual = {"suite": "s", "subject": "a", "condition": "vanilla", "task": "t"}
    rows = pd.DataFrame([usual, *({**usual, name: "other"} for name in usual)])
    gaps = {"s": [Gap("a", "vanilla", "t", 2, 9), Gap("a", "vanilla", "t", 3, 9)]}
    assert with_unasked(rows, gaps)["unasked"].tolist() == [5, 0, 0, 0, 0]
    assert "unasked" not in with_unasked(rows, {"s": []})


def test_a_table_is_written_in_three_forms_and_its_note_stands_below_two_of_them(tmp_path: Path) -> None:
    for name in ("mine-main", "other-main"):
        write_frame(tmp_path, name, pd.DataFrame({"who": ["a_b"], "x": [0.123456], "y": [None]}))
    add_note(tmp_path, "mine", "2 % left")
    texts = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert texts["mine-main.csv"] == texts["other-main.csv"] == "who,x,y\na_b,0.123456,\n"
    assert texts["mine-main.md"] == "| who | x | y |\n| --- | --- | --- |\n| a_b | 0.1235 |  |\n\n2 % left\n"
    assert texts["mine-main.tex"].startswith("\\begin{tabular}{lrr}\n\\toprule\nwho & x & y \\\\\n\\midrule\na\\_b & ")
    assert texts["mine-main.tex"].endswith("\\bottomrule\n\\end{tabular}\n\\par{\\footnotesize 2 \\% left}\n")
    assert "left" not in texts["other-main.md"] + texts["other-main.tex"]


def test_an_arm_has_the_sums_of_its_calls_and_what_they_cost() -> None:
    calls = pd.DataFrame({
        "tokens_in": [1000, 3000, 0], "tokens_out": [200, 300, 0], "seconds": [1.5, 2.0, 0.5],
        "stop": ["end", "length", None], "model": ["m-2", "m-1", ""],
    })  # fmt: skip
    card = arm("chat:m", attributes={"price_in": "10", "price_out": "100"}, settings={"seed": 1}, columns={"shots": 2})
    summary = _arm_summary(card, "chat:m [x]", 3, calls, "as told")
    assert (summary.arm, summary.repeats, summary.calls, summary.forms) == ("chat:m [x]", 3, 3, "as told")
    # 4000 at 10 and 500 at 100 per million.
    assert (summary.tokens_in, summary.tokens_out, summary.seconds, summary.cost) == (4000, 500, 4.0, "0.0900")
    texts = summary.settings, summary.axes, summary.attributes, summary.model, summary.stops
    assert texts == ("seed 1", "shots 2", "price_in 10, price_out 100", "m-1, m-2", "length 1")


def test_a_failure_is_told_apart_from_a_weakness_at_each_kind_of_property() -> None:
    """A share whose interval ends below a quarter of the way is a failure, unless its tasks are all undecided."""
    low, edge, high = (Share(0.1, 0.0, -0.1, end, 20, 0.25) for end in (0.2, 0.25, 0.5))
    words = {
        Property("count", "12"): ("does not count beyond 12", "is worse at counting beyond 12"),
        Property("true", "statement"): ("says no too readily", "tends to say no"),
        Property("image", "2"): ("ignores the second image", "makes little use of the second image"),
        Property("factor", "size", "small"): ("fails where the size is small", "is worse where the size is small"),
    }
    for key, (failure, weakness) in words.items():
        for share, undecided, expected in ((low, (), failure), (edge, (), weakness), (high, (), weakness),
                                           (low, ("t",), failure), (low, ("t", "u"), weakness)):  # fmt: skip
            findings = Findings((Deficit((key,), share, high, frozenset("tu"), 14),))
            assert sentences(findings, undecided)[0].startswith(f"{expected} ("), (key, share)
    for position, name in ((9, "J (the tenth)"), (10, "11")):
        (sentence,) = sentences(Findings((), Preference(position, 6, 9, 2.25)))
        assert sentence == (
            f"prefers option {name}: 6 of 9 wrong answers that could take it did, 2.2 expected by chance"
        )


def test_examples_have_marks_by_outcome() -> None:
    outcomes = ["answered", "answered", "no_answer", "cut_off", "failed", "not_applicable"]
    table = pd.DataFrame({"outcome": outcomes, "value": [1.0, 0.0, 0.0, 0.0, NAN, NAN]})
    silent = ["no answer", "cut off", "failed", "declined"]
    assert marks(table, 1.0) == ["right", "wrong", *silent]
    assert marks(table, 0.0) == ["wrong", "right", *silent]
    assert marks(table.assign(value=[0.5, 0.25, 0.25, 0.25, NAN, NAN]), 1.0) == ["partly, high", "partly, low", *silent]


def _run(*arms: ArmCard, **cells: Any) -> Any:
    return SimpleNamespace(card=SimpleNamespace(arms=list(arms), limit=None), _memo={}, **cells)


def test_how_subjects_were_asked_is_told_of_each_of_them() -> None:
    plain, other = arm("chat:m"), arm("chat:m", condition="shots=2", repeat=1)
    assert _conditions(_run(plain)) == ["They were asked under the condition vanilla."]
    assert _conditions(_run(plain, other)) == [
        "They were asked under the conditions vanilla and shots=2, 2 times each."
    ]
    recorded = arm(subject="recorded:x", source="recorded")
    (alone,) = _conditions(_run(recorded))
    assert alone.startswith("Their answers were recorded elsewhere")
    assert _conditions(_run(plain, recorded))[1:] == ["The answers of recorded:x were recorded elsewhere."]
    limited = _run(plain)
    limited.card.limit = 7
    assert _conditions(limited)[1:] == ["Only the first 7 test items of each task were asked."]
    for rule, words in (("none", "until its result was decided (none)"), ("look", "looked at after planned numbers")):
        (sentence,) = _conditions(_run(plain, arm("chat:m", decide=rule)))[1:]
        assert words in sentence


def test_replies_that_were_cut_off_or_failed_are_counted_once_per_item_and_repeat() -> None:
    outcomes = ["answered", "answered", "no_answer", "cut_off", "cut_off", "failed"]
    rows = [
        {"subject": "chat:m", "condition": "vanilla", "repeat": n % 2, "item_id": str(n // 2), "outcome": outcome}
        for n, outcome in enumerate(outcomes)
    ]
    observer = [{**row, "subject": "fake:oracle"} for row in rows]
    scores = pd.DataFrame([*rows, *rows, *observer])  # by two metrics
    run = _run(arm("chat:m"), arm("fake:oracle", role="simulated"), scores={"strict": scores})
    read, cut, failed = _reading(run)
    assert "(1 of 5 replies, 20 %)" in read
    assert cut.startswith("2 replies were cut off at the token limit")
    assert failed == "1 calls failed and are not scored."


def test_figures_whose_layout_differs_in_the_last_bits_have_the_same_bytes(tmp_path: Path) -> None:
    """As in two processes, in which matplotlib names the parts of a figure differently."""
    from matplotlib.figure import Figure

    for name, left in (("a", 0.1), ("b", 0.1 + 1e-15)):
        figure = Figure(figsize=(2, 2))
        axes = figure.add_axes((left, 0.1, 0.8, 0.8))
        axes.plot([1, 2], [2, 1], "o-")
        axes.set_axis_off()
        figures.save(figure, tmp_path, name, formats=("svg",))
    first, second = ((tmp_path / f"{name}.svg").read_bytes() for name in "ab")
    assert first == second
    assert b"clip-path" in first


def test_items_are_described_by_recipe_seed_and_renderer() -> None:
    card: dict[str, Any] = {"source": "generated", "rows_hash": "r1", "content_hash": "c1", "provenance": {}}
    renderer: dict[str, Any] = {"renderer": "toy", "size_px": [160, 120]}
    versions = {"render": {"versions": {"toy": "2.1", "other": "9"}}}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, " (rows hash r1)."), ({"seed": 0}, {"rows_hash": ""}, " from seed 0 (rows hash c1)."),
        ({"seed": 4, SEALED: "abc"}, {}, " from a secret seed, sealed with the commitment abc (rows hash r1)."),
        (renderer, {}, ", with images of 160 x 120 pixels by toy (rows hash r1)."),
        (renderer | {"quality": 80}, {"provenance": versions},
         ", with images of 160 x 120 pixels by toy 2.1, quality 80 (rows hash r1)."),
        (renderer, {"provenance": {"render": "x"}}, " (rows hash r1)."),
    ]  # fmt: skip
    for recipe, changed, end in cases:
        items = SimpleNamespace(card=SimpleNamespace(**card | changed, recipe=recipe))
        assert _item_set(_run(items=items)) == f'The items were made by the recipe "generated"{end}'


def test_the_parts_of_a_prompt_are_told_apart() -> None:
    parts = ["Look.", {"media": "a.png"}, {"media": "b.mp4"}, {"montage": [{}, {}, {}]}, {"reply": "B"}, "Why?"]
    lines = ["Look.", "[image]", "[video]", "[3 images laid out as one]", "[earlier reply] B", "Why?"]
    assert _prompt(parts).split("\n") == lines


def test_flips_to_worse_come_first_and_the_table_counts_those_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_page, "MAX_FLIPS", 4)
    rows = [("t", True), ("u", False), ("u", True), ("u", True), ("t", False), ("u", False), ("v", True)]
    flipped = pd.DataFrame([
        {"condition": f"c{n}", "task": task, "item_id": f"i{n}", "before": 0.0, "after": 1.0, "is_better": is_better}
        for n, (task, is_better) in enumerate(rows)
    ])  # fmt: skip
    tasks = list(changes_page.flips_by_task(flipped, lambda row: row.item_id, str.upper))
    assert [(title, worse, better) for title, worse, better, _ in tasks] == [("U", 2, 2), ("T", 1, 1), ("V", 0, 1)]
    cards_by_task: Any = [[(card.condition, card.is_better, card.example) for card in cards] for *_, cards in tasks]
    assert cards_by_task == [[("c1", False, "i1"), ("c5", False, "i5")], [("c4", False, "i4"), ("c0", True, "i0")], []]


def test_the_number_of_images_beyond_the_first_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thumbs, "shot", lambda thumbs, image: image)
    thumbs = Thumbs(_run(items=SimpleNamespace(media=None)), Path())
    images: Any = tuple(range(26))
    assert thumbs.shots(images) == (*images[:24], Thumbnail("", "and 2 more", 0, 0))
    assert thumbs.shots(images[:24]) == images[:24]


def test_a_damaged_video_has_a_note_and_a_damaged_image_is_an_error(tmp_path: Path) -> None:
    thumbs = Thumbs(_run(items=SimpleNamespace(media=MediaFolder(tmp_path))), tmp_path)
    clip = Media("a" * 64, "video", "mp4", 64, 48, seconds=2.46)
    assert thumbs.shots((clip, clip)) == (Thumbnail("", "video, 2.5 s, 64 × 48", 0, 0),) * 2
    with pytest.raises(SnellenError):
        thumbs.shot(Media("b" * 64, "image", "png", 64, 48))
