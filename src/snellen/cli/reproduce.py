"""`snellen reproduce`: the tables of the papers, and what it takes to make one again. Runs nothing."""

from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.options import Json
from snellen.cli.output import print_json
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.extras import missing_packages

if TYPE_CHECKING:
    from snellen.core.reproduction import Reproduction


def reproduce(
    name: Annotated[str, typer.Argument(metavar="table", help="e.g. ava-bench/table-5. Default: list all.")] = "",
    as_json: Json = False,
) -> None:
    """Say what a table of a paper takes: what is missing, calls, training steps, and the commands. Runs nothing."""
    from snellen.suites import SUITES

    tables = {f"{suite}/{key}": table for suite in SUITES for key, table in SUITES.get(suite).reproductions().items()}
    if name and name not in tables:
        raise SnellenError(f"no table {name!r}; {near(name, tables)}")
    if as_json:
        chosen = {name: tables[name]} if name else tables
        print_json(
            {key: table.model_dump() | {"missing": missing_packages(table.packages)} for key, table in chosen.items()}
        )
    elif name:
        print("\n".join(_lines(tables[name])))
    else:
        width = max(map(len, tables))
        print("\n".join(f"{key:{width}}  {table.title}" for key, table in tables.items()))


def _lines(reproduction: "Reproduction") -> list[str]:
    lines = [reproduction.title, "", *(f"you need: {need}" for need in reproduction.needs)]
    if missing := missing_packages(reproduction.packages):
        lines.append(f"not installed here: {', '.join(missing)} (docs/installing.md)")
    lines += [f"{name}: {amount}" for name, amount in reproduction.amounts.items()]
    lines.append(f"hours: {reproduction.hours or 'not measured'}")
    lines += ["", *reproduction.commands]
    return [*lines, "", reproduction.limits] if reproduction.limits else lines
