"""The released files, read from our own copy of their layout with images of a few pixels.

Layout and field names: xiaoyuanzi914/VisualFastMappingBenchmark, commit 797090e (`vlmvisualicl/src/filter_pipeline.py`,
`eval/run_evalset.py`, `utils/helper.py`). Images and words are ours. No released file was available; the
tests show that the layout that the code names can be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.suites.vfm_bench import prompts
from snellen.suites.vfm_bench.items import TASK
from snellen.suites.vfm_bench.released.files import Tree, scene_of
from snellen.suites.vfm_bench.released.recipe import RELEASED
from tests.goldens.descriptions import set_text
from tests.goldens.golden import assert_golden

pytestmark = pytest.mark.filterwarnings("ignore:.*the paper has:UserWarning")

AUTHORS = "/mnt/somewhere/visualicl_raw_data"
BOTTLE, FABRIC = "Manufacture/MVTec-AD/bottle/test", "E-commerce/Fabrics/cloth/image"
PIXELS = (12, 16)
HEAD = (
    "## Role\n You are an expert in Manufacture industry and ready for the task of bottleDefeatIdentification. You "
    "should look carefully the Detail level information, noted as Fine-grained visual features. \n ## Task \n "
    "You task is obsearving the image and determine whether it could be classified as one of the candidate categorie ."
)
CLEAN = f"{HEAD} The potential categories are ['good', 'crack'], \n##Constrain\n Just give me the final aswer"
DETAIL = (
    "## Role\nLook well.\n- **good**: a whole bottle.\n- **crack**: a line through the glass.\n## Constrain\nAnswer."
)


def save(path: Path, shade: int, box: tuple[int, int, int, int] | None = None) -> None:
    """Save a uniform image of its own shade, with noise inside `box` ([x1, y1, x2, y2]) if given."""
    pixels = np.full((*PIXELS, 3), (shade % 256, shade // 256, 40), np.uint8)
    if box:
        x1, y1, x2, y2 = box
        pixels[y1:y2, x1:x2] = np.random.default_rng(shade).integers(100, 255, (y2 - y1, x2 - x1, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def shots(folder: str, name: str, numbers: range, captions: int = 2) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        {"shot_path": f"{AUTHORS}/{folder}/{name}/{n:03}.png", "label_text": name} for n in numbers
    ]
    for n, shot in enumerate(records):
        shot["visual_intro"] = [f"[image2_{n}]", f"is an example of {name}"]
        if n < captions:
            shot["caption"] = f"The {name} one, number {n}."
    return records


def query(folder: str, name: str, label: str, candidate: object, **fields: Any) -> dict[str, Any]:
    return {"img_path": f"{AUTHORS}/{folder}/{label}/{name}", "label": label, "candidate": candidate, **fields}


def data(industry: str, level: str, source: str, name: str = "1_2025") -> dict[str, Any]:
    return {"id": name, "industry": industry, "level": level, "source": source}


FULL = {
    "data_info": data("Manufacture", "Detail", "MVTec-AD"),
    "query_info": query(
        BOTTLE, "000.png", "crack", "['good', 'crack']",
        instruct={"clean": CLEAN, "cot": "Step by step.", "detail": DETAIL},
        masked_path={"-mask-s1": f"{AUTHORS}/{BOTTLE.replace('Manufacture', 'Manufacture-mask-s1')}/crack/000.png"},
    ),
    "demo_info": {"crack": shots(BOTTLE, "crack", range(1, 6)), "good": shots(BOTTLE, "good", range(5))},
    "result_list": [["2025", "log", "gpt-4o", "good", False]],
}  # fmt: skip
COMPACT = {
    "data_info": data("E-commerce", "pattern", "Fabrics", "2_2025"),
    "query_info": query(FABRIC, "000.png", "silk", ["silk", "wool", "linen"]),
}
BARE = {
    "data_info": data("Agriculture", "Element", "EPLID", "3_2025"),
    "query_info": {"img_path": "Agriculture/EPLID/leaf.png", "label": "rust", "candidate": '["rust", "blight"]'},
}


def release(root: Path, *lines: object) -> Path:
    """Write a small folder like the unpacked archive, with these lines as records."""
    raw = root / "VisualFastMappingBenchmark"
    for n in range(7):
        save(raw / BOTTLE / "crack" / f"{n:03}.png", n)
        save(raw / BOTTLE / "good" / f"{n:03}.png", 20 + n)
        for index, name in enumerate(("silk", "wool", "linen")):
            save(raw / FABRIC / name / f"{n:03}.png", 40 + 20 * index + n)
    (raw / BOTTLE.replace("test", "ground_truth") / "crack").mkdir(parents=True)
    mask = np.zeros(PIXELS, np.uint8)
    mask[3:7, 2:10] = 255
    Image.fromarray(mask).save(raw / BOTTLE.replace("test", "ground_truth") / "crack/000_mask.png")
    save(raw / "Agriculture/EPLID/leaf.png", 200)
    write(root, *lines)
    return root


def write(root: Path, *lines: object) -> None:
    text = [line if isinstance(line, str) else json.dumps(line) for line in ({}, *lines)]
    (root / "test.jsonl").write_text("\n".join(text) + "\n", "utf-8")


def changed(record: dict[str, Any], part: str, **fields: Any) -> dict[str, Any]:
    return {**record, part: {**record[part], **fields}}


def built(root: Path, out: Path, **fields: Any) -> ItemSet:
    return RELEASED.build(BuildOptions(out, sources={"vfm": root}, show_progress=False, **fields))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("vfm"), FULL, COMPACT, BARE)


@pytest.fixture(scope="module")
def items(root: Path, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    with pytest.warns(UserWarning, match=r"3 queries, the paper has 4200"):
        return built(root, tmp_path_factory.mktemp("items"))


def item_of(items: ItemSet, name: str) -> Item:
    (item,) = [item for item in items.items if item.provenance["id"].startswith(name)]
    return item


def test_a_full_record_is_an_episode_with_its_own_words_and_demos(items: ItemSet, root: Path) -> None:
    assert read_itemset(items.root).items == items.items
    item = item_of(items, "1_")
    assert item.question == HEAD
    assert [(option.key, option.text) for option in item.options] == [("c0", "good"), ("c1", "crack")]
    assert (item.answer, item.measures["ways"]) == ("c1", 2)
    demos = [(demo.shot, demo.answer, demo.caption) for demo in item.support]
    assert demos[:4] == [
        (0, "c0", "The good one, number 0."), (0, "c1", "The crack one, number 0."),
        (1, "c0", "The good one, number 1."), (1, "c1", "The crack one, number 1."),
    ]  # fmt: skip
    assert demos[4:] == [(shot, key, "") for shot in (2, 3, 4) for key in ("c0", "c1")]
    raw = root / "VisualFastMappingBenchmark" / BOTTLE
    assert items.media.read(item.query[0]) == (raw / "crack/000.png").read_bytes()
    assert [items.media.read(demo.media[0]) for demo in item.support[:2]] == [
        (raw / "good/000.png").read_bytes(), (raw / "crack/001.png").read_bytes(),
    ]  # fmt: skip
    assert item.factors == {
        "industry": "Manufacture", "concept_level": "detail", "ways": "2", "source": "MVTec-AD",
        "concept_task": "MVTec-AD/bottle",
    }  # fmt: skip
    assert item.cluster_id == "MVTec-AD/bottle/crack"
    assert item.latent == {"definitions": {"c0": "a whole bottle.", "c1": "a line through the glass."}}
    assert item.provenance["instructions"] == {"clean": CLEAN, "cot": "Step by step."}
    assert (item.provenance["demos"], item.provenance["source"]) == ("released", "test.jsonl line 2")
    assert "Doubao-1.5-vision-pro-32k-250115" in item.provenance["construction_subjects"]


def test_the_region_is_the_mask_as_half_open_pixels(items: ItemSet) -> None:
    item = item_of(items, "1_")
    assert (item.regions, item.provenance["region"]) == ({"box": [2, 3, 10, 7]}, "mask")
    assert (item.measures["mean_region_width"], item.measures["mean_region_height"]) == (8, 4)
    assert item_of(items, "2_").regions == {}


def test_records_without_demos_get_demos_from_the_folders_of_their_classes(items: ItemSet, root: Path) -> None:
    item = item_of(items, "2_")
    folder = root / "VisualFastMappingBenchmark" / FABRIC
    name_of = {path.read_bytes(): path.parent.name for path in folder.rglob("*.png")}
    names = {option.key: option.text for option in item.options}
    raws = [items.media.read(demo.media[0]) for demo in item.support]
    assert [(demo.shot, names[demo.answer]) for demo in item.support] == [
        (shot, name) for shot in range(5) for name in ("silk", "wool", "linen")
    ]
    assert [name_of[image] for image in raws] == [names[demo.answer] for demo in item.support]
    assert len(set(raws)) == 15
    assert (folder / "silk/000.png").read_bytes() not in raws, "the query is no example"
    assert item.question == prompts.head("E-commerce", "cloth", "pattern")
    assert item.provenance["demos"] == "drawn"


def test_items_without_folders_have_no_examples_and_the_card_records_it(items: ItemSet) -> None:
    bare = item_of(items, "3_")
    assert (bare.support, bare.answer, bare.factors["concept_level"]) == ((), "c0", "element")
    notes = "\n".join(items.card.notes)
    for expected in (
        "unverified: 2 records of test.jsonl have no demo_info",
        "1 items have no demos and are asked without examples only",
        "1 items have demos drawn here",
        "1 queries name copies with noise that are missing",
        "1 items have the level 'element'",
        "3 queries, the paper has 4200",
        "Medical: 0 queries, the paper has 1050",
    ):
        assert expected in notes, expected
    assert "contain no query" not in notes, "the empty first line is not reported"


def test_ids_reveal_no_position_and_the_seed_draws_demos_and_items(root: Path, tmp_path: Path, items: ItemSet) -> None:
    assert sorted(item.item_id for item in items.items) == [f"{TASK}-{n:04d}" for n in range(3)]
    again, other = built(root, tmp_path / "again"), built(root, tmp_path / "other", seed=1)
    assert again.card.content_hash == items.card.content_hash
    assert item_of(other, "2_").support != item_of(items, "2_").support
    assert item_of(other, "1_").support == item_of(items, "1_").support
    single_item_sets = [built(root, tmp_path / f"n{seed}", n=1, seed=seed).items for seed in range(6)]
    assert {len(drawn_items) for drawn_items in single_item_sets} == {1}
    assert len({drawn_items[0].item_id for drawn_items in single_item_sets}) > 1
    known = {item.item_id: item.provenance["id"] for item in items.items}
    assert all(known[item.item_id] == item.provenance["id"] for (item,) in single_item_sets), (
        "an item keeps its id when drawn"
    )


def test_ids_are_shuffled_and_every_item_has_its_own_draw(tmp_path: Path) -> None:
    root = release(tmp_path / "vfm", *[changed(COMPACT, "data_info", id=str(n)) for n in range(8)])
    items = built(root, tmp_path / "items").items
    ids = [item.item_id for item in items]
    assert sorted(ids) == [f"{TASK}-{n:04d}" for n in range(8)] != ids
    assert len({item.support for item in items}) == 8


def test_only_the_first_five_demos_are_shown(tmp_path: Path) -> None:
    more = {"good": shots(BOTTLE, "good", range(7)), "crack": shots(BOTTLE, "crack", range(1, 7))}
    seven = built(release(tmp_path / "vfm", {**FULL, "demo_info": more}), tmp_path / "more")
    five = built(release(tmp_path / "five", FULL), tmp_path / "items")
    assert seven.items[0].support == five.items[0].support
    assert "left out" not in "\n".join(seven.card.notes)


def test_a_demo_that_is_the_query_is_replaced_and_no_class_stands_out(tmp_path: Path) -> None:
    record = changed(FULL, "demo_info", crack=shots(BOTTLE, "crack", range(5)))
    root = release(tmp_path / "vfm", record)
    itemset = built(root, tmp_path / "with")
    (item,) = itemset.items
    images = [demo.media[0] for demo in item.support]
    assert (len(images), len(set(images))) == (10, 10)
    assert item.query[0] not in images
    captions = [demo.caption for demo in item.support if demo.answer == "c1"]
    assert captions == ["The crack one, number 1.", "", "", "", ""], "captions stay with their images"
    assert item.provenance["demos"] == "drawn"
    # With no replacement image, the other class loses a demo as well.
    for n in (5, 6):
        (root / "VisualFastMappingBenchmark" / BOTTLE / f"crack/{n:03}.png").unlink()
    fewer = built(root, tmp_path / "without")
    assert [demo.answer for demo in fewer.items[0].support] == ["c0", "c1"] * 4
    notes = "\n".join(fewer.card.notes)
    assert "1 demos that show the query" in notes
    assert "1 items have fewer than 5 demos per class" in notes


def test_class_folders_are_siblings_of_the_folder_of_the_query(tmp_path: Path) -> None:
    root, raw = tmp_path / "vfm", "VisualFastMappingBenchmark/Medical/MSD/brain/test"
    for n, name in enumerate(["glioma/a/1", "glioma/b/2", "edema/3", "other/4", "other/glioma/5"]):
        save(root / raw / f"{name}.png", n)
    inner = {"img_path": f"{AUTHORS}/Medical/MSD/brain/test/glioma/a/1.png", "label": "glioma"}
    stray = {"img_path": f"{AUTHORS}/Medical/MSD/brain/test/other/4.png", "label": "edema"}
    record_data = data("Medical", "detail", "MSD Brain")
    names = ["glioma", "edema"]
    write(
        root,
        *[
            {"data_info": record_data, "query_info": {**query_data, "candidate": names}}
            for query_data in (inner, stray)
        ],
    )
    nested, other = built(root, tmp_path / "items").items
    expected = [root / raw / "glioma/b/2.png", root / raw / "edema/3.png"]
    assert [Path(tmp_path / "items/media" / demo.media[0].path).read_bytes() for demo in nested.support] == [
        path.read_bytes() for path in expected
    ]
    assert other.support == (), "its folder is not of a class, so its siblings may be anything"


def test_without_a_mask_the_region_is_the_noise_of_the_masked_copy(tmp_path: Path) -> None:
    root = release(tmp_path / "vfm", FULL)
    raw = root / "VisualFastMappingBenchmark"
    (raw / BOTTLE.replace("test", "ground_truth") / "crack/000_mask.png").unlink()
    save(raw / BOTTLE.replace("Manufacture", "Manufacture-mask-s1") / "crack/000.png", 0, (4, 1, 9, 5))
    itemset = built(root, tmp_path / "items")
    (item,) = itemset.items
    assert (item.regions, item.provenance["region"]) == ({"box": [4, 1, 9, 5]}, "copy with noise")
    assert "1 regions were read from copies with noise" in "\n".join(itemset.card.notes)


def test_details_that_do_not_name_every_class_stay_one_instruction(tmp_path: Path) -> None:
    half = "- good: a whole bottle.\nBeware of the crack."
    root = release(tmp_path / "vfm", changed(FULL, "query_info", instruct={"detail": half}))
    itemset = built(root, tmp_path / "items")
    assert itemset.items[0].latent == {"instruction": half}
    assert "1 detailed instructions do not distinguish classes" in "\n".join(itemset.card.notes)
    assert itemset.items[0].question == prompts.head("Manufacture", "bottle", "detail")


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    missing = changed(FULL, "demo_info", good=shots(BOTTLE, "good", range(5, 8)))
    away = changed(FULL, "query_info", img_path="../000.png")
    root = release(
        tmp_path / "vfm", "{no json", changed(FULL, "query_info", label="bent"),
        changed(FULL, "query_info", candidate="__import__('os').getcwd()"),
        changed(FULL, "query_info", candidate="'good'"),
        changed(FULL, "query_info", candidate=["good", "crack", "good"]), changed(FULL, "data_info", level="Taste"),
        changed(FULL, "data_info", industry="Fishing"), {**FULL, "demo_info": {"good": []}}, missing, away,
        {"data_info": {}, "query_info": {}}, changed(FULL, "query_info", candidate="[{[]: 1}]"),
    )  # fmt: skip
    with pytest.raises(SnellenError) as error:
        built(root, tmp_path / "out")
    message = str(error.value)
    for number, problem in {
        2: "not JSON",
        3: "query_info.label: 'bent' is not one of the candidates good, crack",
        4: "query_info.candidate: \"__import__('os').getcwd()\" is not a list",
        5: "query_info.candidate: not a list of names",
        6: "query_info.candidate: fewer than two names, or a repeated name",
        7: "data_info.level: 'Taste' is not one of object",
        8: "data_info.industry: 'Fishing' is not one of Manufacture",
        9: "demo_info: classes good are not the candidates good, crack",
        10: f"missing: {BOTTLE}/good/007.png",
        11: "../000.png leads out of",
        12: "data_info.id: Field required",
        13: "query_info.candidate: '[{[]: 1}]' is not a list",
    }.items():
        assert f"test.jsonl line {number}: {problem}" in message
    assert "12 of the released records" in message
    assert not (tmp_path / "out").exists(), "nothing is kept of a refused build"


def test_a_broken_image_is_refused_with_its_line(tmp_path: Path) -> None:
    root = release(tmp_path / "vfm", FULL, COMPACT)
    (root / "VisualFastMappingBenchmark" / BOTTLE / "crack/000.png").write_bytes(b"no image")
    with pytest.raises(SnellenError, match=r"test\.jsonl line 2: .*000\.png"):
        built(root, tmp_path / "out")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sources": {}}, r"--source vfm=FOLDER"),
        ({"sources": {"other": Path()}}, r"no source 'other'"),
        ({"n": 0}, r"--n 0"),
        ({"tasks": ("slow-mapping",)}, r"no task 'slow-mapping'"),
    ],
)
def test_invalid_options_are_refused(root: Path, tmp_path: Path, fields: Any, message: str) -> None:
    with pytest.raises(SnellenError, match=message):
        RELEASED.build(BuildOptions(tmp_path / "out", **{"sources": {"vfm": root}, **fields}))


def test_a_file_without_queries_is_refused(tmp_path: Path) -> None:
    root = release(tmp_path / "vfm", {"Total": [1, 2, 0.5]})
    with pytest.raises(SnellenError, match=r"no record has query_info"):
        built(root, tmp_path / "out")


@pytest.mark.parametrize(
    ("path", "tail"),
    [
        (f"{AUTHORS}/Medical/MSD/brain/test/a/1.png", "Medical/MSD/brain/test/a/1.png"),
        ("/Medical/work/raw_data/Manufacture-mask-s1/x/1.png", "Manufacture-mask-s1/x/1.png"),
        ("E-commerce/x/1.png", "E-commerce/x/1.png"),
        ("src/images/noise_image_1.png", "noise_image_1.png"),
    ],
)
def test_paths_of_the_authors_machines_are_resolved(path: str, tail: str) -> None:
    assert Tree.tail(path).as_posix() == tail


def test_the_plan_counts_items_without_reading_records(root: Path, tmp_path: Path) -> None:
    assert RELEASED.plan(BuildOptions(tmp_path))["items"] == {TASK: 4200}
    plan = RELEASED.plan(BuildOptions(tmp_path, n=7, sources={"vfm": root}))
    assert plan["items"] == {TASK: 7}
    assert plan["bytes"] == sum(path.stat().st_size for path in root.rglob("*.*") if path.is_file())


def test_the_task_of_an_instruction() -> None:
    assert (scene_of(CLEAN), scene_of("Do it.")) == ("bottleDefeatIdentification", "")


def test_the_items_and_the_card_equal_their_golden(items: ItemSet) -> None:
    assert_golden("suites/vfm-bench-released.txt", set_text(items))
