"""`snellen checkup`: all suites in short, and one report."""

from dataclasses import replace
from shlex import quote

from snellen.cli.derived import with_options
from snellen.cli.options import Executor, Subjects, Workers, cores
from snellen.cli.output import console
from snellen.runs.planning.options import CheckupOptions


@with_options(CheckupOptions)
def checkup(
    options: CheckupOptions,
    subject: Subjects = [],  # noqa: B006  # typer copies it
    workers: Workers = None,
    executor: Executor = "local",
) -> None:
    """Run all suites on the packaged subjects and yours, and write one report."""
    from snellen.cli.asking import announce, explain, finish, name_services

    name_services(subject)
    from snellen.cli.finished import able_instead, summary
    from snellen.compute import executing
    from snellen.exam.checkup import checkup as do
    from snellen.reports import answer_table, print_table
    from snellen.web.explorer import explorer_writer

    explorer, reason = explorer_writer()
    with executing(executor, [options.out], workers):
        result = do(subject, replace(options, workers=cores(workers)), announce=announce, explorer=explorer)
    screen = console()
    for text in (text for examination in result.examinations for text in examination.unread()):
        screen.print(text, soft_wrap=True, markup=False, style="bold")
    for _, rows in result.report.results.groupby("suite", sort=False):  # computed for the report
        screen.print(print_table(rows))
    screen.print(answer_table(result.report.answers()))
    screen.print(f"Report: {result.report.page.resolve()}", soft_wrap=True)
    if reason:
        print(reason)
    print(f"{result.seconds:.0f} seconds")
    remedy = f"; snellen checkup --more decides about {result.expected} more in 3 minutes" if result.expected else ""
    print(f"{result.decided} of {result.scores} scores are decided{remedy}")
    for note in result.notes:
        print(f"Note: {note} (snellen build … --size WxH)")
    summaries = [summary(examination) for examination in result.examinations]
    for run_summary in summaries:
        explain(run_summary, with_declines=False)
    if declining := {subject: None for run_summary in summaries for subject in run_summary.declines}:
        print(f"Some questions were declined by {', '.join(declining)}. The reasons are on the pages.")
    for examination, run_summary in zip(result.examinations, summaries, strict=True):
        if able := able_instead(run_summary.declines):
            words = " ".join(f"--subject {quote(name)}" for name in able)
            answers = quote(str(options.out / f"attentive-{examination.suite.name}"))
            print(f"Next: snellen run {quote(str(examination.items.root))} {words} --out {answers}")
    finish(summaries)
