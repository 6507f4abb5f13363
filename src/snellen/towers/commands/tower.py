"""`snellen tower`: training heads on vision towers stage by stage, and comparing towers."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.derived import with_options
from snellen.cli.options import Device, TrainingItems
from snellen.cli.output import console as new_console
from snellen.towers.commands.combo_training import train_classifier, train_llava, write_conversations
from snellen.towers.commands.head_training import (
    STAGE_1,
    HeadOptions,
    full_name,
    head_plan,
    print_card,
    print_memory,
    train_stage,
)

if TYPE_CHECKING:
    import pandas as pd

    from snellen.exam.examination import Examination
    from snellen.towers.sweep import Sweep, Tiers

app = typer.Typer(help="Compare vision encoders as towers of a small language model.", no_args_is_help=True)

TowerName = Annotated[str, typer.Option("--tower", help="Tower, as in `snellen tower list`, or hf/PATH_OR_ID.")]
Out = Annotated[Path, typer.Option(help="Folder of the head. Repeating the command resumes there.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only print how much memory the training takes.")]
Json = Annotated[list[Path], typer.Option("--data", help="JSON file in LLaVA's layout; may be repeated.")]
Images = Annotated[Path, typer.Option(help="Folder that image paths are relative to.")]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Skip conversations without their image.")]


@app.command("list")
def list_(
    training: Annotated[bool, typer.Option("--training", help="Print how they were trained (Table 6).")] = False,
) -> None:
    """List the available towers."""
    from rich import box
    from rich.table import Table

    from snellen.towers.heads.towers import PAPER_COMPAT, TOWERS, find_tower

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if training:
        _print_training()
        return
    for head in ("tower", "weights", "supervision"):
        table.add_column(head, no_wrap=head != "supervision")
    for head in ("pixels", "tokens", "features"):
        table.add_column(head, justify="right")
    table.add_column("loaded")
    for name in [*TOWERS, *(f"{name}-compat" for name in PAPER_COMPAT)]:
        tower = find_tower(name)
        loaded = "yes" if tower.verified else "unverified"
        numbers = map(str, (tower.side, tower.tokens, tower.width))
        table.add_row(name, tower.model or "packaged", tower.attributes.get("supervision", ""), *numbers, loaded)
    new_console(120, fixed=True).print(table)
    print("tiny/NAME is a small tower of the same family with random weights; hf/PATH_OR_ID is any vision model.")
    print("Settings after '?': model (other weights), side (pixels), layer, seed (random weights).")


def _print_training() -> None:
    from snellen.towers.heads.table_6 import FACTS, SOURCE, TABLE_6

    print(f"{SOURCE}:")
    for name, facts in TABLE_6.items():
        print(f"\n{name}")
        print("\n".join(f"  {fact.replace('_', ' '):16} {facts[fact]}" for fact in FACTS))


@app.command("convert")
def convert_weights(
    tower: Annotated[str, typer.Argument(help="radio-h, radio-h-compat, internvit-300m or aimv2-h.")],
    checkpoint: Annotated[Path, typer.Argument(help="Published checkpoint: a file, or a folder with weights.")],
    out: Annotated[Path, typer.Option(help="Folder of the converted weights.")],
) -> None:
    """Convert published weights that transformers does not read."""
    from snellen.towers.heads.conversion import convert

    convert(tower, checkpoint, out)
    print(f"Weights: {out}\nNext: --tower '{tower}?model={out}'")


@app.command()
@with_options(HeadOptions, *STAGE_1)
def pretrain(
    json_files: Json,
    images: Images,
    tower: TowerName,
    out: Out,
    options: HeadOptions,
    skip_missing: SkipMissing = False,
) -> None:
    """Stage 1: train the connector on captions (LLaVA-558K)."""
    train_stage(head_plan("pretrain", tower, options), json_files, images, out, skip_missing)


@app.command()
@with_options(HeadOptions)
def tune(
    json_files: Json,
    images: Images,
    out: Out,
    options: HeadOptions,
    tower: Annotated[str, typer.Option(help="Tower, as for pretrain; none for a published LLaVA.")] = "",
    plan_only: PlanOnly = False,
    skip_missing: SkipMissing = False,
) -> None:
    """Stage 2: train connector and language model on instructions (mix665k).

    Without --tower, --base is a published LLaVA (as llava-hf/llava-1.5-7b-hf), which --scope lora trains further. The
    result is the subject chat:hf/OUT.
    """
    from snellen.core.errors import SnellenError
    from snellen.towers.heads.files import is_head

    if not tower:
        if options.base is None or is_head(options.base) or options.language_model != HeadOptions.language_model:
            raise SnellenError("give a --tower; only a published LLaVA as --base has a tower and a language model")
        if options.recompute or options.offload or plan_only:
            raise SnellenError("--recompute, --offload and --plan are for heads, which have a --tower")
        options = replace(options, language_model="")
    plan = head_plan("tune", tower, options)
    if plan_only:
        print_memory(plan)
        return
    train_stage(plan, json_files, images, out, skip_missing)


@app.command()
@with_options(HeadOptions)
def fit(
    ability: Annotated[str, typer.Argument(help="Task of the item set, e.g. counting.")],
    items: TrainingItems,
    tower: TowerName,
    out: Out,
    options: HeadOptions,
    plan_only: PlanOnly = False,
) -> None:
    """Stage 3: train connector and LoRA on one ability. The result is the subject head:OUT."""
    from snellen.compute import Progress
    from snellen.exam.items import find_items
    from snellen.towers.heads.stages import EPOCHS
    from snellen.towers.sweep import fit_ability, train_items

    item_set = find_items(items)
    plan = head_plan("fit", tower, replace(options, epochs=options.epochs or EPOCHS.get(ability)))
    if plan_only:
        print_memory(plan)
        return
    with Progress("training", unit="steps") as progress:
        progress.expect(plan.stage.steps(len(train_items(item_set, ability))))
        card = fit_ability(item_set, ability, plan, out, progress.advance)
    print_card(card, out)
    print(f"Ask it: snellen run {items} --subject head:{out}")


@app.command()
@with_options(HeadOptions, "base", "scope", *STAGE_1)
def sweep(
    towers: Annotated[str, typer.Option(help="Comma-separated names.")],
    abilities: Annotated[str, typer.Option(help="Comma-separated tasks of the item set.")],
    items: TrainingItems,
    out: Annotated[Path, typer.Option(help="Folder for heads, run and ranks. Repeating the command resumes there.")],
    options: HeadOptions,
    workers: Annotated[int, typer.Option(min=1, help="Heads trained in parallel.")] = 1,
    plan_only: Annotated[bool, typer.Option("--plan", help="Only estimate the cost.")] = False,
    probes: Annotated[bool, typer.Option("--probes", help="Also run attentive probes, and compare both.")] = False,
    table_3: Annotated[bool, typer.Option("--table-3", help="Run every setting of the paper's Table 3.")] = False,
) -> None:
    """Train one head per tower and ability, evaluate all of them, and rank the towers."""
    from snellen.compute import Progress
    from snellen.exam.items import find_items
    from snellen.towers.heads.costs import measured_speed
    from snellen.towers.sweep import (
        ask_heads,
        ask_probes,
        settings_jobs,
        settings_table,
        sweep_cost,
        sweep_jobs,
        train_all,
    )

    item_set, names = find_items(items), [full_name(name, options.compat) for name in _split(towers)]
    plan = head_plan("fit", "", replace(options, base=None))
    by_setting = {}
    if table_3:
        by_setting = settings_jobs(item_set, names, _split(abilities), plan, out, options.base)
        jobs = list({job.out: job for part in by_setting.values() for job in part}.values())
    else:
        jobs = sweep_jobs(item_set, names, _split(abilities), plan, out, options.base)
    cost, speed = sweep_cost(item_set, jobs), measured_speed(options.device)
    hours = cost.flops / speed / 3600
    print(
        f"{len(jobs)} heads: {cost.flops / 1e12:.3g} TFLOP of training to do, at least {hours:.3g} hours "
        f"at the {speed / 1e9:.3g} GFLOP/s of a matrix product on this machine; {cost.disk / 1e9:.3g} GB of disk"
    )
    if plan_only:
        return
    if table_3:
        _print_settings(settings_table(item_set, by_setting, out, workers), out)
        return
    with Progress("training", unit="heads") as progress:
        outcomes = train_all(jobs, workers, progress)
    result = ask_heads(item_set, outcomes, out)
    _print_sweep(result, out)
    if probes:
        _print_tiers(ask_probes(item_set, result, out), out)


@app.command()
def compare(
    sweeps: Annotated[list[Path], typer.Argument(help="Two folders of `snellen tower sweep` on the same items.")],
    out: Annotated[Path | None, typer.Option(help="Folder for compare.csv and hours.csv.")] = None,
) -> None:
    """Compare two sweeps of the same towers: agreement of the rankings of two language models, and their costs."""
    from snellen.core.errors import SnellenError
    from snellen.core.storage.files import write_csv
    from snellen.towers.sweep import compare_sweeps

    if len(sweeps) != 2:
        raise SnellenError(f"give two sweeps to compare, not {len(sweeps)}")
    table, hours = compare_sweeps(*sweeps)
    _print_comparison(table, (str(table["evaluator"].iloc[0]), str(table["other_evaluator"].iloc[0])))
    console = new_console(140, fixed=True)
    console.print("Hours of one device, by stage:")
    console.print(hours.round(6).to_string(index=False))
    totals = [hours.loc[hours["sweep"] == str(root), "device_hours"].sum() for root in sweeps]
    print(f"The second took {totals[1] / totals[0]:.3g} times as long as the first.")
    if out is not None:
        write_csv(out / "compare.csv", table)
        write_csv(out / "hours.csv", hours)
        print(out / "compare.csv")


@app.command()
def probe(
    head: Annotated[Path, typer.Argument(help="Folder of a head fitted to one ability.")],
    items: Annotated[str, typer.Option(help="Item set that it was trained on, or a suite.")],
    out: Annotated[Path | None, typer.Option(help="Also write the table to this CSV file.")] = None,
    device: Device = "cpu",
) -> None:
    """Fit linear probes before and after a head's connector, to locate the loss between tower and language model."""
    from snellen.core.storage.files import write_csv
    from snellen.exam.items import find_items
    from snellen.towers.sweep import probe_connector

    table = probe_connector(find_items(items), head, device)
    console = new_console(120, fixed=True)
    console.print("Linear probe on max-pooled features: share of correct test items (95 % intervals)")
    console.print(table.round(3).to_string(index=False))
    if out is not None:
        write_csv(out, table)
        print(out)


def _split(written: str) -> list[str]:
    return [name.strip() for name in written.split(",") if name.strip()]


def _print_sweep(result: "Sweep", out: Path) -> None:
    for outcome in result.outcomes:
        if outcome.status != "done":
            print(f"{outcome.tower} {outcome.ability}: {outcome.status}: {outcome.reason}")
    _print_ranks(result.examination, result.ranks)
    print(out / "ranks.csv")


def _print_settings(table: "pd.DataFrame", out: Path) -> None:
    console, marks = new_console(140, fixed=True), table["status"].where(table["status"] != "done", "")
    console.print("Settings of Table 3 (95 % intervals; printed: the paper's numbers on its own items):")
    columns = ["setting", "tower", "ability", "metric", "value", "low", "high", "n", "printed"]
    console.print(table[columns].assign(mark=marks).round(3).to_string(index=False))
    print(out / "settings.csv")


def _print_ranks(examination: "Examination", ranks: "pd.DataFrame") -> None:
    from snellen.reports import print_table

    scores = examination.all_results()
    console = new_console(120, fixed=True)
    console.print(print_table(scores[scores["value"].notna()]))
    console.print("Ranks (95 % intervals; 1 is best; '' is the average):")
    console.print(ranks.drop(columns="subject").to_string(index=False))


def _print_tiers(tiers: "Tiers", out: Path) -> None:
    print("Attentive probes on the same towers:")
    _print_ranks(tiers.examination, tiers.ranks)
    _print_comparison(tiers.comparison, ("probes", "heads"))
    table = tiers.comparison
    towers = table.loc[table["measure"] == "gap", "encoder"].replace("", None).nunique()
    print(
        f"Scale: {table['scale'].iloc[0]} ({towers} towers, {table['language_model'].iloc[0]}, at least "
        f"{table['training_items'].min()} training items per ability)"
    )
    print(out / "tiers.csv")


def _print_comparison(table: "pd.DataFrame", names: tuple[str, str]) -> None:
    """Print the agreement of rankings and the gap, from the rows of `evaluator_table`."""
    console, (first, second) = new_console(120, fixed=True), names
    orders = table.loc[table["measure"] == "tau", ["task", "value", "low", "high", "p", "encoders"]]
    if orders.empty:
        print("Fewer than three towers: the agreement of their rankings is not estimable.")
    else:
        console.print(
            f"Agreement of the rankings by {first} and {second} (Kendall's tau-b; p: share of random orders that agree "
            "at least as well)"
        )
        console.print(orders.rename(columns={"value": "tau"}).round(3).to_string(index=False))
    gaps = table[(table["measure"] == "gap") & (table["encoder"] == "")]
    columns = ["task", "metric", "score", "other_score", "value", "low", "high", "items"]
    console.print(f"Advantage of {first} over {second}, mean over towers (negative: worse):")
    renamed = gaps[columns].rename(columns={"score": first, "other_score": second, "value": "gap"})
    console.print(renamed.round(3).to_string(index=False))


for _command in (train_classifier, write_conversations, train_llava):
    app.command()(_command)
