"""AVA-Bench's items, tasks, views and scores equal the goldens, for all abilities and several subjects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from snellen.core.condition import parse_conditions
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import SubjectCard
from snellen.core.suite import ViewContext, settle
from snellen.runs.scores.score import score_one
from snellen.suites import SUITES
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.counting_by_colour import counting_by_colour_item
from snellen.suites.ava_bench.abilities.nearer_localization import nearer_localization_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.prompts import target
from snellen.suites.ava_bench.tasks import AXES
from tests.goldens.descriptions import assert_lines, short, task_lines
from tests.suites.ava_bench.fixtures import HEIGHT, WIDTH, item_source, one_of_each
from tests.suites.ava_bench.test_scoring import replied

SUITE = SUITES.get("ava-bench")
CONDITIONS: tuple[str, ...] = (
    "vanilla",
    "look=box",
    "boxes=drawn",
    "boxes=none,format=paper",
    "boxes=depths,look=image",
)
CONDITIONS += ("marks=queries,look=image,boxes=drawn", "order=shuffled,prompt=short", "images=grey,prompt=minimal")
CONDITIONS += ("box_unit=pixels", "box_unit=thousandths-y-first,look=box,format=with-format", "images=none")
REPLIES: tuple[str, ...] = (
    "7",
    "The answer is 14.",
    "B",
    "2. blue",
    "C. 5-6",
    "4.5",
    "[0.05, 0.35, 0.25, 0.55]",
    "[232, 20, 10]",
)
REPLIES += ("[0.5, 0.6, 0.6, 0.7]", "The sign says STOP.", "ST", "Left above", "1", "2. sad", "I do not know.", "")
PAIR = ((10.0, 20.0, 50.0, 60.0), (100.0, 70.0, 120.0, 90.0))


def every_item(handle: str = "7", *, image: Media, known: bool, **fields: Any) -> dict[str, Item]:
    """One item of every atomic and composite task."""
    source = item_source(handle, image=image, known=known, **fields)
    return {
        **one_of_each(handle, image=image, known=known, **fields),
        "counting-by-colour": counting_by_colour_item(source, "red", "cups", 3, 9),
        "nearer-localization": nearer_localization_item(source, ("van", "car"), PAIR, (9.0, 7.5), "indoor"),
    }


def noise(media: MediaFolder) -> Media:
    pixels = np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    return media.add_image(Image.fromarray(pixels))


def test_items_and_tasks_are_as_they_were(tmp_path: Path) -> None:
    image, rows = noise(MediaFolder(tmp_path)), list[Any]()
    for known, fields in ((True, {"split": "train"}), (False, {"domain": "Bird"})):
        items = every_item(image=image, known=known, **fields)
        rows += [replace(item, query=()) for item in items.values()]
    others = [counting_item(item_source("8"), "cups", 21), ocr_item(item_source("8"), PAIR[0], "EXIT TO THE PARKING")]
    others += every_item("9", image=image, known=False).values()
    items = {item.task: item for item in reversed(with_chance([*items.values(), *others]))}
    for name, task in SUITE.tasks.items():
        ability, item = ability_named(name), items[name]
        about = ability.requires, ability.meaning, ability.subgroups, ability.balanced_by, ability.option_labels
        rows += [*task_lines(task, item), (*about, ability.released and ability.released.folder, item.measures)]
        if (first := ability.first_part_alone) is not None:
            metrics = [metric for protocol in task.protocols.values() for metric in protocol.metrics]
            rows.append((first.description, [first.score(item, metric) for metric in metrics]))
    assert_lines("ava-bench/items.txt", [*rows, list(ABILITIES)])


def test_views_of_every_task_are_as_they_were(tmp_path: Path) -> None:
    """Sizes and pixels of images, the digest of all words and of how replies are read, and the right reply."""
    media, rows = MediaFolder(tmp_path), list[Any]()
    image = noise(media)
    for name in ("chat:x", "encoder:x", "head:x"):
        card, items = SubjectCard(name, **kind_by_name(name)), every_item(image=image, known=name == "chat:x")
        for text in CONDITIONS if name != "head:x" else CONDITIONS[:2]:
            point = settle(parse_conditions(AXES, text)[0], SUITE, card)
            rows.append((f"== {name} {text}", dict(point.columns())))
            for task, item in items.items():
                if not SUITE.tasks[task].asks(item, point):
                    rows.append(f"{task}: not asked")
                    continue
                view = item.view()
                for transform in SUITE.tasks[task].transforms(item, ViewContext(point, [item])):
                    view = transform(view, media, np.random.default_rng(0))
                pixels = [np.asarray(media.open(image).convert("RGB")) for image in view.query]
                images = [(part.shape[1::-1], sha256(part.tobytes())[:8]) for part in pixels]
                digest = short(view.question, view.options, view.marks, view.reply)
                rows.append((f"{task}:", images, digest, target(view.reply, item.answer)))
    assert_lines("ava-bench/views.txt", rows)


def test_scores_of_replies_are_as_they_were(tmp_path: Path) -> None:
    rows = []
    for task, item in every_item(image=noise(MediaFolder(tmp_path)), known=False).items():
        for protocol in SUITE.tasks[task].protocols.values():
            read = {text: score_one(item, replied(item, text), protocol) for text in REPLIES}
            rows += [(task, protocol.name, [text], scores) for text, scores in read.items()]
    assert_lines("ava-bench/scores.txt", rows)
