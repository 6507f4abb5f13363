"""The calibration of a study: the screen with the card, native pixels, records, and what reaches the run."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pydantic import ValidationError

from snellen.core.hashing import digest
from snellen.core.storage.runfolder import read_run_card
from snellen.web.admission import FormProgress, Submission, admit, row_problem
from snellen.web.building import build_study
from snellen.web.chromium import ARGUMENTS, find_chromium
from snellen.web.design import BlockDesign, StudyDesign, read_design
from snellen.web.importing import import_study
from snellen.web.participants import PEOPLE, Participant
from snellen.web.plan import Calibration, RecordRow, StudyPlan, Texts
from snellen.web.stand_ins import StandIn, make_stand_in
from snellen.web.study import plan_hash, read_plan
from snellen.web.trials import TRIALS
from tests.helpers.sets import small_set
from tests.helpers.studies import NOON, entered, make_plan, rows_of_form, with_hash
from tests.helpers.study_bundle import IMAGE, plan, write_bundle
from tests.helpers.study_tab import PHONE, answers_of, choose, pages_of, press, stored, tab, wait_for, wait_for_end

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

DESKTOP: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}}
CALIBRATED = {"calibration": True, "wording": "people"}


def calibration(card_px: float | None = 323, pixel_ratio: float = 1, distance_cm: float = 57.3) -> Calibration:
    return Calibration(type="calibration", card_px=card_px, pixel_ratio=pixel_ratio, distance_cm=distance_cm, time=NOON)


# Records


def test_a_card_of_323_pixels_is_that_of_96_pixels_per_inch() -> None:
    assert calibration().px_per_cm == pytest.approx(96 / 2.54, rel=0.002)
    # The same card on a screen with three device pixels in a CSS pixel, which show three pixels of an image.
    assert calibration(pixel_ratio=3).px_per_cm == pytest.approx(3 * 96 / 2.54, rel=0.002)
    assert calibration(card_px=None).px_per_cm is None


@pytest.mark.parametrize(
    "change",
    [{"card_px": 49}, {"card_px": 2001}, {"card_px": float("nan")}, {"pixel_ratio": 0}, {"pixel_ratio": 21},
     {"distance_cm": 19.9}, {"distance_cm": 200.1}, {"distance_cm": float("inf")}, {"eye": "left"}],
)  # fmt: skip
def test_impossible_sizes_are_refused(change: dict[str, Any]) -> None:
    record = calibration().model_dump(mode="json") | change
    with pytest.raises(ValidationError):
        RecordRow.model_validate({"sequence": 1, "record": record})


def test_a_plan_of_an_earlier_version_keeps_its_hash() -> None:
    content = make_plan().model_copy(update={"plan_hash": ""}).model_dump(mode="json")
    del content["calibration"], content["texts"]["debriefing"]
    assert plan_hash(StudyPlan.model_validate(content)) == digest(content, 16)
    assert plan_hash(make_plan().model_copy(update={"calibration": True})) != digest(content, 16)


def row(sequence: int, record: Any) -> RecordRow:
    return RecordRow(sequence=sequence, record=record)


def test_calibration_comes_before_the_first_answer_and_in_no_other_study() -> None:
    study = with_hash(make_plan().model_copy(update={"calibration": True}))
    rows, after = rows_of_form(study, "p01", 0), FormProgress(rows=2, consented=True)
    assert row_problem(rows[2], study, "p01", 0, after) == "The calibration comes before the first answer."
    allowed = row(2, calibration())
    assert row_problem(allowed, make_plan(), "p01", 0, after) == "This study asks for no calibration."
    assert not row_problem(allowed, study, "p01", 0, after)
    assert after.after(allowed) == FormProgress(rows=3, consented=True, calibrated=True)
    later = [row(number, entry.record) for number, entry in enumerate(rows[2:], 3)]
    accepted, refused = admit(Submission("p01", [*rows[:2], allowed, *later]), study, leave_out=False)
    assert (len(accepted), refused) == (len(rows) + 1, [])


@pytest.mark.parametrize(
    ("calibrations", "known", "distance"),
    [
        ([], False, None), ([calibration(card_px=None)], False, 57.3), ([calibration()], True, 57.3),
        ([calibration(distance_cm=60), calibration(distance_cm=64)], True, 64),
        ([calibration(distance_cm=60), calibration(distance_cm=70)], False, None),
        ([calibration(card_px=320), calibration(card_px=160, pixel_ratio=2)], True, 57.3),
        ([calibration(card_px=320), calibration(card_px=160)], False, 57.3),
        ([calibration(), calibration(card_px=None)], False, 57.3),
    ],
)  # fmt: skip
def test_somebody_who_moved_has_no_known_distance(
    calibrations: list[Calibration], known: bool, distance: float | None
) -> None:
    """A stated distance is known also without a card."""
    rows = tuple(row(number, record) for number, record in enumerate(calibrations))
    attributes = Participant("p01", "p01", rows).calibrated_attributes
    expected = {} if distance is None else {"distance_cm": f"{distance:g}"}
    assert {name: text for name, text in attributes.items() if name != "px_per_cm"} == expected
    assert ("px_per_cm" in attributes) is known


def with_calibration(plan: StudyPlan, stand_in: StandIn, person: int, record: Calibration) -> Submission:
    start, consent, *others = (entry.record for entry in entered(plan, stand_in, person))
    records = [start, consent, record, *others]
    return Submission(f"p{person + 1:02d}", [row(number, entry) for number, entry in enumerate(records)])


def test_the_size_of_pixels_reaches_the_run_and_the_table(
    sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    monkeypatch.setattr("snellen.web.lock.web_parts", lambda: tmp_path / "parts")
    block = BlockDesign(name="b", tasks=("img2text",), questions=2)
    design = StudyDesign(texts=Texts(title="Seeing", consent="You may stop."), blocks=(block,), calibration=True)
    card = build_study([small_set("combo", sets_folder)], design, tmp_path / "study", name="trial")
    study, stand_in = read_plan(tmp_path / "study"), make_stand_in(card, "fake:oracle", 2, tmp_path / "own")
    records = calibration(card_px=428, pixel_ratio=2, distance_cm=60), calibration(card_px=None)
    people = [with_calibration(study, stand_in, person, record) for person, record in enumerate(records)]
    for _ in range(2):  # the second import finds everybody there
        (examination,) = import_study(tmp_path / "study", people, tmp_path / "people")
    first, second = (arm.attributes for arm in read_run_card(examination.root).arms)
    assert (first["px_per_cm"], first["distance_cm"]) == ("100.00", "60")
    assert (second.get("px_per_cm"), second["distance_cm"]) == (None, "57.3")
    for name in (PEOPLE, TRIALS):
        sizes = pd.read_csv(tmp_path / "people" / name)[["px_per_cm", "distance_cm"]].drop_duplicates()
        assert sizes["px_per_cm"].tolist() == [100.0, pytest.approx(float("nan"), nan_ok=True)]
        assert sizes["distance_cm"].tolist() == [60, 57.3]


def test_the_preset_calibrates() -> None:
    design = read_design("thresholds")
    assert design.calibration
    assert "your distance from it are recorded" in " ".join(design.texts.consent.split())
    assert not read_design("combo").calibration


# The page


def to_screen(opened: Tab, address: str) -> None:
    opened.goto(address)
    opened.click("#start")
    opened.wait_for_selector("[data-screen=calibration] #calibrate")


def size_of_card(opened: Tab) -> tuple[float, float]:
    frame = opened.locator(".card").bounding_box()
    assert frame
    return frame["width"], frame["height"]


def test_the_card_is_matched_by_keys_alone_and_what_is_missing_is_said(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice", "truth").model_copy(update=CALIBRATED))
    with tab(browser, **DESKTOP) as opened:
        to_screen(opened, index.as_uri())
        opened.keyboard.press("Tab")  # past the button for one pixel less
        opened.keyboard.press("Tab")
        slider = opened.get_by_role("slider", name="Size of the rectangle")
        assert slider.evaluate("field => field === document.activeElement")
        opened.fill("[data-field=distance]", "57.3")
        opened.click("#calibrate")
        assert opened.inner_text(".complaint") == "Please match the rectangle to your card."
        assert slider.evaluate("field => field === document.activeElement")
        for _ in range(143):
            opened.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "323 by 204 pixels"
        assert size_of_card(opened) == pytest.approx((323, 323 * 53.98 / 85.6), abs=0.05)
        for distance in ("", "19", "201"):
            opened.fill("[data-field=distance]", distance)
            opened.click("#calibrate")
            assert "from 20 to 200" in opened.inner_text(".complaint")
        opened.fill("[data-field=distance]", "57.3")
        assert not opened.inner_text(".complaint")
        opened.keyboard.press("Enter")
        opened.click("#continue")
        wait_for(opened, "choice")
        record = stored(opened)[1].record
        assert isinstance(record, Calibration)
        assert (record.card_px, record.pixel_ratio, record.distance_cm) == (323, 1, 57.3)
        press(opened, '[data-name="B"]', "#next")
        wait_for(opened, "truth")
        opened.reload()  # they may sit elsewhere now
        opened.click("#start")
        opened.check("[data-field=no-card]")
        opened.fill("[data-field=distance]", "80")
        press(opened, "#calibrate", "#continue")
        choose(opened, "truth", "T")
        wait_for_end(opened)
        rows = stored(opened)
    assert [entry.record.card_px for entry in rows if isinstance(entry.record, Calibration)] == [323, None]
    assert (len(pages_of(rows)), answers_of(rows)["choice"]) == (2, "B")


@pytest.mark.slow
def test_on_a_phone_the_card_is_upright_and_set_by_touch(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice").model_copy(update=CALIBRATED))
    with tab(browser, **PHONE) as opened:
        to_screen(opened, index.as_uri())
        opened.fill("[data-field=card]", "516")
        opened.tap("[aria-label='Larger by one pixel']")
        assert size_of_card(opened) == pytest.approx((517 * 53.98 / 85.6, 517), abs=0.05)
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
        opened.fill("[data-field=distance]", "35")
        opened.tap("#calibrate")
        opened.tap("#continue")
        wait_for(opened, "choice")
        record = stored(opened)[1].record
    assert isinstance(record, Calibration)
    assert (record.card_px, record.pixel_ratio, record.distance_cm) == (517, 2, 35)


@pytest.mark.parametrize("ratio", [*(pytest.param(ratio, marks=pytest.mark.slow) for ratio in (1, 1.25, 3)), 2.625])
def test_every_pixel_of_an_image_is_one_of_the_screen(browser: Browser, tmp_path: Path, ratio: float) -> None:
    index = write_bundle(tmp_path, plan("choice").model_copy(update=CALIBRATED))
    noise = np.random.default_rng(0).integers(0, 256, (IMAGE.height, IMAGE.width, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / IMAGE.path)
    # A scale that a context emulates is applied to what is drawn already; that of the browser is like a screen's.
    arguments = [*ARGUMENTS, "--window-size=1400,900", f"--force-device-scale-factor={ratio}"]
    scaled = browser.browser_type.launch(executable_path=find_chromium(), args=arguments)
    with scaled, tab(scaled, no_viewport=True) as opened:
        to_screen(opened, index.as_uri())
        opened.fill("[data-field=card]", "324")
        opened.fill("[data-field=distance]", "60")
        press(opened, "#calibrate", "#continue")
        wait_for(opened, "choice")
        frame = opened.locator(".stage img").bounding_box()
        assert frame
        assert opened.evaluate("devicePixelRatio") == pytest.approx(ratio)
        assert not opened.locator(".image, .note:text('enlarge')").count()
        screen = np.asarray(Image.open(BytesIO(opened.screenshot())).convert("RGB"))
    left, top = (round(frame[name] * ratio + 1e-3) for name in ("x", "y"))
    visible = screen[top : top + IMAGE.height, left : left + IMAGE.width]
    assert visible.shape[1] == IMAGE.width
    assert visible.shape[0] > 100
    assert (visible == noise[: visible.shape[0]]).all()


@pytest.mark.slow
def test_an_image_wider_than_the_window_is_not_made_smaller(browser: Browser, tmp_path: Path) -> None:
    index = write_bundle(tmp_path, plan("choice").model_copy(update=CALIBRATED))
    with tab(browser, viewport={"width": 390, "height": 844}) as opened:
        to_screen(opened, index.as_uri())
        opened.check("[data-field=no-card]")
        opened.fill("[data-field=distance]", "60")
        press(opened, "#calibrate", "#continue")
        wait_for(opened, "choice")
        assert opened.locator(".stage img").evaluate("image => image.clientWidth") == IMAGE.width
        assert "The window is too narrow for the image." in opened.inner_text(".parts")
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
