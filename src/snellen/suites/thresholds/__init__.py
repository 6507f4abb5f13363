"""Thresholds: how small, how faint and how alike things may be until they cannot be distinguished."""

from snellen.core.lazy import LazyObjects, lazy_function
from snellen.core.suite import Suite, read_suite_card
from snellen.presentation.box_units import resolve_unit
from snellen.suites.thresholds.tasks import AXES, TASKS

SUITE = Suite(
    card=read_suite_card(__name__),
    axes=AXES,
    tasks=TASKS,
    resolve=resolve_unit,
    recipes=LazyObjects(generated=f"{__name__}.generated.recipe:Generated"),
    sections=lazy_function(f"{__name__}.report.sections:sections"),
)
