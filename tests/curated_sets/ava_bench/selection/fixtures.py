"""Scenes and candidates made in memory, and choices that stand in for the reviewed files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext, Origin
from snellen.curated_sets.ava_bench.selection.choices import Choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Annotation, ImageQuestion, Sample


@dataclass(frozen=True)
class FewChoices:
    """Like `Choices`, with only those that a test needs."""

    named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def categories(self, source: str) -> Mapping[str, Any]:
        names = self.named.get(source, {})
        return {label: SimpleNamespace(name=name, domain="Open") for label, name in names.items()}

    def counted(self, source: str, label: str) -> bool:
        return label != "water"

    def plural(self, source: str, label: str) -> str:
        return f"{label}s"


def curating(rules: Rules | None = None, choices: Any = None, seed: int = 0) -> CurationContext:
    return CurationContext(rules or Rules(), cast(Choices, choices or FewChoices()), seed)


def scene(
    *annotations: Annotation,
    source: str = "LVIS",
    record: str = "a.jpg",
    size: tuple[int, int] | None = (100, 100),
    lost: int = 0,
    questions: tuple[ImageQuestion, ...] = (),
    attributes: Mapping[str, Any] | None = None,
) -> Sample:
    return Sample(
        record_id=record, image=ImageFile(Path(record)), annotations=annotations, questions=questions, size=size,
        lost=lost, attributes=attributes or {}, source=source, licence="made",
    )  # fmt: skip


def candidates(count: int, label: str = "cat", bin: str = "", source: str = "LVIS") -> list[Candidate]:
    """Candidates of one stratum, each of its own image, with increasing sizes."""
    rows = []
    for n in range(count):
        record = f"{label}-{bin}-{n}"
        origin = Origin(source, record, ImageFile(Path(record)), "made")
        rows.append(Candidate(origin, label, bin, {"n": n}, float(n)))
    return rows
