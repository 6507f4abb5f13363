"""ComBo: categorisation of composite blocks, from learning to use."""

from snellen.core.lazy import LazyObjects, imported
from snellen.core.suite import Suite, read_suite_card
from snellen.presentation.controls import resolve_sheet
from snellen.suites.combo.items import NATURAL_VOTES, PAIR_COMPARISONS
from snellen.suites.combo.published import published
from snellen.suites.combo.tasks import AXES, TASKS

CARD = read_suite_card(__name__)
SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes=LazyObjects(
        {"generated": f"{__name__}.generated.recipe:Generated", "curated": f"{__name__}.curated.recipe:Curated"}
    ),
    resolve=resolve_sheet,
    published=published,
    sections=lambda run: imported(f"{__name__}.report.sections:sections")(run),
    report_inputs=(PAIR_COMPARISONS, NATURAL_VOTES),
    terms=lambda: imported(f"{__name__}.terms:term_scenes")(),
)
