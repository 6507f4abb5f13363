"""The front page's matrix of questions and subjects, and the boxes above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.analysis.tables.rank_table import common_ranks, rank_table
from snellen.core.errors import CallFailed
from snellen.core.hashing import digest
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import FOLDER, SightCard, write_sight
from snellen.core.subject import SubjectCard
from snellen.reports import Report, Run, write_report
from snellen.reports.front_page import ExamPart, Front, GradedAbility, SubjectLine, front
from snellen.reports.loading import load_run
from snellen.reports.matrix import COMMAND, Matrix, alarms, commands, draw_matrix, matrix
from snellen_sight.results import SightLine
from tests.reports.exam import Able, able, suite_of, write_items, write_run
from tests.reports.test_report import Tags, page


def _front(run: Run, **cells: Any) -> Front:
    return front([ExamPart(run, "shapes", "shapes.html", **cells)])


def _run(tmp_path: Path, subjects: Sequence[Able], tasks: Sequence[str] = ("naming",), n: int = 12) -> Run:
    items = write_items(tmp_path / "items", n, tasks=tasks)
    crowd = [replace(subject, items=items.by_id) for subject in subjects]
    return load_run(write_run(tmp_path / "run", items, crowd, tasks=tasks, protocols=("strict",)), suite_of)


def _able(name: str, skill: float, **attributes: str) -> Able:
    card = SubjectCard(name, attributes=attributes, role="encoder" if name.startswith("encoder") else "model")
    return Able(card, {}, dict.fromkeys(("naming", "finding", "building"), skill))


def test_columns_are_the_users_subjects_then_packaged_ones_then_baselines(tmp_path: Path) -> None:
    crowd = [
        _able("encoder:hog", 1.0, parameters="0"), _able("encoder:conse", 0.2), _able("chat:mine", 0.1),
        _able("encoder:efficientnet-lite0?readout=knn", 1.0), _able("chat:other", 1.0), _able("py:edges", 0.5),
        _able("phantom:whole", 0.4, phantom="whole"),
    ]  # fmt: skip
    content = _front(_run(tmp_path, crowd, n=40))
    assert [(line.subject, line.kind) for line in matrix(content).lines] == [
        ("chat:mine", "user"), ("chat:other", "user"), ("py:edges", "user"),
        ("phantom:whole", "phantom"), ("encoder:efficientnet-lite0?readout=knn", "packaged"),
        ("encoder:conse", "packaged"), ("encoder:hog", "baseline"),
    ]  # fmt: skip


def test_rows_are_worst_first_for_the_first_subject(loaded: Run) -> None:
    table = matrix(_front(loaded))
    assert {row[0].ability for row in table.rows} == {"naming", "finding", "building", "sizing"}
    order = ["hardly beyond guessing", "open", "no grade", "beyond guessing", "not asked"]
    places = [(order.index(row[0].group), row[0].progress) for row in table.rows]
    assert places == sorted(places)
    assert all(len(row) == len(table.lines) for row in table.rows)


def test_the_users_other_subjects_are_named_with_what_they_do_not_see(tmp_path: Path) -> None:
    crowd = [_able("chat:good", 1.0), _able("chat:weak", 0.0), _able("chat:fine", 1.0), _able("encoder:hog", 0.0)]
    content = _front(_run(tmp_path, crowd, n=160))
    assert [(name, [square.ability for square in hardly]) for name, hardly in matrix(content).others] == [
        ("chat:weak", ["naming"])
    ]


def test_questions_that_the_first_subject_was_not_asked_follow_in_the_order_of_the_next(tmp_path: Path) -> None:
    shy = replace(_able("chat:shy", 0.9), refuses="finding")
    content = _front(_run(tmp_path, [shy, _able("chat:other", 0.0)], ("finding", "naming"), n=40))
    assert [row[0].ability for row in matrix(content).rows] == ["naming", "finding"]


def test_questions_that_no_subject_was_asked_are_no_rows(tmp_path: Path) -> None:
    subject = replace(_able("chat:shy", 0.9), refuses="finding")
    content = _front(_run(tmp_path, [subject], ("naming", "finding")))
    assert [row[0].ability for row in matrix(content).rows] == ["naming"]
    assert content.unasked == {"Declined: has no words to compare images with: finding": ["chat:shy"]}


def test_simulated_observers_have_a_matrix_of_their_own(loaded: Run) -> None:
    content = _front(loaded)
    observers = matrix(content, simulated=True)
    assert {line.subject for line in observers.lines} == {"fake:oracle", "fake:chance", "fake:blind-to=colour"}
    assert not {line.subject for line in matrix(content).lines} & {line.subject for line in observers.lines}
    alone = replace(content, lines=observers.lines)
    assert matrix(alone).lines == observers.lines, "without others they are the subjects"


def test_the_matrix_is_saved_as_a_table(report: Report, loaded: Run) -> None:
    table, content = pd.read_csv(report.root / "tables" / "matrix.csv"), matrix(_front(loaded))
    assert list(table.columns[:4]) == ["question", "task", "suite", "measure"]
    assert list(table.columns[4:]) == [line.subject for line in content.lines]
    assert list(table["task"][:-1]) == [row[0].ability for row in content.rows]
    assert tuple(table.iloc[-1, 4:]) == content.ranks
    for text, row in zip(table["chat:openai/gpt-4o"][:-1], content.rows, strict=True):
        assert text == f"{row[0].number} {row[0].interval} {row[0].short}".replace("  ", " ")


def test_ranks_are_over_the_questions_that_all_subjects_have_a_score_in(loaded: Run) -> None:
    """Of the four tasks, one encoder declines *finding* and another one *sizing*."""
    ranks, table = common_ranks([loaded]), rank_table(loaded)
    common = table[table["task"].isin(["naming", "building"])].groupby("subject")[["rank", "low", "high"]].mean()
    assert set(common.index) == set(ranks)
    for subject, rank in ranks.items():
        assert rank == pytest.approx(tuple(common.loc[subject]))
    of_front = matrix(_front(loaded))
    assert of_front.ranks[0] == "{:.1f} [{:.1f}, {:.1f}]".format(*ranks["chat:openai/gpt-4o"])
    best = min(ranks, key=lambda name: ranks[name][0])
    assert of_front.best == "{}, {:.1f} [{:.1f}, {:.1f}]".format(best, *ranks[best])


def test_two_subjects_have_no_ranks(tmp_path: Path) -> None:
    two = _run(tmp_path, [_able("chat:a", 0.9), _able("chat:b", 0.1)])
    assert common_ranks([two]) == {}
    assert matrix(_front(two)).ranks == ()


def test_the_matrix_is_drawn_with_a_text_per_cell(loaded: Run) -> None:
    table = matrix(_front(loaded))
    (axes,) = draw_matrix(table).axes
    texts = [text.get_text() for text in axes.texts]
    assert len(texts) == len(table.rows) * len(table.lines)
    assert "·" in texts, "not asked"


def test_the_boxes_have_the_decided_questions_and_short_commands(loaded: Run, report: Report) -> None:
    content = _front(loaded)
    table = matrix(content)
    line = table.lines[0]
    for group in ("hardly beyond guessing", "beyond guessing"):
        assert table.first(group) == line.abilities(group)
    text = " ".join(Tags(report.page.read_text("utf-8")).text.split())
    assert f"{line.decided} of {line.scores} scores" in text
    assert (
        f"Of all subjects: {sum(n.decided for n in table.lines)} of {sum(n.scores for n in table.lines)} scores" in text
    )
    pairs = commands(content, line)
    assert 0 < len(pairs) <= 3
    assert all(len(command) <= COMMAND and command in text for command, _ in pairs)


def test_replies_that_cannot_be_read_stand_in_place_of_the_answer(loaded: Run) -> None:
    unread = ["7 % of the replies of chat:openai/gpt-4o cannot be read", "9 % of the replies of encoder:dull cannot"]
    content = _front(loaded, unread=unread)
    assert alarms(content, matrix(content).lines[0]) == [unread[0]]


@pytest.mark.usefixtures("without_figures")
def test_a_fault_of_sight_stands_in_place_of_the_answer(tmp_path: Path) -> None:
    run = _run(tmp_path, [_able("chat:mine", 1.0)], n=40)
    fingerprint = run.card.arms[0].fingerprint
    fault = SightLine(check="size", verdict="not so", text="images arrive at half their size")
    card = SightCard(subject="chat:mine", fingerprint=fingerprint, seed=0, date="2026-01-01", lines=(fault,))
    write_sight(run.root / FOLDER / f"{digest(fingerprint, 12)}.json", card)
    text = page(write_report([run.root], tmp_path / "report", suite_of=suite_of)).text
    assert "What reaches it: images arrive at half their size" in text
    assert "Beyond guessing at" not in text


def test_a_baseline_that_solves_a_question_is_named() -> None:
    def line(name: str, kind: Any, *words: str) -> SubjectLine:
        row = [ResultRow(task=task, grade=Grade(word, "", "")) for task, word in zip("ab", words, strict=True)]
        grades = tuple(GradedAbility("s", r.task, 0.5, row=r, number="99 %") for r in row)
        return SubjectLine(name, kind, grades, (), "")

    lines = (line("chat:x", "user", "none", "some"), line("encoder:hog", "baseline", "nearly all right", "some"))
    table = Matrix(lines, tuple(zip(*(line.grades for line in lines), strict=True)))
    assert [(name, [g.ability for g in solved], is_all) for name, solved, is_all in table.solved] == [
        ("encoder:hog", ["a"], False)
    ]


@pytest.mark.usefixtures("without_figures")
def test_many_subjects_are_columns_of_one_table(tmp_path: Path) -> None:
    run = _run(tmp_path, [_able(f"chat:m{number}", number / 8) for number in range(8)], n=8)
    report = write_report([run.root], tmp_path / "report", suite_of=suite_of)
    for path in report.pages:
        elements = Tags(path.read_text("utf-8")).elements
        tables = [attrs["class"] for tag, attrs in elements if tag == "table" and "class" in attrs]
        assert [name for name in tables if name and "questions" in name] == ["sortable questions many"]


@dataclass(frozen=True)
class Failer(Able):
    """Its calls fail on two of five items, as those of a server with a filter do; it is right on the others."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        if int(prompt.views[0].item_id[-4:]) % 5 < 2:
            raise CallFailed("HTTP 400: content filter")
        return await super().answer(prompt, media, rng)


@pytest.mark.usefixtures("without_figures")
def test_a_score_of_items_whose_calls_did_not_fail_has_no_grade(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 60, tasks=("naming",))
    failer = Failer(SubjectCard("chat:failer"), items.by_id, {"naming": 1.0})
    crowd = [able("chat:good", items, {"naming": 0.95}), failer]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    grades = write_report([root], tmp_path / "report", suite_of=suite_of).grades().set_index("subject")
    assert grades.loc[["chat:failer"], ["state", "reason", "note"]].values.tolist() == [
        ["failed", "in part", "36 of 60"]
    ]
