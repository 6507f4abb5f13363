"""`snellen doctor`: what works on this machine, and the commands that install what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version

import typer
from packaging.requirements import Requirement

from snellen.cli.output import print_json
from snellen.compute.dispatch import dispatch
from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.plain_text import short_reason
from snellen.core.storage.home import home
from snellen.web.chromium import find_chromium
from snellen.web.lock import present_parts

SECONDS = 180
GPUS = "import sys, torch.cuda as c; print([*map(c.get_device_name, range(c.device_count()))] or sys.exit('none seen'))"
RENDER = """
import mitsuba
from snellen.stimuli.render import RenderSettings, renderer_info
info = renderer_info(RenderSettings())  # tries libLLVM
print(f"mitsuba {mitsuba.__version__}, variant {info['variant']}, LLVM {info['llvm']}")"""


def doctor(trials: bool, as_json: bool) -> None:
    """Print the findings; exit code 1 if the core does not work. `trials` imports and renders in child processes."""
    lines = [dict(zip(("mark", "label", "text", "command"), line, strict=False)) for line in findings(trials)]
    works = all(line["mark"] != "NO" for line in lines)
    if as_json:
        print_json({"works": works, "findings": lines})
    else:
        print(f"snellen {version('snellen')}, Python {platform.python_version()}, {sys.platform}, {dispatch()}\n")
        for line in lines:
            print(f"{line['mark']:<4}{line['label']:<12}{line['text']}\n{'':<16}{line.get('command', '')}".rstrip())
        print("\nThe core works." if works else "\nThe core does not work: see NO above.")
    if not works:
        raise typer.Exit(1)


def findings(trials: bool) -> Iterator[tuple[str, ...]]:
    """Mark (`ok`, `--` for missing but needed only by some commands, `NO`), label, text, and the command that helps."""
    fits, text = libraries("")
    works, reason = tried("import numpy, pandas, pyarrow.parquet, PIL.Image") if fits and trials else (fits, text)
    yield "ok" if works else "NO", "core", text if works else reason
    nearest = next(path for path in (home(), *home().parents) if path.exists())
    works = nearest.is_dir() and os.access(nearest, os.W_OK)
    text = f"{shutil.disk_usage(nearest).free / 1e9:.1f} GB free" if works else "cannot be written to; set SNELLEN_HOME"
    yield "ok" if works else "NO", "home", f"{home()}: {text}"
    for extra in sorted({*metadata("snellen").get_all("Provides-Extra", [])} - {"all"}):
        works, text = libraries(extra)
        yield ("ok", extra, text) if works else ("--", extra, text, install_command(extra))
    for label, extra, code in (("renderer", "render", RENDER), ("GPU", "models", GPUS)):
        works, text = tried(code) if trials and libraries(extra)[0] else (False, "not tried")
        yield "ok" if works else "--", label, text
    yield ("ok", "browser", path) if (path := find_chromium()) else ("--", "browser", "no Chromium (Debian: chromium)")
    fetch = ("--", "web parts", "not fetched yet", "python -m snellen.web.lock")
    yield ("ok", "web parts", str(parts)) if (parts := present_parts()) else fetch
    names = sorted(n for n, key in os.environ.items() if key and n.endswith(("_API_KEY", "_ACCESS_KEY", "HF_TOKEN")))
    yield "ok" if names else "--", "keys", f"{', '.join(names)} (not tried)" if names else "no *_API_KEY or HF_TOKEN"


def libraries(extra: str) -> tuple[bool, str]:
    """Whether the packages that an extra adds ("": the core's) are installed in the right versions, and a list."""
    try:
        wanted = [Requirement(line) for line in requires("snellen") or ()]
    except PackageNotFoundError:
        raise SnellenError("snellen is not installed but imported from a folder; there: pip install -e .") from None
    fits, texts = True, []
    for library in wanted:
        added, in_core = (library.marker is None or library.marker.evaluate({"extra": name}) for name in (extra, ""))
        if added and in_core == (not extra):
            try:
                installed = version(library.name)
                fit = library.specifier.contains(installed, prereleases=True)
            except PackageNotFoundError:
                installed, fit = "is missing", False
            fits = fits and fit
            texts.append(f"{library.name} {installed}{'' if fit else f', wanted {library.specifier}'}")
    return fits, ", ".join(texts)


def tried(code: str) -> tuple[bool, str]:
    """Whether Python code works in a child process, since it may abort or hang, and its last line of output."""
    command = [sys.executable, "-P", "-c", code]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer in {SECONDS} seconds"
    lines = (done.stderr if done.returncode else done.stdout).decode("utf-8", "replace").split("\n")
    last = next(filter(None, reversed(lines)), f"ended with exit code {done.returncode}")
    return done.returncode == 0, short_reason(last)
