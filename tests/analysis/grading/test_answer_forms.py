"""The unit of boxes over a whole run."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.analysis.grading.answer_forms import other_unit, units_read
from snellen.core.box_units import BOX_UNITS, in_unit
from snellen.core.item import Affine, ReplySpec
from snellen.core.seeds import stream
from snellen.scoring.answers import answer_form

FRACTION = ReplySpec("box", frame=Affine(1 / 640, 0, 0, 0, 1 / 640, 0))


def forms_of(unit: str, count: int, seed: int) -> list[str]:
    """The forms of so many random boxes that are given in a unit although fractions were asked for."""
    rng = stream("boxes", seed)
    corners = np.sort(rng.uniform(0, 640, (count, 2, 2)), axis=1).reshape(count, 4)
    spec = in_unit(FRACTION, unit)
    return [answer_form(spec.write(tuple(box)), FRACTION) for box in corners]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [8, 36])
def test_a_unit_is_recognised_from_a_run(count: int, seed: int) -> None:
    assert other_unit(forms_of("fractions", count, seed)) == ""
    for unit in ("percent", "pixels", "thousandths"):
        assert other_unit(forms_of(unit, count, seed)) == unit
    # The order of the sides is known from the family of the model only.
    assert other_unit(forms_of("thousandths-y-first", count, seed)) == "thousandths"
    for unit in ("thousandths-y-first", "1024ths-y-first"):
        assert other_unit(forms_of(unit, count, seed), own=unit) == unit


def test_the_subject_s_own_unit_is_not_believed_against_the_replies() -> None:
    assert other_unit(forms_of("thousandths", 36, 1), own="pixels") == "thousandths"
    assert other_unit(forms_of("fractions", 36, 1), own="pixels") == ""


def test_a_few_other_replies_do_not_matter_and_many_do() -> None:
    pixels = forms_of("pixels", 18, 2)
    assert other_unit([*pixels, "none"]) == "pixels"
    assert other_unit([*pixels, "none", "as asked", "corners exchanged"]) == ""
    assert other_unit([]) == ""
    assert other_unit(["none"] * 5) == ""


def test_units_in_which_boxes_were_read() -> None:
    assert units_read(["pixels", "as asked", "thousandths", "pixels"], ["answered"] * 2 + ["no_answer"] * 2) == [
        "pixels"
    ]
    assert set(units_read(list(BOX_UNITS), ["answered"] * len(BOX_UNITS))) == set(BOX_UNITS)
