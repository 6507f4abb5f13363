"""Ideal observers that link images, or know in which way two of them differ."""

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
from snellen.subjects.fakes.linking import known_same, partitions
from tests.helpers.journey import item

Look = Mapping[str, str]
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
"""What the five partitions of three images answer."""


def image(name: str) -> Media:
    """No observer opens an image, so that its bytes may be missing."""
    return Media(f"{name:0>64}", "image", "png", 8, 6)


def options(*keys: str) -> tuple[Option, ...]:
    return tuple(Option(key) for key in keys)


def linked(question: str, order: str, appearances: Sequence[Look], answer: Any = None, name: str = "") -> Item:
    """Three images that show what `order` says, A the first look; `question` is a column of `BY_HAND`."""
    kind: Any = {"count": "integer", "same": "true_false", "group": "choice"}[question]
    offered = {"count": options("1", "2", "3"), "same": (), "group": options("1+2", "none", "2+3", "1+3")}[question]
    query = [image(f"{name}{place}") for place in range(len(order))]
    shows = {one.sha256: dict(appearances["ABC".index(letter)]) for one, letter in zip(query, order, strict=True)}
    answers = {told: held[question] for told, held in BY_HAND.items()}
    truth = answers[order] if answer is None else answer
    truth = int(truth) if kind == "integer" else truth
    latent = {"shows": shows, "partitions": answers}
    return item(f"{question}-{order}{name}", query, truth, kind, options=offered, latent=latent)


def replies(subject: Subject, view: View, times: int = 1) -> Counter[Any]:
    """What is read of the replies to one view, over several random streams."""
    prompt = Prompt(("?",), (view,))
    assert subject.declines(prompt) is None
    with asyncio.Runner() as runner:
        told = (runner.run(subject.answer(prompt, NOWHERE, stream("linking", n))).text for n in range(times))
        return Counter(read_answer(text, view.reply) for text in told)


def draws(subject: Subject, view: View, times: int = 300) -> bool:
    """Whether every option is given about equally often, five deviations allowed; something certain never is."""
    keys = [int(key) if view.reply.kind == "integer" else key for key in view.reply.offered]
    count, share = replies(subject, view, times), 1 / len(keys)
    room = 5 * (times * share * (1 - share)) ** 0.5
    return set(count) == set(keys) and all(abs(n - times * share) < room for n in count.values())


def says(subject: Subject, view: View, answer: Any) -> bool:
    """Whether the answer is given every time."""
    return replies(subject, view, 40) == {answer: 40}


# Which images show the same thing


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("question", ["count", "same", "group"])
def test_the_oracle_knows_every_partition(question: str, order: str) -> None:
    one = linked(question, order, [RED_CUBE, BLUE_CUBE, RED_BALL])
    oracle = make_fake("oracle", {}, [one])
    if one.answer == "1+2+3":  # what is not offered cannot be said
        assert draws(oracle, one.view())
    else:
        assert says(oracle, one.view(), one.answer)


@pytest.mark.parametrize("question", ["count", "same", "group"])
def test_blind_to_the_one_dimension_that_differs(question: str) -> None:
    """AAB, B of another colour: all three look alike without colour, so that nothing is known."""
    one = linked(question, "AAB", [RED_CUBE, BLUE_CUBE])
    assert draws(make_fake("blind-to=colour", {}, [one]), one.view())
    assert draws(make_fake("blind-to=colour/primary+shape", {}, [one]), one.view())


def test_blind_to_another_dimension() -> None:
    """AAB told apart by colour, without shape: B is another one (AAB or ABC are left), but 1 and 2 may be two."""
    looks = [RED_CUBE, BLUE_CUBE]
    same, count, group = (linked(question, "AAB", looks) for question in ("same", "count", "group"))
    blind = make_fake("blind-to=shape", {}, [same])
    assert says(blind, same.view(), "false"), "one that differs is enough"
    assert draws(make_fake("blind-to=shape", {}, [count]), count.view()), "two or three"
    assert draws(make_fake("blind-to=shape", {}, [group]), group.view()), "1 and 2, or none"


def test_sameness_is_never_sure_to_the_blind_and_difference_is() -> None:
    alike = linked("same", "AAA", [RED_CUBE])
    assert draws(make_fake("blind-to=shape", {}, [alike]), alike.view())
    apart = linked("count", "ABC", [RED_CUBE, BLUE_CUBE, {**RED_CUBE, "colour/primary": "green"}])
    assert says(make_fake("blind-to=shape", {}, [apart]), apart.view(), 3)
    nothing = linked("same", "AAA", [{"colour/primary": "red"}])
    other = linked("same", "AAB", [RED_CUBE, BLUE_CUBE], name="f")
    blind = make_fake("blind-to=shape", {}, [nothing, other])
    assert says(blind, nothing.view(), "true"), "these looks have no shape to be missed"


def test_one_stored_image_twice_is_the_same_thing_to_everybody() -> None:
    one = linked("group", "AAB", [RED_CUBE, BLUE_CUBE])
    one = replace(one, query=(one.query[0], one.query[0], one.query[2]))
    assert says(make_fake("blind-to=shape", {}, [one]), one.view(), "1+2")


def test_what_is_known_of_two_images_by_hand() -> None:
    cube, ball, blue, again = (image(name) for name in ("a", "b", "c", "d"))
    shows = {one.sha256: look for one, look in ((cube, RED_CUBE), (ball, RED_BALL), (blue, BLUE_CUBE))}
    shows[again.sha256] = dict(RED_CUBE)
    all_seen, no_shape = frozenset[str](), frozenset({"shape"})
    assert known_same(cube, again, shows, all_seen) is True
    assert known_same(cube, ball, shows, all_seen) is False
    assert known_same(cube, again, shows, no_shape) is None
    assert known_same(cube, ball, shows, no_shape) is None
    assert known_same(cube, blue, shows, no_shape) is False
    assert known_same(cube, cube, shows, no_shape) is True


def test_partitions_by_hand() -> None:
    def unknown(first: int, second: int) -> None:
        return None

    assert list(partitions(3, unknown)) == ["AAA", "AAB", "ABA", "ABB", "ABC"]
    assert [sum(1 for _ in partitions(n, unknown)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203], "Bell's numbers"
    assert list(partitions(3, lambda first, second: False if second == 2 else None)) == ["AAB", "ABC"]


def test_who_misses_the_third_image_knows_what_the_others_fix() -> None:
    """The first two differ in ABB and ABC, so that not all are the same; of AAA, AAB and how many there are, no clue.

    Of ABA the first two differ as well. Pairs go by more than the first two: 2+3 and 1+3 cannot be distinguished.
    """
    looks = [RED_CUBE, BLUE_BALL, BLUE_CUBE]
    for order, is_known in {"AAA": False, "AAB": False, "ABA": True, "ABB": True, "ABC": True}.items():
        item = linked("same", order, looks)
        subject = make_fake("misses-image=3", {}, [item])
        assert says(subject, item.view(), item.answer) if is_known else draws(subject, item.view())
        assert says(make_fake("misses-image=4", {}, [item]), item.view(), item.answer)
    for question in ("count", "group"):
        item = linked(question, "ABA", looks)
        assert draws(make_fake("misses-image=3", {}, [item]), item.view())


def by_appearance(labels: Sequence[int]) -> str:
    names: dict[int, str] = {}
    return "".join(names.setdefault(thing, "ABCD"[len(names)]) for thing in labels)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.sampled_from(["count", "order"]), st.integers(0, 99))
def test_who_misses_nothing_is_always_right(labels: list[int], question: str, mark: int) -> None:
    """Random partitions of up to four images: the number of things, and the whole partition as an option key."""
    looks = [RED_CUBE, BLUE_CUBE, RED_BALL, BLUE_BALL]
    query = [image(f"{mark}{place}") for place in range(len(labels))]
    shows = {one.sha256: looks[thing] for one, thing in zip(query, labels, strict=True)}
    orders = list(partitions(len(labels), lambda first, second: None))
    answers = {order: str(len(set(order))) if question == "count" else order for order in orders}
    truth, latent = answers[by_appearance(labels)], {"shows": shows, "partitions": answers}
    offered, kind = options(*dict.fromkeys(answers.values())), "integer" if question == "count" else "choice"
    answer: Any = int(truth) if kind == "integer" else truth
    one = item("random", query, answer, kind, options=offered, latent=latent)  # type: ignore[arg-type]
    elsewhere = linked("same", "ABC", [{"size": "small"}] * 3, name="e")
    assert replies(make_fake("oracle", {}, [one]), one.view()) == {answer: 1}
    assert replies(make_fake("blind-to=size", {}, [one, elsewhere]), one.view()) == {answer: 1}


# What is really shown


def test_of_shuffled_images_the_truth_of_the_shown_ones_is_told() -> None:
    first = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    second = linked("count", "ABC", [RED_CUBE, BLUE_CUBE, RED_BALL], name="f")
    context = ViewContext(None, [first, second])  # type: ignore[arg-type]
    view = Shuffled(context.by_stimulus, context.pool)(first.view(), NOWHERE, stream("shuffled"))
    assert {one.sha256 for one in view.query} == {one.sha256 for one in second.query}
    assert says(make_fake("oracle", {}, [first, second]), view, 3)


def test_a_changed_image_is_known_by_its_origin() -> None:
    one = linked("group", "ABA", [RED_CUBE, BLUE_CUBE])
    zoom = Affine(a=2.0, e=2.0)
    made = [
        replace(was, sha256=f"{n}{'f' * 63}", origin=was.sha256, from_stored=zoom) for n, was in enumerate(one.query)
    ]
    assert says(make_fake("oracle", {}, [one]), replace(one.view(), query=tuple(made)), "1+3")
    strange = [replace(was, origin="") for was in made]
    assert draws(make_fake("oracle", {}, [one]), replace(one.view(), query=tuple(strange)))


def test_images_laid_out_as_one_are_still_the_images() -> None:
    """A montage is a part of the prompt; the view keeps what is on it."""
    one = linked("same", "AAB", [RED_CUBE, BLUE_CUBE])
    prompt = Prompt((Montage(one.query, 3), "?"), (one.view(),))
    reply = asyncio.run(make_fake("oracle", {}, [one]).answer(prompt, NOWHERE, stream("montage")))
    assert read_answer(reply.text, one.view().reply) == "false"


@pytest.mark.parametrize("control", [Without(), Grey()])
def test_without_images_nothing_is_known(tmp_path: Path, control: Any) -> None:
    for one in (linked("count", "AAB", [RED_CUBE, BLUE_CUBE]), changed("material")):
        view = control(one.view(), MediaFolder(tmp_path), stream("control"))
        assert draws(make_fake("oracle", {}, [one]), view)


def test_more_or_fewer_images_than_the_item_has_tell_nothing() -> None:
    one = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    oracle = make_fake("oracle", {}, [one])
    assert draws(oracle, replace(one.view(), query=one.query[:2]))
    assert draws(oracle, replace(one.view(), query=(*one.query, one.query[0])))


def test_a_partition_that_the_item_leaves_out_does_not_occur() -> None:
    one = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    answers = dict(one.latent["partitions"])
    del answers["AAB"]
    only_other = replace(one, latent={**one.latent, "partitions": answers})
    assert draws(make_fake("oracle", {}, [only_other]), only_other.view()), "the case itself has no answer"
    blind = make_fake("blind-to=shape", {}, [only_other])
    assert says(blind, only_other.view(), 3), "of AAB and ABC one is left"


# Worlds


def changed(dimension: str) -> Item:
    """Two images; the statement is that this dimension changed, and it did. It might have been another one."""
    query = [image("1a"), image("2a")]
    kept = {"colour/first": "red", "colour/second": "red", "material/second": "glass"}
    truth = {**kept, f"{dimension}/second": "other"}
    worlds = [{"look": truth, "answer": "true"}, {"look": kept, "answer": "false"}]
    return item(f"changed-{dimension}", query, "true", "true_false", latent={"worlds": worlds})


@pytest.mark.parametrize(("blind", "sees"), [("colour", False), ("colour/second", False), ("material", True)])
def test_a_changed_attribute(blind: str, sees: bool) -> None:
    one = changed("colour")
    assert says(make_fake("oracle", {}, [one]), one.view(), "true")
    observer = make_fake(f"blind-to={blind}", {}, [one])
    assert says(observer, one.view(), "true") if sees else draws(observer, one.view())


def test_something_added_or_removed() -> None:
    """A cup was added. The blind to `presence` cannot tell it from nothing or from a removal; colour does not help."""
    query = [image("1b"), image("2b")]
    before, after = {"presence/first": "no", "colour/room": "grey"}, {"presence/second": "yes"}
    worlds = [
        {"look": {**before, **after}, "answer": "true"},
        {"look": {**before, "presence/first": "yes", "presence/second": "no"}, "answer": "false"},
        {"look": {**before, "presence/second": "no"}, "answer": "false"},
    ]
    one = item("added", query, "true", "true_false", latent={"worlds": worlds})
    assert says(make_fake("oracle", {}, [one]), one.view(), "true")
    assert says(make_fake("blind-to=colour", {}, [one]), one.view(), "true")
    assert draws(make_fake("blind-to=presence", {}, [one]), one.view())
    half = make_fake("blind-to=presence/first", {}, [one])
    assert says(half, one.view(), "true"), "seeing the second is enough: it is there in one world only"


def test_worlds_that_cannot_be_told_apart_but_agree_are_an_answer() -> None:
    one = changed("colour")
    both = [{**world, "answer": "false"} for world in one.latent["worlds"]]
    one = replace(one, answer="false", latent={"worlds": both})
    assert says(make_fake("blind-to=colour", {}, [one]), one.view(), "false")


def test_worlds_are_of_these_images_in_their_places() -> None:
    one = changed("colour")
    oracle, (first, second) = make_fake("oracle", {}, [one]), one.query
    for query in ((second, first), (first,), (first, first), (first, second, second), (first, image("3"))):
        assert draws(oracle, replace(one.view(), query=query))
    cropped = tuple(replace(was, sha256=was.sha256[::-1], origin=was.sha256) for was in one.query)
    assert says(oracle, replace(one.view(), query=cropped), "true")


def test_dimensions_of_worlds_are_known() -> None:
    for name in ("material", "material/second", "colour/first"):
        make_fake(f"blind-to={name}", {}, [changed("colour")])
    with pytest.raises(SnellenError, match="no item here has 'matter'; did you mean 'material'"):
        make_fake("blind-to=matter", {}, [changed("colour")])


# Counts that are offered


def test_counts_are_guessed_among_those_offered_and_read_as_integers() -> None:
    one = linked("count", "AAB", [RED_CUBE, BLUE_CUBE])
    view = one.view()
    assert view.reply.keys == (("1", "1"), ("2", "2"), ("3", "3"))
    assert view.reply.write(3) == "3"
    assert draws(make_fake("chance", {}, [one]), view)
    assert says(make_fake("first-option", {}, [one]), view, 1)
    assert all(isinstance(said, int) for said in replies(make_fake("chance", {}, [one]), view, 20))
