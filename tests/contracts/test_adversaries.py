"""Subjects without the abilities have no grade above *none*.

A rule on the words of statements, a reader of drawn boxes, a forest on thumbnails, a look-up of equal questions, a
constant and guessers answer generated sets (`tests.helpers.adversaries`). docs/measurements/grades.md has the rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.analysis.grading.grades import FALSE_MOST
from snellen.analysis.grading.rows import rows_of
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject, SubjectCard, TrainingExample, with_examples
from snellen.exam.run import run
from snellen.reports import write_report
from snellen.subjects.fakes.simple import Scripted
from snellen.suites import SUITES
from tests.helpers.adversaries import ABOVE_NONE, ADVERSARIES, Questions, cells, generated, gradings
from tests.helpers.grade_rates import rates
from tests.reports.exam import leave_out_figures


@pytest.mark.slow
@pytest.mark.parametrize(("size", "seeds", "guessers", "allowed"), [(1, 1, 40, 0.003), (4, 1, 8, 0.001)])
def test_hardly_any_cell_of_an_adversary_is_above_none(
    tmp_path: Path, size: int, seeds: int, guessers: int, allowed: float
) -> None:
    """At most 3 of 1,000 cells at the size of a checkup, and 1 of 1,000 at four times it; one cell may be chance."""
    every_cell = list(cells(tmp_path, size=size, seeds=range(300, 300 + seeds), guessers=guessers))
    above = [cell for cell in every_cell if cell[2] in ABOVE_NONE]
    print(f"size {size}: {len(above)} of {len(every_cell)} above none", *above, sep="\n  ")
    assert len(above) <= max(1, allowed * len(every_cell)), above


@pytest.mark.slow
def test_the_rule_on_words_alone_has_no_grade_in_gc_trk(tmp_path: Path) -> None:
    """It is right in half of 60 pairs, as any rule that answers the two statements oppositely."""
    items = generated("vlm2-bench", tmp_path, size=5, seed=500, renderer="blank", tasks=("gc-trk",))
    (trk,) = rows_of(gradings(items, {"word order": ADVERSARIES["word order"]}))
    assert trk.blind == 0.5
    assert trk.low < 0.5 < trk.high
    assert trk.grade.label in ("none", "open: too few items")


@pytest.mark.slow
def test_cheap_answers_have_states_of_their_own_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers from boxes and from thumbnails, asked like any subject, and read off the report."""
    leave_out_figures(monkeypatch)
    items = generated("ava-bench", tmp_path, size=3, seed=501)
    subjects = [_scripted(items, name) for name in ("boxes-only reader", "thumbnail forest", "question look-up")]
    cells = dict[tuple[str, str], Any]()
    for arms, condition in ((subjects[:1], "boxes=drawn"), (subjects[1:], "vanilla")):
        run(items, arms, tmp_path / condition, conditions=[condition], show_progress=False)
        report = write_report([tmp_path / condition], tmp_path / f"report-{condition}")
        cells |= {(row.subject, row.task): row for row in rows_of(report.grades())}
    assert cells["boxes-only reader", "spatial"].grade.label == "open: baseline leaves no room"
    assert cells["boxes-only reader", "spatial"].grade.note == "boxes only give 100 %; ask under boxes=none"
    assert {task for name, task in cells if name == "boxes-only reader"} == {
        "spatial",
        "relative-depth",
        "absolute-depth",
    }
    assert not [cell for cell, row in cells.items() if row.grade.word in ABOVE_NONE]


def _scripted(items: ItemSet, name: str) -> Scripted:
    """An adversary as a subject that is asked; one that is fitted has its examples on its card."""
    script: dict[str, str] = {"*": ""}
    for task in SUITES.get(items.card.suite).tasks.values():
        test, train = ([i for i in items.task(task.id) if i.split == split] for split in ("test", task.train_split))
        if test:
            answers = ADVERSARIES[name].answers(Questions(items, task, test, train))
            script |= {i.item_id: i.view().reply.write(a) for i, a in zip(test, answers, strict=True) if a is not None}
    kind = Fitted if ADVERSARIES[name].is_fitted else Scripted
    return kind(SubjectCard(name, {"script": name}, reads="views"), script)


class Fitted(Scripted):
    """A script that is fitted to training examples."""

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The same answers, with the examples on the card."""
        return replace(self, card=with_examples(self.card, examples))


@pytest.mark.slow
def test_rates_of_grades_in_simulations() -> None:
    """Of *most* at most 5 % are truly under halfway; with three times the items 75 % of .75 are *most*."""
    by_size = {size: rates(size, subjects) for size, subjects in ((1, 400), (3, 150), (6, 150))}
    for size, simulated in by_size.items():
        print(size, simulated)
        assert simulated["of most, truly under halfway"] <= 0.05
        assert simulated["blind above none"] <= (0.003 if size < 6 else 0.001)
        assert simulated["boxes-only reader above none"] <= 0.001
    assert by_size[1]["of most, truly under halfway"] == pytest.approx(FALSE_MOST, abs=0.0005)
    assert by_size[3]["truth .75 is most or better"] >= 0.75
    assert by_size[3]["blind none"] >= 0.65
