"""Rows are the same on every machine: rounded floats, and images identified by their render recipe."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.hashing import canonical
from snellen.core.item import Item, Media
from snellen.core.storage import item_rows
from snellen.core.storage.item_rows import (
    FROM_PIXELS,
    JSON_FIELDS,
    decided_hashes,
    read_image_recipes,
    recipe_name,
    rounded,
)
from snellen.core.storage.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from tests.helpers.refusals import assert_refused

SPEC = {"height": 0.3, "side": 2.0, "name": "cube"}
RECIPE = {"settings": {"renderer": "mitsuba"}, "spec": SPEC}


def write(root: Path, raw: bytes, recipe: dict[str, Any], **changes: Any) -> ItemSet:
    """A set of one item about one image with these bytes, rendered from this recipe."""
    media = MediaFolder(root / "media")
    image = media.add(raw, "image", "png", (2, 2))
    media.recipes[image.sha256] = canonical(recipe)
    item = Item(
        item_id="item-0", suite="shapes", task="naming", question="Which?", query=(image,), answer="1",
        answer_kind="text", stimulus_id="s", group_id="g", cluster_id="c", latent={"shows": {image.sha256: {}}},
    )  # fmt: skip
    changed = Item(**{**vars(item), **changes})
    return write_itemset(root, [changed], source="generated", recipe={"seed": 0}, image_recipes=media.recipes)


def test_floats_are_rounded_to_twelve_digits_at_any_depth() -> None:
    image = Media("0" * 64, "image", "png", 1, 1)
    item = Item(
        item_id="i", suite="s", task="t", question="", query=(image,), answer=(0.1 + 0.2, 1.0), answer_kind="box",
        stimulus_id="s", group_id="g", cluster_id="c", measures={"depth_m": 2 / 3, "count": 7},
        regions={"boxes": [[1e-30 / 3, 10**15]]}, latent={"worlds": [{"answer": (1 / 3,)}]},
    )  # fmt: skip
    again = rounded(item)
    assert again.answer == (0.3, 1.0)
    assert again.measures == {"depth_m": 0.666666666667, "count": 7}
    assert again.regions == {"boxes": [[3.33333333333e-31, 10**15]]}
    assert again.latent == {"worlds": [{"answer": (0.333333333333,)}]}
    assert rounded(again) == again


def test_rows_are_read_back_as_written(tmp_path: Path) -> None:
    written = write(tmp_path, b"pixels", RECIPE, measures={"depth_m": 2 / 3})
    assert read_itemset(tmp_path, verify=False).items == written.items


def test_two_names_of_one_recipe_hide_nothing(tmp_path: Path) -> None:
    """An image that is encoded again has its recipe, but its box must not stand in the place of the first one's."""
    stored = pq.read_table(write(tmp_path, b"pixels", RECIPE).root / "items.parquet").to_pylist()
    (name,) = read_image_recipes(tmp_path)
    recipes = {name: canonical(RECIPE), "0" * 64: canonical(RECIPE)}
    both = [{**stored[0], "regions": json.dumps({"boxes": {"0" * 64: [0, 0, 1, 1], name: [0, 0, 2, 2]}})}]
    assert decided_hashes(stored, recipes) == decided_hashes(stored, read_image_recipes(tmp_path))
    assert_refused(lambda: decided_hashes(both, recipes), "two names of an object become one")


@pytest.mark.parametrize("fields", [5, None, "answer", ["split"], [["answer"]]])
def test_only_measured_fields_are_left_out(fields: Any, tmp_path: Path) -> None:
    stored = pq.read_table(write(tmp_path, b"pixels", RECIPE).root / "items.parquet").to_pylist()
    row = {**stored[0], "provenance": json.dumps({FROM_PIXELS: fields})}
    assert_refused(lambda: decided_hashes([row], {}), "item 'item-0': from_pixels names other fields")


def test_pixels_change_the_content_hash_only(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", b"pixels", RECIPE), write(tmp_path / "2", b"other pixels", RECIPE)
    assert first.card.content_hash != second.card.content_hash
    assert first.card.rows_hash == second.card.rows_hash
    assert first.card.recipe_hash == second.card.recipe_hash


def test_only_the_last_digits_of_a_scene_do_not_count(tmp_path: Path) -> None:
    rows = [
        write(tmp_path / str(n), b"pixels", {**RECIPE, "spec": {**SPEC, "height": height}}).card.rows_hash
        for n, height in enumerate((0.3, 0.1 + 0.2, 0.3 + 1e-8))
    ]
    assert rows[0] == rows[1] != rows[2]
    assert recipe_name('{"x":0.0}') == recipe_name('{"x":-0.0}') == recipe_name('{"x":-1e-17}')


def test_every_field_counts_except_those_measured_in_pixels(tmp_path: Path) -> None:
    measured = {FROM_PIXELS: ["answer", "measures"]}
    first = write(tmp_path / "1", b"p", RECIPE, provenance=measured).card.rows_hash
    moved = write(tmp_path / "2", b"q", RECIPE, provenance=measured, answer="2", measures={"level": 1.0}).card.rows_hash
    other = write(tmp_path / "3", b"p", RECIPE, provenance=measured, question="What?").card.rows_hash
    unmeasured = write(tmp_path / "4", b"p", RECIPE, answer="2").card.rows_hash
    assert first == moved != other
    assert unmeasured != write(tmp_path / "5", b"p", RECIPE).card.rows_hash


def test_order_of_names_by_digest_does_not_count() -> None:
    """Cells that name images are sorted by digests, which differ if pixels differ."""
    recipes = {"a" * 64: '{"spec":1}', "b" * 64: '{"spec":2}', "c" * 64: '{"spec":1}'}

    def hash_of(*images: str) -> str:
        fields: dict[str, Any] = {name: {} for name in JSON_FIELDS}
        fields["latent"] = {"shows": {image * 64: {"colour": str(n)} for n, image in enumerate(images)}}
        cells = {name: json.dumps(cell, sort_keys=True) for name, cell in fields.items()}
        return decided_hashes([{**cells, "split": "test"}], recipes)[0]

    assert hash_of("a", "b") == hash_of("c", "b")
    assert hash_of("a", "b") != hash_of("b", "a")


def test_recipes_of_shown_images_are_stored_with_the_rows(tmp_path: Path) -> None:
    items = write(tmp_path / "1", b"pixels", RECIPE)
    (image,) = items.items[0].query
    assert read_image_recipes(items.root) == {image.sha256: canonical(RECIPE)}
    assert read_image_recipes(tmp_path) == {}


def test_a_recipe_of_an_image_that_only_a_latent_names_is_stored(tmp_path: Path) -> None:
    recipes = {"a" * 64: canonical(RECIPE), "b" * 64: canonical({"spec": {}}), "c" * 64: canonical({"spec": 1})}
    item = replace(write(tmp_path / "1", b"pixels", RECIPE).items[0], latent={"shows": {"a" * 64: ["b" * 64]}})
    item_rows.write_image_recipes(tmp_path, [item], recipes)
    assert read_image_recipes(tmp_path) == {name: recipes[name] for name in ("a" * 64, "b" * 64)}


def test_all_names_of_the_images_that_are_shown_are_stored(tmp_path: Path) -> None:
    item = write(tmp_path / "1", b"pixels", RECIPE).items[0]
    (image_hash,) = (image.sha256 for image in item.query)
    item_rows.write_image_names(tmp_path, [item], {"a" * 64: {"x.png"}})
    assert not list(tmp_path.glob("*.parquet"))
    item_rows.write_image_names(tmp_path, [item], {"a" * 64: {"x.png"}, image_hash: {"c.png", "a.png", "b.png"}})
    assert item_rows.read_image_names(tmp_path) == {image_hash: ["a.png", "b.png", "c.png"]}
    assert item_rows.read_image_names(tmp_path / "1") == {}
    path = tmp_path / "image_names.parquet"
    pq.write_table(pa.table({"sha256": ["a"], "names": pa.array([None], pa.list_(pa.string()))}), path)
    assert item_rows.read_image_names(tmp_path) == {"a": []}
    for cells in ({"sha256": ["a"]}, {"sha256": ["a"], "names": ["b"]}):
        pq.write_table(pa.table(cells), path)
        assert_refused(lambda: item_rows.read_image_names(tmp_path), "image_names.parquet: missing or retyped columns")


def test_the_hash_of_test_items_is_that_of_a_set_of_them_alone() -> None:
    plain = dict.fromkeys(JSON_FIELDS, "{}")
    rows = [{**plain, "item_id": split, "split": split} for split in ("train", "test", "calibration")]
    whole, of_test = decided_hashes(rows, {})
    assert decided_hashes(rows[1:2], {}) == (of_test, of_test)
    assert len({whole, of_test, decided_hashes(rows[:2], {})[0], decided_hashes(rows[1:], {})[0]}) == 4


def test_the_hash_of_rows_is_one_of_sha256_and_canonical_json() -> None:
    """By hand: sets of earlier versions keep theirs. What was measured in pixels is left out, images are recipes."""

    def hashed(value: object) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    image, other = "a" * 64, "b" * 64
    fields: dict[str, Any] = {
        "answer": ["x", image], "factors": {"level": "hard"}, "measures": {"depth": 1.5}, "regions": {},
        "latent": {"shows": {image: [other]}}, "provenance": {"from_pixels": ["measures", "regions"]},
    }  # fmt: skip
    plain: dict[str, Any] = {"item_id": "i", "split": "test", "query": [{"sha256": image, "width": 8}], "requires": []}
    stored = [plain | {name: json.dumps(cell) for name, cell in fields.items()}, plain | dict.fromkeys(fields, "{}")]
    stored[1]["split"] = "train"
    name = hashed({"spec": {"h": 0.3, "side": 0.0, "n": 7}})
    decided = [
        {**plain, "query": [{"sha256": name, "width": 8}], "answer": ["x", name], "factors": {"level": "hard"},
         "latent": {"shows": {name: [other]}}, "provenance": fields["provenance"]},
        {**plain, "split": "train", "query": [{"sha256": name, "width": 8}]} | {key: {} for key in fields},
    ]  # fmt: skip
    recipes = {image: '{"spec":{"h":0.30000000001,"side":-1e-12,"n":7}}'}
    assert decided_hashes(stored, recipes) == (hashed(decided), hashed(decided[:1]))
