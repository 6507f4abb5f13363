"""Questions about images, in JSON: VQAv2, TextVQA, EgoOrientBench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from snellen.core.storage.user_files import leads_outside
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import layout_folder, name_below
from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.image_files import image_size
from snellen.datasets.sample import Annotation, ImageQuestion, Note, RawSample

SPLITS = ("train", "val")
VQA_ANNOTATIONS = "v2_mscoco_{}2014_annotations.json"
VQA_QUESTIONS = "v2_OpenEnded_mscoco_{}2014_questions.json"
TEXT_VQA, TEXT_VQA_WORDS = "TextVQA_0.5.1_{}.json", "TextVQA_Rosetta_OCR_v0.2_{}.json"


def elements(path: Path, root: Path, key: str, model: type[BaseModel]) -> Iterator[Any]:
    """The elements of a list, as models; notes for those of another form, and if the file is missing or damaged."""
    name, count = name_below(path, root), 0
    try:
        for list_key, _, raw in stream_json(path, frozenset({key})):
            if list_key != key:
                continue
            count += 1
            try:
                yield model.model_validate(raw)
            except ValidationError as error:
                first = error.errors()[0]
                yield Note("unreadable", "element in another form", f"{name}, {count}: {first['loc']}: {first['msg']}")
        if not count:
            yield Note("missing", f"no {key or 'elements'}", name)
    except FileNotFoundError:
        yield Note("odd", "annotations are missing", name)
    except (OSError, ValueError, RecursionError) as error:
        yield Note("unreadable", "not JSON of the expected form; copy it again", f"{name}: {error}")


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
    """Settings of the layout: visualqa.org/download, separate questions and annotations, images of COCO 2014."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Splits as declared, images in the order of their first questions."""
        names = tuple(VQA_QUESTIONS.format(split) for split in SPLITS)
        base = layout_folder(root, names, "questions")
        for split in SPLITS:
            yield from self._split(root, base, split)

    def _split(self, root: Path, base: Path, split: str) -> Iterator[RawSample | Note]:
        answers: dict[int, _VqaAnnotation] = {}
        for annotation in elements(base / VQA_ANNOTATIONS.format(split), root, "annotations", _VqaAnnotation):
            if isinstance(annotation, Note):
                yield annotation
            else:
                answers[annotation.question_id] = annotation
        questions: dict[int, list[ImageQuestion]] = {}
        for question in elements(base / VQA_QUESTIONS.format(split), root, "questions", _VqaQuestion):
            if isinstance(question, Note):
                yield question
                continue
            id = question.question_id
            answer = answers.pop(id, None)  # a second question with this id finds none
            if answer is None:
                yield Note("missing", "answer of a question", str(id))
                continue
            texts = dict.fromkeys([answer.multiple_choice_answer, *(person.answer for person in answer.answers)])
            extra = {"answer_type": answer.answer_type, "question_type": answer.question_type}
            questions.setdefault(question.image_id, []).append(
                ImageQuestion(str(id), question.question, tuple(texts), extra)
            )
        yield from (Note("odd", "answer without a question", str(id)) for id in answers)
        for image_id, of_image in questions.items():
            path = base / f"{split}2014" / f"COCO_{split}2014_{image_id:012}.jpg"
            yield from annotated_file(
                name_below(path, root), path, (), questions=tuple(of_image), attributes={"split": split}
            )


class _TextVqa(BaseModel):
    question_id: int
    image_id: str
    question: str
    answers: list[str]


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
    """Settings of the layout: textvqa.org/dataset, questions and the words read by Rosetta, in shares of the image.

    The widths and heights in the questions are those before scaling; the file's own size is used instead.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Splits as declared (images of both in one folder), images in the order of their questions."""
        names = tuple(TEXT_VQA.format(split) for split in SPLITS)
        base = layout_folder(root, names, "questions")
        for split in SPLITS:
            questions: dict[str, list[ImageQuestion]] = {}
            words: dict[str, list[_Word]] = {}
            for question in elements(base / TEXT_VQA.format(split), root, "data", _TextVqa):
                if isinstance(question, Note):
                    yield question
                else:
                    answers = tuple(answer for answer, _ in Counter(question.answers).most_common())
                    questions.setdefault(question.image_id, []).append(
                        ImageQuestion(str(question.question_id), question.question, answers)
                    )
            for image in elements(base / TEXT_VQA_WORDS.format(split), root, "data", _Words):
                if isinstance(image, Note):
                    yield image
                else:
                    words[image.image_id] = image.ocr_info
            yield from self._images(root, base, split, questions, words)

    def _images(
        self,
        root: Path,
        base: Path,
        split: str,
        questions: dict[str, list[ImageQuestion]],
        words: dict[str, list[_Word]],
    ) -> Iterator[RawSample | Note]:
        for image_id, of_image in questions.items():
            path = base / "train_images" / f"{PurePosixPath(image_id).name}.jpg"
            width, height = image_size(path) or (0, 0)
            annotations: list[Annotation] = []
            blank = 0
            for word in words.get(image_id, []):
                box = word.bounding_box
                left, top = box.x * width, box.y * height
                corners = (left, top, left + box.width * width, top + box.height * height)
                if word.word.strip() and width:
                    annotations.append(Annotation(word.word.strip(), corners, None, {"rotation": box.rotation}))
                else:
                    blank += bool(width)
            if image_id not in words:
                yield Note("odd", "image without words", name_below(path, root))
            yield from annotated_file(
                name_below(path, root),
                path,
                annotations,
                questions=tuple(of_image),
                lost=blank,
                attributes={"split": split},
            )


class _Ego(BaseModel):
    image: str
    type: str
    domain: str = ""
    original_label: str
    question: str
    label: str
    category_name: str


@dataclass(frozen=True)
class EgoOrient:
    """Settings of the layout: github.com/jhCOR/EgoOrientBench, a list of questions, several per object and image.

    The object of an image is the first name in `category_name` (some questions about ImageNet images list all names of
    the class, with commas); its orientation, `original_label`, is in its `extra` as `orientation`. File names vary: the
    first of `names` that exists is read. `image` is a path relative to the same folder as `names`.
    """

    names: tuple[str, ...]

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images in the order of their first questions."""
        base = layout_folder(root, self.names, "questions")
        path = next(base / name for name in self.names if (base / name).exists())
        questions: dict[str, list[ImageQuestion]] = {}
        annotations: dict[str, dict[tuple[str, str], Annotation]] = {}
        domains: dict[str, str] = {}
        for number, row in enumerate(elements(path, root, "", _Ego)):
            if isinstance(row, Note):
                yield row
                continue
            name = PurePosixPath(row.image).as_posix()
            if leads_outside(name):
                yield Note("odd", "image outside the folder", row.image)
                continue
            questions.setdefault(name, []).append(
                ImageQuestion(str(number), row.question, (row.label,), {"type": row.type})
            )
            label = row.category_name.split(",")[0].strip()
            annotation = Annotation(label, None, None, {"orientation": row.original_label})
            annotations.setdefault(name, {})[annotation.label, row.original_label] = annotation
            domains[name] = row.domain
        for name, of_image in annotations.items():
            path = base / name
            labels = [label for label, _ in of_image]
            if len(set(labels)) < len(labels):
                yield Note("odd", "object with two orientations", name)
            yield from annotated_file(
                name_below(path, root),
                path,
                of_image.values(),
                questions=tuple(questions[name]),
                attributes={"domain": domains[name]},
            )
