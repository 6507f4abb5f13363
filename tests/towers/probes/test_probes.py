"""Attentive probes on small hand-made encoders with known patches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image, ImageDraw

from snellen.core.errors import SnellenError
from snellen.core.item import Mark, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject, SubjectCard, TrainingExample
from snellen.scoring.metrics import giou
from snellen.subjects.encoders.encoder import Floats
from snellen.subjects.encoders.plain import Hog
from snellen.subjects.registry import make_subject
from snellen.towers.probes.inputs import Inputs, ProbeSettings, box_coverage, fit_inputs, positions
from snellen.towers.probes.patches import PatchCache
from snellen.towers.probes.subject import AttentiveProbe
from tests.contracts.subject_battery import check_subject
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden
from tests.helpers.extras import need

need("torch", "models")
need("safetensors", "models")

SIDE, GRID = 48, 6
SMALL = ProbeSettings(components=8, width=16, queries=2, steps=60, batch=16, rate=0.01)
DOTS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 50, 220)}


@dataclass(frozen=True)
class Cells(Hog):
    """Patches are the mean colours of cells, which contain the position of everything."""

    name: ClassVar[str] = "cells"

    @property
    def patch_settings(self) -> dict[str, Any]:
        return {"encoder": self.name}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        small = [image.convert("RGB").resize((GRID, GRID), Image.Resampling.BOX) for image in images]
        return np.stack([np.asarray(cells, dtype=np.float32) / np.float32(255) for cells in small])


@dataclass(frozen=True)
class Constant(Cells):
    """Sees nothing: all patches of all images are the same."""

    name: ClassVar[str] = "constant"

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        return np.full((len(images), GRID, GRID, 3), 0.5, np.float32)


class Tray:
    """Images with dots on them, and views of them."""

    def __init__(self, root: Path) -> None:
        self.folder, self.rng = MediaFolder(root), stream("tray", 0)

    def image(self, dots: Sequence[tuple[str, int, int]], radius: int = 4) -> Media:
        canvas = Image.new("RGB", (SIDE, SIDE), (150, 150, 150))
        for colour, x, y in dots:
            ImageDraw.Draw(canvas).ellipse((x - radius, y - radius, x + radius, y + radius), DOTS[colour])
        return self.folder.add_image(canvas)

    def random_point(self) -> tuple[int, int]:
        x, y = self.rng.integers(6, SIDE - 6, 2)
        return int(x), int(y)

    def view(
        self, query: Sequence[Media], question: str, kind: Any, options: Iterable[str] = (), **fields: Any
    ) -> View:
        spec = ReplySpec(kind, tuple((name, name) for name in options))
        item_id = str(self.rng.integers(1 << 40))
        option_objects = tuple(Option(name, name) for name in options)
        return View(item_id, item_id, "task", question, tuple(query), spec, option_objects, **fields)

    def located(self, count: int, question: str = "Where is the {}?") -> list[TrainingExample]:
        """Examples that ask for the dot of one colour; each image also has a dot of another colour."""
        examples = []
        for n in range(count):
            colour, other = list(DOTS)[n % 3], list(DOTS)[(n + 1) % 3]
            (x, y), (u, v) = self.random_point(), self.random_point()
            image = self.image([(other, u, v), (colour, x, y)])
            view = self.view([image], question.format(colour), "box")
            examples.append(TrainingExample(view, (x - 4.0, y - 4.0, x + 5.0, y + 5.0)))
        return examples

    def counted(self, count: int) -> list[TrainingExample]:
        examples = []
        for n in range(count):
            dots = [
                ("red", 4 + 8 * (int(cell) % 6), 4 + 8 * (int(cell) // 6))
                for cell in self.rng.permutation(36)[: 1 + n % 9]
            ]
            examples.append(TrainingExample(self.view([self.image(dots, 3)], "How many?", "integer"), 1 + n % 9))
        return examples


@pytest.fixture
def tray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tray:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    return Tray(tmp_path / "media")


def probe(encoder: Cells, **changes: Any) -> AttentiveProbe:
    settings = replace(SMALL, **changes)
    card = SubjectCard(f"encoder:{encoder.name}?readout=attentive", {"settings": repr(settings)}, reads="views")
    return AttentiveProbe(PatchCache(encoder), card, settings)


def fitted(subject: Subject, tray: Tray, examples: Sequence[TrainingExample]) -> AttentiveProbe:
    trained = asyncio.run(subject.fit(examples, tray.folder))
    assert isinstance(trained, AttentiveProbe)
    return trained


def reply_text(subject: Subject, tray: Tray, view: View) -> str:
    prompt = Prompt((), (view,))
    assert subject.declines(prompt) is None
    return asyncio.run(subject.answer(prompt, tray.folder, stream("test", 0))).text


def overlap(subject: Subject, tray: Tray, examples: Sequence[TrainingExample]) -> float:
    return float(np.mean([giou(tuple(e.answer), json.loads(reply_text(subject, tray, e.view))) for e in examples]))


def blind_overlap(train: Sequence[TrainingExample], test: Sequence[TrainingExample]) -> float:
    """The overlap of the best constant box: the mean one or the whole image."""
    mean = tuple(np.mean([e.answer for e in train], axis=0).tolist())
    boxes = (mean, (0.0, 0.0, SIDE, SIDE))
    return max(float(np.mean([giou(tuple(e.answer), box) for e in test])) for box in boxes)


def test_a_probe_finds_the_dot_that_the_question_names(tray: Tray) -> None:
    train, test = tray.located(48), tray.located(15)
    seeing = overlap(fitted(probe(Cells()), tray, train), tray, test)
    blind = blind_overlap(train, test)
    assert seeing > 0.3 > blind + 0.1
    assert overlap(fitted(probe(Constant()), tray, train), tray, test) < blind + 0.1
    assert overlap(fitted(probe(Cells(), steps=0), tray, train), tray, test) < blind + 0.1, "untrained"


def test_a_probe_counts(tray: Tray) -> None:
    train, test = tray.counted(72), tray.counted(18)

    def missed(subject: AttentiveProbe) -> float:
        trained = fitted(subject, tray, train)
        return float(np.mean([abs(int(reply_text(trained, tray, e.view)) - e.answer) / e.answer for e in test]))

    # With 1 to 9 equally often, the best constant answer for |c - n| / n is 3: 0.59.
    blind = min(np.mean([abs(c - e.answer) / e.answer for e in test]) for c in range(1, 10))
    assert missed(probe(Cells())) < 0.3 < blind
    assert missed(probe(Constant())) > blind - 0.05
    assert missed(probe(Cells(), steps=0)) > blind - 0.1


def test_the_same_examples_give_the_same_probe_bit_by_bit(tray: Tray) -> None:
    train, test = tray.located(12), tray.located(3)
    first, again = (fitted(probe(Cells(), steps=10), tray, train) for _ in range(2))
    assert first.card.fingerprint() == again.card.fingerprint()
    for weight, other_weight in zip(
        first.probes["box"].network.state_dict().values(),
        again.probes["box"].network.state_dict().values(),
        strict=True,
    ):
        assert weight.numpy().tobytes() == other_weight.numpy().tobytes()
    assert [reply_text(first, tray, e.view) for e in test] == [reply_text(again, tray, e.view) for e in test]
    fewer_examples = fitted(probe(Cells(), steps=10), tray, train[1:])
    assert fewer_examples.card.fingerprint() != first.card.fingerprint()


def test_training_does_not_advance_global_random_generators(tray: Tray) -> None:
    import torch

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    fitted(probe(Cells(), steps=2), tray, tray.located(4))
    assert torch.equal(torch.random.get_rng_state(), before)


def marked_examples(tray: Tray, count: int, marks: bool) -> list[TrainingExample]:
    """Examples that ask for the colour of the dot in the box; of three dots, and the box is not in the pixels."""
    examples = []
    for n in range(count):
        cells = [int(cell) for cell in tray.rng.permutation(9)[:3]]
        dots = [(name, 8 + 16 * (cell % 3), 8 + 16 * (cell // 3)) for name, cell in zip(DOTS, cells, strict=True)]
        colour, x, y = dots[n % 3]
        mark = (Mark("red", (x - 6.0, y - 6.0, x + 6.0, y + 6.0)),) if marks else ()
        view = tray.view([tray.image(dots)], "Which colour?", "choice", tuple(DOTS), marks=mark)
        examples.append(TrainingExample(view, colour))
    return examples


@pytest.mark.parametrize("marks", [True, False])
def test_marks_identify_the_thing_that_is_meant(tray: Tray, marks: bool) -> None:
    train, test = marked_examples(tray, 45, marks), marked_examples(tray, 24, marks)
    trained = fitted(probe(Cells()), tray, train)
    share = np.mean([reply_text(trained, tray, e.view) == e.answer for e in test])
    assert share > 0.8 if marks else share < 0.7  # without marks a third is right by chance


@pytest.mark.slow
def test_words_are_read_from_left_to_right(tray: Tray) -> None:
    letters = {"r": "red", "g": "green", "b": "blue"}

    def examples(count: int) -> list[TrainingExample]:
        words = ["".join("rgb"[int(k)] for k in tray.rng.integers(3, size=3)) for _ in range(count)]
        rows = [[(letters[letter], 8 + 16 * n, 24) for n, letter in enumerate(word)] for word in words]
        return [
            TrainingExample(tray.view([tray.image(row)], "?", "text"), w) for row, w in zip(rows, words, strict=True)
        ]

    train, test = examples(40), examples(12)
    trained = fitted(probe(Cells(), steps=150), tray, train)
    assert np.mean([reply_text(trained, tray, e.view) == e.answer for e in test]) > 0.8


@pytest.mark.slow
def test_two_images_are_distinguished(tray: Tray) -> None:
    def examples(count: int) -> list[TrainingExample]:
        pairs = []
        for n in range(count):
            first, second = list(DOTS)[n % 3], list(DOTS)[(n + 1 + n // 3 % 2) % 3]
            images = [tray.image([(colour, *tray.random_point())]) for colour in (first, second)]
            pairs.append(TrainingExample(tray.view(images, "Which colour has the second?", "choice", DOTS), second))
        return pairs

    train, test = examples(36), examples(12)
    trained = fitted(probe(Cells()), tray, train)
    assert (
        np.mean([reply_text(trained, tray, e.view) == e.answer for e in test]) > 0.8
    )  # from the first image alone, a half
    three = replace(test[0].view, query=(*test[0].view.query, test[0].view.query[0]))
    assert "no training example has 3 images" in str(trained.declines(Prompt((), (three,))))


def test_a_question_that_a_probe_cannot_answer_has_a_reason(tray: Tray) -> None:
    train = tray.located(6)
    untrained, trained = probe(Cells()), fitted(probe(Cells(), steps=1), tray, train)
    view = train[0].view

    def reason(subject: Subject, *views: View) -> str:
        return str(subject.declines(Prompt((), views)))

    assert reason(untrained, view) == "no training examples to fit a probe on"
    assert reason(trained) == "nothing to look at"
    assert reason(trained, replace(view, question="Where is the violet?")).endswith("has the word 'violet'")
    assert reason(trained, replace(view, query=())) == "no image to look at"
    assert reason(trained, view, replace(view, query=())) == "no image to look at"
    assert reason(trained, replace(view, reply=ReplySpec("integer"))) == "no training examples to fit a probe on"
    assert asyncio.run(untrained.fit((), tray.folder)) is untrained


def test_a_probe_passes_the_subject_battery(tray: Tray) -> None:
    train = tray.located(6)
    replies = check_subject(
        lambda: probe(Cells(), steps=2),
        [train[0].view],
        tray.folder,
        examples=train,
        change=lambda: probe(Cells(), steps=3),
    )
    assert len(replies[0].numbers) == 4


def test_shares_of_patches_in_a_box() -> None:
    # The box from 0.25 to 0.75 in x and 0 to 0.5 in y, on 2 rows of 4: the middle half of the upper row.
    assert box_coverage((0.25, 0.0, 0.75, 0.5), 2, 4).tolist() == [[0, 1, 1, 0], [0, 0, 0, 0]]
    # From 0.125, half of the first patch is in it.
    assert box_coverage((0.125, 0.0, 0.25, 1.0), 1, 4).tolist() == [[0.5, 0, 0, 0]]


def test_a_sample_of_a_view_equals_its_golden() -> None:
    """Two images of 2 x 3 patches, of three features, with a known and an unknown box and a word that is repeated."""
    ramp = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    grids: dict[str, Floats] = {"a" * 64: ramp, "b" * 64: np.asarray(ramp[::-1] ** 2 / 10, np.float32)}
    components = np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]], np.float32)
    inputs = Inputs(
        np.array([1.0, 2.0, 3.0], np.float32), np.array([2.0, 4.0, 0.5], np.float32), components,
        ("is", "red", "the"), ("blue", "red"), 2,
    )  # fmt: skip
    images = tuple(Media(name, "image", "png", 12, 8) for name in grids)
    marks = Mark("red", (2.0, 1.0, 7.0, 6.0)), Mark("green", (0.0, 0.0, 3.0, 3.0))
    view = View("i", "s", "task", "The red is THE red", images, ReplySpec("integer"), marks=marks)
    sample = inputs.sample(view, lambda image: grids[image.sha256])
    parts = sample.tokens, sample.words, sample.coverage, sample.boxes, positions(2, 3)
    assert {part.dtype for part in parts} == {np.dtype("float32")}
    assert_golden("towers/probe-sample.txt", "\n".join(line(part.tolist()) for part in parts) + "\n")
    assert inputs.refusal(view) is None
    assert inputs.refusal(replace(view, question="Is it red?")) == "no training example's question has the word 'it'"
    assert inputs.refusal(replace(view, query=(*images, images[0]))) == "no training example has 3 images"


def test_components_have_unit_deviation(tray: Tray) -> None:
    views = [e.view for e in tray.located(10)]
    encoder = Cells()
    grids = {p.sha256: encoder.patches([tray.folder.open(p)])[0] for v in views for p in v.query}
    inputs = fit_inputs(views, lambda image: grids[image.sha256], 2)
    rows = np.concatenate([inputs.reduced(grid).reshape(-1, 2) for grid in grids.values()])
    assert np.allclose(rows.mean(0), 0, atol=1e-3)
    assert np.allclose(np.cov(rows.T, ddof=0), np.eye(2), atol=1e-2)
    assert inputs.vocabulary == ("blue", "green", "is", "red", "the", "where")


def test_a_probe_is_specified_as_a_readout(tray: Tray) -> None:
    train = tray.located(6)
    spec = "encoder:colour-histogram?readout=attentive"
    subject = make_subject(spec)
    assert subject.card.name == spec
    assert subject.card.settings["probe"] == asdict(ProbeSettings())
    others = {
        make_subject(f"encoder:{name}").card.fingerprint() for name in ("colour-histogram", "hog?readout=attentive")
    }
    assert subject.card.fingerprint() not in others
    assert isinstance(subject, AttentiveProbe)
    trained = fitted(replace(subject, settings=replace(subject.settings, steps=1)), tray, train)
    assert len(json.loads(reply_text(trained, tray, train[0].view))) == 4
    for wrong, reason in {
        "conse?readout=attentive": "features only of whole images, not by place",
        "hog?readout=atentive": "'attentive'",
    }.items():
        with pytest.raises(SnellenError, match=reason):
            make_subject(f"encoder:{wrong}")
