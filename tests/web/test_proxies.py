"""Caddy and nginx in front of a study server, with the configurations of docs/serving.md as they stand there."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import httpx
import pytest

from tests.helpers.certificates import NAME, write_certificate
from tests.helpers.studies import CONSENT, rows_by_name, rows_of_form, write_study
from tests.helpers.study_load import server_process

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
PATIENCE = 60
HALF_OPEN = 1700
"""Connections that send the begin of a TLS hello alone."""


def configuration(title: str) -> str:
    """The configuration under a heading of the page."""
    match = re.search(rf"^## {title}\n.*?^```\w+\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match, title
    return match[1]


def replaced(text: str, changes: dict[str, str]) -> str:
    """The text with parts replaced, each of which must occur."""
    for part, other in changes.items():
        assert part in text, part
        text = text.replace(part, other)
    return text


@dataclass(frozen=True)
class Setup:
    """Files and ports of a proxy for one test."""

    folder: Path
    certificate: Path
    key: Path
    port: int
    upstream: int
    plain_port: int = 0


def caddy(setup: Setup) -> list[str]:
    """The command of Caddy; it is told where the certificate is, instead of getting one."""
    text = configuration("Caddy")
    assert text.startswith("{\n")
    own = f"{{\n    admin off\n    auto_https disable_redirects\n    http_port {free_port()}\n"
    site = f"{NAME}:{setup.port} {{\n    tls {setup.certificate} {setup.key}\n"
    text = own + replaced(text, {f"\n{NAME} {{\n": f"\n{site}", ":8000": f":{setup.upstream}"}).removeprefix("{\n")
    (path := setup.folder / "Caddyfile").write_text(text)
    return ["caddy", "run", "--config", str(path), "--adapter", "caddyfile"]


def nginx(setup: Setup) -> list[str]:
    """The command of nginx; its main file is that of no system."""
    text = replaced(
        configuration("nginx"),
        {
            f"/etc/letsencrypt/live/{NAME}/fullchain.pem": str(setup.certificate),
            f"/etc/letsencrypt/live/{NAME}/privkey.pem": str(setup.key),
            "/var/log/nginx/study.log": str(setup.folder / "study.log"),
            "listen 80;": f"listen 127.0.0.1:{setup.plain_port};",
            "listen 443 ssl;": f"listen 127.0.0.1:{setup.port} ssl;",
            ":8000": f":{setup.upstream}",
        },
    )
    (setup.folder / "study.conf").write_text(text)
    folders = "".join(
        f"{kind}_temp_path {setup.folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    files, connections = re.findall(r"`(worker_\w+ \d+;)`", PAGE.read_text("utf-8"))
    main = f"daemon off; master_process off; pid {setup.folder / 'pid'};\n{files} events {{ {connections} }}\n"
    (path := setup.folder / "nginx.conf").write_text(
        f"{main}http {{ {folders} include {setup.folder / 'study.conf'}; }}\n"
    )
    return ["nginx", "-e", str(setup.folder / "start.log"), "-c", str(path)]


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
    return port


Command: TypeAlias = Callable[[Setup], list[str]]


@contextmanager
def proxy(command: Command, setup: Setup) -> Iterator[httpx.Client]:
    """A running proxy, and a client that trusts its certificate; its output is in `output.log`."""
    trust = ssl.create_default_context(cafile=setup.certificate)
    environment = {"HOME": str(setup.folder), "PATH": "/usr/bin:/usr/sbin:/bin:/sbin"}
    with (
        (setup.folder / "output.log").open("w") as stream,
        subprocess.Popen(command(setup), stdout=stream, stderr=stream, env=environment) as process,
    ):
        try:
            for _ in range(10 * PATIENCE):
                try:
                    socket.create_connection(("127.0.0.1", setup.port), timeout=PATIENCE).close()
                    break
                except ConnectionRefusedError:
                    assert process.poll() is None, (setup.folder / "output.log").read_text()
                    time.sleep(0.1)
            with httpx.Client(
                base_url=f"https://127.0.0.1:{setup.port}",
                verify=trust,
                headers={"Host": f"{NAME}:{setup.port}", "Origin": f"https://{NAME}:{setup.port}"},
                timeout=PATIENCE,
                trust_env=False,
            ) as client:
                client.event_hooks = {"request": [lambda request: request.extensions.update(sni_hostname=NAME)]}
                yield client
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("command", [caddy, nginx])
def test_a_study_behind_a_proxy(tmp_path: Path, command: Command) -> None:
    """A participant begins and answers; limits hold; nothing of the link is in a log, not even of failures."""
    program = command.__name__
    if shutil.which(program, path="/usr/bin:/usr/sbin:/bin:/sbin") is None:
        pytest.skip(f"{program} is not installed")
    (study := tmp_path / "study").mkdir()
    plan = write_study(study, texts=CONSENT)
    port = free_port()
    setup = Setup(tmp_path, *write_certificate(tmp_path), port, upstream=free_port(), plain_port=free_port())
    site: dict[str, str | int] = {"port": setup.upstream, "public_url": f"https://{NAME}:{port}"}
    with server_process(study, {"begins": 2}, site) as (process, link), proxy(command, setup) as client:
        assert link.startswith(f"https://{NAME}:{port}/s/")
        trust = ssl.create_default_context(cafile=setup.certificate)
        plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        with trust.wrap_socket(plain, server_hostname=NAME) as encrypted:
            assert encrypted.version() == "TLSv1.3"
        path = urlsplit(link).path
        assert client.get(path).headers["strict-transport-security"]
        body = {"parameters": {}, "consented": True}
        participant = client.post(f"{path}api/open", json=body).json()
        headers = {"X-Snellen-Secret": participant["secret"]}
        rows = rows_of_form(plan, "p01", 0)
        for row in rows:
            assert client.post(f"{path}api/records", json=row.plain(), headers=headers).status_code == 200
        assert rows_by_name(study) == {"p01": rows}
        assert client.post(f"{path}api/open", json=body, headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 200
        refusal = client.post(f"{path}api/open", json=body, headers={"X-Forwarded-For": "192.0.2.2"})
        assert refusal.status_code == 429, "the address is that of the visitor, whatever the visitor writes"
        assert client.post(f"{path}api/open", json=body, headers={"Origin": "https://evil.example"}).status_code == 403
        assert client.get(path, headers={"X-Much": "x" * 40_000}).status_code in (400, 431)
        large = client.post(f"{path}api/open", content=b" " * 300_000, headers={"Content-Type": "application/json"})
        assert large.status_code == 413
        with ExitStack() as stack:
            for _ in range(HALF_OPEN):
                half = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
                half.sendall(b"\x16\x03\x01\x02\x00\x01")  # the head of a hello
            assert client.get(path).status_code == 200, "connections without a request leave room for others"
        if command is nginx:
            moved = httpx.get(f"http://127.0.0.1:{setup.plain_port}{path}", headers={"Host": NAME}, trust_env=False)
            assert moved.headers["location"] == f"https://{NAME}{path}"
        process.terminate()
        process.wait(timeout=PATIENCE)
        assert client.get(path).status_code == 502
        token = path.split("/")[2]
    logs = [file for file in tmp_path.rglob("*.log") if token in file.read_text()]  # also access.log of the plain port
    assert logs == []


def test_the_page_has_both_configurations() -> None:
    assert "reverse_proxy" in configuration("Caddy")
    assert "proxy_pass" in configuration("nginx")
