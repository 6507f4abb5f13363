"""In continuous integration a skip is a failure unless it is listed here: a missing package or browser is no pass.

These hooks do nothing without the variable `SNELLEN_ALL_TESTS` (`.ci/run` sets it).
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import TypeVar

import pytest

VARIABLE = "SNELLEN_ALL_TESTS"
ALLOWED = (
    r"(LMMS_EVAL|EVALSCOPE)_PYTHON is not set",  # environments of other tools
    r"(REPLIES|REAL_REPLIES|DINOV2|VISONLYQA|M3IRT)=(FILE|FOLDER)",  # data of others
    r"no CUDA here",
    r"needs pdflatex or tectonic",
    r"(caddy|nginx) is not installed",
    r"needs the extra 'faces'|the extra 'cluster' is not installed",  # not in requirements.txt
    r"nothing is closed to root",
    r"this processor \(.*\) cannot do so",
    r"videos are not opened|no image file",  # cases that have nothing to test
)
"""Reasons of skips that pass: what a machine of continuous integration does not have."""
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def strict(report: Report) -> Report:
    """The report, failed if it is of a skip whose reason is not listed."""
    if os.environ.get(VARIABLE) and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not re.search("|".join(ALLOWED), reason):
            report.outcome = "failed"
            report.longrepr = f"{reason}; {VARIABLE} is set, and tests/helpers/skips.py does not list this skip"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skipped tests."""
    return strict((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skipped modules."""
    return strict((yield))
