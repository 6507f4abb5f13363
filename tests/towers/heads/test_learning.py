"""A head on a real tower learns the content of images; without training it does not."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy.stats import binomtest

from snellen.core.item import Option, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.presentation.presenters import plain
from snellen.subjects.registry import make_subject
from snellen.towers.heads.stages import STAGES
from tests.helpers.extras import lazy_module, need
from tests.helpers.journey import item

need("peft", "heads")
features = lazy_module("snellen.towers.heads.features")
fitting = lazy_module("snellen.towers.heads.fitting")


COLOURS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (40, 60, 200), "yellow": (220, 200, 50)}
OPTIONS = tuple(Option(name, name) for name in COLOURS)


def draw_scene(rng: np.random.Generator, colour: str) -> Image.Image:
    """A disc or a bar of the colour at a random position, on a ground of a random muted colour, in random light."""
    image = Image.new("RGB", (192, 144), tuple(int(c) for c in rng.integers(90, 170, 3)))
    light = rng.uniform(0.7, 1.15)
    x, y, r = int(rng.integers(50, 142)), int(rng.integers(45, 100)), int(rng.integers(22, 42))
    fill = tuple(min(255, int(light * c)) for c in COLOURS[colour])
    draw = ImageDraw.Draw(image)
    shape = (x - r, y - r, x + r, y + r)
    draw.ellipse(shape, fill) if rng.random() < 0.5 else draw.rectangle(shape, fill)
    return image


def colour_views(media: MediaFolder, split: str, count: int) -> list[tuple[View, str]]:
    """Questions about the colour of a thing, with their answers, drawn at random."""
    rng = stream("heads learn", split)
    rows = []
    for n in range(count):
        colour = list(COLOURS)[int(rng.integers(len(COLOURS)))]
        image = media.add_image(draw_scene(rng, colour))
        rows.append(
            (item(f"{split} {n}", [image], colour, "choice", options=OPTIONS, question="Colour?").view(), colour)
        )
    return rows


def hits(folder: Path, rows: Sequence[tuple[View, str]], media: MediaFolder) -> int:
    """The number of questions that the head answers correctly."""
    subject = make_subject(f"head:{folder}?max_new_tokens=4&batch=16")

    async def ask() -> list[str]:
        prompts = [Prompt(plain(view), (view,)) for view, _ in rows]
        return [
            reply.text for reply in await asyncio.gather(*(subject.answer(p, media, stream("ask")) for p in prompts))
        ]

    return sum(text == colour for text, (_, colour) in zip(asyncio.run(ask()), rows, strict=True))


DINOV2 = os.environ.get("DINOV2", "")
NEEDS_DINOV2 = pytest.mark.skipif(not DINOV2, reason="needs a real ViT: make slow DINOV2=FOLDER (fetch_dinov2.py)")


@pytest.mark.slow
@pytest.mark.parametrize("tower", ["efficientnet-lite0", pytest.param(f"hf/{DINOV2}", marks=NEEDS_DINOV2, id="dinov2")])
def test_a_head_on_a_real_tower_beats_the_blind_baseline(
    tower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four colours and one question: the blind baseline is the share of the most frequent answer."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    media = MediaFolder(tmp_path / "media")
    train_rows, test_rows = colour_views(media, "train", 200), colour_views(media, "test", 100)
    examples = [
        TrainingExample(view, colour, Prompt(plain(view), (view,)), view.reply.write(colour))
        for view, colour in train_rows
    ]
    conversations = [fitting.conversation_of(example) for example in examples]
    stage = replace(STAGES["fit"], scope="language-model", rate=2e-3, epochs=8)
    untrained = replace(stage, rate=0.0, epochs=1)
    language = "random-qwen2?layers=4&width=64"
    for name, settings in (("trained", stage), ("untrained", untrained)):
        plan = fitting.HeadPlan(tower, language, settings, task="task")
        fitting.train_head(plan, conversations, tmp_path / name, features.opener(media))
    blind = max(Counter(colour for _, colour in test_rows).values()) / len(test_rows)
    trained, random = (hits(tmp_path / name, test_rows, media) for name in ("trained", "untrained"))
    print(f"trained {trained}, untrained {random} of {len(test_rows)}; blind baseline {blind:.2f}")
    assert binomtest(trained, len(test_rows)).proportion_ci(method="wilson").low > blind
    assert binomtest(random, len(test_rows)).proportion_ci(method="wilson").low <= blind
