"""Stand-ins: subjects that take part in a study in place of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import View
from snellen.core.response import Response
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import all_trials
from snellen.exam.examination import Examination
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.scoring.answers import read_answer
from snellen.subjects.registry import make_subject
from snellen.suites import suite_of
from snellen.web.pages import SEED, as_recorded, page_trials
from snellen.web.plan import Entry, Page
from snellen.web.study import StudyCard, open_itemset

ViewPlace = tuple[str, str, str]
"""Suite, condition as written, item."""


@dataclass(frozen=True)
class StandIn:
    """One subject in place of several people: its ordinary runs, one repeat per person, and the views of all pages."""

    card: StudyCard
    examinations: Mapping[str, Examination]
    views: Mapping[ViewPlace, View]

    def answers(self, page: Page, person: int) -> dict[str, Entry]:
        """The entries of person number `person` on a page. Practice and attention pages are answered correctly.

        Raises SnellenError for an unreadable reply, since a page needs an answer and none is guessed.
        """
        if page.feedback is not None:
            return dict(page.feedback)
        source = self.card.pages[page.page_id]
        if page.kind == "attention":
            return dict(source.answers)
        return {item_id: self._answer(source.suite, source.condition, person, item_id) for item_id in source.item_ids}

    def _answer(self, suite: str, condition: str, person: int, item_id: str) -> Entry:
        response = self._responses[suite, condition, person, item_id]
        answer = read_answer(response.text or "", response.reply_spec)
        if answer is None:
            raise SnellenError(
                f"{response.subject} gave no readable answer to {item_id!r} ({response.status}), and a page cannot be "
                "left unanswered; choose another subject"
            )
        return as_recorded(self.views[suite, condition, item_id], answer)

    @cached_property
    def _responses(self) -> Mapping[tuple[str, str, int, str], Response]:
        return {
            (suite, response.condition, response.repeat, response.item_id): response
            for suite, examination in self.examinations.items()
            for response in examination.responses
        }


def make_stand_in(card: StudyCard, subject: str, people: int, out: Path) -> StandIn:
    """Ask a subject all items of a study, once for each person it replaces, in ordinary runs under `out`."""
    examinations: dict[str, Examination] = {}
    views: dict[ViewPlace, View] = {}
    study_items = {item_id for page in card.pages.values() for item_id in page.item_ids}
    for name in card.itemsets:
        items = open_itemset(card, name)
        suite = suite_of(items)
        # Test items that no page shows are dropped; all training items stay, since examples are drawn among them.
        kept = tuple(item for item in items.items if item.split != "test" or item.item_id in study_items)
        items = replace(items, items=kept)
        conditions = dict.fromkeys(page.condition for page in card.pages.values() if page.suite == name)
        points = [point for text in conditions for point in parse_conditions(suite.axes, text)]
        stand_in, schedule = make_subject(subject, items.items), partial(all_trials)  # not that of the task
        arms = [Arm(stand_in, point, number, schedule) for point in points for number in range(people)]
        responses = ask(out / name, Plan(items, suite, arms, SEED))
        examinations[name] = Examination(out / name, suite, items, responses)
        media = MediaFolder(out / name / "media", items.media)
        tasks = dict.fromkeys((page.task, page.condition) for page in card.pages.values() if page.suite == name)
        for task, written_condition in tasks:
            (condition,) = parse_conditions(suite.axes, written_condition)
            for trial in page_trials(items, suite, suite.tasks[task], condition, media):
                views |= {(name, written_condition, view.item_id): view for view in trial.prompt.views}
    return StandIn(card, examinations, views)
