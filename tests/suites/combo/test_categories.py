"""Category Building: rules, pairs, their difficulty, and the questions made from them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from threadpoolctl import threadpool_limits

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.stimuli.scenes import DIMENSIONS, composite
from snellen.suites.combo.difficulty import (
    LEVELS,
    Features,
    level_of,
    other_features,
    packaged_features,
    rank_correlation,
    read_features,
    separation,
    wasserstein,
)
from snellen.suites.combo.questions import categories
from snellen.suites.combo.questions.categories import (
    DIFFERENCES,
    MIN_OBJECTS,
    OBJECTS_A_RULE,
    RULES_A_FAMILY,
    SHOTS,
    Pair,
    Rule,
    choose_pairs,
    draw_family,
    pair_items,
    quotas,
    random_rule,
    reference_pairs,
    variant_of,
)
from snellen.suites.combo.space import FACTORS
from tests.suites.combo.fixtures import says, unseen, views_of


@cache
def _chosen(count: int = 24, seed: int = 0) -> list[Pair]:
    return choose_pairs(count, seed, packaged_features())


@cache
def _items(count: int = 24) -> list[Item]:
    """Questions about pairs, without images."""
    pairs = _chosen(count)
    images = {}
    for rule in {rule for pair in pairs for rule in (pair.first, pair.second)}:
        objects = stream("test", rule.text()).permutation(np.flatnonzero(rule.mask()))[:OBJECTS_A_RULE]
        images[rule] = [(unseen(int(k)), composite(int(k)).dimensions()) for k in objects]
    return [item for n, pair in enumerate(pairs) for item in pair_items(n, pair, images, 0, {})]


# Rules and pairs


def test_a_rule_selects_the_objects_that_have_its_values() -> None:
    rule = Rule((("shape/primary", "cube"), ("colour/primary", "red")))
    assert rule.mask().sum() == 3 * 6 * 2 * 12
    assert rule.text() == "shape/primary=cube,colour/primary=red"


def test_rules_have_many_granularities_and_enough_objects() -> None:
    rng = stream("test", "rules")
    rules = [random_rule(rng) for _ in range(200)]
    assert min(int(rule.mask().sum()) for rule in rules) >= MIN_OBJECTS
    assert {len(rule.fixed) for rule in rules} >= {1, 2, 3}
    assert not any(dict(rule.fixed).keys() == {"contact-point/pivot"} for rule in rules)


def test_a_changed_rule_fixes_the_same_dimensions_to_other_values() -> None:
    rng = stream("test", "changed")
    for _ in range(50):
        rule = random_rule(rng)
        other = variant_of(rule, 1, rng)
        if other is not None:
            assert [d for d, _ in other.fixed] == [d for d, _ in rule.fixed]
            assert sum(a != b for a, b in zip(rule.fixed, other.fixed, strict=True)) == 1


def test_a_family_differs_in_one_or_two_values() -> None:
    rng = stream("test", "family")
    for _ in range(10):
        first, *others = draw_family(rng)
        assert len(others) == RULES_A_FAMILY - 1
        for other in others:
            assert 1 <= sum(a != b for a, b in zip(first.fixed, other.fixed, strict=True)) <= 2


def test_no_object_follows_both_rules_of_a_pair() -> None:
    for pair in (*_chosen(), *(Pair(a, b, 0.0, "", "") for a, b in reference_pairs(40, stream("test", "reference")))):
        assert not (pair.first.mask() & pair.second.mask()).any()


def test_deciding_dimensions_are_fixed_by_both_to_different_values() -> None:
    first = Rule((("shape/primary", "cube"), ("colour/primary", "red")))
    assert Pair(first, Rule((("shape/primary", "cone"), ("colour/primary", "red"))), 0.0, "", "").deciding() == (
        "shape/primary",
    )
    assert Pair(first, Rule((("shape/primary", "cone"),)), 0.0, "", "").deciding() == ("shape/primary",)
    assert Pair(first, Rule((("contact-point/anchor", "apex"),)), 0.0, "", "").deciding() == ()
    for pair in _chosen():
        for dimension in pair.deciding():
            assert dict(pair.first.fixed)[dimension] != dict(pair.second.fixed)[dimension]


@pytest.mark.parametrize(("count", "expected"), [(24, [6, 6, 6, 6]), (6, [2, 2, 1, 1]), (1, [1, 0, 0, 0])])
def test_levels_are_balanced(count: int, expected: list[int]) -> None:
    pairs = _chosen(count)
    assert [sum(pair.level == level for pair in pairs) for level in LEVELS] == expected


def test_the_distance_decides_the_level() -> None:
    thresholds = packaged_features().thresholds
    for pair in _chosen():
        assert pair.level == level_of(pair.distance, thresholds)
    assert [level_of(x, (1.0, 2.0, 3.0)) for x in (0.5, 1.5, 2.5, 3.5)] == ["expert", "hard", "medium", "easy"]
    assert level_of(1.0, (1.0, 2.0, 3.0)) == "hard"


def test_pairs_come_from_the_seed() -> None:
    first, again, other = (choose_pairs(4, seed, packaged_features()) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def _disjoint_factors(pair: Pair) -> set[str]:
    """Dimensions in which the objects of the two categories share no value, read from the objects themselves."""
    appearances = [
        [composite(int(k)).dimensions() for k in np.flatnonzero(rule.mask())] for rule in (pair.first, pair.second)
    ]
    return {
        d
        for d in DIMENSIONS
        if not {appearance[d] for appearance in appearances[0]} & {appearance[d] for appearance in appearances[1]}
    }


def test_a_pair_depends_on_the_dimensions_that_its_objects_do_not_share() -> None:
    """A shape implies its contact points, and a material the presence of colour. Nothing else separates categories."""
    implied = {"shape": {"contact-point"}, "material": {"colour"}}
    for pair in _chosen():
        dimensions = _disjoint_factors(pair)
        factors = {d.split("/")[0] for d in dimensions}
        if pair.difference == "anchor":
            assert dimensions == {"contact-point/anchor"}
        elif pair.difference == "combination":
            (factor,) = {d.split("/")[0] for d in pair.deciding()}
            assert {f"{factor}/primary", f"{factor}/secondary"} == set(pair.deciding()) <= dimensions
            first, second = dict(pair.first.fixed), dict(pair.second.fixed)
            assert first[f"{factor}/primary"] == second[f"{factor}/secondary"]
            assert first[f"{factor}/secondary"] == second[f"{factor}/primary"]
        else:
            assert pair.difference in factors <= {pair.difference, *implied.get(pair.difference, set())}
            assert len(pair.deciding()) == 1


@pytest.mark.parametrize("count", [1, 6, 12, 50])
def test_at_least_half_of_the_expert_pairs_depend_on_shapes_and_anchors(count: int) -> None:
    expert = [difference for level, difference in quotas(count) if level == "expert"]
    assert sum(name in ("shape", "anchor") for name in expert) >= len(expert) / 2
    assert sum(name in ("shape", "anchor", "combination") for name in expert) >= len(expert) / 2
    cells = quotas(count)
    assert len(cells) == count
    assert count < 6 or {difference for _, difference in cells} == set(DIFFERENCES)


def test_quotas_of_six_pairs_by_hand() -> None:
    """The turns are shape, colour, anchor, combination, shape, material, anchor; easy begins at the sixth."""
    by_hand = [("easy", "material"), ("easy", "anchor"), ("medium", "combination"), ("medium", "shape")]
    assert quotas(6) == [*by_hand, ("hard", "colour"), ("expert", "shape")]


def test_pairs_keep_their_quotas_if_the_features_reach_them() -> None:
    """By the packaged features colours are hardly ever medium or easy; the other two levels have every difference."""
    for pairs in (_chosen(), _chosen(12, 1)):
        cells = [cell for cell in quotas(len(pairs)) if cell[1] != "colour" or cell[0] in ("hard", "expert")]
        assert not Counter(cells) - Counter((pair.level, pair.difference) for pair in pairs)
        assert len({frozenset((pair.first, pair.second)) for pair in pairs}) == len(pairs)


def test_almost_every_category_of_a_small_set_has_its_own_rule() -> None:
    pairs = _chosen(6)
    assert len({rule for pair in pairs for rule in (pair.first, pair.second)}) >= 11
    assert {pair.difference for pair in pairs} == set(DIFFERENCES)


def test_granularity_combines_both_categories() -> None:
    coarse, fine = Rule((("shape/primary", "cube"),)), Rule((("shape/primary", "cone"), ("colour/primary", "red")))
    assert Pair(coarse, fine, 0.0, "", "").granularity() == "1 and 2"
    assert Pair(fine, fine, 0.0, "", "").granularity() == "2"


def test_levels_that_cannot_be_filled_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(categories, "ATTEMPTS", 3)
    packaged = packaged_features()
    unreachable = Features(packaged.values[:, :4], packaged.encoder, (1e6, 2e6, 3e6), {})
    with pytest.raises(SnellenError, match="no more easy pairs by the feature distances of efficientnet-lite2 with"):
        choose_pairs(4, 0, unreachable)


# Features of other encoders


def _packed(path: Path, features: NDArray[np.float64], **about: Any) -> Path:
    fields = {"encoder": "mine", "features_digest": "0", "thresholds": [1.0, 2.0, 3.0], **about}
    np.savez(path, features=features, about=np.array(json.dumps(fields)))
    return path


def test_features_of_another_encoder_are_read(tmp_path: Path) -> None:
    features = read_features(_packed(tmp_path / "mine.npz", np.ones((9504, 3))))
    assert (features.encoder, features.thresholds, features.values.shape) == ("mine", (1.0, 2.0, 3.0), (9504, 3))


@pytest.mark.parametrize(
    ("features", "about"),
    [
        (np.ones((12, 3)), {}),
        (np.full((9504, 3), np.nan), {}),
        (np.ones((9504, 3)), {"thresholds": [3.0, 2.0, 1.0]}),
        (np.ones((9504, 3)), {"thresholds": "high"}),
    ],
)
def test_a_file_without_valid_features_is_an_error(
    tmp_path: Path, features: NDArray[np.float64], about: dict[str, Any]
) -> None:
    with pytest.raises(SnellenError, match=r"no features for 9504 objects .* make them with"):
        read_features(_packed(tmp_path / "odd.npz", features, **about))


@pytest.mark.parametrize("raw", [b"", b"hello", b"PK\x03\x04"])
def test_a_file_that_is_no_archive_is_an_error(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "odd.npz").write_bytes(raw)
    with pytest.raises(SnellenError, match="no features for 9504 objects"):
        read_features(tmp_path / "odd.npz")


def test_rank_correlation_by_hand() -> None:
    """Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15) = 0.8."""
    assert rank_correlation([1.0, 2.0, 5.0, 9.0], [10.0, 30.0, 20.0, 40.0]) == 0.8
    assert rank_correlation([1.0, 2.0], [1.0, 2.0]) is None
    assert rank_correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert rank_correlation([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]) is None


# Questions


def test_both_questions_of_a_pair_share_support_and_ask_for_different_categories() -> None:
    for group in {item.group_id for item in _items()}:
        first, second = (item for item in _items() if item.group_id == group)
        assert first.support == second.support
        assert {first.answer, second.answer} == {"A", "B"}
        assert first.query != second.query
        assert first.factors == second.factors
        assert first.cluster_id == second.cluster_id


def test_support_has_four_of_each_category_and_never_the_test_object() -> None:
    for item in _items():
        images = [demo.media[0].sha256 for demo in item.support]
        assert Counter(demo.answer for demo in item.support) == {"A": SHOTS, "B": SHOTS}
        assert len(set(images)) == 2 * SHOTS
        assert item.query[0].sha256 not in images


def test_fewer_shots_are_a_prefix_of_more() -> None:
    for item in _items():
        assert [(demo.shot, demo.answer) for demo in item.support] == [(s, key) for s in range(SHOTS) for key in "AB"]


def test_every_image_follows_the_rule_of_its_category() -> None:
    for item in _items():
        for image, key in [*((demo.media[0], demo.answer) for demo in item.support), (item.query[0], item.answer)]:
            appearance = item.latent["shows"][image.sha256]
            for dimension, value in (term.split("=") for term in item.provenance["rules"][key].split(",")):
                assert appearance[dimension] == value


def test_neither_letter_nor_order_reveals_the_rule() -> None:
    pairs = _chosen()
    as_a = [item.provenance["rules"]["A"] == pairs[int(item.group_id[-4:])].first.text() for item in _items()[::2]]
    first_asked = [item.answer for item in _items()[::2]]
    assert 4 <= sum(as_a) <= 20
    assert 4 <= first_asked.count("A") <= 20


def test_a_question_records_its_difficulty() -> None:
    for item in _items():
        assert item.factors["difficulty"] in LEVELS
        assert set(item.factors["deciding"].split(", ")) <= set(DIMENSIONS)
        assert item.factors["difference"] in DIFFERENCES
        assert item.factors["granularity"] in "12345"
        assert item.measures["distance"] > 0
        assert item.measures["objects"] >= 2 * MIN_OBJECTS


def test_a_factor_is_required_exactly_if_a_blind_observer_guesses() -> None:
    items = _items()
    needed = Counter(factor for item in items for factor in item.requires)
    assert needed
    for item, view in zip(items, views_of(items), strict=True):
        assert says("oracle", items, view) == item.answer
        for factor in FACTORS:
            keys = {says(f"blind-to={factor}", items, view, draw) for draw in range(12)}
            assert keys == ({"A", "B"} if factor in item.requires else {item.answer}), (item.item_id, factor)


def test_rules_that_differ_in_one_colour_alone_require_colour() -> None:
    for item in _items():
        first, second = (dict(term.split("=") for term in item.provenance["rules"][key].split(",")) for key in "AB")
        differing = [d for d in first if second.get(d) != first[d]]
        if first.keys() == second.keys() and len(differing) == 1 and differing[0].startswith("colour"):
            fixed_material = differing[0].replace("colour", "material") in first
            none = "none" in (first[differing[0]], second[differing[0]])
            assert item.requires == (() if none and not fixed_material else ("colour",))


def test_only_deciding_factors_are_required() -> None:
    for item in _items():
        deciding = {dimension.split("/")[0] for dimension in item.factors["deciding"].split(", ")}
        assert set(item.requires) <= deciding or deciding == {"several"}


# Distance


def _sample(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    mixing = rng.normal(size=(d, d))
    return np.asarray(rng.normal(size=(n, d)) @ mixing + rng.normal(size=d))


def _by_hand(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """W2^2 = |m1 - m2|^2 + tr(S1 + S2 - 2 (S2^1/2 S1 S2^1/2)^1/2), with SciPy's matrix root."""
    gap = first.mean(axis=0) - second.mean(axis=0)
    s1, s2 = np.cov(first.T), np.cov(second.T)
    root = sqrtm(s2)
    cross = np.real(np.trace(sqrtm(root @ s1 @ root)))
    return float(np.sqrt(gap @ gap + np.trace(s1) + np.trace(s2) - 2 * cross))


@pytest.mark.parametrize("d", [2, 5, 16])
def test_wasserstein_against_another_matrix_root(d: int) -> None:
    rng = stream("test", "wasserstein", d)
    first, second = _sample(rng, 60, d), _sample(rng, 45, d)
    assert wasserstein(first, second) == pytest.approx(_by_hand(first, second), rel=1e-6)
    assert wasserstein(first, second) == pytest.approx(wasserstein(second, first), rel=1e-9)


def test_wasserstein_in_one_dimension_in_closed_form() -> None:
    first, second = np.array([[0.0], [2.0], [4.0]]), np.array([[10.0], [11.0], [12.0]])
    # means 2 and 11, deviations 2 and 1: sqrt(9^2 + 1^2)
    assert wasserstein(first, second) == pytest.approx(np.sqrt(82))


def test_wasserstein_of_a_sample_with_itself_and_of_a_shift() -> None:
    sample = _sample(stream("test", "shift"), 50, 4)
    assert wasserstein(sample, sample) == pytest.approx(0, abs=1e-5)
    assert wasserstein(sample, sample + np.array((3.0, 0.0, 4.0, 0.0))) == pytest.approx(5.0)


def test_wasserstein_accepts_samples_that_do_not_span_all_dimensions() -> None:
    flat = np.zeros((10, 3))
    flat[:, 0] = np.arange(10)
    assert wasserstein(flat, flat + np.array((0.0, 2.0, 0.0))) == pytest.approx(2.0)


def test_separation_is_the_full_distance_if_pca_drops_nothing() -> None:
    rng = stream("test", "separation")
    features = np.zeros((9504, 5))
    features[:100] = _sample(rng, 100, 5)
    first, second = np.zeros(9504, bool), np.zeros(9504, bool)
    first[:60], second[60:100] = True, True
    distance = wasserstein(features[:60], features[60:100])
    assert separation(features, first, second, 5) == pytest.approx(distance, rel=1e-6)
    assert separation(features, first, second) == pytest.approx(distance, rel=1e-6)
    assert separation(features, first, second, 2) < distance  # a projection never increases a distance


def test_the_packaged_features_cover_every_object() -> None:
    features = packaged_features()
    assert features.values.shape == (9504, 64)
    assert np.isfinite(features.values).all()
    assert list(features.thresholds) == sorted(features.thresholds)
    assert len(np.unique(features.values, axis=0)) > 9000


def test_untrained_encoders_see_other_differences() -> None:
    """Gradients separate shapes better than colours, a histogram the reverse."""
    gradients, colours = other_features()
    assert (gradients.encoder, colours.encoder) == ("hog", "colour-histogram")
    cube, cone = (Rule((("shape/primary", shape),)).mask() for shape in ("cube", "cone"))
    red, blue = (Rule((("material/primary", "rubber"), ("colour/primary", name))).mask() for name in ("red", "blue"))
    for features, near, far in ((gradients, (red, blue), (cube, cone)), (colours, (cube, cone), (red, blue))):
        assert features.values.shape == (9504, 16)
        assert separation(features.values, *near) < separation(features.values, *far)


def test_similar_rules_are_closer_than_unrelated_ones() -> None:
    values = packaged_features().values
    cube = Rule((("shape/primary", "cube"), ("colour/primary", "red"))).mask()
    near = Rule((("shape/primary", "cube"), ("colour/primary", "red"), ("shape/secondary", "cone"))).mask()
    far = Rule((("shape/primary", "sphere"), ("material/primary", "glass"))).mask()
    assert separation(values, cube, near) < separation(values, cube, far)


def bias(size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """`separation` of two samples of one Gaussian, whose true distance is 0, in the covariance of all objects."""
    values = packaged_features().values
    spread = np.linalg.cholesky(np.cov(values.T) + 1e-9 * np.eye(values.shape[1]))
    first, second = np.zeros(9504, bool), np.zeros(9504, bool)
    first[:size], second[size : 2 * size] = True, True
    separations = []
    for _ in range(draws):
        features = np.zeros(values.shape)
        features[: 2 * size] = rng.normal(size=(2 * size, values.shape[1])) @ spread.T
        separations.append(separation(features, first, second))
    return np.array(separations)


def test_bias_falls_with_size_and_stays_below_the_levels_at_the_sizes_used() -> None:
    with threadpool_limits(1):
        by_size = {n: float(bias(n, 8, stream("test", "bias", n)).mean()) for n in (24, MIN_OBJECTS, 288, 1152)}
    assert list(by_size.values()) == sorted(by_size.values(), reverse=True)
    assert by_size[288] < by_size[24] / 2
    assert by_size[1152] < packaged_features().thresholds[0] / 2
