"""The four tasks of ComBo, each declared in its own module of `questions`, and all axes."""

from __future__ import annotations

from snellen.presentation.controls import IMAGES, LAYOUT, ORDER, PROMPT, SHEET
from snellen.suites.combo.questions import alignment, categories, perception

AXES = (*perception.AXES, SHEET, *categories.AXES, LAYOUT, ORDER, PROMPT, IMAGES)
TASKS = {task.id: task for task in (*perception.TASKS, *alignment.TASKS, *categories.TASKS)}
