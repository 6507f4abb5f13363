"""`snellen doctor`: what works on this machine, and the commands that install what is missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

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

WIDTH, LABEL = 80, 12
GB = 10**9
IMPORT_CORE = "import numpy, pandas, pyarrow.parquet, pydantic, PIL.Image"
"""Libraries with compiled code that every command needs to read items."""
LIST_GPUS = (
    "import json, torch; c = torch.cuda; print(json.dumps([c.get_device_name(n) for n in range(c.device_count())]))"
)
RENDER = "from snellen.cli.doctor import render_one_image; render_one_image()"
TRIAL_SECONDS, RENDER_SECONDS = 60, 180
"""Time limits of a child process; several versions of libLLVM may be tried in turn, each compiling first."""


@dataclass(frozen=True)
class Finding:
    """One line: `ok`, `--` (missing, needed only by some commands) or `NO`; `command` installs what is missing."""

    mark: str
    label: str
    text: str
    command: str = ""

    def __str__(self) -> str:
        margin = " " * (LABEL + 4)
        text = textwrap.fill(
            self.text, WIDTH, initial_indent=f"{self.mark:<4}{self.label:<{LABEL}}", subsequent_indent=margin,
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
        text = text.replace("\N{NO-BREAK SPACE}", " ")
        return f"{text}\n{margin}{self.command}" if self.command else text


@dataclass(frozen=True)
class ChildProcess:
    """The outcome of a child process: success, and its last line of output or the reason of its failure."""

    works: bool
    text: str


def doctor(trials: bool, as_json: bool) -> None:
    """Print the findings; exit code 1 if the core does not work. `trials` imports and renders in child processes."""
    lines = list(findings(trials))
    works = all(finding.mark != "NO" for finding in lines)
    if as_json:
        print_json({"works": works, "findings": [asdict(finding) for finding in lines]})
    else:
        print(f"snellen {version('snellen')}, Python {platform.python_version()}, {platform.system()}\n")
        print(*lines, sep="\n")
        print("\nThe core works." if works else "\nThe core does not work: see NO above.")
    if not works:
        raise typer.Exit(1)


def findings(trials: bool) -> Iterator[Finding]:
    """Findings on the core and the home folder, then extras, then what they need."""
    libraries = wanted_libraries()
    problems = library_problems(core := libraries.pop(""))
    if trials and not problems and not (imports := try_child(IMPORT_CORE, TRIAL_SECONDS)).works:
        problems = [f"the libraries do not load: {imports.text}"]
    yield Finding("NO" if problems else "ok", "core", "; ".join(problems) or _versions(core))
    yield _home()
    for extra, part in libraries.items():
        problems = library_problems(part)
        command = install_command(extra) if problems else ""
        yield Finding("--" if problems else "ok", extra, "; ".join(problems) or _versions(part), command)
    can_render = trials and not library_problems(libraries.get("render", ()))
    not_tried = ChildProcess(False, "not tried; --renderer toy needs nothing")
    yield _tried("renderer", try_child(RENDER, RENDER_SECONDS) if can_render else not_tried)
    yield _tried("GPU", gpus() if trials else ChildProcess(False, "not tried"))
    browser, parts = find_chromium(), present_parts()
    yield Finding("ok" if browser else "--", "browser", browser or "no Chromium (Debian: chromium)")
    yield (
        Finding("ok", "web parts", str(parts))
        if parts
        else Finding("--", "web parts", "not fetched yet", "python -m snellen.web.lock")
    )
    names = key_names(os.environ)
    keys = f"{', '.join(names)} (not tried)" if names else "no variable *_API_KEY or HF_TOKEN is set"
    yield Finding("ok" if names else "--", "keys", keys)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GB
    yield Finding("ok", "machine", f"{platform.machine()}, {cores} cores, {memory:.1f} GB of memory; {dispatch()}")


def _tried(label: str, trial: ChildProcess) -> Finding:
    return Finding("ok" if trial.works else "--", label, trial.text)


def _versions(libraries: Sequence[Requirement]) -> str:
    return ", ".join(f"{library.name}\N{NO-BREAK SPACE}{_installed(library.name)}" for library in libraries)


def wanted_libraries() -> dict[str, list[Requirement]]:
    """Requirements of the installed package by extra; `""` is the core. `all`, which names the others, is left out."""
    try:
        package = distribution("snellen")
    except PackageNotFoundError:
        raise SnellenError(
            "snellen is imported from a folder and is not installed, so its requirements are unknown; "
            "in its checkout: pip install -e ."
        ) from None
    wanted = [Requirement(line) for line in package.requires or ()]
    extras = sorted(set(package.metadata.get_all("Provides-Extra") or ()) - {"all"})
    core = [library for library in wanted if _is_for(library, "")]
    return {"": core} | {
        extra: [library for library in wanted if _is_for(library, extra) and library not in core] for extra in extras
    }


def _is_for(library: Requirement, extra: str) -> bool:
    return library.marker is None or library.marker.evaluate({"extra": extra})


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def library_problems(libraries: Sequence[Requirement]) -> list[str]:
    """A line on missing libraries, and one per library of another version than wanted."""
    versions = {library.name: _installed(library.name) for library in libraries}
    missing = [name for name, installed in versions.items() if installed is None]
    others = [
        f"{library.name} is {installed}, wanted {library.specifier}"
        for library in libraries
        if (installed := versions[library.name]) and not library.specifier.contains(installed, prereleases=True)
    ]
    return [*([f"missing: {', '.join(missing)}"] if missing else []), *others]


def key_names(environment: Mapping[str, str]) -> list[str]:
    """Names of environment variables that hold keys of services; their values are not used."""
    ends = ("_API_KEY", "_ACCESS_KEY")
    return sorted(name for name, key in environment.items() if key and (name.endswith(ends) or name == "HF_TOKEN"))


def _home() -> Finding:
    """A finding on the home folder, or on its nearest existing parent, tested by an unnamed file."""
    folder = home()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        problem = f"{folder}: cannot be written to ({error.strerror}); set SNELLEN_HOME to a folder that can"
        return Finding("NO", "home", problem)
    free = shutil.disk_usage(nearest).free / GB
    return Finding("ok", "home", f"{folder}: {free:.1f} GB free, can be written to")


def gpus() -> ChildProcess:
    """GPUs that torch sees, listed by a child process; a torch built only for CPUs is not imported."""
    torch = _installed("torch")
    if torch is None or torch.endswith("+cpu"):
        return ChildProcess(False, f"torch {torch} is built only for CPUs" if torch else "torch is not installed")
    trial = try_child(LIST_GPUS, TRIAL_SECONDS)
    names: list[str] = json.loads(trial.text) if trial.works else []
    if trial.works and not names:
        return ChildProcess(False, f"torch {torch} sees none")
    return ChildProcess(trial.works, f"torch {torch}: {', '.join(names)}" if names else trial.text)


def try_child(code: str, seconds: float) -> ChildProcess:
    """Run Python code in a separate process group, since it may abort, hang or start other processes."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
    ) as child:  # fmt: skip
        try:
            printed, messages = child.communicate(timeout=seconds)
        except BaseException as stop:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            if isinstance(stop, subprocess.TimeoutExpired):
                return ChildProcess(False, f"no answer in {seconds:g} seconds")
            raise
    if child.returncode < 0:
        return ChildProcess(False, f"the process was ended by {signal.Signals(-child.returncode).name}")
    last = next((line for line in reversed((messages if child.returncode else printed).splitlines()) if line), "")
    return ChildProcess(child.returncode == 0, short_reason(last) or f"ended with exit code {child.returncode}")


def render_one_image() -> None:
    """Render a red cube like item sets, and print the variant. Run it in a child process, since libLLVM may abort."""
    import numpy as np
    from PIL import Image

    from snellen.stimuli.render import RenderSettings, render_images
    from snellen.stimuli.render.engine import find_engine
    from snellen.stimuli.scenes import Camera, Material, Pose, RenderSpec, Scene, Solid

    cube = Solid("cube", "cube", Material("rubber", "red"), Pose((0.0, 0.0, 0.5)))
    camera = Camera((3.0, -3.0, 2.0), (0.0, 0.0, 0.5), width_px=64, height_px=48)
    settings = RenderSettings(quality="fast")
    with tempfile.TemporaryDirectory() as folder:
        (path,) = render_images([RenderSpec(Scene((cube,)), camera)], settings, folder)
        red, green, _ = np.asarray(Image.open(path), np.float64)[24, 32]
    if not red > 2 * green:
        raise SnellenError(f"the red cube was rendered with red {red:.0f} and green {green:.0f}; reinstall mitsuba")
    engine = find_engine(settings)
    slow = ", 3 to 4 times slower than with libLLVM 17 or newer (DRJIT_LIBLLVM_PATH)"
    libllvm = f" with {Path(engine.libllvm).name}" if engine.libllvm else slow
    sys.stdout.write(f"mitsuba {dict(engine.versions)['mitsuba']}, variant {engine.variant}{libllvm}\n")
