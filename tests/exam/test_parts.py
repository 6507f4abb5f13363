"""Sets in parts: what is declared stays, and what is drawn depends neither on the moment nor on the process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.deciding import sampled, turns
from snellen.cli.verification import verify
from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, items_file, part_of, read_card, read_itemset
from snellen.core.storage.runfolder import read_run_card, same_items
from snellen.core.subject import SubjectCard
from snellen.core.suite import BuildOptions, Trial
from snellen.exam.compare import compare
from snellen.exam.items import build
from snellen.exam.parts import DRAWING, declare, draw_part, part_options, part_seed, parts_ahead
from snellen.exam.run import Examination, run
from snellen.interop.huggingface import from_datasets, to_datasets
from snellen.runs.deciding import batches
from snellen.runs.plan import Arm, Plan
from snellen.runs.preview import estimates
from snellen.subjects.fakes.simple import FirstOption
from snellen.suites import SUITES

N, PARTS = 16, 8
TASK = "oc-grp"
SUITE = SUITES.get("vlm2-bench")
SUBJECTS = ("fake:oracle", "fake:chance")


def options(out: Path, **changed: object) -> BuildOptions:
    plain = BuildOptions(
        out, n=N, parts=PARTS, tasks=(TASK,), renderer="blank", quick=True, show_progress=False, allow_unmatched=True
    )
    return replace(plain, **changed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def first_part(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return build(SUITE, "generated", options(tmp_path_factory.mktemp("parts") / "items"))


@pytest.fixture
def items(first_part: ItemSet, tmp_path: Path) -> ItemSet:
    """The first part in a folder of its own."""
    shutil.copytree(first_part.root, tmp_path / "items")
    return read_itemset(tmp_path / "items")


@pytest.fixture(scope="module")
def three_parts(first_part: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    root = tmp_path_factory.mktemp("three") / "items"
    shutil.copytree(first_part.root, root)
    draw_part(root, 1)
    draw_part(root, 2)
    return read_itemset(root)


def for_testing(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.split == "test"]


def test_a_set_grows_and_what_it_has_stays(first_part: ItemSet, three_parts: ItemSet) -> None:
    earlier, later = first_part.card, three_parts.card
    assert (earlier.content_hash, earlier.rows_hash) == (later.content_hash, later.rows_hash)
    assert later.parts[0] == earlier.parts[0]
    assert three_parts.parts[0] == first_part.items
    assert later.counts == {TASK: {**earlier.counts[TASK], "test": 3 * N}}, "learnt from the first part alone"
    assert (earlier.parts_left, later.parts_left) == (PARTS - 1, PARTS - 3)
    for part in three_parts.parts:
        assert {part_of(item) for item in part} == {part_of(part[0])}
        assert sum(item.answer == "none" for item in for_testing(part)) == N / 4, "balanced in each part"


def test_parts_have_names_and_images_of_their_own(three_parts: ItemSet) -> None:
    for field in ("item_id", "stimulus_id", "cluster_id", "group_id"):
        names = [{getattr(item, field) for item in for_testing(part)} for part in three_parts.parts]
        assert sum(map(len, names)) == len(set.union(*names)), field
    seeds = {item.provenance["seed"] for item in for_testing(three_parts.items)}
    assert seeds == {0, part_seed(0, 1), part_seed(0, 2)}


def test_a_part_is_what_its_options_say(three_parts: ItemSet, tmp_path: Path) -> None:
    """The oracle is the recipe itself, in a folder of its own."""
    declaration = three_parts.card.declaration
    assert declaration is not None
    alone = SUITE.recipes["generated"].build(part_options(declaration, 2, tmp_path / "alone"))
    twins = {item.item_id: item for item in three_parts.parts[2]}
    for item in for_testing(alone.items):
        twin = twins[f"{item.item_id}-part-2"]
        assert (twin.answer, twin.question, twin.options) == (item.answer, item.question, item.options)
        assert [image.sha256 for image in twin.media()] == [image.sha256 for image in item.media()]


def test_the_order_of_asking_stays_when_the_set_grows(first_part: ItemSet, three_parts: ItemSet) -> None:
    task = SUITE.tasks[TASK]
    early, late = turns(first_part, task, 240), turns(three_parts, task, 240)
    assert {name: late[name] for name in early} == early
    assert max(early.values()) < min(late[name] for name in late.keys() - early.keys())
    assert len(sampled(three_parts, task, 2 * N)) == 2 * N, "the third part is not needed"

    def in_batches(items: ItemSet) -> list[list[str]]:
        trials = [Trial((item.view(),)) for item in for_testing(items.items)]
        order = turns(items, task, 240)
        return [[trial.views[0].item_id for trial in batch] for batch in batches(items, task, trials, order, 240)]

    few, many = in_batches(first_part), in_batches(three_parts)
    assert many[: len(few)] == few
    assert len(many) == 3


@pytest.mark.slow
def test_a_killed_process_loses_nothing(items: ItemSet, three_parts: ItemSet) -> None:
    """Killed while it draws, and after each of its last steps."""
    draw = (
        f"from pathlib import Path; from snellen.exam.parts import draw_part; draw_part(Path({str(items.root)!r}), 1)"
    )
    child = subprocess.Popen([sys.executable, "-c", draw])
    while not (items.root / DRAWING).exists() and child.poll() is None:
        time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert read_itemset(items.root).card.parts in (items.card.parts, three_parts.card.parts[:2])
    draw_part(items.root, 1)
    larger = read_itemset(items.root)
    assert larger.card.parts == three_parts.card.parts[:2]
    # As if the process had died before it wrote the card: the rows and the images are there.
    (items.root / "itemset.json").write_text(items.card.model_dump_json(indent=1))
    assert read_itemset(items.root).card.parts == items.card.parts
    draw_part(items.root, 1)
    draw_part(items.root, 1)
    assert read_itemset(items.root).card == larger.card
    assert not (items.root / DRAWING).exists()


def test_damage_to_a_part_is_refused_by_the_name_of_its_file(three_parts: ItemSet, tmp_path: Path) -> None:
    shutil.copytree(three_parts.root, tmp_path / "items")
    items_file(tmp_path / "items", 1).replace(items_file(tmp_path / "items", 2))
    with pytest.raises(SnellenError, match=r"items-001\.parquet"):
        read_itemset(tmp_path / "items")
    shutil.copy(items_file(tmp_path / "items", 2), items_file(tmp_path / "items", 1))
    with pytest.raises(SnellenError, match=r"items-002\.parquet row 0.*(twice|another part)"):
        read_itemset(tmp_path / "items")


def test_a_set_in_parts_is_verified(three_parts: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify(str(three_parts.root), 0, None, None, None)
    assert f"whole; {len(three_parts.items)} items" in capsys.readouterr().out
    shutil.copytree(three_parts.root, tmp_path / "items")
    card = json.loads((tmp_path / "items" / "itemset.json").read_text())
    card["parts"][2]["rows_hash"] = "0" * 64
    (tmp_path / "items" / "itemset.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match="rows_hash"):
        verify(str(tmp_path / "items"), 0, None, None, None)


def test_a_set_in_parts_survives_the_way_to_datasets_and_back(three_parts: ItemSet, tmp_path: Path) -> None:
    to_datasets(three_parts.root, tmp_path / "datasets")
    again = from_datasets(tmp_path / "datasets", tmp_path / "items")
    assert (again.items, again.card) == (three_parts.items, three_parts.card)


def decided(items: ItemSet, root: Path, *subjects: str, **how: object) -> Examination:
    return run(items, subjects, root, decide="none", show_progress=False, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def grown(first_part: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Examination:
    """A run that began with one part."""
    folder = tmp_path_factory.mktemp("grown")
    shutil.copytree(first_part.root, folder / "items")
    return decided(read_itemset(folder / "items"), folder / "run", *SUBJECTS)


def test_a_run_draws_what_it_needs(grown: Examination) -> None:
    rows = grown.grades().set_index("subject")
    assert list(rows.grade[list(SUBJECTS)]) == ["most", "none"]
    assert N < rows.n.max() <= N * len(grown.items.card.parts) < N * PARTS
    by_subject = {
        name: {response.item_id for response in grown.responses if response.subject == name} for name in SUBJECTS
    }
    fewer, more = sorted(by_subject.values(), key=len)
    assert fewer <= more
    assert not grown.unasked()


def test_a_run_draws_no_more_than_its_limits_allow(items: ItemSet, tmp_path: Path) -> None:
    assert decided(items, tmp_path / "limit", SUBJECTS[1], limit=4).grades().n.tolist() == [4]
    assert len(read_card(items.root).parts) <= 2, "one part may be drawn ahead"
    fixed = run(read_itemset(items.root), [SUBJECTS[1]], tmp_path / "fixed", show_progress=False)
    assert len(fixed.responses) == len(for_testing(read_itemset(items.root).items)), "all that are drawn"


def test_a_run_on_a_larger_set_ends_at_the_same_item(grown: Examination, tmp_path: Path) -> None:
    assert len(read_card(grown.items.root).parts) > 1
    larger = decided(read_itemset(grown.items.root), tmp_path / "run", *SUBJECTS)
    assert sorted(map(repr, larger.responses)) == sorted(map(repr, grown.responses))
    again = decided(read_itemset(grown.items.root), tmp_path / "run", *SUBJECTS)
    assert again.responses == larger.responses, "finished: only read"


def test_runs_on_the_same_declaration_are_compared_on_shared_items(grown: Examination, items: ItemSet) -> None:
    """Each has its own copy of the set, as on two machines, and they stop at different places."""
    other = decided(items, items.root.parent / "run", SUBJECTS[0], max_items=2 * N)
    assert same_items(read_run_card(grown.root), read_run_card(other.root))
    count = int(other.grades().n[0])
    assert count < int(grown.grades().n[0])
    assert max(compare(f"{grown.root}:{SUBJECTS[0]}", other.root).table["n"]) == count


def test_the_calls_announced_are_those_of_the_whole_set(first_part: ItemSet, tmp_path: Path) -> None:
    remote = FirstOption(SubjectCard("chat:first", is_remote=True))
    for most, calls in ((40, 40), (1000, N * PARTS)):
        arms = [Arm(remote, Condition(SUITE.axes), decide="none")]
        (estimate,) = estimates(Plan(first_part, SUITE, arms, max_items=most), tmp_path / "run")
        assert estimate.calls == calls


def test_one_part_is_drawn_ahead_and_no_more(items: ItemSet) -> None:
    with parts_ahead(items, workers=1) as larger_sets:
        assert len(next(larger_sets).card.parts) == 2
    count = len(read_card(items.root).parts)
    assert count in (2, 3)
    assert not (items.root / DRAWING).exists() or count == 2


def test_parts_go_with_generated_sets_alone(first_part: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="--parts goes with generated sets"):
        declare(first_part, options(tmp_path, full=True))


@pytest.mark.slow
def test_runs_killed_at_any_moment_end_like_an_undisturbed_one(first_part: ItemSet, tmp_path: Path) -> None:
    """By the command, which draws parts meanwhile; moments differ by date."""
    command = [sys.executable, "-m", "snellen", "run", "--until-decided", "--json"]
    command += [part for name in SUBJECTS for part in ("-s", name)]
    ends, duration = [], 0.0
    for name in ("undisturbed", "killed"):
        root, out = tmp_path / name / "items", tmp_path / name / "run"
        shutil.copytree(first_part.root, root)
        whole = [*command, "--out", str(out), str(root)]
        if name == "killed":
            rng = np.random.default_rng(int(time.strftime("%Y%m%d")))
            for moment in rng.uniform(0.3, 1.0, 10) * duration:
                child = subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(moment)
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
        start = time.monotonic()
        subprocess.run(whole, check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - start
        examination = decided(read_itemset(root), out, *SUBJECTS)
        ends.append(
            sorted((response.response_id, response.text, response.status) for response in examination.responses)
        )
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_a_finished_run_grows_when_more_parts_are_allowed(items: ItemSet, tmp_path: Path) -> None:
    for most in (1, 2, 3):
        examination = decided(read_itemset(items.root), tmp_path / "run", SUBJECTS[1], max_parts=most)
        assert examination.grades().n.tolist() == [N * most]
        assert len(examination.items.card.parts) == most
