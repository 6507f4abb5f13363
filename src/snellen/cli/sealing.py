"""`snellen seal` and `snellen reveal`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from snellen.cli.output import print_fields
from snellen.core.build_options import BuildOptions
from snellen.core.storage.seal import read_seal, write_secret
from snellen.exam.items import check_options, find_recipe
from snellen.exam.sealing import RECIPE, make_seal
from snellen.exam.sealing import reveal as publish
from snellen.suites import SUITES


def seal(suite_and_task: str, out: Path, options: BuildOptions, as_json: bool) -> None:
    """Write a seal and print its commitment."""
    name, _, task = suite_and_task.partition("/")
    suite = SUITES.get(name)
    check_options(find_recipe(suite, RECIPE), options, f"{name} --from {RECIPE}")
    secret = make_seal(suite, replace(options, tasks=(task,) if task else ()))
    write_secret(out, secret)
    print_fields({"seal": str(out), "commitment": secret.commitment, "suite": name, "version": secret.version}, as_json)
    if not as_json:
        print(f"Publish the commitment now, and keep {out} secret until the last subject was examined.")
        print(f"Next: snellen build {name} --sealed {out} --out FOLDER")


def reveal(seal_file: Path, address: str) -> None:
    """Publish a seal beside a run or an item set."""
    secret = read_seal(seal_file)
    print(f"{publish(secret, Path(address))}: seed {secret.seed}, salt {secret.salt}, commitment {secret.commitment}")
