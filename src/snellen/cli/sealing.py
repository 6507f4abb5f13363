"""`snellen seal` and `snellen reveal`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.cli.options import read_settings
from snellen.cli.output import print_fields
from snellen.core.errors import SnellenError
from snellen.core.storage.seal import Seal, read_seal, write_secret
from snellen.core.suite import BuildOptions
from snellen.exam.items import find_recipe
from snellen.exam.sealing import RECIPE, make_seal
from snellen.exam.sealing import reveal as publish
from snellen.remote import is_url
from snellen.suites import SUITES


def seal(suite_and_task: str, out: Path, settings: list[str], *, as_json: bool, **given: Any) -> None:
    """Write a seal and print its commitment. `given` are fields of `BuildOptions`."""
    name, _, task = suite_and_task.partition("/")
    suite = SUITES.get(name)
    known = getattr(find_recipe(suite, RECIPE), "settings", {})
    options = BuildOptions(
        Path(), tasks=(task,) if task else (), settings=read_settings(settings, known, name), **given
    )
    secret = make_seal(suite, options)
    write_secret(out, secret)
    print_fields({"seal": str(out), "commitment": secret.commitment, "suite": name, "version": secret.version}, as_json)
    if not as_json:
        print(f"Publish the commitment now, and keep {out} secret until the last subject was examined.")
        print(f"Next: snellen build {name} --sealed {out} --out FOLDER")


def reveal(seal_file: Path, address: str) -> None:
    """Publish a seal beside a run or an item set."""
    if is_url(address):
        raise SnellenError(f"{address}: reveal beside a folder on this machine, and upload {Seal.file} from there")
    secret = read_seal(seal_file)
    print(f"{publish(secret, Path(address))}: seed {secret.seed}, salt {secret.salt}, commitment {secret.commitment}")
