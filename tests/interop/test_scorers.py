"""What exported tasks import to score replies: the same scores, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import snellen
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.exam.examination import Examination
from snellen.exam.examine import examine
from snellen.interop.exporting import export
from snellen.interop.formats import plain_name
from snellen.interop.lmms_eval import write_task_folder
from snellen.interop.questions import ModelQuestion, Selection, select_questions
from snellen.interop.scorers import lmms_eval_hooks
from snellen.interop.scorers.lmms_eval_hooks import FAILED, process_results
from snellen.interop.scorers.scoring import mean_of_units, score
from snellen.interop.scoring_fields import not_scored_alone, scoring_fields, units
from snellen.suites import SUITES
from tests.helpers.inspect_logs import run_of_logs
from tests.helpers.sets import small_set

CONDITIONS = {
    "combo": "samples=1,questions=one",
    "vlm2-bench": "vanilla",
    "ava-bench": "vanilla",
    "vfm-bench": "vanilla",
}
REPLIES = (
    "", "I cannot tell.", "B", "The answer is C.", "<think>A</think> (B)", "T", "**False**",
    "There are three of them.", '[{"sample": 1, "q1": "2"}]', '{"answer": 4}', "[10, 20, 110, 140]",
    "x1=0.1, y1=0.2, x2=0.5, y2=0.6", "rgb(10, 200, 30)", "About 3.5 m",
    'The text in the red bounding box reads "DEMO".', '{"text": "DEMO"}', "I can't read it.",
)  # fmt: skip


def _questions(suite_name: str, sets_folder: Path, folder: Path) -> tuple[ModelQuestion, ...]:
    suite = SUITES.get(suite_name)
    (condition,) = parse_conditions(suite.axes, CONDITIONS[suite_name])
    return select_questions(small_set(suite_name, sets_folder), suite, condition, folder).questions


@pytest.mark.parametrize(
    "suite", ["combo", "vlm2-bench", "ava-bench", pytest.param("vfm-bench", marks=pytest.mark.slow)]
)
def test_scores_are_ours(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    """One or two questions of each task, with fields that went through JSON, and every kind of reply."""
    everything = _questions(suite, sets_folder, tmp_path)
    tasks = dict.fromkeys(question.item.task for question in everything)
    questions = [q for task in tasks for q in [q for q in everything if q.item.task == task][:2]]
    keys = list(dict.fromkeys(question.key for question in questions))[:10]
    outcomes = set()
    for question in questions:
        fields = json.loads(json.dumps(scoring_fields(question)))
        for reply in (question.key, *keys, *REPLIES):
            outcome, value = score(fields, reply)
            expected_outcome, expected = question.score(reply)
            assert str(outcome) == expected_outcome, (question.item, reply)
            assert value == pytest.approx(expected, abs=1e-9), (question.item, reply)
            outcomes.add(outcome)
    assert outcomes == {"answered", "no_answer"}


@pytest.mark.parametrize("key", ["DEMO", "Answer: B", '"SALE"'])
def test_texts_are_unwrapped_as_here(key: str, sets_folder: Path, tmp_path: Path) -> None:
    """Also if the text of the sign looks like a wrapper."""
    question = next(q for q in _questions("ava-bench", sets_folder, tmp_path) if q.item.task == "ocr")
    question = replace(question, item=replace(question.item, answer=key))
    assert not_scored_alone(question) is None
    fields = json.loads(json.dumps(scoring_fields(question)))
    for reply in (key, f'The text in the red bounding box reads "{key}".', f"<answer>{key}</answer>"):
        assert score(fields, reply) == question.score(reply) == ("answered", 1.0)


def test_a_task_that_is_not_scored_by_a_mean_is_not_exported(sets_folder: Path, tmp_path: Path) -> None:
    """Questions are scored alike, but an export knows no other summary."""
    question = _questions("vlm2-bench", sets_folder, tmp_path)[0]
    metrics = tuple(replace(metric, summary="median") for metric in question.protocol.metrics)
    assert not_scored_alone(question) is None
    assert not_scored_alone(replace(question, protocol=replace(question.protocol, metrics=metrics)))


def test_tasks_have_their_own_files(sets_folder: Path, tmp_path: Path) -> None:
    question = _questions("vlm2-bench", sets_folder, tmp_path)[0]
    questions = tuple(replace(question, item=replace(question.item, task=task)) for task in ("a-b", "a_b"))
    suite = SUITES.get("vlm2-bench")
    items = small_set("vlm2-bench", sets_folder)
    selection = Selection(items, suite, parse_conditions(suite.axes, "vanilla")[0], items.media, questions, {})
    with pytest.raises(SnellenError, match="two tasks"):
        write_task_folder(selection, tmp_path / "out")
    assert plain_name("2\u00b2 x") == "2__x"


def test_units_are_those_of_the_protocol(sets_folder: Path, tmp_path: Path) -> None:
    """Pairs of VLM2-Bench by hand: a pair scores its worse half, and nothing if one half was not answered."""
    questions = [q for q in _questions("vlm2-bench", sets_folder, tmp_path) if q.item.task in ("oc-cpr", "oc-cnt")]
    unit_of = units(questions)
    pairs = [q for q in questions if q.item.task == "oc-cpr"]
    assert {unit_of[q.item.item_id] for q in pairs} == {(q.item.group_id, 2) for q in pairs}
    others = [q for q in questions if q.item.task == "oc-cnt"]
    assert all(unit_of[q.item.item_id] == (q.item.item_id, 1) for q in others)


def test_mean_of_units_by_hand() -> None:
    scores = [("a", 2, 1.0), ("a", 2, 0.0), ("b", 2, 1.0), ("b", 2, 1.0), ("c", 2, 1.0), ("d", 1, 0.5)]
    assert mean_of_units(scores) == pytest.approx((0.0 + 1.0 + 0.5) / 3)  # half of c is missing
    assert math.isnan(mean_of_units([]))


def test_a_failed_call_is_no_score() -> None:
    fields: dict[str, object] = {
        "kind": "choice", "keys": [["A", "a"], ["B", "b"]], "frame": None, "answer": "a", "metric": "accuracy",
    }  # fmt: skip
    fields |= {"worst": 0.0, "higher_is_better": True, "option_scores": {"a": 1.0, "b": 0.0}, "on_sheet": False}
    doc = {"scoring": json.dumps(fields), "metric": "accuracy", "unit_size": "1", "cluster_id": "c", "item_id": "i"}
    replies = ("A", "B", "who knows", f"{FAILED} after 5 retries] 503")
    rows = [process_results({**doc, "unit": str(number)}, [reply]) for number, reply in enumerate(replies)]
    assert {cell["item_id"] for row in rows for cell in row.values()} == {"i"}  # lmms-eval writes nothing else of a row
    means = {
        name: getattr(lmms_eval_hooks, function)([row[name] for row in rows])
        for name, function in (("accuracy", "mean_over_units"), ("no_answer", "rate"), ("failed", "rate"))
    }
    assert means == pytest.approx({"accuracy": 1 / 3, "no_answer": 1 / 3, "failed": 1 / 4})


@pytest.fixture(scope="module")
def exported(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exports") / "lmms-eval"
    export(small_set("vlm2-bench", sets_folder).root, "lmms-eval", root)
    return root


def test_the_one_module_of_an_export_imports_a_scorer_and_calls_no_other_code(exported: Path) -> None:
    assert [path.name for path in exported.rglob("*.py")] == ["utils.py"]
    nodes = list(ast.walk(ast.parse((exported / "utils.py").read_text("utf-8"))))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert modules == {"snellen.interop.scorers.lmms_eval_hooks"}
    calls = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not calls


def test_scoring_imports_little() -> None:
    """lmms-eval and Inspect import it beside their own packages: no tables, figures or models come with it."""
    heavy = ("pandas", "pyarrow", "matplotlib", "scipy", "sklearn", "torch", "typer")
    code = f"import sys, snellen.interop.scorers.lmms_eval_hooks; print([n for n in {heavy} if n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def _module(path: Path) -> ModuleType:
    """As lmms-eval loads `utils.py`."""
    spec = importlib.util.spec_from_file_location("utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_messages_have_images_in_their_places(exported: Path) -> None:
    utils = _module(exported / "utils.py")
    parts = [
        {"type": "text", "text": "Before"},
        {"type": "image"},
        {"type": "text", "text": "between"},
        {"type": "image"},
    ]
    doc = {"images": ["first", "second"], "parts": json.dumps(parts), "prompt": "Before [image 1]"}
    assert utils.doc_to_messages(doc) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Before"},
                {"type": "image", "url": "first"},
                {"type": "text", "text": "between"},
                {"type": "image", "url": "second"},
            ],
        }
    ]
    assert utils.doc_to_visual(doc) == ["first", "second"]
    assert utils.doc_to_text(doc) == "Before [image 1]"


# In the frameworks themselves


def _replies(questions: tuple[ModelQuestion, ...]) -> dict[str, str]:
    """Right, wrong or unreadable, by the item's id only."""
    by_number = ("The answer is {}.", "T", "I cannot see it", "{}")
    return {
        question.item.item_id: by_number[sum(question.item.item_id.encode()) % 4].format(question.key)
        for question in questions
    }


def _examined(replies: Mapping[str, str], items: Path, folder: Path, condition: str) -> Examination:
    script = folder / "script.json"
    script.write_text(json.dumps({**replies, "*": ""}))
    return examine(f"fake:scripted={script}", items, condition=condition, out=folder / "asked", show_progress=False)


def _task_scores(examination: Examination, questions: tuple[ModelQuestion, ...]) -> dict[str, float]:
    """The main metric of each task, of whole tasks."""
    rows = examination.all_results()
    rows = rows[(rows["protocol"] == "strict") & (rows["factor"] == "")]
    metrics = {question.item.task: question.metric for question in questions}
    return {
        task: float(rows[(rows["task"] == task) & (rows["metric"] == m)]["value"].iloc[0])
        for task, m in metrics.items()
    }


def _run(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    ours = {"PYTHONPATH": str(Path(snellen.__file__).parents[1])}
    ended = subprocess.run(arguments, cwd=folder, env={**environment, **ours}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]


LMMS_EVAL = """
import json, sys
from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager

folder, group, replies, out = sys.argv[1:]
replies, sent = json.load(open(replies)), {}


class Stub(lmms):
    is_simple = False

    def loglikelihood(self, requests):
        raise NotImplementedError

    generate_until_multi_round = loglikelihood

    def generate_until(self, requests):
        answers = []
        for request in requests:
            _, doc_to_messages, _, doc_id, task, split = request.args
            doc = self.task_dict[task][split][doc_id]
            (turn,) = doc_to_messages(doc)
            sent[doc["item_id"]] = [p.get("text") or list(p["url"].size) for p in turn["content"]]
            answers.append(replies[doc["item_id"]])
        return answers


manager = TaskManager(include_path=folder, include_defaults=False)
results = simple_evaluate(model=Stub(), tasks=[group], task_manager=manager, bootstrap_iters=0, batch_size=1)
samples = {s["doc"]["item_id"]: s for rows in results["samples"].values() for s in rows}
json.dump({"results": results["results"], "sent": sent, "samples": samples}, open(out, "w"), default=str)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["vlm2-bench", "ava-bench"])
def test_lmms_eval_gives_our_scores(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    """With the Python of an environment that has lmms-eval in LMMS_EVAL_PYTHON (docs/exports.md)."""
    python = os.environ.get("LMMS_EVAL_PYTHON")
    if not python:
        pytest.skip("LMMS_EVAL_PYTHON is not set")
    items, questions = small_set(suite, sets_folder), _questions(suite, sets_folder, tmp_path / "media")
    replies = _replies(questions)
    export(items.root, "lmms-eval", tmp_path / "export", CONDITIONS[suite])
    group = next(path.stem for path in (tmp_path / "export").glob("*.yaml") if path.read_text().startswith("group:"))
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    environment = {
        "HOME": str(tmp_path),
        "HF_HOME": str(tmp_path / "hf"),
        "HF_DATASETS_OFFLINE": "1",
        "PATH": "/usr/bin",
    }
    arguments = [python, "-c", LMMS_EVAL, "export", group, "replies.json", "out.json"]
    _run(arguments, tmp_path, environment)
    theirs = json.loads((tmp_path / "out.json").read_text())
    by_id = {question.item.item_id: question for question in questions}
    assert set(theirs["samples"]) == set(by_id)
    for item_id, sample in theirs["samples"].items():
        question = by_id[item_id]
        assert sample[question.metric]["score"] == pytest.approx(question.score(replies[item_id])[1], abs=1e-9)
        parts = [part if isinstance(part, str) else [part.width, part.height] for part in question.parts]
        assert theirs["sent"][item_id] == parts
    for task, value in _task_scores(_examined(replies, items.root, tmp_path, CONDITIONS[suite]), questions).items():
        row = theirs["results"][f"{group}_{task.replace('-', '_')}"]
        (metric,) = {question.metric for question in questions if question.item.task == task}
        assert row[f"{metric},none"] == pytest.approx(value, abs=1e-9)


INSPECT = """
import json, sys
import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from snellen.interop.inspect_tasks import TASKS


def answer(messages, *_):
    text = messages[-1].text
    output = ModelOutput.from_content("mock", "TF2A"[sum(text.encode()) % 4])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else tokens are counted by a download
    return output


model = get_model("mockllm/model", custom_outputs=answer)
built = [TASKS[name](itemset=sys.argv[1]) for name in sys.argv[2:]]
logs = inspect_ai.eval(built, model=model, log_dir="logs", display="none")
assert {log.status for log in logs} == {"success"}
scores = {sample.id: sample.scores["protocol_scorer"].value for log in logs for sample in log.samples}
metrics = {log.eval.task: log.results.scores[0].metrics["unit_mean"].value for log in logs}
json.dump({"scores": scores, "metrics": metrics}, open("out.json", "w"))
"""


@pytest.mark.slow
def test_inspect_gives_our_scores_and_its_logs_become_a_run(sets_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")
    items, questions = small_set("vlm2-bench", sets_folder), _questions("vlm2-bench", sets_folder, tmp_path / "media")
    tasks = sorted({f"vlm2-bench/{question.item.task}" for question in questions})
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    _run([sys.executable, "-c", INSPECT, str(items.root), *tasks], tmp_path, environment)
    theirs = json.loads((tmp_path / "out.json").read_text())
    replies = {
        q.item.item_id: "TF2A"[sum("\n".join(part for part in q.parts if isinstance(part, str)).encode()) % 4]
        for q in questions
    }
    assert theirs["scores"] == {q.item.item_id: q.score(replies[q.item.item_id])[1] for q in questions}
    expected = _task_scores(_examined(replies, items.root, tmp_path, "vanilla"), questions)
    names = {task: f"snellen/vlm2_bench_{task.replace('-', '_')}" for task in expected}
    assert theirs["metrics"] == {names[task]: value for task, value in expected.items()}
    imported = run_of_logs(sorted((tmp_path / "logs").glob("*.eval")), items.root, tmp_path / "run")
    assert (imported.agreeing, imported.differing) == (len(questions), 0)
    assert _task_scores(imported.examination, questions) == expected
