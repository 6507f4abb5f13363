"""AVA-Bench: fourteen atomic visual abilities, one asked at a time."""

from importlib.resources import files

import yaml

from snellen.core.suite import Suite, SuiteCard
from snellen.suites.ava_bench.advice.encoder_advice import REPORT_INPUTS
from snellen.suites.ava_bench.advice.recipe import Questions
from snellen.suites.ava_bench.curated.recipe import Curated
from snellen.suites.ava_bench.generated.recipe import Generated
from snellen.suites.ava_bench.published import published
from snellen.suites.ava_bench.released.recipe import RELEASED
from snellen.suites.ava_bench.report.sections import sections
from snellen.suites.ava_bench.tasks import AXES, TASK_BY_NAME, resolve

CARD = SuiteCard.model_validate(yaml.safe_load(files(__name__).joinpath("suite.yaml").read_text("utf-8")))
SUITE = Suite(
    CARD,
    AXES,
    TASK_BY_NAME,
    {"generated": Generated(), "curated": Curated(), "released": RELEASED, "questions": Questions()},
    resolve,
    published,
    sections,
    REPORT_INPUTS,
)
