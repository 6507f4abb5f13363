"""ComBo: categorisation of composite blocks, from learning to use."""

from importlib.resources import files

import yaml

from snellen.core.suite import Suite, SuiteCard
from snellen.presentation.controls import resolve_sheet
from snellen.suites.combo.generated.recipe import Generated
from snellen.suites.combo.published import published
from snellen.suites.combo.report.sections import sections
from snellen.suites.combo.tasks import AXES, TASKS

CARD = SuiteCard.model_validate(yaml.safe_load(files(__name__).joinpath("suite.yaml").read_text("utf-8")))
SUITE = Suite(CARD, AXES, TASKS, {"generated": Generated()}, resolve_sheet, published, sections)
