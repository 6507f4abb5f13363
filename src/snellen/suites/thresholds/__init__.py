"""Thresholds: how small, how faint and how alike things may be until they cannot be distinguished."""

from snellen.core.suite import Suite, read_suite_card
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.report.sections import sections
from snellen.suites.thresholds.tasks import AXES, TASKS

SUITE = Suite(
    card=read_suite_card(__name__),
    axes=AXES,
    tasks=TASKS,
    recipes={"generated": Generated()},
    sections=sections,
)
