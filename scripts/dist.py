"""Build the wheel and the sdist of each distribution into dist/, and try each file in an empty environment.

    make dist

The distributions are this folder and the folders of packages/. A file passes if it can be installed with nothing but
what it asks for, has the version of pyproject.toml, and its command works: `snellen run thresholds` on a callable, and
`snellen-sight` on a server that replies the same to everything.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
UV = Path(sysconfig.get_path("scripts"), "uv")
SUBJECT = "def make():\n    return lambda parts: 'A'\n"
EXAM = ["run", "thresholds/acuity", "--subject", "py:subject:make", "--out", "run", "--limit", "17"]
VERDICTS = {"snellen": (0,), "snellen-sight": (1, 4)}
"""Exit codes of a working command: an exam without a failure; a server that nothing, or only a fault, is told of."""


class Stub(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that gives one reply to everything."""

    def do_POST(self) -> None:
        """Reply to a completion."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "stub", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Print nothing."""


def projects() -> list[tuple[Path, str, str]]:
    """(folder, name, version) of each distribution with an entry in `VERDICTS`; all have one version."""
    folders = [ROOT, *sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))]
    cards = [tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in folders]
    return [
        (folder, card["name"], cards[0]["version"])
        for folder, card in zip(folders, cards, strict=True)
        if card["name"] in VERDICTS
    ]


def try_file(file: Path, name: str, version: str, address: str) -> None:
    """Install a file into an empty environment and run its command, in an empty folder."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, python = Path(scratch), Path(scratch, "env", "bin", "python")
        subprocess.run([str(UV), "venv", "-q", "--python", sys.executable, str(folder / "env")], check=True)
        install = [str(UV), "pip", "install", "-q", "--python", str(python), "--find-links", str(DIST), str(file)]
        subprocess.run(install, check=True)
        code = f"from importlib.metadata import version; print(version({name!r}))"
        installed = subprocess.check_output([str(python), "-c", code], text=True, cwd=folder).strip()
        assert installed == version, f"{file.name}: version {installed}, not {version}"
        (folder / "subject.py").write_text(SUBJECT)
        words = EXAM if name == "snellen" else [address, "stub", "--quick"]
        environment = {"PATH": os.defpath, "HOME": scratch, "SNELLEN_HOME": str(folder / "home")}
        command = [str(python.with_name(name)), *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in VERDICTS[name] or "Traceback" in done.stderr:
        sys.exit(f"{file.name}: {name} {' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{file.name}: installed alone, `{name} {' '.join(words)}` works")


def main() -> None:
    """Build and try everything; the exit code is not 0 at the first failure."""
    shutil.rmtree(DIST, ignore_errors=True)
    for folder, name, version in (found := projects()):
        subprocess.run([str(UV), "build", "-q", "--out-dir", str(DIST), str(folder)], check=True)
        print(f"built {name} {version}", flush=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _, name, version in found:
        for file in sorted(DIST.glob(f"{name.replace('-', '_')}-{version}*")):
            if file.suffix in (".whl", ".gz"):
                try_file(file, name, version, f"http://127.0.0.1:{server.server_port}/v1")
    if "snellen-sight" not in [name for _, name, _ in found]:
        print("packages/sight is not there: snellen-sight was not tried")


if __name__ == "__main__":
    main()
