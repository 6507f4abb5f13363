"""`examples/visonlyqa`: on an imitation of the repository's layout, and on a clone of it named by VISONLYQA."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from examples.visonlyqa.measure import accuracy_rows, people, printed_agreement, with_people
from examples.visonlyqa.published import published_scores, read_published, readings_of
from examples.visonlyqa.tables import PROMPTS, printed_accuracies, questions, replies, write_tables
from snellen.core.build_options import BuildOptions
from snellen.core.item import ReplySpec
from snellen.exam.examination import Examination
from snellen.exam.run import run
from snellen.suites import SUITES

CLONE = os.environ.get("VISONLYQA", "")
LETTERS = ReplySpec("choice", (("a", "a"), ("b", "b"), ("c", "c")))
TRUTHS = ReplySpec("true_false", (("True", "true"), ("False", "false")))
CONDITIONS = "+".join(f"{prompt}>{condition}" for prompt, condition in PROMPTS.items())
TASKS: Mapping[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "real/geometry__triangle": ("single_answer", ("True", "False"), ("True", "False")),
    "real/geometry__length": ("single_answer", ("a", "b", "c"), ("b", "c")),
    "real/chemistry__shape_multi": ("multiple_answers", ("a", "b", "c", "d"), ("a,c", "b")),
    "real/geometry__shape": ("single_answer", ("a", "b"), ("a", "b")),
    "synthetic/3d__size": ("single_answer", ("a", "b", "c"), ("a", "c")),
}
"""Kind of question, options and answers of two questions by set and task, in the words of the repository."""
TUNED = "model-x_finetuned_3d__size"


def write_json(path: Path, content: Any, *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in content) if lines else json.dumps(content), "utf-8")


def write_replies(
    clone: Path, name: str, prompt: str, file: str, texts: Sequence[Any], readings: Sequence[str]
) -> None:
    """Replies of a model to a task with the accuracy that follows from the readings."""
    part, _, task = name.partition("/")
    answers = TASKS[name][2]
    rows = [
        {"prompt": "", "response": text, "y_pred": reading, "y_true": answer}
        for text, reading, answer in zip(texts, readings, answers, strict=True)
    ]
    folder = f"eval_{part}/{task}/prompt={prompt}/{file}"
    write_json(clone / "results" / "model_responses" / f"{folder}.jsonl", rows, lines=True)
    accuracy = sum(reading == answer for reading, answer in zip(readings, answers, strict=True)) / len(answers)
    write_json(clone / "results" / "evaluation_metrics" / f"{folder}.json", {"accuracy": accuracy})


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layout of the repository with two questions per task, one model under both prompts, and one tuned model."""
    clone = tmp_path_factory.mktemp("clone")
    for n, (name, (kind, options, answers)) in enumerate(TASKS.items()):
        rows = []
        for k, answer in enumerate(answers):
            path = f"images/{n}-{k}.png"
            (clone / "dataset" / "test" / "images").mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (40, 30), (50 * n, 100 * k, 90)).save(clone / "dataset" / "test" / path)
            listed = " ".join(f"({option}) {ord(option)}" for option in options) if len(options) != 2 else ""
            listed = "" if kind == "multiple_answers" else listed
            rows.append(
                {
                    "question": f"Which is right in {name}, drawing {k}? {listed}".strip(),
                    "answer": answer,
                    "response_options": options,
                    "image_path": path,
                }
            )
        write_json(clone / "dataset" / "test" / f"{name}.jsonl", rows, lines=True)
    for prompt in PROMPTS:
        write_replies(clone, "real/geometry__triangle", prompt, "model-x", ["True", ["False"]], ["True", "False"])
        texts = [
            "The lines suggest (b), which is near.",
            "Perhaps (a), perhaps (b)",
        ]  # the second is left to the reader
        write_replies(clone, "real/geometry__length", prompt, "model-x", texts, ["b", "c"])
        write_replies(clone, "real/chemistry__shape_multi", prompt, "model-x", ["a and c", "b, d"], ["a,c", "b,d"])
    write_replies(clone, "synthetic/3d__size", "no_reasoning", "model-x", ["a", "b"], ["a", "b"])
    write_replies(clone, "synthetic/3d__size", "no_reasoning", TUNED, ["(a)", "(c)"], ["a", "c"])
    write_json(
        clone / "results" / "human_performance" / "real_human_performance.json",
        {
            f"('geometry__triangle', {annotator})": {"accuracy": 0.9, "annotations": {"correct_list": [1, 1, right]}}
            for annotator, right in ((0, 0), (1, 1), ("'average'", 0))
        },
    )
    return clone


def recorded_runs(clone: Path, folder: Path) -> list[Examination]:
    """Runs with the replies of all models in a clone, and of those that were tuned."""
    write_tables(clone, folder)
    sources = {"table": folder / "questions.jsonl", "images": clone / "dataset" / "test"}
    options = BuildOptions(folder / "items", sources=sources, show_progress=False)
    items = SUITES.get("questions").recipes["table"].build(options)
    subjects = {"replies": CONDITIONS, "finetuned": "no_reasoning>vanilla"}
    return [
        run(items, [f"recorded:{folder / name}.jsonl?condition=prompt:{how}"], folder / name, show_progress=False)
        for name, how in subjects.items()
    ]


def scored(runs: Sequence[Examination], readings: Mapping[tuple[str, str, str], str]) -> pd.DataFrame:
    """Accuracy under `published` of all replies."""
    return accuracy_rows(
        pd.concat(
            published_scores(examination.responses, examination.items, examination.suite, readings)
            for examination in runs
        )
    )


def test_an_imitation_is_built_read_and_scored(clone: Path, tmp_path: Path) -> None:
    assert len(list(questions(clone))) == 8  # without the task to which there are no replies
    assert {reply.model for reply in replies(clone)} == {"model-x", "model-x-finetuned"}
    runs = recorded_runs(clone, tmp_path)
    assert {item.answer_kind for item in runs[0].items.items} == {"true_false", "choice", "choices"}
    scores = scored(runs, readings_of(clone))
    assert scores["outcome"].value_counts().to_dict() == {"answered": 16}
    by_task = scores[scores["condition"] == "method=reasoning"].groupby("task")["value"].mean().to_dict()
    assert by_task == {"geometry-triangle": 1, "geometry-length": 1, "chemistry-shape-multi": 0.5}
    assert printed_agreement(clone, scores) == ({(False, True): 7, (True, True): 1}, 0)


def test_readings_are_used_only_for_what_the_rule_cannot_read(clone: Path, tmp_path: Path) -> None:
    scores = scored(recorded_runs(clone, tmp_path), dict.fromkeys(readings_of(clone), "a"))
    of_task = {str(task): part["prediction"].unique().tolist() for task, part in scores.groupby("task")}
    assert of_task["geometry-length"] == ['"b"', '"a"']  # by the rule, and as read
    assert of_task["geometry-triangle"] == ['"true"', '"false"']


@pytest.mark.parametrize(
    ("text", "spec", "answer"),
    [
        ("It is (b), since b is long.", LETTERS, "b"),
        ("(a) and (b)", LETTERS, None),
        ("b", LETTERS, "b"),
        ("I like bees", LETTERS, "b"),  # a bare letter counts within words
        ("The cube", LETTERS, None),
        ("False: it is not true.", TRUTHS, "false"),
        ("True or False", TRUTHS, None),
        ("a,c", ReplySpec("choices", LETTERS.keys), None),
    ],
)
def test_the_rule_of_the_authors(text: str, spec: ReplySpec, answer: str | None) -> None:
    assert read_published(text, spec) == answer


def test_people_are_ceilings(clone: Path) -> None:
    assert people(clone) == {"geometry-triangle": (5, 6)}
    (ceiling,) = with_people(SUITES.get("questions"), people(clone)).card.ceilings
    assert (ceiling.task, ceiling.metric, ceiling.value) == ("geometry-triangle", "accuracy", 5 / 6)


@pytest.mark.slow
@pytest.mark.skipif(not CLONE, reason="no VISONLYQA=FOLDER with a clone of github.com/psunlpgroup/VisOnlyQA")
def test_all_accuracies_of_the_repository_follow_from_its_replies(tmp_path: Path) -> None:
    """600 of the twenty models and 170 of tuned ones; 423 of the 600 also without any reading of the repository."""
    runs, readings = recorded_runs(Path(CLONE), tmp_path), readings_of(Path(CLONE))
    assert printed_agreement(Path(CLONE), scored(runs, readings)) == ({(False, True): 600, (True, True): 170}, 0)
    by_rule, _ = printed_agreement(Path(CLONE), scored(runs, {}).fillna({"value": 0}))
    assert by_rule == {(False, True): 423, (False, False): 177, (True, True): 170}
    assert len(list(printed_accuracies(Path(CLONE)))) == 770
