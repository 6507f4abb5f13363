"""ComBo from a stated table: the four tasks, asked and scored like generated ones, and tables that are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.exam.examine import examine
from snellen.suites.combo.released.recipe import RELEASED
from snellen.suites.combo.tasks import TASKS
from tests.goldens.descriptions import assert_lines, line

LINES: list[dict[str, Any]] = [
    {"task": "pattern-perception", "image": "0.png", "part": "primary-shape", "options": ["cube", "sphere"],
     "answer": "cube"},
    {"task": "pattern-perception", "image": "0.png", "part": "primary-material", "options": ["metal", "glass"],
     "answer": "glass"},
    {"task": "img2text", "image": "1.png", "options": ["lamp", "mushroom", "hammer", "bottle"], "answer": "lamp"},
    {"task": "text2img", "label": "lamp", "options": ["1.png", "2.png", "3.png", "4.png"], "answer": "3.png"},
    {"task": "category-building", "image": "5.png", "answer": "B", "difficulty": "hard",
     "examples": {"A": ["0.png", "1.png", "2.png", "3.png"], "B": ["4.png", "6.png", "7.png", "8.png"]}},
]  # fmt: skip


def build(root: Path, lines: list[dict[str, Any]], tasks: tuple[str, ...] = ()) -> ItemSet:
    folder = root / "folder"
    folder.mkdir()
    for number in range(9):
        Image.new("RGB", (16, 16), (20 * number, 40, 200)).save(folder / f"{number}.png")
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return RELEASED.build(BuildOptions(root / "items", sources={"combo": folder}, tasks=tasks))


def test_every_task_is_read_asked_and_scored(tmp_path: Path) -> None:
    items = build(tmp_path, LINES)
    assert {item.task for item in items.items} == set(TASKS)
    by_task = {item.task: item for item in items.items}
    text2img, category = by_task["text2img"], by_task["category-building"]
    assert text2img.answer == "image-3"
    assert [demo.answer for demo in category.support] == list("ABABABAB")
    assert (category.factors["difficulty"], len(category.options)) == ("hard", 2)
    first, second = (item for item in items.items if item.task == "pattern-perception")
    assert (first.stimulus_id, first.cluster_id) == (second.stimulus_id, second.cluster_id)
    assert second.question == "What is the material of the primary (larger) primitive?"
    assert [option.text for option in second.options] == ["metal", "glass"]
    digests = items.card.recipe["files"]
    assert set(digests) == {"questions.jsonl", *(f"{number}.png" for number in range(9))}
    assert any("could not be obtained" in note for note in items.card.notes)
    examination = examine("fake:chance", items.root, out=tmp_path / "run")
    assert {response.task for response in examination.responses} == set(TASKS)
    assert not examination.failed
    results = examination.all_results()
    by_question = results[(results["factor"] == "question") & (results["protocol"] == "strict")]
    assert set(by_question["level"]) == {"primary-shape", "primary-material"}
    assert set(results["task"]) == set(TASKS)


def test_one_task_alone(tmp_path: Path) -> None:
    (item,) = build(tmp_path, LINES, ("img2text",)).items
    assert (item.task, item.item_id) == ("img2text", "img2text-00002"), "as in the set of all tasks"
    assert item.provenance["source"] == "questions.jsonl line 3"


def test_a_plan_counts_lines_by_task_and_refuses_unknown_tasks(tmp_path: Path) -> None:
    folder = build(tmp_path, LINES).root.parent / "folder"
    plan = RELEASED.plan(BuildOptions(tmp_path / "x", sources={"combo": folder}))
    assert plan["items"] == {"pattern-perception": 2, "img2text": 1, "text2img": 1, "category-building": 1}
    with pytest.raises(SnellenError, match="combo has no task 'reading'; tasks are: pattern-perception, img2text"):
        RELEASED.plan(BuildOptions(tmp_path / "x", sources={"combo": folder}, tasks=("reading",)))


def test_categories_show_as_many_examples_as_the_shorter_one_has(tmp_path: Path) -> None:
    shorter = {**LINES[4], "examples": {"A": ["0.png", "1.png", "2.png"], "B": ["4.png", "6.png"]}}
    none = {**LINES[1], "part": "primary-colour", "options": ["red", "none"], "answer": "none"}
    category, colour = build(tmp_path, [shorter, none]).items
    assert [(demo.answer, demo.shot) for demo in category.support] == [("A", 0), ("B", 0), ("A", 1), ("B", 1)]
    assert (colour.answer, colour.options[1].text) == ("none", "no added colour (glass or wood)")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": "cup"}, "the answer 'cup' is not among"),
        ({"image": "9.png"}, "9.png: no such image"),
        ({"image": "../private.png"}, "../private.png: no such image"),
        ({"image": ""}, "an image"),
        ({"task": "pattern-perception", "part": "colour"}, "'colour' is not one of primary-shape"),
        ({"task": "pattern-perception", "part": "anchor"}, "'lamp' is not one of"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
        ({"task": "category-building"}, "is not among no options"),
    ],
)
def test_wrong_lines_are_named(change: Mapping[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "private.png")
    with pytest.raises(SnellenError, match=r"questions\.jsonl") as refused:
        build(tmp_path / "data", [{**LINES[2], **change}])
    assert words in str(refused.value)
    assert not (tmp_path / "data" / "items").exists()


def test_all_that_is_made_of_a_table_is_as_it_was(tmp_path: Path) -> None:
    """Every question of Pattern Perception, a text2img with an image, no level, and categories in another order."""
    parts = {
        "secondary-shape": ["cube", "cone", "frustum"], "secondary-colour": ["red", "none", "blue"],
        "anchor": ["face", "vertex", "edge"], "pivot": ["apex", "base"], "primary-colour": ["red", "none"],
    }  # fmt: skip
    numbered = enumerate(parts.items())
    more = [{**LINES[0], "image": f"{n}.png", "part": p, "options": o, "answer": o[-1]} for n, (p, o) in numbered]
    more.append({**LINES[4], "examples": {"B": ["4.png", "6.png"], "A": ["0.png"]}, "difficulty": ""})
    more.append({**LINES[3], "image": "8.png", "options": ["1.png", "2.png"], "answer": "1.png"})
    items = build(tmp_path, [*LINES, *more])
    text = line([*items.items, items.card.notes, items.card.counts])
    for number, name in enumerate(dict.fromkeys(image.sha256 for item in items.items for image in item.media())):
        text = text.replace(name, f"IMAGE-{number}")
    assert_lines("combo/released.txt", text.split('}, {"item_id"'))
