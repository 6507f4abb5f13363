"""Questions of any benchmark that is a table: the tasks come from the table."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.condition import Condition, Value
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite
from snellen.suites.questions.kinds import AXES, CARD, tasks_of
from snellen.suites.questions.table.recipe import FromTable


def _resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    return {}


SUITE = Suite(CARD, AXES, {}, {"table": FromTable()}, _resolve, tasks_of=tasks_of)
