"""A run on disk: `run.json`, the write-ahead record in `parts/`, and the tables made from it.

Only exchanges are recorded: a prompt's digest with its reply or failure. Responses, and the state of methods and
schedules, are computed again from the record.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, model_validator

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Affine, ReplySpec
from snellen.core.prompt import Reply
from snellen.core.response import Exchange, Response, Role, Source
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard, is_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import bounded, line_of, part_sizes, read_exchanges
from snellen.core.storage.schemas import Card, read_card_file

_ARROW = {"int": pa.int64(), "bool": pa.bool_(), "float": pa.float64(), "tuple[float, ...]": pa.list_(pa.float64())}
_REPLY = {f.name: _ARROW.get(str(f.type), pa.string()) for f in fields(Reply)}
EXCHANGES = pa.schema({"key": pa.string(), "digest": pa.string(), "error": pa.string()} | _REPLY)
RESPONSES = pa.schema(
    {
        f.name: pa.list_(pa.string()) if f.name == "calls" else _ARROW.get(str(f.type), pa.string())
        for f in fields(Response)
    }
)
SENT = pa.schema({"digest": pa.string(), "parts": pa.string()})
_REPEATED = ("subject", "fingerprint", "item_id", "task", "condition", "status", "text", "reason")
"""Columns of responses with many equal values."""
MAX_PART_BYTES = 4_000_000
"""A part of this size is closed, so that it is uploaded only once while the run continues."""
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "fake": {"role": "simulated"}, "human": {"role": "person"}, "encoder": {"role": "encoder"},
    "recorded": {"source": "recorded"}, "inspect": {"source": "recorded"}, "head": {"fitted": True},
}  # fmt: skip
_MADE_OF = "parts"
_REMEDY = "run the same `snellen run` command again, which recreates its tables from the parts"


def kind_by_name(subject: str) -> Mapping[str, Any]:
    """Role, source and `fitted` as a name tells them: for cards of earlier versions, and tables that name reviewers."""
    return _KINDS.get(subject.partition(":")[0], {})


class ArmCard(BaseModel):
    """One subject under one condition, as described in `run.json`; `role`, `source` and `fitted` as in `SubjectCard`.

    `columns` are the axes as resolved for the subject. `test_items` is the number of items of each task to be asked;
    empty if it is not known beforehand. `decide` is what is decided by asking (`runs.planning.deciding`): "none" (in
    earlier versions also "grade") or "drop", with at most `max_items` of a task; it is empty if all items are asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str
    fingerprint: str
    settings: dict[str, Any]
    attributes: dict[str, str]
    condition: str
    columns: dict[str, int | str]
    repeat: int
    test_items: dict[str, int] = {}
    decide: str = ""
    max_items: int = 0
    role: Role = "model"
    source: Source = "asked"
    fitted: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, cells: Any) -> Any:
        is_earlier = isinstance(cells, dict) and "role" not in cells
        return {**kind_by_name(str(cells.get("subject"))), **cells} if is_earlier else cells


class RunCard(Card):
    """`run.json`. `annotations` gives author and hash of each annotation table that was used."""

    file = "run.json"

    suite: str
    version: str
    itemset: str
    recipe_hash: str
    content_hash: str
    rows_hash: str = ""
    seed: int
    limit: int | None
    arms: list[ArmCard]
    transforms: list[str] = Field(default_factory=list)
    annotations: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)


def same_items(earlier: RunCard, current: RunCard) -> bool:
    """True if two runs asked the same items: the same bytes, or the same decisions rendered on two machines."""
    if earlier.rows_hash and current.rows_hash:
        return earlier.rows_hash == current.rows_hash
    return earlier.content_hash == current.content_hash


class RunFolder:
    """The record of a run, with a single writer."""

    def __init__(self, root: Path, media: MediaFolder) -> None:
        self.root, self.media = root, media
        self._exchanges: dict[str, Exchange] = {}
        self._tokens: dict[tuple[str, bool], tuple[int, int, int]] = {}
        self._sent: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._part: IO[str] | None = None  # opened at the first call after each start
        for exchange in read_exchanges(root):
            self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        digest = self._digests.setdefault(exchange.digest, exchange.digest)  # one object for equal digests
        self._exchanges[exchange.key] = replace(exchange, digest=digest)
        if reply := exchange.reply:
            fingerprint, _, rest = exchange.key.partition("/")
            kind = fingerprint, "/" in rest  # keys of first questions have two parts
            replies, tokens_in, tokens_out = self._tokens.get(kind, (0, 0, 0))
            self._tokens[kind] = replies + 1, tokens_in + reply.tokens_in, tokens_out + reply.tokens_out

    @property
    def is_empty(self) -> bool:
        """True if nothing has been asked yet."""
        return not self._exchanges

    def trial_ids(self, prefix: str) -> frozenset[str]:
        """The ids of the recorded trials of an arm, whose keys begin with this."""
        return frozenset(key.split("/")[-2] for key in self._exchanges if key.startswith(prefix))

    def recall(self, key: str, digest: str, token_limit: int | None = None) -> Reply | None:
        """The recorded reply to exactly this prompt; None after a failure or for another prompt.

        Also None for a reply that was cut off and could be longer with `token_limit` (0: no limit; None: any will do).
        """
        exchange = self._exchanges.get(key)
        reply = exchange.reply if exchange and exchange.digest == digest else None
        return None if reply and token_limit is not None and reply.is_outdated(token_limit) else reply

    def failed(self, key: str, digest: str) -> bool:
        """True if exactly this prompt was asked and the latest call failed."""
        exchange = self._exchanges.get(key)
        return exchange is not None and exchange.digest == digest and exchange.reply is None

    def error(self, key: str) -> str:
        """The reason why a call failed."""
        return self._exchanges[key].error

    def reply_text(self, key: str) -> str:
        """The text of the recorded reply to a call; empty if it failed."""
        reply = self._exchanges[key].reply
        return reply.text if reply else ""

    def sent(self, digest: str, parts: Sequence[Any]) -> None:
        """Remember the parts sent under this digest."""
        if digest not in self._sent:
            self._sent[digest] = json.dumps(parts)

    def record(self, exchange: Exchange) -> Reply | None:
        """Write an exchange before its reply is used, and return the reply; None for one that cannot be kept.

        Raises SnellenError if it cannot be written.
        """
        path, exchange = self.root / "parts", bounded(exchange)
        try:
            if self._part is None:
                numbers = [int(part.stem) for part in path.glob("*.jsonl") if part.stem.isdecimal()]
                path /= f"{max(numbers, default=-1) + 1:04d}.jsonl"
                self._part = path.open("x", encoding="ascii")
            self._part.write(line_of(exchange))
            self._part.flush()
            if os.fstat(self._part.fileno()).st_size >= MAX_PART_BYTES:
                self.close()
        except OSError as error:
            raise files.cannot_write(path, error) from error
        self._keep(exchange)
        return exchange.reply

    def spent(self, prices: Mapping[str, tuple[float, float]]) -> float:
        """Cost of all recorded calls. `prices` maps fingerprints to (in, out) per million tokens."""
        used = [(tokens, prices[name]) for (name, _), (_, *tokens) in self._tokens.items() if name in prices]
        return sum(money(tokens_in, tokens_out, price) for (tokens_in, tokens_out), price in used)

    def mean_cost(self, fingerprint: str, prices: Mapping[str, tuple[float, float]]) -> float | None:
        """Mean cost of a reply about items; None if there is none. First questions, which are short, do not count."""
        replies, tokens_in, tokens_out = self._tokens.get((fingerprint, True), (0, 0, 0))
        return money(tokens_in, tokens_out, prices[fingerprint]) / replies if replies else None

    def write_tables(self, responses: Sequence[Response], keep: Iterable[Response] = ()) -> None:
        """Write the tables. The parts stay, since the tables are derived from them.

        `keep` are responses of arms that this command did not ask.
        """
        rows = map(_response_cells, chain(keep, responses))
        files.write_table(self.root / "responses.parquet", files.table_of(rows, RESPONSES))
        every = read_sent(self.root) | self._sent
        sent = ({"digest": key, "parts": _clean(parts)} for key, parts in every.items())
        files.write_table(self.root / "sent.parquet", files.table_of(sent, SENT))
        # Last: the parts from which all tables are made.
        made_of = {_MADE_OF: json.dumps(part_sizes(self.root))}
        exchanges = files.table_of(map(_flat, self._exchanges.values()), EXCHANGES)
        files.write_table(self.root / "exchanges.parquet", exchanges.replace_schema_metadata(made_of))

    def close(self) -> None:
        """Close the record."""
        try:
            if self._part is not None:
                os.fsync(self._part.fileno())
                self._part.close()
                self._part = None
        except OSError as error:  # data that a full disk refused is still buffered, and refused again
            raise files.cannot_write(self.root / "parts", error) from error


def price_of(attributes: Mapping[str, str]) -> tuple[float, float] | None:
    """Price per million tokens, (in, out), by the attributes of a subject; None unless the user gave both."""
    is_known = {"price_in", "price_out"} <= attributes.keys()
    return (float(attributes["price_in"]), float(attributes["price_out"])) if is_known else None


def money(tokens_in: int, tokens_out: int, price: tuple[float, float]) -> float:
    """Cost of tokens by a price per million, (in, out)."""
    return (tokens_in * price[0] + tokens_out * price[1]) / 1e6


def cost_by_subject(root: Path) -> dict[str, float]:
    """Cost of all recorded calls, with first questions and repeated calls, of each subject with prices other than 0."""
    arms = {arm.fingerprint: arm for arm in read_run_card(root).arms if any(price_of(arm.attributes) or ())}
    costs = dict.fromkeys((arm.subject for arm in arms.values()), 0.0)
    for exchange in read_exchanges(root) if arms else ():
        arm, reply = arms.get(exchange.key.partition("/")[0]), exchange.reply
        if reply and arm and (price := price_of(arm.attributes)):
            costs[arm.subject] += money(reply.tokens_in, reply.tokens_out, price)
    return costs


@contextmanager
def open_run(root: Path, card: RunCard, behind: MediaFolder) -> Iterator[RunFolder]:
    """Open or create a run about one item set. It is locked by the kernel until the process ends.

    Raises SnellenError if another process writes here, or if the run has another item set, seed or limit.
    """
    try:
        (root / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise files.cannot_write(root, error) from error
    with files.kernel_lock(root / "lock", root):
        if is_run(root):
            card = _merge_cards(root, read_run_card(root), card)
        files.write_text(root / "run.json", card.model_dump_json(indent=1) + "\n")
        run = RunFolder(root, MediaFolder(root / "media", behind))
        try:
            yield run
        finally:
            run.close()


def default_folder(card: ItemSetCard, subjects: Sequence[str], conditions: Sequence[str]) -> Path:
    """`runs/SUITE-<8 hex>`, the same for the same item set, subjects and conditions."""
    key = digest([card.content_hash, list(subjects), list(conditions)], 8)
    return Path("runs") / f"{card.suite}-{key}"


def is_run(root: Path) -> bool:
    """True if the folder holds a run."""
    return (root / "run.json").is_file()


def has_tables(root: Path) -> bool:
    """True if the folder holds a run whose tables were written, at its end or at an orderly stop."""
    return is_run(root) and (root / "responses.parquet").is_file()


def tables_are_behind(root: Path) -> bool:
    """True if a kill left the run's tables missing, incomplete, or older than its parts.

    Raises SnellenError if the parts hold less than the tables, since recreating the tables would lose data.
    """
    path = root / "exchanges.parquet"
    if not has_tables(root) or not path.is_file():
        return True
    try:
        made_of = json.loads((pq.read_schema(path).metadata or {}).get(_MADE_OF.encode(), b"null"))
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


def read_run_card(root: Path) -> RunCard:
    """Read `run.json`. Raises SnellenError if it is missing or malformed."""
    path = root / "run.json"
    if not path.is_file():
        raise SnellenError(
            f"{root}: no run (no run.json); make one with `snellen run ITEMSET --subject S --out {root}`"
        )
    return read_card_file(RunCard, path, "malformed", "the parts are intact: run again with another --out")


def refuse_other_run(root: Path, *, limit: int | None, **fields_of_card: str | int) -> None:
    """Raise SnellenError if the folder holds an item set, or a run with another limit, suite, seed or item set."""
    if is_itemset(root):
        raise SnellenError(f"{root}: holds an item set, and a run has a folder of its own; choose another --out")
    if is_run(root):
        _refuse_other_card(root, read_run_card(root), limit, **fields_of_card)


def _refuse_other_card(root: Path, earlier: RunCard, limit: int | None, **fields_of_card: str | int) -> None:
    if earlier.limit != limit:
        begun, now = ("no --limit" if n is None else f"--limit {n}" for n in (earlier.limit, limit))
        raise SnellenError(
            f"{root}: this run was started with {begun}; with {now} the sheets contain different items, so it cannot "
            f"continue: "
            f"give {begun} again, or choose another --out"
        )
    for name, value in fields_of_card.items():
        if getattr(earlier, name) != value:
            raise SnellenError(
                f"{root}: this run was started with {name} {getattr(earlier, name)!r}, not {value!r}; choose another "
                f"--out"
            )


def read_responses(root: Path) -> list[Response]:
    """The responses of a run. Raises SnellenError if the run was cut off before its tables were written."""
    path = root / "responses.parquet"
    if is_run(root) and not path.is_file():
        raise SnellenError(f"{root}: the run was interrupted; run the same `snellen run` command again to finish it")
    table = files.read_table(path, remedy=_REMEDY)
    if odd := next(
        (one.name for one in RESPONSES if one.name in table.schema.names and one != table.field(one.name)), ""
    ):
        raise SnellenError(f"{path}: {odd} has cells of another type; {_REMEDY}")
    specs, shared = dict[str, ReplySpec](), dict[Any, Any]()
    try:
        return [_response(row, specs, shared) for row in files.rows_of(table)]
    except (ValueError, KeyError, TypeError) as error:
        raise SnellenError(f"{path}: not a table of responses ({error}); {_REMEDY}") from error


def read_calls(root: Path, *names: str) -> pa.Table:
    """Columns of `EXCHANGES` of a run. Raises SnellenError if the table is missing or damaged."""
    schema = pa.schema([EXCHANGES.field(name) for name in names])
    return files.read_table(root / "exchanges.parquet", remedy=_REMEDY, schema=schema)


def reply_texts(roots: Iterable[Path], responses: Iterable[Response]) -> dict[str, str]:
    """The reply to each item, by response id; the whole reply of a call in which no answer to the item was found."""
    texts = {response.response_id: response.text or "" for response in responses}
    unread = [r for r in responses if r.text is None and r.status == "ok" and r.calls]
    tables = [read_calls(root, "key", "text").to_pydict() for root in roots if unread and has_tables(root)]
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


def own_responses(root: Path, items: ItemSet) -> list[Response]:
    """The responses of a run. Raises SnellenError as `read_responses`, and for those to other items than the run's."""
    responses = read_responses(root)
    tasks = {item_id: item.task for item_id, item in items.by_id.items()}
    if odd := next((one for one in responses if tasks.get(one.item_id) != one.task), None):
        path, what = root / "responses.parquet", f"{odd.item_id!r:.60} of task {odd.task!r:.40}"
        raise SnellenError(f"{path}: {what} is no item of this run; {_REMEDY}")
    return responses


def _response(row: dict[str, Any], specs: dict[str, ReplySpec], shared: dict[Any, Any]) -> Response:
    """The response of a row. Equal texts and specs of several rows are one object, kept in `specs` and `shared`."""
    text = row["reply_spec"]
    if text not in specs:
        specs[text] = _spec(text)
    cells = {name: shared.setdefault(row[name], row[name]) for name in _REPEATED}
    return Response(**{**row, **cells, "reply_spec": specs[text], "calls": tuple(row["calls"])})


def other_responses(root: Path, arms: Collection[tuple[str, str, int]]) -> list[Response]:
    """The responses of a run in all but these arms (subject, condition, repeat).

    Empty if there is no table yet. Raises SnellenError if the table is damaged and the run has other arms.
    """
    if not (root / "responses.parquet").is_file():
        return []
    try:
        responses = read_responses(root)
    except SnellenError as error:
        others = [card for card in read_run_card(root).arms if (card.subject, card.condition, card.repeat) not in arms]
        if others:
            names = ", ".join(sorted({f"{card.subject} under {card.condition}" for card in others}))
            raise SnellenError(f"{error}; this command leaves out arms of that run: {names}") from error
        return []
    return [r for r in responses if (r.subject, r.condition, r.repeat) not in arms]


def read_sent(root: Path) -> dict[str, str]:
    """The prompts that a run sent before, as JSON by digest; empty if the table is missing or damaged."""
    try:
        return {row["digest"]: row["parts"] for row in files.read_table(root / "sent.parquet").to_pylist()}
    except (SnellenError, KeyError):
        return {}


def sent_parts(root: Path, text: str) -> list[Any]:
    """The parts of a prompt as `sent.parquet` holds them. Raises SnellenError if they are damaged."""
    try:
        parts = json.loads(text)
    except (RecursionError, TypeError, ValueError):
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, str | dict) for part in parts):
        raise SnellenError(f"{root / 'sent.parquet'}: {text!r:.60} is no prompt; {_REMEDY}")
    return parts


def _merge_cards(root: Path, earlier: RunCard, current: RunCard) -> RunCard:
    same_fields: dict[str, str | int] = {
        "suite": current.suite,
        "seed": current.seed,
        "content_hash": current.content_hash,
    }
    _refuse_other_card(root, earlier, current.limit, **same_fields)
    for name in earlier.annotations.keys() & current.annotations.keys():
        if earlier.annotations[name] != current.annotations[name]:
            raise SnellenError(
                f"{root}: this run was started with a different table {name!r} ({earlier.annotations[name]}, not "
                f"{current.annotations[name]}); choose another --out"
            )
    fresh = {(arm.subject, arm.condition, arm.repeat) for arm in current.arms}
    other_arms = [arm for arm in earlier.arms if (arm.subject, arm.condition, arm.repeat) not in fresh]
    transforms = list(dict.fromkeys([*earlier.transforms, *current.transforms]))
    return current.model_copy(
        update={
            "arms": [*other_arms, *current.arms],
            "transforms": transforms,
            "annotations": {**earlier.annotations, **current.annotations},
        }
    )


def _clean(text: str) -> str:
    """The text with lone surrogates escaped, as tables need it; the parts keep them unchanged."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _flat(exchange: Exchange) -> dict[str, Any]:
    reply = {name: getattr(exchange.reply, name) if exchange.reply else None for name in _REPLY}
    cells = {"key": exchange.key, "digest": exchange.digest, "error": exchange.error, **reply}
    return {name: _clean(value) if isinstance(value, str) else value for name, value in cells.items()}


def _response_cells(response: Response) -> dict[str, Any]:
    spec = response.reply_spec
    form = {"kind": spec.kind, "keys": spec.keys, "frame": spec.frame and asdict(spec.frame)}
    reply_spec = json.dumps(form | ({"unit": spec.unit} if spec.unit else {}))
    cells = {f.name: getattr(response, f.name) for f in fields(Response)}
    cells |= {"reply_spec": reply_spec, "calls": list(response.calls)}
    return {name: _clean(value) if isinstance(value, str) else value for name, value in cells.items()}


def _spec(text: str) -> ReplySpec:
    cells = json.loads(text)
    keys = tuple((name, key) for name, key in cells["keys"])
    return ReplySpec(cells["kind"], keys, cells["frame"] and Affine(**cells["frame"]), cells.get("unit", ""))
