"""The `questions` recipe: items for tagging the user's own questions, by which abilities are weighted.

    snellen build ava-bench/tagging --from questions --source questions=FILE --out WORK
    snellen run WORK --subject chat:openai/gpt-4o --out TAGS
    snellen build ava-bench/tag-check --from questions --source questions=FILE --input tags=TAGS --out CHECK
    snellen report RUN --input tags=TAGS --input tag-check=CSV --out REPORT

`user_questions.py` describes FILE. People fill in a copy of CHECK/decisions.csv, or a chat subject answers the check in
a run, which is given instead of the CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, ReplySpec
from snellen.core.plain_text import no_formula
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.results import read_step_result
from snellen.curation.review import REVIEW_COLUMNS, read_review
from snellen.scoring.answers import read_answer
from snellen.suites.ava_bench.advice.ability_profile import Tagged, UserQuestion, checking_items, tagging_items, tags
from snellen.suites.ava_bench.advice.user_questions import FORM, read_rows, with_images
from snellen.suites.ava_bench.items import STREAMS, SUITE

TAGGING, TAG_CHECK = "tagging", "tag-check"
STEPS = (TAGGING, TAG_CHECK)
QUESTIONS, TAGS = "questions", "tags"
CHECKED = 50
"""Questions in a spot check without `--n`: enough for an interval of about ten percent each way."""
DECISIONS = ReplySpec("choice", (("keep", "keep"), ("drop", "drop")))
SHEET = "decisions.csv"
_BUILD = f"snellen build {SUITE}/{{}} --from questions --source {QUESTIONS}=FILE"
TAG_COMMANDS = (
    f"build the work with `{_BUILD.format(TAGGING)} --out WORK`, then `snellen run WORK --subject chat:… --out TAGS`"
)
CHECK_COMMANDS = (
    f"build the work with `{_BUILD.format(TAG_CHECK)} --input {TAGS}=TAGS --out CHECK`, then fill in a copy of "
    f"CHECK/{SHEET}, or `snellen run CHECK --subject … --out CHECKED`"
)


class Decisions(NamedTuple):
    """A spot check: its author, `keep` or `drop` by question, and the number of questions without a decision."""

    author: str
    by_question: Mapping[str, str]
    undecided: int


@dataclass(frozen=True)
class Questions:
    """The recipe `questions`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """The step; for a spot check also its size and the seed. The card adds the questions and tags."""
        step = step_of(options)
        check_settings = {"seed": options.seed, "n": options.n or CHECKED} if step == TAG_CHECK else {}
        return {"step": step, **check_settings}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The number of questions to tag or check. No image is read."""
        step, count = step_of(options), len(read_rows(options.sources[QUESTIONS]))
        if step == TAG_CHECK:
            tagged, _ = read_tagged(options.inputs[TAGS])
            count = min(options.n or CHECKED, len(tagged.abilities))
        return {"suite": SUITE, "items": {step: count}}

    def build(self, options: BuildOptions) -> ItemSet:
        """Write the items of one step. Raises SnellenError for missing or inconsistent inputs."""
        step = step_of(options)
        refuse_existing(options.out)
        rows, media = read_rows(options.sources[QUESTIONS]), MediaFolder(options.out / "media")
        questions = with_images(rows, media)
        items, recipe = tagging_items(questions), dict(self.parameters(options))
        subjects: list[str] = []
        if step == TAG_CHECK:
            tagged, work = read_tagged(options.inputs[TAGS])
            _check_tagged_questions(items, work)
            items = _checks(questions, tagged, work, options)
            recipe |= {"tagging": work.card.content_hash, "tags": digest(dict(tagged.abilities), 16)}
            subjects = [tagged.author]
            files.write_text(options.out / SHEET, _sheet(items, questions))
        prune_media(media, items)
        recipe["questions"] = digest([[question.question_id, question.question] for question in questions], 16)
        provenance = {"construction_subjects": subjects}
        return write_itemset(options.out, items, source="questions", recipe=recipe, provenance=provenance)


def step_of(options: BuildOptions) -> str:
    """The step to build. Raises SnellenError for a missing or unknown step, and for missing or useless options."""
    if QUESTIONS not in options.sources or not options.tasks:
        raise SnellenError(f"{SUITE} --from questions: give a step and a file, `{_BUILD.format(TAGGING)}`; {FORM}")
    (step, *others) = options.tasks
    if others or step not in STEPS:
        raise SnellenError(f"{SUITE} --from questions: no step {(others or [step])[0]!r}; {near(step, STEPS)}")
    inputs = (TAGS,) if step == TAG_CHECK else ()
    for option, names, allowed in (("--source", options.sources, (QUESTIONS,)), ("--input", options.inputs, inputs)):
        if useless := next((name for name in names if name not in allowed), None):
            raise SnellenError(f"{SUITE}/{step} --from questions: does not use {option} {useless!r}; leave it out")
    if inputs and TAGS not in options.inputs:
        raise SnellenError(f"{SUITE}/{step}: --input {TAGS}=TAGS is missing; {TAG_COMMANDS}")
    if options.n is not None and (step == TAGGING or options.n < 1):
        reason = "all questions are tagged; leave it out" if step == TAGGING else "checks nothing; give 1 or more"
        raise SnellenError(f"{SUITE}/{step}: --n {options.n}: {reason}")
    return step


def read_tagged(run: Path) -> tuple[Tagged, ItemSet]:
    """The tags that one subject gave in a run, and the item set. Raises SnellenError for any other run."""
    result = read_step_result(run)
    if (result.items.card.source, result.items.card.recipe.get("step")) != ("questions", TAGGING):
        raise SnellenError(f"{run}: contains no question tags; {TAG_COMMANDS}")
    return tags(result), result.items


def _check_tagged_questions(items: Iterable[Item], work: ItemSet) -> None:
    """Raise SnellenError unless exactly these questions were tagged, with the same wording and images."""
    expected = {item.item_id: item for item in items}
    if changed := next((key for key in {**expected, **work.by_id} if expected.get(key) != work.by_id.get(key)), None):
        raise SnellenError(
            f"{work.root}: question {changed!r} differs from the file of questions, so its tags do not apply; "
            f"restore the file, or tag the questions again: {TAG_COMMANDS}"
        )


def _checks(questions: list[UserQuestion], tagged: Tagged, work: ItemSet, options: BuildOptions) -> list[Item]:
    """The items of a spot check, with the tags that they are about."""
    rng = stream(SUITE, STREAMS, options.seed, TAG_CHECK)
    items = checking_items(questions, tagged, options.n or CHECKED, rng)
    if not items:
        raise SnellenError(f"{options.inputs[TAGS]}: no question has readable tags; {TAG_COMMANDS}")
    return [replace(item, provenance=_about(tagged, work, item.item_id)) for item in items]


def _about(tagged: Tagged, work: ItemSet, name: str) -> dict[str, Any]:
    return {"about": work.card.content_hash, TAGS: list(tagged.abilities.get(name, ()))}


def _sheet(items: Iterable[Item], questions: Iterable[UserQuestion]) -> str:
    """A CSV that people fill in: the columns of a review, with question and tags."""
    question_texts = {question.question_id: question.question for question in questions}
    buffer = io.StringIO(newline="")
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow([*REVIEW_COLUMNS, "question", TAGS])
    for item in items:
        tag_list = ", ".join(item.provenance[TAGS]) or "none"
        rows.writerow([item.item_id, "", "", "", no_formula(question_texts[item.item_id]), tag_list])
    return buffer.getvalue()


def read_decisions(path: Path, tagged: Tagged, work: ItemSet) -> Decisions:
    """The decisions of a CSV (item_id, decision, author, reason) or of the run of one subject on the spot check.

    Rows without a decision, and replies that cannot be read as keep or drop, count as undecided. Raises SnellenError
    for a check of other tags or questions, and for other words in a CSV.
    """
    return _csv_decisions(path, work) if path.suffix == ".csv" else _run_decisions(path, tagged, work)


def _csv_decisions(path: Path, work: ItemSet) -> Decisions:
    review = read_review(path, work)
    rows = review.decisions
    decisions = {name: word for name, word in review.keep_or_drop(allow_blank=True).items() if word}
    authors = sorted({author.strip() for name in decisions for author in rows[name].author.split(",")} - {""})
    return Decisions(", ".join(authors) or "someone unnamed", decisions, len(rows) - len(decisions))


def _run_decisions(path: Path, tagged: Tagged, work: ItemSet) -> Decisions:
    result, decisions = read_step_result(path), {}
    for item in result.items.items:
        if dict(item.provenance) != _about(tagged, work, item.item_id):
            raise SnellenError(f"{path}: {item.item_id}: no spot check of these tags; {CHECK_COMMANDS}")
        text = result.text(item)
        if (decision := None if text is None else read_answer(text, DECISIONS)) is not None:
            decisions[item.item_id] = decision
    return Decisions(result.author, decisions, len(result.items.items) - len(decisions))
