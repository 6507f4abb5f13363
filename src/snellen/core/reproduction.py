"""What it takes to make a table of a paper again: inputs, numbers of calls and steps, and the commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, TypeAdapter


class Reproduction(BaseModel):
    """An entry of a suite's `reproduce.yaml`. Commands are not run; `subject`, `DATA` and the like are placeholders.

    `needs` are inputs that the user must have, `packages` distributions to install, `amounts` numbers of items,
    calls and training steps with how they follow from the paper. `hours` is empty unless a page of docs/measurements
    has measured them. `limits` says what the result cannot be compared in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    needs: list[str] = []
    packages: list[str] = []
    amounts: dict[str, str]
    hours: str = ""
    commands: list[str]
    limits: str = ""


def read_reproductions(package: str) -> Mapping[str, Reproduction]:
    """The tables and figures of a suite's paper by name: `reproduce.yaml` in its package."""
    import yaml

    text = files(package).joinpath("reproduce.yaml").read_text("utf-8")
    return TypeAdapter(dict[str, Reproduction]).validate_python(yaml.safe_load(text))
