"""Choices that people made and reviewed, as YAML files: what may stand in them, and how they are read.

Every row has a reason. A row that a run proposed (`state: proposed`) is refused until a person has confirmed or deleted
it. Files of the user's own replace those of the package; with `extends: true` their rows come on top, and count where
both speak of the same thing.
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
from snellen.suites.ava_bench.candidates.datasets import TASKS_OF_DATASET
from snellen.suites.ava_bench.items import EMOTIONS, ORIENTATIONS

Word: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S(.*\S)?$")]
"""A text that is not empty and has no blanks around it."""


class Row(BaseModel):
    """One choice: why it was made, and whether a person stands behind it."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    of: ClassVar[tuple[str, ...]] = ()
    """Fields that say what the row is about: no two rows agree in all of them."""

    reason: Word
    state: Literal["confirmed", "proposed"] = "confirmed"

    @property
    def key(self) -> tuple[Any, ...]:
        """What the row is about."""
        return tuple(getattr(self, name) for name in self.of)

    def each(self) -> Iterator[Row]:
        """The row, once for every label."""
        for label in getattr(self, "labels", ()):
            yield self.model_copy(update={"labels": (label,)})
        if not hasattr(self, "labels"):
            yield self


class Chosen(Row):
    """A category of localization and object: its label in the dataset and the name that is asked."""

    of = ("source", "label")
    source: Word
    domain: Literal["Open", "Bird", "Animal", "Remote-Sensing"]
    label: Word
    name: Word
    origin: Literal["paper", "ours"] = Field(alias="from")


class Named(Row):
    """What labels of a dataset are called; several labels of one name are one class."""

    of = ("source", "labels")
    source: Word
    labels: tuple[Word, ...] = Field(min_length=1)
    name: Word


class LeftOut(Row):
    """Labels of a dataset that are not asked about."""

    of = ("source", "labels")
    source: Word
    labels: tuple[Word, ...] = Field(min_length=1)


class Discarded(Row):
    """A picture that is not asked about, by its `record_id`."""

    of = ("source", "picture")
    source: Word
    picture: Word


class Plural(Row):
    """The plural of a label, a name, or the last word of one."""

    of = ("label",)
    label: Word
    plural: Word


class Pool(Row):
    """The pool of options to which a dataset belongs, where it is not its own."""

    of = ("source",)
    source: Word
    pool: Word


class Taken(Row):
    """Only pictures with one of these values of an attribute are taken."""

    of = ("source", "attribute")
    source: Word
    attribute: Word
    values: tuple[str | float, ...] = Field(min_length=1)


class Group(Row):
    """A group of fine-grained classes: all of a dataset, or those of one kingdom."""

    of = ("source", "kingdom")
    source: Word
    kingdom: str = ""
    group: Word


class ChoiceFile(BaseModel):
    """A file of choices: lists of rows by section."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    extends: bool = False


class Things(ChoiceFile):
    """`things.yaml`."""

    things: tuple[Chosen, ...] = ()


class Names(ChoiceFile):
    """`emotions.yaml`, `scenes.yaml`, `actions.yaml`."""

    names: tuple[Named, ...] = ()


class Textures(Names):
    """`textures.yaml`."""

    pools: tuple[Pool, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    discarded: tuple[Discarded, ...] = ()


class Orientations(Names):
    """`orientations.yaml`."""

    taken: tuple[Taken, ...] = ()
    things: tuple[Named, ...] = ()


class Excluded(ChoiceFile):
    """`nyu_excluded.yaml`."""

    left_out: tuple[LeftOut, ...] = ()


class Plurals(ChoiceFile):
    """`plurals.yaml`."""

    plurals: tuple[Plural, ...] = ()
    uncounted: tuple[LeftOut, ...] = ()


class FineGrained(ChoiceFile):
    """`fine_grained.yaml`."""

    groups: tuple[Group, ...] = ()


FILES: Mapping[str, type[ChoiceFile]] = MappingProxyType(
    {
        "things.yaml": Things,
        "plurals.yaml": Plurals,
        "nyu_excluded.yaml": Excluded,
        "emotions.yaml": Names,
        "scenes.yaml": Names,
        "actions.yaml": Names,
        "textures.yaml": Textures,
        "orientations.yaml": Orientations,
        "fine_grained.yaml": FineGrained,
    }
)
"""The files, and what stands in them."""
ALLOWED: Mapping[str, tuple[str, ...]] = {"emotions.yaml": EMOTIONS, "orientations.yaml": ORIENTATIONS}
"""Names that `names` of a file may give: the options of the question."""


@cache
def packaged() -> Mapping[str, ChoiceFile]:
    """The files of the package, by name."""
    folder = files("snellen.suites.ava_bench.candidates").joinpath("choices")
    return MappingProxyType({name: parsed(name, folder.joinpath(name).read_text("utf-8"), name) for name in FILES})


def read_files(folder: Path | None) -> Mapping[str, ChoiceFile]:
    """The files of the package, with those of a folder of the user's in place of them or on top (`extends: true`).

    Raises SnellenError, naming file and row, for files that are no choices, rows that are only proposed, two rows about
    one thing, and YAML files of other names; and for a folder without YAML files, lest choices be lost unnoticed.
    """
    if folder is None:
        return packaged()
    if not folder.is_dir():
        raise SnellenError(f"{folder}: no such folder of choices; it holds one or more of {', '.join(FILES)}")
    held = dict(packaged())
    paths = sorted(one for one in folder.iterdir() if one.suffix in (".yaml", ".yml"))
    if not paths:
        raise SnellenError(
            f"{folder}: holds no file of choices; give the folder with one or more of {', '.join(FILES)}"
        )
    for path in paths:
        if path.name not in FILES:
            raise SnellenError(f"{path}: no file of choices is called so; {near(path.name, FILES)}")
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SnellenError(f"{path}: cannot be read as text in UTF-8; write it anew") from error
        mine = parsed(path.name, text, str(path))
        held[path.name] = _on_top(held[path.name], mine) if mine.extends else mine
        _check(path.name, held[path.name], str(path))
    return MappingProxyType(held)


def parsed(name: str, text: str, where: str) -> ChoiceFile:
    """One file, its rows one a label. `where` is how errors call it. Raises SnellenError as `read_files` does."""
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SnellenError(f"{where}: not YAML ({' '.join(str(error).split())}); mend it there") from error
    try:
        held = FILES[name].model_validate({} if told is None else told)
    except ValidationError as error:
        raise SnellenError(f"{where}: {_told(error, told)}") from error
    single = {}
    for section in sections(held):
        rows = getattr(held, section)
        for number, row in enumerate(rows, 1):
            if row.state == "proposed":
                place = f"{where}: {section}, row {number} ({_named(row.model_dump())})"
                raise SnellenError(f"{place} is only proposed; confirm it (state: confirmed) or delete it")
        single[section] = tuple(one for row in rows for one in row.each())
    held = held.model_copy(update=single)
    _check(name, held, where)
    return held


def sections(held: ChoiceFile) -> list[str]:
    """The lists of rows that a file has."""
    return [name for name in type(held).model_fields if name != "extends"]


def _told(error: ValidationError, told: Any) -> str:
    """The first thing that is wrong, with its row."""
    first = error.errors()[0]
    section, *place = first["loc"] or ("",)
    rows = told.get(section) if isinstance(told, dict) else None
    if place and isinstance(place[0], int) and isinstance(rows, list):
        row = f"{section}, row {place[0] + 1} ({_named(rows[place[0]])})"
        return f"{row}: {' '.join(map(str, place[1:]))}: {first['msg']}; mend the row"
    return f"{section}: {first['msg']}; the files of the package show the form"


def _named(row: Any) -> str:
    if not isinstance(row, Mapping):
        return str(row)
    told = [row[key] for key in ("source", "label", "labels", "picture", "attribute", "group") if row.get(key)]
    return " ".join(", ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in told)


def _on_top(below: ChoiceFile, mine: ChoiceFile) -> ChoiceFile:
    """Rows of both; where both have one about the same thing, mine counts."""
    joined = {}
    for section in sections(below):
        rows = {row.key: row for row in (*getattr(below, section), *getattr(mine, section))}
        joined[section] = tuple(rows.values())
    return below.model_copy(update=joined)


def _check(name: str, held: ChoiceFile, where: str) -> None:
    """Raise SnellenError for what no single row shows: two about one thing, unknown datasets and options."""
    for section in sections(held):
        seen = set[tuple[Any, ...]]()
        for row in getattr(held, section):
            place = f"{where}: {section}, {_named(row.model_dump())}"
            if row.key in seen:
                raise SnellenError(f"{place}: stands there twice; keep one of the two")
            seen.add(row.key)
            source = getattr(row, "source", None)
            if source is not None and source not in TASKS_OF_DATASET:
                raise SnellenError(f"{place}: no dataset {source!r}; {near(source, TASKS_OF_DATASET)}")
            if section == "names" and name in ALLOWED and row.name not in ALLOWED[name]:
                raise SnellenError(f"{place}: {row.name!r} is no option; {near(row.name, ALLOWED[name])}")
    if isinstance(held, Things):
        names = dict[str, Chosen]()
        for one in held.things:
            if (other := names.setdefault(one.name, one)) is not one:
                both = f"{other.source} {other.label} and {one.source} {one.label}"
                raise SnellenError(f"{where}: things, {both}: both are asked as {one.name!r}; rename or delete one")
