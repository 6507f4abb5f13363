"""Verdicts on descriptions: what a judge is asked about the responses of a run, and where its answers are kept.

A judge is a subject like any other. What it is asked is an item set of its own under the run (`judgements/`), answered
in an ordinary run, so that verdicts resume, and are looked up before anything is asked again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.itemset import ItemSet
from snellen.core.response import Response
from snellen.core.runfolder import is_run
from snellen.core.seeds import stream
from snellen.core.suite import Suite
from snellen.curation.results import read_step_results
from snellen.runs.score import is_judged, score
from snellen.runs.unread import says_none
from snellen.scoring.uncertainty import wilson

FOLDER = "judgements"
SAMPLE_COLUMNS = ("item_id", "judge", "asked", "verdict", "decision", "author", "reason")
"""A sample for people: what the judge was asked, its verdict, and room for their own."""

Verdicts = Mapping[str, Mapping[str, Response]]
"""By judge, response id -> the judge's response."""


def judgement_items(
    responses: Sequence[Response], items: ItemSet, suite: Suite, protocol: str = "strict"
) -> list[Item]:
    """One item for every response that holds a text and is left to a judge by the protocol."""
    judgements = []
    for response in responses:
        how = suite.tasks[response.task].protocols.get(protocol)
        if how is not None and how.judge is not None and is_judged(response, how):
            judgements.append(how.judge(items.by_id[response.item_id], response))
    return judgements


def unreadable_verdicts(
    responses: Sequence[Response], suite: Suite, protocol: str, verdicts: Mapping[str, Response]
) -> int:
    """How many of one judge's verdicts say nothing that counts; to say that a reply decides for nothing does."""
    count = 0
    for response in responses:
        verdict = verdicts.get(response.response_id)
        how = suite.tasks[response.task].protocols.get(protocol)
        if verdict is None or how is None:
            continue
        if how.read_verdict is None:
            count += how.read(verdict.text or "", verdict.reply_spec) is None
        else:
            text = verdict.text or ""
            count += not says_none(text) and how.read_verdict(text, response.reply_spec) is None
    return count


def judgement_folder(root: Path, judged_items: Sequence[Item]) -> Path:
    """Where the judgements of these items are kept: a folder of their own, the same for the same items."""
    return root / FOLDER / digest([[item.item_id, item.question] for item in judged_items], 12)


def read_verdicts(root: Path, judged_items: Sequence[Item]) -> Verdicts:
    """What judges have said about exactly these texts; calls that failed are left out, to be made again."""
    questions = {item.item_id: item.question for item in judged_items}
    verdicts: dict[str, dict[str, Response]] = {}
    for run_folder in sorted((root / FOLDER).glob("*/run")):
        if not is_run(run_folder) or not (run_folder / "responses.parquet").is_file():
            continue  # stopped before its tables were written; the same command goes on with it
        for step_results in read_step_results(run_folder, run_folder.parent / "items"):
            for item in step_results.items.items:
                response = step_results.responses.get(item.item_id)
                if response and response.status == "ok" and questions.get(item.item_id) == item.question:
                    verdicts.setdefault(step_results.author, {})[item.item_id] = response
    return verdicts


def score_judged(
    responses: Sequence[Response], items: ItemSet, suite: Suite, protocol: str, verdicts: Verdicts
) -> pd.DataFrame:
    """As `runs.score.score`, with one set of rows a judge for what is judged; what nobody judged has an empty judge."""
    judged = [r for r in responses if (p := suite.tasks[r.task].protocols.get(protocol)) and p.judge is not None]
    names = {response.response_id for response in judged}
    rest = [response for response in responses if response.response_id not in names]
    tables = []
    arms_heard: set[tuple[str, str, int]] = set()
    for by_response in verdicts.values():
        arms = {_arm(response) for response in judged if response.response_id in by_response}
        arms_heard |= arms
        of_these_arms = [response for response in judged if _arm(response) in arms]
        tables.append(score(of_these_arms, items, suite, protocol, by_response))
    rest += [response for response in judged if _arm(response) not in arms_heard]
    tables.insert(0, score(rest, items, suite, protocol))
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _arm(response: Response) -> tuple[str, str, int]:
    return response.subject, response.condition, response.repeat


def write_sample(path: Path, judged_items: Sequence[Item], verdicts: Verdicts, each: int, seed: int) -> int:
    """Write `each` judged texts a judge and examined subject for people to check; how many they are.

    VLM2-Bench checked 20 a model, 180 in all. Raises SnellenError where nothing was judged.
    """
    rows = []
    for judge, by_response in verdicts.items():
        by_subject: dict[str, list[Item]] = {}
        for item in judged_items:
            if item.item_id in by_response:
                by_subject.setdefault(item.item_id.split("/")[0], []).append(item)
        for subject, judged in by_subject.items():
            order = stream("agreement sample", seed, judge, subject).permutation(len(judged))[:each]
            rows += [
                (judged[int(n)].item_id, judge, judged[int(n)].question, by_response[judged[int(n)].item_id].text)
                for n in order
            ]
    if not rows:
        raise SnellenError(f"{path}: nothing was judged yet; give `snellen judge RUN --by SUBJECT` first")
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(SAMPLE_COLUMNS)
        writer.writerows((*row, "", "", "") for row in rows)
    return len(rows)


@dataclass(frozen=True)
class Agreement:
    """How often a judge and people agree: `agreed` of `checked`, share 0 to 1 with its 95 % Wilson interval."""

    judge: str
    agreed: int
    checked: int
    share: float
    low: float
    high: float


def read_agreement(path: Path, judged_items: Sequence[Item], verdicts: Verdicts, suite: Suite) -> Iterator[Agreement]:
    """Compare the decisions that people wrote into a sample with the verdicts; lines without a decision are left out.

    A decision is a score as the judge gives it. Raises SnellenError for a line about something that was never judged.
    """
    items = {item.item_id: item for item in judged_items}
    counts: dict[str, list[bool]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            lines = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SnellenError(f"{path}: not a readable CSV file ({error})") from error
    for number, line in enumerate(lines, 2):
        if missing := [name for name in ("item_id", "judge", "decision") if line.get(name) is None]:
            raise SnellenError(f"{path} line {number}: no {missing[0]}; the columns are {', '.join(SAMPLE_COLUMNS)}")
        verdict = verdicts.get(line["judge"], {}).get(line["item_id"])
        if verdict is None or line["item_id"] not in items:
            raise SnellenError(f"{path} line {number}: {line['judge']} never judged {line['item_id']!r} in this run")
        if decision := line["decision"].strip():
            task = str(items[line["item_id"]].provenance.get("task", ""))
            score_read = suite.tasks[task].protocols["strict"].read(verdict.text or "", verdict.reply_spec)
            counts.setdefault(line["judge"], []).append(str(score_read) == decision)
    for judge, agreed in counts.items():
        low, high = wilson(sum(agreed), len(agreed))
        yield Agreement(judge, sum(agreed), len(agreed), sum(agreed) / len(agreed), low, high)
