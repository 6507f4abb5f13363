"""From folders of images to a reviewed set: the whole chain with scripted judges, and its refusals."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.datasets.declarations.nature import HIDDEN, OPEN
from snellen.curated_sets.vfm_bench.datasets import LENT
from snellen.curated_sets.vfm_bench.difficulty import difficult
from snellen.curated_sets.vfm_bench.recipe import Curated, episode_items
from snellen.curated_sets.vfm_bench.steps import read_verdict
from snellen.curation.draws import Reservoir
from snellen.curation.ledger import Ledger
from snellen.curation.queues import write_queue
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Annotation, Sample
from snellen.exam.run import run
from snellen.suites.vfm_bench.class_images import ClassImage, Concept, ConceptTask, draw_records
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden
from tests.helpers.reviewers import decision_set, reviewed_by

LEAVES = ("blight", "early blight", "late blight")
"""One name is part of the others; the released code drew demos of all three for the first."""
SIZE = (12, 10)
SMALL = Curated(encoder="colour-histogram")


def draw_image(path: Path, *name: str | int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = stream("test picture", *name).integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Leaves in one folder per class, bottles with masks, and everything that must be left out."""
    root = tmp_path_factory.mktemp("data")
    leaves = root / "TomatoLeaf" / "train"
    for label in LEAVES:
        for k in range(7):
            draw_image(leaves / label / f"{k}.png", label, k)
    copied = (leaves / "blight" / "0.png").read_bytes()
    (leaves / "blight" / "again.png").write_bytes(copied)
    for k in range(5):
        draw_image(leaves / "rust" / f"{k}.png", "rust", k)
    for label in ("early blight", "late blight"):
        draw_image(leaves / label / "both.png", "both")
    (leaves / "late blight" / "torn.png").write_bytes(copied[: len(copied) // 2])
    bottle = root / "MVTec-AD" / "bottle"
    for k in range(7):
        draw_image(bottle / "train" / "good" / f"{k}.png", "good", k)
        draw_image(bottle / "test" / "broken" / f"{k}.png", "broken", k)
        mask = np.zeros((SIZE[1], SIZE[0]), np.uint8)
        mask[2:6, 3 : 4 + k] = 255
        (bottle / "ground_truth" / "broken").mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask).save(bottle / "ground_truth" / "broken" / f"{k}_mask.png")
    return root


def build(root: Path, step: str = "", recipe: Curated = SMALL, **fields: Any) -> ItemSet:
    tasks = (step,) if step else ()
    return recipe.build(BuildOptions(root, tasks=tasks, show_progress=False, **fields))


def label_of(item: Item) -> str:
    return next(option.text for option in item.options if option.key == item.answer)


@pytest.fixture(scope="module")
def candidates(data: Path, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return build(tmp_path_factory.mktemp("candidates") / "items", "candidates", sources={"data": data}, workers=2)


def scripted(root: Path, name: str, texts: dict[str, str]) -> str:
    path = root / f"{name}.json"
    path.write_text(json.dumps(texts))
    return f"fake:scripted={path}"


@pytest.fixture(scope="module")
def votes(candidates: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Votes in which k % 3 of five judges know item k; the fifth skips the first and is unclear about the second."""
    root = tmp_path_factory.mktemp("votes")
    judges = []
    for judge in range(5):
        texts = {}
        for k, item in enumerate(candidates.items):
            wrong = next(option.text for option in item.options if option.key != item.answer)
            texts[item.item_id] = label_of(item) if judge < k % 3 else wrong
        if judge == 4:
            del texts[candidates.items[0].item_id]
            texts[candidates.items[1].item_id] = "hard to say"
        judges.append(scripted(root, f"judge-{judge}", texts))
    run(candidates, judges, root / "run", conditions=["shots=0"], show_progress=False)
    return root / "run"


@pytest.fixture(scope="module")
def chosen(votes: Path, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return build(tmp_path_factory.mktemp("chosen") / "items", "select", inputs={"votes": votes}, n=9)


def test_candidates_are_complete_episodes_of_the_right_images(candidates: ItemSet, data: Path) -> None:
    assert Counter(map(label_of, candidates.items)) == dict.fromkeys((*LEAVES, "good", "broken"), 7)
    class_of = {path.read_bytes(): path.parent.name for path in data.rglob("[0-9].png")}
    for item in candidates.items:
        assert class_of[candidates.media.read(item.query[0])] == label_of(item)
        names = {option.key: option.text for option in item.options}
        expected = set(LEAVES) if item.factors["source"] == "TomatoLeaf" else {"good", "broken"}
        assert set(names.values()) == expected
        images = [candidates.media.read(media) for demo in item.support for media in demo.media]
        assert [class_of[raw] for raw in images] == [names[demo.answer] for demo in item.support]
        assert len({*images, candidates.media.read(item.query[0])}) == 5 * len(names) + 1, "no image twice"
        assert [demo.shot for demo in item.support] == sorted(demo.shot for demo in item.support)
    assert len(list(candidates.media.root.glob("??/*.png"))) == 5 * 7, (
        "each image once, and only images that an item shows"
    )
    assert {item.question.split(" for the task of ")[1].split(". ")[0] for item in candidates.items} == {
        "tomato leafDefeatIdentification",
        "bottleDefeatIdentification",
    }


def test_candidates_have_the_regions_of_their_masks(candidates: ItemSet) -> None:
    boxes = {item.provenance["record"]: item.regions.get("box") for item in candidates.items}
    assert boxes["bottle/test/broken/3.png"] == [3, 2, 7, 6]
    assert boxes["bottle/train/good/3.png"] is None
    widths = {item.measures["mean_region_width"] for item in candidates.items if "box" in item.regions}
    assert widths == {4.0}  # 1 to 7 pixels


def test_candidates_record_everything_left_out(candidates: ItemSet) -> None:
    notes = "\n".join(candidates.card.notes)
    assert "1 images, classes or tasks left out, fewer than 6 images: TomatoLeaf/tomato leaf/rust" in notes
    assert "1 images, classes or tasks left out, the image cannot be read: TomatoLeaf/train/late blight/torn" in notes
    assert "left out, a copy of another image of its class: TomatoLeaf/train/blight/again.png" in notes
    assert "2 images, classes or tasks left out, the same bytes are in two classes of the task" in notes
    assert "Manufacture: 14 queries, 1 tasks, 2 concepts, 2.00 classes per query (Table 8: 1050 queries, 36" in notes
    assert "MVTec-AD, Manufacture, detail: 14 queries" in notes
    assert "(Table 7: Manufacture, detail: 304 queries, 8 tasks, 48 concepts, 6.37 classes per query; E-comm" in notes


def test_ids_reveal_nothing_and_a_seed_reproduces_the_set(candidates: ItemSet, data: Path, tmp_path: Path) -> None:
    by_id = sorted(candidates.items, key=lambda item: item.item_id)
    runs = sum(label_of(a) != label_of(b) for a, b in pairwise(by_id))
    assert runs > len(by_id) / 2
    again = build(tmp_path / "again", "candidates", sources={name: data / name for name in ("TomatoLeaf", "MVTec-AD")})
    other = build(tmp_path / "other", "candidates", sources={"data": data}, seed=1, n=4)
    assert again.card.content_hash == candidates.card.content_hash
    assert other.card.items == 4
    by_image = {item.query[0].sha256: item for item in candidates.items}
    assert all(by_image[item.query[0].sha256].support != item.support for item in other.items)


def test_selection_keeps_the_items_that_judges_missed(
    candidates: ItemSet, chosen: ItemSet, votes: Path, tmp_path: Path
) -> None:
    position = {item.item_id: k for k, item in enumerate(candidates.items)}
    assert all(position[item.item_id] % 3 < 2 for item in chosen.items), "two of five right is too easy"
    assert {item.measures["judges_right"] for item in chosen.items} == {0.0, 0.2}
    assert candidates.items[0].item_id not in chosen.by_id, "only four judges answered"
    everything = build(tmp_path / "all", inputs={"votes": votes})
    assert candidates.items[1].item_id in everything.by_id, "an unreadable reply is a wrong one"
    assert everything.card.items == sum(k % 3 < 2 for k in range(35)) - 1
    assert Counter(item.factors["industry"] for item in chosen.items) == {"Manufacture": 5, "Agriculture": 4}
    for item in chosen.items:
        assert item.provenance["construction_subjects"] == [
            "encoder:colour-histogram",
            *(f"fake:scripted=judge-{n}.json" for n in range(5)),
        ]
        assert item.support == candidates.by_id[item.item_id].support
    boxes = [item.regions["box"] for item in chosen.items if "box" in item.regions]
    mean = sum(x2 - x1 for x1, _, x2, _ in boxes) / len(boxes)
    assert mean != 4, "the mean over all candidates"
    widths = {item.measures["mean_region_width"] for item in chosen.items if "box" in item.regions}
    assert sorted(widths) == pytest.approx([mean], rel=1e-11)
    notes = "\n".join(chosen.card.notes)
    assert "left out, the image cannot be read: TomatoLeaf/train/late blight/torn" in notes
    assert "difficulty: 23 of 35 candidates kept, 5 judges" in notes
    assert f"1 candidates left out, answered by fewer than 5 judges: {candidates.items[0].item_id}" in notes
    assert "11 candidates left out, too easy: a share of 0.21 or more of the judges was right" in notes
    again = build(tmp_path / "again", "select", inputs={"votes": votes}, n=9)
    assert again.card.content_hash == chosen.card.content_hash
    plan = SMALL.plan(BuildOptions(tmp_path, tasks=("select",), inputs={"votes": votes}, n=9))
    assert plan["industries"] == {"Manufacture": 5, "Agriculture": 4}


@pytest.mark.parametrize(
    ("right", "judges", "stays"), [(1, 5, True), (2, 5, False), (21, 100, False), (20, 100, True), (0, 4, False)]
)
def test_threshold_and_number_of_judges(right: int, judges: int, stays: bool) -> None:
    marks = {"item": [1.0] * right + [0.0] * (judges - right)}
    assert difficult(marks, 0.21, 5, Ledger()) == ({"item": right / judges} if stays else {})


def test_reviews_by_people_and_by_a_subject_drop_items(chosen: ItemSet, tmp_path: Path) -> None:
    work = build(tmp_path / "work", "review", sources={"items": chosen.root})
    first, second, *rest = chosen.items
    assert "does it belong to? " in work.items[0].question
    assert repr(label_of(first)) in work.by_id[first.item_id].question
    assert work.by_id[first.item_id].query == first.query

    path = tmp_path / "review.csv"
    with path.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "decision", "author", "reason"])
        writer.writerow([first.item_id, "drop", "ann", "blurred"])
        writer.writerows([item.item_id, "keep", "ann", ""] for item in rest)
    by_people = build(tmp_path / "people", sources={"items": chosen.root}, inputs={"review": path})
    assert [item.item_id for item in by_people.items] == [item.item_id for item in rest]
    notes = "\n".join(by_people.card.notes)
    assert f"1 items left out, by the review (blurred): {first.item_id}" in notes
    assert f"1 items left out, no decision: {second.item_id}" in notes
    assert "11 candidates left out, too easy" in notes
    assert "not reviewed" not in notes
    assert "ann" in by_people.items[0].provenance["construction_subjects"]

    queue = write_queue("vfm-review", work, tmp_path / "queue")
    assert f"The right answer is {label_of(first)!r}." in queue.by_id[first.item_id].question
    ann = {first.item_id: ("drop", ""), second.item_id: ("drop", "")} | {item.item_id: ("keep", "") for item in rest}
    reviewed_by(queue, {"ann": ann, "bob": ann}, tmp_path / "blind")
    by_two = build(tmp_path / "two", sources={"items": chosen.root}, inputs={"review": tmp_path / "blind"})
    assert [item.item_id for item in by_two.items] == [item.item_id for item in rest]
    assert {"human:review/ann", "human:review/bob"} <= set(by_two.items[0].provenance["construction_subjects"])

    verdicts = {item.item_id: json.dumps({"clear": True, "answerable": item is not second}) for item in chosen.items}
    verdicts[first.item_id] = "Well, it depends."
    run(work, [scripted(tmp_path, "reviewer", verdicts)], tmp_path / "run", show_progress=False)
    by_subject = build(tmp_path / "subject", sources={"items": chosen.root}, inputs={"review": tmp_path / "run"})
    assert [item.item_id for item in by_subject.items] == [item.item_id for item in rest]
    notes = "\n".join(by_subject.card.notes)
    assert "left out, the verdict cannot be read" in notes
    assert "left out, not answerable" in notes
    examination = run(by_subject, ["fake:oracle"], tmp_path / "oracle", show_progress=False)
    assert (examination.all_results().query("factor == ''")["value"] == 1).all()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keep", ""),
        ("Drop.", "by the review"),
        ('```json\n{"clear": false, "answerable": true}\n```', "not clear"),
        ('{"clear": "yes", "answerable": true}', "the verdict cannot be read"),
        ("keep or drop", "the verdict cannot be read"),
    ],
)
def test_verdicts(text: str, why: str) -> None:
    assert read_verdict(text) == why


def test_captions_and_descriptions_become_inputs_of_a_run(chosen: ItemSet, tmp_path: Path) -> None:
    captions = build(tmp_path / "captions", "captions", sources={"items": chosen.root})
    labels: dict[str, str] = {}
    for item in chosen.items:
        names = {option.key: option.text for option in item.options}
        labels |= {demo.media[0].sha256: names[demo.answer] for demo in item.support}
    questions = {item.query[0].sha256: item.question for item in captions.items}
    assert len(questions) == len(captions.items) == len(labels), "each image once"
    assert all(f"classified as {label}\n" in questions[sha] for sha, label in labels.items())
    instructions = build(tmp_path / "instructions", "instructions", sources={"items": chosen.root})
    assert len(instructions.items) == 2, "one per task"

    texts = {item.item_id: f"Seen by {item.item_id}." for item in captions.items}
    run(captions, [scripted(tmp_path, "captioner", texts)], tmp_path / "captions-run", show_progress=False)
    lines = {name: f"- {name}: looks like a {name}" for name in (*LEAVES, "good", "broken")}
    descriptions = {
        item.item_id: "\n".join(lines[name] for name in names)
        for item in instructions.items
        for names in [("good", "broken") if "bottle" in item.question else LEAVES]
    }
    run(instructions, [scripted(tmp_path, "teller", descriptions)], tmp_path / "instructions-run", show_progress=False)
    examination = run(
        chosen,
        ["fake:oracle"],
        tmp_path / "run",
        conditions=["demos=caption,shots=1", "instruction=detailed,shots=0"],
        inputs={"captions": tmp_path / "captions-run", "instructions": tmp_path / "instructions-run"},
        show_progress=False,
    )
    assert (examination.all_results().query("factor == ''")["value"] == 1).all()
    assert examination.failed == 0
    parts = "".join(pd.read_parquet(examination.root / "sent.parquet")["parts"])
    caption = next(item for item in captions.items if chosen.items[0].item_id in item.provenance["items"])
    assert f"Seen by {caption.item_id}." in parts
    assert "- early blight: looks like a early blight" in parts


def image(*parts: str | int) -> ClassImage:
    name = "-".join(map(str, parts))
    return ClassImage(Media(name, "image", "png", 8, 8), "made", name, "none")


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(6, 9), min_size=2, max_size=4), min_size=1, max_size=3),
    st.integers(0, 2**31),
    st.integers(0, 60),
)
def test_every_episode_is_valid(sizes: list[list[int]], seed: int, n: int) -> None:
    tasks = [
        ConceptTask(
            "made",
            f"thing{t}",
            "Medical",
            "style",
            tuple(
                Concept(f"c{c}" * (c + 1), tuple(image(t, c, k) for k in range(many))) for c, many in enumerate(counts)
            ),
        )
        for t, counts in enumerate(sizes)
    ]
    everything = sum(map(sum, sizes))
    items = episode_items(tasks, seed, n)
    assert len(items) == min(n, everything)
    assert len({item.query[0].sha256 for item in items}) == len(items)
    alone = {(t, item.query): item for t, task in enumerate(tasks) for item in episode_items([task], seed)}
    for item in items:
        t, c, _ = map(int, item.query[0].sha256.split("-"))
        position = {
            option.key: [concept.label for concept in tasks[t].classes].index(option.text) for option in item.options
        }
        assert sorted(position.values()) == list(range(len(sizes[t])))
        assert position[item.answer] == c
        shas = [demo.media[0].sha256 for demo in item.support]
        assert len({*shas, item.query[0].sha256}) == len(shas) + 1
        assert [tuple(map(int, sha.split("-")))[:2] for sha in shas] == [(t, position[d.answer]) for d in item.support]
        assert Counter((demo.answer, demo.shot) for demo in item.support) == {
            (option.key, shot): 1 for option in item.options for shot in range(5)
        }
        twin = alone[t, item.query]
        assert (twin.support, twin.options) == (item.support, item.options), "independent of other tasks"


def record(source: str, name: str, label: str) -> Sample:
    return Sample(
        source=source, licence="none", record_id=name, image=ImageFile(Path(name)), annotations=(Annotation(label),),
        object="scene",
    )  # fmt: skip


def test_draws_are_fair_and_lent_classes_are_drawn_separately() -> None:
    counts = Counter(
        int(sample.record_id)
        for n in range(3000)
        for draw in [_offer(Reservoir(2, stream("draw", n)))]
        for sample in draw.samples
    )
    assert all(abs(counts[k] / 3000 - 0.4) < 0.04 for k in range(5))

    records = [record("CAMO", f"a{k}", HIDDEN) for k in range(30)]
    records += [record("COD10K", f"b{k}", label) for k in range(200) for label in (HIDDEN, OPEN)]
    draws = draw_records(records, ("CAMO", "COD10K"), 20, 0, LENT)
    assert {key: sorted(classes) for key, classes in draws.items()} == {
        ("CAMO", "scene"): [HIDDEN, OPEN],
        ("COD10K", "scene"): [HIDDEN, OPEN],
    }
    lent, borrowing = (
        {sample.record_id for sample in draws[source, "scene"][OPEN].samples} for source in ("CAMO", "COD10K")
    )
    assert len(lent) == len(borrowing) == 20
    assert lent != borrowing
    assert set(draw_records(records, ("COD10K",), 20, 0, LENT)) == {("COD10K", "scene")}


def _offer(draw: Reservoir[Sample]) -> Reservoir[Sample]:
    for k in range(5):
        draw.offer(record("CAMO", str(k), HIDDEN))
    return draw


REFUSED: dict[str, tuple[Callable[[dict[str, Path]], dict[str, Any]], str]] = {
    "no votes": (lambda p: {}, r"--input votes=VOTES is missing; build candidates with `snellen build vfm-bench/cand"),
    "no sources": (lambda p: {"step": "candidates"}, r"no dataset to build from; give --source NAME=DIR"),
    "odd source": (
        lambda p: {"step": "candidates", "sources": {"MVTec": p["data"]}},
        r"no source 'MVTec'; did you mean 'MVTec-",
    ),
    "no items": (lambda p: {"step": "captions"}, r"vfm-bench/captions: --source items=ITEMSET is missing"),
    "odd step": (lambda p: {"step": "selection"}, r"no step 'selection'; did you mean 'select'"),
    "no review": (
        lambda p: {"sources": {"items": p["chosen"]}},
        r"--input review=CSV or RUN is missing; build the requests with `snellen build vfm-bench/review",
    ),
    "review without items": (
        lambda p: {"inputs": {"votes": p["votes"], "review": p["votes"]}},
        r"a review is about selected items; build them with `snellen build vfm-bench/select",
    ),
    "votes for work": (
        lambda p: {"step": "review", "sources": {"items": p["chosen"]}, "inputs": {"votes": p["votes"]}},
        r"does not use --input 'votes'; it takes no --input",
    ),
    "review of another set": (
        lambda p: {"sources": {"items": p["chosen"]}, "inputs": {"review": p["shown"]}},
        r"no review for it; build the requests with",
    ),
    "votes with examples": (
        lambda p: {"inputs": {"votes": p["shown"]}},
        r"asked under 'vanilla', but votes need shots=0; build candidates",
    ),
    "nothing": (lambda p: {"step": "select", "inputs": {"votes": p["votes"]}, "n": 0}, r"--n 0 makes no items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_state_the_remedy(
    case: str, data: Path, candidates: ItemSet, votes: Path, chosen: ItemSet, tmp_path: Path
) -> None:
    make_options, message = REFUSED[case]
    run_with_examples = tmp_path / "shown"
    run(candidates, ["fake:first-option"], run_with_examples, limit=1, show_progress=False)
    options = make_options({"data": data, "votes": votes, "chosen": chosen.root, "shown": run_with_examples})
    with pytest.raises(SnellenError, match=message):
        build(tmp_path / "out", **options)
    assert not (tmp_path / "out" / "itemset.json").exists()


def test_a_rules_file_and_an_encoder_change_the_result(data: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("images_a_class: 6\nencoder: hog\n", "utf-8")
    options = BuildOptions(tmp_path, tasks=("candidates",), sources={"data": data}, rules=tmp_path / "rules.yaml")
    assert SMALL.parameters(options)["images_a_class"] == 6
    assert SMALL.parameters(options)["encoder"] == "hog"
    assert SMALL.parameters(replace(options, encoder="conse"))["encoder"] == "conse"
    # Leaves of three classes and bottles of two, each with at least seven images, of which six are queries.
    assert SMALL.plan(options)["items"] == {"candidates": 5 * 6}
    (tmp_path / "rules.yaml").write_text("images_per_class: 6\n", "utf-8")
    with pytest.raises(SnellenError, match=r"no rule 'images_per_class'; did you mean 'images_a_class'\?"):
        SMALL.plan(options)


def test_too_few_judges_are_an_error(candidates: ItemSet, tmp_path: Path) -> None:
    run(
        candidates,
        ["fake:chance", "fake:first-option"],
        tmp_path / "votes",
        conditions=["shots=0"],
        show_progress=False,
    )
    with pytest.raises(SnellenError, match=r"no candidate is left \(35 candidates left out, answered by fewer than 5"):
        build(tmp_path / "out", "select", inputs={"votes": tmp_path / "votes"})


def test_the_sets_of_all_steps_equal_their_golden(
    data: Path, candidates: ItemSet, votes: Path, chosen: ItemSet, tmp_path: Path
) -> None:
    steps = [build(tmp_path / step, step, sources={"items": chosen.root}) for step in ("captions", "instructions")]
    steps.append(build(tmp_path / "work", "review", sources={"items": chosen.root}))
    lines = ["item_id,decision,author,reason", *(f"{item.item_id},keep,ann," for item in chosen.items[2:])]
    (tmp_path / "review.csv").write_text("\n".join([*lines, f"{chosen.items[0].item_id},drop,bob,dark", ""]))
    sources, inputs = {"items": chosen.root}, {"review": tmp_path / "review.csv"}
    final = build(tmp_path / "final", sources=sources, inputs=inputs)
    plans = [
        SMALL.plan(BuildOptions(tmp_path, tasks=tasks, **fields))
        for tasks, fields in (
            (("candidates",), {"sources": {"data": data}, "n": 8}), (("select",), {"inputs": {"votes": votes}}),
            (("captions",), {"sources": sources}), ((), {"sources": sources, "inputs": inputs}), ((), {}),
        )
    ]  # fmt: skip
    folders = (chosen.root, votes, tmp_path, data)
    text = "".join(grouped_set_text(items, *folders) for items in (candidates, chosen, *steps, final))
    assert_golden("curated/vfm-bench.txt", text + masked("\n".join(map(str, plans)), *folders) + "\n")


def test_runs_that_are_no_votes_and_reviews_that_keep_nothing_are_refused(
    candidates: ItemSet, chosen: ItemSet, tmp_path: Path
) -> None:
    twice, others = tmp_path / "twice", tmp_path / "others"
    settings: dict[str, Any] = {"limit": 1, "show_progress": False}
    run(candidates, ["fake:first-option"], twice, conditions=["shots=0"], repeats=2, **settings)
    run(decision_set(tmp_path / "decisions"), ["fake:first-option"], others, **settings)
    lines = ["item_id,decision,author,reason", *(f"{item.item_id},drop,ann," for item in chosen.items)]
    (tmp_path / "review.csv").write_text("\n".join(lines))
    sources, review = {"items": chosen.root}, {"review": tmp_path / "review.csv"}
    for fields, message in (
        ({"inputs": {"votes": twice}}, "a judge was asked more than once; each judge has one vote, so leave out --rep"),
        ({"inputs": {"votes": others}}, "no votes on candidates of vfm-bench; build candidates with"),
        ({"sources": sources, "inputs": review}, "keeps none of 9 items"),
        ({"step": "captions", "sources": sources, "inputs": review}, "does not use --input 'review'; it takes no"),
        ({"step": "select", "sources": sources}, "does not use --source 'items'; it takes no --source"),
        ({"sources": {**sources, "data": tmp_path}}, "does not use --source 'data'; it takes only --source items=PATH"),
    ):
        with pytest.raises(SnellenError, match=message):
            build(tmp_path / "out", **fields)
