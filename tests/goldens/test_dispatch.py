"""The goldens hold for every choice of machine code: other vector instructions, other kernels, another libm."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from snellen.compute.dispatch import dispatch

NO_X86_V4 = "X86_V4 AVX512_ICL AVX512_SPR"
LIBM = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"}
KERNELS = {name: name for name in ("Nehalem", "Sandybridge", "Haswell", "SkylakeX")} | {"Prescott": "Katmai"}
"""OpenBLAS core types, and the names of their kernels."""
SETTINGS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "numpy without AVX-512": ({"NPY_DISABLE_CPU_FEATURES": NO_X86_V4}, "numpy X86_V3"),
    "numpy without AVX2": ({"NPY_DISABLE_CPU_FEATURES": f"{NO_X86_V4} X86_V3"}, "numpy X86_V2"),
    **{
        f"OpenBLAS as on {kernel}": ({"OPENBLAS_CORETYPE": kernel}, f"openblas {stated}")
        for kernel, stated in KERNELS.items()
    },
    "libm without FMA": (LIBM, ""),
    "torch without vectors": ({"ATEN_CPU_CAPABILITY": "default"}, ""),
    "an old processor": (
        {"NPY_DISABLE_CPU_FEATURES": f"{NO_X86_V4} X86_V3", "OPENBLAS_CORETYPE": "Nehalem", **LIBM},
        "numpy X86_V2, openblas Nehalem",
    ),
}
"""Environment variables that select kernels, and what the libraries must then report."""
NEEDS = {"Haswell": "X86_V3", "SkylakeX": "X86_V4"}
"""Kernels that older processors cannot run, with numpy's name for what they need."""


def compare(name: str, folder: Path, *words: str) -> None:
    """Make the goldens in a process with this setting, and compare them with the stored ones."""
    environment, stated = SETTINGS[name]
    levels = ("X86_V2", "X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR")
    own_level = dispatch().split(",")[0].removeprefix("numpy ")
    needed = NEEDS.get(environment.get("OPENBLAS_CORETYPE", ""), "X86_V2")
    if platform.machine() != "x86_64" or levels.index(needed) > levels.index(own_level):
        pytest.skip(f"{name}: this processor ({platform.machine()}, {own_level}) cannot do so")
    finished = subprocess.run(
        [sys.executable, "-m", "tests.goldens.house", *words],
        env={**os.environ, "SNELLEN_HOME": str(folder), **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    print(name, environment, finished.stdout, sep="\n")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert stated in finished.stdout.splitlines()[0]


@pytest.mark.slow
def test_hashes_hold_on_an_old_processor(tmp_path: Path) -> None:
    compare("an old processor", tmp_path, "--hashes")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_goldens_hold_for_all_kernels(name: str, tmp_path: Path) -> None:
    compare(name, tmp_path)
