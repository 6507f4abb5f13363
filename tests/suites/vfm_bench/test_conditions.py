"""Which transforms and parts each condition gives an episode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from snellen.core.annotations import Annotations
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Montage
from snellen.core.suite import Transform, ViewContext
from snellen.suites.vfm_bench import prompts
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item
from snellen.suites.vfm_bench.tasks import AXES, TASKS, presenter
from snellen.suites.vfm_bench.transforms import Described, Enhanced, Exchanged, Fabricated, Noisy, Patched, Replicated

(TASK,) = TASKS.values()
BOX = (10.0, 20.0, 50.0, 40.0)


def _image(number: int) -> Media:
    return Media(f"{number:064x}", "image", "png", 100, 80)


def _item(industry: str = "Medical", **fields: Any) -> Item:
    """Three classes of two shots each; the second class is true."""
    classes = tuple(
        EpisodeClass(name, (_image(2 * n), _image(2 * n + 1)), (f"a {name}", "seen"), f"it is {name}")
        for n, name in enumerate(("flat", "bent", "torn"))
    )
    cells: dict[str, Any] = {"box": BOX, **fields}
    return episode_item(Episode("0", _image(9), classes, 1, industry, "detail", "leaf", "S", "c", **cells))


def _condition(text: str) -> Condition:
    (condition,) = parse_conditions(AXES, text)
    return condition


def _transforms(item: Item, text: str, **tables: Annotations) -> tuple[Transform, ...]:
    """Those after the number of shots."""
    return TASK.transforms(item, ViewContext(_condition(text), [item], tables))[1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vanilla", ()), ("labels=exchange", (Exchanged(),)), ("labels=fabricated", (Fabricated(),)),
        ("images=total-noise", (Noisy(),)), ("images=negative-noise", (Noisy(spare="c1"),)),
        ("images=replicated", (Replicated(),)), ("query=enhance", (Enhanced(BOX),)),
        ("query=noise-100", (Patched(BOX, 1.0),)), ("query=noise-50", (Patched(BOX, 0.5),)),
        ("query=noise-33", (Patched(BOX, 0.33),)), ("query=noise", (Patched(BOX, size_px=(30.0, 12.0)),)),
    ],
)  # fmt: skip
def test_a_condition_names_its_transforms(text: str, expected: tuple[Transform, ...]) -> None:
    item = _item()
    item = replace(item, measures={**item.measures, "mean_region_width": 30.0, "mean_region_height": 12.0})
    assert _transforms(item, text) == expected
    assert [_transforms(_item(name), "vanilla") for name in ("Generated", "Own")] == [(Fabricated(),), ()]
    assert _transforms(_item(), "query=noise") == (Patched(BOX, size_px=(40.0, 20.0)),), "the size of its own region"


def test_shots_need_demos_and_changed_queries_a_region() -> None:
    items = [_item(), _item(box=None), replace(_item(), support=())]
    asks: Any = TASK.asks
    for text, expected in {
        "vanilla": [True, True, False],
        "shots=0": [True, True, True],
        "query=enhance": [True, False, False],
        "query=noise,shots=0": [True, False, True],
    }.items():
        assert [asks(item, _condition(text)) for item in items] == expected, text


def test_descriptions_come_from_the_row_of_a_table_or_from_the_item_and_name_every_class() -> None:
    item = _item()

    def described(name: str, text: str) -> tuple[Transform, ...]:
        table = Annotations("instructions", "somebody", "", {name: {"text": text}})
        return _transforms(item, "instruction=detailed", instructions=table)

    row = "- torn: in two\n- flat: even\n- bent: curved"
    assert described(item.item_id, row) == (Described({"c0": "even", "c1": "curved", "c2": "in two"}),)
    own = {"c0": "it is flat", "c1": "it is bent", "c2": "it is torn"}
    assert described("another", row) == _transforms(item, "instruction=detailed") == (Described(own),)
    with pytest.raises(SnellenError, match=f"item {item.item_id}: the table `instructions` does not describe every"):
        described(item.item_id, "- torn: in two")
    for latent in ({}, {"definitions": {"c0": "it is flat"}}):
        with pytest.raises(SnellenError, match=r"no descriptions of its classes; build .* `--input instructions=RUN`"):
            _transforms(replace(item, latent=latent), "instruction=detailed")


def test_one_sheet_has_a_column_per_class_and_a_question_mark_at_the_query() -> None:
    item = _item()
    view = replace(item.view(), support=item.support)
    _, page = presenter(_condition("sheet=single"))(view)
    images = (*(demo.media[0] for demo in item.support), *item.query)
    assert page == Montage(images, 3, ("flat", "bent", "torn") * 2 + ("?",))
    assert presenter(_condition("sheet=single,demos=visual-prompt"))(view)[1:] == (prompts.VISUAL_END, page)
    _, query_alone = presenter(_condition("sheet=single"))(replace(view, support=()))
    assert query_alone == Montage(item.query, 1, ("?",))
