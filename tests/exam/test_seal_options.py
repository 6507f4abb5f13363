"""What a seal fixes and refuses, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from snellen.cli.building import _refuse_options
from snellen.core.build_options import MAX_SIDE_PX, MIN_SIDE_PX, BuildOptions
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.seal import Seal
from snellen.exam.sealing import build_sealed, built_again, make_seal, planned_items, reveal, sealed_options
from snellen.suites import SUITES
from tests.helpers.journey import colour_set
from tests.helpers.refusals import assert_refused

OPTIONS: dict[str, Any] = {
    "n": 3, "tasks": ("category-building",), "size": (120, 90), "renderer": "toy", "quality": "good", "full": True,
    "balance": "paper", "settings": {"distractors": "paper"}, "allow_unmatched": True,
}  # fmt: skip


def _seal(**options: Any) -> Seal:
    return make_seal(SUITES.get("combo"), BuildOptions(Path(), **options))


@pytest.fixture(scope="module")
def seal() -> Seal:
    return _seal(n=2, tasks=("category-building",), renderer="toy")


@pytest.mark.parametrize("name", OPTIONS)
def test_a_build_takes_from_the_seal_whatever_decides_about_its_items(name: str) -> None:
    """And nothing else: the folder and the number of workers are the builder's."""
    sealed = _seal(**{name: OPTIONS[name]})
    given = BuildOptions(Path("mine"), seed=7, n=99, tasks=("img2text",), quality="reference", workers=3)
    options = sealed_options(sealed, given)
    assert getattr(options, name) == OPTIONS[name]
    usual = BuildOptions(Path())
    others = [other for other in OPTIONS if other != name]
    assert [getattr(options, other) for other in others] == [getattr(usual, other) for other in others]
    assert (options.seed, options.out, options.workers) == (int(sealed.seed), Path("mine"), 3)


@pytest.mark.parametrize("side", [MIN_SIDE_PX - 1, MAX_SIDE_PX + 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_each_side_of_sealed_images_has_limits(side: int, axis: int, seal: Seal) -> None:
    sides = [120, 120]
    sides[axis] = side
    parameters = seal.parameters.model_copy(update={"size": tuple(sides)})
    stranger = seal.model_copy(update={"parameters": parameters})
    assert_refused(lambda: sealed_options(stranger, BuildOptions(Path())), f"images of {tuple(sides)} pixels cannot be")


@pytest.mark.parametrize(
    "use",
    [
        lambda seal, folder: build_sealed(seal, BuildOptions(folder / "items")),
        lambda seal, folder: built_again(seal).__enter__(),
        lambda seal, folder: planned_items(seal),
    ],
)
def test_a_seal_of_another_version_of_its_suite_builds_nothing(
    use: Callable[[Seal, Path], object], seal: Seal, tmp_path: Path
) -> None:
    words = f"of combo version 0, and this is version {SUITES.get('combo').card.version}; install the Snellen of that"
    assert_refused(lambda: use(seal.model_copy(update={"version": "0"}), tmp_path), words)
    assert list(tmp_path.iterdir()) == []


def test_options_that_the_seal_determines_are_named_as_they_are_written(seal: Seal) -> None:
    options = BuildOptions(Path(), allow_unmatched=True, size=(120, 90))
    assert_refused(lambda: _refuse_options(seal, "combo", options), "so leave out size, allow-unmatched; make another")


def test_a_recipe_that_cannot_be_built_is_not_sealed() -> None:
    assert_refused(lambda: _seal(tasks=("nothing",)), "nothing")
    assert_refused(lambda: make_seal(SUITES.get("questions"), BuildOptions(Path())), "has no recipe 'generated'")


def test_a_seal_is_revealed_beside_a_sealed_set_alone(seal: Seal, tmp_path: Path) -> None:
    plain: ItemSet = colour_set(tmp_path / "set")
    assert_refused(lambda: reveal(seal, plain.root), "not a sealed set; build one with `snellen build SUITE --sealed")
    assert not (plain.root / "revealed.json").exists()


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("seed", ["0", "9" * 40], ["", "-1", "1.0", "9" * 41, "0x1"]),
        ("salt", ["a" * 64], ["A" * 64, "a" * 63, "a" * 65, ""]),
        ("commitment", ["0" * 64], ["g" * 64, "0" * 63, "0" * 65]),
    ],
)
def test_fields_of_a_seal_have_their_form(name: str, right: list[str], wrong: list[str], seal: Seal) -> None:
    cells = seal.model_dump()
    assert [Seal.model_validate({**cells, name: text}) for text in right]
    for text in wrong:
        with pytest.raises(ValidationError):
            Seal.model_validate({**cells, name: text})
