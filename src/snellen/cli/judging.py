"""`snellen judge`: verdicts by a subject, samples for people, and their agreement."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from snellen.cli.options import Json, Seed


def judge(
    run: Annotated[str, typer.Argument(help="Run with descriptions to judge.")],
    by: Annotated[
        str | None,
        typer.Option(help="Judge: a subject, e.g. chat:openai/gpt-4o, or people's decisions (decisions.csv)."),
    ] = None,
    unread: Annotated[
        bool,
        typer.Option("--unread", help="Let the judge read replies that the parser could not: protocol judged-reading."),
    ] = False,
    sample: Annotated[
        Path | None,
        typer.Option(help="Write judged texts for people: FILE.csv to check verdicts, or a folder for a review."),
    ] = None,
    each: Annotated[int, typer.Option(min=1, help="Texts per judge and subject in the sample.")] = 20,
    agreement: Annotated[
        Path | None, typer.Option(help="People's decisions about a sample: report their agreement with the judge.")
    ] = None,
    readings: Annotated[Path | None, typer.Option(help="Sheet of readings to check (CSV); if checked, sum up.")] = None,
    seed: Seed = 0,
    protocol: Annotated[str, typer.Option(help="Protocol whose judge is asked, e.g. manual (ComBo).")] = "strict",
    as_json: Json = False,
) -> None:
    """Judge descriptions with a subject and score them again, or compare a judge or the parser with people."""
    from snellen.core.errors import SnellenError
    from snellen.core.storage.run_tables import read_responses
    from snellen.core.storage.runfolder import read_run_card
    from snellen.exam.judge import judge as do
    from snellen.runs.scores import judgements
    from snellen.runs.scores.readings import misread_share, parser_readings, write_readings
    from snellen.runs.sets.gate import open_run_items

    if by is None and sample is None and agreement is None and readings is None:
        raise SnellenError("snellen judge: give --by SUBJECT, --sample FILE, --agreement FILE or --readings FILE")
    if unread and (by is None or sample is not None or agreement is not None):
        raise SnellenError("snellen judge --unread: name the judge with --by SUBJECT, without --sample or --agreement")
    outcome, folder = dict[str, Any](), Path(run)
    if (by or sample) and (count := sum(arm.withholds_words for arm in read_run_card(folder).arms)):
        print(f"note: words that the study does not share go to the judge or sample (people: {count})", file=sys.stderr)
    if by is not None:
        judge_of = judgements.people_as_judge(Path(by)) if Path(by).exists() else by
        outcome |= asdict(do(folder, judge_of, unread=unread, protocol=protocol, show_progress=not as_json))
    _, items, suite = open_run_items(folder)
    judged_items = judgements.judgement_items(read_responses(folder), items, suite, protocol)
    verdicts = judgements.read_verdicts(folder, judged_items)
    if sample is not None:
        drawn, is_sheet = (sample, judged_items, verdicts, each, seed), sample.suffix == ".csv"
        count = judgements.write_sample(*drawn) if is_sheet else judgements.write_sample_items(*drawn, items.media)
        outcome |= {"sample": str(sample), "sampled": count}
    if agreement is not None:
        rates = judgements.read_agreement(agreement, judged_items, verdicts, suite, protocol)
        outcome["agreement"] = [asdict(rate) for rate in rates]
    if readings is not None:
        rows = parser_readings(judgements.responses_in_units(folder, items), items, suite)
        is_sheet = readings.is_file()
        outcome["readings"] = misread_share(readings, rows) if is_sheet else write_readings(readings, rows, seed)
    print(json.dumps(outcome) if as_json else "\n".join(f"{name}: {value}" for name, value in outcome.items()))
    if outcome.get("failed"):
        raise typer.Exit(1)
