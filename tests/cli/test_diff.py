"""`snellen diff`: exit codes, named drops, and its page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from PIL import Image

from snellen.analysis.comparison.changes import changes
from snellen.analysis.comparison.unpaired import UnpairedChange
from snellen.analysis.tables.section import Run
from snellen.cli import diff
from snellen.cli.diff import _guard
from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.itemset_cards import Instalment
from snellen.exam.compare import run_of_subject
from snellen.exam.run import run
from snellen.reports.changes_page import change_lines, render_changes
from snellen.suites import SUITES
from snellen.suites.vfm_bench.own.recipe import Own
from tests.goldens.golden import assert_golden
from tests.helpers.guard import run_of
from tests.helpers.own_images import class_folders
from tests.helpers.sets import undrawn_set
from tests.reports.exam import write_items

Command = Callable[..., tuple[int, str, str]]
HOSTILE = """</script><img src=x onerror=alert(1)>=HYPERLINK("http://x")\u202e"""
ORACLE, BLIND, UNREADABLE = "fake:oracle", "fake:blind-to=colour", "fake:constant=none"


@pytest.fixture(scope="module")
def run_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle and a colour-blind observer on ten objects with seven questions each, rendered blank."""
    folder = tmp_path_factory.mktemp("diff")
    items = undrawn_set(SUITES.get("combo"), folder, seed=1, test_items=10, tasks=("pattern-perception",))
    run(read_itemset(items.root), [ORACLE, BLIND], folder / "run", show_progress=False)
    return folder / "run"


def test_a_drop_has_its_own_exit_code(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = "diff", f"{run_root}:{ORACLE}", f"{run_root}:{BLIND}", "--out", page
    code, out, err = snellen(*words)
    assert (code, err) == (0, "")
    assert "Dropped: colour (parts of an object)\n" in out
    assert "material" in out
    code, out, _ = snellen(*words, "--fail-on", "drop", "--json")
    assert code == 4
    compared = json.loads(out)
    assert compared["dropped"] == ["colour (pattern-perception)"]
    assert (compared["before"], compared["after"], compared["rose"]) == (ORACLE, BLIND, [])
    assert all(flip["before"] == 1.0 and flip["after"] == 0.0 for flip in compared["flips"])
    back = snellen("diff", f"{run_root}:{BLIND}", f"{run_root}:{ORACLE}", "--out", page, "--fail-on", "drop")
    assert back[0] == 0
    assert "Rose: colour" in back[1]


def test_a_drop_outweighs_what_could_not_be_compared() -> None:
    for dropped, undecided, code in ((["a"], 3, 4), (["a"], 0, 4), ([], 3, 1)):
        with pytest.raises(typer.Exit) as end:
            _guard("drop", dropped, undecided)
        assert end.value.exit_code == code
    _guard("drop", [], 0)
    _guard(None, ["a"], 3)


def test_the_page_loads_nothing_and_runs_no_script(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    snellen("diff", f"{run_root}:{ORACLE}", f"{run_root}:{BLIND}", "--out", page)
    text = page.read_text("utf-8")
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "Dropped: " in text
    assert text.count("<article>") == text.count("data:image/jpeg") > 0
    assert "fake:blind-to=colour" in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_subject_compared_with_itself_shows_no_drop(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    subject = f"{run_root}:{ORACLE}"
    code, out, _ = snellen("diff", subject, subject, "--out", tmp_path / "p.html", "--fail-on", "drop", "--json")
    compared = json.loads(out)
    assert (code, compared["flips"], compared["dropped"]) == (0, [], [])
    assert set(compared["unpaired"].values()) == {0}


def test_incomparable_runs_are_refused_in_one_line(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    other = undrawn_set(SUITES.get("thresholds"), tmp_path, seed=2, test_items=2, tasks=("acuity",))
    run(other, [ORACLE], tmp_path / "other", show_progress=False)
    subject = f"{run_root}:{ORACLE}"
    cases = (
        ((run_root, subject), f"write {run_root}:SUBJECT"),
        ((f"{run_root}:fake:oracl", subject), "did you mean 'fake:oracle'"),
        ((tmp_path / "nowhere", subject), "is neither a run nor a log"),
        ((subject, tmp_path / "other"), "have different items"),
        ((subject, subject, "--fail-on", "rise"), "only 'drop'"),
    )
    for words, message in cases:
        code, out, err = snellen("diff", *words, "--out", tmp_path / "p.html")
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert message in err
    assert not (tmp_path / "p.html").exists()


def test_other_answers_are_other_items_whatever_the_card_says(run_root: Path) -> None:
    first = run_of_subject(f"{run_root}:{ORACLE}")
    (item, *rest), card = first.items.items, first.card.model_copy(update={"content_hash": "0" * 64})
    instalments = [Instalment(items=1, content_hash=digit * 64, rows_hash="a") for digit in "01"]
    set_cards = [first.items.card.model_copy(update={"instalments": (instalment,)}) for instalment in instalments]
    in_instalments = replace(first, items=replace(first.items, card=set_cards[0]))
    assert item.split == "test"
    other_key = next(option.key for option in item.options if option.key != item.answer)
    fields: list[dict[str, Any]] = [{"answer": other_key}, {"question": "?"}, {"options": item.options[::-1]}]
    for field in ({}, *fields, {"item_id": "?"}):
        items = replace(first.items, items=(replace(item, **field), *rest))
        assert first.has_items_of(replace(first, items=items, card=card)) is (not field)
        other = replace(first, items=replace(items, card=set_cards[1]))  # with the same card of the run
        assert in_instalments.has_items_of(other) is (not field)
        assert not in_instalments.has_images_of(other)


def test_items_without_a_partner_are_reported(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    items = read_itemset(run_root.parent / "combo-10-seed1-undrawn")
    run(items, [ORACLE], tmp_path / "part", limit=5, show_progress=False)
    words = "diff", f"{run_root}:{ORACLE}", tmp_path / "part", "--out", tmp_path / "p.html"
    code, out, _ = snellen(*words, "--fail-on", "drop")
    assert code == 1
    assert "items unpaired" in out
    assert "Too few clusters for a test: " in out
    assert snellen(*words)[0] == 0


def own_run(folder: Path, count: int, *, near_copies: str = "drop") -> Path:
    """The oracle and a subject without a readable answer on own images, `count` of each of two classes."""
    images = class_folders(folder / "images", count, "good", "scratch")
    if near_copies == "keep":  # one image of each class is a darker copy of another
        for label in ("good", "scratch"):
            pixels = np.asarray(Image.open(images / label / "0.png")) // 2
            Image.fromarray(pixels).save(images / label / "1.png")
    items = Own().build(
        BuildOptions(folder / "set", sources={"images": images}, settings={"near-copies": near_copies},
                     show_progress=False)
    )  # fmt: skip
    run(items, [ORACLE, UNREADABLE], folder / "run", show_progress=False)
    return folder / "run"


def test_own_images_of_two_classes_can_drop(snellen: Command, tmp_path: Path) -> None:
    root, page = own_run(tmp_path, 19), tmp_path / "page.html"
    words = "diff", f"{root}:{ORACLE}", f"{root}:{UNREADABLE}", "--out", page, "--fail-on", "drop"
    code, out, _ = snellen(*words)
    assert code == 4
    assert "Dropped: new kinds from examples (fast-mapping); class good; class scratch\n" in out
    assert "p is one-sided" in out
    name = "new kinds from examples (fast-mapping)"
    assert f"For new classes, {name}: 95 % interval [-100, 64], p 0.5 (2 classes)." in " ".join(out.split())
    assert "[-100, 64], p 0.5 (2 classes)" in page.read_text("utf-8")
    compared = json.loads(snellen(*words, "--json")[1])
    row, *classes = compared["rows"]
    assert (row["p"], row["class_p"], row["clusters"], row["classes"]) == (pytest.approx(0.5**38), 0.5, 38, 2)
    # A class has no test for new classes. Its p is corrected for two classes, and that of the task for one task.
    expected = [(name, "class", pytest.approx(2 * 0.5**19), None) for name in ("good", "scratch")]
    assert [(row["name"], row["kind"], row["p_holm"], row["class_p"]) for row in classes] == expected
    assert row["p_holm"] == row["p"]
    assert (row["detectable_drop"], compared["margin"], compared["undetectable"]) == (0.2, 0.2, {})


@pytest.mark.slow
def test_a_guard_that_could_not_have_told_a_drop_fails(snellen: Command, tmp_path: Path) -> None:
    root, page = own_run(tmp_path, 12), tmp_path / "page.html"
    words = "diff", f"{root}:{ORACLE}", f"{root}:{ORACLE}", "--out", page
    sentence = "No drop found; a drop of {} points or more would have been found in 8 of 10 such comparisons."
    # Noise of half an image: 24 images detect 31 points (binomial distribution), and 20 points need 37.
    code, out, _ = snellen(*words)
    assert (code, sentence.format(31) in " ".join(out.split()), "could not have told" in out) == (0, True, False)
    code, out, _ = snellen(*words, "--fail-on", "drop")
    assert code == 1
    name = "new kinds from examples (fast-mapping)"
    expected = f"This comparison could not have told a drop of 20 points in {name}: about 37 images are needed."
    assert expected in " ".join(out.split())
    assert sentence.format(31) in page.read_text("utf-8")
    assert expected in page.read_text("utf-8")
    assert snellen(*words, "--fail-on", "drop", "--margin", "40")[0] == 0
    compared = json.loads(snellen(*words, "--fail-on", "drop", "--margin", "10", "--json")[1])
    assert (compared["margin"], list(compared["undetectable"])) == (0.1, ["fast-mapping"])
    for wrong in (("--margin", "20"), ("--margin", "0", "--fail-on", "drop")):
        code, _, err = snellen(*words, *wrong)
        assert (code, "points above 0 and up to 100, and --fail-on drop" in err) == (2, True)


def test_near_copies_that_were_kept_are_one_image(snellen: Command, tmp_path: Path) -> None:
    root, words = own_run(tmp_path, 8, near_copies="keep"), ("--out", tmp_path / "page.html", "--json")
    rows = json.loads(snellen("diff", f"{root}:{ORACLE}", f"{root}:{UNREADABLE}", *words)[1])["rows"]
    assert [(row["n"], row["clusters"]) for row in rows] == [(16, 14), (8, 7), (8, 7)]


def worse_at_dents(folder: Path) -> tuple[str, str]:
    """Two subjects on 60 own images: the second finds 7 instead of 15 of 20 dents, and has two fewer false alarms."""
    images = class_folders(folder / "images", 20, "good", "scratched", "dented")
    items = Own().build(BuildOptions(folder / "set", sources={"images": images}, show_progress=False))
    wrong = {"good": "dented", "scratched": "good", "dented": "good"}
    subjects = []
    for name, right in (("former", (18, 20, 15)), ("current", (20, 20, 7))):
        script: dict[str, str] = {}
        for label, count in zip(wrong, right, strict=True):
            of_class = [item.item_id for item in items.items if item.factors["class"] == label]
            script |= {item_id: label if n < count else wrong[label] for n, item_id in enumerate(of_class)}
        (folder / f"{name}.json").write_text(json.dumps(script))
        run(items, [f"fake:scripted={folder / name}.json"], folder / name, show_progress=False)
        subjects.append(str(folder / name))
    return subjects[0], subjects[1]


def test_a_drop_in_one_class_fails_the_guard(snellen: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = "diff", *worse_at_dents(tmp_path), "--out", page, "--fail-on", "drop"
    code, out, _ = snellen(*words)
    assert code == 4
    assert "Dropped: class dented\n" in out
    assert "class dented" in page.read_text("utf-8")
    rows = {row["name"]: row for row in json.loads(snellen(*words, "--json")[1])["rows"]}
    # In all, 8 of 10 flips are to worse: 1 + 10 + 45 of 1024. Of dents 8 of 8, corrected for three classes.
    assert (rows["fast-mapping"]["p_holm"], rows["fast-mapping"]["verdict"]) == (56 / 1024, "no clear change")
    assert (rows["dented"]["p_holm"], rows["dented"]["verdict"]) == (pytest.approx(3 / 256), "dropped")
    # Two of two flips to better: 1 of 4, corrected for the two classes that are left.
    assert (rows["good"]["p_holm"], rows["good"]["verdict"]) == (0.5, "no clear change")


def test_the_table_fits_into_80_columns(snellen: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = own_run(tmp_path, 19)
    words = "diff", f"{root}:{ORACLE}", f"{root}:{UNREADABLE}", "--out", tmp_path / "page.html"
    monkeypatch.setenv("COLUMNS", "80")
    lines = snellen(*words)[1].splitlines()
    assert max(map(len, lines[: lines.index("Tested by image: p is one-sided, in the direction of the change.")])) <= 80
    heads = next(line for line in lines if "detects" in line)
    assert heads.split() == ["before", "after", "change", "interval", "p", "n", "detects"]
    row = next(line for line in lines if line.startswith("new kinds"))
    # 38 differences of -1: a variance of 2 / 40 with two units of variance 1, half a width 1.95996 * sqrt(0.05 / 40).
    assert row.split()[-11:] == ["100", "%", "0", "%", "−100", "[-100,", "-93]", "<", "0.001", "38", "20"]
    assert len(row) == len(heads) <= 80


def test_the_direction_of_a_score_is_stated_where_lower_is_better(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 20)

    def errors(least: float) -> Run:
        def score(item: Item) -> float:
            return least * (1 + int(item.item_id[-1]) / 10) if item.task == "sizing" else 1.0

        return run_of(items, score, tasks=("sizing", "finding"))

    runs = errors(0.1), errors(0.5)
    names = {line.name: line.verdict for line in change_lines(changes(*runs))}
    assert names["sizing (lower is better)"] == "dropped"
    assert set(names) == {"sizing (lower is better)", "finding"}
    assert "sizing (lower is better)" in render_changes(changes(*runs))


def test_generated_sets_have_a_margin_only_on_request(snellen: Command, run_root: Path, tmp_path: Path) -> None:
    words = "diff", f"{run_root}:{ORACLE}", f"{run_root}:{ORACLE}", "--out", tmp_path / "p.html", "--fail-on", "drop"
    code, out, _ = snellen(*words, "--margin", "5")
    assert (
        code,
        "could not have told a drop of 5 points in parts of an object (pattern-perception): about"
        in " ".join(out.split()),
    ) == (
        1,
        True,
    )
    assert "items are needed" in " ".join(out.split())
    assert snellen(*words)[0] == 0


def test_foreign_texts_are_escaped(run_root: Path) -> None:
    """A reply that contains markup and a right-to-left override."""
    sides = [run_of_subject(f"{run_root}:{name}") for name in (ORACLE, BLIND)]
    hostile = [
        replace(each, responses=tuple(replace(response, text=HOSTILE) for response in each.responses)) for each in sides
    ]
    text = render_changes(changes(*hostile))
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;=HYPERLINK" in text
    assert "<img src=x" not in text
    assert "\u202e" not in text


def test_scores_of_two_sets_are_printed_with_the_drops_that_may_be_missed(
    run_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drop, a rise that could have been a smaller drop, a score without a test, and one with failed calls."""
    monkeypatch.setenv("COLUMNS", "100")
    side = run_of_subject(f"{run_root}:{ORACLE}")
    cells = {
        "vanilla": (0.9, 0.5, -0.4, -0.6, -0.2, 0.0004, 40, 60, 0.19, "dropped", 0.1),
        "order=shuffled": (0.5, 0.75, 0.25, 0.05, 0.45, 0.03, 40, 61, 0.2, "rose", 0.0),
        "images=none": (0.5, math.nan, math.nan, math.nan, math.nan, math.nan, 40, 0, math.nan, "not tested", 0.0),
        "images=grey": (0.5, 0.5, 0.0, -0.1, 0.1, 1.0, 40, 62, math.inf, "no change", 0.0),
        "sheet=single": (0.5, 0.5, 0.0, -0.1, 0.1, 1.0, 40, 63, 0.01, "no change", 0.5),
        "sheet=pair": (0.5, 0.5, 0.0, -0.1, 0.1, 1.0, 40, 64, 0.01, "no change", 0.0),
    }
    rows = [UnpairedChange("pattern-perception", name, *numbers) for name, numbers in cells.items()]
    monkeypatch.setattr(diff, "unpaired_changes", lambda *runs: rows)
    monkeypatch.setattr(Run, "has_items_of", lambda first, second: False)
    monkeypatch.setattr(diff, "run_of_subject", lambda text: side)
    printed = list[str]()
    for fail_on, margin, as_json in ((None, None, False), ("drop", 20, False), ("drop", None, True)):
        try:
            diff.diff("a", "b", fail_on, margin, Path("none.html"), as_json)
        except typer.Exit as end:
            printed.append(f"exit {end.exit_code}")
        printed.append(capsys.readouterr().out)
    monkeypatch.setattr(diff, "unpaired_changes", lambda *runs: rows[1:2])
    diff.diff("a", "b", "drop", 20, Path("none.html"), False)  # a drop of 20 points would have been found
    with pytest.raises(typer.Exit):
        diff.diff("a", "b", "drop", 19.9, Path("none.html"), False)
    assert_golden("unpaired.txt", "\n".join(printed))
