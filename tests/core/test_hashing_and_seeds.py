"""Golden values: a changed digest would invalidate every recorded reply and every earlier card."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from snellen.core.hashing import ListDigest, canonical, digest, has_checksum, with_checksum
from snellen.core.item import Affine, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Turn
from snellen.core.seeds import seed_of, stream

IMAGE = Media("ab" * 32, "image", "png", 8, 6)
REPLY = ReplySpec("choice", (("A", "red"), ("B", "blue")))
VIEW = View("i", "s", "t", "which?", (IMAGE,), REPLY, (Option("red", "red"), Option("blue", "blue")))


def test_digests_are_stable() -> None:
    value = {"b": [1, 2.5, None, True], "a": "ä\ud800"}
    assert canonical(value) == '{"a":"\\u00e4\\ud800","b":[1,2.5,null,true]}'
    assert digest(value) == "7aaab26badf203ed9c7df17c68041a48c2502ec2efc4ca3760b3cf2c605b63a6"
    assert digest(dict(reversed(value.items())), 12) == "7aaab26badf2"
    golden = "f7a878cac585e3f3477de9d28abb52936b12c9fe5664eb875b40bd6419a6b2c1"
    assert Prompt(("which?", IMAGE), (VIEW,)).digest() == golden


@pytest.mark.parametrize("elements", [[], [1], [{"b": 1, "a": "é"}, None, [2.5]]], ids=len)
def test_a_list_may_be_digested_element_by_element(elements: list[object]) -> None:
    by_element = ListDigest()
    for n, element in enumerate(elements):
        assert by_element.digest() == digest(elements[:n])
        by_element.add(element)
    assert by_element.digest() == digest(elements)


def test_a_checksum_covers_names_and_values() -> None:
    facts = with_checksum({"a": 1, "b": "x"})
    assert has_checksum(facts)
    others: list[dict[str, object]] = [{"a": 2}, {"b": "y"}, {"c": 1}, {"checksum": "0" * 16}]
    assert not any(has_checksum({**facts, **other}) for other in others)
    assert not has_checksum({"a": 1, "b": "x"})


def test_a_prompt_digest_covers_everything_sent() -> None:
    base = Prompt(("which?", IMAGE), (VIEW,))
    other = Media("cd" * 32, "image", "png", 8, 6)
    prompts = [
        base,
        Prompt(("which one?", IMAGE), (VIEW,)),
        Prompt(("which?", other), (VIEW,)),
        Prompt((IMAGE, "which?"), (VIEW,)),
        Prompt(base.parts, base.views, (Turn(("hello",), "hi"),)),
        Prompt(base.parts, base.views, (Turn(("hello",), "ho"),)),
        *(
            Prompt(base.parts, (View("i", "s", "t", "which?", query, reply, options),))
            for query, reply, options in [
                ((other,), REPLY, VIEW.options),
                ((IMAGE,), ReplySpec("choice", REPLY.keys[::-1]), VIEW.options),
                ((IMAGE,), ReplySpec("choice", REPLY.keys, Affine(c=1)), VIEW.options),
                ((IMAGE,), REPLY, VIEW.options[::-1]),
            ]
        ),
    ]
    assert len({prompt.digest() for prompt in prompts}) == len(prompts)


def test_streams_depend_on_their_names_only() -> None:
    assert stream("combo", "1", 0, 7).integers(1000, size=4).tolist() == [216, 686, 435, 433]
    assert seed_of("combo", 0) == 1761953383
    np.random.seed(3)  # noqa: NPY002 - what others do must not matter
    again = [stream("a", n).integers(2**31) for n in reversed(range(5))]
    assert [stream("a", n).integers(2**31) for n in range(5)] == again[::-1]
    places: list[tuple[str | int, ...]] = [("a",), ("a", 0), ("a", "0"), ("a", 1), ("a0",), ("a", 0, 0), ("a", "")]
    numbers = [int(stream(*names).integers(2**62)) for names in places]
    assert len(set(numbers)) == len(places), "0 is a seed, and no two sequences of names collide"


def test_seeds_are_31_bit_and_spread() -> None:
    seeds = [seed_of("x", n) for n in range(2000)]
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 2000
    assert np.mean(seeds) / 2**31 == pytest.approx(0.5, abs=0.03)
    assert not any(a == b for a, b in itertools.pairwise(sorted(seeds)))
