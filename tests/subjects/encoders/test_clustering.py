"""Counting and grouping by the links of a similarity threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from snellen.core.item import Media, Option, ReplySpec, View
from snellen.core.seeds import stream
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders.clustering import (
    ALL,
    NOTHING,
    ClusteringExample,
    Similarity,
    asks_clustering,
    choose,
    exact_key,
    fit_limit,
    linked_groups,
    pairwise_similarity,
)
from snellen.subjects.encoders.readouts import unit
from tests.subjects.encoders.scenes import BLUE, GREEN, RED, Album, ask, declined, subject, teach

COUNTS = ("1", "2", "3", "4")
GROUPS = ("1+3", "none", "2+3", "1+2")


@pytest.fixture
def album(tmp_path: object) -> Album:
    return Album(tmp_path)  # type: ignore[arg-type]


def view_with_keys(keys: Sequence[str], images: int = 3) -> View:
    """A view whose images are never opened; counts if all keys are numbers."""
    query = tuple(Media(f"{n:064}", "image", "png", 8, 6) for n in range(images))
    kind = "integer" if all(key.isdecimal() for key in keys) else "choice"
    spec = ReplySpec(kind, tuple((key, key) for key in keys))  # type: ignore[arg-type]
    return View("one", "one", "task", "?", query, spec, tuple(Option(key) for key in keys))


def chosen_answer(keys: Sequence[str], cosines: Sequence[float], limit: float, seed: int = 0) -> str:
    """The answer about three images with these cosines (1 and 2, 1 and 3, 2 and 3)."""
    return choose(view_with_keys(keys), Similarity(3, np.array(cosines)), limit, stream("link", seed))


def test_links_by_hand() -> None:
    """Features at 0, 30 and 90 degrees: cosines .866, 0 and .5, so a limit of .6 links the first two."""
    angles = np.radians([0, 30, 90])
    alike = pairwise_similarity(np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1], [5], [0.2]])
    assert alike.pairs == [(0, 1), (0, 2), (1, 2)]
    assert alike.cosines == pytest.approx([np.sqrt(3) / 2, 0, 0.5])
    for limit, groups, count, key in (
        (0.9, 3, "3", "none"),
        (0.6, 2, "2", "1+2"),
        (0.4, 1, "1", "1+2+3"),  # 1 and 3 are connected through 2
        (ALL, 1, "1", "1+2+3"),
        (NOTHING, 3, "3", "none"),
    ):
        labels = linked_groups(alike, limit)
        assert (len(set(labels)), exact_key(labels, True), exact_key(labels, False)) == (groups, count, key)
        assert choose(view_with_keys(COUNTS[:3]), alike, limit, stream("link")) == count
        assert choose(view_with_keys(("1+2+3", *GROUPS)), alike, limit, stream("link")) == key


def test_two_groups_are_no_single_answer() -> None:
    assert exact_key((0, 1, 0, 1), False) is None
    assert exact_key((0, 1, 0, 1), True) == "2"


def test_a_similarity_equal_to_the_limit_links() -> None:
    assert linked_groups(Similarity(2, np.array([0.5])), 0.5) == (0, 0)


@given(st.integers(1, 7), st.integers(0, 10**6))
def test_groups_are_connected_components(n: int, seed: int) -> None:
    alike = pairwise_similarity(stream("components", seed).normal(size=(n, 3)))
    near = np.zeros((n, n))
    near[np.triu_indices(n, 1)] = alike.cosines >= 0.6
    parts, labels = connected_components(near, directed=False)
    groups = linked_groups(alike, 0.6)
    assert len(set(groups)) == parts
    assert len(set(zip(groups, labels, strict=True))) == parts


# Options that do not contain the linked groups


def test_the_nearest_option_agrees_on_most_pairs() -> None:
    """All three linked: an option with a pair agrees on one of three pairs, `none` on none. Similarity breaks ties."""
    assert chosen_answer(GROUPS, (0.9, 0.7, 0.8), 0.5) == "1+2"
    assert chosen_answer(GROUPS, (0.7, 0.9, 0.8), 0.5) == "1+3"
    assert chosen_answer(("none", "2+3"), (0.9, 0.7, 0.8), 0.5) == "2+3"
    assert chosen_answer(("none", "1+3"), (0.9, 0.1, 0.1), 0.5) == "none", (
        "1+3 would be wrong about two pairs, `none` about one"
    )


def test_the_more_similar_of_two_linked_pairs_is_chosen() -> None:
    """1 and 2 at .9, 3 and 4 at .7; `3+4` alone requires a change of .4, `1+2` alone one of .2."""
    alike = Similarity(4, np.array([0.9, 0, 0, 0, 0, 0.7]))
    assert choose(view_with_keys(("none", "3+4", "1+2", "1+3"), 4), alike, 0.5, stream("link")) == "1+2"


def test_equally_near_options_are_drawn() -> None:
    count = Counter(chosen_answer(GROUPS, (0.75, 0.75, 0.75), 0.5, seed) for seed in range(300))
    assert set(count) == {"1+2", "1+3", "2+3"}
    assert max(abs(n - 100) for n in count.values()) < 45


def test_a_count_that_is_not_offered_becomes_the_nearest_one() -> None:
    assert chosen_answer(("2", "3"), (0.9, 0.9, 0.9), 0.5) == "2"
    assert {chosen_answer(("1", "3"), (0.9, 0.1, 0.1), 0.5, seed) for seed in range(30)} == {"1", "3"}


def test_an_option_with_an_image_that_is_not_shown_agrees_least() -> None:
    assert chosen_answer(("1+4", "none"), (0.1, 0.1, 0.1), 0.5) == "none"


# The limit


def clustering_example(cosines: Sequence[float], answer: str) -> ClusteringExample:
    count = {1: 2, 3: 3}[len(cosines)]
    return ClusteringExample(Similarity(count, np.array(cosines)), answer.isdecimal(), answer)


def test_the_limit_is_in_the_middle_of_the_widest_gap() -> None:
    """The first allows .2 to .8; .7 of the second narrows this to .2 to .7; .3 splits it."""
    first, second = clustering_example([0.8, 0.1, 0.2], "1+2"), clustering_example([0.7], "1")
    assert fit_limit([first]) == pytest.approx(0.5)
    assert fit_limit([first, second]) == pytest.approx(0.45)
    assert fit_limit([first, second, clustering_example([0.3], "2")]) == pytest.approx(0.5), "from .3 to .7"
    assert fit_limit([first, second, clustering_example([0.3], "1")]) == pytest.approx(0.25), (
        "the only gap without an error"
    )


def test_the_majority_of_training_examples_decides() -> None:
    """Of the first three, two are right at .45 and with everything linked, one at .35, one with nothing linked."""
    examples = [clustering_example([0.5], "1"), clustering_example([0.4], "2"), clustering_example([0.3], "1")]
    assert fit_limit(examples) == pytest.approx(0.45)
    assert fit_limit([*examples, clustering_example([0.3], "1")]) == ALL
    assert fit_limit([*examples, clustering_example([0.5], "2"), clustering_example([0.5], "2")]) == NOTHING


def test_training_examples_that_are_all_the_same_or_all_different() -> None:
    assert fit_limit([clustering_example([0.5], "2"), clustering_example([0.9], "2")]) == NOTHING
    assert fit_limit([clustering_example([0.5], "1"), clustering_example([0.9], "1")]) == ALL
    with pytest.raises(ValueError, match="no training examples"):
        fit_limit([])


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.sampled_from(("1", "2", "3"))), min_size=1
    )
)
def test_no_other_limit_gets_more_examples_right(levels_and_answers: list[tuple[list[int], str]]) -> None:
    examples = [clustering_example([level / 10 for level in levels], answer) for levels, answer in levels_and_answers]

    def count_right(limit: float) -> int:
        return sum(exact_key(linked_groups(example.similarity, limit), True) == example.answer for example in examples)

    assert count_right(fit_limit(examples)) == max(count_right(step / 10 - 0.05) for step in range(12))


def clusters(seed: int, labels: Sequence[int]) -> NDArray[np.float64]:
    """Features close to one of four axes, one axis per label."""
    rng = stream("clusters", seed)
    return np.asarray(np.eye(4, 8)[list(labels)] + rng.normal(scale=0.03, size=(len(labels), 8)), dtype=np.float64)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4), st.integers(0, 10**6))
def test_tight_clusters_are_counted_and_grouped_perfectly(labels: list[int], seed: int) -> None:
    label_sets = [(0, 0), (0, 1), (1, 1, 2), (2, 2, 2), (0, 1, 2, 3), (3, 1, 3, 3)]
    alike = pairwise_similarity(clusters(seed, labels))
    for counts in (True, False):
        keys = [exact_key(example_labels, counts) for example_labels in label_sets]
        examples = [
            ClusteringExample(pairwise_similarity(clusters(seed + n, example_labels)), counts, str(key))
            for n, (example_labels, key) in enumerate(zip(label_sets, keys, strict=True), 1)
        ]
        answer = exact_key(labels, counts)
        offered = COUNTS if counts else ("none", "1+2", "1+3", "2+4", "1+2+3", "1+2+3+4", "3+4", "1+4", "2+3",
                                         "1+2+4", "1+3+4", "2+3+4")  # fmt: skip
        reply = choose(view_with_keys(offered, len(labels)), alike, fit_limit(examples), stream("link", seed))
        if answer is None:
            groups = [[n for n, label in enumerate(labels, 1) if label == target] for target in set(labels)]
            assert reply in {"+".join(map(str, group)) for group in groups}, "one of the two pairs"
        else:
            assert reply == answer


# The subject


@pytest.mark.parametrize(
    ("keys", "images", "expected"),
    [
        (COUNTS, 3, True), (GROUPS, 3, True), (("1+2", "2+3"), 3, True), (COUNTS, 1, False), ((), 3, False),
        ((*GROUPS, "all"), 3, False), (("none", "1"), 3, False), (("none ", "1+2"), 3, False),
        (("1+2\n", "none"), 3, False), (("+1", "none"), 3, False),
    ],
)  # fmt: skip
def test_views_that_ask_about_clusters(keys: Sequence[str], images: int, expected: bool) -> None:
    assert asks_clustering(view_with_keys(keys, images)) == expected


def trio(album: Album, colours: Sequence[tuple[int, int, int]], keys: Sequence[str], question: str = "") -> View:
    """A disc, a square and a bar of these colours."""
    query = [album.add(shape, colour) for shape, colour in zip(("disc", "square", "bar"), colours, strict=False)]
    options = [Option(key, key.replace("+", " and ")) for key in keys]
    kind = "integer" if keys[0].isdecimal() else "choice"
    return album.view(query, options, kind=kind, question=question or f"Which colours are the same ({kind})?")


EXAMPLES = [((RED, RED, RED), "1", "1+2"), ((RED, RED, BLUE), "2", "1+2"), ((RED, BLUE, GREEN), "3", "none")]


@pytest.mark.parametrize("readout", ["auto", "probe", "prototype", "knn", "text"])
def test_colours_are_counted_and_grouped(album: Album, readout: str) -> None:
    counting = [TrainingExample(trio(album, colours, COUNTS[:3]), int(count)) for colours, count, _ in EXAMPLES]
    grouping = [TrainingExample(trio(album, colours, GROUPS), key) for colours, _, key in EXAMPLES[1:]]
    encoder = teach(subject("colour-histogram", readout=readout), album, [*counting, *grouping])
    assert encoder.fitted == {}, "no probe is fitted for questions that it never answers"
    for colours, count, key in (
        ((GREEN, BLUE, GREEN), "2", "1 and 3"),
        ((BLUE, GREEN, GREEN), "2", "2 and 3"),
        ((GREEN, BLUE, RED), "3", "none"),
    ):
        views = [
            trio(album, colours, COUNTS[:3]),
            trio(album, colours, GROUPS),
            trio(album, colours, GROUPS, "New words?"),
        ]
        assert [encoder.readout_kind(view) for view in views] == ["clustering"] * 3
        replies = [ask(encoder, album, view) for view in views]
        assert [reply.text for reply in replies] == [count, key, key]
        assert all(len(reply.numbers) == 3 for reply in replies), "one cosine per pair of images"
    assert ask(encoder, album, trio(album, (GREEN, GREEN), COUNTS[:2])).text == "1"


def test_each_question_has_a_limit_if_its_training_examples_vary(album: Album) -> None:
    varied = [
        TrainingExample(trio(album, colours, COUNTS[:3], "Varied?"), int(count)) for colours, count, _ in EXAMPLES
    ]
    always = [TrainingExample(trio(album, EXAMPLES[2][0], COUNTS[:3], "Always three?"), 3)]
    encoder = teach(subject("colour-histogram"), album, [*varied, *always])
    assert set(encoder.limits) == {"Varied?", ""}
    with_limits = replace(encoder, limits={"Varied?": ALL, "": NOTHING})
    views = [trio(album, EXAMPLES[1][0], COUNTS[:3], question) for question in ("Varied?", "Always three?")]
    assert [ask(with_limits, album, view).text for view in views] == ["1", "3"]


def test_without_training_examples_it_declines(album: Album) -> None:
    view = trio(album, (RED, RED, BLUE), GROUPS)
    reason = "no training examples to fit a similarity threshold to"
    assert declined(subject("colour-histogram"), view) == reason
    compared = [
        TrainingExample(album.view([album.add("disc", RED), album.add("bar", colour)], kind="true_false"), answer)
        for colour, answer in ((RED, "true"), (BLUE, "false"))
    ]
    assert declined(teach(subject("colour-histogram"), album, compared), view) == reason, (
        "another kind of training example"
    )


def test_no_limit_lies_between_equal_pairs() -> None:
    """A feature and three times that feature have the same cosine with a third one, but for the last digits."""
    features = np.random.default_rng(0).normal(size=(12, 50))
    both = np.concatenate([features, 3 * features])
    exact = {float(first @ second) for first, second in combinations(unit(both), 2)}
    rounded = set(pairwise_similarity(both).cosines.tolist())
    assert len(exact) > len(rounded) == 12 * 11 // 2 + 1
