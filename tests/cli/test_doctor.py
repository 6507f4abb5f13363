"""`snellen doctor`: a faked machine, children that abort or hang, keys that are never printed."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from snellen.cli import doctor
from snellen.cli.doctor import WIDTH, ChildProcess, findings, key_names, library_problems, try_child, wanted_libraries
from tests.cli.conftest import Command

SECRET = "sk-proj-never-to-be-printed-0123456789"
REQUIREMENTS = (
    "numpy>=2.2",
    "pandas>=3.0",
    'mitsuba==3.9.1; extra == "render"',
    'torch==2.13.0; extra == "models"',
    'av>=18; extra == "all"',
    'av>=18; extra == "video"',
    'old-backport; python_version < "3" and extra == "video"',
)
INSTALLED = {"snellen": "0.1.0", "numpy": "2.4.6", "pandas": "3.1.0rc1", "mitsuba": "3.9.0", "torch": "2.13.0+cpu"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Faked installed packages, which a test may change; no children, a writable home folder."""
    versions = dict(INSTALLED)
    metadata = Message()
    for extra in ("render", "models", "all", "video"):
        metadata["Provides-Extra"] = extra

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "distribution", lambda name: SimpleNamespace(requires=REQUIREMENTS, metadata=metadata))
    monkeypatch.setattr(doctor, "install_command", lambda extra: f"pip install 'snellen[{extra}]'")
    monkeypatch.setattr(doctor, "try_child", lambda code, seconds: ChildProcess(True, "as it should be"))
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "not" / "there" / "yet"))
    return versions


@pytest.mark.usefixtures("installed")
def test_extras_have_their_own_packages_and_no_others() -> None:
    names = {extra: [library.name for library in part] for extra, part in wanted_libraries().items()}
    assert names == {"": ["numpy", "pandas"], "models": ["torch"], "render": ["mitsuba"], "video": ["av"]}


@pytest.mark.parametrize(
    ("specifier", "version", "fits"),
    [
        ("==2.13.0", "2.13.0+cpu", True),  # a build of the same version
        (">=3.0", "3.1.0rc1", True),
        ("<6,>=5.0", "6.0.1", False),
        ("==3.9.1", "3.9.0", False),
        (">=1", None, False),
        ("", "0.0.1", True),
    ],
)
def test_versions_are_compared_as_pip_does(
    specifier: str, version: str | None, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: version)
    assert (library_problems([Requirement(f"some-package{specifier}")]) == []) is fits


@pytest.mark.usefixtures("installed")
def test_missing_and_unfit_extras_are_named_with_the_command_to_install_them(snellen: Command) -> None:
    code, out, _ = snellen("doctor")
    assert code == 0
    assert "--  video       missing: av\n                pip install 'snellen[video]'\n" in out
    assert "--  render      mitsuba is 3.9.0, wanted ==3.9.1\n                pip install 'snellen[render]'\n" in out
    assert "ok  models      torch 2.13.0+cpu\n" in out
    assert "--  renderer    not tried" in out
    assert out.endswith("The core works.\n")
    assert max(len(line) for line in out.splitlines() if "/" not in line) <= WIDTH  # paths are never broken


@pytest.mark.parametrize(("version", "reason"), [(None, "missing: numpy"), ("1.26.4", "numpy is 1.26.4, wanted")])
def test_a_missing_core_library_gives_exit_code_1(
    version: str | None, reason: str, installed: dict[str, str], snellen: Command
) -> None:
    del installed["numpy"]
    installed.update({"numpy": version} if version else {})
    code, out, _ = snellen("doctor")
    assert code == 1
    assert f"NO  core        {reason}" in out
    assert out.endswith("The core does not work: see NO above.\n")
    code, out, _ = snellen("doctor", "--json")
    assert code == 1
    assert json.loads(out)["works"] is False


@pytest.mark.usefixtures("installed")
def test_core_libraries_that_do_not_load_are_a_fault_of_the_core(
    snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "try_child", lambda code, seconds: ChildProcess(False, "ImportError: libgomp.so.1"))
    code, out, _ = snellen("doctor")
    assert code == 1
    assert "NO  core        the libraries do not load: ImportError: libgomp.so.1" in out
    assert snellen("doctor", "--no-trials")[0] == 0


@pytest.mark.usefixtures("installed")
def test_a_home_that_cannot_be_written_to_is_a_fault_of_the_core(
    snellen: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file" / "home"))
    code, out, _ = snellen("doctor", "--no-trials")
    assert code == 1
    assert "file/home: cannot be written to (Not a directory); set SNELLEN_HOME" in " ".join(out.split())


@pytest.mark.usefixtures("installed")
def test_doctor_leaves_no_files(tmp_path: Path) -> None:
    assert all(finding.mark != "NO" for finding in findings(trials=False))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("installed")
def test_keys_are_named_and_never_printed(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MY_SERVER_API_KEY", "HF_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("EMPTY_API_KEY", "")
    for words in (("doctor",), ("doctor", "--json")):
        _, out, messages = snellen(*words)
        assert "OPENAI_API_KEY" in out
        assert "MY_SERVER_API_KEY" in out
        assert "EMPTY_API_KEY" not in out
        assert SECRET not in out + messages


def test_only_names_of_keys_are_listed() -> None:
    environment = {"B_API_KEY": "x", "AWS_SECRET_ACCESS_KEY": "x", "HF_TOKEN": "x", "PATH": "x", "KEYBOARD": "x"}
    assert key_names(environment) == ["AWS_SECRET_ACCESS_KEY", "B_API_KEY", "HF_TOKEN"]


@pytest.mark.parametrize(
    ("code", "works", "text"),
    [
        ("print('first'); print('last')", True, "last"),
        ("import os; os.abort()", False, "the process was ended by SIGABRT"),
        ("raise ImportError('no libLLVM')", False, "ImportError: no libLLVM"),
        (f"raise ValueError('{SECRET}')", False, "ValueError: [redacted]"),
        ("import sys; sys.exit(7)", False, "ended with exit code 7"),
    ],
)
def test_a_child_reports_how_it_ended(code: str, works: bool, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert try_child(code, 60) == ChildProcess(works, text)


def test_a_child_that_hangs_is_ended_with_its_own_children(tmp_path: Path) -> None:
    """The grandchild has the child's pipe and lock; if it survives, it releases the lock only once the file exists."""
    lock, late = tmp_path / "lock", tmp_path / "late"
    grandchild = f"import time, pathlib; time.sleep(20); pathlib.Path({str(late)!r}).touch()"
    code = (
        f"import fcntl, subprocess, sys; file = open({str(lock)!r}, 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
        f"subprocess.Popen([sys.executable, '-c', {grandchild!r}], pass_fds=[file.fileno()])"
    )
    assert try_child(code, 2) == ChildProcess(False, "no answer in 2 seconds")
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert not late.exists()


def gpu_by(monkeypatch: pytest.MonkeyPatch, torch: str, trial: ChildProcess) -> tuple[ChildProcess, Sequence[str]]:
    """The lines about GPUs with this torch and this child, and the children that ran."""
    codes: list[str] = []

    def child(code: str, seconds: float) -> ChildProcess:
        codes.append(code)
        return trial

    monkeypatch.setattr(doctor, "_installed", lambda name: torch or None)
    monkeypatch.setattr(doctor, "try_child", child)
    return doctor.gpus(), codes


@pytest.mark.parametrize("torch", ["", "2.13.0+cpu"])
def test_torch_is_imported_only_if_a_gpu_is_possible(torch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, codes = gpu_by(monkeypatch, torch, ChildProcess(True, '["never asked"]'))
    assert not trial.works
    assert codes == []


@pytest.mark.parametrize(
    ("child", "trial"),
    [
        (
            ChildProcess(True, '["NVIDIA H100", "NVIDIA H100"]'),
            ChildProcess(True, "torch 2.13.0: NVIDIA H100, NVIDIA H100"),
        ),
        (ChildProcess(True, "[]"), ChildProcess(False, "torch 2.13.0 sees none")),
        (ChildProcess(False, "no answer in 60 seconds"), ChildProcess(False, "no answer in 60 seconds")),
    ],
)
def test_gpus_are_listed_by_torch(child: ChildProcess, trial: ChildProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu_by(monkeypatch, "2.13.0", child)[0] == trial


def test_an_uninstalled_snellen_is_reported_with_the_command_to_install_it(
    snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", missing)
    code, _, messages = snellen("doctor")
    assert code == 2
    assert "pip install -e ." in messages


@pytest.mark.slow
def test_the_renderer_of_this_machine_draws_a_red_cube() -> None:
    trial = try_child(doctor.RENDER, doctor.RENDER_SECONDS)
    assert trial.works, trial.text
    assert trial.text.startswith("mitsuba 3.9.1, variant ")
