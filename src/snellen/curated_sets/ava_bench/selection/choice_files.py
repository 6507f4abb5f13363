"""Choices that people made and reviewed, as YAML files: their schema, and reading them.

Every row has a reason. A row that a run proposed (`state: proposed`) is refused until a person has confirmed or deleted
it. The user's own files replace those of the package; with `extends: true` their rows are added, and override rows
about the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text
from snellen.core.storage.user_yaml import parse_yaml
from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
from snellen.suites.ava_bench.items import EMOTIONS, ORIENTATIONS

Word: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S(.*\S)?$")]
"""A text that is not empty and has no spaces around it."""


class ChoiceRow(BaseModel):
    """One choice: its reason, and whether a person has confirmed it."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    key_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that identify a row: no two rows agree in all of them."""

    reason: Word
    state: Literal["confirmed", "proposed"] = "confirmed"

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the fields that identify the row."""
        return tuple(getattr(self, name) for name in self.key_fields)

    def split_labels(self) -> Iterator[ChoiceRow]:
        """The row once per label."""
        for label in getattr(self, "labels", ()):
            yield self.model_copy(update={"labels": (label,)})
        if not hasattr(self, "labels"):
            yield self


class Category(ChoiceRow):
    """A category of localization and object: its label in the dataset and its name in questions."""

    key_fields = ("source", "label")
    source: Word
    domain: Literal["Open", "Bird", "Animal", "Remote-Sensing"]
    label: Word
    name: Word
    origin: Literal["paper", "ours"] = Field(validation_alias="from")


class ClassName(ChoiceRow):
    """The name of one or more labels of a dataset; labels with one name are one class."""

    key_fields = ("source", "labels")
    source: Word
    labels: tuple[Word, ...] = Field(min_length=1)
    name: Word


class LabelExclusion(ChoiceRow):
    """Labels of a dataset that are not asked about."""

    key_fields = ("source", "labels")
    source: Word
    labels: tuple[Word, ...] = Field(min_length=1)


class DiscardedImage(ChoiceRow):
    """An image that is not asked about, by its `record_id`."""

    key_fields = ("source", "image")
    source: Word
    image: Word


class Plural(ChoiceRow):
    """The plural of a label, a name, or the last word of one."""

    key_fields = ("label",)
    label: Word
    plural: Word


class Pool(ChoiceRow):
    """The pool of options of a dataset that shares it with others."""

    key_fields = ("source",)
    source: Word
    pool: Word


class AttributeFilter(ChoiceRow):
    """Only images with one of these values of an attribute are taken."""

    key_fields = ("source", "attribute")
    source: Word
    attribute: Word
    values: tuple[str | float, ...] = Field(min_length=1)


class Group(ChoiceRow):
    """A group of fine-grained classes: all of a dataset, or those of one kingdom."""

    key_fields = ("source", "kingdom")
    source: Word
    kingdom: str = ""
    group: Word


class ChoiceFile(BaseModel):
    """A file of choices: lists of rows by section."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    extends: bool = False


class Categories(ChoiceFile):
    """`things.yaml`."""

    categories: tuple[Category, ...] = Field(default=(), alias="things")


class ClassNames(ChoiceFile):
    """`emotions.yaml`, `scenes.yaml`, `actions.yaml`."""

    names: tuple[ClassName, ...] = ()


class Textures(ClassNames):
    """`textures.yaml`."""

    pools: tuple[Pool, ...] = ()
    left_out: tuple[LabelExclusion, ...] = ()
    discarded: tuple[DiscardedImage, ...] = ()


class Orientations(ClassNames):
    """`orientations.yaml`."""

    taken: tuple[AttributeFilter, ...] = ()
    objects: tuple[ClassName, ...] = Field(default=(), alias="things")


class Exclusions(ChoiceFile):
    """`nyu_excluded.yaml`."""

    left_out: tuple[LabelExclusion, ...] = ()


class Plurals(ChoiceFile):
    """`plurals.yaml`."""

    plurals: tuple[Plural, ...] = ()
    uncounted: tuple[LabelExclusion, ...] = ()


class FineGrained(ChoiceFile):
    """`fine_grained.yaml`."""

    groups: tuple[Group, ...] = ()


FILES: Mapping[str, type[ChoiceFile]] = {
    "things.yaml": Categories,
    "plurals.yaml": Plurals,
    "nyu_excluded.yaml": Exclusions,
    "emotions.yaml": ClassNames,
    "scenes.yaml": ClassNames,
    "actions.yaml": ClassNames,
    "textures.yaml": Textures,
    "orientations.yaml": Orientations,
    "fine_grained.yaml": FineGrained,
}
"""The files and their schemas."""
ALLOWED: Mapping[str, tuple[str, ...]] = {"emotions.yaml": EMOTIONS, "orientations.yaml": ORIENTATIONS}
"""The names allowed in `names` of a file: the options of the question."""


@cache
def packaged() -> Mapping[str, ChoiceFile]:
    """The files of the package, by name."""
    folder = files("snellen.curated_sets.ava_bench.selection").joinpath("choices")
    return MappingProxyType({name: parse_file(name, folder.joinpath(name).read_text("utf-8"), name) for name in FILES})


def read_files(folder: Path | None) -> Mapping[str, ChoiceFile]:
    """The files of the package, replaced or extended (`extends: true`) by those of the user's folder.

    Raises SnellenError, naming file and row, for invalid files, rows that are only proposed, two rows about one thing,
    and YAML files with other names; and for a folder without YAML files, so that no choices are lost unnoticed.
    """
    if folder is None:
        return packaged()
    if not folder.is_dir():
        raise SnellenError(f"{folder}: no such folder of choices; it holds one or more of {', '.join(FILES)}")
    choice_files = dict(packaged())
    paths = sorted(file for file in folder.iterdir() if file.suffix in (".yaml", ".yml"))
    if not paths:
        raise SnellenError(f"{folder}: no choices file; give the folder with one or more of {', '.join(FILES)}")
    for path in paths:
        if path.name not in FILES:
            raise SnellenError(f"{path}: not the name of a choices file; {near(path.name, FILES)}")
        try:
            text = read_text(path, limit=MAX_YAML_BYTES)
        except (OSError, UnicodeDecodeError) as error:
            raise SnellenError(f"{path}: cannot be read as UTF-8 text; write it again") from error
        choice_file = parse_file(path.name, text, str(path))
        if choice_file.extends:
            choice_file = _merge_rows(choice_files[path.name], choice_file)
        _check(path.name, choice_file, str(path))
        choice_files[path.name] = choice_file
    return MappingProxyType(choice_files)


def parse_file(name: str, text: str, location: str) -> ChoiceFile:
    """One file, with one row per label. Errors name it by `location`. Raises SnellenError as `read_files` does."""
    try:
        content = parse_yaml(text)
    except yaml.YAMLError as error:
        raise SnellenError(f"{location}: not YAML ({' '.join(str(error).split())}); fix it there") from error
    try:
        choice_file = FILES[name].model_validate({} if content is None else content)
    except ValidationError as error:
        raise SnellenError(f"{location}: {_describe_error(error, content)}") from error
    rows_by_field = {}
    for section, field in sections(choice_file).items():
        rows = getattr(choice_file, field)
        for number, row in enumerate(rows, 1):
            if row.state == "proposed":
                row_location = f"{location}: {section}, row {number} ({_describe_row(row.model_dump())})"
                raise SnellenError(f"{row_location} is only proposed; confirm it (state: confirmed) or delete it")
        rows_by_field[field] = tuple(label_row for row in rows for label_row in row.split_labels())
    choice_file = choice_file.model_copy(update=rows_by_field)
    _check(name, choice_file, location)
    return choice_file


def sections(choice_file: ChoiceFile) -> dict[str, str]:
    """The lists of rows of a file: section of the YAML file -> field of the class."""
    fields = type(choice_file).model_fields
    return {field.alias or name: name for name, field in fields.items() if name != "extends"}


def _describe_error(error: ValidationError, content: Any) -> str:
    """The first error, with its row."""
    first = error.errors()[0]
    section, *row_path = first["loc"] or ("",)
    rows = content.get(section) if isinstance(content, dict) else None
    if row_path and isinstance(row_path[0], int) and isinstance(rows, list):
        row = f"{section}, row {row_path[0] + 1} ({_describe_row(rows[row_path[0]])})"
        return f"{row}: {' '.join(map(str, row_path[1:]))}: {first['msg']}; fix the row"
    return f"{section}: {first['msg']}; the files of the package show the form"


def _describe_row(row: Any) -> str:
    if not isinstance(row, Mapping):
        return str(row)
    parts = [row[key] for key in ("source", "label", "labels", "image", "attribute", "group") if row.get(key)]
    return " ".join(", ".join(map(str, part)) if isinstance(part, list | tuple) else str(part) for part in parts)


def _merge_rows(below: ChoiceFile, above: ChoiceFile) -> ChoiceFile:
    """The rows of both; of two about the same thing, that of `above` counts."""
    joined = {}
    for field in sections(below).values():
        rows = {row.key: row for row in (*getattr(below, field), *getattr(above, field))}
        joined[field] = tuple(rows.values())
    return below.model_copy(update=joined)


def _check(name: str, choice_file: ChoiceFile, location: str) -> None:
    """Raise SnellenError for two rows about one thing, unknown datasets and unknown options."""
    for section, field in sections(choice_file).items():
        keys = set[tuple[Any, ...]]()
        for row in getattr(choice_file, field):
            row_location = f"{location}: {section}, {_describe_row(row.model_dump())}"
            if row.key in keys:
                raise SnellenError(f"{row_location}: duplicate row; keep one of the two")
            keys.add(row.key)
            source = getattr(row, "source", None)
            if source is not None and source not in TASKS_OF_DATASET:
                raise SnellenError(f"{row_location}: no dataset {source!r}; {near(source, TASKS_OF_DATASET)}")
            if section == "names" and name in ALLOWED and row.name not in ALLOWED[name]:
                raise SnellenError(f"{row_location}: {row.name!r} is not an option; {near(row.name, ALLOWED[name])}")
    if isinstance(choice_file, Categories):
        names = dict[str, Category]()
        for category in choice_file.categories:
            if (other := names.setdefault(category.name, category)) is not category:
                both = f"{other.source} {other.label} and {category.source} {category.label}"
                raise SnellenError(
                    f"{location}: things, {both}: both are called {category.name!r}; rename or delete one"
                )
