"""Reports: a run's numbers as a page, tables and figures."""

from snellen.analysis.section import Run
from snellen.reports.loading import Exam, load_run
from snellen.reports.terminal import print_table
from snellen.reports.writing import Report, write_report

__all__ = ["Exam", "Report", "Run", "load_run", "print_table", "write_report"]
