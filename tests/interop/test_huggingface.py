"""Item sets as Hugging Face Parquet and back."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Item, Option
from snellen.core.storage.itemset import SCHEMA, ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.interop import huggingface
from snellen.interop.huggingface import from_datasets, to_datasets


def _jpeg(colour: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (16, 12), colour).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def item_set(tmp_path: Path) -> ItemSet:
    """Every nested field filled once; splits interleaved; images shared; a video."""
    media = MediaFolder(tmp_path / "set" / "media")
    red, blue = (media.add(_jpeg(colour), "image", "jpg", (16, 12)) for colour in ("red", "blue"))
    green = media.add_image(Image.new("RGB", (5, 4), "green"))
    clip = media.add(b"moving", "video", "mp4", (16, 12), 2.5)
    first = Item("a", "toy", "look", "Which? ü", (red, green), "k1", "choice", "s", "g", "c", requires=("colour",))
    first = replace(
        first, options=(Option("k1", "red", (red,)), Option("k2", "blue")), factors={"f": "x"}, measures={"m": 0.5}
    )
    second = replace(
        first, item_id="b", split="train", support=(Demo((blue, red), "k1", 0, "said"),), latent={"scene": [1, None]}
    )
    box = Item("c", "toy", "find", "Where?", (clip,), (1.5, 2, 3, 4), "box", "s2", "g2", "c2")
    no_media = Item("d", "toy", "find", "Why?", (), "so", "text", "s3", "g3", "c3", split="calibration")
    notes = {"source": "generated", "recipe": {"seed": 0}, "provenance": {"x": 1}, "notes": ["n"]}
    return write_itemset(tmp_path / "set", [second, first, no_media, box], **notes)  # type: ignore[arg-type]


def test_round_trip_is_bit_equal(item_set: ItemSet, tmp_path: Path) -> None:
    paths = to_datasets(item_set.root, tmp_path / "hub")
    assert [path.name for path in paths] == ["train.parquet", "test.parquet", "calibration.parquet"]
    back = from_datasets(tmp_path / "hub", tmp_path / "back")
    assert back.card == item_set.card
    assert back.items == item_set.items

    def stored(root: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(root)): path.read_bytes() for path in (root / "media").rglob("*") if path.is_file()
        }

    assert stored(back.root) == stored(item_set.root)
    assert (back.root / "itemset.json").read_bytes() == (item_set.root / "itemset.json").read_bytes()


def test_columns_are_our_fields(item_set: ItemSet, tmp_path: Path) -> None:
    to_datasets(item_set.root, tmp_path)
    table = pq.read_table(tmp_path / "test.parquet")
    assert table.column_names == [*SCHEMA.names, "position", "images", "videos"]
    assert table["position"].to_pylist() == [1, 3]
    first, second = table["images"].to_pylist()
    assert [file["path"] for file in first] == [media.path for media in item_set.by_id["a"].query]
    assert second == []
    assert table["videos"].to_pylist()[1][0]["bytes"] == b"moving"


def test_datasets_reads_it_and_shows_the_images(
    item_set: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="the extra 'hub' is not installed")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    written = {path.stem: str(path) for path in to_datasets(item_set.root, tmp_path / "hub")}
    tables = datasets.load_dataset("parquet", data_files=written, cache_dir=str(tmp_path / "cache"))
    assert {split: rows.num_rows for split, rows in tables.items()} == {"train": 1, "test": 2, "calibration": 1}
    row = tables["test"][0]
    assert [image.size for image in row["images"]] == [(16, 12), (5, 4)]
    assert row["question"] == "Which? ü"
    assert row["options"][0]["media"][0]["sha256"] == item_set.by_id["a"].query[0].sha256
    raw = tables["test"].cast_column("images", datasets.List(datasets.Image(decode=False)))[0]["images"]
    assert [file["bytes"] for file in raw] == [item_set.media.read(media) for media in item_set.by_id["a"].query]
    by_folder = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache2"))
    assert set(by_folder) == {"train", "test", "calibration"}


def test_shared_images_are_stored_once(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "set" / "media")
    image = media.add_image(Image.effect_noise((400, 400), 100))
    item = Item("0", "toy", "look", "?", (image,), "a", "text", "s", "g", "c")
    write_itemset(tmp_path / "set", [replace(item, item_id=str(n)) for n in range(20)], source="generated", recipe={})
    (path,) = to_datasets(tmp_path / "set", tmp_path / "hub")
    assert path.stat().st_size < 1.5 * media.find(image).stat().st_size


def test_damage_is_refused_in_one_line(item_set: ItemSet, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    with pytest.raises(SnellenError, match="no Parquet files"):
        from_datasets(hub, tmp_path / "x")
    to_datasets(item_set.root, hub)
    with pytest.raises(SnellenError, match="already"):
        from_datasets(hub, item_set.root)
    whole = pq.read_table(hub / "test.parquet")

    images = whole["images"].to_pylist()
    images[0][1]["bytes"] += b"x"
    index = whole.schema.get_field_index("images")
    altered = whole.set_column(index, whole.schema.field(index), pa.array(images, whole.schema.field(index).type))
    for name, table, message in (
        ("altered", altered, r"test.parquet position 1: .*missing or changed"),
        ("fields", whole.drop_columns(["query"]), "fields or the card"),
        ("card", whole.replace_schema_metadata(), "fields or the card"),
        ("rows", whole.slice(0, 1), "does not contain the 4 items"),
    ):
        pq.write_table(table, hub / "test.parquet")
        with pytest.raises(SnellenError, match=message):
            from_datasets(hub, tmp_path / name)
        assert not (tmp_path / name / "itemset.json").exists()
    (hub / "test.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SnellenError, match=r"test.parquet: cannot be read as Parquet"):
        from_datasets(hub, tmp_path / "cut")
    (hub / "test.parquet").unlink()
    with pytest.raises(SnellenError, match="split missing"):
        from_datasets(hub, tmp_path / "split")


def test_row_groups_are_limited_by_rows_and_bytes(
    item_set: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [replace(item_set.by_id["a"], item_id=str(n)) for n in range(7)]
    whole = write_itemset(tmp_path / "set", items, source="generated", recipe={})
    item_bytes = sum(whole.media.find(media).stat().st_size for media in set(items[0].media()))
    for name, limit, sizes in (("_GROUP_ROWS", 3, [3, 3, 1]), ("_GROUP_BYTES", 2 * item_bytes, [2, 2, 2, 1])):
        monkeypatch.setattr(huggingface, name, limit)
        (path,) = to_datasets(whole.root, tmp_path / name)
        metadata = pq.read_metadata(path)
        assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == sizes
        assert from_datasets(tmp_path / name, tmp_path / f"back{name}").items == whole.items
    readme = (tmp_path / "_GROUP_ROWS" / "README.md").read_text("utf-8")
    assert "  - split: test\n    path: test.parquet\n" in readme
    assert f"An item set of Snellen, 7 items:\n\n- look: 7 test\n\nRecipe hash `{whole.card.recipe_hash}`" in readme


def test_files_of_two_sets_are_refused(item_set: ItemSet, tmp_path: Path) -> None:
    to_datasets(item_set.root, tmp_path / "hub")
    (tmp_path / "hub" / "calibration.parquet").rename(tmp_path / "calibration.parquet")
    other = write_itemset(tmp_path / "set", item_set.items, source="generated", recipe={"seed": 1})
    to_datasets(other.root, tmp_path / "hub")
    (tmp_path / "calibration.parquet").rename(tmp_path / "hub" / "calibration.parquet")
    with pytest.raises(SnellenError, match=r"calibration\.parquet and test\.parquet are from different item sets"):
        from_datasets(tmp_path / "hub", tmp_path / "back")
