"""The released files, read from our own copy of their layout with images of a few pixels.

Layout and field names: vlm2-bench/VLM2-Bench, commit 7624b77 (README, `code/*/test/test_script_example/*.py`,
`code/*/eval/*.py`); the TSV: open-compass/VLMEvalKit, `vlmeval/dataset/vlm2bench.py` and `utils/vlm2bench.py`.
Questions and images are ours. No released file was available; the tests show that the layout that the code names
can be read.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.grading.results import results
from snellen.core.build_options import BuildOptions
from snellen.core.errors import MAX_LISTED_PROBLEMS, SnellenError
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.presentation.controls import Lettered
from snellen.runs.scores.score import score
from snellen.stimuli.video import write_video
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.items import Edit
from snellen.suites.vlm2_bench.released.recipe import RELEASED
from snellen.suites.vlm2_bench.released.records import (
    cue_of,
    option_key,
    parse_choices,
    record_of,
    with_choices,
    without_slips,
)
from snellen.suites.vlm2_bench.tasks import protocols
from tests.goldens.descriptions import set_text
from tests.goldens.golden import assert_golden
from tests.helpers.journey import suite_of, task

pytestmark = pytest.mark.filterwarnings("ignore:.*the paper has:UserWarning", "ignore:.*the authors scored:UserWarning")

GC, OC, PC = "data/gc/processed", "data/oc/original_obj", "data/pc/image/picks_face"
CUE_QUESTION = "What object that was present in the first image is no longer visible in the second?"
SAME, OTHER = ("1.png", "2.png"), ("1.png", "3.png")
STATEMENT = prompts.COMPARE.format(statement="The cups in these images are {}the same cup.")
COUNT_QUESTION = prompts.COUNT.format(question="How many different cups are there in the input images?")
GROUP_QUESTION = prompts.GROUP.format(question="Which images show the same cup in the input images?")


def cue(q_id: str, cue: str, truth: str, images: str) -> dict[str, Any]:
    question = f"Is the answer '{cue}' correct for the given question: '{CUE_QUESTION}' Answer T or F."
    edit = f"Remove the {cue}."
    names = [f"{images}/{n}.png" for n in "ab"]
    return {
        "q_id": q_id, "task": "mat", "question": question, "gt_answer": truth, "edited_prompt": edit, "images": names,
    }  # fmt: skip


def record(q_id: str, question: str, truth: object, *images: str, **fields: Any) -> dict[str, Any]:
    return {"q_id": q_id, "type": "cup", "question": question, "gt_answer": truth, "images": list(images), **fields}


CHOICES = "Choices: A) 1 and 3; B) None; C) 1, 2 and 3; D) 1 and 2."
LINES: Mapping[str, list[dict[str, Any]]] = {
    # Two pairs share the id 7, as two of the 260 must: the authors scored 259 ids.
    "gc/vanilla/gc_mat.jsonl": [
        cue("7", "tray", "T", "a"), cue("7", "mask", "F", "a"), cue("7", "lamp", "T", "b"), cue("7", "door", "F", "b"),
        cue("8", "boat", "T", "c"), cue("8", "pier", "F", "c"),
    ],
    "gc/vanilla/gc_trk.jsonl": [cue("1", "the cup was removed", "T", "a"), cue("1", "a cup was added", "F", "a")],
    "oc/vanilla/oc_cpr.jsonl": [
        record("3_p", STATEMENT.format(""), "T", *SAME), record("3_n", STATEMENT.format("not "), "F", *SAME),
        record("4_p", STATEMENT.format(""), "F", *OTHER), record("4_n", STATEMENT.format("not "), "T", *OTHER),
    ],
    "oc/vanilla/oc_cnt.jsonl": [
        record("0", COUNT_QUESTION, 1, "1.png", "2.png", image_seq_len=2),
        record("1", COUNT_QUESTION, 4, "1.png", "2.png", "3.png", "4.png", image_seq_len=4),
    ],
    "oc/vanilla/oc_grp.jsonl": [
        record("0", f"{GROUP_QUESTION} {CHOICES}", "A) 1 and 3", "1.png", "3.png", "2.png"),
        record("1", f"{GROUP_QUESTION} {CHOICES}".rstrip("."), "B) None", "1.png", "3.png", "4.png"),
    ],
    "pc/vallina/pc_cpr.jsonl": [
        record("tf_9_p", "Same person? T or F", "T", "p1.png", "p2.png"),
        record("tf_9_n", "Not the same person? T or F", "F", "p1.png", "p2.png"),
    ],
    "pc/vanilla/pc_cnt.jsonl": [record("5", "How many individuals?", 2, "p1.png", "p2.png", "p3.png", image_seq_len=2)],
    "pc/vanilla/pc_grp.jsonl": [record("6", f"Who? {CHOICES}", "D) 1 and 2", "p1.png", "p2.png", "p3.png")],
    "pc/vallina/pc_v_open-ended.jsonl": [
        {"vid": "walk_ABA_1", "question": prompts.DESCRIBE_PEOPLE},
        {"vid": "walk_AB_1", "question": prompts.DESCRIBE_PEOPLE, "gt_answer": "first one, then another"},
    ],
}  # fmt: skip
TASK_OF = {path: re.sub(r"_v_open-ended$", "-vid", Path(path).stem).replace("_", "-") for path in LINES}


def image(path: Path, shade: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((4, 6, 3), (shade, 90, 40), np.uint8)).save(path)


def release(root: Path) -> Path:
    """A small folder like the unpacked vlm2-bench_dataset.zip."""
    for name, lines in LINES.items():
        write(root, name, [json.dumps(line) for line in lines])
    names = [f"{GC}/{pair}/{n}.png" for pair in "abc" for n in "ab"] + [f"{OC}/{n}.png" for n in range(1, 5)]
    for shade, name in enumerate(names + [f"{PC}/p{n}.png" for n in range(1, 4)]):
        image(root / name, 10 * shade)
    videos = root / "data/pc/video/UNI"
    videos.mkdir(parents=True)
    write_video(np.full((6, 16, 16, 3), 100, np.uint8), videos / "walk_AB_1.mp4", fps=3)
    shutil.copy(videos / "walk_AB_1.mp4", videos / "walk_ABA_1.mov")
    return root


def write(root: Path, name: str, lines: Sequence[str]) -> None:
    (root / "jsonl" / name).parent.mkdir(parents=True, exist_ok=True)
    (root / "jsonl" / name).write_text("\n".join(lines) + "\n", "utf-8")


def tsv(root: Path, path: Path, wrap: Callable[[list[str]], str] = repr) -> Path:
    """Write the same records (without videos) in the form of VLMEvalKit's TSV."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(["index", "question", "answer", "category", "image"])
        for name, lines in LINES.items():
            for line in lines if "vid" not in lines[0] else ():
                folder = {"gc": GC, "oc": OC, "pc": PC}[name[:2]]
                encoded = [
                    base64.b64encode((root / folder / image_name).read_bytes()).decode()
                    for image_name in line["images"]
                ]
                half = {"T": "_p", "F": "_n"}.get(line["gt_answer"], "") if name.startswith("gc") else ""
                index = f"{TASK_OF[name]}_{line['q_id'].removeprefix('tf_')}{half}"
                rows.writerow([index, line["question"], line["gt_answer"], TASK_OF[name], wrap(encoded)])
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("vlm2"))


def built(source: Path, out: Path, **fields: Any) -> ItemSet:
    return RELEASED.build(BuildOptions(out, sources={"vlm2": source}, show_progress=False, **fields))


@pytest.fixture(scope="module")
def items(root: Path, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    with pytest.warns(UserWarning, match=r"gc-mat: 6 questions, the paper has 520"):
        return built(root, tmp_path_factory.mktemp("items"))


def test_every_record_is_an_item_with_its_own_words_and_truth(items: ItemSet) -> None:
    assert read_itemset(items.root).items == items.items
    for name, lines in LINES.items():
        task_items = items.task(TASK_OF[name])
        assert len(task_items) == len(lines)
        for item, line in zip(task_items, lines, strict=True):
            question = item.question if "Choices" in item.question else with_choices(item.question, item.options)
            assert line["question"] == (question if item.options and item.answer_kind == "choice" else item.question)
            assert item.provenance["licence"] == "CC BY-NC 4.0"
            assert item.provenance["source"].startswith(f"jsonl/{name} line ")
    answers = {task: [item.answer for item in items.task(task)] for task in TASK_OF.values()}
    assert answers["gc-mat"] == ["true", "false"] * 3
    assert answers["oc-cpr"] == ["true", "false", "false", "true"]
    assert (answers["oc-cnt"], answers["pc-cnt"]) == ([1, 4], [2])
    assert (answers["oc-grp"], answers["pc-grp"]) == (["1+3", "none"], ["1+2"])
    assert answers["pc-vid"] == ["", "first one, then another"]


def test_groups_are_the_released_ids_and_item_ids_reveal_nothing(items: ItemSet) -> None:
    groups = [item.group_id for item in items.items if item.answer_kind == "true_false"]
    assert groups == [
        *["gc-mat-7"] * 4, *["gc-mat-8"] * 2, *["gc-trk-1"] * 2,
        *["oc-cpr-3"] * 2, *["oc-cpr-4"] * 2, *["pc-cpr-9"] * 2,
    ]  # fmt: skip
    ids = [item.item_id for item in items.items]
    assert len(set(ids)) == len(ids)
    mat = items.task("gc-mat")
    assert sorted(item.item_id for item in mat) == [f"gc-mat-{n:04d}" for n in range(6)]
    numbers = [int(item.item_id[-4:]) for item in mat]
    assert len({number % 2 for number, item in zip(numbers, mat, strict=True) if item.answer == "true"}) == 2
    assert len({item.stimulus_id for item in mat}) == 3
    assert [item.item_id[-2:] for item in items.task("oc-cpr")] == ["-p", "-n"] * 2
    assert [item.group_id.rsplit("-", 1)[1] for item in items.task("pc-vid")] == ["PQP", "PQ"]
    assert len({item.stimulus_id for item in items.task("pc-vid")}) == 1, "both are one film here"


def test_factors_record_only_certain_facts(items: ItemSet) -> None:
    factors = {item.item_id: item.factors for item in items.items}
    mat, trk = items.task("gc-mat")[1], items.task("gc-trk")[0]
    assert (factors[mat.item_id], factors[trk.item_id]) == (
        {"wording": "negative", "cue": "add/remove"},
        {"wording": "positive", "cue": "add/remove"},
    )
    assert mat.provenance["edited_prompt"] == "Remove the mask."
    assert [item.factors["wording"] for item in items.task("oc-cpr")] == ["positive", "negative"] * 2
    assert [item.factors["pattern"] for item in items.task("oc-cnt")] == ["AA", "ABCD"]
    assert [item.factors["pattern"] for item in items.task("oc-grp")] == ["AAB", "ABC"]
    assert [item.factors["pattern"] for item in items.task("pc-vid")] == ["PQP", "PQ"]


def test_media_are_the_released_bytes(items: ItemSet, root: Path) -> None:
    first, other = items.task("oc-cpr")[0].query
    assert items.media.read(first) == (root / OC / "1.png").read_bytes()
    assert items.media.read(other) == (root / OC / "2.png").read_bytes()
    (film,) = items.task("pc-vid")[0].query
    assert items.media.read(film) == (root / "data/pc/video/UNI/walk_ABA_1.mov").read_bytes()
    assert (film.kind, film.width, film.height) == ("video", 16, 16)
    assert film.seconds == pytest.approx(2.0)


def test_the_card_notes_what_differs_from_the_paper(items: ItemSet) -> None:
    notes = "\n".join(items.card.notes)
    assert "gc-mat: 2 pairs, the authors scored 259" in notes
    assert "jsonl/pc/vanilla/pc_cnt.jsonl line 1: image_seq_len is 2, with 3 images" in notes
    assert "choices inline, as released: 1 of oc-grp" in notes
    assert set(items.card.recipe["files"]) == set(TASK_OF.values())


@pytest.mark.parametrize("wrap", [repr, json.dumps, lambda texts: repr([f"data:image/png;base64,{t}" for t in texts])])
def test_the_tsv_gives_the_same_items(items: ItemSet, root: Path, tmp_path: Path, wrap: Any) -> None:
    other = built(tsv(root, tmp_path / "img.tsv", wrap), tmp_path / "items")

    def fields_of(item: Item) -> tuple[Any, ...]:
        return (item.item_id, item.question, item.answer, item.options, item.query, item.group_id, item.stimulus_id)

    assert [fields_of(item) for item in other.items] == [
        fields_of(item) for item in items.items if item.task != "pc-vid"
    ]
    notes = "\n".join(other.card.notes)
    assert "no videos" in notes
    assert "is not the one specified by VLMEvalKit (md5 16f474bf" in notes
    with pytest.raises(SnellenError, match=r"no task 'pc-vid'"):
        built(tmp_path / "img.tsv", tmp_path / "vid", tasks=("pc-vid",))
    assert csv.field_size_limit() == 131072, "the limit is raised only while reading"


def test_n_draws_whole_pairs(root: Path, tmp_path: Path) -> None:
    sample = built(root, tmp_path / "a", n=1)
    counts = {task: split_counts["test"] for task, split_counts in sample.card.counts.items()}
    assert counts.pop("gc-mat") in (2, 4)
    assert set(counts.values()) == {1, 2}
    assert {len({item.group_id for item in sample.task(task)}) for task in counts} == {1}
    itemsets = [built(root, tmp_path / str(seed), n=1, seed=seed, tasks=("oc-cnt",)) for seed in range(9)]
    assert {itemset.items[0].answer for itemset in itemsets} == {1, 4}
    assert [itemset.card.recipe["seed"] for itemset in itemsets] == [*range(9)]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    root = release(tmp_path / "vlm2")
    bad = LINES["oc/vanilla/oc_cpr.jsonl"][0]
    write(root, "oc/vanilla/oc_cpr.jsonl", [
        json.dumps(bad), "{not json", json.dumps({**bad, "gt_answer": "true"}), json.dumps({**bad, "q_id": "3"}),
        json.dumps({**bad, "images": ["1.png"]}), json.dumps({**bad, "images": ["1.png", "99.png"]}),
        json.dumps({**bad, "images": ["1.png", "../1.png"]}), json.dumps({"q_id": "1_p"}),
    ])  # fmt: skip
    write(
        root,
        "oc/vanilla/oc_cnt.jsonl",
        [json.dumps(record("0", COUNT_QUESTION, n, "1.png", "2.png")) for n in (3, 0, "2")],
    )
    write(root, "oc/vanilla/oc_grp.jsonl", [
        json.dumps(record("0", f"{GROUP_QUESTION} {tail}", "A) 1 and 3", "1.png", "2.png", "3.png"))
        for tail in ("", "Choices: A) 1 and 3; B) 1 and 3.", "Choices: A) 1 and 2; B) None.")
    ])  # fmt: skip
    (root / "data/pc/video/UNI/walk_AB_1.mp4").unlink()
    (root / "jsonl/pc/vanilla/pc_grp.jsonl").unlink()
    with pytest.raises(SnellenError) as error:
        built(root, tmp_path / "out")
    message = str(error.value)
    folder = "jsonl/oc/vanilla/"
    for problem in (
        f"{folder}oc_cpr.jsonl line 2: not JSON",
        f"{folder}oc_cpr.jsonl line 3: gt_answer: Input should be 'T' or 'F'",
        f"{folder}oc_cpr.jsonl line 4: q_id: '3' is neither ID_p nor ID_n",
        f"{folder}oc_cpr.jsonl line 5: images: List should have at least 2 items",
        f"{folder}oc_cpr.jsonl line 6: images: 99.png is missing from {OC}",
        f"{folder}oc_cpr.jsonl line 7: images: ../1.png is outside {OC}",
        f"{folder}oc_cpr.jsonl line 8: question: Field required; q_id",
        f"{folder}oc_cnt.jsonl line 1: gt_answer: 3 is not a possible count of 2 images",
        f"{folder}oc_cnt.jsonl line 2: gt_answer: 0 is not a possible count",
        f"{folder}oc_cnt.jsonl line 3: gt_answer: Input should be a valid integer",
        f"{folder}oc_grp.jsonl line 1: question: no options",
        f"{folder}oc_grp.jsonl line 2: question: two options are the same",
        f"{folder}oc_grp.jsonl line 3: gt_answer: 'A) 1 and 3' is not one of the choices",
        "jsonl/pc/vallina/pc_v_open-ended.jsonl line 2: vid: walk_AB_1.mp4|.mov|.avi is missing",
        "jsonl/pc/vanilla/pc_grp.jsonl: missing",
    ):
        assert problem.replace("; q_id", "") in message, problem
    assert "15 of the released files or lines" in message
    assert not (tmp_path / "out").exists(), "nothing is written before everything is read"
    assert len(built(root, tmp_path / "some", tasks=("gc-mat", "pc-cnt")).items) == 7, (
        "files of other tasks are not needed"
    )


def test_images_and_videos_outside_their_folders_are_refused_even_if_they_exist(tmp_path: Path) -> None:
    root = release(tmp_path / "vlm2")
    image, videos = shutil.copy(root / OC / "1.png", root / "data/oc"), root / "data/pc/video/UNI"
    video = (videos / "walk_AB_1.mp4").rename(videos.parent / "walk_AB_1.mp4")
    images = ["../1.png", str(image)]
    pair, film = LINES["oc/vanilla/oc_cpr.jsonl"][0], LINES["pc/vallina/pc_v_open-ended.jsonl"][1]
    write(root, "oc/vanilla/oc_cpr.jsonl", [json.dumps({**pair, "images": images})])
    vids = ("../walk_AB_1", str(video.with_suffix("")))
    write(root, "pc/vallina/pc_v_open-ended.jsonl", [json.dumps({**film, "vid": vid}) for vid in vids])
    with pytest.raises(SnellenError) as error:
        built(root, tmp_path / "out", tasks=("oc-cpr", "pc-vid"))
    for problem in (f"images: {', '.join(images)} is outside {OC}", "line 1: vid: ", "line 2: vid: "):
        assert problem in str(error.value)


@pytest.mark.filterwarnings("ignore:read leniently:UserWarning")
def test_lenient_reading_loses_nothing_and_counts_its_changes(tmp_path: Path) -> None:
    root = release(tmp_path / "vlm2")
    counts: list[Any] = ["2", 2.0, " 1 ", 1]
    write(
        root, "oc/vanilla/oc_cnt.jsonl", [json.dumps(record("0", COUNT_QUESTION, n, "1.png", "2.png")) for n in counts]
    )
    truth = (record("3_p", STATEMENT.format(""), "True", *SAME), record("3_n", STATEMENT.format("not "), False, *SAME))
    lone = record("4_p", STATEMENT.format(""), "T", "1.png")
    write(root, "oc/vanilla/oc_cpr.jsonl", [json.dumps(line) for line in (*truth, lone)])
    with pytest.raises(SnellenError, match=r"(?s)6 of the released files or lines .* or give --set reading=lenient"):
        built(root, tmp_path / "strict", tasks=("oc-cnt", "oc-cpr"))
    items = built(root, tmp_path / "lenient", tasks=("oc-cnt", "oc-cpr"), settings={"reading": "lenient"})
    assert [item.answer for item in items.task("oc-cnt")] == [2, 2, 1, 1]
    assert [item.answer for item in items.task("oc-cpr")] == ["true", "false"]
    notes = "\n".join(items.card.notes)
    assert 'oc-cnt: gt_answer "2" read as 2: 1 records' in notes
    assert "1 records of fewer than two images left out: jsonl/oc/vanilla/oc_cpr.jsonl line 3" in notes
    assert items.card.recipe["settings"] == {"reading": "lenient"}


@pytest.mark.parametrize("answer", ["two", 2.5, True, None, "2 or 3", "maybe", "-1"])
def test_lenient_reading_guesses_nothing(answer: Any) -> None:
    for name in ("oc-cnt", "oc-cpr"):
        fields = record("3_p", STATEMENT.format(""), answer, *SAME)
        fixed, change = without_slips(name, fields)
        if (name, answer) == ("oc-cpr", True):
            assert (fixed["gt_answer"], change) == ("T", 'gt_answer true read as "T"')
        else:
            assert (fixed, change) == (fields, "")


@pytest.mark.parametrize(
    ("instruction", "cue_type"),
    [
        ("Add a red hat to the man", "add/remove"), ("please remove the dog in the background", "add/remove"),
        ("Take out the lamp.", "add/remove"), ("Replace the cat with a fox", "swap"),
        ("turn the car into a bus", "swap"), ("Replace the background with a beach", "environment"),
        ("Make the sky pink", "environment"), ("change the color of the car to blue", "attribute"),
        ("Make the man smile", "attribute"), ("What if it were different?", ""),
        ("The man is additionally seated", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_verb_of_the_edit_decides_the_type_of_cue(instruction: str, cue_type: str) -> None:
    assert cue_of(instruction) == cue_type


@pytest.mark.parametrize(("edit", "cue_type"), [("add", "add/remove"), ("remove", "add/remove"), ("swap", None)])
def test_without_an_edit_the_question_of_mat_decides_the_type_of_cue(edit: Edit, cue_type: str | None) -> None:
    question = f"Is the answer 'cup' correct for the given question: '{prompts.MATCH[edit]}'"
    for name, expected in (("gc-mat", cue_type), ("gc-trk", None)):
        fields = {**record("7", question, "T", "a.png", "b.png"), "edited_prompt": None}
        assert record_of(name, "line 1", fields).factors.get("cue") == expected


def test_unreadable_images_are_named_together(tmp_path: Path) -> None:
    root = release(tmp_path / "vlm2")
    for name in ("1.png", "4.png"):
        (root / OC / name).write_bytes(b"no image")
    with pytest.raises(SnellenError, match=r"(?s)oc_cpr\.jsonl line 1.*1\.png: not a readable.*4\.png: not a readable"):
        built(root, tmp_path / "out")


def test_bad_rows_of_a_tsv_are_named_together(root: Path, tmp_path: Path) -> None:
    path = tsv(root, tmp_path / "img.tsv")
    lines = path.read_text("utf-8").split("\n")
    lines[1] = lines[1].rsplit("\t", 1)[0] + "\t7"
    lines[2] = lines[2].replace("\tgc-mat\t", "\tgc-mut\t")
    lines[3] = lines[3].rsplit("\t", 1)[0]
    lines[4] = lines[4].replace("gc-mat_7_n", "gc-mat_7")
    lines[5] = lines[5].rsplit("\t", 1)[0] + "\t[{[]: 1}]"
    path.write_text("\n".join(line for line in lines if "\tpc-grp\t" not in line), "utf-8")
    with pytest.raises(SnellenError) as error:
        built(path, tmp_path / "out")
    message = str(error.value)
    assert "line 2: image: not a list" in message
    assert "line 6: image: not a list" in message
    assert "line 3: category: 'gc-mut' is not a task" in message
    assert "line 4: the number of cells differs" in message
    assert "line 5: index: 'gc-mat_7' is not gc-mat_ID_p or gc-mat_ID_n" in message
    assert "no row of category pc-grp" in message


def test_a_long_list_of_problems_is_cut_off(tmp_path: Path) -> None:
    root = release(tmp_path / "vlm2")
    write(root, "gc/vanilla/gc_trk.jsonl", ["{}"] * (MAX_LISTED_PROBLEMS + 10))
    with pytest.raises(SnellenError, match=r"line 50: .*\n… and 10 more$"):
        built(root, tmp_path / "out", tasks=("gc-trk",))


def test_an_error_names_the_source_to_give(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match=r"give --source vlm2=FOLDER"):
        RELEASED.build(BuildOptions(tmp_path / "out"))
    with pytest.raises(SnellenError, match=r"no task 'oc-vid'"):
        built(release(tmp_path / "vlm2"), tmp_path / "out", tasks=("oc-vid",))
    with pytest.raises(SnellenError, match=r"neither a TSV nor a folder with jsonl/"):
        built(tmp_path, tmp_path / "out")
    plan = RELEASED.plan(BuildOptions(tmp_path, n=5, tasks=("gc-mat", "oc-cnt")))
    assert plan["items"] == {"gc-mat": 10, "oc-cnt": 5}
    plan = RELEASED.plan(BuildOptions(tmp_path, n=370, tasks=("gc-mat", "oc-cnt")))
    assert plan["items"] == {"gc-mat": 520, "oc-cnt": 360}, "no more than there are"


@pytest.mark.parametrize(
    ("text", "key"),
    [("1 and 3", "1+3"), ("1, 2 and 3", "1+2+3"), ("1, 2, and 4", "1+2+4"), ("None", "none"), ("all", "all")],
)
def test_option_keys(text: str, key: str) -> None:
    assert option_key(text) == key


def test_choices_are_cut_off_only_if_they_can_be_written_back_unchanged() -> None:
    cut = parse_choices(f"Which? {CHOICES}")
    assert (cut.question, cut.inline) == ("Which?", False)
    assert [option.key for option in cut.options] == ["1+3", "none", "1+2+3", "1+2"]
    assert with_choices(cut.question, cut.options) == f"Which? {CHOICES}"
    text = "Which?\nOptions: A) 1 and 3, B) None"
    assert parse_choices(text)[::2] == (text, True)
    assert [option.text for option in parse_choices(text).options] == ["1 and 3", "None"]


# From the files to scores

REPLIES = {
    "gc-mat": ["T", "F", "I cannot tell", "F", "The answer is T.", "F"], "gc-trk": ["T", "F"],
    "oc-cpr": ["T", "f", "T or F", "True"], "oc-cnt": ["1", "5"], "oc-grp": ["A) 1 and 3", "(B) None"],
    "pc-cpr": ["true", "False."], "pc-cnt": ["one"], "pc-grp": ["D"],
}  # fmt: skip
SCORES = {
    # 7: three of four right, at least one of each truth; 8: not bare. vlmevalkit requires all four of 7.
    "gc-mat": (1 / 2, 1 / 2, 1 / 2),
    "gc-trk": (1, 1, 1),
    # 4: the first statement is answered with both T and F.
    "oc-cpr": (1 / 2, 1 / 2, 1 / 2),
    # 5 of four images is not possible: 0, left out, or 1 - (1/3)^.1.
    "oc-cnt": (1 / 2, 1, 1.104042 / 2),
    "oc-grp": (1, 1 / 2, 1 / 2),
    "pc-cpr": (1, 1, 1),
    # 1 for 2 of three: 1 - 4/3 < 0.
    "pc-cnt": (0, 0, 0),
    "pc-grp": (1, 1, 1),
}


def test_scores_of_released_items_by_hand(items: ItemSet) -> None:
    responses = []
    for name, texts in REPLIES.items():
        for item, text in zip(items.task(name), texts, strict=True):
            view = item.view()
            if item.answer_kind == "choice":
                view = Lettered()(view, MediaFolder(Path()), np.random.default_rng(0))
            responses.append(
                Response(item.item_id, "own:x", "f", item.item_id, name, "vanilla", 0, "ok", text, "", view.reply, ())
            )
    suite = suite_of(tasks=[task(id=name, protocols=protocols(name)) for name in REPLIES])
    names = ("strict", "published", "vlmevalkit")
    table = pd.concat([results(score(responses, items, suite, protocol), items, suite, []) for protocol in names])
    for name, expected in SCORES.items():
        first = protocols(name)["strict"].metrics[0].name
        rows = table[(table["task"] == name) & (table["metric"] == first)].set_index("protocol")
        assert rows.loc[list(names), "value"].to_list() == pytest.approx(expected, abs=1e-6), name


@pytest.mark.filterwarnings("ignore:read leniently:UserWarning")
def test_items_cards_and_plans_equal_their_golden(items: ItemSet, root: Path, tmp_path: Path) -> None:
    table = tsv(root, tmp_path / "img.tsv", json.dumps)
    sets = (
        built(table, tmp_path / "tsv", n=1, seed=3),
        built(root, tmp_path / "few", n=1, settings={"reading": "lenient"}),
    )
    plans = [RELEASED.plan(BuildOptions(tmp_path, n=n, sources={"vlm2": table})) for n in (None, 150)]
    lines = [re.sub(r"md5 [0-9a-f]+", "md5", json.dumps({**plan, "bytes": 0})) for plan in plans]
    assert_golden("suites/vlm2-bench-released.txt", "".join([*map(set_text, (items, *sets)), *lines]))


def test_n_counts_questions_of_one_id_apart(tmp_path: Path) -> None:
    """Only statements of a pair are drawn together."""
    root = release(tmp_path / "vlm2")
    lines = [record("0", f"{COUNT_QUESTION} {n}", 1, "1.png", "2.png") for n in range(4)]
    write(root, "oc/vanilla/oc_cnt.jsonl", list(map(json.dumps, lines)))
    assert len(built(root, tmp_path / "set", n=3, tasks=("oc-cnt",)).items) == 3
