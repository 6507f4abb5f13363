"""Reports: a run's numbers as pages, tables and figures. Heavy modules are imported on first use."""

from typing import TYPE_CHECKING

from snellen.core.lazy import lazy_names

if TYPE_CHECKING:
    from snellen.analysis.tables.section import Run as Run
    from snellen.reports.loading import Exam as Exam
    from snellen.reports.loading import load_run as load_run
    from snellen.reports.terminal import answer_lines as answer_lines
    from snellen.reports.terminal import print_table as print_table
    from snellen.reports.writing import Report as Report
    from snellen.reports.writing import publish_report as publish_report
    from snellen.reports.writing import write_report as write_report

_MODULES = {
    "Exam": "snellen.reports.loading",
    "Report": "snellen.reports.writing",
    "Run": "snellen.analysis.tables.section",
    "load_run": "snellen.reports.loading",
    "answer_lines": "snellen.reports.terminal",
    "print_table": "snellen.reports.terminal",
    "publish_report": "snellen.reports.writing",
    "write_report": "snellen.reports.writing",
}
__all__ = list(_MODULES)
__getattr__ = lazy_names(__name__, _MODULES)
