"""An item set is read as it was written, or refused."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pydantic import ValidationError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Demo, Item, Option
from snellen.core.storage import files, itemset, schemas
from snellen.core.storage.itemset import prune_media, read_itemset, write_itemset
from snellen.core.storage.itemset_cards import SetDeclaration
from snellen.core.storage.itemset_html import items_html
from snellen.core.storage.media import MediaFolder
from tests.helpers.journey import NAMED, RGB, colour_set, item, patch
from tests.helpers.refusals import assert_refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return colour_set(tmp_path / "set").root


def everything_an_item_holds(media: MediaFolder) -> Item:
    red, blue = (patch(media, RGB[name]) for name in ("red", "blue"))
    clip = media.add(b"no frames", "video", "mp4", (640, 480), 2.5)
    return item(
        "full", [red, clip], (1.5, 2.0, 3.0, 4.0), "box",
        options=(Option("k", "", (red, blue)), Option("l", "ünï \U0001f441")),
        support=(Demo((blue,), "k", 0), Demo((), "l", 1, "said")), factors={"level": "hard"},
        measures={"size_m": 0.1, "n": 3.0}, requires=("colour", "shape"), regions={"near": [1, 2, 3, 4]},
        latent={"shows": {red.sha256: {"colour": "red"}}}, provenance={"seed": 0}, stimulus_id="s", group_id="g",
        cluster_id="c", split="calibration",
    )  # fmt: skip


def test_an_item_set_is_read_back_as_written(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "media")
    answers: list[tuple[Any, Any]] = [("true", "true_false"), (7, "integer"), (0.1, "number"), (None, "description")]
    items = [everything_an_item_holds(media), *(item(str(n), [], a, k) for n, (a, k) in enumerate(answers))]
    facts = {"notes": ["a remark"], "provenance": {"files": "abc"}}
    written = write_itemset(tmp_path, items, source="curated", recipe={"seed": 0, "n": 5}, **facts)  # type: ignore[arg-type]
    assert {"notes": written.card.notes, "provenance": written.card.provenance} == facts
    read = read_itemset(tmp_path)
    assert read.items == written.items == tuple(items)
    assert read.card == written.card
    assert read.card.counts == {"task": {"calibration": 1, "test": 4}}
    assert read.by_id["full"] is read.items[0]
    assert not list(tmp_path.rglob("*.half"))


def test_the_content_hash_covers_items_and_the_recipe_hash_the_recipe(tmp_path: Path) -> None:
    sets = [
        colour_set(tmp_path / "a"),
        colour_set(tmp_path / "b"),
        colour_set(tmp_path / "c", factors={"level": "easy"}),
    ]
    recipes, contents = [s.card.recipe_hash for s in sets], [s.card.content_hash for s in sets]
    assert recipes == [digest(["hard", "1", "generated", {"seed": 0}])] * 3
    assert contents[0] == contents[1] != contents[2]


def test_items_are_sorted_by_task_once(root: Path) -> None:
    passes = []

    class Watched(tuple[Item, ...]):
        def __iter__(self) -> Iterator[Item]:
            passes.append(len(self))
            return super().__iter__()

    items = replace(
        read_itemset(root), items=Watched(item(f"{n}", [], "red", "text", task=f"t{n % 9}") for n in range(30))
    )
    passes.clear()
    for number in range(9):
        items.task(f"t{number}").clear()
        assert [int(each.item_id) for each in items.task(f"t{number}")] == list(range(number, 30, 9))
    assert items.task("none") == []
    assert passes == [30]


def test_invalid_sets_are_not_written(tmp_path: Path) -> None:
    red = item("1", [], "red", "choice", options=NAMED)
    other = Item("2", "soft", "task", "?", (), "red", "choice", "2", "2", "2")
    for items, message in [([], "no items"), ([red, red], "'1' is used twice"), ([red, other], "a different suite")]:
        with pytest.raises(SnellenError, match=message):
            write_itemset(tmp_path / "set", items, source="generated", recipe={})
    assert not (tmp_path / "set").exists()


def rewrite(root: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change cells of row 2 and fix the card, so that only the cell itself is wrong."""
    path = root / "items.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    card = json.loads((root / "itemset.json").read_text())
    (root / "itemset.json").write_text(json.dumps({**card, "content_hash": digest(rows)}))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("answer", "{", "a field of JSON is invalid"),
        ("latent", None, "a field of JSON is invalid"),
        ("factors", "[]", "factors is not a JSON object"),
        ("split", "tset", "unknown split 'tset'; available: calibration, test, train"),
        ("answer_kind", "guess", "unknown answer_kind 'guess'"),
        ("question", None, "question is empty"),
        ("query", None, "query is empty"),
        ("requires", None, "requires is empty"),
    ],
)
def test_a_bad_cell_is_named_by_file_and_row(root: Path, field: str, value: Any, message: str) -> None:
    rewrite(root, lambda rows: rows[2].update({field: value}))
    with pytest.raises(SnellenError) as caught:
        read_itemset(root)
    assert str(caught.value).startswith(f"{root / 'items.parquet'} row 2: {message}")


def test_json_of_too_many_values_is_not_parsed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list is three characters in a file, and sixty bytes or more as data."""
    rewrite(root, lambda rows: rows[0].update(latent=json.dumps({"a": [[]] * 500})))
    with monkeypatch.context() as context:
        context.setattr(files, "MAX_VALUES", 900)
        assert_refused(lambda: read_itemset(root), "its texts of JSON have more than 900 values")
    card = root / "itemset.json"
    card.write_text(card.read_text().replace('"provenance": {', '"provenance": {"a": [' + "[]," * 500 + "0],", 1))
    monkeypatch.setattr(schemas, "MAX_CARD_VALUES", 900)
    assert_refused(lambda: read_itemset(root), "itemset.json: more than 900 values in one text")


@pytest.mark.parametrize("number", [10**9, -1, 1, "x", None, [1]])
def test_an_item_of_no_instalment_of_the_set_is_refused(root: Path, number: object) -> None:
    rewrite(root, lambda rows: rows[2].update(provenance=json.dumps({"part": number})))
    with pytest.raises(SnellenError, match=r"items\.parquet row 2: .* is of another instalment"):
        read_itemset(root)


@pytest.mark.parametrize(("field", "value"), [("item_id", None), ("suite", "other"), ("version", "2")])
def test_an_id_that_is_used_twice_and_an_item_of_another_suite_or_version_are_refused(
    root: Path, field: str, value: str | None
) -> None:
    rewrite(root, lambda rows: rows[2].update({field: value or rows[1][field]}))
    with pytest.raises(SnellenError, match=r"items\.parquet row 2: .* is used twice, or has a different suite"):
        read_itemset(root)


def test_only_media_that_no_item_shows_are_removed(root: Path) -> None:
    items = read_itemset(root)
    unused = items.media.find(patch(items.media, (1, 2, 3)))
    other = unused.with_name("notes.txt")
    other.write_text("of somebody else")
    prune_media(items.media, items.items)
    assert (unused.exists(), other.exists()) == (False, True)
    assert read_itemset(root).items == items.items


def edit_card(root: Path, **cells: Any) -> None:
    card = json.loads((root / "itemset.json").read_text())
    (root / "itemset.json").write_text(json.dumps({**card, **cells}))


def test_a_card_without_the_hashes_of_rows_is_read(root: Path) -> None:
    """They are later than the format."""
    card = json.loads((root / "itemset.json").read_text())
    (root / "itemset.json").write_text(
        json.dumps({k: v for k, v in card.items() if k not in ("rows_hash", "test_hash")})
    )
    items = read_itemset(root)
    assert (items.card.rows_hash, items.card.test_hash, len(items.items)) == ("", "", card["items"])


def altered_rows(root: Path) -> None:
    table = pq.read_table(root / "items.parquet")
    rows = table.to_pylist()
    rows[1]["answer"] = '"blue"' if rows[1]["answer"] != '"blue"' else '"red"'
    pq.write_table(pa.Table.from_pylist(rows, table.schema), root / "items.parquet")


def another_field(root: Path) -> None:
    table = pq.read_table(root / "items.parquet")
    pq.write_table(table.append_column("hint", pa.array(["psst"] * len(table))), root / "items.parquet")


def another_type(root: Path) -> None:
    table = pq.read_table(root / "items.parquet")
    index = table.schema.get_field_index("question")
    pq.write_table(table.set_column(index, "question", pa.array(range(len(table)))), root / "items.parquet")


def cut_short(root: Path) -> None:
    raw = (root / "items.parquet").read_bytes()
    (root / "items.parquet").write_bytes(raw[: len(raw) // 2])


def image(root: Path) -> Path:
    return sorted(root.rglob("*.png"))[0]


DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no card": (lambda root: (root / "itemset.json").unlink(), "", "no item set"),
    "card is no JSON": (lambda root: (root / "itemset.json").write_text("{"), "itemset.json", "Invalid JSON"),
    "card is no text": (
        lambda root: (root / "itemset.json").write_bytes(b"\xff{}"),
        "itemset.json",
        "no text in UTF-8",
    ),
    "card has another field": (lambda root: edit_card(root, hint="psst"), "itemset.json", "hint"),
    "card has a wrong count": (lambda root: edit_card(root, items=-1), "itemset.json", "another number"),
    "no rows": (lambda root: (root / "items.parquet").unlink(), "items.parquet", "missing"),
    "rows cut short": (cut_short, "items.parquet", "cannot be read as Parquet"),
    "rows altered": (altered_rows, "items.parquet", "content_hash"),
    "field unknown": (another_field, "items.parquet", "hint"),
    "field retyped": (another_type, "items.parquet", "question"),
    "media missing": (lambda root: image(root).unlink(), ".png", r"missing \(used by .*items.parquet row \d\)"),
    "media altered": (
        lambda root: image(root).write_bytes(b"?"),
        ".png",
        r"altered \(used by .*items.parquet row \d\)",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_reported_in_one_line(root: Path, name: str) -> None:
    read_itemset(root)
    harm, file, sentence = DAMAGE[name]
    harm(root)
    with pytest.raises(SnellenError, match=sentence) as caught:
        read_itemset(root)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(root))
    assert file in message.split(": ")[0]


def test_checked_files_are_remembered_by_size_and_time(root: Path) -> None:
    read_itemset(root)
    path = image(root)
    raw, stat = path.read_bytes(), path.stat()
    path.write_bytes(bytes([raw[0] ^ 1]) + raw[1:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    read_itemset(root)  # size and time are unchanged: remembered
    with pytest.raises(SnellenError, match="altered"):
        read_itemset(root, remember=False)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(SnellenError, match="altered"):
        read_itemset(root)
    path.write_bytes(raw)
    read_itemset(root)


def test_a_second_check_reads_no_image(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    real = Path.read_bytes

    def counted(path: Path) -> bytes:
        if path.suffix == ".png":
            read.append(path)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    for _ in range(2):
        read_itemset(root)
        assert len(read) == 4


def test_a_lost_or_damaged_home_costs_only_time(
    root: Path, snellen_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_itemset(root)
    for memory in (snellen_home / "verified").glob("*.json"):
        memory.write_text('{"torn')
    read_itemset(root)
    (root.parent / "file").write_text("in the way")
    monkeypatch.setenv("SNELLEN_HOME", str(root.parent / "file"))
    read_itemset(root)
    image(root).write_bytes(b"?")
    with pytest.raises(SnellenError, match="altered"):
        read_itemset(root)


def test_an_image_altered_after_the_check_is_still_refused(root: Path) -> None:
    built = read_itemset(root, verify=False)
    (image,) = built.items[0].query
    (root / "media" / image.path).write_bytes(b"?")
    with pytest.raises(SnellenError, match="altered"):
        built.media.open(image)


@pytest.mark.parametrize("plan", [(0, 1), (2, 1), (1, 1), (-3,)])
def test_planned_looks_rise(plan: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="planned looks are not rising"):
        SetDeclaration(instalments=3, options={}, planned_looks=plan)


@pytest.mark.parametrize("count", [0, 1001])
def test_a_set_has_one_to_a_thousand_instalments(count: int) -> None:
    with pytest.raises(ValidationError, match="than or equal to 1"):
        SetDeclaration(instalments=count, options={})


def test_a_declaration_is_of_one_suite_version_source_recipe_and_plan(root: Path) -> None:
    items = read_itemset(root)
    plans = [SetDeclaration(instalments=3, options={"n": 2}), SetDeclaration(instalments=4, options={"n": 2}),
             SetDeclaration(instalments=3, options={"n": 3}),
             SetDeclaration(instalments=3, options={"n": 2}, planned_looks=(1, 3))]  # fmt: skip
    cards = [items.card.model_copy(update={"declaration": plan}) for plan in plans]
    others = {"suite": "x", "version": "2", "source": "curated", "recipe": {"seed": 1}, "declaration": None}
    cards += [cards[0].model_copy(update={name: other}) for name, other in others.items()]
    assert len({card.declared_hash for card in cards}) == len(cards)
    first_instalment = itemset.declared(items, plans[0])
    assert (first_instalment.card.instalments_left, items.card.instalments_left) == (2, 0)
    assert {first_instalment.card.content_hash, first_instalment.card.rows_hash, first_instalment.card.test_hash} == {
        first_instalment.card.declared_hash
    }
    assert first_instalment.card.recipe == {**items.card.recipe, "parts": 3}
    assert read_itemset(root).instalments == (items.items,)
    assert [item.item_id for item in items.task("task")] == [item.item_id for item in items.items]
    assert items.task("other") == []
    assert itemset.media_digest(items.items) != itemset.media_digest(items.items[1:])


def test_a_notebook_shows_the_first_test_items_of_every_task_in_turn(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "media")
    images = [patch(media, (n, 0, 0), (300, 200)) for n in range(5)]
    clip = media.add(b"no frames", "video", "mp4", (640, 480), 2.5)
    tasks = {"a0": "a", "a1": "a", "a2": "a", "b0": "b", "b1": "b", "b2": "b"}
    items = [
        item(name, [clip, *images], "<red>", "text", task=task, question=f"{name}?") for name, task in tasks.items()
    ]
    items.insert(0, item("train", images, "red", "text", task="a", question="no", split="train"))
    page = write_itemset(tmp_path, items, source="generated", recipe={})._repr_html_()
    assert re.findall(r"<td>(\w+\?)</td><td>(.*?)</td>", page) == [
        (f"{n}?", "&lt;red&gt;") for n in ("a0", "b0", "a1", "b1")
    ]
    assert f"<p>&lt;ItemSet hard version 1: 7 items; {tmp_path}&gt;; the first 4 test items</p>" in page
    assert page.count("data:image/png;base64,") == 4 * 4
    small = Image.open(io.BytesIO(base64.b64decode(page.split("base64,")[1].split('"')[0])))
    assert small.size == (120, 80)
    media.find(images[1]).unlink()
    assert items_html(items, media, "").count("(missing image) ") == 4
