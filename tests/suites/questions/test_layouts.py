"""Tables in the layouts of VLMEvalKit, Hugging Face, lmms-eval and LLaVA are read without a mapping."""

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from PIL import Image

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import ViewContext, settle
from snellen.runs.asking.views import show_items
from snellen.stimuli.video import write_video
from snellen.suites.questions import SUITE
from snellen.suites.questions.kinds import AXES
from tests.suites.questions import tables


def test_the_tsv_of_vlmevalkit(tmp_path: Path) -> None:
    """Columns and references as in VLMEvalKit's docs/en/Development.md: an image may be the index of another row."""
    rows = [
        {"index": 7, "image": tables.image_text(1), "question": "Which?", "hint": "A hint.", "A": "red", "B": "blue",
         "C": "", "D": "", "answer": "B", "category": "Colour naming", "l2-category": "x", "split": "dev"},
        {"index": 8, "image": 7, "question": "Which other?", "hint": "", "A": "red", "B": "blue", "C": "green", "D": "",
         "answer": "A", "category": "Colour naming", "l2-category": "x", "split": "dev"},
        {"index": 9, "image": str([tables.image_text(2), tables.image_text(3)]), "question": "Of two?", "hint": "",
         "A": "one", "B": "two", "C": "", "D": "", "answer": "A", "category": "Other", "l2-category": "y",
         "split": "dev"},
        {"index": 10, "image": 9, "question": "And here?", "hint": "", "A": "one", "B": "two", "C": "", "D": "",
         "answer": "A", "category": "Other", "l2-category": "y", "split": "dev"},
    ]  # fmt: skip
    items = tables.build_set(tables.write_csv(tmp_path / "t.tsv", rows), tmp_path / "set")
    first, second, third, fourth = items.items
    assert [item.item_id for item in items.items] == ["7", "8", "9", "10"]
    assert (first.task, third.task) == ("colour-naming", "other")
    assert first.question == "A hint.\nWhich?"
    assert [(option.key, option.text) for option in first.options] == [("A", "red"), ("B", "blue")]
    assert (first.answer_kind, first.answer) == ("choice", "B")
    assert first.query == second.query
    assert len(third.query) == 2
    assert third.query == fourth.query
    assert first.cluster_id == second.cluster_id != third.cluster_id
    assert first.provenance == {"id": "7", "row": 1, "file": "t.tsv"}
    assert items.card.notes[0] == (
        "read: question from `question`, hint from `hint`, options from `A`..`D`, answer from `answer`, image from "
        "`image`, id from `index`, split from `split`; 4 rows; tasks by `category`; answers: choice (2 tasks)"
    )


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    question = {"question": "Is it dark?", "A": "yes", "B": "no", "answer": "A"}
    rows = [{"id": n, "image": tables.image_text(n), "difficulty": n, "note": "", **question} for n in range(2)]
    path = tables.write_csv(tmp_path / "t.csv", rows)
    expected = "not used: difficulty, note (--map factors=COLUMN gives results by it)"
    assert expected in tables.build_set(path, tmp_path / "items").card.notes


def test_the_parquet_of_hugging_face(tmp_path: Path) -> None:
    """An image is {bytes, path}, a class label a number whose names are in the metadata (`datasets.Features`)."""
    rows = [{"image": {"bytes": tables.image_bytes(n), "path": None}, "prompt": "Is it?", "label": n} for n in (0, 1)]
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["no", "yes"]}}
    (tmp_path / "data").mkdir()
    tables.write_parquet(tmp_path / "data" / "train-00000-of-00001.parquet", rows, features)
    items = tables.build_set(tmp_path, tmp_path / "set").items
    assert [(item.answer_kind, item.answer) for item in items] == [("true_false", "false"), ("true_false", "true")]
    assert [option.text for option in items[0].options] == ["Yes", "No"]
    assert items[0].query[0].width == 8


def test_the_parquet_of_lmms_eval_with_a_list_of_options(tmp_path: Path) -> None:
    """MMMU: options as the text of a Python list, image_1 .. image_7, `<image 1>` in the question and the options."""
    empty = {f"image_{n}": None for n in range(3, 8)}
    rows = [
        {"id": f"validation_Art_{n}", "question": "Compare <image 1> with <image 2>.", "answer": answer,
         "options": "['the same', \"another's\", '<image 2>']",
         "image_1": {"bytes": tables.image_bytes(n), "path": "1.png"},
         "image_2": {"bytes": tables.image_bytes(n + 10), "path": "2.png"}, **empty}
        for n, answer in enumerate("AC")
    ]  # fmt: skip
    items = tables.build_set(tables.write_parquet(tmp_path / "t.parquet", rows), tmp_path / "set").items
    assert [item.item_id for item in items] == ["validation_Art_0", "validation_Art_1"]
    assert [option.text for option in items[0].options] == ["the same", "another's", "<image 2>"]
    assert [item.answer for item in items] == ["A", "C"]
    assert [len(item.query) for item in items] == [2, 2]


@pytest.mark.parametrize(("first", "keys"), [(0, ["A", "C"]), (1, ["A", "B"])])
def test_numbers_of_options_from_0_and_from_1(first: int, keys: list[str], tmp_path: Path) -> None:
    """AI2D and ScienceQA count options from 0. The first number is found from all rows."""
    rows = [
        {"image": tables.image_text(n), "question": f"Which {n}?", "options": ["x", "y", "z"][: 3 - first], "answer": a}
        for n, a in enumerate((first, 2))
    ]
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set")
    assert [item.answer for item in items.items] == keys
    assert f"an answer is the number of the option from {first}" in items.card.notes[0]


def test_numbers_that_may_count_from_0_or_1_are_refused(tmp_path: Path) -> None:
    rows = [
        {"image": tables.image_text(n), "question": f"Which {n}?", "options": ["x", "y", "z"], "answer": 1}
        for n in range(3)
    ]
    with pytest.raises(SnellenError, match="the first may be 0 or 1"):
        tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set")


def test_the_json_of_llava(tmp_path: Path) -> None:
    """`id`, `image`, `conversations` of human and gpt, as in LLaVA's docs/Finetune_Custom_Data.md."""
    turns = [{"from": "human", "value": "<image>\nHow many?"}, {"from": "gpt", "value": "3"}]
    (tmp_path / "t.json").write_text(
        json.dumps([{"id": "a", "image": tables.image_file(tmp_path), "conversations": turns}])
    )
    (item,) = tables.build_set(tmp_path / "t.json", tmp_path / "set").items
    assert (item.item_id, item.question, item.answer_kind, item.answer) == ("a", "<image>\nHow many?", "integer", 3)
    for other in ([*turns, *turns], [*turns, turns[0]], turns[::-1], [*turns, "Bye."]):
        rows = [{"image": "0.png", "conversations": spoken} for spoken in (turns, other)]
        (tmp_path / "t.json").write_text(json.dumps(rows))
        with pytest.raises(SnellenError, match="row 2, column `all`: `conversations` is not one question"):
            tables.build_set(tmp_path / "t.json", tmp_path / "other")


def test_a_folder_of_images_with_its_table(tmp_path: Path) -> None:
    """`metadata.jsonl` with `file_name`, as the ImageFolder of `datasets`, here packed."""
    (tmp_path / "train").mkdir()
    tables.image_file(tmp_path / "train", 1)
    line = {"file_name": "train/1.png", "question": "What is it?", "answer": "noise"}
    (tmp_path / "metadata.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    (item,) = tables.build_set(tmp_path, tmp_path / "set").items
    assert (item.answer_kind, item.answer, item.provenance["file"]) == ("text", "noise", "metadata.jsonl.gz")


def test_tasks_have_safe_names_and_one_kind_each(tmp_path: Path) -> None:
    """Two values that look alike are two tasks; rows of a value with and without options are, too."""
    rows = [
        {"image": tables.image_text(), "question": f"What {n}?", "task": task, "answer": answer, "options": options}
        for n, (task, answer, options) in enumerate(
            [("A b", "A", ["x", "y"]), ("a/b", "A", ["x", "y"]), ("", "A", ["x", "y"]), ("A b", "12", None)] * 2
        )
    ]
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set").items
    assert [item.task for item in items[:4]] == ["a-b", "a-b--2", "questions", "a-b--open"]
    assert [item.answer for item in items[:4]] == ["A", "A", "A", 12]


def test_options_in_the_question_and_several_answers(tmp_path: Path) -> None:
    """VisOnlyQA: options in the question with their letters in a list, or letters of things in the image alone."""
    rows = [
        {"image_path": tables.image_file(tmp_path, 1), "question": "Which? (a) 47 (b) 44 (c) 45 ", "answer": "c",
         "response_options": ["a", "b", "c"], "task": "charts__extraction"},
        {"image_path": "1.png", "question": "True or False?", "answer": "True",
         "response_options": ["True", "False"], "task": "charts__intersection"},
        {"image_path": "1.png", "question": "List all figures.", "answer": "b,d",
         "response_options": ["a", "b", "c", "d"], "task": "chemistry__shape_multi"},
    ] * 2  # fmt: skip
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set").items
    listed, truth, several = items[:3]
    assert [(option.key, option.text) for option in listed.options] == [("a", "47"), ("b", "44"), ("c", "45")]
    assert (listed.task, listed.answer) == ("charts-extraction", "c")
    assert (truth.answer_kind, truth.answer) == ("true_false", "true")
    assert (several.answer_kind, several.answer) == ("choices", ("b", "d"))
    assert {item.cluster_id for item in items} == {items[0].cluster_id}


def test_groups_clusters_splits_and_a_draw(tmp_path: Path) -> None:
    rows = [
        {"image": tables.image_text(n), "q": f"What {n}?", "key": "yes", "pair": f"p{n // 2}", "split": split}
        for n, split in enumerate(["train", "train", "validation", "test", "test", "test"])
    ]
    path = tables.write_jsonl(tmp_path / "t.jsonl", rows)
    columns = {"question": "q", "answer": "key", "group": "pair"}
    items = tables.build_set(path, tmp_path / "set", columns=columns)
    assert [item.split for item in items.items] == ["train", "train", "test", "test", "test", "test"]
    assert [item.group_id for item in items.items] == ["p0", "p0", "p1", "p1", "p2", "p2"]
    clusters = [item.cluster_id for item in items.items]
    assert clusters[::2] == clusters[1::2]
    assert len(set(clusters)) == 3
    task = SUITE.of_items(items).tasks["questions"]
    assert (task.train_split, list(task.protocols)) == ("train", ["strict", "all-right"])
    few = tables.build_set(path, tmp_path / "few", columns=columns | {"cluster": "q", "group": ""}, n=2)
    assert few.card.counts == {"questions": {"train": 2, "test": 2}}
    assert few.items[0].cluster_id == "What 0?"
    assert few.card.recipe["columns"]["cluster"] == "q"


def _notes(path: Path, rows: list[dict[str, Any]], **options: Any) -> str:
    return " ".join(tables.plan(tables.write_jsonl(path, rows), **options)["notes"])


@pytest.mark.parametrize("forms", [("A. {}", "B. {}"), ("(a) {}", "(b) {}"), ("A:{}", "B:{}"), ("1. {}", "2. {}")])
def test_labels_in_options_are_taken_off_and_noted(forms: tuple[str, str], tmp_path: Path) -> None:
    options = [form.format(word) for form, word in zip(forms, ("red", "blue"), strict=True)]
    rows = [
        {"image": tables.image_text(n), "question": "Which?", "options": options, "answer": answer}
        for n, answer in enumerate((options[1], "blue"))
    ]
    items = list(tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set").items)
    assert [option.text for option in items[0].options] == ["red", "blue"]
    assert [item.answer for item in items] == ["B", "B"]
    assert "taken off, since prompts have their own (2 rows)" in _notes(tmp_path / "t.jsonl", rows)


@pytest.mark.parametrize("options", [["A. red", "blue"], ["B. red", "C. blue"], ["1.5 m", "2.5 m"], ["A", "B"]])
def test_other_options_keep_their_texts(options: list[str], tmp_path: Path) -> None:
    rows = [{"image": tables.image_text(), "question": "Which?", "options": options, "answer": options[0]}]
    assert "labels" not in _notes(tmp_path / "t.jsonl", rows)


@pytest.mark.parametrize(
    "columns",
    [
        {"multi-choice options": ["(A) red", "(B) blue"]},
        {"opa": "red", "opb": "blue"},
        {"option": {"A": "red", "B": "blue"}},
        {"choices": "A. red\nB. blue"},
    ],
)
def test_further_forms_of_options(columns: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"image": tables.image_text(), "question": "Which?", **columns, "answer": "B"}]
    item = next(iter(tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set").items))
    assert [(option.key, option.text) for option in item.options] == [("A", "red"), ("B", "blue")]


@pytest.mark.parametrize(("answers", "kind"), [("AB", "letters"), ("12", "small numbers")])
def test_answers_that_name_options_of_an_unknown_column_stop(answers: str, kind: str, tmp_path: Path) -> None:
    rows = [
        {"image": tables.image_text(n), "question": "Which?", "possible": ["red", "blue"], "answer": answer}
        for n, answer in enumerate(answers)
    ]
    with pytest.raises(SnellenError, match=rf"all answers are {kind}.*`possible`.*--map options=COLUMN"):
        _notes(tmp_path / "t.jsonl", rows)
    assert "answers: text" in _notes(tmp_path / "t.jsonl", rows, columns={"kind": "text"})
    assert "answers: choice" in _notes(tmp_path / "t.jsonl", rows, columns={"options": "possible"})


def test_numbers_that_may_be_texts_or_numbers_of_options_are_refused(tmp_path: Path) -> None:
    def rows(options: list[str]) -> list[dict[str, Any]]:
        row = {"question": "How many?", "options": options}
        return [row | {"image": tables.image_text(n), "answer": n} for n in range(3)]

    with pytest.raises(SnellenError, match="may be texts or numbers of options"):
        _notes(tmp_path / "t.jsonl", rows(["2", "0", "1"]))
    assert "answers: choice" in _notes(tmp_path / "t.jsonl", rows(["0", "1", "2"]))


def test_images_as_options_are_numbered_in_the_order_of_the_row(tmp_path: Path) -> None:
    images = [tables.image_text(n) for n in range(3)]
    row = {"image": images, "question": "<image> Which is like it?", "options": ["<image>", "<image>"], "answer": "B"}
    path = tables.write_jsonl(tmp_path / "t.jsonl", [row])
    item = next(iter(tables.build_set(path, tmp_path / "set", columns={"image": "image"}).items))
    assert [option.text for option in item.options] == ["<image 2>", "<image 3>"]


def test_empty_texts_among_accepted_ones_are_passed_over(tmp_path: Path) -> None:
    rows = [{"image": tables.image_text(), "question": "What is written?", "answers": ["stop", "", "STOP"]}]
    item = next(iter(tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set").items))
    assert item.answer == ("stop", "STOP")


def test_numbers_among_texts_are_scored_as_numbers(tmp_path: Path) -> None:
    rows = [
        {"image": tables.image_text(n), "question": "Which value?", "answer": answer}
        for n, answer in enumerate(("14", "Yes", "0.57", ["7", "seven"]))
    ]
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set")
    kinds = [(item.task, item.answer_kind, item.answer) for item in items.items]
    assert kinds[0] == ("questions--numbers", "number", 14.0)
    assert kinds[1] == ("questions", "text", "Yes")
    assert kinds[2] == ("questions--numbers", "number", 0.57)
    assert kinds[3] == ("questions", "text", ("7", "seven"))
    assert "2 numbers among texts are asked as tasks of their own, called …--numbers" in items.card.notes


def test_videos_are_asked_as_frames(tmp_path: Path) -> None:
    frames = (np.full((16, 24, 3), level, np.uint8) for level in range(0, 240, 10))
    write_video(frames, tmp_path / "clip.mp4", fps=12)
    rows = [{"video": "clip.mp4", "question": "Does it get lighter?", "answer": "yes"}]
    items = tables.build_set(tables.write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "set")
    ((video,),) = (item.query for item in items.items)
    assert (video.kind, video.format, video.width, video.height, video.seconds) == ("video", "mp4", 24, 16, 2)
    suite = SUITE.of_items(items)
    (task,) = suite.tasks.values()
    for value, count in (("auto", 16), ("8", 8), ("1fps", 2), ("native", 1)):
        (condition,) = parse_conditions(AXES, f"frames={value}")
        context = ViewContext(settle(condition, suite, SubjectCard("someone")), items.items)
        view = show_items(items.items, context, task, 0, MediaFolder(tmp_path / "frames", items.media))
        assert len(next(iter(view.values())).query) == count


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_tables_are_read_in_the_encodings_of_spreadsheets(encoding: str, name: str, tmp_path: Path) -> None:
    lines = ["image;question;answer", f"{tables.image_file(tmp_path)};Größe?;klein"]
    raw = "\r\n".join(line.replace(";", "\t" if "tsv" in name else ";") for line in lines).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    item = next(iter(tables.build_set(tmp_path / name, tmp_path / "set").items))
    assert (item.question, item.answer) == ("Größe?", "klein")


def test_what_spreadsheets_write(tmp_path: Path) -> None:
    lines = ["sep=;", "image;question;answer", *(f"{tables.image_file(tmp_path, n)};How long?;{n},5" for n in range(3))]
    (tmp_path / "t.csv").write_text("\r\n".join(lines), "utf-8-sig")
    items = tables.build_set(tmp_path / "t.csv", tmp_path / "set")
    assert [item.answer for item in items.items] == ["0,5", "1,5", "2,5"]
    assert any("3 answers such as 0,5 are asked as texts" in note for note in items.card.notes)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(SnellenError, match="saved as CSV"):
        tables.build_set(tmp_path / "t.xlsx", tmp_path / "other")


def _image_rows(*names: str) -> list[dict[str, Any]]:
    return [{"image": name, "question": "What is it?", "answer": f"thing {n}"} for n, name in enumerate(names)]


@pytest.mark.parametrize("name", [r"img\écran 0.png", "img/%C3%A9cran%200.png", normalize("NFC", "img/écran 0.png")])
def test_files_are_found_by_names_of_other_systems(name: str, tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    Path(tmp_path / "img" / normalize("NFD", "écran 0.png")).write_bytes(tables.image_bytes())
    assert tables.plan(tables.write_jsonl(tmp_path / "t.jsonl", _image_rows(name)))["items"] == {"questions": 1}


@pytest.mark.parametrize(("mode", "level"), [("I;16", 4000), ("F", 0.5), ("I", 70000)])
def test_images_of_more_than_8_bits_are_refused_by_name(mode: str, level: float, tmp_path: Path) -> None:
    Image.new(mode, (8, 6), level).save(tmp_path / "deep.tif")
    with pytest.raises(SnellenError, match=r"deep\.tif: levels of more than 8 bits"):
        _notes(tmp_path / "t.jsonl", _image_rows("deep.tif"))
    Image.new("I;16", (8, 6), 200).save(tmp_path / "deep.tif")
    _notes(tmp_path / "t.jsonl", _image_rows("deep.tif"))


def test_odd_images_are_named_in_notes(tmp_path: Path) -> None:
    image, exif = Image.open(BytesIO(tables.image_bytes())), Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    for name in ("moving.webp", "moving.png", "pages.tif"):
        image.save(tmp_path / name, save_all=True, append_images=[Image.new("RGB", image.size)])
    Image.new("RGBA", (8, 6), (255, 0, 0, 90)).save(tmp_path / "clear.png")
    Image.new("RGBA", (8, 6), (255, 0, 0, 255)).save(tmp_path / "plain.png")
    notes = _notes(
        tmp_path / "t.jsonl",
        _image_rows("turned.jpg", "moving.webp", "moving.png", "pages.tif", "clear.png", "plain.png"),
    )
    assert "1 of 6 images are rotated by their header (EXIF)" in notes
    assert "3 of 6 images are of several frames or pages" in notes
    assert "moving.webp, moving.png, pages.tif" in notes
    assert "1 of 6 images are partly transparent" in notes


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "a HEIC image"),
        (b"nothing", "not a readable image"),
    ],
)
def test_files_that_are_no_image_are_named_as_what_they_are(raw: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(raw)
    with pytest.raises(SnellenError, match=rf"photo\.png: {problem}"):
        _notes(tmp_path / "t.jsonl", _image_rows("photo.png"))
