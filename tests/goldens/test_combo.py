"""ComBo's tasks, calls under several settings at once, and later calls of its methods equal the goldens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.item import Montage, Part
from snellen.core.response import Response
from snellen.suites import SUITES
from snellen.suites.combo.questions.categories import category_parts, classify_parts
from snellen.suites.combo.questions.perception import QUESTIONS, names, option_values
from snellen.suites.combo.scoring import chain_judgement
from tests.goldens.descriptions import assert_lines, task_lines
from tests.goldens.golden import assert_golden
from tests.goldens.house import calls_text
from tests.helpers.sets import small_set

SETTINGS = (
    "prompt=short,sheet=single", "prompt=minimal,sheet=single,layout=images-first", "prompt=minimal,samples=1",
    "samples=1,questions=one,prompt=short", "samples=1,questions=one,prompt=minimal,layout=images-first",
    "questions=one,pivot=on,sheet=single", "demos=in-context,samples=1", "demos=in-context,samples=1,questions=one",
    "method=cot,prompt=short,sheet=single", "method=perceive-then-classify,prompt=minimal,order=shuffled",
    "method=caption-then-classify,images=grey", "method=cot,images=none,layout=images-first", "pivot=on,images=none",
)  # fmt: skip


def words(parts: Sequence[Part]) -> list[Any]:
    """Texts, and of a montage its images, columns and labels."""
    layouts = [(len(p.images), p.columns, p.labels) if isinstance(p, Montage) else p for p in parts]
    return [part if isinstance(part, str | tuple) else "IMAGE" for part in layouts]


def test_calls_under_several_settings_are_as_they_were(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("combo", sets_folder)
    assert_golden("combo/calls.txt", calls_text(items, tmp_path, SETTINGS))


def test_tasks_and_later_calls_are_as_they_were(sets_folder: Path) -> None:
    items, rows = small_set("combo", sets_folder), list[Any]()
    for name, task in SUITES.get("combo").tasks.items():
        tested = [item for item in items.task(name) if item.split == "test"]
        rows += [*task_lines(task, tested[0]), [item.factors for item in tested[:3]]]
    item = items.task("category-building")[1]
    view = item.view()
    captioned = replace(view, support=tuple(replace(d, caption=f"caption {n}") for n, d in enumerate(view.support)))
    bare = replace(view, query=(), support=())
    for prompt in ("full", "short", "minimal"):
        rows.append(words(classify_parts(prompt)(captioned, "the last description")))
        for single in (True, False):
            rows += [words(category_parts(prompt, single, think=single)(each)) for each in (view, bare)]
    reply = Response("r-1", "own:x", "f", item.item_id, item.task, "vanilla", 0, "ok", "I think B.", "", view.reply, ())
    judged = chain_judgement(item, reply)
    rows += [replace(judged, query=(), support=()), [(d.answer, d.caption, len(d.media)) for d in judged.support]]
    for question, dimension in QUESTIONS.items():
        options = option_values(dimension, {"shape/primary": "cube", "shape/secondary": "cone"})
        rows.append((question, {option: names(dimension, option) for option in options}))
    assert_lines("combo/tasks.txt", rows)
