"""Descriptions and questions in LLaVA's layout, from which a head learns directly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.suites import SUITES
from snellen.suites.combo import prompts
from snellen.towers.conversations import CAPTIONS, CARD, IMAGES, QUESTIONS, question_records, write_conversations
from snellen.towers.heads.llava_files import Record, read_llava
from tests.helpers.extras import lazy_module, need
from tests.helpers.sets import small_set

need("peft", "heads")
need("torch", "models")
files = lazy_module("snellen.towers.heads.files")

Command = Callable[..., tuple[int, str, str]]
HEAD = ("--tower", "tiny/siglip-1", "--language-model", "random-qwen2?layers=1&width=32")


@pytest.fixture(scope="module")
def items(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


@pytest.fixture(scope="module")
def learned(items: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four captions; four questions on patterns, four on categories."""
    out = tmp_path_factory.mktemp("learned") / "conversations"
    card = write_conversations(items, 4, 8, out)
    assert (card.captions, card.questions) == (4, {"pattern-perception": 4, "category-building": 4})
    return out


def test_files_have_llava_s_layout_and_heads_learn_from_them(
    snellen: Command, items: ItemSet, learned: Path, tmp_path: Path
) -> None:
    captions, questions = (read_llava(learned / name, learned / IMAGES) for name in (CAPTIONS, QUESTIONS))
    assert (len(captions.conversations), len(questions.conversations)) == (4, 8)
    conversations = [*captions.conversations, *questions.conversations]
    assert all(len(each.images) == 1 and len(each.turns) == 1 for each in conversations)
    assert all(each.turns[0].parts[1] == prompts.CAPTION for each in captions.conversations)
    assert {each.turns[0].reply for each in questions.conversations[4:]} == {"A", "B"}
    tested = {path.relative_to(items.media.root) for path in items.media.root.glob("??/*.png")}
    assert tested
    assert not tested & {path.relative_to(learned / IMAGES) for path in (learned / IMAGES).glob("??/*.png")}
    stage, first, second = ("--images", learned / IMAGES, *HEAD), tmp_path / "first", tmp_path / "second"
    assert snellen("tower", "pretrain", "--data", learned / CAPTIONS, *stage, "--out", first)[0] == 0
    tuned = ("--data", learned / QUESTIONS, "--base", first, "--scope", "lora", "--out", second)
    assert snellen("tower", "tune", *stage, *tuned)[0] == 0
    card = files.read_head_card(second)
    assert (card.stage["scope"], card.conversations, card.base) == ("lora", 8, str(first))


def test_the_same_command_gives_the_same_files(snellen: Command, items: ItemSet, learned: Path, tmp_path: Path) -> None:
    counts = ("--captions", 4, "--questions", 8, "--workers", 1)
    words = ("tower", "write-conversations", "--items", items.root, *counts, "--out", tmp_path / "again")
    code, output, _ = snellen(*words)
    assert code == 0
    assert "4 descriptions, questions: 4 on pattern-perception, 4 on category-building" in output
    assert "none of them tested by" in output
    folders = (learned, tmp_path / "again")
    for name in (CAPTIONS, QUESTIONS, CARD):
        assert (learned / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    first, second = (sorted(path.name for path in (folder / IMAGES).glob("??/*")) for folder in folders)
    assert first == second
    stamp = (tmp_path / "again" / QUESTIONS).stat().st_mtime_ns
    assert snellen(*words)[:2] == (0, output)
    assert (tmp_path / "again" / QUESTIONS).stat().st_mtime_ns == stamp
    for other in (("--seed", 1), ("--captions", 3), ("--questions", 6)):
        code, _, err = snellen(*words, *other)
        assert (code, "already holds other conversations" in err) == (2, True)


def test_questions_are_worded_as_tested(items: ItemSet, learned: Path, tmp_path: Path) -> None:
    """The suite's own prompts about tested objects equal those learned about others."""
    suite, media = SUITES.get("combo"), MediaFolder(tmp_path, items.media)
    records = TypeAdapter(list[Record]).validate_json((learned / QUESTIONS).read_bytes())
    patterns, building = ({words(record) for record in part} for part in (records[:4], records[4:]))
    test_items = [item for item in items.task("pattern-perception") if item.split == "test"]
    tested_words = {words(record) for record in question_records(test_items, suite, "samples=1,questions=one", media)}
    of_any_shape = {text for text in patterns if "attached?" not in text}  # the contact points depend on the shape
    assert of_any_shape
    assert of_any_shape <= tested_words
    sheets = question_records(items.task("category-building"), suite, "sheet=single,layout=images-first", media)
    assert {words(record) for record in sheets} == building


def words(record: Record) -> str:
    """The text of the human turn."""
    return record.conversations[0].value


def test_answers_are_written_as_they_are_read(items: ItemSet, tmp_path: Path) -> None:
    test_items = [item for item in items.task("pattern-perception") if item.split == "test"]
    records = question_records(
        test_items, SUITES.get("combo"), "samples=1,questions=one", MediaFolder(tmp_path, items.media)
    )
    replies = {record.id: record.conversations[1].value for record in records}
    assert replies == {item.item_id: item.view().reply.write(item.answer) for item in test_items}


def test_questions_with_several_images_are_refused(items: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="shows 3 images per call"):
        question_records(
            items.task("category-building"), SUITES.get("combo"), "sheet=separate", MediaFolder(tmp_path, items.media)
        )
    assert question_records([], SUITES.get("combo"), "vanilla", MediaFolder(tmp_path)) == []
