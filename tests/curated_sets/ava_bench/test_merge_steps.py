"""A subject's replies about labels and images become rows that count only after a person has confirmed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.response import Response
from snellen.core.storage.itemset import write_itemset
from snellen.curated_sets.ava_bench.merge_steps import (
    TextureImage,
    choices_text,
    clutter_items,
    label_items,
    proposed_discards,
    proposed_merges,
)
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curation.results import StepResult
from snellen.suites.curation_steps import ANSWER_KINDS, TASKS

LABELS = {"Places434": ["drugstore", "pharmacy", "gas_station", "loft", "artists_loft"], "AID": ["Airport", "Parking"]}
NAMES = {
    "drugstore": "Pharmacy", "pharmacy": "A pharmacy.", "gas_station": "petrol station", "loft": "loft",
    "artists_loft": '"Loft"', "Airport": "Airport",
}  # fmt: skip


def answered(root: Path, items: Sequence[Item], texts: Mapping[str, str]) -> StepResult:
    itemset = write_itemset(root, items, source="curated", recipe={})
    responses = {}
    for item in itemset.items:
        text = texts.get(item.item_id)
        status, spec = ("failed" if text is None else "ok"), item.view().reply
        cells = (item.item_id, item.task, "vanilla", 0, status, text, "", spec, ())
        responses[item.item_id] = Response(item.item_id, "chat:someone", "f", *cells)  # type: ignore[arg-type]
    return StepResult("chat:someone", itemset, responses)


def named_labels(root: Path) -> StepResult:
    items = label_items(LABELS, "scene")
    texts = {item.item_id: NAMES[label] for item in items if (label := item.provenance["label"]) in NAMES}
    return answered(root, items, texts)


def test_each_label_gives_one_question_without_image_and_ids_reveal_nothing() -> None:
    items = label_items({**LABELS, "AID": ["Airport", "Airport"]}, "scene")
    assert [item.item_id for item in items] == [f"scene-name-{k:04d}" for k in range(6)]
    assert "classes of scenes 'gas_station'" in items[2].question
    assert {(item.suite, item.task, item.answer_kind, item.query) for item in items} == {
        ("curation-steps", "caption", ANSWER_KINDS["caption"], ())
    }
    assert {item.task for item in clutter_items(textured())} <= set(TASKS)


def test_labels_of_one_name_are_proposed_unless_they_already_share_it(tmp_path: Path) -> None:
    rows = proposed_merges(named_labels(tmp_path), read_choices())
    reason = {"reason": "proposed by chat:someone", "state": "proposed"}
    assert rows == [{"source": "Places434", "labels": ["loft", "artists_loft"], "name": "Loft", **reason}]


def test_proposals_are_refused_until_confirmed(tmp_path: Path) -> None:
    rows = proposed_merges(named_labels(tmp_path / "set"), read_choices())
    path = tmp_path / "scenes.yaml"
    path.write_text(choices_text("names", rows), "utf-8")
    message = r"scenes\.yaml: names, row 1 \(Places434 loft, artists_loft\) is only proposed; confirm it"
    with pytest.raises(SnellenError, match=message):
        read_choices(tmp_path)
    path.write_text(path.read_text("utf-8").replace("state: proposed", "state: confirmed"), "utf-8")
    choices = read_choices(tmp_path)
    assert {choices.scene("Places434", label) for label in ("loft", "artists_loft")} == {"Loft"}
    assert choices.scene("Places434", "mountain_snowy") == "Snowy Mountain"


def test_one_name_over_datasets_gives_one_row_per_dataset(tmp_path: Path) -> None:
    items = label_items({"Places434": ["airport_terminal"], "AID": ["Airport"]}, "scene")
    result = answered(tmp_path, items, {item.item_id: "the airport" for item in items})
    rows = proposed_merges(result, read_choices())
    assert [(row["source"], row["labels"], row["name"]) for row in rows] == [
        ("Places434", ["airport_terminal"], "Airport"),
        ("AID", ["Airport"], "Airport"),
    ]


def test_names_of_actions_stay_lower_case(tmp_path: Path) -> None:
    items = label_items({"Moments-in-Time": ["jogging", "running", "talking", "speaking"]}, "action")
    texts = dict(zip((item.item_id for item in items), ("running", "running", "speaking", "speaking"), strict=True))
    rows = proposed_merges(answered(tmp_path, items, texts), read_choices())
    assert [(row["labels"], row["name"]) for row in rows] == [(["jogging", "running"], "running")]


def textured() -> list[TextureImage]:
    names = ("dtd/images/a.jpg", "dtd/images/b.jpg", "dtd/images/c.jpg", "dtd/images/d.jpg")
    media = [Media(f"{k}" * 64, "image", "png", 8, 8) for k in range(4)]
    return [
        TextureImage("DTD", name, "banded", media_of_image) for name, media_of_image in zip(names, media, strict=True)
    ]


def test_images_with_the_texture_on_only_a_part_are_proposed_for_discarding(tmp_path: Path) -> None:
    items = clutter_items(textured())
    assert items[0].query == (textured()[0].media,)
    assert "'banded'" in items[0].question
    texts = {items[0].item_id: "Part.", items[1].item_id: "fills", items[2].item_id: "in part, I think"}
    rows = proposed_discards(answered(tmp_path / "set", items, texts))
    assert [row["image"] for row in rows] == ["dtd/images/a.jpg"]
    path = tmp_path / "textures.yaml"
    path.write_text(choices_text("discarded", rows).replace("state: proposed", "state: confirmed"), "utf-8")
    assert read_choices(tmp_path).discarded("DTD") == {"dtd/images/a.jpg"}


def test_a_run_about_something_else_is_refused(tmp_path: Path) -> None:
    result = named_labels(tmp_path)
    with pytest.raises(
        SnellenError, match=r"item 'scene-name-0000' asks for something else; give the run of that step"
    ):
        proposed_discards(result)


def test_names_of_scenes_and_actions_are_asked_apart(tmp_path: Path) -> None:
    items = [*label_items({"AID": ["Beach"]}, "scene"), *label_items({"Moments-in-Time": ["jogging"]}, "action")]
    result = answered(tmp_path, items, {item.item_id: "beach" for item in items})
    with pytest.raises(SnellenError, match="names of actions and scenes in one run; ask about each separately"):
        proposed_merges(result, read_choices())
    people = proposed_merges(replace(named_labels(tmp_path / "set"), role="person"), read_choices())
    assert [(row["reason"], row["state"]) for row in people] == [("by chat:someone", "confirmed")]
