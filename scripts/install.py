"""Install the packages of a list, every file by its hash, and torch, by uv; by pip where uv cannot be had.

    .venv/bin/python scripts/install.py requirements.txt [--torch]

uv takes a tenth of pip's time. torch comes by version, not by hash, since its build depends on the machine: on Linux
without a GPU of NVIDIA it is the build for processors, which spares gigabytes of CUDA, if PyTorch's own index can be
reached.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
LOCKED = ["--require-hashes", "--no-deps", "--requirement"]
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def uv(requirements: Path) -> Path | None:
    """The command uv of this environment, installed by the hashes of the list; None where that fails."""
    command = Path(sysconfig.get_path("scripts"), "uv")
    pin = re.search(r"^uv==(?:.*\\\n)*.*\n", requirements.read_text("utf-8"), re.MULTILINE)
    if not command.is_file() and pin is not None:
        own = Path(sys.prefix, "uv.txt")
        own.write_text(pin[0], "utf-8")
        subprocess.run([*PIP, *LOCKED, str(own)], check=False)
    return command if command.is_file() else None


def pip(*words: str) -> None:
    """Install by pip; its own message explains a failure."""
    if code := subprocess.run([*PIP, *words], check=False).returncode:
        sys.exit(code)


def install(requirements: Path) -> None:
    """Install a list, with lines about large files and the time."""
    begin, command = time.monotonic(), uv(requirements)
    if command is not None:
        words = [command, "pip", "install", "--python", sys.executable, *LOCKED, requirements]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
            for line in process.stderr or ():
                if not line.startswith((" + ", " - ", " ~ ", "Using Python")):
                    print(f"  {line.strip()}", flush=True)
        if process.returncode == 0:
            print(f"  {requirements.name}: {time.monotonic() - begin:.0f} s")
            return
    print("  uv cannot be used here: pip takes its place, which takes some minutes", flush=True)
    pip(*LOCKED, str(requirements))


def install_torch() -> None:
    """Install torch by the version of constraints.txt; an index that cannot be reached is passed over."""
    print("  torch", flush=True)
    words = ["--constraint", str(ROOT / "constraints.txt"), "torch"]
    if sys.platform == "linux" and shutil.which("nvidia-smi") is None:
        from_pytorch = [*PIP, *words, "--no-deps", "--index-url", CPU_BUILDS, "--retries", "0"]
        if subprocess.run(from_pytorch, stderr=subprocess.DEVNULL, check=False).returncode:
            print("  PyTorch's index of builds for processors cannot be reached: torch comes from the usual index")
    pip(*words)


if __name__ == "__main__":
    install(ROOT / sys.argv[1])
    if "--torch" in sys.argv:
        install_torch()
