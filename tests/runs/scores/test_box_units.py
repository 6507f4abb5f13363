"""Models that locate perfectly, in their own unit: recognised, read again without asking, and asked in that unit."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.box_units import BOX_UNITS, PIXELS, image_size, in_unit, sent_size
from snellen.core.errors import SnellenError
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.core.subject import Base, SubjectCard
from snellen.exam.examination import Examination, open_examination
from snellen.exam.rescoring import rescore, score_boxes_in
from snellen.exam.run import run
from snellen.runs.scores.box_units import FILE, in_own_units, read_box_units
from snellen.suites import SUITES
from tests.helpers.sets import small_set


@dataclass(frozen=True)
class Locator(Base):
    """Gives every box exactly, as JSON, in a unit of its own or in the one asked for, in the image as sent to it."""

    items: ItemSet
    unit: str
    heeds_prompt: bool = False

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        if view.reply.kind != "box":
            return Reply("I cannot tell.")
        max_px = self.card.settings.get("max_px")
        spec = view.reply if self.heeds_prompt else in_unit(replace(view.reply, unit=""), self.unit, max_px)
        if self.heeds_prompt and spec.unit == PIXELS and max_px:
            assert spec.frame is not None
            (image,) = view.query
            part = sent_size((image.width, image.height), max_px)[0] / image.width
            box = [side * part for side in spec.frame.box(self.items.by_id[view.item_id].answer)]
        else:
            box = json.loads(spec.write(self.items.by_id[view.item_id].answer))
        return Reply(f'```json\n[{{"bbox_2d": {json.dumps(box)}, "label": "it"}}]\n```')


@pytest.fixture(scope="module")
def items(sets_folder: Path) -> ItemSet:
    built = small_set("ava-bench", sets_folder)
    return replace(built, items=tuple(item for item in built.items if item.task == "localization"))


def examined(root: Path, items: ItemSet, subjects: Sequence[Locator], condition: str = "vanilla") -> Examination:
    return run(items, list(subjects), root, conditions=[condition], show_progress=False)


def locator(items: ItemSet, unit: str, *, own: str = "", max_px: int | None = None, heeds: bool = False) -> Locator:
    settings = {"max_px": max_px} if max_px else {}
    card = SubjectCard(f"chat:{unit}-{own}", settings=settings, attributes={"box_unit": own} if own else {})
    return Locator(card, items, unit, heeds)


def rows(root: Path, subject: str) -> dict[Hashable, Any]:
    table = open_examination(root).all_results()
    (row,) = table[(table["subject"] == subject) & (table["factor"] == "")].to_dict("records")
    return row


def test_boxes_in_another_unit_are_recognised_and_read_without_asking(tmp_path: Path, items: ItemSet) -> None:
    subjects = [locator(items, unit) for unit in ("fractions", "pixels", "thousandths")]
    examined(tmp_path, items, subjects)
    for unit in ("pixels", "thousandths"):
        row = rows(tmp_path, f"chat:{unit}-")
        assert (row["value"], row["state"], row["reason"], row["boxes_in"]) == (-1.0, "unreadable", "unit", unit)
        assert row["note"] == f"boxes in {unit}; score again with --box-unit {unit}"
    score_boxes_in(tmp_path, "pixels")
    row = rows(tmp_path, "chat:pixels-")
    assert row["value"] == pytest.approx(1.0, abs=1e-6)
    assert (row["boxes_in"], row["no_answer_rate"]) == ("", 0.0)
    assert str(row["note"]).endswith("boxes read in pixels")
    assert rows(tmp_path, "chat:thousandths-")["boxes_in"] == "thousandths", "the other subject is unchanged"
    assert rows(tmp_path, "chat:fractions-")["value"] == pytest.approx(1.0, abs=1e-5)
    # The unit is remembered: the same command, which replays and scores again, keeps it.
    again = examined(tmp_path, items, subjects)
    assert sorted(again.all_results()["boxes_in"].unique()) == ["", "thousandths"]
    score_boxes_in(tmp_path, "fractions")
    assert read_box_units(tmp_path) == {}
    assert rows(tmp_path, "chat:pixels-")["value"] == -1.0


def test_the_order_of_the_sides_is_the_family_s_and_pixels_are_those_of_the_image_sent(
    tmp_path: Path, items: ItemSet
) -> None:
    own = "thousandths-y-first"
    gemini, smaller = locator(items, own, own=own), locator(items, "pixels", max_px=100)
    examined(tmp_path, items, [gemini, smaller])
    assert rows(tmp_path, gemini.card.name)["boxes_in"] == own
    score_boxes_in(tmp_path, own)
    score_boxes_in(tmp_path, "pixels", smaller.card.name)
    rescore(tmp_path, items, SUITES.get("ava-bench"), "strict")
    for subject in (gemini, smaller):
        assert rows(tmp_path, subject.card.name)["value"] == pytest.approx(1.0, abs=1e-6)


def test_a_condition_asks_in_the_subject_s_own_unit(tmp_path: Path, items: ItemSet) -> None:
    subjects = [locator(items, "any", own=own, heeds=True) for own in BOX_UNITS]
    subjects.append(locator(items, "smaller", own="pixels", max_px=100, heeds=True))
    table = examined(tmp_path, items, subjects, "box_unit=own").all_results()
    units: dict[str, set[str]] = {}
    for response in read_responses(tmp_path):
        units.setdefault(response.subject, set()).add(response.reply_spec.unit)
    for row in table[table["factor"] == ""].to_dict("records"):
        own = row["subject"].partition("-")[2]
        assert row["value"] == pytest.approx(1.0, abs=1e-4)
        assert row["box_unit"] == own
        assert units[row["subject"]] == {"" if own == "fractions" else own}, "the unit is kept with each response"
        assert row["note"].endswith(f"boxes read in {own}") == (own != "fractions")
    assert set(units) == {subject.card.name for subject in subjects}


def test_a_unit_must_be_recognised_or_the_subject_named(tmp_path: Path, items: ItemSet) -> None:
    examined(tmp_path, items, [locator(items, "thousandths")])
    for unit, words in (
        ("pixels", r"recognised as pixels \(boxes are given by chat:thousandths- in thousandths\); name one"),
        ("pixel", "did you mean 'pixels'"),
    ):
        with pytest.raises(SnellenError, match=words):
            score_boxes_in(tmp_path, unit)
    with pytest.raises(SnellenError, match="did you mean 'chat:thousandths-'"):
        score_boxes_in(tmp_path, "pixels", "chat:thousandth")
    assert not (tmp_path / FILE).exists()
    for text in ("[1]", '{"chat:a": "ells"}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(SnellenError, match="not a table of box units"):
            read_box_units(tmp_path)


def test_without_units_responses_are_unchanged(tmp_path: Path, items: ItemSet) -> None:
    examination = examined(tmp_path, items, [locator(items, "pixels")])
    assert in_own_units(examination.responses, {}, []) is examination.responses
    assert list(in_own_units(examination.responses, {"another": "pixels"}, [])) == list(examination.responses)
    size = image_size(next(r.reply_spec for r in examination.responses if r.reply_spec.kind == "box"))
    assert size[0] == pytest.approx(size[1]), "images of AVA-Bench are padded to squares"
