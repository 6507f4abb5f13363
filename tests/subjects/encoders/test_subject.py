"""The subject: which readout a view gets, what it answers, what it declines, and its card."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    who = subject("colour-histogram", readout=readout, k="3")
    for key, colour in COLOURS.items():
        view = album.view([album.add("bar", colour)], OPTIONS, support(album))
        assert who.readout_kind(view) == "support"
        reply = ask(who, album, view)
        assert reply.text == f"the {key} one"
        assert len(reply.numbers) == 3
        assert int(np.argmax(reply.numbers)) == list(COLOURS).index(key)


def test_support_without_options_gives_the_answer_of_a_demo(album: Album) -> None:
    view = album.view([album.add("bar", BLUE)], (), support(album), kind="text")
    assert ask(subject("colour-histogram"), album, view).text == "blue"


def test_an_option_that_was_never_shown_is_never_chosen(album: Album) -> None:
    view = album.view([album.add("bar", RED)], (Option("new", "new"), *OPTIONS), support(album))
    reply = ask(subject("colour-histogram"), album, view)
    assert (reply.text, reply.numbers[0]) == ("the red one", -1.0)


@pytest.mark.parametrize("readout", ["auto", "probe", "prototype", "knn"])
def test_lessons_teach_their_question(album: Album, readout: str) -> None:
    taught = teach(subject("colour-histogram", readout=readout), album, train_examples(album))
    views = [album.view([album.add("bar", colour)], OPTIONS[::-1]) for colour in COLOURS.values()]
    rows = json.loads(ask(taught, album, *views).text)
    assert [row["q1"] for row in rows] == ["the red one", "the green one", "the blue one"]
    other = album.view([album.add("bar", RED)], OPTIONS, question="Which shade?")
    assert declined(taught, other) == "no training examples of this question, and this encoder has no text side"


def test_probe_numbers_are_probabilities_in_the_order_offered(album: Album) -> None:
    taught = teach(subject("colour-histogram"), album, train_examples(album))
    view = album.view([album.add("bar", GREEN)], OPTIONS[::-1])
    numbers = ask(taught, album, view).numbers
    assert sum(numbers) == pytest.approx(1.0)
    assert int(np.argmax(numbers)) == 1


def test_a_sheet_of_several_questions(album: Album) -> None:
    shapes = tuple(Option(shape, shape) for shape in SHAPES)
    images = {(s, k): album.add(s, c) for s in SHAPES for k, c in COLOURS.items()}
    both = [TrainingExample(album.view([p], OPTIONS), key) for (_, key), p in images.items()]
    both += [
        TrainingExample(album.view([p], shapes, question="Which shape?"), shape) for (shape, _), p in images.items()
    ]
    taught = teach(subject("hog", readout="prototype"), album, both)
    asked = [("disc", "red"), ("triangle", "blue")]
    views = []
    for place in asked:
        views.append(album.view([images[place]], OPTIONS, stimulus="-".join(place)))
        views.append(album.view([images[place]], shapes, question="Which shape?", stimulus="-".join(place)))
    reply = ask(taught, album, *views)
    assert [row["q2"] for row in json.loads(reply.text)] == ["disc", "triangle"]
    assert len(reply.numbers) == 12


def pair(album: Album, shape: str, colours: tuple[str, str], question: str = "Same colour?") -> Any:
    media = [album.add(shape, COLOURS[colours[0]]), album.add("bar", COLOURS[colours[1]])]
    return album.view(media, kind="true_false", question=question)


def test_pairs_are_told_apart_by_a_threshold(album: Album) -> None:
    taught_pairs = [("disc", ("red", "red")), ("square", ("green", "green")), ("disc", ("red", "blue"))]
    taught_pairs.append(("square", ("blue", "green")))
    same = [TrainingExample(pair(album, s, c), "true" if c[0] == c[1] else "false") for s, c in taught_pairs]
    apart = [TrainingExample(pair(album, s, c, "Different?"), c[0] != c[1]) for s, c in taught_pairs]
    taught = teach(subject("colour-histogram"), album, same + apart)
    alike, unlike = ("triangle", ("blue", "blue")), ("triangle", ("red", "green"))
    for question, answers in (("Same colour?", "TF"), ("Different?", "FT"), ("Never taught?", None)):
        views = [pair(album, *alike, question), pair(album, *unlike, question)]
        assert [taught.readout_kind(view) for view in views] == ["threshold"] * 2
        replies = [ask(taught, album, view) for view in views]
        assert all(-1.0 <= reply.numbers[0] <= 1.0001 and len(reply.numbers) == 1 for reply in replies)
        assert answers is None or "".join(reply.text for reply in replies) == answers
    assert declined(subject("colour-histogram"), pair(album, *alike)) is not None


@dataclass(frozen=True)
class Words:
    """Knows the three colours: a word's vector is the histogram of a disc of that colour."""

    template: str = "a {} thing"

    def features(self, texts: Sequence[str]) -> Floats:
        words = [next((key for key in COLOURS if key in text), None) for text in texts]
        return ColourHistogram().features([draw("disc", COLOURS[key] if key else (150, 150, 150)) for key in words])


@dataclass(frozen=True)
class Reading(ColourHistogram):
    """A colour histogram with a text side."""

    @property
    def text(self) -> TextSide | None:
        return Words()


def reader(**settings: str) -> EncoderSubject:
    return replace(subject("colour-histogram", **settings), encoder=Reading())


def test_an_image_is_matched_with_texts(album: Album) -> None:
    view = album.view([album.add("bar", BLUE)], OPTIONS)
    assert reader().readout_kind(view) == "text"
    assert ask(reader(), album, view).text == "the blue one"
    taught = teach(reader(), album, train_examples(album))
    assert taught.readout_kind(view) == "training examples"
    assert teach(reader(readout="text"), album, train_examples(album)).readout_kind(view) == "text"


def test_the_question_is_matched_with_images_to_choose_from(album: Album) -> None:
    options = [
        Option(key, letter, (album.add("bar", COLOURS[key]),)) for key, letter in zip(COLOURS, "ABC", strict=True)
    ]
    view = album.view([], options, question="Which image is green?")
    assert reader().readout_kind(view) == "image options"
    assert ask(reader(), album, view).text == "B"
    assert declined(subject("hog"), view) == "this encoder has no text side"


def test_colours_are_told_by_regression(album: Album) -> None:
    """Of twelve lessons in other greens a histogram learns how green a new one is; outlines never do."""

    def view(green: int) -> View:
        return album.view([album.add("square", (40, green, 60))], kind="colour", question="What colour?")

    told = [TrainingExample(view(green), (40, green, 60)) for green in range(60, 240, 15)]
    new = view(130)
    assert declined(subject("colour-histogram"), new) == "no training examples of this question to fit colours with"
    who = teach(subject("colour-histogram"), album, told)
    assert who.readout_kind(new) == "regression"
    reply = ask(who, album, new)
    red, green, blue = json.loads(reply.text)
    assert abs(red - 40) + abs(green - 130) + abs(blue - 60) <= 25
    assert reply.numbers == pytest.approx((red, green, blue), abs=0.5)
    assert declined(who, album.view(new.query, kind="colour", question="Which one?")) is not None
    assert declined(teach(subject("hog", readout="knn"), album, told), new) is not None
    bright = [TrainingExample(view(240), (255, 255, 255)), TrainingExample(view(60), (0, 0, 0))]
    assert max(json.loads(ask(teach(subject("colour-histogram"), album, bright), album, view(255)).text)) <= 255


def test_what_cannot_be_answered_is_declined(album: Album) -> None:
    who, image = reader(), album.add("disc", RED)
    blank = album.view([], OPTIONS)
    good = album.view([image], OPTIONS)
    assert declined(who, blank) == "no image to look at"
    assert declined(who, good, blank) == "no image to look at"
    assert declined(who, album.view([], OPTIONS, support(album))) == "no image to look at"
    assert declined(who, album.view([image], kind="integer")) == (
        "the question expects integer, but an encoder can only choose among options"
    )
    assert declined(who, album.view([image], kind="true_false", question="Red?")) is not None
    video = Media("0" * 64, "video", "mp4", 16, 16, 1.0)
    assert declined(who, album.view([video], OPTIONS)) == "cannot be shown a video"
    assert who.declines(Prompt(("Hello.",), ())) is not None
    taught = teach(subject("colour-histogram"), album, train_examples(album))
    odd = replace(good, reply=ReplySpec("choice", (("x", "x"), ("y", "y"))))
    assert declined(taught, odd) == "no training example of this question has one of the offered options as its answer"


def test_card_and_fingerprint(album: Album) -> None:
    plain = subject("colour-histogram")
    assert plain.card.name == "encoder:colour-histogram"
    assert plain.card.max_concurrency == 1
    assert plain.card.attributes["supervision"] == "none"
    others = [subject("hog"), subject("colour-histogram", readout="knn"), subject("colour-histogram", C="3")]
    taught = [teach(plain, album, some) for some in (train_examples(album), train_examples(album)[1:])]
    prints = [who.card.fingerprint() for who in (plain, *others, *taught)]
    assert len(set(prints)) == len(prints)
    assert subject("colour-histogram", batch="1").card.fingerprint() == plain.card.fingerprint()
    assert {who.card.name for who in taught} == {plain.card.name}
    assert others[1].card.name == "encoder:colour-histogram?readout=knn"


def test_learning_leaves_the_untaught_as_it_was_and_can_be_pickled(album: Album) -> None:
    untaught: Subject = subject("colour-histogram")
    taught = teach(subject("colour-histogram"), album, train_examples(album))
    assert isinstance(untaught, EncoderSubject)
    assert untaught.fitted == {}
    view = album.view([album.add("bar", GREEN)], OPTIONS)
    assert ask(pickle.loads(pickle.dumps(taught)), album, view) == ask(taught, album, view)
    assert teach(untaught, album, []) is untaught
    blank = TrainingExample(album.view([], OPTIONS), "red")
    assert declined(teach(untaught, album, [blank]), view) is not None


def test_prepared_images_are_only_looked_up(album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    who = teach(subject("colour-histogram"), album, train_examples(album))
    view = album.view([album.add("bar", (9, 200, 90))], OPTIONS)
    who.prepare(view.media(), album.folder)
    monkeypatch.setattr(ColourHistogram, "features", None)
    assert ask(who, album, view).text == "the green one"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("efficientnet-lite1", {}, "no encoder 'efficientnet-lite1'; did you mean 'efficientnet-lite"),
        ("hog", {"readuot": "knn"}, "encoder:hog has no setting 'readuot'; did you mean 'readout'?"),
        ("hog", {"layer": "3"}, "encoder:hog has no setting 'layer'"),
        ("hog", {"supervision": "labels"}, "encoder:hog has no setting 'supervision'"),
        ("hog", {"readout": "forest"}, "no readout 'forest'; there are: auto, prototype, knn, probe, text"),
        ("hog", {"k": "none"}, "k must be a number above 0, not 'none'"),
        ("hog", {"C": "-1"}, "C must be a number above 0, not '-1'"),
    ],
)
def test_wrong_words_are_answered_with_the_nearest_right_one(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(SnellenError) as raised:
        make_encoder(name, settings, ())
    assert message in str(raised.value)
