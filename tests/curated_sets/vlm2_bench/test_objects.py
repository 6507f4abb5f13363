"""Sequences of objects and people from folders of images: published counts, rules and refusals."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.curated_sets.vlm2_bench.objects import read_objects
from snellen.curated_sets.vlm2_bench.people import read_people, scaled, selected
from snellen.curated_sets.vlm2_bench.recipe import Curated
from snellen.curated_sets.vlm2_bench.zoom import detection_items
from snellen.exam.run import run
from snellen.suites.vlm2_bench.items import sorted_pattern
from snellen.suites.vlm2_bench.sequences import PC_COUNTS
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden
from tests.helpers.journey import colour_set

NAMES = ("nora", "olga", "rosa", "sina", "yuki")


def make_image(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(stream("test picture", seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)


def make_objects(root: Path, types: int, objects: int) -> Path:
    seed = 0
    for name in [f"type{t}/thing{o}" for t in range(types) for o in range(objects)]:
        for file in [f"main/{k}.png" for k in range(4)] + [f"distractors/other{k}/photo.png" for k in range(4)]:
            make_image(root / name / file, seed)
            seed += 1
    return root


def make_people(root: Path, groups: int, people: int) -> Path:
    seed = 0
    for name in [f"group{g}/{NAMES[p]}-{g}" for g in range(groups) for p in range(people)]:
        for k in range(4):
            make_image(root / name / f"{k}.png", seed)
            seed += 1
    return root


def build(out: Path, task: str, **fields: Any) -> ItemSet:
    return Curated().build(BuildOptions(out, tasks=(task,) if task else (), show_progress=False, **fields))


def look_alikes(root: Path, source: Path) -> Path:
    """A run in which the first image of the next person is the look-alike of every image."""
    step = build(root / "look-alikes", "pc-look-alikes", sources={"pc": source})
    people = list(dict.fromkeys(option.key[:4] for item in step.items for option in item.options))
    after = dict(zip(sorted(people), sorted(people)[1:] + sorted(people)[:1], strict=True))
    script = root / "script.json"
    texts = {item.item_id: after[item.item_id.removeprefix("look-alike-")[:4]] + "-1" for item in step.items}
    script.write_text(json.dumps(texts))
    run(step, [f"fake:scripted={script}"], root / "look-alikes-run", show_progress=False)
    return root / "look-alikes-run"


def item_counts(itemset: ItemSet) -> dict[str, int]:
    return {task: counts["test"] for task, counts in itemset.card.counts.items()}


def true_order(item: Item) -> str:
    """The order of the query as letters by first appearance, from the identities of the images alone."""
    letters: dict[str, str] = {}
    shows = item.latent["shows"]
    return "".join(letters.setdefault(shows[media.sha256]["identity"], "ABCD"[len(letters)]) for media in item.query)


def check_truths(itemset: ItemSet) -> None:
    for item in itemset.items:
        order = true_order(item)
        assert sorted_pattern(order) == item.factors["pattern"], item.item_id
        if item.task.endswith("-cnt"):
            assert item.answer == len(set(order))
        elif item.task.endswith("-cpr"):
            assert item.answer == (
                "true" if (len(set(order)) == 1) == (item.factors["wording"] == "positive") else "false"
            )
        else:
            alike = [str(n) for n, letter in enumerate(order, 1) if order.count(letter) > 1]
            assert item.answer == ("+".join(alike) or "none")


# Objects


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    root = tmp_path_factory.mktemp("oc")
    return build(root / "set", "oc", sources={"oc": make_objects(root / "photos", 8, 5)})


def test_forty_objects_give_the_published_counts(forty: ItemSet) -> None:
    assert item_counts(forty) == {"oc-cpr": 720, "oc-cnt": 360, "oc-grp": 200}
    positive = [item.answer for item in forty.task("oc-cpr") if item.factors["wording"] == "positive"]
    assert Counter(positive) == {"true": 120, "false": 240}
    assert Counter(len(item.query) for item in forty.task("oc-cnt")) == {2: 80, 3: 120, 4: 160}
    assert len({item.cluster_id for item in forty.items}) == 40
    assert forty.card.notes == ["oc: 40 main objects of 8 types, 360 sequences"]
    check_truths(forty)


def test_only_the_images_reveal_the_answer(forty: ItemSet, tmp_path: Path) -> None:
    patterns = {item.factors["pattern"] for item in forty.items}
    assert not any(pattern in item.item_id for item in forty.items for pattern in patterns)
    first = [item.factors["pattern"] for item in forty.task("oc-cnt")[:36]]
    assert len(set(first)) > 5, "the first items must not be all of one pattern, since --limit takes them"
    files = {path.name.split(".")[0] for path in forty.media.root.glob("??/*")}
    assert files == {media.sha256 for item in forty.items for media in item.media()}
    examination = run(forty, ["fake:oracle"], tmp_path / "oracle", limit=40, show_progress=False)
    assert (examination.all_results().query("factor == '' and metric != 'alike_pairs'")["value"] == 1).all()


def test_cues_become_factors_and_few_objects_are_noted(tmp_path: Path) -> None:
    photos = make_objects(tmp_path / "photos", 2, 1)
    (photos / "type0/thing0/cues.yaml").write_text("other0: [shape, colour]\nother1: [colour]\n")
    itemset = build(tmp_path / "set", "oc-cnt", sources={"oc": photos})
    assert itemset.card.items == 18
    assert itemset.card.notes == ["oc: 2 main objects of 2 types, 18 sequences (the paper: 40 of 8, 360)"]
    for item in itemset.items:
        others = {appearance["identity"].split("/")[-1] for appearance in item.latent["shows"].values()}
        cues = "colour+shape" if "other0" in others else "colour" if "other1" in others else None
        assert item.factors.get("shared_cues") == (cues if item.cluster_id == "oc-type0/thing0" else None)
    (photos / "type0/thing0/cues.yaml").write_text("othr: [colour]\n")
    with pytest.raises(SnellenError, match=r"cues\.yaml: no distractor 'othr'; available: other0"):
        build(tmp_path / "again", "oc", sources={"oc": photos})


def test_two_images_of_one_distractor_object_are_refused(tmp_path: Path) -> None:
    photos = make_objects(tmp_path / "photos", 1, 1)
    make_image(photos / "type0/thing0/distractors/other2/second.png", 999)
    with pytest.raises(SnellenError, match=r"other2: photo\.png, second\.png are images of the same distractor object"):
        build(tmp_path / "set", "oc", sources={"oc": photos})


def test_an_image_of_two_objects_is_refused(tmp_path: Path) -> None:
    photos = make_objects(tmp_path / "photos", 1, 2)
    shutil.copy(photos / "type0/thing0/main/2.png", photos / "type0/thing1/distractors/other0/photo.png")
    with pytest.raises(SnellenError, match=r"thing1/distractors/other0/photo\.png: the same image as .*thing0/main/2"):
        build(tmp_path / "set", "oc", sources={"oc": photos})


def test_too_few_images_are_named(tmp_path: Path) -> None:
    photos = make_objects(tmp_path / "photos", 1, 1)
    (photos / "type0/thing0/main/3.png").unlink()
    with pytest.raises(SnellenError, match="thing0: 3 images in main and 4 distractors; at least 4 and 3 are needed"):
        build(tmp_path / "set", "oc", sources={"oc": photos})


# People


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    root = tmp_path_factory.mktemp("pc")
    photos = make_people(root / "photos", 6, 5)
    return build(root / "set", "pc", sources={"pc": photos}, inputs={"look-alikes": look_alikes(root, photos)})


@pytest.mark.slow
def test_thirty_people_give_the_published_counts(thirty: ItemSet) -> None:
    assert item_counts(thirty) == {"pc-cpr": 400, "pc-cnt": 120, "pc-grp": 100}
    positive = [item for item in thirty.task("pc-cpr") if item.factors["wording"] == "positive"]
    assert Counter(item.answer for item in positive) == {"true": 100, "false": 100}
    assert Counter(item.factors["pattern"] for item in positive) == {
        "AA": 50, "AAA": 20, "AAAA": 30, "AB": 31, "AAB": 19, "ABC": 6, "AAAB": 13, "AABC": 12, "ABCD": 19,
    }  # fmt: skip
    assert Counter(len(item.query) for item in thirty.task("pc-cnt")) == {2: 30, 3: 25, 4: 65}
    grouped = Counter(item.factors["pattern"] for item in thirty.task("pc-grp"))
    assert grouped == {"AAB": 28, "ABC": 9, "AAAB": 18, "AABC": 18, "ABCD": 27}
    assert "pc-grp: 100 sequences (AAB 28, ABC 9, AAAB 18, AABC 18, ABCD 27)" in " ".join(thirty.card.notes)
    check_truths(thirty)


def test_no_two_sequences_show_the_same_images_of_the_same_people(thirty: ItemSet) -> None:
    counts = Counter(frozenset(media.sha256 for media in item.query) for item in thirty.task("pc-cnt"))
    assert set(counts.values()) == {1}


def test_distractors_are_look_alikes(thirty: ItemSet) -> None:
    # The script names the first image of the next person, so the next person in a sequence has the next number.
    for item in thirty.items:
        main = int(item.cluster_id.removeprefix("person-"))
        others = {(int(key[1:4]), key[5:]) for key in item.provenance["images"]} - {(main, str(k)) for k in range(1, 5)}
        distinct = len(item.factors["pattern"].replace("A", ""))
        assert others == {((main - 1 + k) % 30 + 1, "1") for k in range(1, distinct + 1)}


def test_people_have_no_names(thirty: ItemSet) -> None:
    for item in thirty.items:
        text = json.dumps([item.item_id, item.stimulus_id, item.cluster_id, item.group_id, item.question, item.factors])
        assert not any(name in (text + json.dumps([item.latent, item.provenance])) for name in NAMES)


def test_few_people_scale_the_counts_and_answers_must_match(tmp_path: Path) -> None:
    photos = make_people(tmp_path / "photos", 2, 3)
    with pytest.raises(
        SnellenError, match=r"pc-cpr: --input look-alikes=RUN is missing; .*snellen build vlm2-bench/pc-look"
    ):
        build(tmp_path / "lacking", "pc-cpr", sources={"pc": photos})
    answers = look_alikes(tmp_path, photos)
    itemset = build(tmp_path / "set", "", sources={"pc": photos}, inputs={"look-alikes": answers})
    # 6 of 30 people: 10 10 4 6 2 6 4 4 6 sequences, 20 of one person.
    assert item_counts(itemset) == {"pc-cpr": 80, "pc-cnt": 6 + 5 + 13, "pc-grp": 20}
    assert itemset.card.notes[0].startswith("pc: 6 people, 52 sequences (the paper: 30, 260)")
    check_truths(itemset)
    fewer = build(tmp_path / "fewer", "pc", sources={"pc": photos}, inputs={"look-alikes": answers}, n=7)
    assert item_counts(fewer) == {"pc-cpr": 14, "pc-cnt": 7, "pc-grp": 7}
    plan = Curated().plan(BuildOptions(tmp_path, tasks=("pc",), sources={"pc": photos}))
    assert plan["items"] == item_counts(itemset)
    make_image(photos / "group0/nora-0/0.png", 777)
    with pytest.raises(SnellenError, match="differs from the one that the given sources and inputs lead to"):
        build(tmp_path / "other", "pc", sources={"pc": photos}, inputs={"look-alikes": answers})


def test_two_mutual_look_alikes_leave_the_other_distractors_random(tmp_path: Path) -> None:
    photos = make_people(tmp_path / "photos", 1, 4)
    step = build(tmp_path / "look-alikes", "pc-look-alikes", sources={"pc": photos})
    twin = {"p001": "p002-1", "p002": "p001-1", "p003": "p004-1", "p004": "p003-1"}
    texts = {item.item_id: twin[item.item_id.removeprefix("look-alike-")[:4]] for item in step.items}
    script = tmp_path / "script.json"
    script.write_text(json.dumps(texts))
    run(step, [f"fake:scripted={script}"], tmp_path / "run", show_progress=False)
    final = build(tmp_path / "set", "pc-cnt", sources={"pc": photos}, inputs={"look-alikes": tmp_path / "run"})
    check_truths(final)
    counts = {pattern: scaled(count, 4) for pattern, count in PC_COUNTS.items()}
    lacking = counts["ABC"] + counts["AABC"] + 2 * counts["ABCD"]
    assert f"pc: {lacking} distractors drawn at random" in final.card.notes[1]


def test_an_encoder_finds_look_alikes(tmp_path: Path) -> None:
    photos = make_people(tmp_path / "photos", 1, 4)
    for n, name in enumerate(NAMES[:4]):
        colour = ((250, 0, 0), (230, 20, 20), (0, 0, 250), (20, 20, 230))[n]
        for k in range(4):
            Image.new("RGB", (8, 8 + k), colour).save(photos / f"group0/{name}-0/{k}.png")
    step = build(tmp_path / "look-alikes", "pc-look-alikes", sources={"pc": photos})
    examination = run(step, ["encoder:colour-histogram"], tmp_path / "run", show_progress=False)
    nearest = {
        response.item_id.removeprefix("look-alike-")[:4]: (response.text or "")[:4]
        for response in examination.responses
    }
    assert nearest == {"p001": "p002", "p002": "p001", "p003": "p004", "p004": "p003"}


def test_an_image_without_a_look_alike_is_an_error(tmp_path: Path) -> None:
    photos = make_people(tmp_path / "photos", 1, 4)
    step = build(tmp_path / "look-alikes", "pc-look-alikes", sources={"pc": photos})
    run(step, ["fake:constant=nobody"], tmp_path / "run", show_progress=False)
    with pytest.raises(SnellenError, match="16 of 16 images have no look-alike; repeat the same `snellen run`"):
        build(tmp_path / "set", "pc", sources={"pc": photos}, inputs={"look-alikes": tmp_path / "run"})


def test_published_counts_are_never_exceeded() -> None:
    assert [scaled(50, people) for people in (1, 3, 30, 31, 300)] == [2, 5, 50, 50, 50]
    expected = {"AA": 15, "AB": 15, "AAA": 8, "AAB": 13, "ABC": 4, "AAAA": 20, "AAAB": 13, "AABC": 13, "ABCD": 19}
    assert selected("pc-cnt", PC_COUNTS, 30) == expected


# The recipe


def test_unknown_names_and_no_source_are_refused(tmp_path: Path) -> None:
    for fields, message in (
        ({"task": "oc-cpt"}, "no task 'oc-cpt'; did you mean 'oc-cpr'"),
        ({"task": "oc", "sources": {"objects": tmp_path}}, "no --source 'objects'; available: gc, oc, pc, vid"),
        ({"task": "gc", "inputs": {"caption": tmp_path}}, "no --input 'caption'; did you mean 'captions'"),
        ({"task": ""}, "nothing to build from; give --source NAME=DIR with NAME one of gc, oc, pc, vid"),
        ({"task": "oc", "sources": {"oc": tmp_path / "none"}}, "none: not a folder; give a folder TYPE/OBJECT/main"),
    ):
        with pytest.raises(SnellenError, match=message):
            build(tmp_path / "set", **fields)
    two = BuildOptions(tmp_path / "set", tasks=("pc-look-alikes", "pc-cnt"), sources={"pc": tmp_path})
    with pytest.raises(SnellenError, match="vlm2-bench/pc-look-alikes: build this step on its own; leave out"):
        Curated().plan(two)


def test_the_seed_changes_the_recipe_and_the_sequences(tmp_path: Path) -> None:
    photos = make_objects(tmp_path / "photos", 1, 2)
    first, repeated, other = (
        build(tmp_path / f"set{n}", "oc-cnt", sources={"oc": photos}, seed=seed) for n, seed in enumerate((0, 0, 1))
    )
    assert (first.card.content_hash, first.card.recipe_hash) == (repeated.card.content_hash, repeated.card.recipe_hash)
    assert first.card.recipe_hash != other.card.recipe_hash
    assert {item.query for item in first.items} != {item.query for item in other.items}
    make_image(photos / "type0/thing0/main/0.png", 888)
    with_other_images = build(tmp_path / "moved", "oc-cnt", sources={"oc": photos})
    assert with_other_images.card.recipe_hash != first.card.recipe_hash, "other images are another recipe"


def test_the_sets_of_objects_and_people_equal_their_golden(tmp_path: Path) -> None:
    objects, people = make_objects(tmp_path / "oc", 2, 1), make_people(tmp_path / "pc", 2, 2)
    (objects / "type0/thing0/cues.yaml").write_text("other0: [shape, colour]\nother1: [colour]\n")
    make_image(people / "group1" / NAMES[4] / "0.png", 90)
    for k in range(1, 5):
        make_image(people / "group1" / NAMES[4] / f"{k}.png", 90 + k)
    sources, inputs = {"oc": objects, "pc": people}, {"look-alikes": look_alikes(tmp_path, people)}
    final = build(tmp_path / "set", "", sources=sources, inputs=inputs)
    zoom = build(tmp_path / "zoom", "zoom", sources={"items": final.root})
    sets = [read_itemset(tmp_path / "look-alikes"), final, zoom]
    plans = [
        Curated().plan(BuildOptions(tmp_path, tasks=tasks, sources=given, seed=seed))
        for tasks, given, seed in (
            ((), {}, 0), ((), sources, 3), (("oc-cnt", "pc-grp"), sources, 0), (("zoom",), {"items": final.root}, 0),
        )
    ]  # fmt: skip
    text = "".join(grouped_set_text(items, tmp_path) for items in sets)
    assert_golden("curated/vlm2-sequences.txt", text + masked("\n".join(map(str, plans)), tmp_path) + "\n")


def test_people_objects_and_sets_that_do_not_suffice_are_named(tmp_path: Path) -> None:
    few = make_people(tmp_path / "few", 1, 3)
    with pytest.raises(SnellenError, match="few: 3 people, but at least 4 are needed; give a folder GROUP/PERSON"):
        read_people(few)
    people = make_people(tmp_path / "people", 2, 2)
    (people / "group1" / "olga-1" / "2.png").unlink()
    with pytest.raises(SnellenError, match="olga-1: 3 images, but 4 are needed"):
        read_people(people)
    photos = make_objects(tmp_path / "photos", 1, 1)
    (photos / "type0/thing0/cues.yaml").write_text("other0: colour\n")
    with pytest.raises(SnellenError, match=r"cues\.yaml: write a list of shared cues per distractor"):
        read_objects(photos)
    for k in (0, 1):
        shutil.rmtree(photos / f"type0/thing0/distractors/other{k}")
    with pytest.raises(SnellenError, match="4 images in main and 2 distractors; at least 4 and 3 are needed"):
        read_objects(photos)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SnellenError, match="empty: no objects; give a folder TYPE/OBJECT"):
        read_objects(tmp_path / "empty")
    with pytest.raises(SnellenError, match="no images of objects or people to zoom into"):
        detection_items(colour_set(tmp_path / "colours"))
