"""A fake study on a small set of each suite: the paper's tables and figures treat its people as one subject."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.studies.people import pooled
from snellen.analysis.tables.run_view import ReportArm, scored_units
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.suite import Suite
from snellen.reports import load_run
from snellen.reports.loading import join
from snellen.subjects.fakes.make import make_fake
from snellen.suites import SUITES
from tests.helpers.people import ask_people, fakes, person
from tests.helpers.sections import by_name, row_of
from tests.helpers.sets import small_set

KINDS = ("oracle", "oracle", "chance", "oracle", "blind-to=colour")
"""The subjects p01 to p05; the guesser is the worst, and p01 the first of three equally good ones."""


def studied(name: str, folder: Path, root: Path, conditions: tuple[str, ...] = ("vanilla",)) -> tuple[Run, Suite]:
    """A run of five people and a colour-blind model on the small set of a suite."""
    items, suite = small_set(name, folder), SUITES.get(name)
    model = person("chat:m", make_fake("blind-to=colour", {}, items.items))
    people = fakes("X", KINDS, items)
    return load_run(ask_people(root, items, suite, people, conditions=conditions, others=[model])), suite


def sections_of(run: Run, suite: Suite) -> Mapping[str, ReportSection]:
    assert suite.sections is not None
    return by_name(suite.sections(pooled(run)), with_figures=False)


@pytest.fixture(scope="module")
def combo(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Mapping[str, ReportSection]]:
    run, suite = studied("combo", sets_folder, tmp_path_factory.mktemp("combo") / "run")
    return run, sections_of(run, suite)


def test_combo_has_people_by_difficulty(combo: tuple[Run, Mapping[str, ReportSection]]) -> None:
    """The line of Figure 7."""
    assert row_of(combo[1]["figure-7"], subject="human:X")["method"] == "people"
    legend = combo[1]["figure-7"].figure().legends[0].get_texts()
    assert [text.get_text() for text in legend] == ["chance", "human:X", "chat:m"]
    assert row_of(combo[1]["table-2"], subject="human:X")["mean of seven"]


def test_combo_drops_the_best_and_the_worst_total_over_both_questions(
    combo: tuple[Run, Mapping[str, ReportSection]],
) -> None:
    """Table 3 by appendix C.3: p01 is the first with everything right, p03 guesses; the others remain."""
    run, sections = combo
    remaining = [f"human:X/p{number:02d}" for number in (2, 4, 5)]
    row = row_of(sections["table-3"], subject="human:X without best and worst")
    for task, head in (("img2text", "Img2Text"), ("text2img", "Text2Img")):
        mean = np.mean([scored_units(run, task)[ReportArm(name, "vanilla")]["value"].mean() for name in remaining])
        assert row[head].startswith(f"{100 * mean:.0f} [")
    assert "C.3" in sections["table-3"].note


def test_vfm_bench_has_people_without_two_and_four_shots(sets_folder: Path, tmp_path: Path) -> None:
    run, suite = studied("vfm-bench", sets_folder, tmp_path / "run", ("shots=0", "shots=1", "shots=3", "vanilla"))
    sections = sections_of(run, suite)
    table = sections["table-1"]
    assert [head for head in table.table.columns if "shot" in head] == ["0 shots", "1 shot", "3 shots", "5 shots"]
    assert "People answered at some numbers of shots only" in table.note
    table.figure().draw_without_rendering()
    row = row_of(table, subject="human:X")
    assert all(row[head] != "–" for head in ("0 shots", "1 shot", "3 shots", "5 shots"))


def test_vfm_bench_leaves_cells_empty_if_only_models_were_asked(sets_folder: Path, tmp_path: Path) -> None:
    items, suite = small_set("vfm-bench", sets_folder), SUITES.get("vfm-bench")
    root = ask_people(tmp_path / "run", items, suite, fakes("X", KINDS, items), conditions=("shots=0", "vanilla"))
    model = person("chat:m", make_fake("oracle", {}, items.items))
    model_root = ask_people(tmp_path / "model", items, suite, [], conditions=("shots=0..5",), others=[model])
    table = sections_of(join([load_run(root), load_run(model_root)]), suite)["table-1"]
    people, model_row = row_of(table, subject="human:X"), row_of(table, subject="chat:m")
    assert [people[f"{shots} shots"] for shots in (2, 4)] == ["–", "–"]
    assert model_row["2 shots"] != "–"


def test_vlm2_bench_reports_the_difference_between_subjects_and_people(sets_folder: Path, tmp_path: Path) -> None:
    """All tasks count equally: the mean over tasks of the model's mean minus people's, here without judged tasks."""
    run, suite = studied("vlm2-bench", sets_folder, tmp_path / "run")
    sections = sections_of(run, suite)
    assert row_of(sections["table-1"], subject="human:X")
    row = row_of(sections["below-people"], subject="chat:m")
    pooled_run, gaps = pooled(run), []
    for task in row["tasks"].split(", "):
        units = scored_units(pooled_run, task)
        gaps.append(
            units[ReportArm("chat:m", "vanilla")]["value"].mean()
            - units[ReportArm("human:X", "vanilla")]["value"].mean()
        )
    assert len(gaps) > 3
    assert row["difference"].startswith(f"{100 * np.mean(gaps):+.1f}")
    assert "below-people" not in by_name(suite.sections(run) if suite.sections else [], with_figures=False)


@pytest.mark.slow
def test_ava_bench_ranks_people_among_the_other_subjects(sets_folder: Path, tmp_path: Path) -> None:
    run, suite = studied("ava-bench", sets_folder, tmp_path / "run")
    sections = sections_of(run, suite)
    assert set(sections["ranks"].table["subject"]) == {"human:X", "chat:m"}
