"""General cues from edited images: the whole chain of steps with scripted subjects, and its refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.curated_sets.vlm2_bench.edit_pairs import FIELDS, KINDS, read_edit_pairs
from snellen.curated_sets.vlm2_bench.general_cues import STEPS, PairStep, parse_pair, read_screening
from snellen.curated_sets.vlm2_bench.recipe import Curated
from snellen.curation.queues import write_queue
from snellen.exam.run import run
from snellen.web.reviewing import decide_review
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden
from tests.helpers.reviewers import reviewed_by

PAIRS: Mapping[str, str] = {
    "good": "Add a red cup to the table", "vague": "Make it nicer", "glaring": "Replace the sky with fire",
    "silent": "Remove the small spoon", "half": "Swap the lamp for a vase",
}  # fmt: skip


def make_image(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(stream("test picture", seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "edits"
    rows = []
    for n, (name, instruction) in enumerate(PAIRS.items()):
        for which, file in enumerate(("before", "after")):
            make_image(root / "images" / f"{name}-{file}.png", 2 * n + which)
        images = {"src_img": f"images/{name}-before.png", "edited_img": f"images/{name}-after.png"}
        rows.append({"omni_edit_id": name, **images, "edited_prompt_list": [instruction, "longer"], "task": "style"})
    (root / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root


def input_name(step: PairStep) -> str:
    assert step.result is not None
    return step.result.name


class Chain:
    """Builds a step from all runs made so far, and answers it by a script."""

    def __init__(self, source: Path, root: Path) -> None:
        self.source, self.root = source, root
        self.inputs: dict[str, Path] = {}

    def build(self, task: str, out: str = "", **fields: Any) -> ItemSet:
        options = {"inputs": self.inputs, **fields}
        return Curated().build(
            BuildOptions(self.root / (out or task), tasks=(task,), sources={"gc": self.source}, **options)
        )

    def answer(self, task: str, say: Callable[[Item, str], str | None], out: str = "") -> ItemSet:
        """Answer a step: `say` gets the item and the name of its pair; None makes the call fail."""
        items = self.build(task, out)
        name = next(input_name(step) for step in STEPS if step.name == task)
        texts = {item.item_id: say(item, item.provenance["pair"]) for item in items.items}
        script = self.root / f"{out or task}.json"
        script.write_text(json.dumps({key: text for key, text in texts.items() if text is not None}))
        run(items, [f"fake:scripted={script}"], self.root / f"{out or task}-run", show_progress=False)
        self.inputs[name] = self.root / f"{out or task}-run"
        return items


def screen(item: Item, name: str) -> str:
    kind = {"good": "add", "glaring": "environment", "silent": "remove"}.get(name, "swap")
    verdict = {"correct": True, "unique": name != "vague", "clear": True, "instruction": "", "edit": kind}
    if name == "good":
        verdict["instruction"] = "Add a red cup to the left of the plate"
    return f"Here it is:\n```json\n{json.dumps(verdict)}\n```"


def caption(item: Item, name: str) -> str:
    return f"{{{name}}} image {item.item_id[-1]}, 100 % sharp"  # braces and signs must survive the templates


def score(item: Item, name: str) -> str:
    return {"glaring": "-2.000000", "half": "-2.000001"}.get(name, "-3.25")


def detect(item: Item, name: str) -> str:
    return json.dumps(
        {"boxes": [{"box": [0, 0, 4, 4], "label": label, "score": 0.9} for label in ("plate", "fork", "plate")]}
    )


def pair_up(item: Item, name: str) -> str | None:
    if name == "silent":
        return None
    if item.item_id.endswith("-gc-mat"):
        return "The answer is a vase." if name == "half" else "Choices:\nCorrect Answer: red cup\nDistractor: plate"
    return "Choices:\nCorrect Answer: It came.\nDirect Reverse Answer: It went."


def answered(chain: Chain) -> dict[str, ItemSet]:
    says = {"gc-screening": screen, "gc-captions": caption, "gc-salience": score, "gc-cues": detect}
    itemsets = {task: chain.answer(task, say) for task, say in says.items()}
    return itemsets | {"gc-answers": chain.answer("gc-answers", pair_up)}


def test_the_whole_chain(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    steps = answered(chain)
    assert {task: itemset.card.items for task, itemset in steps.items()} == {
        "gc-screening": 5, "gc-captions": 8, "gc-salience": 4, "gc-cues": 6, "gc-answers": 6,
    }  # fmt: skip
    context = next(item for item in steps["gc-salience"].items if item.provenance["pair"] == "good")
    assert "Image 1: {good} image 1, 100 % sharp\nImage 2: {good} image 2, 100 % sharp" in context.question
    assert [option.text for option in context.options] == ["Add a red cup to the left of the plate"]
    request = next(item for item in steps["gc-answers"].items if item.provenance["pair"] == "good")
    assert "Editing Information: Add a red cup to the left of the plate" in request.question
    assert "Objects detected in image 2: plate, fork." in request.question
    assert "What new element can be observed in the second image" in request.question

    final = chain.build("gc")
    assert {task: counts["test"] for task, counts in final.card.counts.items()} == {"gc-mat": 2, "gc-trk": 4}
    mat = {item.answer: item for item in final.task("gc-mat")}
    assert "Is the answer 'red cup' correct" in mat["true"].question
    assert "Is the answer 'plate' correct" in mat["false"].question
    assert mat["true"].group_id == mat["false"].group_id
    assert mat["true"].factors == {"cue": "add/remove", "edit": "add", "wording": "positive"}
    images = [final.media.read(media) for media in mat["true"].query]
    assert images == [(source / "images" / f"good-{which}.png").read_bytes() for which in ("before", "after")]
    notes = " ".join(final.card.notes)
    assert "gc-screening: 4 of 5 pairs kept; 1 dropped, instruction not unique (vague)" in notes
    assert "gc-salience: 3 of 4 pairs kept; 1 dropped, too easy: salience not below -2 (glaring)" in notes
    assert "gc-answers: 2 of 3 pairs kept; 1 dropped, no answer (silent)" in notes
    assert "gc-mat: 1 of 2 pairs kept; 1 dropped, the answer cannot be read (half)" in notes
    assert mat["true"].provenance["construction_subjects"] == final.card.provenance["construction_subjects"]
    assert "fake:scripted=gc-captions.json" in final.card.provenance["construction_subjects"]
    assert not any(name in item.item_id for item in final.items for name in PAIRS)
    examination = run(read_itemset(final.root), ["fake:oracle"], tmp_path / "oracle", show_progress=False)
    assert (examination.all_results().query("factor == '' and metric != 'alike_pairs'")["value"] == 1).all()


def test_each_step_names_its_missing_input(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    with pytest.raises(SnellenError, match=r"--source gc=DIR is missing; give a folder with metadata\.jsonl"):
        Curated().build(BuildOptions(tmp_path / "none", tasks=("gc-mat",)))
    answered(chain)
    runs = chain.inputs
    for n, step in enumerate(STEPS):
        chain.inputs = {name: runs[name] for name in map(input_name, STEPS[:n])}
        with pytest.raises(
            SnellenError, match=f"vlm2-bench/gc-trk: --input {input_name(step)}=RUN is missing"
        ) as caught:
            chain.build("gc-trk", out="lacking")
        before = "".join(f" --input {name}=RUN" for name in map(input_name, STEPS[:n]))
        command = f"snellen build vlm2-bench/{step.name} --from curated --source gc=DIR{before} --out STEP"
        assert command in str(caught.value)


def test_answers_about_other_items_are_refused(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    chain.answer("gc-screening", screen)
    chain.answer("gc-captions", caption)
    chain.answer("gc-salience", score)
    chain.answer("gc-captions", lambda item, name: "another caption", out="captions-2")
    with pytest.raises(
        SnellenError, match=r"log-probability-.* differs from the one that the given sources and inputs lead to"
    ):
        chain.build("gc-cues")
    rows = (source / "metadata.jsonl").read_text()
    (source / "metadata.jsonl").write_text(rows.replace("Make it nicer", "Make it bluer"))
    with pytest.raises(SnellenError, match=r"screening-.* differs from the one that the given sources"):
        chain.build("gc-captions", out="captions-3")


def test_a_review_can_replace_a_run(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    screening = chain.build("gc-screening")
    ids = {item.provenance["pair"]: item.item_id for item in screening.items}
    review = tmp_path / "review.csv"

    def decide(**decisions: str) -> None:
        lines = [f'{ids[name]},"{decision}",ann,because' for name, decision in decisions.items()]
        review.write_text("\n".join(["item_id,decision,author,reason", *lines]))

    chain.inputs = {"screening": review}
    decide(good="keep:add", vague="drop", glaring="mend:swap:Swap the sky, at night: fire", silent="keep")
    with pytest.raises(SnellenError, match="--input screening-items=STEP"):
        chain.build("gc-captions")
    chain.inputs["screening-items"] = screening.root
    captions = chain.answer("gc-captions", caption)
    assert {item.provenance["pair"] for item in captions.items} == {"good", "glaring"}
    notes = captions.card.notes[0]
    assert "1 dropped, by the review (vague)" in notes
    assert "1 dropped, the kind of edit is missing (silent)" in notes
    assert "1 dropped, no answer (half)" in notes
    assert captions.card.provenance["construction_subjects"] == ["ann"]
    texts = {item.provenance["pair"]: item.options[0].text for item in chain.build("gc-salience").items}
    assert texts == {"good": PAIRS["good"], "glaring": "Swap the sky, at night: fire"}
    decide(good="maybe")
    with pytest.raises(SnellenError, match="unknown decision 'maybe'; write keep, keep:KIND, drop"):
        chain.build("gc-captions", out="captions-2")


def test_two_people_can_replace_a_run_of_the_screening(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    screening = chain.build("gc-screening")
    queue = write_queue("gc-screening", screening, tmp_path / "queue")
    ids = {item.provenance["pair"]: item.item_id for item in queue.items}
    item = queue.by_id[ids["good"]]
    assert (item.task, item.query) == ("decision", screening.by_id[ids["good"]].query)
    assert PAIRS["good"] in item.question
    assert "JSON" not in item.question
    ann = dict.fromkeys(ids.values(), ("drop", "")) | {
        ids["good"]: ("keep:add", ""),
        ids["vague"]: ("mend", "Whiten the walls"),
        ids["half"]: ("mend", "swap: Swap the lamp for two vases"),
    }
    people = reviewed_by(queue, {"ann": ann, "bob": ann}, tmp_path / "people")
    chain.inputs = {"screening": people}
    with pytest.raises(SnellenError, match="--input screening-items=STEP"):
        chain.build("gc-captions")
    chain.inputs["screening-items"] = screening.root
    captions = chain.answer("gc-captions", caption)
    assert {item.provenance["pair"] for item in captions.items} == {"good", "half"}, "the kind of vague is not stated"
    assert captions.card.provenance["construction_subjects"] == ["human:review/ann", "human:review/bob"]
    texts = {item.provenance["pair"]: item.options[0].text for item in chain.build("gc-salience").items}
    assert texts == {"good": PAIRS["good"], "half": "Swap the lamp for two vases"}
    chain.inputs = {"screening": tmp_path / "decisions.csv", "screening-items": screening.root}
    decide_review([people], tmp_path / "decisions.csv")
    by_csv = chain.build("gc-captions", out="by-csv")
    assert by_csv.card.content_hash == captions.card.content_hash


def test_an_error_gives_the_reasons_if_no_pair_is_left(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    chain.answer("gc-screening", lambda item, name: "I cannot tell.")
    with pytest.raises(SnellenError, match=r"no pairs of images are left.* 5 dropped, the answer cannot be read"):
        chain.build("gc-captions")


# Replies

WORDS = (
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1)
    .map(str.strip)
    .filter(lambda text: text and not text.startswith("*"))
)


@given(WORDS, WORDS, st.sampled_from(["Distractor", "Direct Reverse Answer"]))
def test_a_written_pair_is_read(right: str, wrong: str, second: str) -> None:
    text = f"Choices:\nCorrect Answer: {right}\n{second}: {wrong}\n"
    expected = (right, wrong) if right.casefold() != wrong.casefold() else None
    assert parse_pair(text, second) == expected
    other = {"Distractor": "Direct Reverse Answer", "Direct Reverse Answer": "Distractor"}[second]
    assert parse_pair(text, other) is None


@given(st.text(), st.sampled_from(["Distractor", "Direct Reverse Answer"]))
def test_any_text_is_a_pair_or_none(text: str, second: str) -> None:
    pair = parse_pair(text, second)
    assert pair is None or (all(pair) and "\n" not in "".join(pair))


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        (
            "**Choices:**\n\n1. **Correct Answer:** katana held\n2. **Distractor**: black mask",
            ("katana held", "black mask"),
        ),
        ("choices:\n- correct answer: a\n- distractor: b", ("a", "b")),
        ("Correct Answer: a\nDistractor: b", None),
        ("Choices:\nDistractor: b\nCorrect Answer: a", None),
        ("Choices:\nCorrect Answer: a\nDistractor: A", None),
        ("Choices:\nCorrect Answer: a\nDistractor:", None),
        ("Choices:\nCorrect Answer: a\nDistractor: b\nI hope this helps.", None),
        ("Choices: two\nCorrect Answer: a\nDistractor: b", None),
    ],
)
def test_pairs_of_answers(text: str, pair: tuple[str, str] | None) -> None:
    assert parse_pair(text, "Distractor") == pair


@pytest.mark.parametrize(
    ("text", "screening"),
    [
        ("keep", ("", "")),
        ("keep: swap", ("", "swap")),
        ("mend: Add a cup", ("Add a cup", "")),
        ("mend:add:Add a cup", ("Add a cup", "add")),
        ("drop", "by the review"),
        ("mend:", "the answer cannot be read"),
        ("keep: Add a cup", "the answer cannot be read"),
        (
            '{"correct": true, "unique": true, "clear": false, "instruction": "", "edit": "add"}',
            "instruction not clear",
        ),
        ('{"correct": "yes", "unique": true, "clear": true, "edit": "add"}', "the answer cannot be read"),
        ('{"correct": true, "unique": true, "clear": true, "edit": "style"}', "the answer cannot be read"),
    ],
)
def test_screenings(text: str, screening: tuple[str, str] | str) -> None:
    assert read_screening(text) == screening


# Folders


def test_imagenhub_rows_are_read_from_csv(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        make_image(tmp_path / name, seed)
    (tmp_path / "metadata.csv").write_text(
        "img_id,turn_index,source_img,target_img,instruction\n7,1,a.jpg,b.jpg,add a cat\n7,2,b.jpg,c.jpg,dye it\n"
    )
    first, second = read_edit_pairs(tmp_path)
    assert (first.name, second.name, first.instruction) == ("7/1", "7/2", "add a cat")
    assert first.handle != second.handle
    assert first.scene_handle == second.scene_handle
    assert (second.original, second.edited) == (tmp_path / "b.jpg", tmp_path / "c.jpg")


def test_one_folder_per_pair_is_read(tmp_path: Path) -> None:
    for seed, name in enumerate(("source.png", "edited.png")):
        make_image(tmp_path / "add-red-cup" / name, seed)
    (tmp_path / "add-red-cup" / "instruction.txt").write_text("add a red cup\n")
    (pair,) = read_edit_pairs(tmp_path)
    assert (pair.name, pair.instruction, pair.kind) == ("add-red-cup", "add a red cup", "")
    (tmp_path / "add-red-cup" / "edited.png").unlink()
    with pytest.raises(SnellenError, match="add-red-cup: no edited; give a field or file named edited, "):
        read_edit_pairs(tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"id": 1, "source": "a.png", "edited": "a.png"}'], "line 1: no instruction"),
        (['{"source": "a.png", "edited": "b.png", "instruction": "x"}'], "line 1: .*b.png is no file in"),
        (['{"source": "../data/a.png", "edited": "a.png", "instruction": "x"}'], "line 1: .*a.png is no file in"),
        (["", '{"id": 1,'], "line 2: not JSON"),
        (["[]"], "line 1: not a JSON object"),
        (['{"id": 1, "source": "a.png", "edited": "a.png", "prompt": "x"}'] * 2, "line 2: id '1' is used twice"),
        ([""], "no pairs of images; give a folder with metadata"),
    ],
)
def test_wrong_rows_are_named(rows: list[str], message: str, tmp_path: Path) -> None:
    make_image(tmp_path / "data" / "a.png", 0)
    (tmp_path / "data" / "metadata.jsonl").write_text("\n".join(rows))
    with pytest.raises(SnellenError, match=message):
        read_edit_pairs(tmp_path / "data")


def test_the_sets_of_all_steps_equal_their_golden(source: Path, tmp_path: Path) -> None:
    chain = Chain(source, tmp_path)
    sets = [*answered(chain).values(), chain.build("gc"), chain.build("gc-mat", n=1, seed=4)]
    options = BuildOptions(tmp_path, tasks=("gc",), sources={"gc": source}, n=1)
    plans = [
        Curated().plan(options),
        Curated().plan(BuildOptions(tmp_path, tasks=("gc-answers",), sources={"gc": source})),
    ]
    text = "".join(grouped_set_text(items, tmp_path) for items in sets)
    assert_golden("curated/vlm2-cues.txt", text + masked("\n".join(map(str, plans)), tmp_path) + "\n")


def test_every_name_of_a_field_and_of_a_kind_of_edit_is_read(tmp_path: Path) -> None:
    """A row for each other name of a field, and for each name of a kind; the first name that a row has counts."""
    make_image(tmp_path / "a.png", 0)
    plain = {"source": "a.png", "edited": "a.png", "instruction": "x", "edit_type": " ADD "}
    rows, kinds = [{**plain, "prompt": "y", "image_id": "p", "id": "first"}], ["add"]
    for field in ("source", "edited", "instruction"):
        for name in FIELDS[field][1:]:
            rows.append({other: cell for other, cell in plain.items() if other != field} | {name: plain[field]})
            kinds.append("add")
    for kind, names in {**KINDS, "": ("style",)}.items():
        for name in names:
            rows.append({**plain, "edit_type": name, "task": "remove"})
            kinds.append(kind)
    (tmp_path / "metadata.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    pairs = read_edit_pairs(tmp_path)
    assert [pair.kind for pair in pairs] == kinds
    assert {(pair.original, pair.edited, pair.instruction) for pair in pairs} == {(tmp_path / "a.png",) * 2 + ("x",)}
    assert [pair.name for pair in pairs] == ["first", *(str(2 * n + 1) for n in range(1, len(rows)))]
