"""The report's sections for VFM Bench: the paper's tables and figures, made from our runs.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.analysis.section import ReportSection, Run
from snellen.suites.vfm_bench.report import ablations, by_industry, confusions, reasoning, shots_compared
from snellen.suites.vfm_bench.report.shot_series import in_main_setting, series_of


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has numbers: Table 1, findings, Table 4, Figure 7, then our own."""
    series = series_of(run)
    plain = in_main_setting(series)
    yield from shots_compared.sections(run, plain)
    yield from reasoning.sections(run, plain)
    yield from ablations.sections(run, series)
    yield from by_industry.sections(run, plain)
    yield from confusions.sections(run, plain)
