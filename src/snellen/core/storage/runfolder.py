"""A run on disk: `run.json` and the write-ahead record in `parts/`, from which its tables are made (`run_tables`).

Only exchanges are recorded: a prompt's digest with its reply or failure.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.plain_text import MIN_KEY, secret_texts, without_secrets
from snellen.core.prompt import Reply
from snellen.core.response import Exchange, Role, Source, StoppingRule
from snellen.core.storage import files
from snellen.core.storage.itemset_cards import Instalment, ItemSetCard, is_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import bounded, line_of, read_exchanges
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.trees import refuse_links

MAX_PART_BYTES = 4_000_000
"""A part of this size is closed, so that it is uploaded only once while the run continues."""
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "fake": {"role": "simulated"}, "human": {"role": "person"}, "encoder": {"role": "encoder"},
    "recorded": {"source": "recorded"}, "inspect": {"source": "recorded"}, "head": {"fitted": True},
}  # fmt: skip


def kind_by_name(subject: str) -> Mapping[str, Any]:
    """Role, source and `fitted` as a name tells them: for cards of earlier versions, and tables that name reviewers."""
    return _KINDS.get(subject.partition(":")[0], {})


Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]


class ArmCard(BaseModel):
    """One subject under one condition, as described in `run.json`; `role`, `source` and `fitted` as in `SubjectCard`.

    `columns` are the axes as resolved for the subject. `test_items` is the number of items of each task to be asked;
    empty if it is not known beforehand. `decide` is what ends asking (`runs.planning.deciding`), with at most
    `max_items` of a task.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str
    fingerprint: str
    settings: dict[str, Any]
    attributes: dict[str, str]
    condition: str
    columns: dict[str, int | str]
    repeat: Count
    test_items: dict[str, Count] = {}
    decide: StoppingRule = ""
    max_items: Count = 0
    role: Role = "model"
    source: Source = "asked"
    fitted: bool = False

    @property
    def arm_key(self) -> tuple[str, str, int]:
        """Subject, condition and repeat: what no other arm of a run has in common."""
        return self.subject, self.condition, self.repeat

    @property
    def withholds_words(self) -> bool:
        """True for a person, unless the study says that words are shared (`share_words` of its design)."""
        return self.role == "person" and self.attributes.get("words") != "shared"

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, cells: Any) -> Any:
        is_earlier = isinstance(cells, dict) and "role" not in cells
        return {**kind_by_name(str(cells.get("subject"))), **cells} if is_earlier else cells

    @model_validator(mode="after")
    def _check_price(self) -> ArmCard:
        price_of(self.attributes)
        return self


def is_person(arm: ArmCard) -> bool:
    """True if an arm has the role and the name of a person, who need not answer everything."""
    return arm.role == kind_by_name(arm.subject).get("role") == "person"


class RunCard(Card):
    """`run.json`. `annotations` gives author and hash of each annotation table that was used."""

    file = "run.json"

    suite: str
    version: str
    itemset: str
    recipe_hash: str
    content_hash: str
    rows_hash: str = ""
    test_hash: str = ""
    seed: int
    limit: Count | None
    arms: list[ArmCard] = Field(max_length=10_000)
    transforms: list[str] = Field(default_factory=list)
    annotations: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_arms(self) -> RunCard:
        if len({arm.arm_key for arm in self.arms}) < len(self.arms):
            raise ValueError("two arms are the same subject, condition and repeat")
        return self


def recorded_subjects(card: RunCard) -> list[str]:
    """The subjects whose answers were recorded elsewhere, in their order."""
    return list(dict.fromkeys(arm.subject for arm in card.arms if arm.source == "recorded"))


def same_items(earlier: RunCard, current: RunCard) -> bool:
    """True if two runs asked the same items: the same bytes, or the same decisions rendered on two machines.

    One of their sets may lack the training items of the recipe.
    """
    return same_rows(earlier, current, is_one_recipe=earlier.recipe_hash == current.recipe_hash)


def same_rows(card: RunCard | Instalment, second_card: RunCard | Instalment, *, is_one_recipe: bool = True) -> bool:
    """True if two hashed lists of items are the same; without training items only if they are of one recipe."""
    if is_one_recipe and card.test_hash and card.test_hash == second_card.test_hash:
        return True
    if card.rows_hash and second_card.rows_hash:
        return card.rows_hash == second_card.rows_hash
    return card.content_hash == second_card.content_hash


class RunFolder:
    """The record of a run, with a single writer: the latest exchange of each call, and prompts by digest, as JSON."""

    def __init__(self, root: Path, media: MediaFolder) -> None:
        self.root, self.media = root, media
        self.exchanges: dict[str, Exchange] = {}
        self._tokens: dict[tuple[str, bool], tuple[int, int, int]] = {}
        self.prompts: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._keys = secret_texts(os.environ, MIN_KEY)
        self._part: IO[str] | None = None  # opened at the first call after each start
        for exchange in read_exchanges(root):
            self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        digest = self._digests.setdefault(exchange.digest, exchange.digest)  # one object for equal digests
        before = self.exchanges.get(exchange.key)
        earlier = before.reply if before and before.digest == digest else None
        if exchange.reply is None and earlier and not earlier.is_cut_off:
            return  # a complete reply is not asked for again
        self.exchanges[exchange.key] = replace(exchange, digest=digest)
        if reply := exchange.reply:
            fingerprint, _, rest = exchange.key.partition("/")
            kind = fingerprint, "/" in rest  # keys of first questions have two parts
            replies, tokens_in, tokens_out = self._tokens.get(kind, (0, 0, 0))
            self._tokens[kind] = replies + 1, tokens_in + reply.tokens_in, tokens_out + reply.tokens_out

    @property
    def is_empty(self) -> bool:
        """True if nothing has been asked yet."""
        return not self.exchanges

    def trial_ids(self, prefix: str) -> frozenset[str]:
        """The ids of the recorded trials of an arm, whose keys begin with this."""
        return frozenset(key.split("/")[-2] for key in self.exchanges if key.startswith(prefix))

    def recall(self, key: str, digest: str, token_limit: int | None = None) -> Reply | None:
        """The recorded reply to exactly this prompt; None after a failure or for another prompt.

        Also None for a reply that was cut off and could be longer with `token_limit` (0: no limit; None: any will do).
        """
        exchange = self.exchanges.get(key)
        reply = exchange.reply if exchange and exchange.digest == digest else None
        return None if reply and token_limit is not None and reply.is_outdated(token_limit) else reply

    def failed(self, key: str, digest: str) -> bool:
        """True if exactly this prompt was asked and the latest call failed."""
        exchange = self.exchanges.get(key)
        return exchange is not None and exchange.digest == digest and exchange.reply is None

    def error(self, key: str) -> str:
        """The reason why a call failed."""
        return self.exchanges[key].error

    def reply_text(self, key: str) -> str:
        """The text of the recorded reply to a call; empty if it failed."""
        reply = self.exchanges[key].reply
        return reply.text if reply else ""

    def sent(self, digest: str, parts: Sequence[Any]) -> None:
        """Remember the parts sent under this digest."""
        if digest not in self.prompts:
            self.prompts[digest] = json.dumps(parts)

    def record(self, exchange: Exchange) -> Reply | None:
        """Write an exchange before its reply is used, and return the reply; None for one that cannot be kept.

        Raises SnellenError if it cannot be written.
        """
        path, exchange = self.root / "parts", bounded(self._without_keys(exchange))
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

    def _without_keys(self, exchange: Exchange) -> Exchange:
        """The exchange without keys in its reply: a service may echo what it got."""
        reply = exchange.reply
        texts = (reply.text, reply.reasoning, reply.model) if reply else ()
        if reply is None or not any(key in text for key in self._keys for text in texts):
            return exchange
        text, reasoning, model = (without_secrets(text, self._keys) for text in texts)
        return replace(exchange, reply=replace(reply, text=text, reasoning=reasoning, model=model))

    def spent(self, prices: Mapping[str, tuple[float, float]]) -> float:
        """Cost of all recorded calls. `prices` maps fingerprints to (in, out) per million tokens."""
        used = [(tokens, prices[name]) for (name, _), (_, *tokens) in self._tokens.items() if name in prices]
        return sum(money(tokens_in, tokens_out, price) for (tokens_in, tokens_out), price in used)

    def mean_cost(self, fingerprint: str, prices: Mapping[str, tuple[float, float]]) -> float | None:
        """Mean cost of a reply about items; None if there is none. First questions, which are short, do not count."""
        replies, tokens_in, tokens_out = self._tokens.get((fingerprint, True), (0, 0, 0))
        return money(tokens_in, tokens_out, prices[fingerprint]) / replies if replies else None

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
    refuse_links(root)
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
    return is_run(root) and all((root / f"{name}.parquet").is_file() for name in ("responses", "exchanges"))


def read_run_card(root: Path) -> RunCard:
    """Read `run.json`. Raises SnellenError if it is missing or malformed."""
    path = root / "run.json"
    if not path.is_file():
        if inside := sorted(card.parent.name for card in root.glob("*/run.json")):
            raise SnellenError(f"{root}: no run, but {len(inside)} are in it ({', '.join(inside[:5])}); give {root}/*")
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
            f"continue: give {begun} again, or choose another --out"
        )
    for name, value in fields_of_card.items():
        if (begun := getattr(earlier, name)) != value:
            raise SnellenError(
                f"{root}: this run was started with {name} {begun!r}, not {value!r}; choose another --out"
            )


def _merge_cards(root: Path, earlier: RunCard, current: RunCard) -> RunCard:
    same_fields = {name: getattr(current, name) for name in ("suite", "seed", "content_hash")}
    _refuse_other_card(root, earlier, current.limit, **same_fields)
    for name, table in current.annotations.items():
        if (begun := earlier.annotations.get(name, table)) != table:
            raise SnellenError(
                f"{root}: this run was started with another table {name!r} ({begun}, not {table}); choose another --out"
            )
    fresh = {arm.arm_key for arm in current.arms}
    fingerprints = {arm.arm_key[:2]: arm.fingerprint for arm in current.arms}  # another one replaces all repeats
    unchanged = [arm for arm in earlier.arms if fingerprints.get(arm.arm_key[:2], arm.fingerprint) == arm.fingerprint]
    other_arms = [arm for arm in unchanged if arm.arm_key not in fresh]
    transforms = list(dict.fromkeys([*earlier.transforms, *current.transforms]))
    annotations = {**earlier.annotations, **current.annotations}
    changes = {"arms": [*other_arms, *current.arms], "transforms": transforms, "annotations": annotations}
    return current.model_copy(update=changes)
