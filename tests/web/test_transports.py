"""A study with every kind of reply, and a review, on all three transports: the same answers are imported."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import read_run_card
from snellen.curation.steps import copy_media, step_item
from snellen.web.building import build_study
from snellen.web.chromium import MISSING, find_chromium, open_browser
from snellen.web.design import BlockDesign, StudyDesign
from snellen.web.importing import import_study, read_results_of
from snellen.web.jatos import write_jzip
from snellen.web.plan import PageAnswers, RecordRow, Texts
from snellen.web.simulation import DESKTOP, PATIENCE_MS, running, walk
from snellen.web.stand_ins import StandIn, make_stand_in
from snellen.web.study import BUNDLE, StudyCard, read_plan
from tests.helpers.replies import assert_same_replies
from tests.helpers.sets import small_set
from tests.helpers.study_tab import JATOS, SITE, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_chromium() is None, reason=MISSING)]


def study_of_all_kinds(folder: Path, root: Path) -> StudyCard:
    """Boxes, numbers, choices, colours and texts of one suite; statements and descriptions of another."""
    blocks = [BlockDesign(name="see", items="ava-bench", questions=1, practice=1, attention=1)]
    blocks.append(BlockDesign(name="link", items="vlm2-bench", questions=1))
    texts = Texts(title="All kinds", consent="You may stop.")
    design = StudyDesign(texts=texts, blocks=tuple(blocks), forms=1, calibration=True)
    return build_study([small_set("ava-bench", folder), small_set("vlm2-bench", folder)], design, root, name="trial")


def review_of_captions(folder: Path, root: Path) -> StudyCard:
    """A queue of four decisions, each with an image and an optional reason."""
    images = [item.query[0] for item in small_set("combo", folder).items if item.task == "img2text"][:4]
    items = [step_item("screening", f"s{n}", "keep or drop?", [image], "text") for n, image in enumerate(images)]
    source = small_set("combo", folder)
    copy_media(items, source.media, MediaFolder(root / "queue" / "media"))
    queue: ItemSet = write_itemset(root / "queue", items, source="trial", recipe={"seed": 0})
    block = BlockDesign(name="review", reason=True)
    design = StudyDesign(kind="review", texts=Texts(title="Review"), blocks=(block,), reviewers=("ann",))
    return build_study([queue], design, root, name="desk")


def by_server(root: Path, browser: Browser, stand_in: StandIn, scratch: Path) -> Sequence[Path]:
    with running(root) as (link, *_):
        walk(context_of(browser).new_page(), link, read_plan(root), stand_in, 0)
    return []


def by_files(root: Path, browser: Browser, stand_in: StandIn, scratch: Path) -> Sequence[Path]:
    tab = context_of(browser).new_page()
    address = f"{(root / BUNDLE / 'index.html').resolve().as_uri()}?participant=p01&form=0"
    with tab.expect_download() as download:
        walk(tab, address, read_plan(root), stand_in, 0)
    download.value.save_as(scratch / download.value.suggested_filename)
    return [scratch / "p01.jsonl"]


def by_jatos(root: Path, browser: Browser, stand_in: StandIn, scratch: Path) -> Sequence[Path]:
    """The study as served by JATOS from the archive, and its answers in an archive of results."""
    write_jzip(root, scratch / "study.jzip")
    with zipfile.ZipFile(scratch / "study.jzip") as archive:
        archive.extractall(scratch / "assets")
    (page,) = (scratch / "assets").rglob("index.html")
    (page.parent / "jatos.js").write_text(JATOS)
    tab = context_of(browser).new_page()
    serve(tab, page.parent)
    walk(tab, SITE, read_plan(root), stand_in, 0)
    rows = json.loads(tab.evaluate("sessionStorage.getItem('jatos')"))["rows"]
    with zipfile.ZipFile(scratch / "results.zip", "w") as archive:
        archive.writestr("study_result_1/comp-result_1/data.txt", rows)
    return [scratch / "results.zip"]


def context_of(browser: Browser) -> BrowserContext:
    context = browser.new_context(reduced_motion="reduce", **DESKTOP)
    context.set_default_timeout(PATIENCE_MS)
    return context


TRANSPORTS = {"server": by_server, "files": by_files, "jatos": by_jatos}


@pytest.mark.parametrize("study", [study_of_all_kinds, review_of_captions])
@pytest.mark.parametrize("transport", list(TRANSPORTS))
def test_a_whole_study_and_a_whole_review(transport: str, study: Any, sets_folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    card = study(sets_folder, root)
    subject = "fake:oracle" if card.design.kind == "study" else "fake:constant=drop"
    stand_in = make_stand_in(card, subject, 1, tmp_path / "own")
    with open_browser() as browser:
        paths = TRANSPORTS[transport](root, browser, stand_in, tmp_path)
    (submission,) = read_results_of(root, paths)
    plan = read_plan(root)
    rows = [row for row in submission.rows if isinstance(row, RecordRow)]
    answered = [row.record for row in rows if isinstance(row.record, PageAnswers)]
    assert [record.page_id for record in answered] == [page for block in plan.forms[0] for page in block.page_ids]
    examinations = import_study(root, [submission], tmp_path / "people")
    kinds = set()
    for examination in examinations:
        for arm in read_run_card(examination.root).arms if plan.calibration else ():
            assert (arm.attributes["px_per_cm"], arm.attributes["distance_cm"]) == ("37.85", "60")  # 324 px / 8.56 cm
        assert_same_replies(examination.responses, stand_in.examinations[examination.suite.name].responses)
        kinds |= {response.reply_spec.kind for response in examination.responses}
    all_kinds = {"box", "choice", "colour", "description", "integer", "text", "true_false"}
    assert kinds == (all_kinds if card.design.kind == "study" else {"text"})
