"""What there is on this machine: libraries, a renderer that draws, a GPU, disk, names of keys, a browser, memory."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement

from snellen.compute.dispatch import dispatch
from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.home import home
from snellen.core.plain_text import short_reason
from snellen.web.chromium import find_chromium
from snellen.web.lock import present_parts

IMPORT_CORE = "import numpy, pandas, pyarrow.parquet, pydantic, PIL.Image"
"""The libraries with compiled code that every command reads items by."""
LIST_GPUS = """
import json, torch
print(json.dumps([torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]))
"""
RENDER = "from snellen.cli.machine import render_one_picture; render_one_picture()"
TRIAL_SECONDS = 60
RENDER_SECONDS = 180
"""Several libLLVM may be tried one after another, each compiling first."""


@dataclass(frozen=True)
class Library:
    """A package that Snellen wants: which versions (`>=2.2`), and which is installed, None where none is."""

    name: str
    specifier: str
    version: str | None

    @property
    def fits(self) -> bool:
        """Whether a version that is wanted is installed."""
        versions = Requirement(f"{self.name}{self.specifier}").specifier
        return self.version is not None and versions.contains(self.version, prereleases=True)


@dataclass(frozen=True)
class Trial:
    """What a child process did: whether it ended well, and what it said, or why it did not."""

    works: bool
    text: str


@dataclass(frozen=True)
class Extra:
    """Packages that some commands need: whether all are there, in versions that fit, and what brings them."""

    installed: bool
    install: str
    libraries: Sequence[Library]


@dataclass(frozen=True)
class Home:
    """The folder for renders and features: bytes free there, and why nothing can be written ("" where it can)."""

    path: str
    free_bytes: int
    problem: str


@dataclass(frozen=True)
class Machine:
    """All of it. `renderer` and `gpu` are None where nobody tried; `core_problems` is empty where the core works."""

    snellen: str
    python: str
    system: str
    core: Sequence[Library]
    core_problems: Sequence[str]
    extras: Mapping[str, Extra]
    home: Home
    keys: Sequence[str]
    browser: str | None
    web_parts: str | None
    cores: int
    memory_bytes: int
    dispatch: str
    renderer: Trial | None = None
    gpu: Trial | None = None

    @property
    def works(self) -> bool:
        """Whether sets, runs and reports can be read and written; extras do not count."""
        return not self.core_problems


def examine_machine(*, trials: bool = True) -> Machine:
    """Gather it. `trials` start children that import the core, torch if it may see a GPU, and draw a picture."""
    libraries = wanted_libraries()
    core = libraries.pop("")
    extras = {
        name: Extra(all(library.fits for library in part), install_command(name), part)
        for name, part in libraries.items()
    }
    place = home_folder()
    problems = [*library_problems(core), *([f"{place.path}: {place.problem}"] if place.problem else [])]
    if trials and not problems and not (imports := try_child(IMPORT_CORE, TRIAL_SECONDS)).works:
        problems.append(f"libraries do not load: {imports.text}")
    parts = present_parts()
    return Machine(
        snellen=version("snellen"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        core=core,
        core_problems=problems,
        extras=extras,
        home=place,
        keys=key_names(os.environ),
        browser=find_chromium(),
        web_parts=str(parts) if parts else None,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        dispatch=dispatch(),
        renderer=try_child(RENDER, RENDER_SECONDS) if trials and extras["render"].installed else None,
        gpu=gpus() if trials else None,
    )


def wanted_libraries() -> dict[str, list[Library]]:
    """What the installed package wants, by extra; `""` is the core. `all`, which names the others, is left out."""
    try:
        package = distribution("snellen")
    except PackageNotFoundError:
        raise SnellenError(
            "snellen is imported from a folder and was never installed, so nobody knows what it needs; "
            "in its checkout: pip install -e ."
        ) from None
    requirements = [Requirement(line) for line in package.requires or ()]
    names = [name for name in package.metadata.get_all("Provides-Extra") or () if name != "all"]
    return {"": _wanted_by("", requirements)} | {name: _wanted_by(name, requirements) for name in sorted(names)}


def _wanted_by(extra: str, requirements: Sequence[Requirement]) -> list[Library]:
    return [
        Library(requirement.name, str(requirement.specifier), _installed(requirement.name))
        for requirement in requirements
        if _is_for(requirement, extra) and (not extra or not _is_for(requirement, ""))
    ]


def _is_for(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def library_problems(libraries: Sequence[Library]) -> list[str]:
    """What is missing, and what is there in another version than wanted."""
    missing = [library.name for library in libraries if library.version is None]
    others = [library for library in libraries if library.version is not None and not library.fits]
    return [
        *([f"missing: {', '.join(missing)}"] if missing else []),
        *(f"{library.name} is {library.version}, wanted {library.specifier}" for library in others),
    ]


def key_names(environment: Mapping[str, str]) -> list[str]:
    """Names of variables that hold keys of services; their values go nowhere."""
    return sorted(
        name
        for name, value in environment.items()
        if (name.endswith(("_API_KEY", "_ACCESS_KEY")) or name == "HF_TOKEN") and value
    )


def home_folder() -> Home:
    """The home folder as it is, or the nearest folder above it that exists, tried by a file that leaves no name."""
    folder = home()
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    problem = ""
    try:
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        problem = f"cannot be written to ({error.strerror}); set SNELLEN_HOME to a folder that can"
    return Home(str(folder), shutil.disk_usage(nearest).free, problem)


def gpus() -> Trial:
    """GPUs that torch sees, listed by a child; a torch for processors alone is not imported."""
    torch = _installed("torch")
    if torch is None:
        return Trial(False, "torch is not installed (extra models)")
    if torch.endswith("+cpu"):
        return Trial(False, f"torch {torch} is built for processors alone")
    trial = try_child(LIST_GPUS, TRIAL_SECONDS)
    names: list[str] = json.loads(trial.text) if trial.works else []
    if trial.works and not names:
        return Trial(False, f"torch {torch} sees none")
    return Trial(trial.works, f"torch {torch}: {', '.join(names)}" if names else trial.text)


def try_child(code: str, seconds: float) -> Trial:
    """Run Python code in a process group of its own: it may abort, hang or start others, and cannot take us along."""
    command = [sys.executable, "-P", "-c", code]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            printed, messages = child.communicate(timeout=seconds)
        except BaseException as stop:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            if isinstance(stop, subprocess.TimeoutExpired):
                return Trial(False, f"no answer in {seconds:g} seconds")
            raise
    if child.returncode < 0:
        return Trial(False, f"the process was ended by {signal.Signals(-child.returncode).name}")
    last = next((line for line in reversed((messages if child.returncode else printed).splitlines()) if line), "")
    return Trial(child.returncode == 0, short_reason(last) or f"ended with exit code {child.returncode}")


def render_one_picture() -> None:
    """Draw a cube as item sets are drawn, and print by which variant. For a child: a libLLVM may abort the process."""
    import numpy as np
    from PIL import Image

    from snellen.stimuli.render import RenderSettings, render_pictures
    from snellen.stimuli.render.engine import find_engine
    from snellen.stimuli.scenes.model import Camera, Material, Pose, RenderSpec, Scene, Solid

    cube = Solid("cube", "cube", Material("rubber", "red"), Pose((0.0, 0.0, 0.5)))
    camera = Camera((3.0, -3.0, 2.0), (0.0, 0.0, 0.5), width_px=64, height_px=48)
    settings = RenderSettings(quality="fast")
    with tempfile.TemporaryDirectory() as folder:
        (path,) = render_pictures([RenderSpec(Scene((cube,)), camera)], settings, folder)
        red, green, _ = np.asarray(Image.open(path), np.float64)[24, 32]
    if not red > 2 * green:
        raise SnellenError(f"the red cube came out with red {red:.0f} and green {green:.0f}; reinstall mitsuba")
    engine = find_engine(settings)
    libllvm = (
        f" with {Path(engine.libllvm).name}"
        if engine.libllvm
        else ", 3 to 4 times slower than with libLLVM 17 or newer (DRJIT_LIBLLVM_PATH)"
    )
    sys.stdout.write(f"mitsuba {dict(engine.versions)['mitsuba']}, variant {engine.variant}{libllvm}\n")
