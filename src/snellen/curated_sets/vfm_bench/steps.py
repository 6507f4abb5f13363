"""The steps of the curated recipe: candidates, selection, review; and texts about finished sets.

Captions and descriptions return as annotation tables of a run (`--input captions=RUN`), reviews as verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.steps import ITEMS, Argument, ItemStep, Stage, Verdicts, verdicts_of
from snellen.curation.results import check_about, read_step_result
from snellen.curation.review import read_review
from snellen.curation.steps import step_item, table_provenance
from snellen.scoring.answers.plain import read_json_objects
from snellen.suites.vfm_bench import prompts
from snellen.suites.vfm_bench.items import SUITE

REVIEW_REQUEST = (
    "This image is to be a question of a benchmark: which of the categories {names} does it belong to? Whoever "
    "answers is shown examples of every category first. The right answer is {label}.\n"
    "Judge the question:\n"
    "- clear: what decides can be seen; the image is neither damaged nor too small, dark or blurred for that.\n"
    "- answerable: the image belongs to {label} and to none of the other categories.\n"
    'Reply with one JSON object and nothing else:\n{{"clear": true, "answerable": true}}'
)
"""Ours, with the paper's two criteria (section 3.2), which people applied. `{names}` is a list, `{label}` quoted."""
INSTRUCTION = "instruction"
"""Replaces the image in tables about whole instructions."""
CONDITION = "shots=0"
"""The condition for judges: no examples, otherwise the main setting."""


def review_items(items: ItemSet) -> list[Item]:
    """One screening item per query, with the id of its item, so that decisions in a CSV use the same ids."""
    return [_review_item(item, items) for item in items.items]


def _review_item(item: Item, items: ItemSet) -> Item:
    label = next(option.text for option in item.options if option.key == item.answer)
    names = [option.text for option in item.options]
    provenance = table_provenance(items, [item.item_id], item.query[0].sha256) | {"names": names, "label": label}
    request = REVIEW_REQUEST.format(names=names, label=repr(label))
    return step_item("screening", item.item_id, request, item.query, "text", provenance=provenance)


def caption_items(items: ItemSet) -> list[Item]:
    """One caption item for each demo image and class name it is shown with, over all shots.

    Raises SnellenError if no item has a demo image.
    """
    about: dict[tuple[str, str], list[str]] = {}
    images: dict[str, Media] = {}
    for item in items.items:
        names = {option.key: option.text for option in item.options}
        for demo in item.support:
            for media in demo.media:
                images[media.sha256] = media
                about.setdefault((media.sha256, names[demo.answer]), []).append(item.item_id)
    if not about:
        raise SnellenError(f"{items.root}: no item has a demo image, so there is nothing to caption")
    return [
        step_item(
            "caption",
            f"caption-{k:05d}",
            prompts.CAPTION_REQUEST.format(label=label),
            (images[sha],),
            "description",
            provenance=table_provenance(items, ids, sha),
        )
        for k, ((sha, label), ids) in enumerate(about.items())
    ]


def instruction_items(items: ItemSet) -> list[Item]:
    """One item per instruction: one per task if all items of a task have the same classes."""
    about: dict[tuple[str, tuple[str, ...]], list[Item]] = {}
    for item in items.items:
        about.setdefault((item.question, tuple(sorted(option.text for option in item.options))), []).append(item)
    requests = []
    for k, ((question, _), of_instruction) in enumerate(about.items()):
        names = [option.text for option in of_instruction[0].options]
        request = prompts.DETAIL_REQUEST.format(prompt=prompts.instruction(question, names))
        provenance = table_provenance(items, [item.item_id for item in of_instruction], INSTRUCTION)
        requests.append(step_item("caption", f"instruction-{k:05d}", request, (), "description", provenance=provenance))
    return requests


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    clear: bool
    answerable: bool


def read_verdict(text: str) -> str:
    """The reason to drop an item, empty to keep it; read from the requested JSON object, or from `keep` or `drop`."""
    if (word := text.strip().casefold().rstrip(".")) in ("keep", "drop"):
        return "" if word == "keep" else "by the review"
    try:
        verdict = _Verdict.model_validate(read_json_objects(text))
    except ValidationError:
        return "the verdict cannot be read"
    return "not clear" if not verdict.clear else "" if verdict.answerable else "not answerable"


def read_reviewed(path: Path, items: ItemSet) -> Verdicts:
    """The verdicts of a CSV (item_id, decision, author, reason), or of the run of one subject or of people who agree.

    Raises SnellenError if the review is about other items, or the CSV has decisions other than keep and drop.
    """
    if path.suffix == ".csv":
        return verdicts_of(read_review(path, items))
    result = read_step_result(path)
    check_about(path, result, items, REVIEW.name, REVIEW.how_to, "screening")
    reasons = {
        item.provenance["items"][0]: read_verdict(result.answer(item) or "")
        for item in result.items.items
        if result.text(item) is not None
    }
    return Verdicts(result.author, reasons)


# The chain

CHOSEN = Argument("source", ITEMS, "CHOSEN")
ABOUT = Argument("source", ITEMS, "ITEMSET")

CANDIDATES = Stage(
    suite=SUITE,
    name="candidates",
    needs=(Argument("source", "data", "ROOT"),),
    result=Argument("input", "votes", "VOTES"),
    subjects=("A", "B", "C", "D", "E"),
    condition=CONDITION,
    folder="CAND",
    lead="build candidates",
    note="at least five judges, all in one run; then give --input votes=VOTES",
    bounded=True,
)
SELECT = Stage(
    suite=SUITE,
    name="select",
    needs=(Argument("input", "votes", "VOTES"),),
    result=CHOSEN,
    folder="CHOSEN",
    bounded=True,
)
REVIEW = ItemStep(
    suite=SUITE,
    name="review",
    needs=(CHOSEN,),
    result=Argument("input", "review", "RUN"),
    subjects=("chat:openai/gpt-4o",),
    folder="REVIEW",
    lead="build the requests",
    note="or people decide keep or drop for every item, and you give --input review=CSV",
    make_items=review_items,
)
FINAL = Stage(suite=SUITE, name="", needs=(CHOSEN, Argument("input", "review", "RUN")))
CHAIN: tuple[Stage, ...] = (CANDIDATES, SELECT, REVIEW, FINAL)

CAPTIONS = ItemStep(
    suite=SUITE,
    name="captions",
    needs=(ABOUT,),
    result=Argument("input", "captions", "RUN"),
    subjects=("chat:openai/gpt-4o",),
    note="then `snellen run ITEMSET --condition demos=caption --input captions=RUN`",
    make_items=caption_items,
)
INSTRUCTIONS = ItemStep(
    suite=SUITE,
    name="instructions",
    needs=(ABOUT,),
    result=Argument("input", "instructions", "RUN"),
    subjects=("chat:openai/gpt-4o",),
    note="then `snellen run ITEMSET --condition instruction=detailed --input instructions=RUN`",
    make_items=instruction_items,
)
SET_STEPS: Mapping[str, ItemStep[ItemSet]] = {step.name: step for step in (REVIEW, CAPTIONS, INSTRUCTIONS)}
"""Steps about the items of a set."""
