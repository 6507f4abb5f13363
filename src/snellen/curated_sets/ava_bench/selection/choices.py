"""Choices made by hand for the `curated` recipe: categories, names, merges, exclusions (`choices/*.yaml`).

The paper prints few of its choices; `from`, comments and reasons in the files state which are the paper's. The user's
own files replace or extend those of the package (`choice_files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import cast

from snellen.core.hashing import digest
from snellen.curated_sets.ava_bench.selection.choice_files import (
    Categories,
    Category,
    ChoiceFile,
    ClassNames,
    Exclusions,
    FineGrained,
    Group,
    Orientations,
    Plurals,
    Textures,
    read_files,
)

PLURAL_ALREADY = ("FSC-147",)
"""Datasets whose labels are plurals."""
NUMBERED = ("Kylberg",)
"""Datasets whose labels end in the number of a sample."""
STAND_INS: Mapping[str, str] = {"iNaturalist-2017": "iNaturalist-2021"}
"""Datasets that use the categories of another with the same labels."""


@dataclass(frozen=True)
class Choices:
    """All choices. Labels are spelled as in the datasets; sources are names in `curated_sets.datasets`."""

    files: Mapping[str, ChoiceFile]

    @cached_property
    def hash(self) -> str:
        """Digest of all rows."""
        rows = {
            name: choice_file.model_dump(mode="json", by_alias=True, exclude={"extends"})
            for name, choice_file in self.files.items()
        }
        return digest(rows, 16)

    def categories(self, source: str) -> Mapping[str, Category]:
        """Categories of localization and object by label, with domain, origin and reason; none for other datasets."""
        return self._categories.get(source, {})

    def plural(self, source: str, label: str) -> str:
        """The plural in "How many …" (`plural_of`), also of uncounted labels: call `counted` first."""
        plural = self._plurals.get((source, label))
        if plural is None:
            plural = self._plurals[source, label] = plural_of(label, self, source)
        return plural

    def counted(self, source: str, label: str) -> bool:
        """True if things of the label are counted, unlike drinks, substances or food without pieces."""
        return label not in self._uncounted.get(source, frozenset())

    @cached_property
    def nyu_excluded(self) -> Mapping[str, str]:
        """Labels of NYU-Depth V2 that spatial and both depths leave out, with reasons."""
        rows = cast(Exclusions, self.files["nyu_excluded.yaml"]).left_out
        return {label: row.reason for row in rows for label in row.labels}

    def emotion(self, source: str, label: str) -> str | None:
        """One of `items.EMOTIONS`, None for another label."""
        return self._names.get(("emotions.yaml", source, label))

    def scene(self, source: str, label: str) -> str:
        """The name of a scene: the reviewed one, otherwise by rule (`scene_rule`)."""
        return self._names.get(("scenes.yaml", source, label)) or scene_rule(label)

    def action(self, label: str, source: str = "Moments-in-Time") -> str:
        """The name of an action: the reviewed one, otherwise the label with `+` and `_` as spaces."""
        return self._names.get(("actions.yaml", source, label)) or re.sub("[+_]", " ", label)

    def texture(self, source: str, label: str) -> str | None:
        """The name of a texture: the reviewed one, otherwise by rule (`texture_rule`); None if left out."""
        if (source, label) in self._textures_left_out:
            return None
        return self._names.get(("textures.yaml", source, label)) or texture_rule(source, label)

    def texture_pool(self, source: str) -> str:
        """The pool of a dataset's textures and options: its own name, or that of a shared pool."""
        pools = cast(Textures, self.files["textures.yaml"]).pools
        return next((row.pool for row in pools if row.source == source), source)

    def discarded(self, source: str) -> frozenset[str]:
        """The record_ids of texture images that show a texture on part of a thing in a scene."""
        return self._discarded.get(source, frozenset())

    def orientation(self, source: str, word: str) -> str | None:
        """One of `items.ORIENTATIONS` for a dataset's word, None for another word."""
        return self._names.get(("orientations.yaml", source, word))

    def oriented_thing(self, source: str, label: str) -> str | None:
        """The name of a thing in the question: its label, for CURE-OR the name given to its number, or None."""
        rows = cast(Orientations, self.files["orientations.yaml"]).objects
        name = next((row.name for row in rows if row.source == source and label in row.labels), None)
        return name or (None if source == "CURE-OR" else label.replace("_", " "))

    def takes(self, source: str, attributes: Mapping[str, object]) -> bool:
        """True if an image has a background, device and so on that is taken from its dataset."""
        rows = (row for row in cast(Orientations, self.files["orientations.yaml"]).taken if row.source == source)
        return all(attributes.get(row.attribute) in row.values for row in rows)

    def groups(self) -> tuple[Group, ...]:
        """Groups of fine-grained classes."""
        return cast(FineGrained, self.files["fine_grained.yaml"]).groups

    def group(self, source: str, kingdom: str = "") -> Group | None:
        """The group of a dataset, for iNaturalist-2021 that of a kingdom; None if there is none."""
        return self._groups.get((source, "")) or self._groups.get((source, kingdom))

    @cached_property
    def _names(self) -> Mapping[tuple[str, str, str], str]:
        """Reviewed names by file, dataset and label."""
        files = {name: choice_file for name, choice_file in self.files.items() if isinstance(choice_file, ClassNames)}
        return {(name, row.source, row.labels[0]): row.name for name, rows in files.items() for row in rows.names}

    @cached_property
    def _plurals(self) -> dict[tuple[str, str], str]:
        return {}

    @cached_property
    def _categories(self) -> Mapping[str, Mapping[str, Category]]:
        categories: dict[str, dict[str, Category]] = {}
        for category in cast(Categories, self.files["things.yaml"]).categories:
            categories.setdefault(category.source, {})[category.label] = category
        return categories | {stand_in: categories.get(source, {}) for stand_in, source in STAND_INS.items()}

    @cached_property
    def _textures_left_out(self) -> frozenset[tuple[str, str]]:
        rows = cast(Textures, self.files["textures.yaml"]).left_out
        return frozenset((row.source, label) for row in rows for label in row.labels)

    @cached_property
    def _discarded(self) -> Mapping[str, frozenset[str]]:
        rows = cast(Textures, self.files["textures.yaml"]).discarded
        return {source: frozenset(r.image for r in rows if r.source == source) for source in {r.source for r in rows}}

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str], Group]:
        return {(group.source, group.kingdom): group for group in self.groups()}

    @cached_property
    def _irregular(self) -> Mapping[str, str]:
        return {row.label: row.plural for row in cast(Plurals, self.files["plurals.yaml"]).plurals}

    @cached_property
    def _uncounted(self) -> Mapping[str, frozenset[str]]:
        rows = cast(Plurals, self.files["plurals.yaml"]).uncounted
        labels: dict[str, frozenset[str]] = {}
        for row in rows:
            labels[row.source] = labels.get(row.source, frozenset()) | {*row.labels}
        return labels


def read_choices(folder: Path | None = None) -> Choices:
    """The choices of the package, replaced or extended by those of the user's folder.

    Raises SnellenError, naming file and row, for invalid files (`choice_files.read_files`).
    """
    return Choices(read_files(folder))


def bare_name(label: str) -> str:
    """A label of LVIS as a name: `bat_(animal)` is bat, `aerosol_can` aerosol can."""
    return label.split("_(")[0].replace("_", " ").strip()


def plural_of(label: str, choices: Choices | None = None, source: str = "") -> str:
    """The plural of a label, for "How many …"; labels of FSC-147 are plurals already.

    The table of exceptions is searched for the label, its name without parentheses, and the last word of that; then the
    rules of spelling apply.
    """
    if source in PLURAL_ALREADY:
        return label
    irregular = (choices or read_choices())._irregular
    name = bare_name(label)
    plural = irregular.get(label) or irregular.get(name.casefold())
    if plural:
        return plural
    head, blank, last = name.rpartition(" ")
    word = irregular.get(last.casefold())
    if word and head and word.startswith("pairs of "):
        return f"pairs of {head} {last}"
    return f"{head}{blank}{word or _spelled(last)}"


def _spelled(word: str) -> str:
    """The regular plural of a word: bus, buses; cherry, cherries; kite, kites."""
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


@cache
def scene_rule(label: str) -> str:
    """A label of a scene as a name: `arena/hockey` is Hockey arena, `BareLand` is Bare land."""
    name, *qualifiers = label.split("/")
    words = " ".join([*qualifiers, name]).replace("_", " ")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words).capitalize()


@cache
def texture_rule(source: str, label: str) -> str:
    """A label of a texture as a name: `brown_bread` is brown bread, Kylberg's `oatmeal1` oatmeal."""
    return (label.rstrip("0123456789") if source in NUMBERED else label).replace("_", " ")
