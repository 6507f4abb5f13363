"""The prompt of an episode under each condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.condition import parse_conditions
from snellen.core.item import Media, Part
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.runs.asking.preview import first_calls
from snellen.suites import SUITES
from snellen.suites.vfm_bench import prompts
from tests.helpers.sets import small_set

SUITE = SUITES.get("vfm-bench")
SOMEONE = SubjectCard("someone")


@pytest.fixture(scope="module")
def small(sets_folder: Path) -> ItemSet:
    return small_set("vfm-bench", sets_folder)


def parts(small: ItemSet, tmp_path: Path, text: str, card: SubjectCard = SOMEONE) -> tuple[Part, ...]:
    """The prompt of the first item that has a marked region."""
    item = next(item for item in small.items if item.regions)
    (point,) = parse_conditions(SUITE.axes, text)
    media = MediaFolder(tmp_path / "shown", small.media)
    (call,) = first_calls(small, SUITE, point, card, media, only=item.item_id)
    return call.prompt.parts


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part for part in parts if isinstance(part, str)]


def test_the_prompt_has_the_released_order(small: ItemSet, tmp_path: Path) -> None:
    item = next(item for item in small.items if item.regions)
    prompt = parts(small, tmp_path, "shots=2,labels=real")
    names = [option.text for option in item.options]
    assert prompt[0] == prompts.instruction(item.question, names)
    # One text, then image and name of every class, shot by shot, then the query with nothing after it.
    assert texts(prompt)[1:] == names * 2
    assert [isinstance(part, Media) for part in prompt[1:]] == [True, False] * (2 * len(names)) + [True]
    assert prompt[-1] == item.query[0]
    assert len(parts(small, tmp_path, "shots=0")) == 2


def test_instructions_demos_and_labels_change_together(small: ItemSet, tmp_path: Path) -> None:
    item = next(item for item in small.items if item.regions)
    names = [option.text for option in item.options]
    cot, _ = parts(small, tmp_path, "shots=0,instruction=cot")
    assert isinstance(cot, str)
    assert prompts.COT in cot
    assert prompts.CONSTRAINT not in cot
    detailed, _ = parts(small, tmp_path, "shots=0,labels=real,instruction=detailed")
    assert all(sentence in str(detailed) for sentence in item.latent["definitions"].values())
    marked = texts(parts(small, tmp_path, "shots=1,labels=real,demos=visual-prompt"))
    assert marked[1:3] == [prompts.VISUAL_BEFORE.format(number=0), prompts.VISUAL_AFTER.format(label=names[0])]
    assert marked[-1] == prompts.VISUAL_END
    fabricated = texts(parts(small, tmp_path, "shots=1,labels=fabricated,instruction=detailed"))
    labels = fabricated[1:]
    assert not set(labels) & set(names)
    assert all(f"'{name}'" in fabricated[0] and f"- {name}: " in fabricated[0] for name in labels)
    captioned = texts(parts(small, tmp_path, "shots=1,labels=real,demos=caption"))[1:]
    assert [text for text, name in zip(captioned, names, strict=True) if name not in text] == []


def test_single_image_subjects_get_one_image(small: ItemSet, tmp_path: Path) -> None:
    prompt = parts(small, tmp_path, "shots=3", SubjectCard("one", max_images=1))
    assert len([part for part in prompt if isinstance(part, Media)]) == 1
    item = next(item for item in small.items if item.regions)
    bare = parts(small, tmp_path, "prompt=minimal,shots=0,labels=real")
    assert bare == (", ".join(option.text for option in item.options) + "?", item.query[0])


def test_noise_patches_have_the_mean_size_of_their_source(small: ItemSet) -> None:
    marked = [item for item in small.items if item.regions]
    widths = [item.regions["box"][2] - item.regions["box"][0] for item in marked]
    (mean,) = {item.measures["mean_region_width"] for item in marked}
    assert mean == pytest.approx(sum(widths) / len(widths))


def test_queries_without_a_region_are_not_asked_enhanced(small: ItemSet, tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "shown", small.media)
    (enhanced,) = parse_conditions(SUITE.axes, "query=enhance,shots=0")
    item_ids = {name for call in first_calls(small, SUITE, enhanced, SOMEONE, media) for name in call.item_ids}
    assert item_ids == {item.item_id for item in small.items if item.split == "test" and item.regions}
    assert 0 < len(item_ids) < len(small.items)
