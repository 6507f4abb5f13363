"""Queues: questions to people in place of a model, under the same ids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import ReplySpec
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.curated_sets.vlm2_bench.edit_pairs import KINDS
from snellen.curated_sets.vlm2_bench.general_cues import UNREADABLE, read_screening
from snellen.curation.queues import find_queue, queues, write_queue
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_answer
from snellen.suites import SUITES
from tests.helpers.journey import colour_set
from tests.helpers.reviewers import reviewed_by


@pytest.mark.parametrize("name", queues())
def test_a_queue_has_its_commands(name: str) -> None:
    queue = queues()[name]
    for command in (*queue.commands, queue.reader):
        assert re.match(r"snellen (build|study queue|judge|report) ", command)
        if built := re.match(r"snellen build ([\w-]+)(?:/[\w-]+)?(?:.* --from (\w+))?", command):
            assert not built[2] or built[2] in SUITES.get(built[1]).recipes
    assert bool(queue.words) == any(f"snellen study queue {name} " in command for command in queue.commands)


@pytest.mark.parametrize("name", [name for name, queue in queues().items() if queue.words])
def test_every_option_is_read_as_itself(name: str) -> None:
    spec = ReplySpec("choice", tuple((word, word) for word in find_queue(name).words))
    assert [read_answer(word, spec) for word in spec.offered] == list(spec.offered)


def test_screening_offers_every_kind_of_edit() -> None:
    words = find_queue("gc-screening").words
    assert {f"keep:{kind}" for kind in KINDS} <= set(words)
    decided = [f"{word}:Add a cup" if word == "mend" else word for word in words]
    assert UNREADABLE not in [read_screening(text) for text in decided]


@pytest.fixture
def step(tmp_path: Path) -> ItemSet:
    item = step_item("screening", "t0", "Reply keep or drop.", (), "text", provenance={"about": "x"})
    return write_itemset(tmp_path / "step", [item], source="scene-merges", recipe={})


def test_a_queue_keeps_ids_and_provenance(step: ItemSet, tmp_path: Path) -> None:
    queue = write_queue("scene-merges", step, tmp_path / "queue")
    (item,) = queue.items
    assert (item.item_id, item.task, item.question) == ("t0", "decision", "Reply keep or drop.")
    assert item.provenance == {"about": "x"}
    run = reviewed_by(queue, {"ann": {"t0": ("keep", "")}}, tmp_path / "people")
    assert run.is_dir()
    with pytest.raises(SnellenError, match="queue: already contains an item set"):
        write_queue("scene-merges", step, queue.root)


def test_a_queue_asks_with_the_item_s_own_words_and_names_decisions_with_a_reason(tmp_path: Path) -> None:
    item = step_item("screening", "t0", "Reply in JSON.", (), "text", provenance={"instruction": "Add a cup"})
    written = write_itemset(tmp_path / "step", [item], source="screening", recipe={})
    queue = write_queue("gc-screening", written, tmp_path / "queue")
    (decision,) = queue.items
    assert "\nAdd a cup\n" in decision.question
    assert decision.provenance == {"instruction": "Add a cup", "with_reason": ["mend"]}
    assert [(option.key, option.text) for option in decision.options] == [*find_queue("gc-screening").words.items()]
    assert queue.card.recipe == {"about": written.card.content_hash, "queue": "gc-screening"}


def test_sets_of_other_steps_are_refused(step: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="have no instruction; make them with snellen build vlm2-bench"):
        write_queue("gc-screening", step, tmp_path / "a")
    with pytest.raises(SnellenError, match="no queue 'gc-screen'; did you mean 'gc-screening'"):
        write_queue("gc-screen", step, tmp_path / "b")
    with pytest.raises(SnellenError, match="its items are already decisions"):
        write_queue("pair-comparisons", step, tmp_path / "c")
    with pytest.raises(SnellenError, match="make the set for this queue with snellen build ava-bench/scene-merges"):
        write_queue("scene-merges", colour_set(tmp_path / "colours"), tmp_path / "d")
