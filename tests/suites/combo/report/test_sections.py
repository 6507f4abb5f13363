"""Report sections of ComBo, on runs with known numbers and on a few rows computed by hand."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.runfolder import read_run_card
from snellen.core.subject import Subject
from snellen.exam.run import run
from snellen.runs.scores.score import read_scores
from snellen.stimuli.scenes import DIMENSIONS, composite
from snellen.subjects.fakes.ideal import IdealObserver
from snellen.subjects.fakes.make import make_fake
from snellen.suites.combo import SUITE
from snellen.suites.combo.report.perceived import (
    confusions,
    deciding_dimensions,
    described_images,
    draw_confusions,
    read_description,
)
from snellen.suites.combo.report.sections import levels_name, sections
from tests.goldens.golden import assert_golden
from tests.goldens.sections import figure_text, sections_text
from tests.helpers.sections import row_of

CONDITIONS = ("vanilla", "pivot=on", "demos=in-context", "method=perceive-then-classify")


class Misled(IdealObserver):
    """Sees everything right except the colour of the first image that it describes in each question."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The oracle's reply with one colour changed."""
        reply = await super().answer(prompt, media, rng)
        (view, *more) = prompt.views
        if more or view.reply.kind != "description":
            return reply
        first = self.items[view.item_id].support[0].media[0]
        if view.query[0].sha256 != first.sha256:
            return reply
        return Reply(json.dumps({**json.loads(reply.text), "colour/primary": "mauve"}))


def _load(root: Path, toy: ItemSet, results: pd.DataFrame) -> Run:
    responses = tuple(read_responses(root))
    return Run(read_run_card(root), SUITE, toy, responses, read_scores(root), results, (root,))


@pytest.fixture(scope="module")
def loaded(toy: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("pieces")
    oracle = make_fake("oracle", {}, toy.items)
    assert isinstance(oracle, IdealObserver)
    misled = Misled(replace(oracle.card, name="own:misled", role="model"), oracle.items, oracle.shows)
    subjects: list[str | Subject] = ["fake:oracle", "fake:blind-to=colour", "fake:first-option", misled]
    done = run(toy, subjects, root, conditions=CONDITIONS, show_progress=False)
    return _load(root, toy, done.all_results())


@pytest.fixture(scope="module")
def report(loaded: Run) -> dict[str, ReportSection]:
    by_name = {section.name: section for section in sections(loaded)}
    assert len(by_name) == len(list(sections(loaded)))
    return by_name


def test_every_section_exists_once_and_has_a_note(report: dict[str, ReportSection]) -> None:
    dimensions = ["primary-shape", "primary-material", "primary-colour", "secondary-shape", "secondary-material"]
    confused = [f"confusions-{name}" for name in (*dimensions, "secondary-colour", "anchor")]
    tables = ["table-2", "table-3", "figure-6", "figure-7"]
    assert list(report) == [*tables, "given-perception", "perceived", "letters", *confused]
    for section in report.values():
        assert section.title
        assert section.note.endswith(".")
        assert section.table is None or len(section.table)
        assert section.table is None or not section.table.isna().any().any()


def test_every_section_is_as_it_was(report: dict[str, ReportSection]) -> None:
    """And confusions of four arms by hand, of which the last has one answer."""
    counts = [np.array([[3, 2, 0], [0, 1, 1]]) + number for number in range(3)]
    confused = draw_confusions([*zip("abc", counts, strict=True), ("d", np.eye(2, 3, dtype=np.int64))], ["red", "blue"])
    assert_golden("combo/sections.txt", sections_text(report.values()) + figure_text(confused))


def test_levels_are_named_after_their_encoder_until_people_have_compared_them(
    loaded: Run, report: dict[str, ReportSection], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert report["figure-7"].title == "Category Building by distance by efficientnet-lite2 (Figure 7, Table 4)"
    assert levels_name(loaded) == "distance by efficientnet-lite2"
    for count, name in ((39, "distance by efficientnet-lite2"), (40, "difficulty")):
        monkeypatch.setattr("snellen.suites.combo.report.sections.comparisons", lambda run, count=count: count)
        assert levels_name(loaded) == name
    monkeypatch.setattr("snellen.suites.combo.report.sections.comparisons", lambda run: 0)
    card = loaded.items.card.model_copy(update={"provenance": {"difficulty": {}}})
    assert levels_name(replace(loaded, items=replace(loaded.items, card=card))) == "distance"


def test_table_2_has_one_row_per_arm_the_pivot_if_asked_and_chance(report: dict[str, ReportSection]) -> None:
    table = report["table-2"].table
    assert table["subject"].iloc[0] == "own:misled"  # simulated observers come last
    assert "pivot" in table.columns
    line = row_of(report["table-2"], subject="fake:oracle", condition="vanilla")
    assert line["anchor"].startswith("100 [")
    assert line["pivot"] == "–"
    assert line["mean of seven"] == "100.0"
    # Of a third of 16 objects, those with a cone.
    with_pivot = row_of(report["table-2"], subject="fake:oracle", condition="pivot=on")
    assert with_pivot["pivot"].startswith("100 [")
    chance = row_of(report["table-2"], subject="(chance)")
    assert (chance["primary shape"], chance["primary material"], chance["primary colour"]) == ("20", "25", "16.7")
    assert not (table["condition"] == "demos=in-context").any()  # asks three questions only


def test_table_2_shows_blindness_in_its_own_column(report: dict[str, ReportSection]) -> None:
    line = row_of(report["table-2"], subject="fake:blind-to=colour", condition="vanilla")
    assert line["primary shape"].startswith("100 [")
    assert not line["primary colour"].startswith("100")
    # A colour-blind observer separates rubber from glass by the material, which it sees.
    assert line["primary material"].startswith("100 [")


def test_table_3_averages_both_directions(report: dict[str, ReportSection]) -> None:
    table = report["table-3"].table
    assert list(table.columns) == ["subject", "condition", "Img2Text", "Text2Img", "mean"]
    assert row_of(report["table-3"], subject="(chance)")["mean"] == "25"
    line = row_of(report["table-3"], subject="fake:first-option")
    first, second, mean = (float(line[name].split()[0]) for name in ("Img2Text", "Text2Img", "mean"))
    assert mean == pytest.approx((first + second) / 2, abs=1)


def test_the_mean_of_two_shares_has_a_narrower_interval_than_each() -> None:
    from types import SimpleNamespace

    from snellen.suites.combo.report.sections import mean_of_two

    first = SimpleNamespace(value=0.5, low=0.4, high=0.6, n=100)
    second = SimpleNamespace(value=0.7, low=0.6, high=0.8, n=100)
    # 0.6 +- sqrt(0.01 + 0.01) / 2 = 0.6 +- 0.0707
    assert mean_of_two(first, second) == "60.0 [52.9, 67.1]"


def test_figure_6_pairs_arms_that_differ_only_in_the_examples(report: dict[str, ReportSection], toy: ItemSet) -> None:
    table = report["figure-6"].table
    assert set(table["condition"]) == {"vanilla"}
    assert len(table) == 4 * 3
    line = row_of(report["figure-6"], subject="fake:oracle", question="primary material")
    assert (line["items"], line["none"], line["in context"]) == (16, "100", "100")
    assert line["difference"].startswith("+0.0 [")
    tested = [item for item in toy.task("pattern-perception") if item.split == "test"]
    spheres = sum(item.factors["primary shape"] == "sphere" for item in tested) // 8
    assert row_of(report["figure-6"], subject="fake:oracle", question="anchor")["items"] == 16 - spheres
    assert report["figure-6"].figure is not None
    assert "The paper draws the values of GPT-4V and Gemini, and prints none" in report["figure-6"].note


def test_figure_6_has_the_share_without_examples_first(loaded: Run) -> None:
    scores = loaded.scores["strict"]
    changed = scores.assign(value=(scores["condition"] == "demos=in-context").astype(float))
    by_name = {section.name: section for section in sections(replace(loaded, scores={"strict": changed}))}
    line = row_of(by_name["figure-6"], subject="fake:oracle", question="primary material")
    assert (line["none"], line["in context"]) == ("0", "100")
    assert line["difference"].startswith("+100")


def test_figure_7_goes_from_easy_to_expert(report: dict[str, ReportSection]) -> None:
    table = report["figure-7"].table
    assert list(table.columns[3:]) == ["easy", "medium", "hard", "expert", "all", "all of a pair"]
    line = row_of(report["figure-7"], subject="fake:first-option", condition="vanilla")
    assert [line[level].split()[0].rstrip(",") for level in ("easy", "medium", "hard", "expert", "all")] == ["50"] * 5
    assert line["all of a pair"].startswith("0 [")
    assert "Of 23 people the paper draws a line, and prints no value" in report["figure-7"].note
    chance = row_of(report["figure-7"], subject="(chance)")
    assert (chance["easy"], chance["all"], chance["all of a pair"]) == ("50", "50", "25")


def test_encoders_use_clustering_and_retrieval(loaded: Run) -> None:
    from snellen.suites.combo.report.sections import _method_of

    card = next(arm for arm in loaded.card.arms if arm.condition == "vanilla" and arm.subject == "own:misled")
    names = {role: _method_of(card.model_copy(update={"role": role})) for role in ("encoder", "simulated", "model")}
    assert names == {
        "encoder": "clustering & retrieval", "simulated": "simulated", "model": "question answering"
    }  # fmt: skip


def test_perception_is_read_from_the_recorded_descriptions(loaded: Run, report: dict[str, ReportSection]) -> None:
    described = described_images(loaded)
    assert len(described) == 4 * 16 * 9
    line = row_of(report["perceived"], subject="fake:blind-to=colour")
    assert line["images"] == 16 * 9
    assert line["colour, primary"].startswith("0 [")
    assert line["shape, secondary"].startswith("100 [")
    misled = row_of(report["perceived"], subject="own:misled")
    assert misled["colour, primary"].split()[0] == "89"  # eight of nine
    assert misled["colour, secondary"].split()[0] == "100"


def test_accuracy_given_perception_splits_by_the_deciding_dimensions(
    loaded: Run, report: dict[str, ReportSection]
) -> None:
    oracle = row_of(report["given-perception"], subject="fake:oracle")
    assert (oracle["items"], oracle["items seen right"], oracle["other items"]) == (16, 16, 0)
    assert oracle["right there"] == "–"
    by_colour = sum("colour/primary" in deciding_dimensions(item) for item in loaded.items.task("category-building"))
    misled = row_of(report["given-perception"], subject="own:misled")
    assert (misled["items seen right"], misled["other items"]) == (16 - by_colour, by_colour)
    nothing = row_of(report["given-perception"], subject="fake:first-option")
    assert nothing["items seen right"] == 0
    assert nothing["right there"].startswith("50 [")


def test_images_of_other_items_are_not_counted(toy: ItemSet, tmp_path: Path) -> None:
    condition = "method=perceive-then-classify,images=shuffled"
    done = run(toy, ["fake:oracle"], tmp_path / "run", conditions=[condition], show_progress=False)
    shuffled_run = _load(tmp_path / "run", toy, done.all_results())
    assert described_images(shuffled_run) == []
    assert {section.name for section in sections(shuffled_run)} == {"figure-7", "letters"}


def test_deciding_dimensions_are_those_in_which_the_rules_contradict_each_other(toy: ItemSet) -> None:
    for item in toy.task("category-building"):
        dimensions = deciding_dimensions(item)
        assert dimensions
        first, second = (item.latent["claims"][key] for key in "AB")
        for dimension in dimensions:
            assert not set(first[dimension]) & set(second[dimension])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"shape/primary": "conical frustum"}', {"shape/primary": "frustum"}),
        ('Sure!\n```json\n[{"shape/primary": "Frustum"}]\n```', {"shape/primary": "frustum"}),
        (
            '{"colour/secondary": "none", "colour/primary": "red"}',
            {"colour/secondary": "none", "colour/primary": "red"},
        ),
        ('{"colour/primary": "no added colour"}', {"colour/primary": "none"}),
        ('{"contact-point/anchor": "centre of a face"}', {"contact-point/anchor": "face"}),
        ('{"contact-point/anchor": "smaller base"}', {"contact-point/anchor": "small base"}),
        ('{"contact-point/pivot": "flat base"}', {"contact-point/pivot": "base"}),
        ('{"shape/primary": "teapot"}', {}),
        ('{"shape/primary": null}', {}),
        ('{"shape/primary": ["cube"]}', {"shape/primary": "cube"}),
        ("a red cube", {}),
        ("[]", {}),
        ("[1, 2]", {}),
        ("", {}),
    ],
)
def test_read_description(text: str, expected: dict[str, str]) -> None:
    assert {d: value for d, value in read_description(text).items() if value is not None} == expected


def test_a_perfect_description_of_any_object_is_read_completely() -> None:
    for index in range(0, 9504, 97):
        appearance = composite(index).dimensions()
        assert read_description(json.dumps(appearance)) == appearance
        assert set(appearance) == set(DIMENSIONS)


def test_letters_are_counted_regardless_of_the_right_answer(report: dict[str, ReportSection]) -> None:
    line = row_of(report["letters"], subject="fake:first-option", task="category-building", condition="vanilla")
    assert line["A"].startswith("100 [")
    assert line["A"].endswith("(50)")
    assert line["B"].startswith("0 [")
    assert (line["C"], line["D"]) == ("", "")
    four = row_of(report["letters"], subject="fake:first-option", task="img2text")
    assert four["D"].startswith("0 [")
    oracle = row_of(report["letters"], subject="fake:oracle", task="category-building", condition="vanilla")
    assert oracle["A"].startswith("50 [")


def test_letters_are_those_shown_when_options_are_shuffled(toy: ItemSet, tmp_path: Path) -> None:
    done = run(toy, ["fake:first-option"], tmp_path / "run", conditions=["order=shuffled"], show_progress=False)
    by_name = {section.name: section for section in sections(_load(tmp_path / "run", toy, done.all_results()))}
    assert row_of(by_name["letters"], task="img2text")["A"].startswith("100 [")


def test_confusions_name_the_commonest_mistakes_of_examined_subjects(
    report: dict[str, ReportSection], toy: ItemSet
) -> None:
    from snellen.suites.combo.report.perceived import commonest_mistakes, count_answers

    pairs = [("red", "red")] * 3 + [("red", "blue")] * 2 + [("blue", ""), ("blue", "blue")]
    rows = pd.DataFrame(pairs, columns=["truth", "prediction"])
    assert count_answers(rows, ["red", "blue"]).tolist() == [[3, 2, 0], [0, 1, 1]]
    assert commonest_mistakes([("somebody", rows)]) == [
        ["somebody", "red", "blue", "2 of 5"],
        ["somebody", "blue", "(no answer)", "1 of 2"],
    ]
    assert report["confusions-anchor"].figure is not None


def test_a_run_without_a_task_has_no_section_of_it(toy: ItemSet, tmp_path: Path) -> None:
    done = run(toy, ["fake:oracle"], tmp_path / "run", conditions=["method=cot"], show_progress=False)
    assert [section.name for section in sections(_load(tmp_path / "run", toy, done.all_results()))] == [
        "figure-7",
        "letters",
    ]


def test_a_subject_that_never_answers_is_shown_as_such(toy: ItemSet, tmp_path: Path) -> None:
    done = run(toy, ["fake:constant=teapot"], tmp_path / "run", conditions=CONDITIONS, show_progress=False)
    by_name = {section.name: section for section in sections(_load(tmp_path / "run", toy, done.all_results()))}
    assert (
        "no answer 100 %" in row_of(by_name["table-2"], subject="fake:constant=teapot", condition="vanilla")["anchor"]
    )
    assert "letters" not in by_name
    assert row_of(by_name["given-perception"])["items seen right"] == 0


def test_a_reply_that_was_cut_off_is_a_missing_answer_among_confusions(toy: ItemSet, tmp_path: Path) -> None:
    done = run(toy, ["fake:constant=teapot"], tmp_path / "run", show_progress=False)
    loaded = _load(tmp_path / "run", toy, done.all_results())
    cut_off = {name: rows.assign(outcome="cut_off") for name, rows in loaded.scores.items()}
    by_name = {section.name: section.table for section in confusions(replace(loaded, scores=cut_off))}
    table = by_name["confusions-anchor"]
    assert table is not None
    assert set(table["is taken for"]) == {"(no answer)"}


@pytest.mark.slow
def test_the_figures_can_be_drawn(report: dict[str, ReportSection], tmp_path: Path) -> None:
    for section in report.values():
        if section.figure is not None:
            section.figure().savefig(tmp_path / f"{section.name}.svg")


def test_only_confusions_are_details(report: dict[str, ReportSection]) -> None:
    assert [name for name, section in report.items() if section.detail] == [
        n for n in report if n.startswith("confusions")
    ]


def test_misled_is_a_subject_like_any_other(loaded: Run) -> None:
    assert asyncio.iscoroutinefunction(Misled.answer)
    assert "own:misled" in {arm.subject for arm in loaded.card.arms}
