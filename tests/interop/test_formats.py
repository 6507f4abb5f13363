"""Which questions fit the formats of other tools, on both sides of each limit, and how exports name things."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from snellen.core.errors import SnellenError
from snellen.interop import hub_questions
from snellen.interop.evalscope import too_many_images
from snellen.interop.formats import export_name, fields, not_a_choice, task_names
from snellen.interop.inspect_logs import sample_metadata
from snellen.interop.scoring_fields import NO_POINTS, not_scored_alone


def question_of(kind: str = "choice", options: int = 4, images: int = 1) -> Any:
    names = tuple(f"o{n}" for n in range(options))
    return SimpleNamespace(item=SimpleNamespace(answer_kind=kind), option_names=names, images=(None,) * images)


def test_questions_that_do_not_fit_a_format_are_left_out_with_the_reason() -> None:
    assert [not_a_choice(question_of(options=count)) for count in (1, 2, 26, 27)] == [
        "not from 2 to 26 options", None, None, "not from 2 to 26 options",
    ]  # fmt: skip
    assert not_a_choice(question_of("true_false", 2)) is None
    assert not_a_choice(question_of("choices")) == "answered by a choices, not by one of several options"
    assert [too_many_images(question_of(images=count)) for count in (100, 101)] == [None, "shows more than 100 images"]
    assert too_many_images(question_of("point")) == not_scored_alone(question_of("point")) == NO_POINTS


def test_names_of_exports_are_plain_and_two_tasks_of_one_name_are_refused() -> None:
    def selection(*tasks: str) -> Any:
        card = SimpleNamespace(content_hash="0123456789")
        suite = SimpleNamespace(name="own-set")
        return SimpleNamespace(suite=suite, items=SimpleNamespace(card=card), counts=lambda: dict.fromkeys(tasks, 1))

    assert export_name(selection()) == "snellen_own_set_01234567"
    assert task_names(selection("a-b", "c.d", "é")) == {"a-b": "a_b", "c.d": "c_d", "é": "_"}
    with pytest.raises(SnellenError, match="two tasks of own-set are both named 'a_b' in the export; rename one"):
        task_names(selection("c", "a-b", "a_b"))


def test_logs_of_one_subject_have_the_same_settings_and_solvers() -> None:
    """Settings of the plan take the place of those of the model; how calls are made changes no answer."""
    config = pytest.importorskip("inspect_ai.model").GenerateConfig
    from snellen.interop.inspect_import import MAX_SETTINGS, _settings

    def header(model: Any, plan: Any, solver: str = "generate", task_id: str = "t") -> Any:
        steps = [SimpleNamespace(solver=solver)]
        return SimpleNamespace(
            eval=SimpleNamespace(model_generate_config=model, task_id=task_id),
            plan=SimpleNamespace(config=plan, steps=steps),
        )

    usual = header(config(temperature=0.5), config(top_p=0.9))
    operation = {"max_retries": 3, "timeout": 9, "attempt_timeout": 5, "max_connections": 2, "batch": True}
    alike = header(config(temperature=1.0, top_p=0.9), config(temperature=0.5, **operation))
    expected = {"generation": {"temperature": 0.5, "top_p": 0.9}, "solvers": ["generate"]}
    assert _settings([usual, alike], "m") == expected
    for other in (
        header(config(temperature=0.5), config()),
        header(config(temperature=0.5), config(top_p=0.9), "chain"),
    ):
        with pytest.raises(SnellenError, match="m: the logs differ in their generation settings; make a run"):
            _settings([usual, alike, other], "m")
    with pytest.raises(SnellenError, match=f"have more than {MAX_SETTINGS} characters"):
        _settings([usual, header(config(temperature=0.5), config(top_p=0.9), task_id="t" * MAX_SETTINGS)], "m")


def test_a_table_of_several_row_groups_has_every_row_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_questions, "_GROUP_ROWS", 2)
    numbers: Any = range(5)
    empty: dict[str, Any] = {"option_names": [], "options": [], "images": []}
    path = tmp_path / "t.parquet"
    hub_questions.write_rows(numbers, lambda number: {"item_id": str(number), **empty}, ("item_id",), path)
    assert pq.read_table(path)["item_id"].to_pylist() == ["0", "1", "2", "3", "4"]
    assert pq.read_metadata(path).num_row_groups == 3


def test_a_question_has_every_field_of_its_item_in_each_format() -> None:
    own: Any = SimpleNamespace(item_id="i", suite="s", task="t", group_id="g", cluster_id="c", answer_kind="choice",
                               factors={"f": "x"})  # fmt: skip
    question: Any = SimpleNamespace(
        item=own, option_names=("A",), option_texts=("red",), key="A", metric="accuracy", images=()
    )
    assert fields(question) == {
        "item_id": "i", "suite": "s", "task": "t", "group_id": "g", "cluster_id": "c", "answer_kind": "choice",
        "option_names": ["A"], "options": ["red"], "key": "A", "metric": "accuracy", "factors": {"f": "x"},
    }  # fmt: skip
    selection: Any = SimpleNamespace(condition="c=1", items=SimpleNamespace(card=SimpleNamespace(content_hash="h")))
    question.images = (SimpleNamespace(sha256="a"), SimpleNamespace(sha256="b"))
    identity = {"content_hash": "h", "condition": "c=1", "task": "t", "media": ["a", "b"], "unit": "g", "unit_size": 2}
    metadata = sample_metadata(question, selection, {"i": ("g", 2)})
    assert metadata == {"f": "x", "metric": "accuracy", "group_id": "g", "snellen": identity}
