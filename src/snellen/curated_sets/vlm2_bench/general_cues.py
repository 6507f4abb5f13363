"""General cues from the user's edited images (section 2.1): five steps, then the items.

Screening, captions, salience, cues, answers: each step is built from the pairs that all earlier steps kept, and is
answered by a run. A screening may also be a review (`read_screening`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option
from snellen.core.seeds import stream
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.steps import Argument, Step
from snellen.curated_sets.vlm2_bench.edit_pairs import KINDS, LAYOUT, EditPair, read_edit_pairs
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.results import DECISION, StepResult, construction_subjects, read_step_result
from snellen.curation.steps import copy_media, step_item
from snellen.scoring.answers.plain import read_json_objects
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.folders import CuratedItems, source_folder
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT, STREAMS, SUITE, CandidateAnswer, ImagePair, cue_items

SALIENCE_BELOW = -2.0
"""Pairs with a mean log-probability of the instruction below this are kept (natural logarithm; section 2.1)."""
UNREADABLE = "the answer cannot be read"
UNANSWERED = "no answer"
SCREENING = "screening"
REVIEWED = "screening-items"
"""Input given with a review: the item set that was reviewed."""
SOURCE = Argument("source", "gc", "DIR")
FINAL = ("gc-mat", "gc-trk")

TwoTexts: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class CuePair:
    """A pair of images and the results of the steps so far. `mat` and `trk` are each a right and a wrong answer."""

    source: EditPair
    images: tuple[Media, Media]
    instruction: str
    edit: str
    captions: TwoTexts = ("", "")
    salience: float = 0.0
    detections: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    mat: TwoTexts | None = None
    trk: TwoTexts | None = None

    @property
    def description(self) -> str:
        """Both captions and the detected things."""
        text = prompts.DESCRIPTION.format(first=self.captions[0], second=self.captions[1])
        for number, labels in enumerate(self.detections, 1):
            text += prompts.DETECTED.format(number=number, things=", ".join(labels)) if labels else ""
        return text


PairStep: TypeAlias = Step[CuePair, CuePair | str]
"""A step whose items are about one pair; reading its answers extends the pair, or gives the reason to drop it."""


def curate_gc(
    tasks: Sequence[str], options: BuildOptions, media: MediaFolder, salience_below: float = SALIENCE_BELOW
) -> CuratedItems:
    """One step, or the final items of `gc-mat`, `gc-trk` or both.

    Raises SnellenError if a source or an input is missing, answers do not belong to it, or no pair is left.
    """
    sources = read_edit_pairs(source_folder(options, "gc", tasks[0], LAYOUT))
    screening, *others = steps(salience_below)
    if tasks[0] == screening.name:
        pairs = [_new_pair(pair, (media.add_file(pair.original), media.add_file(pair.edited))) for pair in sources]
        return CuratedItems(tuple(item for pair in pairs for item in screening.make_items(pair)))
    screened = _read_screening_result(screening, options, tasks[0])
    results, notes = {SCREENING: screened}, list[str]()
    pairs = _sift(screening, _screened_pairs(screening, sources, screened), screened, notes)
    for step in others:
        items = tuple(item for pair in pairs for item in step.make_items(pair))
        if step.name == tasks[0]:
            break
        result = step.read_result(options, f"{SUITE}/{tasks[0]}")
        step.check(items, result)
        results[step.name.removeprefix("gc-")] = result
        pairs = _sift(step, pairs, result, notes)
    else:
        items = _final(tasks, pairs, options.seed, construction_subjects(results), notes)
    copy_media(items, screened.items.media, media)
    return CuratedItems(items, tuple(notes), results)


def _sift(step: PairStep, pairs: Sequence[CuePair], result: StepResult, notes: list[str]) -> list[CuePair]:
    """The pairs that a step keeps; a note counts the dropped ones with reasons."""
    ledger, outcomes = Ledger(), []
    for pair in pairs:
        if isinstance(outcome := step.read(pair, result), CuePair):
            outcomes.append(outcome)
            ledger.keep(step.name, ANY_SOURCE)
        else:
            ledger.drop(step.name, ANY_SOURCE, outcome, pair.source.name)
    notes.append(ledger.task_note(step.name, "pairs"))
    if not outcomes:
        raise SnellenError(f"no pairs of images are left; {'; '.join(notes)}")
    return outcomes


# Screening


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    correct: bool
    unique: bool
    clear: bool
    instruction: str = ""
    edit: Literal["add", "remove", "swap", "attribute", "environment"]


def _new_pair(edit_pair: EditPair, images: Sequence[Media]) -> CuePair:
    original, edited = images
    return CuePair(edit_pair, (original, edited), edit_pair.instruction, edit_pair.kind)


def screening_items(pair: CuePair) -> tuple[Item, ...]:
    """The item that asks whether the instruction is correct, unique and clear."""
    handle = pair.source.handle
    question = prompts.SCREEN_EDIT.format(instruction=pair.source.instruction)
    provenance = {"pair": pair.source.name, "kind": pair.source.kind, "instruction": pair.source.instruction}
    return (
        step_item(
            "screening", f"screening-{handle}", question, pair.images, "text", f"gc-{handle}", provenance=provenance
        ),
    )


def read_screening(text: str) -> tuple[str, str] | str:
    """The corrected instruction and the kind of edit (empty if unchanged), or the reason to drop the pair.

    Accepts the requested JSON object, and the decisions of a review: `keep`, `keep:swap`, `drop`,
    `mend:NEW INSTRUCTION`, `mend:swap:NEW INSTRUCTION`.
    """
    if decided := re.fullmatch(rf"(keep|drop|mend)\s*(?::\s*({'|'.join(KINDS)})\s*)?(?::\s*(\S.*))?", text.strip()):
        decision, kind, instruction = decided.groups(default="")
        if decision == "drop" and not kind + instruction:
            return "by the review"
        return (instruction, kind) if decision != "drop" and bool(instruction) == (decision == "mend") else UNREADABLE
    try:
        verdict = _Verdict.model_validate(read_json_objects(text))
    except ValidationError:
        return UNREADABLE
    for name in ("correct", "unique", "clear"):
        if not getattr(verdict, name):
            return f"instruction not {name}"
    return verdict.instruction.strip(), verdict.edit


def _read_screening_result(step: PairStep, options: BuildOptions, task: str) -> StepResult:
    """The screening from a run, or from a review (a CSV or the run of people) with the reviewed items."""
    path = step.result_path(options, f"{SUITE}/{task}")
    if REVIEWED not in options.inputs:
        result = None if path.suffix == ".csv" else read_step_result(path)
        if result is None or any(item.task == DECISION for item in result.items.items):
            raise SnellenError(f"{path}: a review also needs the reviewed items: --input {REVIEWED}=STEP ({step.name})")
        return result
    result = read_step_result(path, read_itemset(options.inputs[REVIEWED]))
    for item_id, decision in result.decisions.items():
        if read_screening(decision) == UNREADABLE:
            forms = "keep, keep:KIND, drop, mend:NEW INSTRUCTION or mend:KIND:NEW INSTRUCTION"
            kinds = ", ".join(KINDS)
            raise SnellenError(f"{path}: {item_id}: unknown decision {decision!r}; write {forms} (KIND: {kinds})")
    return result


def _screened_pairs(step: PairStep, sources: Sequence[EditPair], result: StepResult) -> list[CuePair]:
    """All pairs with the screened images, which the next steps show."""
    by_id = {f"screening-{source.handle}": source for source in sources}
    queries = {item_id: item.query for item_id, item in result.items.by_id.items() if item_id in by_id}
    pairs = {item_id: _new_pair(by_id[item_id], query) for item_id, query in queries.items()}
    step.check([item for pair in pairs.values() for item in screening_items(pair)], result)
    if missing := next((source.name for item_id, source in by_id.items() if item_id not in pairs), None):
        raise SnellenError(f"{result.items.root}: pair {missing!r} of the source was not screened; {step.how_to}")
    return [pairs[item_id] for item_id in by_id]


def _screen(pair: CuePair, result: StepResult) -> CuePair | str:
    text = result.answers.get(screening_items(pair)[0].item_id)
    verdict = UNANSWERED if text is None else read_screening(text)
    if isinstance(verdict, str):
        return verdict
    instruction, edit = verdict[0] or pair.instruction, verdict[1] or pair.edit
    return replace(pair, instruction=instruction, edit=edit) if edit else "the kind of edit is missing"


# Captions, salience, cues


def _pair_item(pair: CuePair, task: str, mark: str, question: str, query: Sequence[Media], **fields: Any) -> Item:
    handle = pair.source.handle
    provenance = {"pair": pair.source.name}
    return step_item(
        task, f"{task}-{handle}{mark}", question, query, about=f"gc-{handle}", provenance=provenance, **fields
    )


def caption_items(pair: CuePair) -> tuple[Item, ...]:
    """One item per image, which asks for a caption."""
    return tuple(
        _pair_item(pair, "caption", f"-{n}", prompts.CAPTION, [image], kind="description")
        for n, image in enumerate(pair.images, 1)
    )


def _read_captions(pair: CuePair, result: StepResult) -> CuePair | str:
    first, second = (result.answers.get(item.item_id) for item in caption_items(pair))
    return replace(pair, captions=(first, second)) if first and second else UNANSWERED


def salience_items(pair: CuePair) -> tuple[Item, ...]:
    """The item for the probability of the instruction after both captions (equation 1, Table 2), without images."""
    question = prompts.SALIENCE_CONTEXT.format(first=pair.captions[0], second=pair.captions[1])
    options = (Option("continuation", pair.instruction),)
    return (_pair_item(pair, "log-probability", "", question, (), kind="number", options=options),)


def _read_salience(pair: CuePair, result: StepResult, below: float) -> CuePair | str:
    score = result.answers.get(salience_items(pair)[0].item_id)
    if score is None:
        return UNANSWERED
    return replace(pair, salience=float(score)) if score < below else f"too easy: salience not below {below:g}"


def detection_items(pair: CuePair) -> tuple[Item, ...]:
    """One item per image, which asks for all detections."""
    return tuple(
        _pair_item(pair, "detection", f"-{n}", "", [image], kind="text") for n, image in enumerate(pair.images, 1)
    )


class _Box(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    label: str = ""


class _Boxes(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    boxes: list[_Box]


def _read_detections(pair: CuePair, result: StepResult) -> CuePair | str:
    labels = []
    for item in detection_items(pair):
        if item.item_id not in result.answers:
            return UNANSWERED
        try:
            boxes = _Boxes.model_validate(read_json_objects(result.answers[item.item_id])).boxes
        except ValidationError:
            return UNREADABLE
        labels.append(tuple(dict.fromkeys(box.label for box in boxes if box.label)))
    return replace(pair, detections=(labels[0], labels[1]))


# Answer pairs and items

SECOND = {"gc-mat": "Distractor", "gc-trk": "Direct Reverse Answer"}
"""The heading of the wrong answer (Tables 3 and 4)."""


def answer_items(pair: CuePair) -> tuple[Item, ...]:
    """The items that ask for a right and a wrong answer for Mat and for Trk (Tables 3 and 4)."""
    fields = {"edit": pair.instruction, "description": pair.description}
    for_mat = prompts.PAIR_FOR_MAT.format(question=prompts.MATCH[pair.edit], **fields)
    for_trk = prompts.PAIR_FOR_TRK.format(**fields)
    return tuple(
        _pair_item(pair, "answer-pair", f"-{task}", wording, (), kind="text")
        for task, wording in zip(FINAL, (for_mat, for_trk), strict=True)
    )


def parse_pair(text: str, second_heading: str) -> tuple[str, str] | None:
    """The right and the wrong answer in a reply, or None.

    A reply is `Choices:`, then `Correct Answer: …`, then `second_heading` and its answer, each on a separate line; list
    bullets and asterisks around the headings are ignored. None for two equal answers, and for more or fewer lines.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    names = ("Choices", "Correct Answer", second_heading)
    if len(lines) != len(names):
        return None
    answers = []
    for line, name in zip(lines, names, strict=True):
        mark = re.match(rf"(?:[-*]\s+|\d\.\s*)?\**{name}\**:\**", line, re.IGNORECASE)
        if mark is None:
            return None
        answers.append(line[mark.end() :].strip())
    rest, right, wrong = answers
    return (right, wrong) if not rest and right and wrong and right.casefold() != wrong.casefold() else None


def _read_answer_pairs(pair: CuePair, result: StepResult) -> CuePair | str:
    texts = [result.answers.get(item.item_id) for item in answer_items(pair)]
    mat, trk = (
        None if text is None else parse_pair(text, SECOND[task]) for task, text in zip(FINAL, texts, strict=True)
    )
    if mat or trk:
        return replace(pair, mat=mat, trk=trk)
    return UNANSWERED if texts == [None, None] else UNREADABLE


# The chain


def steps(salience_below: float = SALIENCE_BELOW) -> tuple[PairStep, ...]:
    """The steps in order, each built from the results of all earlier ones."""
    read_salience = partial(_read_salience, below=salience_below)
    declared: list[PairStep] = []
    for name, subject, make_items, read in (
        (SCREENING, "chat:openai/gpt-4o", screening_items, _screen),
        ("captions", "chat:openai/gpt-4o", caption_items, _read_captions),
        ("salience", "logprob:hf/PATH_OR_ID", salience_items, read_salience),
        ("cues", "detector:hf/PATH_OR_ID", detection_items, _read_detections),
        ("answers", "chat:openai/gpt-4o", answer_items, _read_answer_pairs),
    ):
        declared.append(
            Step(
                suite=SUITE,
                name=f"gc-{name}",
                needs=(SOURCE, *(step.result for step in declared if step.result)),
                result=Argument("input", name, "RUN"),
                subjects=(subject,),
                make_items=make_items,
                read=read,
            )
        )
    return tuple(declared)


STEPS = steps()


def _final(
    tasks: Sequence[str], pairs: Sequence[CuePair], seed: int, subjects: Sequence[str], notes: list[str]
) -> tuple[Item, ...]:
    items: list[Item] = []
    for task in (task for task in FINAL if task in tasks):
        ledger = Ledger()
        for pair in pairs:
            items += final_items(task, pair, seed, subjects)
            if pair.mat if task == "gc-mat" else pair.trk:
                ledger.keep(task, ANY_SOURCE)
            else:
                ledger.drop(task, ANY_SOURCE, UNREADABLE, pair.source.name)
        notes.append(ledger.task_note(task, "pairs"))
    return tuple(items)


def final_items(task: str, pair: CuePair, seed: int, subjects: Sequence[str] = ()) -> tuple[Item, ...]:
    """The two items of one pair; empty if the task has no pair of answers."""
    answers, question = (pair.mat, prompts.MATCH[pair.edit]) if task == "gc-mat" else (pair.trk, prompts.TRACK)
    if answers is None:
        return ()
    right, wrong = answers
    shared = ImagePair(
        pair.source.handle,
        pair.images,
        cluster=f"gc-{pair.source.scene_handle}",
        factors={"cue": CUE_BY_EDIT[pair.edit], "edit": pair.edit},  # type: ignore[index]  # one of KINDS
        provenance={
            "seed": seed,
            "pair": pair.source.name,
            "instruction": pair.instruction,
            "captions": list(pair.captions),
            "salience": pair.salience,
            "construction_subjects": list(subjects),
        },
    )
    statements = CandidateAnswer(right, True), CandidateAnswer(wrong, False)
    rng = stream(SUITE, STREAMS, seed, task, pair.source.handle)
    return cue_items(task, shared, question, *statements, rng)  # type: ignore[arg-type]  # one of FINAL


def plan_gc(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """An upper limit on the number of items per task, since answers drop pairs."""
    count = len(read_edit_pairs(source_folder(options, "gc", tasks[0], LAYOUT)))
    return {task: count if task in ("gc-screening", "gc-salience") else 2 * count for task in tasks}
