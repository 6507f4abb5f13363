"""Subjects take studies through the real pages, served from a database: the export equals their answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from unittest.mock import MagicMock

import pandas as pd
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.storage.run_tables import read_responses
from snellen.exam.examination import Examination
from snellen.reports.loading import load_run
from snellen.runs.scores.score import read_scores
from snellen.suites import SUITES
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.report.sections import sections
from snellen.web import simulation
from snellen.web.building import build_study
from snellen.web.chromium import MISSING, find_chromium
from snellen.web.design import BlockDesign, StudyDesign
from snellen.web.lock import web_parts
from snellen.web.participants import PEOPLE
from snellen.web.plan import Texts
from snellen.web.simulation import SUBJECT_RUNS, simulate
from tests.helpers.replies import assert_same_replies
from tests.helpers.sections import by_name
from tests.helpers.sets import small_set
from tests.helpers.studies import make_plan

pytestmark = pytest.mark.skipif(find_chromium() is None, reason=MISSING)


@pytest.fixture(scope="module", autouse=True)
def parts() -> Path:
    """jsPsych in the version of the lock."""
    return web_parts()


def study(
    suite: str, folder: Path, root: Path, *blocks: BlockDesign, wording: Literal["people", "models"] = "people"
) -> None:
    texts = Texts(title="Seeing", consent="You may stop.", instructions="Look.")
    design = StudyDesign(texts=texts, blocks=blocks, forms=8, wording=wording)
    build_study([small_set(suite, folder)], design, root, name="trial")


def assert_equal_to_own(out: Path, examination: Examination) -> None:
    """Assert that the import equals the replies of the subject's own run."""
    assert_same_replies(examination.responses, read_responses(out / SUBJECT_RUNS / examination.suite.name))


def test_a_person_enters_their_own_answers_on_the_pages_of_their_form(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, plan = list[tuple[Any, ...]](), make_plan()
    for name in ("to_page", "_answer"):
        monkeypatch.setattr(simulation, name, lambda tab, *fields: entered.append(fields))
    stand_in: Any = SimpleNamespace(answers=lambda page, number: number)
    simulation.walk(MagicMock(), "", plan, stand_in, 3)
    pages = [plan.pages[page_id] for page_id in plan.forms[1][0].page_ids]
    assert entered == [fields for page in pages for fields in ((page.page_id,), (page, 3, False))]


@pytest.mark.slow
def test_a_subject_s_answers_through_the_pages_are_imported(sets_folder: Path, tmp_path: Path) -> None:
    block = BlockDesign(name="b", tasks=("img2text", "text2img"), questions=2, attention=1)
    study("combo", sets_folder, tmp_path / "study", block)
    (examination,) = simulate(tmp_path / "study", "fake:chance", 2, tmp_path / "out")
    assert_equal_to_own(tmp_path / "out", examination)
    people = pd.read_csv(tmp_path / "out" / PEOPLE)
    assert list(people["answered"]) == [4, 4]
    assert list(people["checks_passed"]) == [1, 1]
    assert people["consent"].all()


@pytest.mark.slow
@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("suite", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_every_kind_of_reply_of_every_suite(suite: str, phone: bool, sets_folder: Path, tmp_path: Path) -> None:
    practice = 1 if suite == "ava-bench" else 0
    blocks = [BlockDesign(name="b", examples=practice, practice=practice)]
    if suite == "combo":
        patterns = BlockDesign(
            name="a", tasks=("pattern-perception",), conditions=("samples=1,questions=one",), questions=4
        )
        blocks = [patterns, BlockDesign(name="b", tasks=tuple(SUITES.get(suite).tasks)[1:])]
    study(suite, sets_folder, tmp_path / "study", *blocks)
    (examination,) = simulate(tmp_path / "study", "fake:chance", 1, tmp_path / "out", phone=phone)
    assert_equal_to_own(tmp_path / "out", examination)


@pytest.mark.slow
def test_eight_colour_blind_people_are_at_chance_with_colours_only(sets_folder: Path, tmp_path: Path) -> None:
    """Each answers all questions about every object; those that depend on colour are guessed, a fifth of them right."""
    block = BlockDesign(name="b", tasks=("pattern-perception",), conditions=("samples=1",))
    study("combo", sets_folder, tmp_path / "study", block, wording="models")
    (examination,) = simulate(tmp_path / "study", "fake:blind-to=colour", 8, tmp_path / "out")
    assert_equal_to_own(tmp_path / "out", examination)
    rows = read_scores(examination.root)["strict"]
    by_id = examination.items.by_id
    needs_colour = rows["item_id"].map(lambda item_id: "colour" in by_id[item_id].requires)
    assert needs_colour.sum() >= 40
    assert rows.loc[needs_colour, "value"].mean() < 0.5
    assert rows.loc[~needs_colour, "value"].min() == 1


@pytest.mark.slow
def test_a_simulated_person_calibrates_and_has_an_angle(tmp_path: Path) -> None:
    """All questions of a form are answered, whatever the order in which the task would ask a model."""
    items = Generated().build(BuildOptions(tmp_path / "items", n=17, tasks=("acuity",), renderer="blank"))
    block = BlockDesign(name="b", tasks=("acuity",), practice=1)
    design = StudyDesign(texts=Texts(title="Chart"), blocks=(block,), forms=1, calibration=True)
    build_study([items], design, tmp_path / "study", name="trial")
    (examination,) = simulate(tmp_path / "study", "fake:threshold=8", 1, tmp_path / "out")
    assert len(examination.responses) == 17
    assert_equal_to_own(tmp_path / "out", examination)
    ((_, person, distance, pixel, *_),) = by_name(sections(load_run(examination.root)))["angles"].table.to_numpy()
    # A card of 324 pixels at 60 cm: 85.6 mm / 324 = .264 mm, 1.51 minutes of arc.
    assert (person, distance, pixel) == ("human:trial/p01", "60 cm", "1.51 arcmin")
