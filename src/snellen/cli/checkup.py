"""`snellen checkup`: all suites in short, and one report."""

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.derived import with_options
from snellen.cli.options import Subjects, Workers, cores
from snellen.cli.output import console
from snellen.runs.planning.options import CheckupOptions

if TYPE_CHECKING:
    from snellen.exam.checkup import Checkup


@with_options(CheckupOptions)
def checkup(
    options: CheckupOptions,
    subject: Subjects = [],  # noqa: B006  # typer copies it
    tables: Annotated[bool, typer.Option("--tables", help="Print the scores of every suite too.")] = False,
    workers: Workers = None,
) -> None:
    """Run all suites on the packaged subjects and yours, and write one report."""
    page = (options.out / "report" / "index.html").resolve()
    screen = console()
    screen.print(f"Report (grows while this runs; Ctrl-C keeps everything): {page}", soft_wrap=True)
    from snellen.cli.asking import announce, explain, finish, name_services

    name_services(subject)
    from snellen.cli.finished import summary
    from snellen.exam.checkup import checkup as do
    from snellen.reports import answer_lines, print_table
    from snellen.web.explorer import explorer_writer

    explorer, reason = explorer_writer()
    result = do(subject, replace(options, workers=cores(workers)), announce=announce, explorer=explorer)
    for text in (text for examination in result.examinations for text in examination.unread()):
        screen.print(text, soft_wrap=True, markup=False, style="bold")
    if tables:
        for _, rows in result.report.results.groupby("suite", sort=False):  # computed for the report
            screen.print(print_table(rows))
    screen.print(answer_lines(result.report))
    summaries = [summary(examination) for examination in result.examinations]
    for run_summary in summaries:
        explain(run_summary, with_declines=False)
    screen.print(f"Report  {page}  ({result.seconds:.0f} s)", soft_wrap=True)
    if reason:
        print(reason)
    for head, (command, purpose) in zip(("Next", "", ""), _next(result, options), strict=False):
        screen.print(f"{head:<7} {command:<38}  {purpose}", soft_wrap=True, markup=False)
    finish(summaries)


def _next(finished: "Checkup", options: CheckupOptions) -> list[tuple[str, str]]:
    """Commands that follow, with what they do."""
    out = "" if str(options.out) == "checkup" else f" --out {quote(str(options.out))}"
    more = f"decides about {finished.expected} more of {finished.scores} scores, 3 minutes"
    return [
        *([(f"snellen checkup --more{out}", more)] if finished.expected else []),
        (f"snellen checkup -s chat:openai/gpt-4o{out}", "examines your model beside them"),
        (f"snellen show {quote(str(finished.examinations[0].items.root))}", "shows exactly what is sent"),
    ]
