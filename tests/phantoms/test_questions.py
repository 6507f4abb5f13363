"""What phantoms learn, read off the pixels: the answer is what the image shows; and what a checkup asks of them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy import ndimage

from snellen.core.hashing import sha256
from snellen_phantoms import checkup, store, subject, weights
from snellen_phantoms.questions import (
    ABILITIES,
    CHECKUP_SEED,
    COLOURS,
    JITTER,
    NAMES,
    OWN,
    PLANTED,
    SHAPES,
    DrawnQuestion,
    paint,
    question_of,
)
from tests.goldens.golden import assert_golden
from tests.helpers.journey import says


def figures(example: DrawnQuestion) -> list[tuple[tuple[int, ...], float, int]]:
    """Colour, middle along x and area of each connected figure; nothing is drawn in the corner."""
    pixels = np.asarray(example.image, int)
    labels, count = ndimage.label((pixels != pixels[0, 0]).any(2), np.ones((3, 3)))
    places = [np.nonzero(labels == number + 1) for number in range(count)]
    return [(tuple(pixels[y[0], x[0]].tolist()), float(x.mean()), len(x)) for y, x in places]


def named(colour: tuple[int, ...]) -> str:
    return min(COLOURS, key=lambda name: math.dist(COLOURS[name], colour))


@pytest.mark.parametrize("number", range(6))
def test_the_answer_is_what_the_image_shows(number: int) -> None:
    dots, colour, side = (question_of(OWN[name], 5, number) for name in ("count", "colour", "side"))
    assert len(figures(dots)) == int(dots.answer)
    ((ink, _, _),) = figures(colour)
    assert colour.answer == named(ink) == colour.factors["colour"]
    assert max(abs(own - usual) for own, usual in zip(ink, COLOURS[colour.answer], strict=True)) <= JITTER
    x = {named(ink): x for ink, x, _ in figures(side)}
    first, second = (name for _, name in sorted((side.question.find(f" {name} "), name) for name in x))
    assert side.answer == ("left" if x[first] < x[second] else "right")


def test_shapes_have_their_areas() -> None:
    """Shares of the square around a circle of their reach: pi / 4, .8^2, 2 (.3) - .3^2, and (1 - .65^2) pi / 4."""
    shares = {"circle": 0.785, "square": 0.64, "triangle": 0.325, "star": 0.309, "cross": 0.51, "ring": 0.453}
    assert set(shares) == set(SHAPES)
    for shape, share in shares.items():
        image = Image.new("RGB", (220, 220), "white")
        paint(ImageDraw.Draw(image), shape, 110, 110, 100, (0, 0, 0))
        y, x = np.nonzero(np.asarray(image.convert("L")) == 0)
        assert len(x) / 200**2 == pytest.approx(share, rel=0.03)
        assert (x.mean(), y.min()) == pytest.approx((110, 30 if shape == "square" else 10), abs=1)


def test_a_checkup_asks_what_the_whole_one_has_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {name: 0.75 if name in ("colour", "side") else 0.749 for name in OWN}
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole/card.json").write_text(json.dumps({"scores": scores}))
    monkeypatch.setattr(checkup, "PACKED", tmp_path)
    assert checkup.learnt() == ["colour", "side"]
    rows: list[dict[str, Any]] = list(csv.DictReader(checkup.write_questions(tmp_path / "t", 2).open()))
    own = [question_of(OWN[name], CHECKUP_SEED, n) for name in ("colour", "side") for n in range(2)]
    assert [(row["question"], row["answer"]) for row in rows] == [(each.question, each.answer) for each in own]
    assert store.HELD_OUT == 200
    digests = {weights.packed_digest("whole", "whole", tmp_path)}
    for name, text in (("a", "x"), ("a", "y"), ("b", "y")):
        (tmp_path / "whole" / name).write_text(text)
        digests.add(weights.packed_digest("whole", "whole", tmp_path))
        (tmp_path / "whole" / name).unlink()
    assert len(digests) == 4, "by names and content"


def test_questions_pairs_and_tables_are_drawn_as_they_were(tmp_path: Path) -> None:
    lines = [str(NAMES), str(PLANTED)]
    for name, ability in ABILITIES.items():
        lines.append(f"== {name}: {' '.join(ability.answers)}")
        for number in range(3):
            example = question_of(ability, 5, number)
            pixels = sha256(example.image.convert("RGB").tobytes())[:10]
            lines.append(f"{ability.prompt(example)!r} {example.answer} {dict(example.factors)} {pixels}")
    pairs = store.draw_pairs(tmp_path / "pairs", 1, held_out=2)
    digests = [sha256(image.tobytes())[:10] for image in pairs.images]
    lines += [f"== {pairs.held_out} held out", *map(str, zip(pairs.pairs, digests, strict=True))]
    path = store.write_table(tmp_path / "table", 1, counts={"letter": 2, "count": 0})
    lines += [path.read_text("utf-8"), *sorted(each.name for each in (tmp_path / "table/images").iterdir())]
    assert_golden("phantom-questions.txt", "\n".join(lines) + "\n")


def test_a_phantom_trained_here_comes_before_the_packaged_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packaged twin is put together once."""
    calls: list[tuple[str, dict[str, str]]] = []
    unpacked: list[tuple[str, str]] = []

    def make_local(folder: str, settings: dict[str, str]) -> Any:
        calls.append((folder, settings))
        return says(f"chat:hf/{folder}?seed=3", "yes", attributes={"family": "fast_vlm"})

    def unpack(name: str, whole: str, folder: Path) -> None:
        unpacked.append((name, whole))
        folder.mkdir()

    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setattr(subject, "make_local", make_local)
    monkeypatch.setattr(subject, "unpack", unpack)
    cards = [subject.make_phantom(name, {"seed": "3"}).card for name in ("whole", "counts", "counts")]
    assert [card.name for card in cards] == [f"phantom:{name}?seed=3" for name in ("whole", "counts", "counts")]
    assert [dict(card.attributes) for card in cards[:2]] == [
        {"family": "fast_vlm", "phantom": name} for name in ("whole", "counts")
    ]
    digest = weights.packed_digest("counts", "whole")
    packaged = str(tmp_path / "phantoms/packaged" / f"counts-{digest}")
    assert calls == [(folder, {"seed": "3"}) for folder in (str(weights.PACKED / "whole"), packaged, packaged)]
    assert unpacked == [("counts", "whole")]
    (tmp_path / "phantoms/whole/model").mkdir(parents=True)
    assert subject.folder_of("whole") == weights.PACKED / "whole", "a training that has not come to its end"
    (tmp_path / "phantoms/whole/model/config.json").write_text("{}")
    assert subject.folder_of("whole") == tmp_path / "phantoms/whole/model"
