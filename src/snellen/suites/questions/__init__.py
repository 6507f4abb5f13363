"""Questions of any benchmark that is a table: the tasks come from the table."""

from __future__ import annotations

from snellen.core.lazy import LazyObjects
from snellen.core.suite import Suite
from snellen.presentation.controls import resolve_frames
from snellen.suites.questions.kinds import AXES, CARD, tasks_of

RECIPES = LazyObjects(table=f"{__name__}.table.recipe:FromTable", reduced=f"{__name__}.reduced.recipe:Reduced")
SUITE = Suite(CARD, AXES, {}, RECIPES, resolve_frames, tasks_of=tasks_of)
