from __future__ import annotations

from dataclasses import astuple, fields, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snellen.core.item import Affine, Demo, Item, Mark, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.subject import SubjectCard, TrainingExample, with_examples

few = st.integers(-8, 8).map(float)
maps = st.builds(Affine, few, few, few, few, few, few)
points = st.tuples(few, few)
BOTH = (("A", "red"), ("scarlet", "red"), ("B", "blue"))


@given(maps, maps, maps, points)
def test_affine_maps_compose_as_functions(
    first: Affine, second: Affine, third: Affine, point: tuple[float, float]
) -> None:
    assert first.then(second).point(*point) == second.point(*first.point(*point))
    assert first.then(second).then(third) == first.then(second.then(third))
    assert first.then(Affine()) == Affine().then(first) == first


@given(maps, points)
def test_the_inverse_map_leads_back(affine: Affine, point: tuple[float, float]) -> None:
    assume(affine.a * affine.e != affine.b * affine.d)
    assert affine.inverse().point(*affine.point(*point)) == pytest.approx(point, abs=1e-9)
    assert astuple(affine.then(affine.inverse())) == pytest.approx(astuple(Affine()), abs=1e-9)


def test_affine_by_hand() -> None:
    quarter = Affine(0, -1, 50, 1, 0, 0)  # a quarter turn of an image 50 high: x' = 50 - y, y' = x
    assert quarter.point(10, 20) == (30, 10)
    assert quarter.box((10, 20, 15, 40)) == (10, 10, 30, 15)
    assert quarter.then(Affine(a=2, e=3)).point(1, 2) == (96, 3)
    with pytest.raises(ZeroDivisionError):
        Affine(a=0).inverse()


def test_replies_are_written_in_the_requested_terms() -> None:
    assert ReplySpec("choice", BOTH).write("red") == "A", "the first name is the one to write"
    assert ReplySpec("true_false", (("T", "true"), ("F", "false"))).write("false") == "F"
    assert ReplySpec("box").write((1, 2.25, 3, 4)) == "[1.0, 2.25, 3.0, 4.0]"
    assert ReplySpec("box", frame=Affine(a=0.01, f=0.5, e=0.01)).write((20, 10, 60, 50)) == "[0.2, 0.6, 0.6, 1.0]"
    assert ReplySpec("colour").write((254.6, 0, 12)) == "[255, 0, 12]"
    assert [ReplySpec("integer").write(7), ReplySpec("text").write("a\nb")] == ["7", "a\nb"]
    assert ReplySpec("text").write(("first", "second")) == "first", "of several texts that are accepted"
    assert ReplySpec("choices", BOTH).write(("blue", "red")) == "B, A"
    fractions = ReplySpec("point", frame=Affine(a=1 / 80, e=1 / 60))
    assert [ReplySpec("point").write((2, 0.5)), fractions.write((20, 20))] == ["[2, 0.5]", "[0.25, 0.333333]"]
    with pytest.raises(KeyError):
        ReplySpec("choice", BOTH).write("green")
    assert ReplySpec("choice", BOTH).offered == ("red", "blue")


def test_a_view_does_not_reveal_the_answer() -> None:
    hidden = {
        "answer", "factors", "measures", "requires", "regions", "latent", "provenance", "group_id", "cluster_id",
        "split",
    }  # fmt: skip
    assert not hidden & {f.name for f in fields(View)}
    image = Media("ab" * 32, "image", "png", 4, 4)
    options = (Option("x", "red"), Option("y"))
    item = Item(
        "i", "s", "t", "?", (image,), "x", "choice", "i", "i", "i", options=options, latent={"secret": "sesame"}
    )
    assert "sesame" not in repr(item.view())
    assert item.view().reply.keys == (("red", "x"), ("y", "y")), "an option without text is named by its key"
    assert [media.path for media in item.media()] == [f"ab/{'ab' * 32}.png"]


def test_an_item_shows_its_support_its_query_and_its_options_in_this_order() -> None:
    images = [Media(letter * 64, "image", "png", 4, 4) for letter in "abcdef"]
    options = tuple(Option(media.sha256[0], media=(media,)) for media in images[4:])
    support = Demo((images[0], images[1]), "e", 0), Demo((), "f", 1)
    item = Item("i", "s", "t", "?", tuple(images[2:4]), "e", "choice", "i", "i", "i", options=options, support=support)
    assert list(item.media()) == list(item.view().media()) == images
    view = item.view()
    assert (view.options, view.support, view.question, view.stimulus_id) == (options, support, "?", "i")
    assert replace(item, answer_kind="true_false").view().reply.keys == (("T", "true"), ("F", "false"))
    assert replace(images[0], origin="z" * 64).stored_sha256 == "z" * 64


def test_marks_change_digests_only_if_a_view_has_some() -> None:
    image = Media("a" * 64, "image", "png", 40, 20)
    spec = ReplySpec("box", frame=Affine(1 / 40, 0, 0, 0, 1 / 20, 0))
    view = View("1", "s", "task", "Where?", (image,), spec, (Option("a", "A"),))

    def digests(view: View) -> tuple[str, str]:
        example = TrainingExample(view, (1.0, 2.0, 3.0, 4.0))
        fitted = with_examples(SubjectCard("encoder:x"), [example])
        return Prompt((image, "Where?"), (view,)).digest()[:12], fitted.fingerprint()

    # As before views had marks: earlier records and fingerprints stay valid.
    assert digests(view) == ("59403a9e7900", "21d57c4ee567")
    marked = [digests(replace(view, marks=(Mark(colour, (1, 2, 3, 4)),))) for colour in ("red", "blue")]
    assert len({*marked[0], *marked[1], *digests(view)}) == 6
