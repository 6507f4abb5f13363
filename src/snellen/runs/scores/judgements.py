"""Verdicts of judges on the responses of a run: the questions, their storage, and samples for people to check.

A judge is a subject like any other. Its questions are an item set under the run (`judgements/`), answered in an
ordinary run, so that judging can be resumed, and verdicts are looked up before anything is asked again.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.plain_text import no_formula
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, read_itemset, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import own_responses, read_responses
from snellen.core.storage.runfolder import is_person, is_run, read_run_card
from snellen.core.subject import Subject
from snellen.core.suite import Suite
from snellen.curation.results import DECISION, read_step_result, read_step_results
from snellen.curation.review import card_path, read_lines
from snellen.curation.steps import copy_media
from snellen.runs.scores.box_units import in_own_units, read_box_units
from snellen.runs.scores.score import is_judged, score
from snellen.runs.scores.unread import says_none
from snellen.scoring.uncertainty import wilson
from snellen.subjects.recorded import recorded

FOLDER = "judgements"
SAMPLE_COLUMNS = ("item_id", "judge", "asked", "verdict", "decision", "author", "reason")
"""Columns of a sample for people: the judge's question and verdict, and empty ones for their own."""

Verdicts = Mapping[str, Mapping[str, Response]]
"""Judge -> response id -> the judge's response."""


def judgement_items(
    responses: Sequence[Response], items: ItemSet, suite: Suite, protocol: str = "strict"
) -> list[Item]:
    """One item for every response that the protocol leaves to a judge."""
    judgements = []
    for response in responses:
        how = suite.tasks[response.task].protocols.get(protocol)
        if how is not None and how.judge is not None and is_judged(response, how):
            judgements.append(how.judge(items.by_id[response.item_id], response))
    return judgements


def unreadable_verdicts(
    responses: Sequence[Response], suite: Suite, protocol: str, verdicts: Mapping[str, Response]
) -> int:
    """The number of a judge's unreadable verdicts; a verdict that the reply commits to no answer is readable."""
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
    """The folder for judgements of these items; the same for the same items."""
    return root / FOLDER / digest([[item.item_id, item.question] for item in judged_items], 12)


def judging_runs(root: Path) -> list[Path]:
    """The runs in which judges were asked about a run, of which the tables are written.

    Their folders are those of `judgement_folder`: a digest of the run does not cover folders of any name. Raises
    SnellenError for links, which may lead back to the run.
    """
    folder = root / FOLDER
    if link := next((path for path in (folder, *folder.glob("*"), *folder.glob("*/*")) if path.is_symlink()), None):
        raise SnellenError(f"{link}: a link, but verdicts are in the folder of their run; copy what it leads to")
    runs = [path / "run" for path in sorted(folder.glob("*")) if re.fullmatch(r"[0-9a-f]{12}", path.name)]
    return [path for path in runs if is_run(path) and (path / "responses.parquet").is_file()]


def read_verdicts(root: Path, judged_items: Sequence[Item]) -> Verdicts:
    """The verdicts on exactly these texts. Failed calls are left out, to be made again."""
    views = {item.item_id: item.view() for item in judged_items}
    verdicts: dict[str, dict[str, Response]] = {}
    for run_folder in judging_runs(root):
        for step_results in read_step_results(run_folder, run_folder.parent / "items"):
            for item in step_results.items.items:
                response = step_results.responses.get(item.item_id)
                if response and response.status == "ok" and views.get(item.item_id) == item.view():
                    verdicts.setdefault(step_results.author, {})[item.item_id] = response
    return verdicts


def score_judged(
    responses: Sequence[Response], items: ItemSet, suite: Suite, protocol: str, verdicts: Verdicts
) -> pd.DataFrame:
    """As `runs.scores.score.score`, with a set of rows per judge for judged arms; unjudged ones have an empty judge."""
    judged = [r for r in responses if (p := suite.tasks[r.task].protocols.get(protocol)) and p.judge is not None]
    names = {response.response_id for response in judged}
    rest = [response for response in responses if response.response_id not in names]
    tables = []
    judged_arms: set[tuple[str, str, int]] = set()
    for by_response in verdicts.values():
        arms = {response.arm_key for response in judged if response.response_id in by_response}
        judged_arms |= arms
        of_these_arms = [response for response in judged if response.arm_key in arms]
        tables.append(score(of_these_arms, items, suite, protocol, by_response))
    rest += [response for response in judged if response.arm_key not in judged_arms]
    if judged:  # the other tasks may not have the protocol
        rest = [response for response in rest if protocol in suite.tasks[response.task].protocols]
    tables.insert(0, score(rest, items, suite, protocol))
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def scores_of(root: Path, items: ItemSet, suite: Suite, protocol: str) -> pd.DataFrame:
    """The scores of all responses of a run under a protocol, with existing verdicts."""
    responses = responses_in_units(root, items)
    verdicts = read_verdicts(root, judgement_items(responses, items, suite, protocol))
    return score_judged(responses, items, suite, protocol, verdicts)


def lines_without_verdict(root: Path, items: ItemSet, suite: Suite, protocol: str) -> list[str]:
    """In words, the judges under a protocol with several verdicts on a text, or none; people may skip texts."""
    if not (runs := judging_runs(root)):
        return []
    judged = judgement_items(responses_in_units(root, items), items, suite, protocol)
    names = {(item.item_id, item.question) for item in judged}
    verdicts = Counter[tuple[str, str, str]]()
    for path in runs:
        questions = {item.item_id: item.question for item in read_itemset(path.parent / "items").items}
        given = [one for one in read_responses(path) if one.status == "ok"]
        verdicts.update((one.subject, one.item_id, questions.get(one.item_id, "")) for one in given)
    people = {arm.subject for path in runs for arm in read_run_card(path).arms if is_person(arm)}
    repeated = {judge for (judge, *name), count in verdicts.items() if count > 1 and tuple(name) in names}
    return [f"{judge}: several verdicts on a text under {protocol}" for judge in sorted(repeated)] + [
        f"{judge}: no verdict on {len(judged) - len(by_item)} of {len(judged)} texts under {protocol}"
        for judge, by_item in read_verdicts(root, judged).items()
        if len(by_item) < len(judged) and judge not in people
    ]


def responses_in_units(root: Path, items: ItemSet) -> Sequence[Response]:
    """All responses of a run, of which boxes are read in the units of `runs.scores.box_units`."""
    card = read_run_card(root)
    return in_own_units(own_responses(root, items, card), read_box_units(root), card.arms)


def write_sample(path: Path, judged_items: Sequence[Item], verdicts: Verdicts, each: int, seed: int) -> int:
    """Write `each` judged texts per judge and examined subject for people to check; returns their number.

    VLM2-Bench checked 20 per model, 180 in all. Raises SnellenError if nothing has been judged.
    """
    if not verdicts:
        raise SnellenError(f"{path}: nothing has been judged yet; run `snellen judge RUN --by SUBJECT` first")
    if path.exists():
        raise SnellenError(f"{path} already exists, and people may have filled it in; give another file")
    rows = [
        (item.item_id, judge, no_formula(item.question), no_formula(verdicts[judge][item.item_id].text))
        for judge, item in _sampled(judged_items, verdicts, each, seed)
    ]
    with path.open("x", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(SAMPLE_COLUMNS)
        writer.writerows((*row, "", "", "") for row in rows)
    return len(rows)


def write_sample_items(
    root: Path, judged_items: Sequence[Item], verdicts: Verdicts, each: int, seed: int, media: MediaFolder
) -> int:
    """Write the texts of a sample as decisions for people, who see no verdict; returns their number.

    If nothing has been judged, `each` are drawn per examined subject. Raises SnellenError if there are none, or if
    their verdicts are not choices.
    """
    refuse_existing(root)
    sample = {item.item_id: item for _, item in _sampled(judged_items, verdicts, each, seed)}
    if odd := next((item for item in sample.values() if not item.options), None):
        raise SnellenError(f"{root}: {odd.task} has no options; people fill in --sample FILE.csv")
    decisions = [replace(item, task=DECISION, answer_kind="choice") for item in sample.values()]
    if not decisions:
        raise SnellenError(f"{root}: no response needs a judge")
    copy_media(decisions, media, MediaFolder(root / "media"))
    write_itemset(root, decisions, source="judgement sample", recipe={"each": each, "seed": seed})
    return len(decisions)


def _sampled(judged_items: Sequence[Item], verdicts: Verdicts, each: int, seed: int) -> Iterator[tuple[str, Item]]:
    """(judge, item) for `each` items per judge and examined subject; the judge is empty if there is none yet."""
    for judge, judged in verdicts.items() or {"": {item.item_id for item in judged_items}}.items():
        by_subject = lists_by_key((item.item_id.split("/")[0], item) for item in judged_items if item.item_id in judged)
        for subject, items in by_subject.items():
            order = stream("agreement sample", seed, judge, subject).permutation(len(items))[:each]
            yield from ((judge, items[int(n)]) for n in order)


def people_as_judge(path: Path) -> Subject:
    """A subject that replies with people's decisions (a CSV of `snellen study decide`, or a run they agree in).

    It is named after their review.
    """
    result = read_step_result(path)
    reviews = dict.fromkeys(author.rpartition("/")[0] or author for author in result.author.split(", "))
    texts = {item_id: str(answer) for item_id, answer in result.answers.items()}
    return recorded(", ".join(reviews), texts, result.role)


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of a judge with people: `agreed` of `checked`, share 0 to 1 with its 95 % Wilson interval."""

    judge: str
    agreed: int
    checked: int
    share: float
    low: float
    high: float


def read_agreement(
    path: Path, judged_items: Sequence[Item], verdicts: Verdicts, suite: Suite, protocol: str = "strict"
) -> Iterator[JudgeAgreement]:
    """Compare people's decisions about a sample with the verdicts; lines without a decision are left out.

    `path` is a completed sample, a CSV of `snellen study decide`, or a review that people agree in; the last two are
    compared with every judge of the same texts. A decision is a score in the judge's form. Raises SnellenError for a
    line about a text that was never judged.
    """
    items = {item.item_id: item for item in judged_items}
    counts: dict[str, list[bool]] = {}
    for location, judge, item_id, decision in _decided(path):
        judges = [judge] if judge else [name for name, by_item in verdicts.items() if item_id in by_item]
        if item_id not in items or not judges or any(item_id not in verdicts.get(name, {}) for name in judges):
            raise SnellenError(
                f"{location}: {judge or 'no judge'} {'never ' * bool(judge)}judged {item_id!r} in this run"
            )
        if not decision:
            continue
        how = suite.tasks[str(items[item_id].provenance.get("task", ""))].protocols[protocol]
        for name in judges:
            verdict = verdicts[name][item_id]
            score_read = how.read(verdict.text or "", verdict.reply_spec)
            counts.setdefault(name, []).append(str(score_read) == decision)
    for judge, agreed in counts.items():
        low, high = wilson(sum(agreed), len(agreed))
        yield JudgeAgreement(judge, sum(agreed), len(agreed), sum(agreed) / len(agreed), low, high)


def _decided(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(location, judge or empty, item id, decision or empty) of each line of a sample or a review."""
    if path.is_dir() or card_path(path).is_file():
        for item_id, answer in read_step_result(path).answers.items():
            yield str(path), "", item_id, str(answer)
        return
    for number, line in enumerate(read_lines(path), 2):
        if missing := [name for name in ("item_id", "judge", "decision") if line.get(name) is None]:
            raise SnellenError(f"{path} line {number}: no {missing[0]}; the columns are {', '.join(SAMPLE_COLUMNS)}")
        yield f"{path} line {number}", line["judge"], line["item_id"], line["decision"].strip()
