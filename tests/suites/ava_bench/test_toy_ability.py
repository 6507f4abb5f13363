"""An ability registered at run time is built, asked, scored and reported like the others, without other changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.selection.splits import curated_groups
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.scoring.protocols import strict
from snellen.stimuli.scenes import MATERIALS
from snellen.suites import SUITES
from snellen.suites.ava_bench import make_suite
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.items import ItemSource, checked_box
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopTruth, asked_by_slot
from snellen.suites.ava_bench.scoring import without_script

N = 2


def ask_material(table: TabletopTruth, slot: int, source: ItemSource, rng: np.random.Generator) -> Item:
    solid = table.solids[slot]
    return MATERIAL.item(
        source, MATERIAL.question, solid.material.kind, tuple(MATERIALS),
        regions={"red": list(checked_box(source, solid.box))}, factors={"material": solid.material.kind},
    )  # fmt: skip


MATERIAL = Ability(
    name="material",
    kind="choice",
    question="What is the object in the red box made of?",
    options_wording=("Choose one from below: ", "."),
    requires=("material",),
    protocols=without_script(strict()),
    subgroups={"material": ()},
    balanced_by=("material",),
    boxes=("red",),
    meaning="what something is made of",
    tabletop=asked_by_slot(ask_material),
)


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ABILITIES, MATERIAL.name, MATERIAL)
    monkeypatch.setitem(SUITES._loaded, "ava-bench", make_suite())


@pytest.mark.usefixtures("_registered")
def test_a_toy_ability_is_built_asked_scored_and_reported(tmp_path: Path) -> None:
    options = BuildOptions(
        tmp_path / "items", n=N, tasks=(MATERIAL.name,), quick=True, renderer="toy", show_progress=False
    )
    items = build(SUITES.get("ava-bench"), "generated", options)
    assert {item.task for item in items.items} == {MATERIAL.name}
    assert sum(item.split == "test" for item in items.items) == N
    examination = run(items, ["fake:oracle", "fake:blind-to=material"], tmp_path / "run", show_progress=False)
    rows = examination.all_results()
    rows = rows[(rows.task == MATERIAL.name) & (rows.factor == "") & (rows.metric == "accuracy")]
    scores = {str(row["subject"]): float(row["value"]) for row in rows.to_dict("records")}
    assert scores["fake:oracle"] == 1
    assert scores["fake:blind-to=material"] < 1
    report = examination.report(tmp_path / "report")
    assert "material" in report.pages[1].read_text("utf-8")
    table = (report.root / "results.csv").read_text("utf-8")
    assert f"{MATERIAL.name}," in table


@pytest.mark.usefixtures("_registered")
def test_a_toy_ability_has_a_curation_if_one_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(MATERIAL.name not in group.tasks for group in curated_groups(CURATIONS))
    monkeypatch.setitem(CURATIONS, MATERIAL.name, replace(CURATIONS["colour"], name=MATERIAL.name))
    assert curated_groups(CURATIONS)[-1].tasks == (MATERIAL.name,)


def test_facts_that_do_not_go_together_name_the_file_to_fix() -> None:
    with pytest.raises(SnellenError, match=r"meaning is missing.*fix abilities/no_meaning\.py"):
        Ability(
            name="no-meaning", kind="text", question="?", requires=("text",), protocols=without_script(strict()),
            subgroups={},
        )  # fmt: skip
