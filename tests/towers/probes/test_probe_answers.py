"""From answers to the targets of a probe, and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.item import Affine, Demo, Media, Option, ReplySpec, View
from snellen.core.seeds import stream
from snellen.core.subject import TrainingExample
from snellen.towers.probes.answers import Answers, Unanswerable, fit_answers, form_of

IMAGE = Media("a" * 64, "image", "png", 40, 20)
RNG = stream("test", 0)


def view(kind: Any, options: tuple[str, ...] = (), **fields: Any) -> View:
    spec = ReplySpec(kind, tuple((f"{n}. {name}", name) for n, name in enumerate(options, 1)))
    view_fields: dict[str, Any] = {
        "query": (IMAGE,),
        "reply": spec,
        "options": tuple(Option(name, name) for name in options),
        **fields,
    }
    return View("1", "1", "task", "?", **view_fields)


def fitted(example_view: View, *answers: Any) -> Answers:
    return fit_answers(form_of(example_view), [TrainingExample(example_view, answer) for answer in answers])


@pytest.mark.parametrize(
    ("question_view", "form"),
    [
        (view("choice", ("red", "blue")), "class"),
        (view("true_false", reply=ReplySpec("true_false", (("T", "true"), ("F", "false")))), "class"),
        (view("choice", ("2-3", "3-4")), "number"), (view("integer"), "number"),
        (view("integer", ("1", "2")), "number"), (view("number"), "number"), (view("box"), "box"),
        (view("colour"), "colour"), (view("text"), "text"), (view("choice", ("1+2", "none")), "class"),
    ],
)  # fmt: skip
def test_the_form_follows_from_the_question(question_view: View, form: str) -> None:
    assert form_of(question_view) == form


VIDEO = Media("b" * 64, "video", "mp4", 40, 20, 1.0)


@pytest.mark.parametrize(
    ("question_view", "reason"),
    [
        (view("choice", ("red",), query=()), "no image"),
        (view("choice", ("red",), query=(VIDEO,)), "video"),
        (replace(view("choice", ("red",)), options=(Option("red", "", (IMAGE,)),)), "not among images"),
        (view("choice", ("red",), support=(Demo((IMAGE,), "red", 0),)), "not from examples in the prompt"),
        (view("box", query=(IMAGE, IMAGE)), "asks for a box of 2 images"),
        (view("description"), "kind description"),
        (view("choice"), "kind choice"),
    ],
)
def test_a_question_without_form_has_a_reason(question_view: View, reason: str) -> None:
    with pytest.raises(Unanswerable, match=reason):
        form_of(question_view)


def test_only_offered_options_share_the_probability() -> None:
    three = view("choice", ("red", "blue", "green"))
    classes = fitted(three, "red", "blue", "red", "green")
    assert classes.size == 3
    two = view("choice", ("red", "pink", "blue"))
    # In alphabetical order: blue, green, red. Green is not offered; red has e^1 / (e^1 + e^0) = 0.731, pink is unknown.
    text, numbers = classes.answer(two, np.array([0.0, 9.0, 1.0]), RNG)
    assert text == "1. red"
    assert numbers == pytest.approx([math.e / (math.e + 1), 0.0, 1 / (math.e + 1)])
    assert classes.refusal(two) is None
    assert "no training example" in str(classes.refusal(view("choice", ("pink", "grey"))))
    spec = ReplySpec("true_false", (("T", "true"), ("F", "false")))
    assert fitted(view("true_false", reply=spec), True, "false").answer(
        view("true_false", reply=spec), np.array([0.0, 1.0]), RNG
    )[0] == "T"  # fmt: skip


def test_counts_are_learned_on_a_logarithmic_scale() -> None:
    count_view = view("integer")
    numbers = fitted(count_view, 1, 3, 7)
    # log(1 + x) is log 2, log 4, log 8: mean log 4, deviation log 2 * sqrt(2/3).
    scale = math.log(2) * math.sqrt(2 / 3)
    assert [float(numbers.target(TrainingExample(count_view, count))[0]) for count in (1, 3, 7)] == pytest.approx(
        [-math.log(2) / scale, 0.0, math.log(2) / scale]
    )
    text, values = numbers.answer(count_view, np.array([0.0]), RNG)
    assert (text, *values) == ("3", pytest.approx(3.0))
    assert numbers.answer(count_view, np.array([99.0]), RNG)[0] == "7", "no count beyond those of training"
    assert numbers.answer(count_view, np.array([-99.0]), RNG)[0] == "1"
    # Halfway between 3 and 7 on that scale is sqrt(4 * 8) - 1 = 4.66: the nearer of 4 and 6 is 4.
    half = np.array([math.log(2) / scale / 2])
    assert numbers.answer(view("integer", ("4", "6")), half, RNG)[0] == "1. 4"


def test_the_nearest_of_offered_numbers_is_that_by_ratio() -> None:
    """log(1 + 2.2) is 1.163: .447 from log(5), .470 from log(2), though 2.2 itself is nearer to 1."""
    offered = view("integer", ("1", "4"))
    targets = fitted(offered, "1", "4")
    mean, half = math.log(10) / 2, math.log(2.5) / 2
    text, (number,) = targets.answer(offered, np.array([(math.log(3.2) - mean) / half]), RNG)
    assert text == offered.reply.write("4")
    assert number == pytest.approx(2.2)


def test_ranges_are_learned_as_their_middles() -> None:
    bins = view("choice", ("2-3", "3-4", "4-5"))
    numbers = fitted(bins, "2-3", "4-5")
    low, high = (float(numbers.target(TrainingExample(bins, key))[0]) for key in ("2-3", "4-5"))
    assert (low, high) == pytest.approx((-1.0, 1.0))
    # 2.5 and 4.5: the mean of log 3.5 and log 5.5 is log 4.387, and 3.39 is in 3-4.
    text, values = numbers.answer(bins, np.array([0.0]), RNG)
    assert (text, *values) == ("2. 3-4", pytest.approx(math.sqrt(3.5 * 5.5) - 1))


def test_negative_numbers_are_learned_unchanged() -> None:
    degrees = view("number")
    numbers = fitted(degrees, -10.0, 30.0)
    assert numbers.answer(degrees, np.array([0.0]), RNG)[0] == "10.0"


def test_a_box_is_learned_in_shares_of_the_shown_image_and_answered_in_the_frame_of_the_item() -> None:
    # The stored image of 40 x 20 is shown in a square of 40, ten pixels lower; answers are shares of the square.
    padded = Media("c" * 64, "image", "png", 40, 40, from_stored=Affine(1, 0, 0, 0, 1, 10), origin="a" * 64)
    box_view = view("box", query=(padded,), reply=ReplySpec("box", frame=Affine(1 / 40, 0, 0, 0, 1 / 40, 0.25)))
    boxes = fitted(box_view, (10, 0, 30, 20))
    # In the square it is (10, 10, 30, 30): centre (20, 20) and size (20, 20) of 40.
    target = boxes.target(TrainingExample(box_view, (10, 0, 30, 20)))
    assert target.tolist() == [0.5, 0.5, 0.5, 0.5]
    text, corners = boxes.answer(box_view, target, RNG)
    assert json.loads(text) == [0.25, 0.25, 0.75, 0.75]
    assert corners == [0.25, 0.25, 0.75, 0.75]
    assert boxes.answer(box_view, np.array([0.0, 0.5, 0.5, 0.5]), RNG)[1][0] == 0.0, "no box beyond the image"


def test_a_colour_is_clipped_to_valid_values() -> None:
    colour_view = view("colour")
    colours = fitted(colour_view, (0, 51, 255))
    assert colours.target(TrainingExample(colour_view, (0, 51, 255))).tolist() == [0.0, 0.2, 1.0]
    assert colours.answer(colour_view, np.array([-0.1, 0.2, 1.1]), RNG) == ("[0, 51, 255]", [-25.5, 51.0, 280.5])


def test_repeated_letters_are_one_and_letters_with_a_gap_are_two() -> None:
    text_view = view("text")
    letters = fitted(text_view, "AB", "BOO")
    assert letters.size == 4  # none, A, B, O
    assert letters.target(TrainingExample(text_view, "BOO")).tolist() == [2, 3, 3]
    frames = np.eye(4)[[0, 2, 2, 3, 0, 3, 3, 0]]  # -BBO-OO-
    assert letters.answer(text_view, frames, RNG) == ("BOO", [])
    assert letters.answer(text_view, np.eye(4)[[0, 0]], RNG)[0] == ""


@pytest.mark.parametrize(
    ("question_view", "answer"),
    [
        (view("integer"), 4),
        (view("box"), [3.0, 4.0, 13.0, 14.0]),
        (view("colour"), (1, 2, 3)),
        (view("choice", ("3-4", "5-6")), "5-6"),
    ],
)
def test_a_perfect_probe_answers_with_the_truth(question_view: View, answer: Any, tmp_path: Path) -> None:
    answers = fitted(question_view, answer)
    reply, _ = answers.answer(question_view, answers.target(TrainingExample(question_view, answer)), RNG)
    assert (
        json.loads(reply) == pytest.approx(json.loads(question_view.reply.write(answer)))
        if "[" in reply
        else (reply == question_view.reply.write(answer))
    )
