"""The commands. Heavy modules are imported inside them, so that `--help` is fast.

There is no `from __future__ import annotations`, since Typer would evaluate each annotation from text.
"""

import pkgutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.checkup import checkup
from snellen.cli.derived import named_paths, with_options
from snellen.cli.judging import judge
from snellen.cli.options import Inputs, Json, OneCondition, Seed, Subjects, Workers, cores
from snellen.cli.output import print_json
from snellen.cli.overview import WINGS, Overview
from snellen.cli.reproduce import reproduce
from snellen.cli.study import app as study
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.registry import own_entries
from snellen.runs.planning.options import RunOptions

app = typer.Typer(
    cls=Overview,
    help="An eye exam for vision-language models, vision encoders and people.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(study, name="study")
for _name, _target in own_entries(WINGS).items():
    app.add_typer(pkgutil.resolve_name(_target), name=_name)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        import snellen

        print(f"snellen {snellen.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """An eye exam for vision-language models, vision encoders and people."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(checkup)


@app.command("list")
def list_(
    what: Annotated[
        str,
        typer.Argument(help="suites, tasks, axes, subjects or fakes. Default: the suites, and counts of the others."),
    ] = "",
    as_json: Json = False,
) -> None:
    """List suites, tasks, axes and subjects."""
    from snellen.core.condition import near
    from snellen.subjects.fakes import FAKES
    from snellen.subjects.registry import EXAMPLES, SUBJECTS
    from snellen.suites import SUITES

    suites = {name: SUITES.get(name) for name in SUITES}
    names_by_kind: dict[str, dict[str, str]] = {
        "suites": {name: suite.card.title for name, suite in suites.items()},
        "tasks": {
            f"{name}/{task.id}": f"{task.kind}; axes {', '.join(task.axes)}"
            for name, s in suites.items()
            for task in s.tasks.values()
        },
        "axes": {
            f"{name}: {axis.name}": f"{'|'.join(map(str, axis.values))}; {axis.help}"
            for name, s in suites.items()
            for axis in s.axes
        },
        "subjects": {
            **{spec: about for spec, about in EXAMPLES.items() if spec.partition(":")[0] in SUBJECTS},
            **{f"fake:{name}": about for name, about in FAKES.items()},
        },
        "fakes": {f"fake:{name}": about for name, about in FAKES.items()},
    }
    if what and what not in names_by_kind:
        raise SnellenError(f"nothing called {what!r} to list; {near(what, names_by_kind)}")
    if as_json:
        print_json(names_by_kind[what] if what else names_by_kind)
        return
    names = names_by_kind[what or "suites"]
    width = max(map(len, names))
    for name, about in names.items():
        print(f"{name:<{width}}  {about}")
    if not what:
        counts = [f"{kind} ({len(names)})" for kind, names in names_by_kind.items() if kind != "suites"]
        print(f"\nMore: snellen list {', '.join(counts)}")


@app.command()
@with_options(BuildOptions)
def build(
    suite: Annotated[str, typer.Argument(help="SUITE or SUITE/TASK.")],
    options: BuildOptions,
    sealed: Annotated[
        Path | None, typer.Option(help="Build from a seal (snellen seal), which determines recipe, options and seed.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Folder of the new item set (required unless --plan).")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show what would be built, and build nothing.")] = False,
    workers: Workers = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print the hashes of the set, too.")] = False,
    as_json: Json = False,
) -> None:
    """Build an item set."""
    from snellen.cli.building import build as do

    options = replace(options, workers=cores(workers), show_progress=not as_json)
    do(suite, out, options, plan=plan, as_json=as_json, verbose=verbose, sealed=sealed)


@app.command()
def verify(
    address: Annotated[str, typer.Argument(metavar="path", help="Item set or run.")],
    rebuild: Annotated[int, typer.Option(min=0, help="Number of images to render again and compare.")] = 0,
    items: Annotated[str | None, typer.Option(help="Item set of the run, if it was moved.")] = None,
    digest: Annotated[str | None, typer.Option(help="Published digest of the run, to compare with.")] = None,
    commitment: Annotated[str | None, typer.Option(help="Published commitment of the seal, to compare with.")] = None,
) -> None:
    """Check an item set or a run: hashes, seal, replies, scores, and the published digest."""
    from snellen.cli.verification import verify as do

    raise typer.Exit(do(address, rebuild, items, digest, commitment))


@app.command()
@with_options(BuildOptions, "n", "full", "renderer", "quality", "size", "balance", "settings", "allow_unmatched")
def seal(
    suite: Annotated[str, typer.Argument(help="SUITE or SUITE/TASK.")],
    options: BuildOptions,
    out: Annotated[Path, typer.Option(help="New file of the seal, readable only by you.")],
    as_json: Json = False,
) -> None:
    """Commit to an exam with a secret random seed: write the seal, and print the commitment to publish."""
    from snellen.cli.sealing import seal as do

    do(suite, out, options, as_json)


@app.command()
def reveal(
    seal: Annotated[Path, typer.Argument(help="File of the seal.")],
    address: Annotated[str, typer.Argument(metavar="path", help="Run or item set of this seal.")],
) -> None:
    """Publish the seed and the salt of a seal beside a run or an item set, so that everybody can verify it."""
    from snellen.cli.sealing import reveal as do

    do(seal, address)


@app.command()
def show(
    itemset: Annotated[str, typer.Argument(help="Item set or suite.")],
    item_id: Annotated[
        str | None, typer.Argument(metavar="item", help="Item ID. Default: the first item of each task.")
    ] = None,
    condition: OneCondition = "vanilla",
    html: Annotated[Path | None, typer.Option(help="Write an HTML page.")] = None,
    inputs: Inputs = [],  # noqa: B006  # typer copies it
    seed: Seed = 0,
) -> None:
    """Show exactly what would be sent to a subject."""
    from snellen.cli.preview import show as do

    do(itemset, item_id, condition, html, seed, named_paths("--input", inputs))


@app.command()
@with_options(RunOptions)
def run(
    itemset: Annotated[list[str], typer.Argument(help="Item sets or suites.")],
    subject: Subjects,
    options: RunOptions,
    requests: Annotated[
        Path | None,
        typer.Option("--batch", help="Write the calls into this file for OpenAI's or vLLM's batches; ask nothing."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask subjects, record every call, and score the replies. Repeating the command resumes the run."""
    from snellen.cli.asking import run as do
    from snellen.cli.asking import write_requests

    if requests is not None:
        write_requests(itemset, subject, options, requests)
        raise typer.Exit
    do(itemset, subject, options, as_json)


@app.command()
def score(
    run: Annotated[str, typer.Argument(help="Run.")],
    protocol: Annotated[str, typer.Option(help="strict, published, or another protocol of the suite.")] = "strict",
    box_unit: Annotated[
        str, typer.Option(help="Read boxes in pixels, thousandths, ... from now on; fractions undoes it.")
    ] = "",
    subject: Annotated[str, typer.Option(help="The subject whose boxes these are; default: all recognised.")] = "",
) -> None:
    """Score a run again, also under another protocol, without asking anything."""
    from snellen.exam.rescoring import recover, rescore, score_boxes_in
    from snellen.runs.scores.score import score_path
    from snellen.runs.sets.gate import open_run_items

    folder = Path(run)
    recover(folder)
    _, items, suite = open_run_items(folder)
    if box_unit:
        score_boxes_in(folder, box_unit, subject or None)
    scores = rescore(folder, items, suite, protocol)
    print(f"{score_path(folder, protocol)}: {len(scores)} rows")


app.command()(judge)
app.command()(reproduce)


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(help="Runs.")],
    out: Annotated[str, typer.Option(help="Report folder.")],
    compare: Annotated[str | None, typer.Option(help="published: add the paper's tables with own rows.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Include more examples and every factor.")] = False,
    protocol: Annotated[str, typer.Option(help="Protocol whose scores all tables show, instead of strict.")] = "",
    inputs: Annotated[
        list[str], typer.Option("--input", help="NAME=RUN or NAME=FILE used by a suite's sections, e.g. tags=RUN.")
    ] = [],  # noqa: B006  # typer copies it
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Write a report: pages, tables, figures and results.csv."""
    from snellen.exam.rescoring import recovered
    from snellen.exam.verification import read_apart
    from snellen.reports import publish_report
    from snellen.reports.rows import plain_rows

    if compare not in (None, "published"):
        raise SnellenError(f"--compare {compare!r}: only 'published' is supported")
    roots = recovered(runs)
    paths = publish_report(
        roots,
        out,
        compare_published=compare == "published",
        full=full,
        inputs=named_paths("--input", inputs),
        workers=cores(workers),
        protocol=protocol,
    )
    if as_json:
        print_json({"page": str(paths.page), "results": plain_rows(paths.results)})
    else:
        print("\n".join([*read_apart(roots), str(paths.page)]))


@app.command()
def export(
    address: Annotated[str, typer.Argument(metavar="path", help="Item set, or run.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Item sets: hf, csv, jsonl, vlmevalkit, lmms-eval or evalscope. Runs: every-eval-ever or hf-results.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="New or empty folder.")],
    condition: OneCondition = "vanilla",
    dataset: Annotated[str, typer.Option(help="hf-results: OWNER/NAME of the items on the Hub.")] = "",
    as_json: Json = False,
) -> None:
    """Export an item set for another tool (prompts, images and keys), or the results of a run for an archive."""
    from snellen.cli.interop import export as do

    do(Path(address), to, out, condition, dataset, as_json)


@app.command()
def diff(
    former: Annotated[
        str,
        typer.Argument(metavar="before", help="Run, RUN:SUBJECT, a log of another tool, or a result of snellen sight."),
    ],
    current: Annotated[str, typer.Argument(metavar="after", help="The run or log to compare with, in the same form.")],
    more: Annotated[list[str] | None, typer.Argument(help="Further logs: all pairs, and ranks.")] = None,
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", help="drop: exit code 4 if anything dropped, 1 if items could not be compared."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option("--margin", "--least-drop", help="With --fail-on: points to detect (own: 20; logs: to exclude)."),
    ] = None,
    read: Annotated[bool, typer.Option("--read", help="Score the replies of logs with Snellen's parser.")] = False,
    out: Annotated[Path, typer.Option("--page", "--out", help="Page of changed answers.")] = Path("diff.html"),
    as_json: Json = False,
) -> None:
    """Compare two subjects on the same items: abilities that changed and answers that flipped."""
    from snellen.cli.diff import diff as do
    from snellen.core.storage.sight import is_sight

    if is_sight(Path(former)) and is_sight(Path(current)):
        from snellen.cli.sight import print_changes

        return print_changes(Path(former), Path(current), as_json)
    return do(former, current, fail_on, margin, out, as_json, more or [], read)


@app.command()
def sight(
    subject: Annotated[str, typer.Argument(help="Subject, e.g. chat:openai/gpt-4o or encoder:hf/PATH.")],
    out: Annotated[Path | None, typer.Option(help="Folder for sight.json and the images. Default: sight/NAME.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check what of an image reaches a subject, in at most 90 calls: size, colours, order, crops, compression."""
    from snellen.cli.sight import sight as do

    raise typer.Exit(do(subject, out, seed, as_json))


@app.command("blind-baseline")
def blind_baseline(
    name: Annotated[str, typer.Argument(metavar="itemset", help="Item set, or a suite (for its generated items).")],
    subject: Annotated[str | None, typer.Option(help="Additional subject, asked without images.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Generated test items per task (suites only).")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for blind.json (suites only).")] = None,
    workers: Workers = None,
) -> None:
    """Measure the blind baselines of an item set: scores without seeing any image."""
    from snellen.cli.blind_baseline import blind as do

    do(name, subject, n, out, cores(workers))


@app.command()
def doctor(
    no_trials: Annotated[
        bool, typer.Option("--no-trials", help="Skip the trial rendering and imports (under a second).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check this machine: libraries, extras, renderer, GPU, disk, API keys. Exit code 1 if the core does not work."""
    from snellen.cli.doctor import doctor as do

    do(not no_trials, as_json)
