"""Work about finished items: the review of queries, captions of demo pictures, descriptions of classes.

Items of work belong to the suite `curation-steps` and say in their provenance what they are about: the content hash of
the set, the ids of the items, and the picture (or `instruction`). By that, captions and descriptions come back as
annotation tables of a run (`--input captions=RUN`), and reviews as decisions here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.annotations import read_review
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet
from snellen.core.media import MediaFolder
from snellen.curation.steps import read_step_result, step_item, table_provenance
from snellen.scoring.answers import read_answer, read_json_objects
from snellen.suites.vfm_bench import prompts
from snellen.suites.vfm_bench.curated.pictures import Dropped

REVIEW_REQUEST = (
    "This picture is to be a question of a benchmark: which of the categories {names} does it belong to? Whoever "
    "answers is shown examples of every category first. The right answer is {label}.\n"
    "Judge the question:\n"
    "- clear: what decides can be seen; the picture is neither damaged nor too small, dark or blurred for that.\n"
    "- answerable: the picture belongs to {label} and to none of the other categories.\n"
    'Reply with one JSON object and nothing else:\n{{"clear": true, "answerable": true}}'
)
"""Ours: the two criteria are the paper's (section 3.2), which people applied. `{names}` is a list, `{label}` quoted."""
REVIEW_COMMANDS = (
    "build the work with `snellen build vfm-bench/review --from curated --source items=CHOSEN --out REVIEW`, then give "
    "--input review=CSV with a decision (keep or drop) on every item; or --input review=RUN after "
    "`snellen run REVIEW --subject … --out RUN`"
)
INSTRUCTION = "instruction"
"""What stands in place of a picture where a whole instruction is described."""


@dataclass(frozen=True)
class Review:
    """Decisions by item id: empty for an item that stays, else why it goes. `author`: who decided."""

    author: str
    decisions: Mapping[str, str]

    @property
    def hash(self) -> str:
        """Digest of all decisions."""
        return digest([self.author, dict(self.decisions)], 16)


def review_items(items: ItemSet) -> list[Item]:
    """One screening item for every query, under the id of its item: decisions in a CSV name the same ids."""
    return [
        step_item(
            "screening",
            one.item_id,
            REVIEW_REQUEST.format(names=[option.text for option in one.options], label=repr(_truth(one))),
            one.query,
            "text",
            provenance=table_provenance(items, [one.item_id], one.query[0].sha256),
        )
        for one in items.items
    ]


def _truth(item: Item) -> str:
    return next(option.text for option in item.options if option.key == item.answer)


def caption_items(items: ItemSet) -> list[Item]:
    """One caption item for every demo picture and class name it is shown under, all shots."""
    about: dict[tuple[str, str], list[str]] = {}
    pictures: dict[str, Media] = {}
    for one in items.items:
        names = {option.key: option.text for option in one.options}
        for demo in one.support:
            for media in demo.media:
                pictures[media.sha256] = media
                about.setdefault((media.sha256, names[demo.answer]), []).append(one.item_id)
    return [
        step_item(
            "caption",
            f"caption-{k:05d}",
            prompts.CAPTION_REQUEST.format(label=label),
            (pictures[sha],),
            "description",
            provenance=table_provenance(items, ids, sha),
        )
        for k, ((sha, label), ids) in enumerate(about.items())
    ]


def instruction_items(items: ItemSet) -> list[Item]:
    """One item for every instruction: one a task, where all items of a task offer the same classes."""
    about: dict[tuple[str, tuple[str, ...]], list[Item]] = {}
    for one in items.items:
        about.setdefault((one.question, tuple(sorted(option.text for option in one.options))), []).append(one)
    made = []
    for k, ((question, _), held) in enumerate(about.items()):
        names = [option.text for option in held[0].options]
        asked = prompts.DETAIL_REQUEST.format(prompt=prompts.instruction(question, names))
        ids = [one.item_id for one in held]
        told = table_provenance(items, ids, INSTRUCTION)
        made.append(step_item("caption", f"instruction-{k:05d}", asked, (), "description", provenance=told))
    return made


def copy_media(items: Iterable[Item], source: MediaFolder, into: MediaFolder) -> None:
    """Keep everything that the items show, each once; what is there already stays."""
    for one in dict.fromkeys(media for item in items for media in item.media()):
        if not (into.root / one.path).exists():
            into.add(source.read(one), one.kind, one.format, (one.width, one.height), one.seconds)


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    clear: bool
    answerable: bool


def read_verdict(text: str) -> str:
    """Why an item goes, empty where it stays: from the JSON object that is asked for, or the words keep and drop."""
    if (word := text.strip().casefold().rstrip(".")) in ("keep", "drop"):
        return "" if word == "keep" else "by the review"
    try:
        verdict = _Verdict.model_validate(read_json_objects(text))
    except ValidationError:
        return "the verdict cannot be read"
    return "not clear" if not verdict.clear else "" if verdict.answerable else "not answerable"


def read_reviewed(path: Path, items: ItemSet) -> Review:
    """The decisions of a CSV (item_id, decision, author, reason) or of the run of one subject.

    Raises SnellenError where the review is of other items, or the CSV holds anything but keep and drop.
    """
    if path.suffix != ".csv":
        return _of_run(path, items)
    told = read_review(path, "review", items)
    decisions = {}
    for item_id, row in told.rows.items():
        decision = str(row["decision"]).strip().casefold()
        if decision not in ("keep", "drop"):
            raise SnellenError(f"{path}: {item_id}: no decision {row['decision']!r}; write keep or drop")
        decisions[item_id] = "" if decision == "keep" else f"by the review ({row['reason'].strip() or 'no reason'})"
    return Review(told.author, decisions)


def _of_run(path: Path, items: ItemSet) -> Review:
    told = read_step_result(path)
    decisions = {}
    for work in told.items.items:
        if work.task != "screening" or work.provenance.get("about") != items.card.content_hash:
            raise SnellenError(f"{path}: no review of {items.root}; {REVIEW_COMMANDS}")
        if (text := told.text(work)) is not None:
            said = read_answer(text, told.responses[work.item_id].reply_spec)
            decisions[work.provenance["items"][0]] = read_verdict(said or "")
    return Review(told.author, decisions)


def reviewed(items: Sequence[Item], review: Review, dropped: Dropped) -> list[Item]:
    """The items that a review keeps, with the reviewer among those who helped. Without a decision an item goes."""
    kept = []
    for one in items:
        if reason := review.decisions.get(one.item_id, "no decision"):
            dropped.add(reason, one.item_id)
        else:
            kept.append(one)
    return [_with_subject(one, review.author) for one in kept]


def _with_subject(item: Item, author: str) -> Item:
    provenance: dict[str, Any] = dict(item.provenance)
    provenance["construction_subjects"] = sorted({*provenance.get("construction_subjects", ()), author})
    return replace(item, provenance=provenance)
