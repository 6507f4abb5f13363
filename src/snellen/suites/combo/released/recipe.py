"""The `released` recipe: images and questions in a stated table, asked and scored as ComBo's tasks.

    snellen build combo --from released --source combo=FOLDER --out ITEMS

The authors' own form could not be obtained when this was written. FOLDER has images and `questions.jsonl`, one question
per line (`QuestionLine`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_files import is_file, leads_outside, read_file
from snellen.curation.released import ReleasedItems, ReleasedRecipe, read_json_lines
from snellen.suites.combo import prompts
from snellen.suites.combo.items import SUITE, choice_item
from snellen.suites.combo.questions import categories, perception
from snellen.suites.combo.questions.alignment import IMG2TEXT, TEXT2IMG
from snellen.suites.combo.space import values
from snellen.suites.combo.tasks import TASKS

FILE = "questions.jsonl"
UNLIKE = "Not comparable with the paper: the authors' own form could not be obtained when this reader was written"


class QuestionLine(BaseModel):
    """A line of the table; images are paths below the folder.

    `part` is the question of Pattern Perception (such as `primary-shape`), `label` the word of Text2Img, `examples` the
    images of each category by its letter, and `difficulty` a level. `options` are texts, of Text2Img images; Category
    Building has none. `answer` is one of them, of Category Building a letter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: Literal["pattern-perception", "img2text", "text2img", "category-building"]
    image: str = ""
    options: list[str] = []
    answer: str
    part: str = ""
    label: str = ""
    examples: dict[Literal["A", "B"], list[str]] = {}
    difficulty: str = ""

    def problem(self) -> str:
        """What is wrong with the line; empty if nothing is."""
        keys = list(self.examples) if self.task == categories.TASK else self.options
        if self.answer not in keys:
            return f"the answer {self.answer!r} is not among {', '.join(keys) or 'no options'}"
        if self.task == perception.TASK:
            dimension = perception.QUESTIONS.get(self.part, "")
            known = (*values(dimension), prompts.NO_COLOUR) if dimension else tuple(perception.QUESTIONS)
            unknown = [text for text in self.options if text not in known] if dimension else [self.part]
            if unknown:
                return f"{unknown[0]!r} is not one of {', '.join(known)}"
        has_question = bool(self.label if self.task == TEXT2IMG else self.image)
        return "" if has_question else "an image (Text2Img: a label) is missing"

    def images(self) -> list[str]:
        """All images of the line, in order."""
        shown = self.options if self.task == TEXT2IMG else [image for part in self.examples.values() for image in part]
        return [*filter(None, [self.image]), *shown]


def _lines(root: Path) -> list[QuestionLine]:
    """The lines of the table. Raises SnellenError with all problems."""
    problems, lines = list[str](), list[QuestionLine]()
    for location, content in read_json_lines(root / FILE, FILE, problems):
        try:
            line = QuestionLine.model_validate(content)
        except ValidationError as error:
            problems.append(f"{location}: {error.errors()[0]['msg']}")
            continue
        absent = [name for name in line.images() if leads_outside(name) or not is_file(root / name)]
        if problem := line.problem() or (f"{absent[0]}: no such image" if absent else ""):
            problems.append(f"{location}: {problem}")
        lines.append(line)
    RELEASED.refuse(root, problems)
    return lines


def _choose_tasks(options: BuildOptions, root: Path | None) -> Sequence[str]:
    if unknown := [task for task in options.tasks if task not in TASKS]:
        raise SnellenError(f"{SUITE} has no task {unknown[0]!r}; tasks are: {', '.join(TASKS)}")
    return options.tasks or tuple(TASKS)


def _count_items(options: BuildOptions, root: Path | None) -> Mapping[str, int]:
    counts = Counter[str](line.task for line in _lines(root)) if root else Counter[str]()
    return {task: counts[task] for task in _choose_tasks(options, root)}


def _digest(options: BuildOptions, root: Path) -> Mapping[str, str]:
    names = sorted({FILE, *(name for line in _lines(root) for name in line.images())})
    return {name: sha256(read_file(root / name)) for name in names}


def _read(options: BuildOptions, root: Path) -> ReleasedItems:
    media, tasks = MediaFolder(options.out / "media"), _choose_tasks(options, root)
    stored: dict[str, Media] = {}
    lines = {number: line for number, line in enumerate(_lines(root)) if line.task in tasks}
    for name in (name for line in lines.values() for name in line.images()):
        stored.setdefault(name, media.add_file(root / name))
    return ReleasedItems(list(_items(lines, stored)), (UNLIKE,))


def _items(lines: Mapping[int, QuestionLine], stored: Mapping[str, Media]) -> Iterator[Item]:
    for number, line in lines.items():
        query = (stored[line.image],) if line.image else ()
        fields: dict[str, Any] = {"query": query, "provenance": {"source": f"{FILE} line {number + 1}"}}
        if line.task == TEXT2IMG:
            keys = {name: f"image-{place}" for place, name in enumerate(line.options, 1)}
            fields |= {"options": tuple(Option(key, "", (stored[name],)) for name, key in keys.items())}
            fields |= {"question": prompts.TEXT2IMG_QUESTION.format(label=line.label), "answer": keys[line.answer]}
        elif line.task == IMG2TEXT:
            fields |= {"question": prompts.IMG2TEXT_QUESTION, "answer": line.answer}
            fields |= {"options": tuple(Option(text, text) for text in line.options)}
        elif line.task == perception.TASK:
            dimension = perception.QUESTIONS[line.part]
            options = tuple(Option(text, perception.words(dimension, text)) for text in line.options)
            fields |= {"question": prompts.QUESTION[dimension], "answer": line.answer, "options": options}
            fields |= {"factors": {"question": line.part}, **dict.fromkeys(("stimulus_id", "cluster_id"), line.image)}
        else:
            shots = range(min(map(len, line.examples.values())))
            support = tuple(Demo((stored[line.examples[key][k]],), key, k) for k in shots for key in line.examples)
            fields |= {"question": prompts.CATEGORY_QUESTION, "answer": line.answer, "support": support}
            fields |= {"options": tuple(Option(key, key) for key in line.examples)}
            fields |= {"factors": {"difficulty": line.difficulty} if line.difficulty else {}}
        yield choice_item(f"{line.task}-{number:05d}", task=line.task, **fields)


RELEASED = ReleasedRecipe(
    suite=SUITE,
    source="combo",
    instructions=f"give a folder with images and {FILE} by --source combo=FOLDER (its form: the suite's page)",
    layout=f"no {FILE}",
    problem="lines that cannot be read",
    remedy="correct the table, whose form is stated on the suite's page",
    find_root=lambda path: path if (path / FILE).is_file() else None,
    choose_tasks=_choose_tasks,
    count_items=_count_items,
    digest=_digest,
    read=_read,
    extra_parameters=lambda options: {},
)
