"""`snellen reproduce`: the tables of the papers, and what it takes to make one again. Runs nothing."""

from __future__ import annotations

from importlib.metadata import distributions

from snellen.cli.output import print_json
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.reproduction import Reproduction
from snellen.suites import SUITES


def reproduce(name: str, as_json: bool) -> None:
    """Print all tables, or one: what is missing, its amounts and the commands. Raises SnellenError for others."""
    tables = {f"{suite}/{key}": table for suite in SUITES for key, table in SUITES.get(suite).reproductions().items()}
    if name and name not in tables:
        raise SnellenError(f"no table {name!r}; {near(name, tables)}")
    if as_json:
        chosen = {name: tables[name]} if name else tables
        print_json({key: table.model_dump() | {"missing": _missing(table)} for key, table in chosen.items()})
    elif name:
        print("\n".join(_lines(tables[name])))
    else:
        width = max(map(len, tables))
        print("\n".join(f"{key:{width}}  {table.title}" for key, table in tables.items()))


def _missing(reproduction: Reproduction) -> list[str]:
    """The packages that are not installed here."""
    return [name for name in reproduction.packages if not any(distributions(name=name))]


def _lines(reproduction: Reproduction) -> list[str]:
    lines = [reproduction.title, "", *(f"you need: {need}" for need in reproduction.needs)]
    if missing := _missing(reproduction):
        lines.append(f"not installed here: {', '.join(missing)} (docs/installing.md)")
    lines += [f"{name}: {amount}" for name, amount in reproduction.amounts.items()]
    lines.append(f"hours: {reproduction.hours or 'not measured'}")
    lines += ["", *reproduction.commands]
    return [*lines, "", reproduction.limits] if reproduction.limits else lines
