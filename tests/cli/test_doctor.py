"""`snellen doctor`: a faked machine, children that abort or hang, keys that are never printed."""

from __future__ import annotations

import json
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from snellen.cli import doctor
from snellen.cli.doctor import libraries, tried
from tests.cli.conftest import Command

SECRET = "sk-proj-never-to-be-printed-0123456789"
REQUIREMENTS = [
    "numpy>=2.2", "pandas>=3.0", 'mitsuba==3.9.1; extra == "render"', 'torch==2.13.0; extra == "models"',
    'av>=18; extra == "all"', 'av>=18; extra == "video"', 'old-backport; python_version < "3" and extra == "video"',
]  # fmt: skip
INSTALLED = {"snellen": "0.1.0", "numpy": "2.4.6", "pandas": "3.1.0rc1", "mitsuba": "3.9.0", "torch": "2.13.0+cpu"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Faked installed packages, which a test may change; no children, a writable home folder."""
    versions, package = dict(INSTALLED), Message()
    for extra in ("render", "models", "all", "video"):
        package["Provides-Extra"] = extra

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "metadata", lambda name: package)
    monkeypatch.setattr(doctor, "requires", lambda name: REQUIREMENTS)
    monkeypatch.setattr(doctor, "install_command", lambda extra: f"pip install 'snellen[{extra}]'")
    monkeypatch.setattr(doctor, "tried", lambda code: (True, "as it should be"))
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "not" / "there" / "yet"))
    return versions


@pytest.mark.usefixtures("installed")
def test_extras_have_their_own_packages_and_no_others() -> None:
    """Versions are compared as pip does: builds of a version fit, and so do candidates."""
    assert {extra: libraries(extra) for extra in ("", "models", "render", "video")} == {
        "": (True, "numpy 2.4.6, pandas 3.1.0rc1"),
        "models": (True, "torch 2.13.0+cpu"),
        "render": (False, "mitsuba 3.9.0, wanted ==3.9.1"),
        "video": (False, "av is missing, wanted >=18"),
    }


@pytest.mark.usefixtures("installed")
def test_missing_and_unfit_extras_are_named_with_the_command_to_install_them(snellen: Command, tmp_path: Path) -> None:
    code, out, _ = snellen("doctor")
    assert code == 0
    assert "--  video       av is missing, wanted >=18\n                pip install 'snellen[video]'\n" in out
    assert "ok  models      torch 2.13.0+cpu\n" in out
    assert "--  renderer    not tried" in out
    assert "ok  GPU         as it should be" in out
    assert out.endswith("The core works.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "reason"), [(None, "numpy is missing"), ("1.26.4", "numpy 1.26.4, wanted >=2.2")])
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
    monkeypatch.setattr(doctor, "tried", lambda code: (False, "ImportError: libgomp.so.1"))
    code, out, _ = snellen("doctor")
    assert code == 1
    assert "NO  core        ImportError: libgomp.so.1" in out
    assert snellen("doctor", "--no-trials")[0] == 0


@pytest.mark.usefixtures("installed")
def test_a_home_that_cannot_be_written_to_is_a_fault_of_the_core(
    snellen: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file" / "home"))
    code, out, _ = snellen("doctor", "--no-trials")
    assert code == 1
    assert "file/home: cannot be written to; set SNELLEN_HOME" in out


@pytest.mark.usefixtures("installed")
def test_keys_are_named_and_never_printed(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "KEYBOARD"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("EMPTY_API_KEY", "")
    for words in (("doctor",), ("doctor", "--json")):
        _, out, messages = snellen(*words)
        assert "AWS_SECRET_ACCESS_KEY, HF_TOKEN, OPENAI_API_KEY (not tried)" in out
        assert "EMPTY_API_KEY" not in out
        assert SECRET not in out + messages


@pytest.mark.parametrize(
    ("code", "works", "text"),
    [
        ("print('first'); print('last')", True, "last"),
        ("import os; os.abort()", False, "ended with exit code -6"),
        ("raise ImportError('no libLLVM')", False, "ImportError: no libLLVM"),
        (f"raise ValueError('{SECRET}')", False, "ValueError: [redacted]"),
        ("import sys; sys.exit(7)", False, "ended with exit code 7"),
    ],
)
def test_a_child_reports_how_it_ended(code: str, works: bool, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert tried(code) == (works, text)


def test_a_child_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own child, which holds its pipe, is not waited for."""
    monkeypatch.setattr(doctor, "SECONDS", 1)
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(20)'])"
    assert tried(code) == (False, "no answer in 1 seconds")


def test_an_uninstalled_snellen_is_reported_with_the_command_to_install_it(
    snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", missing)
    code, _, messages = snellen("doctor")
    assert code == 2
    assert "pip install -e ." in messages


@pytest.mark.slow
def test_the_renderer_of_this_machine_works() -> None:
    works, text = tried(doctor.RENDER)
    assert works, text
    assert text.startswith("mitsuba 3.9.1, variant ")
