"""The measures of the suite, in the order of its tasks."""

from collections.abc import Mapping

from snellen.suites.thresholds.measures.acuity import ACUITY, CROWDED
from snellen.suites.thresholds.measures.colour import COLOUR
from snellen.suites.thresholds.measures.contrast import CONTRAST
from snellen.suites.thresholds.measures.judgement import SAME_LENGTH, TOUCHING
from snellen.suites.thresholds.measures.length import LENGTH
from snellen.suites.thresholds.measures.measure import Measure
from snellen.suites.thresholds.measures.number import NUMBER
from snellen.suites.thresholds.measures.orientation import ORIENTATION
from snellen.suites.thresholds.measures.pointing import POINTING
from snellen.suites.thresholds.measures.vernier import VERNIER

MEASURES: Mapping[str, Measure] = {
    measure.task: measure
    for measure in (
        ACUITY,
        CROWDED,
        VERNIER,
        CONTRAST,
        COLOUR,
        ORIENTATION,
        LENGTH,
        NUMBER,
        TOUCHING,
        SAME_LENGTH,
        POINTING,
    )
}
