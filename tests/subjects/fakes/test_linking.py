"""Ideal observers that link images or know how two of them differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Item, Media, Montage, Option, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.core.suite import ViewContext
from snellen.presentation.controls import Grey, Shuffled, Without
from snellen.scoring.answers import read_answer
from snellen.subjects.fakes import make_fake
from snellen.subjects.fakes.ideal import known_same, partitions
from tests.helpers.journey import item

Appearance = Mapping[str, str]
NOWHERE = MediaFolder(Path("nowhere"))
RED_CUBE = {"colour/primary": "red", "shape/primary": "cube", "material/primary": "glass"}
BLUE_CUBE = {**RED_CUBE, "colour/primary": "blue"}
RED_BALL = {**RED_CUBE, "shape/primary": "ball"}
BLUE_BALL = {**BLUE_CUBE, "shape/primary": "ball"}

BY_HAND = {
    "AAA": {"count": "1", "same": "true", "group": "1+2+3"},
    "AAB": {"count": "2", "same": "false", "group": "1+2"},
    "ABA": {"count": "2", "same": "false", "group": "1+3"},
    "ABB": {"count": "2", "same": "false", "group": "2+3"},
    "ABC": {"count": "3", "same": "false", "group": "none"},
}
"""The answers of the five partitions of three images."""


def image(name: str) -> Media:
    """An image without a file: no observer opens images."""
    return Media(f"{name:0>64}", "image", "png", 8, 6)


def options(*keys: str) -> tuple[Option, ...]:
    return tuple(Option(key) for key in keys)


def linked(question: str, order: str, appearances: Sequence[Appearance], answer: Any = None, name: str = "") -> Item:
    """Three images in this `order` of appearances, A the first; `question` is a column of `BY_HAND`."""
    kind: Any = {"count": "integer", "same": "true_false", "group": "choice"}[question]
    offered = {"count": options("1", "2", "3"), "same": (), "group": options("1+2", "none", "2+3", "1+3")}[question]
    query = [image(f"{name}{index}") for index in range(len(order))]
    shows = {media.sha256: dict(appearances["ABC".index(letter)]) for media, letter in zip(query, order, strict=True)}
    answers = {order_name: answers_by_question[question] for order_name, answers_by_question in BY_HAND.items()}
    truth = answers[order] if answer is None else answer
    truth = int(truth) if kind == "integer" else truth
    latent = {"shows": shows, "partitions": answers}
    return item(f"{question}-{order}{name}", query, truth, kind, options=offered, latent=latent)


def replies(subject: Subject, view: View, times: int = 1) -> Counter[Any]:
    """The answers read from the replies to one view, over several random streams."""
    prompt = Prompt(("?",), (view,))
    assert subject.declines(prompt) is None
    with asyncio.Runner() as runner:
        texts = (runner.run(subject.answer(prompt, NOWHERE, stream("linking", n))).text for n in range(times))
        return Counter(read_answer(text, view.reply) for text in texts)


def draws(subject: Subject, view: View, times: int = 300) -> bool:
    """True if every option is given equally often within five deviations, which never holds for a certain answer."""
    keys = [int(key) if view.reply.kind == "integer" else key for key in view.reply.offered]
    count, share = replies(subject, view, times), 1 / len(keys)
    room = 5 * (times * share * (1 - share)) ** 0.5
    return set(count) == set(keys) and all(abs(n - times * share) < room for n in count.values())


def says(subject: Subject, view: View, answer: Any) -> bool:
    """True if the answer is given every time."""
    return replies(subject, view, 40) == {answer: 40}


# Which images show the same thing


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("question", ["count", "same", "group"])
def test_the_oracle_knows_every_partition(question: str, order: str) -> None:
    linked_item = linked(question, order, [RED_CUBE, BLUE_CUBE, RED_BALL])
    oracle = make_fake("oracle", {}, [linked_item])
    if linked_item.answer == "1+2+3":  # an answer that is not offered cannot be given
        assert draws(oracle, linked_item.view())
    else:
        assert says(oracle, linked_item.view(), linked_item.answer)


@pytest.mark.parametrize("question", ["count", "same", "group"])
def test_blind_to_the_one_dimension_that_differs(question: str) -> None:
    """AAB with B of another colour: without colour all three look the same, so nothing is known."""
    linked_item = linked(question, "AAB", [RED_CUBE, BLUE_CUBE])
    assert draws(make_fake("blind-to=colour", {}, [linked_item]), linked_item.view())
    assert draws(make_fake("blind-to=colour/primary+shape", {}, [linked_item]), linked_item.view())


def test_blind_to_another_dimension() -> None:
    """AAB by colour, without shape: B is another object (AAB or ABC remain), but 1 and 2 may be two objects."""
    appearances = [RED_CUBE, BLUE_CUBE]
    same, count, group = (linked(question, "AAB", appearances) for question in ("same", "count", "group"))
    blind = make_fake("blind-to=shape", {}, [same])
    assert says(blind, same.view(), "false"), "one different image is enough"
    assert draws(make_fake("blind-to=shape", {}, [count]), count.view()), "two or three"
    assert draws(make_fake("blind-to=shape", {}, [group]), group.view()), "1 and 2, or none"


def test_the_blind_are_never_sure_of_sameness_but_of_difference() -> None:
    alike = linked("same", "AAA", [RED_CUBE])
    assert draws(make_fake("blind-to=shape", {}, [alike]), alike.view())
    different = linked("count", "ABC", [RED_CUBE, BLUE_CUBE, {**RED_CUBE, "colour/primary": "green"}])
    assert says(make_fake("blind-to=shape", {}, [different]), different.view(), 3)
    nothing = linked("same", "AAA", [{"colour/primary": "red"}])
    other = linked("same", "AAB", [RED_CUBE, BLUE_CUBE], name="f")
    blind = make_fake("blind-to=shape", {}, [nothing, other])
    assert says(blind, nothing.view(), "true"), "these appearances have no shape to miss"


def test_one_stored_image_shown_twice_is_the_same_to_every_observer() -> None:
    linked_item = linked("group", "AAB", [RED_CUBE, BLUE_CUBE])
    linked_item = replace(linked_item, query=(linked_item.query[0], linked_item.query[0], linked_item.query[2]))
    assert says(make_fake("blind-to=shape", {}, [linked_item]), linked_item.view(), "1+2")


def test_known_same_by_hand() -> None:
    cube, ball, blue, again = (image(name) for name in ("a", "b", "c", "d"))
    shows = {media.sha256: appearance for media, appearance in ((cube, RED_CUBE), (ball, RED_BALL), (blue, BLUE_CUBE))}
    shows[again.sha256] = dict(RED_CUBE)
    nothing_missed, shape_missed = frozenset[str](), frozenset({"shape"})
    assert known_same(cube, again, shows, nothing_missed) is True
    assert known_same(cube, ball, shows, nothing_missed) is False
    assert known_same(cube, again, shows, shape_missed) is None
    assert known_same(cube, ball, shows, shape_missed) is None
    assert known_same(cube, blue, shows, shape_missed) is False
    assert known_same(cube, cube, shows, shape_missed) is True


def test_partitions_by_hand() -> None:
    def unknown(first: int, second: int) -> None:
        return None

    assert list(partitions(3, unknown)) == ["AAA", "AAB", "ABA", "ABB", "ABC"]
    assert [sum(1 for _ in partitions(n, unknown)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203], "Bell's numbers"
    assert list(partitions(3, lambda first, second: False if second == 2 else None)) == ["AAB", "ABC"]


def test_an_observer_that_misses_the_third_image_knows_what_the_others_determine() -> None:
    """The first two differ in ABB and ABC, so not all are the same; AAA, AAB and the count stay unknown.

    The first two also differ in ABA. Pairs depend on more than the first two: 2+3 and 1+3 cannot be distinguished.
    """
    appearances = [RED_CUBE, BLUE_BALL, BLUE_CUBE]
    for order, is_known in {"AAA": False, "AAB": False, "ABA": True, "ABB": True, "ABC": True}.items():
        item = linked("same", order, appearances)
        subject = make_fake("misses-image=3", {}, [item])
        assert says(subject, item.view(), item.answer) if is_known else draws(subject, item.view())
        assert says(make_fake("misses-image=4", {}, [item]), item.view(), item.answer)
    for question in ("count", "group"):
        item = linked(question, "ABA", appearances)
        assert draws(make_fake("misses-image=3", {}, [item]), item.view())


def by_appearance(labels: Sequence[int]) -> str:
    names: dict[int, str] = {}
    return "".join(names.setdefault(label, "ABCD"[len(names)]) for label in labels)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.sampled_from(["count", "order"]), st.integers(0, 99))
def test_an_observer_that_misses_nothing_is_always_right(labels: list[int], question: str, mark: int) -> None:
    """Random partitions of up to four images: the number of things, and the whole partition as an option key."""
    appearances = [RED_CUBE, BLUE_CUBE, RED_BALL, BLUE_BALL]
    query = [image(f"{mark}{index}") for index in range(len(labels))]
    shows = {media.sha256: appearances[label] for media, label in zip(query, labels, strict=True)}
    orders = list(partitions(len(labels), lambda first, second: None))
    answers = {order: str(len(set(order))) if question == "count" else order for order in orders}
    truth, latent = answers[by_appearance(labels)], {"shows": shows, "partitions": answers}
    offered, kind = options(*dict.fromkeys(answers.values())), "integer" if question == "count" else "choice"
    answer: Any = int(truth) if kind == "integer" else truth
    random_item = item("random", query, answer, kind, options=offered, latent=latent)  # type: ignore[arg-type]
    elsewhere = linked("same", "ABC", [{"size": "small"}] * 3, name="e")
    assert replies(make_fake("oracle", {}, [random_item]), random_item.view()) == {answer: 1}
    assert replies(make_fake("blind-to=size", {}, [random_item, elsewhere]), random_item.view()) == {answer: 1}


# Changed images


def test_answers_about_shuffled_images_describe_the_shown_images() -> None:
    first = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    second = linked("count", "ABC", [RED_CUBE, BLUE_CUBE, RED_BALL], name="f")
    context = ViewContext(None, [first, second])  # type: ignore[arg-type]
    view = Shuffled(context.by_stimulus, context.pool)(first.view(), NOWHERE, stream("shuffled"))
    assert {media.sha256 for media in view.query} == {media.sha256 for media in second.query}
    assert says(make_fake("oracle", {}, [first, second]), view, 3)


def test_a_changed_image_is_known_by_its_origin() -> None:
    linked_item = linked("group", "ABA", [RED_CUBE, BLUE_CUBE])
    zoom = Affine(a=2.0, e=2.0)
    enlarged = [
        replace(media, sha256=f"{n}{'f' * 63}", origin=media.sha256, from_stored=zoom)
        for n, media in enumerate(linked_item.query)
    ]
    assert says(make_fake("oracle", {}, [linked_item]), replace(linked_item.view(), query=tuple(enlarged)), "1+3")
    strange = [replace(media, origin="") for media in enlarged]
    assert draws(make_fake("oracle", {}, [linked_item]), replace(linked_item.view(), query=tuple(strange)))


def test_images_laid_out_as_one_are_still_the_images() -> None:
    """A montage is a part of the prompt; the view keeps its images."""
    linked_item = linked("same", "AAB", [RED_CUBE, BLUE_CUBE])
    prompt = Prompt((Montage(linked_item.query, 3), "?"), (linked_item.view(),))
    reply = asyncio.run(make_fake("oracle", {}, [linked_item]).answer(prompt, NOWHERE, stream("montage")))
    assert read_answer(reply.text, linked_item.view().reply) == "false"


@pytest.mark.parametrize("control", [Without(), Grey()])
def test_without_images_nothing_is_known(tmp_path: Path, control: Any) -> None:
    for linked_item in (linked("count", "AAB", [RED_CUBE, BLUE_CUBE]), changed("material")):
        view = control(linked_item.view(), MediaFolder(tmp_path), stream("control"))
        assert draws(make_fake("oracle", {}, [linked_item]), view)


def test_more_or_fewer_images_than_the_item_has_reveal_nothing() -> None:
    linked_item = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    oracle = make_fake("oracle", {}, [linked_item])
    assert draws(oracle, replace(linked_item.view(), query=linked_item.query[:2]))
    assert draws(oracle, replace(linked_item.view(), query=(*linked_item.query, linked_item.query[0])))


def test_a_partition_that_the_item_leaves_out_does_not_occur() -> None:
    linked_item = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    answers = dict(linked_item.latent["partitions"])
    del answers["AAB"]
    only_other = replace(linked_item, latent={**linked_item.latent, "partitions": answers})
    assert draws(make_fake("oracle", {}, [only_other]), only_other.view()), "the case itself has no answer"
    blind = make_fake("blind-to=shape", {}, [only_other])
    assert says(blind, only_other.view(), 3), "of AAB and ABC one remains"


# Worlds


def changed(dimension: str) -> Item:
    """Two images and the true statement that this dimension changed, which might be false in another world."""
    query = [image("1a"), image("2a")]
    unchanged = {"colour/first": "red", "colour/second": "red", "material/second": "glass"}
    truth = {**unchanged, f"{dimension}/second": "other"}
    worlds = [{"look": truth, "answer": "true"}, {"look": unchanged, "answer": "false"}]
    return item(f"changed-{dimension}", query, "true", "true_false", latent={"worlds": worlds})


@pytest.mark.parametrize(
    ("blind", "expected_certain"), [("colour", False), ("colour/second", False), ("material", True)]
)
def test_a_changed_attribute(blind: str, expected_certain: bool) -> None:
    linked_item = changed("colour")
    assert says(make_fake("oracle", {}, [linked_item]), linked_item.view(), "true")
    observer = make_fake(f"blind-to={blind}", {}, [linked_item])
    assert says(observer, linked_item.view(), "true") if expected_certain else draws(observer, linked_item.view())


def test_something_added_or_removed() -> None:
    """A cup was added. Blind to `presence`, this looks like no change or a removal; colour does not help."""
    query = [image("1b"), image("2b")]
    before, after = {"presence/first": "no", "colour/room": "grey"}, {"presence/second": "yes"}
    worlds = [
        {"look": {**before, **after}, "answer": "true"},
        {"look": {**before, "presence/first": "yes", "presence/second": "no"}, "answer": "false"},
        {"look": {**before, "presence/second": "no"}, "answer": "false"},
    ]
    linked_item = item("added", query, "true", "true_false", latent={"worlds": worlds})
    assert says(make_fake("oracle", {}, [linked_item]), linked_item.view(), "true")
    assert says(make_fake("blind-to=colour", {}, [linked_item]), linked_item.view(), "true")
    assert draws(make_fake("blind-to=presence", {}, [linked_item]), linked_item.view())
    half = make_fake("blind-to=presence/first", {}, [linked_item])
    assert says(half, linked_item.view(), "true"), "seeing the second is enough: the cup is present in one world only"


def test_worlds_that_cannot_be_distinguished_but_agree_give_an_answer() -> None:
    linked_item = changed("colour")
    worlds = [{**world, "answer": "false"} for world in linked_item.latent["worlds"]]
    linked_item = replace(linked_item, answer="false", latent={"worlds": worlds})
    assert says(make_fake("blind-to=colour", {}, [linked_item]), linked_item.view(), "false")


def test_worlds_apply_only_to_these_images_in_this_order() -> None:
    linked_item = changed("colour")
    oracle, (first, second) = make_fake("oracle", {}, [linked_item]), linked_item.query
    for query in ((second, first), (first,), (first, first), (first, second, second), (first, image("3"))):
        assert draws(oracle, replace(linked_item.view(), query=query))
    cropped = tuple(replace(media, sha256=media.sha256[::-1], origin=media.sha256) for media in linked_item.query)
    assert says(oracle, replace(linked_item.view(), query=cropped), "true")


def test_dimensions_of_worlds_are_known() -> None:
    for name in ("material", "material/second", "colour/first"):
        make_fake(f"blind-to={name}", {}, [changed("colour")])
    with pytest.raises(SnellenError, match="no item here has 'matter'; did you mean 'material'"):
        make_fake("blind-to=matter", {}, [changed("colour")])


# Counts that are offered


def test_counts_are_guessed_among_the_offered_ones_and_read_as_integers() -> None:
    linked_item = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    view = linked_item.view()
    assert view.reply.keys == (("1", "1"), ("2", "2"), ("3", "3"))
    assert view.reply.write(3) == "3"
    assert draws(make_fake("chance", {}, [linked_item]), view)
    assert says(make_fake("first-option", {}, [linked_item]), view, 1)
    assert all(isinstance(count, int) for count in replies(make_fake("chance", {}, [linked_item]), view, 20))
