"""AVA-Bench: fourteen atomic visual abilities, one asked at a time."""

from collections.abc import Iterator

from snellen.analysis.section import ReportSection, Run
from snellen.core.suite import Suite, read_suite_card
from snellen.suites.ava_bench.advice import encoder_advice
from snellen.suites.ava_bench.advice.recipe import Questions
from snellen.suites.ava_bench.curated.recipe import Curated
from snellen.suites.ava_bench.generated.recipe import Generated
from snellen.suites.ava_bench.own.recipe import Own
from snellen.suites.ava_bench.published import published
from snellen.suites.ava_bench.released.recipe import RELEASED
from snellen.suites.ava_bench.report.sections import sections
from snellen.suites.ava_bench.scenes.terms import term_scenes
from snellen.suites.ava_bench.tasks import AXES, make_tasks, resolve

CARD = read_suite_card(__name__)


def report_sections(run: Run) -> Iterator[ReportSection]:
    """A ranking for the user's own questions, if their tags are given, then the paper's tables and figures."""
    yield from encoder_advice.sections(run)
    yield from sections(run)


def make_suite() -> Suite:
    """The suite of all abilities in the registry (`abilities.ABILITIES`)."""
    return Suite(
        card=CARD,
        axes=AXES,
        tasks=make_tasks(),
        recipes={
            "generated": Generated(),
            "curated": Curated(),
            "released": RELEASED,
            "own": Own(),
            "questions": Questions(),
        },
        resolve=resolve,
        blind_renderer="toy",
        published=published,
        sections=report_sections,
        report_inputs=encoder_advice.REPORT_INPUTS,
        terms=term_scenes,
    )


SUITE = make_suite()
