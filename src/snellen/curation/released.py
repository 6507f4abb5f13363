"""The recipe `released` of every suite: the authors' unchanged files, read by functions of the suite.

All problems with the files are reported at once, before anything is written. The card records the digests of the
files, and in its notes the differences from the paper.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError, refuse_problems
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.user_files import bounded_json, read_text

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class ReleasedItems:
    """Items with notes for the card. `warnings` are the notes that are also shown as warnings."""

    items: Sequence[Item]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleasedRecipe:
    """A recipe that reads its files from `--source NAME=PATH`, with `source` as NAME.

    `find_root` finds the file or folder of the release in the given path. Texts for errors are `instructions` (what to
    give), `layout` (a path without a release), and `problem` and `remedy` (`refuse`).

    `choose_tasks` checks the requested tasks and returns those that are built. The root is None in a plan without the
    files. `count_items` is the number of items per task, `extra_parameters` everything else that decides the items,
    `digest` the hashes of the files, and `read` reads them. `settings` are those that `--set` may change.
    """

    suite: str
    source: str
    instructions: str
    layout: str
    problem: str
    remedy: str
    find_root: Callable[[Path], Path | None]
    choose_tasks: Callable[[BuildOptions, Path | None], Sequence[str]]
    count_items: Callable[[BuildOptions, Path | None], Mapping[str, int]]
    digest: Callable[[BuildOptions, Path], Mapping[str, str]]
    read: Callable[[BuildOptions, Path], ReleasedItems]
    extra_parameters: Callable[[BuildOptions], Mapping[str, Any]] = lambda options: {"seed": options.seed}
    settings: Settings = field(default_factory=dict)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, settings, the digests of the files, and the number of items drawn per task, if not all."""
        root = self.root(options)
        return {
            "tasks": list(self.choose_tasks(options, root)),
            **self.extra_parameters(options),
            **options.changed(self.settings),
            "files": dict(self.digest(options, root)),
            **({} if options.n is None else {"n": options.n}),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Items per task, and the size of the source in bytes if it is given."""
        root = self.root(options) if self.source in options.sources else None
        self._check(options, root)
        paths = [] if root is None else [root] if root.is_file() else [p for p in root.rglob("*") if p.is_file()]
        return {
            "suite": self.suite,
            "needs": self.instructions,
            "items": dict(self.count_items(options, root)),
            "bytes": sum(path.stat().st_size for path in paths),
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read everything, store the media, warn of differences from the paper, then write the items."""
        refuse_existing(options.out)
        released = self.read(options, self.root(options))
        for warning in released.warnings:
            warnings.warn(warning, stacklevel=2)
        return write_itemset(
            options.out,
            released.items,
            source="released",
            recipe=self.parameters(options),
            provenance=released.provenance,
            notes=released.notes,
        )

    def root(self, options: BuildOptions) -> Path:
        """The path of the release. Raises SnellenError if it is not given, and for other wrong options."""
        path = options.sources.get(self.source)
        root = self.find_root(path) if path is not None else None
        self._check(options, root)
        if path is None:
            raise SnellenError(f"{self.suite}: the released files are needed; {self.instructions}")
        if root is None:
            raise SnellenError(f"{path}: {self.layout}; {self.instructions}")
        return root

    def refuse(self, root: Path, problems: Sequence[str]) -> None:
        """Raise SnellenError with all problems, if there are any."""
        refuse_problems(root, problems, self.problem, self.remedy)

    def _check(self, options: BuildOptions, root: Path | None) -> None:
        if unknown := [name for name in options.sources if name != self.source]:
            raise SnellenError(f"{self.suite} has no source {unknown[0]!r} here; {self.instructions}")
        self.choose_tasks(options, root)
        options.need_items(self.suite)


def draw_names(names: Iterable[str], count: int, rng: np.random.Generator) -> set[str]:
    """A draw of `count` of the names, at most all; repeated names count once."""
    unique = list(dict.fromkeys(names))
    return {unique[int(index)] for index in rng.permutation(len(unique))[:count]}


def read_json_lines(path: Path, name: str, problems: list[str]) -> Iterator[tuple[str, Any]]:
    """(location, content) of every line that is not empty; locations are lines of `name`.

    An unreadable file, and lines that are not JSON, are added to `problems`.
    """
    try:
        lines = read_text(path, "utf-8-sig", regular=True).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
        problems.append(f"{name}: {reason}")
        return
    for number, line in enumerate(lines, 1):
        location = f"{name} line {number}"
        if not line.strip():
            continue
        try:
            fields = json.loads(bounded_json(line))
        except (ValueError, RecursionError) as error:
            problems.append(f"{location}: not JSON ({error})")
            continue
        yield location, fields


def validate_line(model: type[M], fields: Any) -> M:
    """The fields of a line as a model. Raises ValueError with all their problems."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, part['loc'])) or 'line'}: {part['msg']}" for part in error.errors()]
        raise ValueError("; ".join(wrong)) from None
