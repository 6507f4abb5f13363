"""Questions of any benchmark that is a table: the tasks come from the table."""

from __future__ import annotations

from snellen.core.suite import Suite
from snellen.suites.questions.kinds import AXES, CARD, tasks_of
from snellen.suites.questions.table.recipe import FromTable

SUITE = Suite(CARD, AXES, {}, {"table": FromTable()}, tasks_of=tasks_of)
