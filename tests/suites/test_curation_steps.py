"""The prompts of questions asked while sets are curated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from snellen.core.condition import Condition
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.suites.curation_steps import SUITE
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden


def test_prompts_and_forms_of_reply_equal_their_golden() -> None:
    image, nowhere = Media("ab" * 32, "image", "png", 8, 6), MediaFolder(Path())
    options = tuple(Option(key, f"text of {key}") for key in ("keep", "drop"))
    condition, lines = Condition(()), []
    for name, task in SUITE.tasks.items():
        has_options = task.kind == "choice"
        item = Item(
            item_id="i", suite="curation-steps", task=name, question="What?", query=(image,), answer_kind=task.kind,
            answer="keep" if has_options else 1, options=options if has_options else (), stimulus_id="s", group_id="g",
            cluster_id="c", support=(Demo((image,), "keep", 0),) if has_options else (),
        )  # fmt: skip
        view = item.view()
        for transform in task.transforms(item, ViewContext(condition, (item,))):
            view = transform(view, nowhere, np.random.default_rng(0))
        (prompt,) = next(task.method(condition).run((view,)))
        lines.append(line([name, prompt.parts, view.reply]))
    assert_golden("suites/curation-steps.txt", "\n".join(lines) + "\n")
