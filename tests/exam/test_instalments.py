"""Sets in instalments: what is declared stays, and what is drawn depends neither on the moment nor on the process."""

from __future__ import annotations

import hashlib
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
import pyarrow as pa
import pytest

from snellen.analysis.grading.deciding import sampled, turns
from snellen.cli.verification import verify
from snellen.core.build_options import BuildOptions
from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, instalment_of, items_file, read_itemset
from snellen.core.storage.itemset_cards import ItemSetCard, read_card
from snellen.core.storage.runfolder import read_run_card, same_items
from snellen.core.subject import SubjectCard
from snellen.core.suite import Trial
from snellen.exam.examination import Examination
from snellen.exam.instalments import (
    DRAWING,
    _new_items,
    declare,
    draw_instalment,
    instalment_options,
    instalment_seed,
    instalments_ahead,
)
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.interop.huggingface import from_datasets, to_datasets
from snellen.interop.log_files import compare
from snellen.runs.asking.preview import estimates
from snellen.runs.planning.deciding import batches
from snellen.runs.planning.plan import Arm, Plan
from snellen.subjects.fakes.simple import FirstOption
from snellen.suites import SUITES

N, INSTALMENTS = 16, 8
TASK = "oc-grp"
SUITE = SUITES.get("vlm2-bench")
SUBJECTS = ("fake:oracle", "fake:chance")


def options(out: Path, **changed: object) -> BuildOptions:
    plain = BuildOptions(
        out, n=N, instalments=INSTALMENTS, tasks=(TASK,), renderer="blank", quick=True, show_progress=False,
        allow_unmatched=True,
    )  # fmt: skip
    return replace(plain, **changed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def first_instalment(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return build(SUITE, "generated", options(tmp_path_factory.mktemp("instalments") / "items"))


@pytest.fixture
def items(first_instalment: ItemSet, tmp_path: Path) -> ItemSet:
    """The first instalment in a folder of its own."""
    shutil.copytree(first_instalment.root, tmp_path / "items")
    return read_itemset(tmp_path / "items")


@pytest.fixture(scope="module")
def three_instalments(first_instalment: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    root = tmp_path_factory.mktemp("three") / "items"
    shutil.copytree(first_instalment.root, root)
    draw_instalment(root, 1)
    draw_instalment(root, 2)
    return read_itemset(root)


def for_testing(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.split == "test"]


def test_a_set_grows_and_what_it_has_stays(first_instalment: ItemSet, three_instalments: ItemSet) -> None:
    earlier, later = first_instalment.card, three_instalments.card
    assert (earlier.content_hash, earlier.rows_hash) == (later.content_hash, later.rows_hash)
    assert later.instalments[0] == earlier.instalments[0]
    assert three_instalments.instalments[0] == first_instalment.items
    assert later.counts == {TASK: {**earlier.counts[TASK], "test": 3 * N}}, "learnt from the first instalment alone"
    assert (earlier.instalments_left, later.instalments_left) == (INSTALMENTS - 1, INSTALMENTS - 3)
    for instalment in three_instalments.instalments:
        assert {instalment_of(item) for item in instalment} == {instalment_of(instalment[0])}
        assert sum(item.answer == "none" for item in for_testing(instalment)) == N / 4, "balanced in each instalment"


def test_instalments_have_names_and_images_of_their_own(three_instalments: ItemSet) -> None:
    for field in ("item_id", "stimulus_id", "cluster_id", "group_id"):
        names = [
            {getattr(item, field) for item in for_testing(instalment)} for instalment in three_instalments.instalments
        ]
        assert sum(map(len, names)) == len(set.union(*names)), field
    seeds = {item.provenance["seed"] for item in for_testing(three_instalments.items)}
    by_hand = [int(hashlib.sha256(f'[0,"part",{number}]'.encode()).hexdigest()[:8], 16) for number in (1, 2)]
    assert seeds == {0, *by_hand}
    assert [instalment_seed(0, 1), instalment_seed(0, 2)] == by_hand


def test_what_an_earlier_instalment_asks_about_is_left_out(first_instalment: ItemSet) -> None:
    item = for_testing(first_instalment.items)[0]
    earlier, new = (replace(item, provenance={"rule": rule}) for rule in ("a", "b"))
    of_another_task = replace(earlier, task="another")
    instalment = _new_items([earlier, new, of_another_task], 1, [earlier])
    assert [(item.task, item.provenance["rule"], item.provenance["part"]) for item in instalment] == [
        (item.task, "b", 1), ("another", "a", 1)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["rule", "object"])
def test_what_recurs_is_a_rule_or_an_object(first_instalment: ItemSet, name: str) -> None:
    item = for_testing(first_instalment.items)[0]
    earlier, new = (replace(item, provenance={name: what}) for what in ("a", "b"))
    assert [item.provenance[name] for item in _new_items([earlier, new], 1, [earlier])] == ["b"]


def test_an_instalment_is_what_its_options_say(three_instalments: ItemSet, tmp_path: Path) -> None:
    """The oracle is the recipe itself, in a folder of its own."""
    declaration = three_instalments.card.declaration
    assert declaration is not None
    alone = SUITE.recipes["generated"].build(instalment_options(declaration, 2, tmp_path / "alone"))
    twins = {item.item_id: item for item in three_instalments.instalments[2]}
    for item in for_testing(alone.items):
        twin = twins[f"{item.item_id}-part-2"]
        assert (twin.answer, twin.question, twin.options) == (item.answer, item.question, item.options)
        assert [image.sha256 for image in twin.media()] == [image.sha256 for image in item.media()]


@pytest.mark.parametrize("size", [12, 16])
def test_the_order_of_asking_stays_when_the_set_grows(
    size: int, first_instalment: ItemSet, three_instalments: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an instalment is no multiple of a batch: 12 of 16 items, then 4."""
    monkeypatch.setattr("snellen.runs.planning.deciding.BATCH", size)
    task = SUITE.tasks[TASK]
    early, late = turns(first_instalment, task, 240), turns(three_instalments, task, 240)
    assert {name: late[name] for name in early} == early
    assert max(early.values()) < min(late[name] for name in late.keys() - early.keys())
    assert len(sampled(three_instalments, task, 2 * N)) == 2 * N, "the third instalment is not needed"

    def in_batches(items: ItemSet) -> list[list[str]]:
        trials = [Trial((item.view(),)) for item in for_testing(items.items)]
        order = turns(items, task, 240)
        return [[trial.views[0].item_id for trial in batch] for batch in batches(items, task, trials, order, 240)]

    few, many = in_batches(first_instalment), in_batches(three_instalments)
    assert many[: len(few)] == few
    assert len(many) == 3 * len(few)


@pytest.mark.slow
def test_a_killed_process_loses_nothing(items: ItemSet, three_instalments: ItemSet) -> None:
    """Killed while it draws, and after each of its last steps."""
    imports = "from pathlib import Path; from snellen.exam.instalments import draw_instalment"
    draw = f"{imports}; draw_instalment(Path({str(items.root)!r}), 1)"
    child = subprocess.Popen([sys.executable, "-c", draw])
    while not (items.root / DRAWING).exists() and child.poll() is None:
        time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert read_itemset(items.root).card.instalments in (items.card.instalments, three_instalments.card.instalments[:2])
    draw_instalment(items.root, 1)
    larger = read_itemset(items.root)
    assert larger.card.instalments == three_instalments.card.instalments[:2]
    # As if the process had died before it wrote the card: the rows and the images are there.
    (items.root / "itemset.json").write_text(items.card.model_dump_json(indent=1))
    assert read_itemset(items.root).card.instalments == items.card.instalments
    draw_instalment(items.root, 1)
    draw_instalment(items.root, 1)
    assert read_itemset(items.root).card == larger.card
    assert not (items.root / DRAWING).exists()


def test_damage_to_an_instalment_is_refused_by_the_name_of_its_file(three_instalments: ItemSet, tmp_path: Path) -> None:
    shutil.copytree(three_instalments.root, tmp_path / "items")
    items_file(tmp_path / "items", 1).replace(items_file(tmp_path / "items", 2))
    with pytest.raises(SnellenError, match=r"items-001\.parquet"):
        read_itemset(tmp_path / "items")
    shutil.copy(items_file(tmp_path / "items", 2), items_file(tmp_path / "items", 1))
    with pytest.raises(SnellenError, match=r"items-002\.parquet row 0.*(twice|another instalment)"):
        read_itemset(tmp_path / "items")


def test_a_changed_row_and_the_rows_of_another_instalment_are_refused(
    three_instalments: ItemSet, tmp_path: Path
) -> None:
    root = shutil.copytree(three_instalments.root, tmp_path / "items")
    path = items_file(root, 1)
    table = files.read_table(path)
    rows = table.to_pylist()
    rows[0]["question"] += " "
    files.write_table(path, pa.Table.from_pylist(rows, table.schema))
    with pytest.raises(SnellenError, match=r"items-001\.parquet.*content_hash"):
        read_itemset(root)
    items_file(root, 2).replace(path)
    card = json.loads((root / "itemset.json").read_text())
    del card["parts"][1]
    (root / "itemset.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match=r"items-001\.parquet row 0.*another instalment"):
        read_itemset(root)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"tasks": 5}, {"unknown": 1}, {"n": "16"}, {"n": 1.5}, {"size": [10**6, 10**6]}, {"size": 640},
        {"settings": []}, {"settings": {"x": "y"}}, {"balance": "both"}, {"full": True},
        {"inputs": {"features": "/etc/passwd"}},
    ],
)  # fmt: skip
def test_a_declaration_that_continues_nothing_is_refused(
    first_instalment: ItemSet, tmp_path: Path, options: dict[str, object]
) -> None:
    root = shutil.copytree(first_instalment.root, tmp_path / "items")
    card = json.loads((root / "itemset.json").read_text())
    card["declaration"]["options"] = options and {**card["declaration"]["options"], **options}
    (root / "itemset.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match="hashes are not those of its declaration"):
        draw_instalment(root, 1)
    names = dict.fromkeys(("content_hash", "rows_hash"), ItemSetCard(**card).declared_hash) | {"test_hash": ""}
    (root / "itemset.json").write_text(json.dumps(card | names))
    with pytest.raises(SnellenError, match=r"no set to be continued|has no setting"):
        draw_instalment(root, 1)


def test_a_set_in_instalments_is_verified(
    three_instalments: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verify(str(three_instalments.root), 0, None, None, None)
    assert f"whole; {len(three_instalments.items)} items" in capsys.readouterr().out
    shutil.copytree(three_instalments.root, tmp_path / "items")
    card = json.loads((tmp_path / "items" / "itemset.json").read_text())
    card["parts"][2]["rows_hash"] = "0" * 64
    (tmp_path / "items" / "itemset.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match="rows_hash"):
        verify(str(tmp_path / "items"), 0, None, None, None)


def test_a_set_in_instalments_survives_the_way_to_datasets_and_back(three_instalments: ItemSet, tmp_path: Path) -> None:
    to_datasets(three_instalments.root, tmp_path / "datasets")
    again = from_datasets(tmp_path / "datasets", tmp_path / "items")
    assert (again.items, again.card) == (three_instalments.items, three_instalments.card)


def decided(items: ItemSet, root: Path, *subjects: str, **how: object) -> Examination:
    return run(items, subjects, root, until_decided=True, show_progress=False, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def grown(first_instalment: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Examination:
    """A run that began with one instalment."""
    folder = tmp_path_factory.mktemp("grown")
    shutil.copytree(first_instalment.root, folder / "items")
    return decided(read_itemset(folder / "items"), folder / "run", *SUBJECTS)


def test_a_run_draws_what_it_needs(grown: Examination) -> None:
    rows = grown.grades().set_index("subject")
    assert list(rows.grade[list(SUBJECTS)]) == ["as people", "none"]
    assert N < rows.n.max() <= N * len(grown.items.card.instalments) < N * INSTALMENTS
    by_subject = {
        name: {response.item_id for response in grown.responses if response.subject == name} for name in SUBJECTS
    }
    fewer, more = sorted(by_subject.values(), key=len)
    assert fewer <= more
    assert not grown.unasked()


def test_a_limit_is_that_of_the_whole_set(three_instalments: ItemSet, tmp_path: Path) -> None:
    """20 of 48 items: the whole first instalment, and four of the second."""
    examination = run(three_instalments, SUBJECTS[:1], tmp_path / "run", limit=N + 4, show_progress=False)
    items = three_instalments.by_id
    numbers = [instalment_of(items[response.item_id]) for response in examination.responses]
    assert (len(numbers), numbers.count(0), numbers.count(1)) == (N + 4, N, 4)


@pytest.mark.slow
def test_a_run_draws_no_more_than_its_limits_allow(items: ItemSet, tmp_path: Path) -> None:
    assert decided(items, tmp_path / "limit", SUBJECTS[1], limit=4).grades().n.tolist() == [4]
    assert len(read_card(items.root).instalments) <= 2, "one instalment may be drawn ahead"
    fixed = run(read_itemset(items.root), [SUBJECTS[1]], tmp_path / "fixed", show_progress=False)
    assert len(fixed.responses) == len(for_testing(read_itemset(items.root).items)), "all that are drawn"


def test_a_run_on_a_larger_set_ends_at_the_same_item(grown: Examination, tmp_path: Path) -> None:
    assert len(read_card(grown.items.root).instalments) > 1
    larger = decided(read_itemset(grown.items.root), tmp_path / "run", *SUBJECTS)
    assert sorted(map(repr, larger.responses)) == sorted(map(repr, grown.responses))
    again = decided(read_itemset(grown.items.root), tmp_path / "run", *SUBJECTS)
    assert again.responses == larger.responses, "finished: only read"


@pytest.mark.slow
def test_runs_on_the_same_declaration_are_compared_on_shared_items(grown: Examination, items: ItemSet) -> None:
    """Each has its own copy of the set, as on two machines, and they stop at different places."""
    other = decided(items, items.root.parent / "run", SUBJECTS[0], max_items=2 * N)
    assert same_items(read_run_card(grown.root), read_run_card(other.root))
    count = int(other.grades().n[0])
    assert count < int(grown.grades().n[0])
    assert max(compare(f"{grown.root}:{SUBJECTS[0]}", other.root).table["n"]) == count


def test_the_calls_announced_are_those_of_the_whole_set(first_instalment: ItemSet, tmp_path: Path) -> None:
    remote = FirstOption(SubjectCard("chat:first", is_remote=True))
    for most, calls in ((40, 40), (1000, N * INSTALMENTS)):
        arms = [Arm(remote, Condition(SUITE.axes), decide="none")]
        (estimate,) = estimates(Plan(first_instalment, SUITE, arms, max_items=most), tmp_path / "run")
        assert estimate.calls == calls


def test_one_instalment_is_drawn_ahead_and_no_more(items: ItemSet) -> None:
    with instalments_ahead(items, workers=1) as larger_sets:
        assert len(next(larger_sets).card.instalments) == 2
    count = len(read_card(items.root).instalments)
    assert count in (2, 3)
    assert not (items.root / DRAWING).exists() or count == 2


def test_instalments_go_with_generated_sets_alone(first_instalment: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="--instalments goes with generated sets"):
        declare(first_instalment, options(tmp_path, full=True))


@pytest.mark.slow
def test_runs_killed_at_any_moment_end_like_an_undisturbed_one(first_instalment: ItemSet, tmp_path: Path) -> None:
    """By the command, which draws instalments meanwhile; moments differ by date."""
    command = [sys.executable, "-m", "snellen", "run", "--until-decided", "--json"]
    command += [instalment for name in SUBJECTS for instalment in ("-s", name)]
    ends, duration = [], 0.0
    for name in ("undisturbed", "killed"):
        root, out = tmp_path / name / "items", tmp_path / name / "run"
        shutil.copytree(first_instalment.root, root)
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
def test_a_finished_run_grows_when_more_instalments_are_allowed(items: ItemSet, tmp_path: Path) -> None:
    for most in (1, 2, 3):
        examination = decided(read_itemset(items.root), tmp_path / "run", "fake:first-option", max_instalments=most)
        assert examination.grades().n.tolist() == [N * most]
        assert len(examination.items.card.instalments) == most
