"""Tasks of Inspect AI over our item sets, asked offline of its mock model: the scores are ours."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.comparison.changes import changes
from snellen.core.errors import SnellenError
from snellen.exam.compare import run_of_subject
from snellen.exam.examine import examine
from snellen.reports import write_report
from snellen.runs.scores.score import read_scores
from tests.helpers.inspect_logs import run_of_logs
from tests.helpers.sets import small_set

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "task", "reply"), [("combo", "text2img", "B"), ("vlm2-bench", "oc-cpr", "T")])
def test_scores_are_ours(suite: str, task: str, reply: str, sets_folder: Path, tmp_path: Path) -> None:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from snellen.interop.inspect_tasks import TASKS

    items = small_set(suite, sets_folder)
    output = ModelOutput.from_content("mock", reply)
    output.usage = ModelUsage(
        input_tokens=1, output_tokens=1, total_tokens=2
    )  # otherwise counting tokens needs a download
    model = get_model("mockllm/model", custom_outputs=lambda *_: output)
    built = TASKS[f"{suite}/{task}"](itemset=str(items.root))
    (log,) = inspect_ai.eval(built, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success"
    examine(lambda parts: reply, items.root, out=tmp_path / "run", show_progress=False)
    ours = read_scores(tmp_path / "run")["strict"]
    ours = ours[(ours.task == task) & (ours.split == "test")]
    imported = run_of_logs([Path(log.location)], items.root, tmp_path / "imported")
    assert (imported.agreeing, imported.differing) == (len(log.samples), 0)
    assert imported.examination.unasked() == {}
    again = read_scores(tmp_path / "imported")["strict"]
    columns = ["item_id", "metric", "outcome", "value", "prediction"]
    first, second = (rows[columns].sort_values(columns[:2], ignore_index=True) for rows in (again, ours))
    pd.testing.assert_frame_equal(first, second)
    metric = log.samples[0].metadata["metric"]
    expected = dict(ours[ours.metric == metric][["item_id", "value"]].itertuples(index=False))
    scores = {sample.id: sample.scores["protocol_scorer"].value for sample in log.samples}
    assert scores == expected
    assert len(set(scores.values())) == 2  # some right, some wrong: otherwise the comparison is empty


@pytest.mark.slow
@pytest.mark.parametrize("opener", ["inspect_ai.model.get_model('mockllm/model')", "make_chat('mockllm/model', {})"])
def test_our_tasks_are_found_by_inspect_and_not_by_our_own_runs(opener: str) -> None:
    code = (
        f"import sys, inspect_ai.model; from snellen.subjects.chat import make_chat; {opener}; "
        "print('snellen.interop.inspect_tasks' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str("make_chat" not in opener)


@pytest.mark.slow
def test_errors_epochs_and_reports(sets_folder: Path, tmp_path: Path) -> None:
    """A model that fails on some samples, asked twice; the run is reported, compared and verified."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from snellen.interop.inspect_tasks import TASKS

    items, numbers = small_set("vlm2-bench", sets_folder), count()

    def answer(*_: object) -> ModelOutput:
        if next(numbers) % 4 == 3:
            raise RuntimeError("overloaded")
        output = ModelOutput.from_content("mock", "T")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = inspect_ai.eval(
        TASKS["vlm2-bench/oc-cpr"](itemset=str(items.root)), model=model, log_dir=str(tmp_path), display="none",
        epochs=2, fail_on_error=False,
    )  # fmt: skip
    imported = run_of_logs([Path(log.location)], items.root, tmp_path / "run")
    failed = sum(sample.error is not None for sample in log.samples)
    assert imported.examination.failed == failed > 0
    assert len(imported.examination.responses) == len(log.samples) == 20
    assert "overloaded" in str(imported.examination.reasons("failed"))
    paths = write_report([tmp_path / "run"], tmp_path / "report")
    assert "inspect:mockllm/model" in paths.page.read_text("utf-8")
    compared = changes(run_of_subject(str(tmp_path / "run")), run_of_subject(str(tmp_path / "run")))
    assert compared.pairs > 0
    assert len(compared.flips) == 0


def test_a_sheet_is_refused_with_the_reason(sets_folder: Path) -> None:
    from snellen.interop.inspect_tasks import TASKS

    with pytest.raises(SnellenError, match="asked with others in one call"):
        TASKS["combo/pattern-perception"](itemset=str(small_set("combo", sets_folder).root))


def test_conditions_come_from_the_command_line_as_lists(sets_folder: Path) -> None:
    from snellen.interop.inspect_tasks import TASKS

    items = small_set("combo", sets_folder)
    built = TASKS["combo/pattern-perception"](itemset=str(items.root), condition=["samples=1", "questions=one"])
    tested = [item for item in items.task("pattern-perception") if item.split == "test" and len(item.options) > 1]
    expected = [item.item_id for item in tested if not item.item_id.endswith("-pivot")]  # the axis `pivot` is off
    assert [sample.id for sample in built.dataset] == expected


def test_samples_and_scores_are_those_of_our_questions(sets_folder: Path) -> None:
    """Of pairs: one is right in both halves, one in one half, and of one a half has no score."""
    from inspect_ai.scorer import SampleScore, Score

    from snellen.interop.inspect_tasks import TASKS, unit_mean

    items = small_set("vlm2-bench", sets_folder)
    built = TASKS["vlm2-bench/oc-cpr"](itemset=str(items.root))
    own = next(item for item in items.task("oc-cpr") if item.split == "test")
    sample, (score_reply,) = built.dataset[0], built.scorer
    (message,) = sample.input
    images = [part.image for part in message.content if part.type == "image"]
    assert [Path(path).read_bytes() for path in images] == [items.media.read(image) for image in own.query]
    identity = {
        "content_hash": items.card.content_hash, "condition": "vanilla", "task": "oc-cpr",
        "media": [image.sha256 for image in own.query], "unit": own.group_id, "unit_size": 2,
    }  # fmt: skip
    assert sample.metadata == {**own.factors, "metric": "pair_accuracy", "group_id": own.group_id, "snellen": identity}
    assert (built.dataset.name, sample.id, message.role) == ("vlm2-bench/oc-cpr", own.item_id, "user")
    wrong = "TF".replace(sample.target, "")
    for reply, value, outcome in (("hm", 0, "no_answer"), (sample.target, 1, "answered"), (wrong, 0, "answered")):
        state: Any = SimpleNamespace(sample_id=own.item_id, output=SimpleNamespace(completion=reply))
        score = asyncio.run(score_reply(state, sample.target))
        assert (score.value, score.answer, score.metadata) == (value, reply, {"outcome": outcome})
    scores = [
        SampleScore(score=Score(value=value), sample_metadata={"snellen": {"unit": unit, "unit_size": 2}})
        for unit, value in (("p", 1.0), ("p", 1.0), ("q", 1.0), ("q", 0.0), ("r", 1.0))
    ]
    assert unit_mean()(scores) == 0.5
