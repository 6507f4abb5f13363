"""Questions about pictures, in JSON: VQAv2, TextVQA, EgoOrientBench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.formats.walking import folders_holding, name_below
from snellen.datasets.reading import Note
from snellen.datasets.scene_reading import scene_in_file
from snellen.datasets.scenes import Asked, Marked, Seen

VQA_ANNOTATIONS = "v2_mscoco_{}2014_annotations.json"
VQA_QUESTIONS = "v2_OpenEnded_mscoco_{}2014_questions.json"
TEXT_VQA, TEXT_VQA_WORDS = "TextVQA_0.5.1_{}.json", "TextVQA_Rosetta_OCR_v0.2_{}.json"


def elements(path: Path, root: Path, key: str, model: type[BaseModel]) -> Iterator[Any]:
    """The elements of a list, as models; notes for those of another form, and where the file is none."""
    where, count = name_below(path, root), 0
    try:
        for held, _, raw in stream_json(path, frozenset({key})):
            if held != key:
                continue
            count += 1
            try:
                yield model.model_validate(raw)
            except ValidationError as error:
                told = error.errors()[0]
                yield Note("unreadable", "element in another form", f"{where}, {count}: {told['loc']}: {told['msg']}")
        if not count:
            yield Note("missing", f"no {key or 'elements'}", where)
    except FileNotFoundError:
        yield Note("odd", "annotations are not there", where)
    except (OSError, ValueError, RecursionError) as error:
        yield Note("unreadable", "not the JSON it should be; copy it again", f"{where}: {error}")


class _VqaQuestion(BaseModel):
    image_id: int
    question_id: int
    question: str


class _VqaAnswer(BaseModel):
    answer: str


class _VqaAnnotation(BaseModel):
    question_id: int
    question_type: str = ""
    answer_type: str = ""
    multiple_choice_answer: str
    answers: list[_VqaAnswer] = []


@dataclass(frozen=True)
class VqaV2:
    """Settings of the layout: visualqa.org/download, questions and annotations apart, pictures of COCO 2014."""

    splits: tuple[str, ...] = ("train", "val")

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Splits as declared, pictures in the order of their first questions."""
        names = tuple(VQA_QUESTIONS.format(split) for split in self.splits)
        base = next(folders_holding(root, names), None)
        if base is None:
            yield Note("missing", f"no questions {' or '.join(names)}", str(root))
            return
        for split in self.splits:
            yield from self._split(root, base, split)

    def _split(self, root: Path, base: Path, split: str) -> Iterator[Seen | Note]:
        answers: dict[int, _VqaAnnotation] = {}
        for one in elements(base / VQA_ANNOTATIONS.format(split), root, "annotations", _VqaAnnotation):
            if isinstance(one, Note):
                yield one
            else:
                answers[one.question_id] = one
        held: dict[int, list[Asked]] = {}
        for one in elements(base / VQA_QUESTIONS.format(split), root, "questions", _VqaQuestion):
            if isinstance(one, Note):
                yield one
                continue
            answer = answers.pop(one.question_id, None)  # the second question of an id finds none
            if answer is None:
                yield Note("missing", "answer of a question", str(one.question_id))
                continue
            said = dict.fromkeys([answer.multiple_choice_answer, *(each.answer for each in answer.answers)])
            extra = {"answer_type": answer.answer_type, "question_type": answer.question_type}
            held.setdefault(one.image_id, []).append(Asked(str(one.question_id), one.question, tuple(said), extra))
        yield from (Note("odd", "answer without a question", str(id)) for id in answers)
        for image, asked in held.items():
            path = base / f"{split}2014" / f"COCO_{split}2014_{image:012}.jpg"
            more = {"split": split}
            yield from scene_in_file(name_below(path, root), path, (), asked=tuple(asked), attributes=more)


class _TextVqa(BaseModel):
    question_id: int
    image_id: str
    question: str
    answers: list[str]
    image_width: int
    image_height: int


class _Box(BaseModel):
    x: float = Field(validation_alias=AliasChoices("top_left_x", "topLeftX"))
    y: float = Field(validation_alias=AliasChoices("top_left_y", "topLeftY"))
    width: float
    height: float
    rotation: float = 0.0


class _Word(BaseModel):
    word: str
    bounding_box: _Box


class _Words(BaseModel):
    image_id: str
    ocr_info: list[_Word]


@dataclass(frozen=True)
class TextVqa:
    """Settings of the layout: textvqa.org/dataset, questions and the words that Rosetta read, in shares of the picture.

    The widths and heights in the questions are of the picture before it was scaled: the file's own are taken.
    """

    splits: tuple[str, ...] = ("train", "val")
    pictures: str = "train_images"

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Splits as declared (pictures of both in one folder), pictures as their questions come."""
        names = tuple(TEXT_VQA.format(split) for split in self.splits)
        base = next(folders_holding(root, names), None)
        if base is None:
            yield Note("missing", f"no questions {' or '.join(names)}", str(root))
            return
        for split in self.splits:
            asked: dict[str, list[Asked]] = {}
            words: dict[str, list[_Word]] = {}
            for one in elements(base / TEXT_VQA.format(split), root, "data", _TextVqa):
                if isinstance(one, Note):
                    yield one
                else:
                    said = [each for each, _ in Counter(one.answers).most_common()]
                    asked.setdefault(one.image_id, []).append(Asked(str(one.question_id), one.question, tuple(said)))
            for one in elements(base / TEXT_VQA_WORDS.format(split), root, "data", _Words):
                if isinstance(one, Note):
                    yield one
                else:
                    words[one.image_id] = one.ocr_info
            yield from self._pictures(root, base, split, asked, words)

    def _pictures(
        self, root: Path, base: Path, split: str, asked: dict[str, list[Asked]], words: dict[str, list[_Word]]
    ) -> Iterator[Seen | Note]:
        from snellen.datasets.scene_reading import picture_size

        for image, questions in asked.items():
            path = base / self.pictures / f"{PurePosixPath(image).name}.jpg"
            width, height = picture_size(path) or (0, 0)
            things: list[Marked] = []
            blank = 0
            for word in words.get(image, []):
                box = word.bounding_box
                left, top = box.x * width, box.y * height
                corners = (left, top, left + box.width * width, top + box.height * height)
                if word.word.strip() and width:
                    things.append(Marked(word.word.strip(), corners, None, {"rotation": box.rotation}))
                else:
                    blank += bool(width)
            if image not in words:
                yield Note("odd", "picture without words", name_below(path, root))
            yield from scene_in_file(
                name_below(path, root), path, things, asked=tuple(questions), lost=blank, attributes={"split": split}
            )


class _Ego(BaseModel):
    image: str
    type: str
    domain: str = ""
    base_dataset: str = ""
    original_label: str
    question: str
    label: str
    category_name: str


@dataclass(frozen=True)
class EgoOrient:
    """Settings of the layout: github.com/jhCOR/EgoOrientBench, a list of questions, several of one thing in a picture.

    The thing of a picture is `category_name`, the way it faces `original_label`, in its `extra` as `orientation`. Files
    differ in their names: the first of `names` that is there is read.
    """

    names: tuple[str, ...]

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Pictures in the order of their first questions."""
        base = next(folders_holding(root, self.names), None)
        if base is None:
            yield Note("missing", f"no questions {' or '.join(self.names)}", str(root))
            return
        path = next(base / name for name in self.names if (base / name).exists())
        asked: dict[str, list[Asked]] = {}
        things: dict[str, dict[tuple[str, str], Marked]] = {}
        domains: dict[str, str] = {}
        for number, one in enumerate(elements(path, root, "", _Ego)):
            if isinstance(one, Note):
                yield one
                continue
            name = PurePosixPath(one.image).as_posix()
            if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
                yield Note("odd", "picture outside the folder", one.image)
                continue
            asked.setdefault(name, []).append(Asked(str(number), one.question, (one.label,), {"type": one.type}))
            thing = Marked(one.category_name.strip(), None, None, {"orientation": one.original_label})
            things.setdefault(name, {})[thing.label, one.original_label] = thing
            domains[name] = one.domain
        for name, marked in things.items():
            place = base / name
            labels = [label for label, _ in marked]
            if len(set(labels)) < len(labels):
                yield Note("odd", "one thing that faces two ways", name)
            attributes = {"domain": domains[name]}
            yield from scene_in_file(
                name_below(place, root), place, marked.values(), asked=tuple(asked[name]), attributes=attributes
            )
