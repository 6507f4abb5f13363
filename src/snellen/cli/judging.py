"""`snellen judge`: verdicts by a subject, samples for people, and their agreement."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from snellen.core.errors import SnellenError
from snellen.core.storage.run_tables import read_responses
from snellen.exam.judge import judge as do
from snellen.runs.scores.judgements import (
    judgement_items,
    people_as_judge,
    read_agreement,
    read_verdicts,
    write_sample,
    write_sample_items,
)
from snellen.runs.sets.gate import open_run_items


def judge(
    run: Path,
    by: str | None,
    unread: bool,
    sample: Path | None,
    each: int,
    agreement: Path | None,
    seed: int,
    protocol: str,
    as_json: bool,
) -> None:
    """Judge, sample or compare, and print the outcome. Exit code 1 if calls of the judge failed."""
    if by is None and sample is None and agreement is None:
        raise SnellenError("snellen judge: name the judge with --by SUBJECT, or give --sample FILE or --agreement FILE")
    if unread and (by is None or sample is not None or agreement is not None):
        raise SnellenError("snellen judge --unread: name the judge with --by SUBJECT, without --sample or --agreement")
    outcome: dict[str, Any] = {}
    if by is not None:
        judge_of = people_as_judge(Path(by)) if Path(by).exists() else by
        verdict_counts = do(run, judge_of, unread=unread, protocol=protocol, show_progress=not as_json)
        outcome |= asdict(verdict_counts)
    _, items, suite = open_run_items(run)
    judged_items = judgement_items(read_responses(run), items, suite, protocol)
    verdicts = read_verdicts(run, judged_items)
    if sample is not None:
        if sample.suffix == ".csv":
            count = write_sample(sample, judged_items, verdicts, each, seed)
        else:
            count = write_sample_items(sample, judged_items, verdicts, each, seed, items.media)
        outcome |= {"sample": str(sample), "sampled": count}
    if agreement is not None:
        outcome["agreement"] = [
            asdict(rate) for rate in read_agreement(agreement, judged_items, verdicts, suite, protocol)
        ]
    if as_json:
        print(json.dumps(outcome))
    else:
        for name, value in outcome.items():
            print(f"{name}: {value}")
    if outcome.get("failed"):
        raise typer.Exit(1)
