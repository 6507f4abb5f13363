"""`snellen study`: people as subjects and as judges."""

import json
from pathlib import Path
from typing import Annotated, Optional

import typer

from snellen.cli.options import Json, Workers, cores
from snellen.cli.reviewing import decide, queue

app = typer.Typer(
    help="Build, serve and import studies with people, as participants or reviewers.", no_args_is_help=True
)

Study = Annotated[Path, typer.Argument(help="Study folder, written by `snellen study build`.")]


@app.command()
def build(
    itemset: Annotated[list[str], typer.Argument(help="Item sets or suites, one per suite.")],
    out: Annotated[Path, typer.Option(help="Study folder to write.")],
    design: Annotated[str, typer.Option(help="YAML file, or a preset (`snellen study presets`).")],
    name: Annotated[
        str, typer.Option(help="Prefix of participant IDs (human:NAME/p01). Default: the folder's name.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Write a study folder, with the bundle for participants."""
    from snellen.exam.items import find_items
    from snellen.web.building import build_study
    from snellen.web.design import read_design
    from snellen.web.study import BUNDLE, read_plan

    read = read_design(design)
    items = [find_items(path, workers=cores(workers), show_progress=not as_json) for path in itemset]
    card = build_study(items, read, out, name=name, seed=seed)
    plan = read_plan(out)
    lengths = [sum(len(block.page_ids) for block in form) for form in plan.forms]
    counts = {"study": card.name, "pages": len(plan.pages), "forms": len(plan.forms), "pages_a_form": max(lengths)}
    if as_json:
        print(json.dumps({**counts, "bundle": str(out / BUNDLE), "notes": card.notes}))
        return
    print(f"{card.name}: {len(plan.pages)} pages, {len(plan.forms)} forms of up to {max(lengths)} pages")
    for note in card.notes:
        print(f"note: {note}")
    print(f"Try it: snellen study serve {out}, or open {out / BUNDLE / 'index.html'}")


@app.command()
def presets() -> None:
    """List the packaged designs and their sources."""
    from snellen.web.design import preset_names, read_design

    for name in preset_names():
        print(f"{name:<18} {read_design(name).source}")


@app.command()
def serve(
    study: Study,
    host: Annotated[str, typer.Option(help="Address to listen on. Use a TLS proxy for anything but localhost.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8000,
    public_url: Annotated[str, typer.Option(help="Address shown in links instead of http://HOST:PORT.")] = "",
) -> None:
    """Serve a study from this machine. Every answer is saved before the next question."""
    from snellen.web.server import serve as do

    do(study, host, port, announce=lambda line: print(line, flush=True), public_url=public_url)


@app.command()
def export(
    study: Study,
    to: Annotated[str, typer.Option(help="jatos (a .jzip) or folder (a copy of the bundle for a kiosk or e-mail).")],
    out: Annotated[Path, typer.Option(help="File or folder to write.")],
) -> None:
    """Export a study for JATOS or as a folder."""
    from snellen.core.errors import SnellenError

    if to == "jatos":
        from snellen.web.jatos import write_jzip

        write_jzip(study, out)
    elif to == "folder":
        import shutil

        from snellen.web.study import BUNDLE, read_plan

        read_plan(study)
        if out.exists():
            raise SnellenError(f"{out}: is there already; give another --out")
        shutil.copytree(study / BUNDLE, out)
    else:
        raise SnellenError(f"--to {to}: no such transport; there are jatos and folder (serve needs no export)")
    print(out)


@app.command("import")
def import_(
    study: Study,
    result_files: Annotated[
        Optional[list[Path]],  # noqa: UP045  # read at run time
        typer.Argument(help="JATOS archives or result files. Default: what `serve` recorded."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for runs and people.csv; an existing one is continued.")] = Path(
        "people"
    ),
    as_json: Json = False,
) -> None:
    """Import people's answers as scored runs with subjects human:STUDY/ALIAS."""
    from snellen.web.importing import PEOPLE, import_study
    from snellen.web.transports import read_results_of

    examinations = import_study(study, read_results_of(study, result_files or []), out)
    runs = [str(examination.root) for examination in examinations]
    answered = sum(len(examination.responses) for examination in examinations)
    if as_json:
        print(json.dumps({"runs": runs, "responses": answered, "people": str(out / PEOPLE)}))
        return
    print(f"{answered} answers; who took part: {out / PEOPLE}")
    for run in runs:
        print(f"snellen report {run} --out report")


@app.command()
def simulate(
    study: Study,
    subject: Annotated[str, typer.Option("--subject", "-s", help="Subject that takes part, e.g. fake:chance.")],
    people: Annotated[int, typer.Option(min=1, help="Number of participants.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for runs and people.csv, as for `import`.")] = Path("people"),
    phone: Annotated[bool, typer.Option("--phone", help="Simulate a touch screen of 390 x 844 px.")] = False,
) -> None:
    """Run a subject through the study's pages in Chromium, and import its answers."""
    from snellen.web.simulation import simulate as do

    for run in do(study, subject, people, out, phone=phone):
        print(f"snellen report {run.root} --out report")


app.command()(queue)
app.command()(decide)
