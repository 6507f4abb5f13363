"""Results of a run in the formats where results live: Every Eval Ever, and evaluation files of Hugging Face.

Every Eval Ever, schema 0.3.0 (github.com/evaleval/every_eval_ever, `eval.schema.json` and
`instance_level_eval.schema.json`): one JSON file per subject, with a file of all replies beside it (people's, if they
are shared). It has no fields for images, chance, grades or blind scores, so these are in `additional_details` and
`metadata`, whose values are texts.
Hugging Face, `.eval_results/*.yaml` (huggingface.co/docs/hub/eval-results): one file per subject and condition.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.tables.run_view import lines_of, main_metric, of_first_judge
from snellen.analysis.tables.section import Run
from snellen.analysis.units import metric_of
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.response import Exchange, Response
from snellen.core.score import Metric
from snellen.core.storage import files
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_digest import RunDigest, read_digest
from snellen.core.storage.run_tables import read_sent, sent_parts
from snellen.core.storage.runfolder import ArmCard
from snellen.interop.formats import plain_name, refuse_equal
from snellen.reports.examples import is_best
from snellen.reports.loading import load_run

SCHEMA_VERSION = "0.3.0"
PROTOCOL, MAX_SHOWN = "strict", 400
_DETAILS = (
    "n", "clusters", "chance", "blind", "ceiling", "floor", "floor_name", "grade", "state", "reason", "decided_by",
    "no_answer_rate", "cut_off_rate", "failure_rate", "not_applicable", "minimum_detectable_effect",
)  # fmt: skip
"""Columns of results that the schema has no field for."""


def export_results(root: Path, format_name: str, out: Path, dataset: str = "") -> list[Path]:
    """Write the results of a run's examined arms; returns the files. `dataset` is the items' repository on the Hub.

    Raises SnellenError for a folder in use, a run without strict scores, and subjects whose files have equal names.
    """
    if out.exists() and any(out.iterdir()):
        raise SnellenError(f"{out}: not empty; give another --out")
    run = load_run(root)
    if PROTOCOL not in run.scores:
        raise SnellenError(f"{root}: has no strict scores; run `snellen score {root}`")
    subjects = dict.fromkeys(arm.subject for arm in run.card.arms)
    if format_name == "hf-results":
        texts = [pair for subject in subjects for pair in _hub_files(run, subject, out, dataset)]
        refuse_equal((str(path) for path, _ in texts), "subjects or conditions")
        for path, text in texts:
            files.write_text(path, text)
        return [path for path, _ in texts]
    return [path for subject in subjects for path in _write_every_eval(run, subject, out)]


def _rows(run: Run, subject: str) -> Iterator[ResultRow]:
    """The results of whole tasks that have a value; of several judges those of the first."""
    rows = run.results
    is_whole = (rows["factor"] == "") & (rows["protocol"] == PROTOCOL) & (rows["subject"] == subject)
    arms = rows[is_whole & rows["value"].notna()].groupby(["task", "condition"], sort=False)
    return (row for _, part in arms for row in rows_of(of_first_judge(part)))


def _time(run: Run) -> str:
    """When the run ended, as far as its digest tells."""
    return read_digest(run.root).date if (run.root / RunDigest.file).is_file() else ""


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The values as texts, without those that are empty or not known."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return {name: text for name, text in texts.items() if text not in ("", "null", "NaN", "{}", "[]")}


# Every Eval Ever


def _write_every_eval(run: Run, subject: str, out: Path) -> Iterator[Path]:
    arms = [arm for arm in run.card.arms if arm.subject == subject]
    model = subject.removeprefix("chat:")
    rows = list(_rows(run, subject))
    if not rows:
        return
    benchmark, now = f"snellen_{plain_name(run.suite.name)}", str(int(time.time()))
    evaluation = f"{benchmark}/{model}/{now}"
    developer, _, name = model.rpartition("/")
    folder = Path("data") / benchmark / (plain_name(developer) or "unknown") / plain_name(name)
    stem = str(uuid.UUID(digest([run.card.content_hash, subject, now], 32), version=4))
    ids = {"model_id": model, "evaluation_id": evaluation}
    samples = [] if arms[0].withholds_words else list(_samples(run, subject, ids))
    lines = "".join(json.dumps(sample) + "\n" for sample in samples)
    record = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "Snellen",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "snellen",
            "version": run.card.versions.get("snellen", "unknown"),
            "additional_details": _texts({**run.card.versions, "transforms": run.card.transforms}),
        },
        "model_info": {"name": subject, "id": model, "additional_details": _model_details(arms[0])},
        "evaluation_results": [_result(run, row, arms) for row in rows],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{folder.as_posix()}/{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": sha256(lines.encode("ascii")),
            "total_rows": len(samples),
        },
    }
    record |= {"evaluation_timestamp": ended} if (ended := _time(run)) else {}
    if not samples:
        del record["detailed_evaluation_results"]
    for path, text in {f"{stem}.json": json.dumps(record, indent=1) + "\n", f"{stem}_samples.jsonl": lines}.items():
        if text:
            files.write_text(out / folder / path, text)
            yield out / folder / path


def _model_details(arm: ArmCard) -> dict[str, str]:
    weights = {"open": "open_weights", "closed": "closed_weights"}.get(arm.attributes.get("weights", ""), "unknown")
    known = {"deployment_type": "unknown", "model_availability": weights}
    return known | _texts({"fingerprint": arm.fingerprint, "settings": arm.settings, "attributes": arm.attributes})


def _result_id(task: str, condition: str, metric: str) -> str:
    return f"{task}/{condition}/{PROTOCOL}/{metric}"


def _result(run: Run, row: Any, arms: list[ArmCard]) -> dict[str, Any]:
    metric: Metric = metric_of(run.suite.tasks[row.task].protocols[PROTOCOL], row.metric)
    card = run.items.card
    hashes = {"recipe_hash": card.recipe_hash, "rows_hash": card.rows_hash, "content_hash": card.content_hash}
    result: dict[str, Any] = {
        "evaluation_result_id": _result_id(row.task, row.condition, row.metric),
        "evaluation_name": f"{card.suite}/{row.task}",
        "source_data": {
            "dataset_name": f"{card.suite} version {card.version}, {card.source}",
            "source_type": "other",
            "additional_details": _texts({**hashes, "recipe": card.recipe, "paper": run.suite.card.paper}),
        },
        "metric_config": {
            "metric_id": row.metric,
            "metric_name": metric.words,
            "metric_unit": "proportion" if metric.share else "",
            "lower_is_better": not metric.higher_is_better,
            "score_type": "continuous",
            "min_score": metric.bounds[0] if metric.bounds else "-Infinity",
            "max_score": metric.bounds[1] if metric.bounds else "Infinity",
            "additional_details": _texts({"protocol": PROTOCOL, "summary": metric.summary, "judge": row.judge}),
        },
        "score_details": {
            "score": float(row.value),
            "details": _texts({"condition": row.condition} | {name: _plain(row.cells()[name]) for name in _DETAILS}),
            "uncertainty": {"num_samples": int(row.n)},
        },
    }
    if not math.isnan(row.low):
        ends = {"lower": float(row.low), "upper": float(row.high), "confidence_level": 0.95, "method": row.interval}
        result["score_details"]["uncertainty"]["confidence_interval"] = ends
    settings = next((arm.settings for arm in arms if arm.condition == row.condition), {})
    given = {name: settings[name] for name in ("temperature", "top_p", "max_tokens") if name in settings}
    result["generation_config"] = {"generation_args": given, "additional_details": _texts({"settings": settings})}
    return result


def _plain(value: Any) -> Any:
    """A cell as plain data, None if it is not known."""
    if isinstance(value, str):
        return value
    number = float(value)
    return (int(number) if number.is_integer() else round(number, 6)) if math.isfinite(number) else None


def _samples(run: Run, subject: str, ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """One row per scored response, with these ids. A response of several calls is a transcript."""
    exchanges = {exchange.key: exchange for exchange in read_exchanges(run.root)}
    sent = read_sent(run.root)
    scores = run.scores[PROTOCOL]
    scores = scores[(scores["subject"] == subject) & scores["value"].notna()]
    metrics = {task: main_metric(run, task).name for task in set(scores["task"])}
    judges = {(row.task, row.condition): row.judge for row in _rows(run, subject)}
    main = {
        (row.condition, row.repeat, row.item_id): row
        for row in lines_of(scores)
        if row.metric == metrics[row.task] and row.judge == judges.get((row.task, row.condition), row.judge)
    }
    for response in run.responses:
        row = main.get((response.condition, response.repeat, response.item_id))
        calls = [exchanges[key] for key in response.calls if key in exchanges]
        if response.subject == subject and row is not None and calls and calls[-1].reply is not None:
            prompts = [_last_question(sent_parts(run.root, sent.get(call.digest, "[]"))) for call in calls]
            yield {**_sample(run, response, row, calls, prompts), **ids}


def _last_question(parts: list[Any]) -> list[Any]:
    """The parts of a prompt after its last earlier reply."""
    replies = [n for n, part in enumerate(parts) if isinstance(part, dict) and "reply" in part]
    return parts[replies[-1] + 1 :] if replies else parts


def _sample(run: Run, response: Response, row: Any, calls: list[Exchange], prompts: list[list[Any]]) -> dict[str, Any]:
    item, replies = run.items.by_id[response.item_id], [call.reply for call in calls if call.reply is not None]
    is_single = len(calls) == 1
    texts = ["\n".join(map(_words, prompt)) for prompt in prompts]
    turns = [text for pair in zip(texts, (reply.text for reply in replies), strict=False) for text in pair]
    messages = [{"turn_idx": n, "role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(turns)]
    media = [part for prompt in prompts for part in prompt if isinstance(part, dict)]
    images = dict.fromkeys(name for part in media for name in [*part.get("montage", []), part.get("media")])
    metadata = {
        "task": item.task, "condition": response.condition, "repeat": response.repeat, "seed": run.card.seed,
        "cluster_id": item.cluster_id, "outcome": row.outcome, "metric": row.metric, "images": [*filter(None, images)],
    }  # fmt: skip
    tokens = [sum(getattr(reply, name) for reply in replies) for name in ("tokens_in", "tokens_out")]
    metric = metric_of(run.suite.tasks[item.task].protocols[PROTOCOL], row.metric)
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_name": f"{item.suite}/{item.task}",
        "evaluation_result_id": _result_id(item.task, response.condition, row.metric),
        "sample_id": item.item_id,
        "interaction_type": "single_turn" if is_single else "multi_turn",
        "input": {
            "raw": texts[0],
            "reference": [_text(item.answer)],
            "choices": [o.text for o in item.options] or None,
        },
        "output": {"raw": [reply.text for reply in replies]} if is_single else None,
        "messages": None if is_single else messages,
        "answer_attribution": [
            {
                "turn_idx": 0 if is_single else len(turns) - 1,
                "source": "output.raw" if is_single else "messages[turn_idx].content",
                "extracted_value": "" if row.prediction == "null" else _text(json.loads(row.prediction)),
                "extraction_method": "snellen parser",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(row.value), "is_correct": is_best(row.value, metric)},
        "token_usage": {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)},
        "performance": {"latency_ms": 1000 * sum(reply.seconds for reply in replies)},
        "metadata": _texts(metadata),
    }


def _words(part: Any) -> str:
    """A part of a prompt as text; images and montages by their names."""
    return part if isinstance(part, str) else f"<{', '.join(part.get('montage', [part.get('media', '')]))}>"


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


# Hugging Face


def _hub_files(run: Run, subject: str, out: Path, dataset: str) -> Iterator[tuple[Path, str]]:
    """The text of a file per condition: variants of one benchmark must be in separate files."""
    import yaml

    name = f"snellen-{run.suite.name}-{run.items.card.rows_hash[:8]}"
    rows = [row for row in _rows(run, subject) if row.metric == main_metric(run, row.task).name]
    for condition in dict.fromkeys(row.condition for row in rows):
        entries = []
        for row in (row for row in rows if row.condition == condition):
            metric = main_metric(run, row.task)
            entry: dict[str, Any] = {
                "dataset": {"id": dataset or f"OWNER/{name}", "task_id": row.task},
                "value": round(100 * row.value, 4) if metric.share else float(row.value),
                "notes": _notes(run, row, metric),
            }
            entries.append(entry | ({"date": ended} if (ended := _time(run)) else {}))
        variant = "" if condition == "vanilla" else f"_{plain_name(condition)}"
        path = out / plain_name(subject.removeprefix("chat:")) / ".eval_results" / f"{name}{variant}.yaml"
        yield path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)


def _notes(run: Run, row: ResultRow, metric: Metric) -> str:
    scale, unit = (100, " %") if metric.share else (1, "")
    references = {"chance": float(row.chance), "blind": float(row.blind)}
    facts = [
        f"{metric.words}, {PROTOCOL}, condition {row.condition}, n {int(row.n)}",
        "" if math.isnan(row.low) else f"95 % CI {scale * row.low:.4g} to {scale * row.high:.4g}{unit}",
        *(f"{name} {scale * value:.4g}{unit}" for name, value in references.items() if not math.isnan(value)),
        f"grade {row.grade.word}" if row.grade.word else row.grade.label,
        f"judge {row.judge}" if row.judge else "",
        f"rows hash {run.items.card.rows_hash}, snellen {run.card.versions.get('snellen', '')}",
    ]
    return "; ".join(filter(None, facts))[:MAX_SHOWN]
