"""Known vulnerabilities of what `constraints.txt` pins, by pip-audit: `make audit`.

pip-audit is installed into an environment of its own, so that it brings nothing into ours. Where the advisory service
cannot be reached, that is said in one line and nothing is audited. Exit code 1: something was found.
"""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SERVICE = "https://api.osv.dev"
SECONDS = 5
PIP_AUDIT = "pip-audit>=2.9"


def is_reachable(address: str) -> bool:
    """Whether somebody answers there, be it with an error."""
    try:
        with urllib.request.urlopen(address, timeout=SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def main() -> None:
    """Install pip-audit and let it look."""
    if not is_reachable(f"{SERVICE}/v1/vulns/OSV-2020-111"):
        print(f"audit: {SERVICE} cannot be reached from here, so that nothing was audited; give `make audit` elsewhere")
        return
    folder = ROOT / ".snellen" / "audit"
    if not (folder / "bin" / "pip-audit").is_file():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "-qq", PIP_AUDIT], check=True)
    words = ["--requirement", ROOT / "constraints.txt", "--no-deps", "--disable-pip", "--vulnerability-service", "osv"]
    sys.exit(subprocess.run([folder / "bin" / "pip-audit", *words], check=False).returncode)


if __name__ == "__main__":
    main()
