"""What `snellen verify` says of a set and of a run, and when it ends with 1, with checks by hand."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from snellen.cli import verification
from snellen.cli.verification import verify
from snellen.core.storage.itemset import ItemSet, recipe_hash
from snellen.core.storage.itemset_cards import write_card
from snellen.core.storage.seal import SEALED
from snellen.exam import verification as checks
from snellen.exam.rescoring import rescore
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.runs.sets.gate import open_items
from snellen.stimuli.render.rebuild import MAX_MEAN
from snellen.suites import SUITES
from tests.helpers.journey import arm, colour_set, says, suite_of
from tests.helpers.refusals import assert_refused

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ItemSet:
    """A set of which everything is right."""
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    monkeypatch.setattr(checks, "check_blind", lambda items, suite: ("whole", True))
    return colour_set(tmp_path / "set")


def test_hashes_alone_are_no_full_check_of_a_set(built: ItemSet, capsys: Captured) -> None:
    assert verify(str(built.root), 0, None, None, None) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{built.root}: whole; 4 items of hard version 1", "blind.json: whole",
        "Only hashes were checked: they show damage, not who made the files, or from what.",
    ]  # fmt: skip


def test_files_are_read_again_though_their_size_and_time_say_they_are_as_before(built: ItemSet) -> None:
    path = built.root / "media" / built.items[0].query[0].path
    open_items(built.root)
    raw, stat = path.read_bytes(), path.stat()
    path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    open_items(built.root)
    assert_refused(lambda: verify(str(built.root), 0, None, None, None), "the bytes were altered")


def test_a_set_that_claims_a_seal_is_no_more_than_its_hashes_until_it_is_revealed(
    built: ItemSet, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(checks, "rebuild_images", lambda items, count: (2, 4, 0.0))
    recipe = {**built.card.recipe, SEALED: "ab"}
    write_card(built.root, built.card.model_copy(update={"recipe": recipe}))
    assert_refused(lambda: verify(str(built.root), 2, None, None, "ab"), "the recipe does not match recipe_hash")
    own_hash = recipe_hash(built.card.suite, built.card.version, built.card.source, recipe)
    write_card(built.root, built.card.model_copy(update={"recipe": recipe, "recipe_hash": own_hash}))
    for commitment in (None, "ab"):
        assert verify(str(built.root), 2, None, None, commitment) == 1
        assert "seal: not revealed yet" in capsys.readouterr().out


@pytest.mark.parametrize(("largest", "code"), [(MAX_MEAN, 0), (MAX_MEAN + 0.06, 1)])
def test_images_that_differ_by_more_than_a_processor_may_are_said(
    largest: float, code: int, built: ItemSet, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(checks, "rebuild_images", lambda items, count: (count, 6, largest))
    assert verify(str(built.root), 2, None, None, None) == code
    printed = capsys.readouterr().out
    assert f"2 of 6 images were rendered again: means of 3 x 3 pixels differ by at most {largest:.1f} of 255" in printed
    assert ("images: drawn by another renderer or processor" in printed) is bool(code)
    monkeypatch.setattr(checks, "check_blind", lambda items, suite: ("other", False))
    assert verify(str(built.root), 2, None, None, None) == 1
    monkeypatch.setattr(checks, "check_rows", lambda items: False)
    monkeypatch.setattr(checks, "check_blind", lambda items, suite: ("whole", True))
    assert verify(str(built.root), 2, None, None, None) == 1
    assert "rows_hash cannot be checked" in capsys.readouterr().out


def test_a_run_is_verified_with_its_set_and_not_mixed_with_one(
    built: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    root = tmp_path / "run"
    ask(root, Plan(built, suite_of(), [arm(says("own:red", "red"), suite_of(), repeat=n) for n in range(2)]))
    rescore(root, built, suite_of(), "strict")
    monkeypatch.setattr(checks, "is_same_parser", lambda card: True)
    assert verify(str(root), 0, None, None, None) == 0
    assert f"{root}: whole; 8 exchanges of 2 arms about {built.root}" in capsys.readouterr().out
    words = f"{built.root}: --digest and --items are for runs"
    assert_refused(lambda: verify(str(built.root), 0, "x", None, None), words)
    assert_refused(lambda: verify(str(built.root), 0, None, "x", None), words)
    for module, check, outcome, line in (
        (checks, "check_replies", 3, "replies: 3 responses differ"), (checks, "check_replies", None, "replies cannot"),
        (checks, "check_scores", (["strict"], ["item '000'"]), "scores: 1 replies are read otherwise"),
        (verification, "left_out", ["own:red: 3 of 4 items"], "own:red: 3 of 4 items"),
        (verification, "lines_without_verdict", ["own:red: no verdict"], "own:red: no verdict"),
        (verification, "read_box_units", {"own:red": "pixels"}, "box_units.json: boxes of own:red are read in pixels"),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(module, check, lambda *args, outcome=outcome: outcome)
            assert verify(str(root), 0, None, None, None) == 1, line
        assert f"\n{line}" in capsys.readouterr().out
    moved = built.root.rename(tmp_path / "moved")
    assert verify(str(root), 0, str(moved), None, None) == 0
    assert f"about {moved}" in capsys.readouterr().out
    (root / "responses.parquet").unlink()
    assert verify(str(root), 0, str(moved), None, None) == 1
    assert "replies and scores cannot be checked: the run was interrupted" in capsys.readouterr().out
    shutil.copy(moved / "itemset.json", root)
    assert_refused(lambda: verify(str(root), 0, None, None, None), "has the files of a run and of an item set")
