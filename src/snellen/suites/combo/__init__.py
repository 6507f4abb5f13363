"""ComBo: categorisation of composite blocks, from learning to use."""

from snellen.core.suite import Suite, read_suite_card
from snellen.presentation.controls import resolve_sheet
from snellen.suites.combo.curated.recipe import Curated
from snellen.suites.combo.generated.recipe import Generated
from snellen.suites.combo.published import published
from snellen.suites.combo.report.people import REPORT_INPUTS
from snellen.suites.combo.report.sections import sections
from snellen.suites.combo.tasks import AXES, TASKS
from snellen.suites.combo.terms import term_scenes

CARD = read_suite_card(__name__)
SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes={"generated": Generated(), "curated": Curated()},
    resolve=resolve_sheet,
    published=published,
    sections=sections,
    report_inputs=REPORT_INPUTS,
    terms=term_scenes,
)
