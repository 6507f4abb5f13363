"""ComBo: categorisation of composite blocks, from learning to use."""

from functools import partial

from snellen.core.lazy import LazyObjects, lazy_function
from snellen.core.registry import own_entries
from snellen.core.reproduction import read_reproductions
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
        generated=f"{__name__}.generated.recipe:Generated",
        **own_entries("snellen.recipes", "combo/"),
        released=f"{__name__}.released.recipe:RELEASED",
    ),
    resolve=resolve_sheet,
    published=published,
    sections=lazy_function(f"{__name__}.report.sections:sections"),
    report_inputs=(PAIR_COMPARISONS, NATURAL_VOTES),
    terms=lazy_function(f"{__name__}.terms:term_scenes"),
    reproductions=partial(read_reproductions, __name__),
)
