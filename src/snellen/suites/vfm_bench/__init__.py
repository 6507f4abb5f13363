"""VFM Bench: Visual Fast Mapping, concepts learned from a few labelled images."""

from snellen.core.suite import Suite, read_suite_card
from snellen.presentation.controls import resolve_sheet
from snellen.suites.vfm_bench.curated.recipe import Curated
from snellen.suites.vfm_bench.generated.recipe import Generated
from snellen.suites.vfm_bench.own.recipe import Own
from snellen.suites.vfm_bench.published import published
from snellen.suites.vfm_bench.released.recipe import RELEASED
from snellen.suites.vfm_bench.report.sections import sections
from snellen.suites.vfm_bench.tasks import AXES, TASKS

CARD = read_suite_card(__name__)
SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes={
        "generated": Generated(),
        "curated": Curated(),
        "released": RELEASED,
        "own": Own(),
    },
    resolve=resolve_sheet,
    published=published,
    sections=sections,
)
