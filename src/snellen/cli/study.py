"""`snellen study`: studies with people, as participants and as reviewers."""

import json
from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import Json, Seed, Workers, cores

app = typer.Typer(
    help="Build, serve and import studies with people, as participants or reviewers.", no_args_is_help=True
)

REFUSALS_SHOWN = 10
Study = Annotated[Path, typer.Argument(help="Study folder, written by `snellen study build`.")]


@app.command()
def build(
    itemset: Annotated[list[str], typer.Argument(help="Item sets or suites, one per suite.")],
    out: Annotated[Path, typer.Option(help="Study folder to write.")],
    design: Annotated[str, typer.Option(help="YAML file, or a preset (`snellen study presets`).")],
    name: Annotated[
        str, typer.Option(help="Prefix of participant IDs (human:NAME/p01). Default: the folder's name.")
    ] = "",
    seed: Seed = 0,
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
def presets(
    name: Annotated[str | None, typer.Argument(help="Preset to print, as a start for your own design.")] = None,
) -> None:
    """List the packaged designs and their sources, or print one."""
    from snellen.web.design import preset_names, preset_text, read_design

    if name is not None:
        print(preset_text(name), end="")
        return
    for name in preset_names():
        print(f"{name:<18} {read_design(name).source}")


@app.command()
def serve(
    study: Study,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others reach the study through a TLS proxy.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8000,
    public_url: Annotated[
        str, typer.Option(help="Address of the TLS proxy in front of the study (https://…), for its links.")
    ] = "",
    framed_by: Annotated[
        str, typer.Option(help="Site whose pages may show the study in a frame (https://panel.example). Default: none.")
    ] = "",
    max_participants: Annotated[int, typer.Option(min=1, help="Greatest number of participants.")] = 1000,
) -> None:
    """Serve a study from this machine. Every answer is saved before the next question."""
    from snellen.web.limits import VisitorLimits
    from snellen.web.server import serve as do
    from snellen.web.site import StudySite

    limits = VisitorLimits(participants=max_participants)
    do(study, StudySite(host, port, public_url, framed_by), lambda line: print(line, flush=True), limits)


@app.command()
def export(
    study: Study,
    to: Annotated[str, typer.Option(help="jatos (a .jzip) or folder (a copy of the bundle for a kiosk or e-mail).")],
    out: Annotated[Path, typer.Option(help="File or folder to write.")],
    form: Annotated[
        int | None, typer.Option(min=0, help="Folder: form of the first participant; the next ones take turns.")
    ] = None,
) -> None:
    """Export a study for JATOS or as a folder."""
    from snellen.core.errors import SnellenError

    if form is not None and to != "folder":
        raise SnellenError(f"--form is for --to folder, not {to}: elsewhere the server chooses forms")
    if to == "jatos":
        from snellen.web.jatos import write_jzip

        write_jzip(study, out)
    elif to == "folder":
        import shutil

        from snellen.core.storage import files
        from snellen.web.page import index_page
        from snellen.web.study import BUNDLE, INDEX, bundle_files, read_plan

        plan = read_plan(study)
        if out.exists():
            raise SnellenError(f"{out}: exists already; choose another --out")
        for name, source in bundle_files(study / BUNDLE).items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / name)
        chosen = () if form is None else (form % len(plan.forms),)
        files.write_text(out / INDEX, index_page(plan.texts.title, "folder", *chosen))
        if form is None and len(plan.forms) > 1:
            print("note: each device begins with a form at random; for several, export each with its own --form")
    else:
        raise SnellenError(f"--to {to}: unknown transport; choose jatos or folder (serve needs no export)")
    print(out)


@app.command("import")
def import_(
    study: Study,
    result_files: Annotated[
        list[Path] | None, typer.Argument(help="JATOS archives or result files. Default: what `serve` recorded.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for runs and people.csv; an existing one is continued.")] = Path(
        "people"
    ),
    skip: Annotated[
        list[str] | None, typer.Option(help="Name of a person, file or study result to leave out. Repeatable.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out refused rows, not all rows of their person.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Import people's answers as scored runs with subjects human:STUDY/ALIAS.

    Rows that the study's pages cannot have written are refused, and their person is left out: see refused.csv. The
    exit code is then 1, unless --skip or --skip-bad accept it.
    """
    from snellen.web.importing import REFUSED, import_study, read_refused, read_results_of
    from snellen.web.participants import PEOPLE, people_by_form
    from snellen.web.reviewing import agreement_lines, key_checks
    from snellen.web.study import read_study
    from snellen.web.trials import TRIALS

    submissions = read_results_of(study, result_files or [])
    examinations = import_study(study, submissions, out, skip=skip or (), skip_bad=skip_bad)
    runs = [str(examination.root) for examination in examinations]
    answered = sum(len(examination.responses) for examination in examinations)
    counts, refused = people_by_form(study, out), read_refused(out)
    is_incomplete = any(row.row for row in refused) and not skip_bad
    if as_json:
        facts = {"runs": runs, "responses": answered, "people": str(out / PEOPLE), "people_by_form": counts}
        print(json.dumps({**facts, "trials": str(out / TRIALS), "refused": len(refused)}))
        raise typer.Exit(int(is_incomplete))
    for row in refused[:REFUSALS_SHOWN]:
        print(f"refused: {row}")
    if len(refused) > REFUSALS_SHOWN:
        print(f"refused: {len(refused) - REFUSALS_SHOWN} more, in {out / REFUSED}")
    if is_incomplete:
        people = dict.fromkeys(row.person for row in refused if row.row)
        print(f"People left out: {len(people)}. --skip NAME accepts this; --skip-bad leaves out only the refused rows")
    if max(counts) - min(counts) > 1:
        print(f"note: forms are uneven: {min(counts)} to {max(counts)} people each (docs/people.md)")
    print(f"{answered} answers; participants: {out / PEOPLE}; trials: {out / TRIALS}")
    for examination in examinations if any(block.checks_keys for block in read_study(study).design.blocks) else ():
        print("".join(f"{line}\n" for line in agreement_lines(key_checks(examination), examination.items)), end="")
    for run in runs:
        print(f"snellen report {run} --out report")
    raise typer.Exit(int(is_incomplete))


@app.command()
def links(
    study: Study,
    renew: Annotated[
        bool, typer.Option("--renew", help="Replace the links: the old ones stop working at once.")
    ] = False,
    participant: Annotated[
        str, typer.Option("--person", help="Print the link with which p01 … continues on another device.")
    ] = "",
    url: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8000",
) -> None:
    """Print a study's links, renew them, or print the personal link of one participant."""
    from snellen.web.store import addresses

    for line in addresses(study, url.rstrip("/"), participant, renew=renew):
        print(line)


@app.command()
def forget(
    study: Study,
    participant: Annotated[str, typer.Argument(metavar="PERSON", help="Withdrawal code, name or alias of the person.")],
    imported: Annotated[
        list[Path] | None, typer.Option(help="Folder written by `import`, from which to remove the person. Repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove one person's data from the study and from imported results, and write a receipt."""
    from snellen.web.forgetting import forget as do

    receipt = do(study, participant, imported or [])
    if as_json:
        print(json.dumps(receipt))
        return
    print(f"{receipt['rows_deleted_from_database']} rows deleted from the database of the study")
    for folder in receipt["folders_written_again"]:
        print(f"runs written again without this person: {folder}")
    for folder in receipt["may_still_be_in"]:
        print(f"may still have this person: {folder}")
    if receipt["not_searched"]:
        print(receipt["not_searched"])
    print(f"not touched: {receipt['not_touched']}")
    print(f"receipt: {receipt['receipt']}")


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


@app.command()
def queue(
    name: Annotated[str | None, typer.Argument(help="Queue. Default: list all queues.")] = None,
    itemset: Annotated[Path | None, typer.Argument(help="Item set of the queue's step.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the set of decisions that people will make.")] = None,
    as_json: Json = False,
) -> None:
    """List the steps that people may do by hand, or turn the items of one into decisions."""
    from snellen.core.errors import SnellenError
    from snellen.core.storage.itemset import read_itemset
    from snellen.curation.queues import queues, write_queue

    if name is None:
        if as_json:
            print(json.dumps({key: entry.model_dump() for key, entry in queues().items()}))
            return
        for key, entry in queues().items():
            print(f"{key}: {entry.purpose}")
            for command in entry.commands:
                print(f"    {command}")
            print(f"    read by: {entry.reader}")
        return
    if itemset is None or out is None:
        raise SnellenError(f"snellen study queue {name}: give the item set of the step and --out FOLDER")
    items = write_queue(name, read_itemset(itemset), out)
    print(
        json.dumps({"decisions": items.card.items, "out": str(out)}) if as_json else f"{items.card.items} items: {out}"
    )


@app.command()
def decide(
    runs: Annotated[list[Path], typer.Argument(help="Imported review runs, followed by those of third reviewers.")],
    out: Annotated[Path, typer.Option(help="CSV file for the final decisions (with a card next to it).")],
    third: Annotated[
        Path | None, typer.Option(help="Write a study of the undecided items for a third reviewer.")
    ] = None,
    reviewer: Annotated[str, typer.Option(help="Alias of the third reviewer.")] = "third",
    design: Annotated[str, typer.Option(help="Design of the third reviewer's study.")] = "review",
    as_json: Json = False,
) -> None:
    """Report the agreement of reviewers, and write the final decisions for a build to read."""
    from snellen.web.design import read_design
    from snellen.web.reviewing import decide_review, third_study

    panel, card = decide_review(runs, out)
    if third is not None:
        third_study(panel, runs, read_design(design), third, reviewer)
    if as_json:
        print(json.dumps({**card.model_dump(), "out": str(out), "undecided": list(panel.undecided)}))
        return
    numbers = {"percent": card.percent, "Fleiss": card.fleiss_kappa, "Krippendorff": card.krippendorff_alpha}
    agreement = ", ".join(f"{key} {number:.3f}" for key, number in numbers.items() if number is not None)
    outcome = f"{len(card.reviewers)} reviewers: {card.decided} of {card.items} decided, {card.disputed} disputed"
    print(f"{outcome}; agreement: {agreement or 'not defined'}")
    print(out)
    if third is not None:
        print(f"for the third reviewer: snellen study serve {third}; import it, then give both runs to `decide`")
