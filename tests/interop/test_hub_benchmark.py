"""`eval.yaml` of an exported set, run by Inspect AI as it runs benchmarks of the Hub, without a network."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from snellen.core.condition import parse_conditions
from snellen.interop.exporting import export
from snellen.interop.hub_questions import _pattern, benchmark_tasks
from snellen.interop.questions import ModelQuestion, select_questions
from snellen.suites import SUITES
from tests.helpers.extras import need
from tests.helpers.sets import small_set

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")
need("datasets", "hub")


def _questions(suite: str, condition: str, sets_folder: Path, folder: Path) -> dict[str, list[ModelQuestion]]:
    (point,) = parse_conditions(SUITES.get(suite).axes, condition)
    return benchmark_tasks(select_questions(small_set(suite, sets_folder), SUITES.get(suite), point, folder))


def test_only_tasks_that_the_format_can_hold_are_declared(sets_folder: Path, tmp_path: Path) -> None:
    """AVA-Bench's boxes and colours have no scorer there, and VLM²-Bench's questions have several images."""
    tasks = _questions("ava-bench", "vanilla", sets_folder, tmp_path)
    assert "counting" in tasks
    assert "localization" not in tasks
    assert _questions("vlm2-bench", "vanilla", sets_folder, tmp_path) == {}
    export(small_set("vlm2-bench", sets_folder).root, "hf", tmp_path / "none")
    assert not (tmp_path / "none" / "eval.yaml").exists()


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("It is red, no, dark red.", "dark red"), ("dark red at first, but red", "red"), ("Dark Red", "Dark Red"),
        ("not the same", "not the same"), ("the same", "the same"), ("red wine", "red wine"), ("infrared", None),
    ],
)  # fmt: skip
def test_a_name_that_ends_or_begins_a_longer_one_is_told_from_it(reply: str, name: str | None) -> None:
    pattern = _pattern({"red", "dark red", "the same", "not the same", "red wine"})
    match = re.match(pattern, reply, re.IGNORECASE)
    assert (match and match[1]) == name


def test_patterns_read_keys_as_our_parser_does(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("ava-bench", sets_folder)
    export(items.root, "hf", tmp_path / "set")
    declared = yaml.safe_load((tmp_path / "set" / "eval.yaml").read_text("utf-8"))
    arguments = {task["id"]: task["scorers"][0]["args"] for task in declared["tasks"]}
    for task, questions in _questions("ava-bench", "vanilla", sets_folder, tmp_path).items():
        flags = re.IGNORECASE if arguments[task]["ignore_case"] else 0
        for question in questions:
            for reply in (question.key, f"The answer is {question.key}."):
                match = re.search(arguments[task]["pattern"], reply, flags)
                assert match is not None, (task, reply)
                assert match[1].lower() == question.key.lower()


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "condition"), [("ava-bench", "vanilla"), ("combo", "samples=1,questions=one")])
def test_inspect_runs_the_benchmark(
    suite: str, condition: str, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that replies with the keys gets all right, and one that never does gets nothing right."""
    from inspect_ai._eval.task.hf import task_create_from_hf
    from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model

    folder = tmp_path / "owner" / "exported"
    export(small_set(suite, sets_folder).root, "hf", folder, condition)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda **_: os.fspath(folder / "eval.yaml"))
    questions = _questions(suite, condition, sets_folder, tmp_path)
    tasks = task_create_from_hf("hf/owner/exported")
    assert len(tasks) == len(questions) > 0

    def output(text: str) -> ModelOutput:
        completion = ModelOutput.from_content("mock", text)
        completion.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return completion

    for task in tasks:
        assert len(task.dataset) == len(
            questions[task.name.rsplit("/", 1)[-1] if len(tasks) > 1 else next(iter(questions))]
        )

        def right(messages: list[ChatMessage], *_: object, samples: object = task.dataset) -> ModelOutput:
            sent = messages[-1].content
            for sample in samples:  # type: ignore[attr-defined]
                content = sample.input if isinstance(sample.input, str) else sample.input[-1].content
                if content == sent:
                    return output(f"It is {sample.target}.")
            return output("")

        for reply, expected in ((right, 1.0), (lambda *_: output("no answer at all"), 0.0)):
            model = get_model("mockllm/model", custom_outputs=reply)
            (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", limit=6)
            assert log.status == "success"
            assert log.results.scores[0].metrics["accuracy"].value == expected
