"""Inspect AI tasks for exported questions, scored by the rules of `strict`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, Content, ContentImage, ContentText
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState, generate

from snellen.interop.scorers.scoring import mean_of_units, score


def questions_task(folder: Path, name: str) -> Task:
    """The questions of one task, `questions/NAME.jsonl` in the folder of the export."""
    lines = (folder / "questions" / f"{name}.jsonl").read_text("utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    samples = [
        Sample(
            [ChatMessageUser(content=_content(row, folder))],
            target=row["key"],
            id=row["item_id"],
            metadata=row["metadata"],
        )
        for row in rows
    ]
    scorer_of_rows = strict_scorer({row["item_id"]: partial(score, row["scoring"]) for row in rows})
    return Task(dataset=MemoryDataset(samples, name=name), solver=generate(), scorer=scorer_of_rows)


def _content(row: dict[str, Any], folder: Path) -> list[Content]:
    return [
        ContentText(text=part["text"]) if part["type"] == "text" else ContentImage(image=str(folder / part["path"]))
        for part in row["prompt"]
    ]


@metric  # type: ignore[untyped-decorator]  # not followed, for its size (pyproject)
def unit_mean() -> Metric:
    """The mean over the metric's units: questions, or groups in which every question must be right."""

    def mean_over_units(sample_scores: list[SampleScore]) -> float:
        metadata = [(each.sample_metadata or {})["snellen"] for each in sample_scores]
        return mean_of_units(
            (place["unit"], place["unit_size"], each.score.as_float())
            for place, each in zip(metadata, sample_scores, strict=True)
        )

    return mean_over_units


def strict_scorer(score_of: Mapping[str, Callable[[str], tuple[str, float]]], name: str = "strict") -> Scorer:
    """The main metric of the protocol `strict`, by sample id; `outcome` is `answered` or `no_answer`."""

    @scorer(metrics=[unit_mean(), mean(), stderr()], name=name)  # type: ignore[untyped-decorator]  # not followed, for its size (pyproject)
    def strict() -> Scorer:  # arguments of a scorer are written to every log and every sample
        async def score_reply(state: TaskState, target: Target) -> Score:
            reply = state.output.completion
            outcome, value = score_of[str(state.sample_id)](reply)
            return Score(value=value, answer=reply, metadata={"outcome": outcome})

        return score_reply

    return strict()
