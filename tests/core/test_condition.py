from __future__ import annotations

import pytest

from snellen.core.condition import Axis, Condition, parse_conditions
from snellen.core.errors import SnellenError

AXES = (Axis("shots", (5, 0, 1, 2, 3, 4)), Axis("labels", ("true", "fabricated", "exchanged")))


def written(text: str) -> list[str]:
    return [str(condition) for condition in parse_conditions(AXES, text)]


def test_names_come_in_the_order_of_the_axes_and_ranges_expand() -> None:
    assert written("labels=fabricated,shots=0..2") == [f"shots={n},labels=fabricated" for n in range(3)]
    assert written(" labels = exchanged ") == ["labels=exchanged"]
    assert written("shots=4..5") == ["shots=4", "vanilla"], "a default is not written"
    assert written("shots=2..2") == ["shots=2"]


@pytest.mark.parametrize("text", ["", "vanilla", "shots=5", "labels=true,shots=5"])
def test_all_defaults_are_vanilla(text: str) -> None:
    assert parse_conditions(AXES, text) == (Condition(AXES),)
    assert written(text) == ["vanilla"]


def test_a_condition_states_every_axis() -> None:
    (condition,) = parse_conditions(AXES, "shots=0")
    assert condition.columns() == {"shots": 0, "labels": "true"}
    assert condition.moves() == {"shots"}
    assert condition["shots"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shot=1", "no axis 'shot'; did you mean 'shots'?"),
        ("labels=fabricate", "'labels' has no value 'fabricate'; did you mean 'fabricated'?"),
        ("shots=4..7", "'shots' has no value '6'"),
        ("shots=3..1", "'shots' has no value '3..1'"),
        ("shots=0..99999999999999", "'shots' has no value '6'"),  # of a hostile log; the range is never held
        *((f"shots={text}", "'shots' has no value '") for text in (f"0..{'9' * 5000}", f"{'9' * 5000}..1")),
        ("shots=\u00b2..3", "'shots' has no value"),
        ("shots=1,shots=2", "'shots' is given twice"),
        ("shots", "'shots' needs a value"),
        ("shots=1,", "no axis ''"),
        ("quality=high", "available: shots, labels"),
    ],
)
def test_errors_name_the_fault_and_the_choices(text: str, message: str) -> None:
    with pytest.raises(SnellenError, match="axis") as caught:
        parse_conditions(AXES, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
