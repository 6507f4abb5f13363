"""`snellen quiz`: a question sheet without keys, and the agreement of its answers with the keys."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from snellen.cli.output import console, print_json
from snellen.cli.prompt_page import embedded, page, prompt_blocks
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.storage.user_files import read_text
from snellen.exam.items import find_items
from snellen.runs.quiz import (
    ALL_LEVELS,
    UNDECIDABLE,
    KeyAgreement,
    QuizAnswer,
    QuizQuestion,
    agreements,
    agreements_by_level,
    compare,
    draw_questions,
    key_text,
    omissions,
)
from snellen.suites import suite_of

CARD, SHEET, ANSWERS, DISAGREEMENTS, RESULT = (
    "quiz.json",
    "sheet.html",
    "answers.csv",
    "disagreements.html",
    "agreement.json",
)
LEAD = (
    f"Answer from the images alone, in {ANSWERS}: one line per question with only the answer (wood, B, T, 3, red, "
    f"[x1, y1, x2, y2]), without any JSON around it; {UNDECIDABLE} if the images do not decide. Do not open "
    "the item set, since it holds the keys."
)


class QuizCard(Card):
    """`quiz.json`: the questions of a sheet, without keys."""

    file = CARD

    suite: str
    content_hash: str
    condition: str
    n: int
    seed: int
    difficulty: str = ALL_LEVELS


def quiz(itemset: str, out: Path, n: int, condition: str, seed: int, difficulty: str, as_json: bool) -> None:
    """Write a sheet into `out`; if there is one with answers, compare them with the keys."""
    items = find_items(itemset)
    suite = suite_of(items)
    (point, *others) = parse_conditions(suite.axes, condition)
    if others:
        raise SnellenError(f"--condition {condition!r} is {1 + len(others)} conditions; a sheet has only one")
    card = QuizCard(
        suite=suite.name, content_hash=items.card.content_hash, condition=str(point), n=n, seed=seed,
        difficulty=difficulty,
    )  # fmt: skip
    texts = _read_answers(out, card) if (out / CARD).exists() else {}
    with tempfile.TemporaryDirectory(prefix="snellen-quiz-") as folder:
        media = MediaFolder(Path(folder), items.media)
        questions = draw_questions(items, suite, point, media, n=n, seed=seed, difficulty=difficulty)
        lines = list(omissions(items, suite, point, difficulty))
        if not as_json:
            print("".join(f"{line}\n" for line in lines), end="")
        if texts:
            _print_agreement(compare(questions, texts, suite), out, media, as_json)
        else:
            _write_sheet(questions, items, card, out, media, lines if as_json else None)


def _write_sheet(
    questions: Sequence[QuizQuestion],
    items: ItemSet,
    card: QuizCard,
    out: Path,
    media: MediaFolder,
    omitted: Sequence[str] | None,
) -> None:
    """Write the files. With `omitted`, the lines on what is left out, print them with the paths as JSON."""
    out.mkdir(parents=True, exist_ok=True)

    def address(image: Media) -> str:
        name = f"media/{image.sha256[:20]}.{image.format}"
        files.write_bytes(out / name, media.read(image), durable=False)
        return name

    sections = [(f"{q.number}. {q.item.task}", prompt_blocks(q.prompt, address)) for q in questions]
    files.write_text(out / SHEET, page(f"{items.card.suite}: {len(questions)} questions", sections, LEAD))
    with (out / ANSWERS).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["number", "task", "answer"])
        writer.writerows((q.number, q.item.task, "") for q in questions)
    files.write_text(out / CARD, card.model_dump_json(indent=1) + "\n")
    if omitted is not None:
        paths = {"sheet": str(out / SHEET), "answers": str(out / ANSWERS)}
        print_json({**paths, "questions": len(questions), "left_out": list(omitted)})
        return
    if len(questions) < card.n:
        print(f"{items.root}: {len(questions)} test items have a key, fewer than --n {card.n}; build more (build --n)")
    print(f"{out / SHEET}: {len(questions)} questions; fill in {out / ANSWERS}, then run the same command again")


def _read_answers(out: Path, card: QuizCard) -> dict[int, str]:
    """The answers by number. Raises SnellenError if the sheet has other questions, or a row is invalid."""
    written = read_card_file(QuizCard, out / CARD, "damaged", "choose another --out, or remove the folder")
    if changed := [name for name in QuizCard.model_fields if getattr(written, name) != getattr(card, name)]:
        difference = ", ".join(f"{name} {getattr(written, name)}" for name in changed)
        raise SnellenError(f"{out} contains a sheet with {difference}; use the same settings, or choose another --out")
    path = out / ANSWERS
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(path, "utf-8-sig"), newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SnellenError(f"{path} cannot be read ({error}); save it as CSV in UTF-8") from None
    texts: dict[int, str] = {}
    for line, row in enumerate(rows, 2):
        number, answer = (row.get("number") or "").strip(), row.get("answer")
        if not number.isdecimal() or answer is None or int(number) in texts:
            raise SnellenError(f"{path} line {line}: needs columns number, task, answer, with each number once")
        texts[int(number)] = answer
    return {number: text for number, text in texts.items() if text.strip()}


def _print_agreement(answers: Sequence[QuizAnswer], out: Path, media: MediaFolder, as_json: bool) -> None:
    by_task, by_level = agreements(answers), agreements_by_level(answers)
    differences = [answer for answer in answers if answer.outcome not in ("agrees", "blank")]
    sections = [(_heading(answer), _verdict(answer) + prompt_blocks(answer.question.prompt, embedded(media)))
                for answer in differences]  # fmt: skip
    files.write_text(out / DISAGREEMENTS, page(f"{len(differences)} answers that do not agree with the key", sections))
    result = {
        "agreement": [{"task": row.name, **_fields(row)} for row in by_task],
        "difficulty": [{"level": row.name, **_fields(row)} for row in by_level],
        "disagreements": [_difference(answer) for answer in differences],
    }
    files.write_text(out / RESULT, json.dumps(result, indent=1) + "\n")
    if as_json:
        print_json(result)
        return
    console().print(_table("task", by_task))
    if by_level:
        console().print(_table("difficulty", by_level))
    for line in map(_tolerance, by_task):
        print(line, end="")
    for answer in differences:
        print(f"{_heading(answer)}: {answer.outcome}; written {answer.text!r}, key {key_text(answer.question)!r}")
    print(f"{out / DISAGREEMENTS}")


def _heading(quiz_answer: QuizAnswer) -> str:
    return f"{quiz_answer.question.number}. {quiz_answer.question.item.task}"


def _verdict(quiz_answer: QuizAnswer) -> str:
    question = quiz_answer.question
    text, key, item_id = map(html.escape, (quiz_answer.text, key_text(question), question.item.item_id))
    return f"<p><b>{quiz_answer.outcome}</b>: written {text}; key {key}; {item_id}</p>"


def _difference(quiz_answer: QuizAnswer) -> Mapping[str, Any]:
    question = quiz_answer.question
    return {
        "number": question.number,
        "task": question.item.task,
        "item_id": question.item.item_id,
        "outcome": quiz_answer.outcome,
        "answer": quiz_answer.text,
        "key": key_text(question),
    }


def _fields(agreement: KeyAgreement) -> Mapping[str, Any]:
    low, high = (None if math.isnan(end) else round(end, 4) for end in (agreement.low, agreement.high))
    return {
        "agreed": agreement.agreed,
        "exact": agreement.exact,
        "tolerance": agreement.tolerance,
        "counted": agreement.counted,
        "low": low,
        "high": high,
        "unreadable": agreement.unreadable,
        "blank": agreement.blank,
    }


def _tolerance(agreement: KeyAgreement) -> str:
    """A line on answers that agree without being the key, empty if there can be none."""
    of = f"of {agreement.counted}"
    if agreement.tolerance:
        exact = f"{agreement.exact} {of} exact, " if agreement.has_options else ""
        return f"{agreement.task}: {exact}{agreement.agreed} {of} {agreement.tolerance}\n"
    if agreement.near and not agreement.task:
        return f"all: {agreement.exact} {of} without options that are only near the key\n"
    return ""


def _table(head: str, row_agreements: Sequence[KeyAgreement]) -> Table:
    table = Table(head, "agreed", "of", "share", "95 % interval", "unreadable", "blank", box=None)
    for row in row_agreements:
        share = f"{100 * row.share:.0f} %" if row.counted else "–"
        interval = "not estimable" if math.isnan(row.low) else f"{100 * row.low:.0f} to {100 * row.high:.0f} %"
        table.add_row(
            escape(row.name),
            str(row.agreed),
            str(row.counted),
            share,
            interval,
            str(row.unreadable),
            str(row.blank),
        )
    return table
