"""General cues from edited pictures of the user's own (section 2.1): five steps of work, then the items.

Screening, captions, salience, cues, answers: each step is made from the pairs that all steps before it left over, and
comes back as the run that answered it. A screening may come as a review instead (`decisions` below).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.annotations import read_review
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option
from snellen.core.itemset import read_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_json_objects
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.curated.edit_pairs import KINDS, LAYOUT, EditPair, read_edit_pairs
from snellen.suites.vlm2_bench.curated.steps import (
    Answers,
    Made,
    Work,
    check_asked,
    construction_subjects,
    copied,
    input_of,
    read_work,
    source_of,
    told_dropped,
)
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT, SUITE, VERSION, Statement, cue_items

SALIENCE_BELOW = -2.0
"""Pairs whose instruction has a mean log-probability below this are kept (natural logarithm; section 2.1)."""
UNREADABLE = "the answer cannot be read"
UNANSWERED = "no answer"
REVIEWED = "screening-items"
"""Input beside a review: the item set that was reviewed."""

SCREENING = Work("gc-screening", "screening", "gc", (), "chat:openai/gpt-4o")
CAPTIONS = Work("gc-captions", "captions", "gc", ("screening",), "chat:openai/gpt-4o")
SALIENCE = Work("gc-salience", "salience", "gc", ("screening", "captions"), "logprob:hf/PATH_OR_ID")
CUES = Work("gc-cues", "cues", "gc", (*SALIENCE.after, "salience"), "detector:hf/PATH_OR_ID")
ANSWERS = Work("gc-answers", "answers", "gc", (*CUES.after, "cues"), "chat:openai/gpt-4o")
WORKS = (SCREENING, CAPTIONS, SALIENCE, CUES, ANSWERS)
FINAL = ("gc-mat", "gc-trk")

Two: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Pair:
    """A pair of pictures and what is known of it so far. `mat` and `trk` are a right and a wrong answer each."""

    source: EditPair
    pictures: tuple[Media, Media]
    instruction: str
    edit: str
    captions: Two = ("", "")
    salience: float = 0.0
    things: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    mat: Two | None = None
    trk: Two | None = None

    @property
    def description(self) -> str:
        """Both captions, and what was detected beside them."""
        told = prompts.DESCRIPTION.format(first=self.captions[0], second=self.captions[1])
        for number, things in enumerate(self.things, 1):
            told += prompts.DETECTED.format(number=number, things=", ".join(things)) if things else ""
        return told


Held: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """Work, its items about one pair, and what the answers make of the pair: more of it, or why it is dropped."""

    work: Work
    items: Callable[[Pair], tuple[Item, ...]]
    read: Callable[[Pair, Held], Pair | str]


def curate_gc(
    tasks: Sequence[str], options: BuildOptions, media: MediaFolder, salience_below: float = SALIENCE_BELOW
) -> Made:
    """One step, or the final items of `gc-mat`, `gc-trk` or both.

    Raises SnellenError where a source or an input is missing, answers do not belong to it, or no pair is left.
    """
    pairs = read_edit_pairs(source_of(options, "gc", tasks[0], LAYOUT))
    if tasks[0] == SCREENING.task:
        shown = [(pair, (media.add_file(pair.original), media.add_file(pair.edited))) for pair in pairs]
        return Made(tuple(screening_item(*one) for one in shown))
    screened = _screening(options, tasks[0])
    answers, notes = {SCREENING.name: screened}, list[str]()
    left = _sifted(SCREENING, _screened(pairs, screened), notes)
    for step in steps(salience_below):
        items = tuple(item for pair in left for item in step.items(pair))
        if step.work.task == tasks[0]:
            break
        told = read_work(options, step.work, tasks[0])
        check_asked(items, told, step.work)
        answers[step.work.name] = told
        left = _sifted(step.work, [(pair.source, step.read(pair, told.held)) for pair in left], notes)
    else:
        items = _final(tasks, left, options.seed, construction_subjects(answers), notes)
    for one in {one.sha256: one for item in items for one in item.media()}.values():
        copied(one, screened.items.media, media)
    return Made(items, tuple(notes), answers)


def steps(salience_below: float) -> tuple[Step, ...]:
    """The steps behind the screening, in order."""
    return (
        Step(CAPTIONS, caption_items, _captioned),
        Step(SALIENCE, salience_items, partial(_challenging, below=salience_below)),
        Step(CUES, detection_items, _detected),
        Step(ANSWERS, answer_items, _answered),
    )


def _sifted(work: Work, judged: Sequence[tuple[EditPair, Pair | str]], notes: list[str]) -> list[Pair]:
    """The pairs that a step keeps; a note says how many were dropped and why."""
    left = [found for _, found in judged if isinstance(found, Pair)]
    dropped: dict[str, list[str]] = {}
    for pair, found in judged:
        if isinstance(found, str):
            dropped.setdefault(found, []).append(pair.name)
    notes.append(told_dropped(work.task, len(left), dropped))
    if not left:
        raise SnellenError(f"no pair of pictures is left to build from; {'; '.join(notes)}")
    return left


# Screening


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    correct: bool
    unique: bool
    clear: bool
    instruction: str = ""
    edit: Literal["add", "remove", "swap", "attribute", "environment"]


def screening_item(pair: EditPair, pictures: tuple[Media, Media]) -> Item:
    """Whether the instruction says what changed, fits only that, and is clear."""
    question = prompts.SCREEN_EDIT.format(instruction=pair.instruction)
    told = {"provenance": {"pair": pair.name, "kind": pair.kind}}
    return step_item("screening", f"screening-{pair.handle}", question, pictures, "text", f"gc-{pair.handle}", **told)


def read_screening(text: str) -> tuple[str, str] | str:
    """The mended instruction and the kind of edit (either may be empty: as it was), or why the pair is dropped.

    Read are the JSON object that is asked for, and the decisions of a review: `keep`, `keep:swap`, `drop`,
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


def _screening(options: BuildOptions, task: str) -> Answers:
    path = input_of(options, SCREENING, task)
    if path.suffix != ".csv":
        return read_work(options, SCREENING, task)
    if REVIEWED not in options.inputs:
        raise SnellenError(f"{path}: a review needs what was reviewed too: --input {REVIEWED}=STEP ({SCREENING.task})")
    review = read_review(path, SCREENING.name, read_itemset(options.inputs[REVIEWED]))
    held = {key: str(row["decision"]) for key, row in review.rows.items()}
    for key, decision in held.items():
        if read_screening(decision) == UNREADABLE:
            told = "keep, keep:KIND, drop, mend:NEW INSTRUCTION or mend:KIND:NEW INSTRUCTION"
            raise SnellenError(f"{path}: {key}: no decision {decision!r}; write {told} (KIND: {', '.join(KINDS)})")
    return Answers(review.author, read_itemset(options.inputs[REVIEWED]), held)


def _screened(pairs: Sequence[EditPair], answers: Answers) -> list[tuple[EditPair, Pair | str]]:
    """Every pair with the pictures that were screened: those are what the next steps show."""
    asked = {f"screening-{pair.handle}": pair for pair in pairs}
    shown = {key: _two(item.query) for key, item in answers.items.by_id.items() if key in asked}
    check_asked([screening_item(asked[key], two) for key, two in shown.items()], answers, SCREENING)
    if missing := next((pair.name for key, pair in asked.items() if key not in shown), None):
        raise SnellenError(
            f"{answers.items.root}: pair {missing!r} of the source was not screened; {SCREENING.commands}"
        )
    return [(pair, _kept(pair, shown[key], answers.held.get(key))) for key, pair in asked.items()]


def _two(query: Sequence[Media]) -> tuple[Media, Media]:
    first, second = query
    return first, second


def _kept(pair: EditPair, pictures: tuple[Media, Media], text: str | None) -> Pair | str:
    told = UNANSWERED if text is None else read_screening(text)
    if isinstance(told, str):
        return told
    edit = told[1] or pair.kind
    return Pair(pair, pictures, told[0] or pair.instruction, edit) if edit else "the kind of edit is not said"


# Captions, salience, cues


def _work(pair: Pair, task: str, mark: str, question: str, query: Sequence[Media], **told: Any) -> Item:
    handle = pair.source.handle
    provenance = {"pair": pair.source.name}
    return step_item(
        task, f"{task}-{handle}{mark}", question, query, about=f"gc-{handle}", provenance=provenance, **told
    )


def caption_items(pair: Pair) -> tuple[Item, ...]:
    """Each picture on its own."""
    return tuple(
        _work(pair, "caption", f"-{n}", prompts.CAPTION, [one], kind="description")
        for n, one in enumerate(pair.pictures, 1)
    )


def _captioned(pair: Pair, held: Held) -> Pair | str:
    first, second = (held.get(item.item_id) for item in caption_items(pair))
    return replace(pair, captions=(first, second)) if first and second else UNANSWERED


def salience_items(pair: Pair) -> tuple[Item, ...]:
    """How likely the instruction is behind both captions (equation 1, Table 2). No picture is shown."""
    question = prompts.SALIENCE_CONTEXT.format(first=pair.captions[0], second=pair.captions[1])
    options = (Option("continuation", pair.instruction),)
    return (_work(pair, "log-probability", "", question, (), kind="number", options=options),)


def _challenging(pair: Pair, held: Held, below: float) -> Pair | str:
    score = held.get(salience_items(pair)[0].item_id)
    if score is None:
        return UNANSWERED
    return replace(pair, salience=float(score)) if score < below else f"too easy: salience not below {below:g}"


def detection_items(pair: Pair) -> tuple[Item, ...]:
    """Everything that can be detected in each picture."""
    return tuple(_work(pair, "detection", f"-{n}", "", [one], kind="text") for n, one in enumerate(pair.pictures, 1))


class _Box(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    label: str = ""


class _Boxes(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    boxes: list[_Box]


def _detected(pair: Pair, held: Held) -> Pair | str:
    things = []
    for item in detection_items(pair):
        if item.item_id not in held:
            return UNANSWERED
        try:
            found = _Boxes.model_validate(read_json_objects(held[item.item_id]))
        except ValidationError:
            return UNREADABLE
        things.append(tuple(dict.fromkeys(box.label for box in found.boxes if box.label)))
    return replace(pair, things=(things[0], things[1]))


# Answer pairs and items

SECOND = {"gc-mat": "Distractor", "gc-trk": "Direct Reverse Answer"}
"""What the wrong answer is called (Tables 3 and 4)."""


def answer_items(pair: Pair) -> tuple[Item, ...]:
    """A right and a wrong answer for Mat and for Trk (Tables 3 and 4)."""
    told = {"edit": pair.instruction, "description": pair.description}
    for_mat = prompts.PAIR_FOR_MAT.format(question=prompts.MATCH[pair.edit], **told)
    for_trk = prompts.PAIR_FOR_TRK.format(**told)
    return tuple(
        _work(pair, "answer-pair", f"-{task}", wording, (), kind="text")
        for task, wording in zip(FINAL, (for_mat, for_trk), strict=True)
    )


def parse_pair(text: str, second: str) -> tuple[str, str] | None:
    """The right and the wrong answer of a reply, or None.

    A reply is `Choices:`, then `Correct Answer: …`, then `second` and its answer, each on a line of its own; list marks
    and stars round the names do not count. Two equal answers, more lines, or fewer, are none.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    names = ("Choices", "Correct Answer", second)
    if len(lines) != len(names):
        return None
    found = []
    for line, name in zip(lines, names, strict=True):
        mark = re.match(rf"(?:[-*]\s+|\d\.\s*)?\**{name}\**:\**", line, re.IGNORECASE)
        if mark is None:
            return None
        found.append(line[mark.end() :].strip())
    rule, right, wrong = found
    return (right, wrong) if not rule and right and wrong and right.casefold() != wrong.casefold() else None


def _answered(pair: Pair, held: Held) -> Pair | str:
    texts = [held.get(item.item_id) for item in answer_items(pair)]
    mat, trk = (
        None if text is None else parse_pair(text, SECOND[task]) for task, text in zip(FINAL, texts, strict=True)
    )
    if mat or trk:
        return replace(pair, mat=mat, trk=trk)
    return UNANSWERED if texts == [None, None] else UNREADABLE


def _final(
    tasks: Sequence[str], pairs: Sequence[Pair], seed: int, subjects: Sequence[str], notes: list[str]
) -> tuple[Item, ...]:
    items: list[Item] = []
    for task in (task for task in FINAL if task in tasks):
        made = [item for pair in pairs for item in final_items(task, pair, seed, subjects)]
        without = [pair.source.name for pair in pairs if not (pair.mat if task == "gc-mat" else pair.trk)]
        notes.append(told_dropped(task, len(made) // 2, {UNREADABLE: without} if without else {}))
        items += made
    return tuple(items)


def final_items(task: str, pair: Pair, seed: int, subjects: Sequence[str] = ()) -> tuple[Item, ...]:
    """The two items of one pair; none where there is no pair of answers for the task."""
    answers, question = (pair.mat, prompts.MATCH[pair.edit]) if task == "gc-mat" else (pair.trk, prompts.TRACK)
    if answers is None:
        return ()
    right, wrong = answers
    return cue_items(
        task,  # type: ignore[arg-type]  # one of FINAL
        pair.source.handle,
        pair.pictures,
        question,
        Statement(right, True),
        Statement(wrong, False),
        factors={"cue": CUE_BY_EDIT[pair.edit], "edit": pair.edit},  # type: ignore[index]  # one of KINDS
        cluster=f"gc-{pair.source.scene_handle}",
        rng=stream(SUITE, VERSION, seed, task, pair.source.handle),
        provenance={
            "seed": seed,
            "pair": pair.source.name,
            "instruction": pair.instruction,
            "captions": list(pair.captions),
            "salience": pair.salience,
            "construction_subjects": list(subjects),
        },
    )


def plan_gc(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """The most items there can be: answers drop pairs."""
    count = len(read_edit_pairs(source_of(options, "gc", tasks[0], LAYOUT)))
    return {task: count if task in (SCREENING.task, SALIENCE.task) else 2 * count for task in tasks}
