"""The tables of a run, made from its record: `responses.parquet`, `exchanges.parquet` and `sent.parquet`.

Responses, and the state of methods and schedules, are computed again from the record.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from snellen.core.box_units import BOX_UNITS, asks_for_fractions, image_size
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, ReplySpec
from snellen.core.plain_text import encodable, short_reason
from snellen.core.prompt import Reply
from snellen.core.response import Exchange, Response
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import part_sizes
from snellen.core.storage.runfolder import RunCard, RunFolder, has_tables, is_run, read_run_card
from snellen.core.storage.user_files import bounded_json

_ARROW = {"int": pa.int64(), "bool": pa.bool_(), "float": pa.float64(), "tuple[float, ...]": pa.list_(pa.float64())}
_REPLY = {f.name: _ARROW.get(str(f.type), pa.string()) for f in fields(Reply)}
EXCHANGES = pa.schema({"key": pa.string(), "digest": pa.string(), "error": pa.string()} | _REPLY)
_RESPONSE = {f.name: _ARROW.get(str(f.type), pa.string()) for f in fields(Response)}
RESPONSES = pa.schema(_RESPONSE | {"calls": pa.list_(pa.string())})
SENT = pa.schema({"digest": pa.string(), "parts": pa.string()})
_REPEATED = ("subject", "fingerprint", "item_id", "task", "condition", "status", "text", "reason")
"""Columns of responses with many equal values."""
_MADE_OF, _SPEC = "parts", TypeAdapter(ReplySpec)
_REMEDY = "run the same `snellen run` command again, which recreates its tables from the parts"


def write_tables(run: RunFolder, responses: Sequence[Response], keep: Iterable[Response] = ()) -> None:
    """Write the tables of a run. The parts stay, since the tables are derived from them.

    `keep` are responses of arms that this command did not ask. Prompts are those of the calls of all responses.
    """
    responses = [*keep, *responses]
    files.write_table(run.root / "responses.parquet", files.table_of(map(_response_cells, responses), RESPONSES))
    digests = {run.exchanges[key].digest for response in responses for key in response.calls if key in run.exchanges}
    prompts = {key: parts for key, parts in (read_sent(run.root) | run.prompts).items() if key in digests}
    sent = ({"digest": key, "parts": encodable(parts)} for key, parts in prompts.items())
    files.write_table(run.root / "sent.parquet", files.table_of(sent, SENT))
    # Last: the parts from which all tables are made.
    made_of = {_MADE_OF: json.dumps(part_sizes(run.root))}
    exchanges = files.table_of(map(_flat, run.exchanges.values()), EXCHANGES)
    files.write_table(run.root / "exchanges.parquet", exchanges.replace_schema_metadata(made_of))


def tables_are_behind(root: Path) -> bool:
    """True if a kill left the run's tables missing, incomplete, or older than its parts.

    Raises SnellenError if the parts hold less than the tables, since recreating the tables would lose data.
    """
    path = root / "exchanges.parquet"
    if not has_tables(root) or not path.is_file():
        return True
    try:
        made_of = json.loads(bounded_json((pq.read_schema(path).metadata or {}).get(_MADE_OF.encode(), b"null")))
    except (pa.ArrowException, OSError, RecursionError, ValueError):
        return True
    sizes = part_sizes(root)
    if not isinstance(made_of, dict) or not all(type(size) is int for size in made_of.values()):
        return True  # damaged
    if short := next((name for name, size in made_of.items() if sizes.get(name, 0) < size), None):
        raise SnellenError(
            f"{root / 'parts' / short}: truncated or missing since the tables were made from it; restore it, or run "
            f"the same `snellen run` command again to repeat the lost calls"
        )
    return bool(sizes != made_of)


def read_responses(root: Path) -> list[Response]:
    """The responses of a run. Raises SnellenError if it was cut off before they were written, or has one twice."""
    path = root / "responses.parquet"
    if is_run(root) and not path.is_file():
        raise SnellenError(f"{root}: the run was interrupted; run the same `snellen run` command again to finish it")
    table = files.read_table(path, remedy=_REMEDY)
    retyped = (one.name for one in RESPONSES if one.name in table.schema.names and one != table.field(one.name))
    if odd := next(retyped, ""):
        raise SnellenError(f"{path}: {odd} has cells of another type; {_REMEDY}")
    specs, shared = dict[str, ReplySpec](), dict[Any, Any]()
    try:
        files.refuse_vast_json(path, [table.column("reply_spec").unique()])
        responses = [_response(row, specs, shared) for row in files.rows_of(table)]
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise SnellenError(f"{path}: not a table of responses ({short_reason(str(error), 200)}); {_REMEDY}") from error
    if len({response.response_id for response in responses}) < len(responses):
        raise SnellenError(f"{path}: a response is in it twice; {_REMEDY}")
    return responses


def read_calls(root: Path, *names: str) -> pa.Table:
    """Columns of `EXCHANGES` of a run. Raises SnellenError if the table is missing or damaged."""
    schema = pa.schema([EXCHANGES.field(name) for name in names])
    return files.read_table(root / "exchanges.parquet", remedy=_REMEDY, schema=schema)


LEFT_OUT = "(a person's words, left out)"


def reply_texts(roots: Iterable[Path], responses: Iterable[Response]) -> dict[str, str]:
    """The reply to each item, by response id; the whole reply of a call in which no answer to the item was found.

    People's words are replaced by `LEFT_OUT` unless they are shared.
    """
    with_tables = list(filter(has_tables, roots))
    silent = {arm.fingerprint for root in with_tables for arm in read_run_card(root).arms if arm.withholds_words}
    left_out = {r.response_id for r in responses if r.calls and r.calls[-1].partition("/")[0] in silent}
    texts = {r.response_id: LEFT_OUT if r.response_id in left_out else r.text or "" for r in responses}
    unread = [r for r in responses if r.text is None and r.status == "ok" and r.calls and texts[r.response_id] == ""]
    tables = [read_calls(root, "key", "text").to_pydict() for root in with_tables if unread]
    calls = {key: text for table in tables for key, text in zip(table["key"], table["text"], strict=True)}
    return texts | {response.response_id: calls.get(response.calls[-1]) or "" for response in unread}


def empty_beside_reasoning(roots: Iterable[Path]) -> Counter[str]:
    """The number of replies without text but with reasoning, not cut off, by subject."""
    counts = Counter[str]()
    for root in filter(has_tables, roots):
        subjects = {arm.fingerprint: arm.subject for arm in read_run_card(root).arms}
        for row in read_calls(root, "key", "text", "reasoning", "stop").to_pylist():
            subject = subjects.get(row["key"].partition("/")[0])
            if subject and row["reasoning"] and row["text"] == "" and row["stop"] != "length":
                counts[subject] += 1
    return counts


def own_responses(root: Path, items: ItemSet, card: RunCard) -> list[Response]:
    """The responses of a run. Raises SnellenError as `read_responses`, and for those to other items than the run's."""
    responses = read_responses(root)
    tasks = {item_id: (item.task, item.answer_kind) for item_id, item in items.by_id.items()}
    arms = {arm.arm_key for arm in card.arms}
    if odd := next((one for one in responses if tasks.get(one.item_id) != (one.task, one.reply_spec.kind)), None):
        path, what = root / "responses.parquet", f"{odd.item_id!r:.60} of task {odd.task!r:.40}"
        raise SnellenError(f"{path}: {what} is no item of this run; {_REMEDY}")
    if other := next((one for one in responses if one.arm_key not in arms), None):
        what = f"{other.subject!r:.60} under {other.condition!r:.60}"
        raise SnellenError(f"{root / 'responses.parquet'}: {what} was not asked in this run (run.json); {_REMEDY}")
    return responses


def _response(row: dict[str, Any], specs: dict[str, ReplySpec], shared: dict[Any, Any]) -> Response:
    """The response of a row. Equal texts and specs of several rows are one object, kept in `specs` and `shared`."""
    text = row["reply_spec"]
    if text not in specs:
        specs[text] = _spec(text)
    cells = {name: shared.setdefault(row[name], row[name]) for name in _REPEATED}
    return Response(**{**row, **cells, "reply_spec": specs[text], "calls": tuple(row["calls"])})


def other_responses(root: Path, arms: Collection[tuple[str, str, int]]) -> list[Response]:
    """The responses of a run in all of its arms but these (subject, condition, repeat).

    Empty if there is no table yet. Raises SnellenError if the table is damaged and the run has other arms.
    """
    if not (root / "responses.parquet").is_file():
        return []
    others = {card.arm_key for card in read_run_card(root).arms}.difference(arms)
    try:
        return [response for response in read_responses(root) if response.arm_key in others] if others else []
    except SnellenError as error:
        names = ", ".join(sorted({f"{subject} under {condition}" for subject, condition, _ in others}))
        raise SnellenError(f"{error}; this command leaves out arms of that run: {names}") from error


def read_sent(root: Path) -> dict[str, str]:
    """The prompts that a run sent before, as JSON by digest; empty if the table is missing or damaged."""
    try:
        return {row["digest"]: row["parts"] for row in files.read_table(root / "sent.parquet", schema=SENT).to_pylist()}
    except SnellenError:
        return {}


def sent_parts(root: Path, text: str) -> list[Any]:
    """The parts of a prompt as `sent.parquet` holds them. Raises SnellenError if they are damaged."""
    try:
        parts = json.loads(bounded_json(text))
        names = [[part.get("media", ""), *part.get("montage", [])] for part in parts if not isinstance(part, str)]
    except (AttributeError, RecursionError, TypeError, ValueError):
        parts, names = None, []
    if not isinstance(parts, list) or not all(isinstance(name, str) for name in chain(*names)):
        raise SnellenError(f"{root / 'sent.parquet'}: {text!r:.60} is no prompt; {_REMEDY}")
    return parts


def _flat(exchange: Exchange) -> dict[str, Any]:
    reply = {name: getattr(exchange.reply, name) if exchange.reply else None for name in _REPLY}
    cells = {"key": exchange.key, "digest": exchange.digest, "error": exchange.error, **reply}
    return {name: encodable(value) for name, value in cells.items()}


def _response_cells(response: Response) -> dict[str, Any]:
    spec = response.reply_spec
    form = {"kind": spec.kind, "keys": spec.keys, "frame": spec.frame and asdict(spec.frame)}
    reply_spec = json.dumps(form | ({"unit": spec.unit} if spec.unit else {}))
    return {f.name: encodable(getattr(response, f.name)) for f in fields(Response)} | {"reply_spec": reply_spec}


def _spec(text: str) -> ReplySpec:
    cells = json.loads(text)
    frame, unit = cells["frame"] and Affine(**cells["frame"]), cells.get("unit") and BOX_UNITS[cells["unit"]].name
    spec = replace(_SPEC.validate_json(text, strict=True), frame=frame, unit=unit or "")  # integers stay integers
    if frame and frame.inverse() != frame and asks_for_fractions(spec):
        image_size(spec)  # as `inverse`, raises ZeroDivisionError
    return spec
