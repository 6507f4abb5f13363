"""The encoder subject: the readout of a view, answers, declined questions, and its card."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.subject import Subject, TrainingExample
from snellen.subjects.encoders import EncoderSubject, make_encoder
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.encoders.plain import ColourHistogram
from tests.subjects.encoders.scenes import BLUE, GREEN, RED, Album, ask, declined, draw, subject, teach

COLOURS = {"red": RED, "green": GREEN, "blue": BLUE}
OPTIONS = tuple(Option(key, f"the {key} one") for key in COLOURS)
SHAPES = ("disc", "square", "triangle")


@pytest.fixture
def album(tmp_path: Path) -> Album:
    return Album(tmp_path)


def support(album: Album, shapes: Sequence[str] = SHAPES) -> list[Demo]:
    return [
        Demo((album.add(shape, colour),), key, shot)
        for shot, shape in enumerate(shapes)
        for key, colour in COLOURS.items()
    ]


def train_examples(album: Album, question: str = "Which colour?") -> list[TrainingExample]:
    return [
        TrainingExample(album.view([album.add(shape, colour, center=(70, 55))], OPTIONS, question=question), key)
        for shape in SHAPES
        for key, colour in COLOURS.items()
    ]


@pytest.mark.parametrize("readout", ["auto", "prototype", "knn"])
def test_support_is_answered_by_the_nearest_examples(album: Album, readout: str) -> None:
    encoder = subject("colour-histogram", readout=readout, k="3")
    for key, colour in COLOURS.items():
        view = album.view([album.add("bar", colour)], OPTIONS, support(album))
        assert encoder.readout_kind(view) == "support"
        reply = ask(encoder, album, view)
        assert reply.text == f"the {key} one"
        assert len(reply.numbers) == 3
        assert int(np.argmax(reply.numbers)) == list(COLOURS).index(key)


def test_support_without_options_gives_the_answer_of_a_demo(album: Album) -> None:
    view = album.view([album.add("bar", BLUE)], (), support(album), kind="text")
    assert ask(subject("colour-histogram"), album, view).text == "blue"


def test_an_option_without_examples_is_never_chosen(album: Album) -> None:
    view = album.view([album.add("bar", RED)], (Option("new", "new"), *OPTIONS), support(album))
    reply = ask(subject("colour-histogram"), album, view)
    assert (reply.text, reply.numbers[0]) == ("the red one", -1.0)


@pytest.mark.parametrize("readout", ["auto", "probe", "prototype", "knn"])
def test_training_examples_teach_their_question(album: Album, readout: str) -> None:
    fitted = teach(subject("colour-histogram", readout=readout), album, train_examples(album))
    views = [album.view([album.add("bar", colour)], OPTIONS[::-1]) for colour in COLOURS.values()]
    rows = json.loads(ask(fitted, album, *views).text)
    assert [row["q1"] for row in rows] == ["the red one", "the green one", "the blue one"]
    other = album.view([album.add("bar", RED)], OPTIONS, question="Which shade?")
    assert declined(fitted, other) == "no training examples of this question, and this encoder has no text side"


def test_probe_numbers_are_probabilities_in_the_order_of_the_options(album: Album) -> None:
    fitted = teach(subject("colour-histogram"), album, train_examples(album))
    view = album.view([album.add("bar", GREEN)], OPTIONS[::-1])
    numbers = ask(fitted, album, view).numbers
    assert sum(numbers) == pytest.approx(1.0)
    assert int(np.argmax(numbers)) == 1


def test_a_sheet_of_several_questions_is_answered(album: Album) -> None:
    shapes = tuple(Option(shape, shape) for shape in SHAPES)
    images = {(s, k): album.add(s, c) for s in SHAPES for k, c in COLOURS.items()}
    examples = [TrainingExample(album.view([p], OPTIONS), key) for (_, key), p in images.items()]
    examples += [
        TrainingExample(album.view([p], shapes, question="Which shape?"), shape) for (shape, _), p in images.items()
    ]
    fitted = teach(subject("hog", readout="prototype"), album, examples)
    stimuli = [("disc", "red"), ("triangle", "blue")]
    views = []
    for stimulus in stimuli:
        views.append(album.view([images[stimulus]], OPTIONS, stimulus="-".join(stimulus)))
        views.append(album.view([images[stimulus]], shapes, question="Which shape?", stimulus="-".join(stimulus)))
    reply = ask(fitted, album, *views)
    assert [row["q2"] for row in json.loads(reply.text)] == ["disc", "triangle"]
    assert len(reply.numbers) == 12


def pair(album: Album, shape: str, colours: tuple[str, str], question: str = "Same colour?") -> Any:
    media = [album.add(shape, COLOURS[colours[0]]), album.add("bar", COLOURS[colours[1]])]
    return album.view(media, kind="true_false", question=question)


def test_pairs_are_compared_by_a_threshold(album: Album) -> None:
    pairs = [("disc", ("red", "red")), ("square", ("green", "green")), ("disc", ("red", "blue"))]
    pairs.append(("square", ("blue", "green")))
    same_examples = [TrainingExample(pair(album, s, c), "true" if c[0] == c[1] else "false") for s, c in pairs]
    different_examples = [TrainingExample(pair(album, s, c, "Different?"), c[0] != c[1]) for s, c in pairs]
    fitted = teach(subject("colour-histogram"), album, same_examples + different_examples)
    alike, unlike = ("triangle", ("blue", "blue")), ("triangle", ("red", "green"))
    for question, answers in (("Same colour?", "TF"), ("Different?", "FT"), ("Never taught?", None)):
        views = [pair(album, *alike, question), pair(album, *unlike, question)]
        assert [fitted.readout_kind(view) for view in views] == ["threshold"] * 2
        replies = [ask(fitted, album, view) for view in views]
        assert all(-1.0 <= reply.numbers[0] <= 1.0001 and len(reply.numbers) == 1 for reply in replies)
        assert answers is None or "".join(reply.text for reply in replies) == answers
    assert declined(subject("colour-histogram"), pair(album, *alike)) is not None


@dataclass(frozen=True)
class Words:
    """A text side that knows three colours: a word's vector is the histogram of a disc of that colour."""

    template: str = "a {} thing"

    def features(self, texts: Sequence[str]) -> Floats:
        words = [next((key for key in COLOURS if key in text), None) for text in texts]
        return ColourHistogram().features([draw("disc", COLOURS[key] if key else (150, 150, 150)) for key in words])


@dataclass(frozen=True)
class Reading(ColourHistogram):
    """A colour histogram with a text side."""

    text: ClassVar[TextSide | None] = Words()


def reader(**settings: str) -> EncoderSubject:
    return replace(subject("colour-histogram", **settings), encoder=Reading())


def test_an_image_is_matched_with_texts(album: Album) -> None:
    view = album.view([album.add("bar", BLUE)], OPTIONS)
    assert reader().readout_kind(view) == "text"
    assert ask(reader(), album, view).text == "the blue one"
    fitted = teach(reader(), album, train_examples(album))
    assert fitted.readout_kind(view) == "training examples"
    assert teach(reader(readout="text"), album, train_examples(album)).readout_kind(view) == "text"


def test_the_question_is_matched_with_images_to_choose_from(album: Album) -> None:
    options = [
        Option(key, letter, (album.add("bar", COLOURS[key]),)) for key, letter in zip(COLOURS, "ABC", strict=True)
    ]
    view = album.view([], options, question="Which image is green?")
    assert reader().readout_kind(view) == "image options"
    assert ask(reader(), album, view).text == "B"
    assert declined(subject("hog"), view) == "this encoder has no text side"


def test_colours_are_answered_by_regression(album: Album) -> None:
    """From twelve examples of other greens, regression on a histogram predicts a new green; outlines cannot."""

    def view(green: int) -> View:
        return album.view([album.add("square", (40, green, 60))], kind="colour", question="What colour?")

    examples = [TrainingExample(view(green), (40, green, 60)) for green in range(60, 240, 15)]
    new = view(130)
    assert declined(subject("colour-histogram"), new) == "no training examples of this question to fit colours with"
    encoder = teach(subject("colour-histogram"), album, examples)
    assert encoder.readout_kind(new) == "regression"
    reply = ask(encoder, album, new)
    red, green, blue = json.loads(reply.text)
    assert abs(red - 40) + abs(green - 130) + abs(blue - 60) <= 25
    assert reply.numbers == pytest.approx((red, green, blue), abs=0.5)
    assert declined(encoder, album.view(new.query, kind="colour", question="Which one?")) is not None
    assert declined(teach(subject("hog", readout="knn"), album, examples), new) is not None
    bright = [TrainingExample(view(240), (255, 255, 255)), TrainingExample(view(60), (0, 0, 0))]
    assert max(json.loads(ask(teach(subject("colour-histogram"), album, bright), album, view(255)).text)) <= 255


def test_questions_that_an_encoder_cannot_answer_are_declined(album: Album) -> None:
    encoder, image = reader(), album.add("disc", RED)
    blank = album.view([], OPTIONS)
    good = album.view([image], OPTIONS)
    assert declined(encoder, blank) == "no image to look at"
    assert declined(encoder, good, blank) == "no image to look at"
    assert declined(encoder, album.view([], OPTIONS, support(album))) == "no image to look at"
    reason = "this readout cannot answer with boxes, numbers or words"
    assert declined(subject("conse"), album.view([image], kind="integer")) == reason
    by_place = declined(subject("hog"), album.view([image], kind="integer"))
    assert by_place == f"{reason}; encoder:hog?readout=attentive can"
    assert declined(encoder, album.view([image], kind="true_false", question="Red?")) is not None
    video = Media("0" * 64, "video", "mp4", 16, 16, 1.0)
    assert declined(encoder, album.view([video], OPTIONS)) == "cannot be shown a video"
    assert encoder.declines(Prompt(("Hello.",), ())) is not None
    fitted = teach(subject("colour-histogram"), album, train_examples(album))
    odd = replace(good, reply=ReplySpec("choice", (("x", "x"), ("y", "y"))))
    assert declined(fitted, odd) == "no training example of this question has one of the offered options as its answer"


def test_card_and_fingerprint(album: Album) -> None:
    plain = subject("colour-histogram")
    assert plain.card.name == "encoder:colour-histogram"
    assert plain.card.max_concurrency == 1
    assert plain.card.attributes["supervision"] == "none"
    others = [subject("hog"), subject("colour-histogram", readout="knn"), subject("colour-histogram", C="3")]
    fitted = [teach(plain, album, examples) for examples in (train_examples(album), train_examples(album)[1:])]
    prints = [encoder.card.fingerprint() for encoder in (plain, *others, *fitted)]
    assert len(set(prints)) == len(prints)
    assert subject("colour-histogram", batch="1").card.fingerprint() == plain.card.fingerprint()
    assert {encoder.card.name for encoder in fitted} == {plain.card.name}
    assert others[1].card.name == "encoder:colour-histogram?readout=knn"


def test_fitting_leaves_the_original_unchanged_and_can_be_pickled(album: Album) -> None:
    unfitted: Subject = subject("colour-histogram")
    fitted = teach(subject("colour-histogram"), album, train_examples(album))
    assert isinstance(unfitted, EncoderSubject)
    assert unfitted.fitted == {}
    view = album.view([album.add("bar", GREEN)], OPTIONS)
    assert ask(pickle.loads(pickle.dumps(fitted)), album, view) == ask(fitted, album, view)
    assert teach(unfitted, album, []) is unfitted
    blank = TrainingExample(album.view([], OPTIONS), "red")
    assert declined(teach(unfitted, album, [blank]), view) is not None


def test_prepared_images_are_only_looked_up(album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = teach(subject("colour-histogram"), album, train_examples(album))
    view = album.view([album.add("bar", (9, 200, 90))], OPTIONS)
    encoder.prepare(view.media(), album.folder)
    monkeypatch.setattr(ColourHistogram, "features", None)
    assert ask(encoder, album, view).text == "the green one"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("efficientnet-lite1", {}, "no encoder 'efficientnet-lite1'; did you mean 'efficientnet-lite"),
        ("hog", {"readuot": "knn"}, "encoder:hog has no setting 'readuot'; did you mean 'readout'?"),
        ("hog", {"layer": "3"}, "encoder:hog has no setting 'layer'"),
        ("hog", {"supervision": "labels"}, "encoder:hog has no setting 'supervision'"),
        ("hog", {"readout": "forest"}, "no readout 'forest'; available: auto, prototype, knn, probe, text"),
        ("hog", {"k": "none"}, "k must be a number above 0, not 'none'"),
        ("hog", {"C": "-1"}, "C must be a number above 0, not '-1'"),
    ],
)
def test_an_error_about_a_wrong_word_names_the_nearest_valid_one(
    name: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(SnellenError) as raised:
        make_encoder(name, settings, ())
    assert message in str(raised.value)
