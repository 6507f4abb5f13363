"""A server that is killed while fifty people answer: acknowledged rows are stored exactly once."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from snellen.web.store import read_results
from tests.helpers.studies import write_study
from tests.helpers.study_load import outlive, server_process

MAX_STOP_SECONDS = 5
PEOPLE, KILLS, ROWS_A_LIFE = 50, 3, 130


@pytest.mark.slow
def test_every_acknowledged_answer_outlives_a_kill(tmp_path: Path) -> None:
    plan = write_study(tmp_path)
    ended, lost = outlive(tmp_path, plan, PEOPLE, [(signal.SIGKILL, ROWS_A_LIFE)] * KILLS)
    assert (ended, lost) == (KILLS, 0)
    recorded = dict(read_results(tmp_path))
    assert len(recorded) == PEOPLE
    assert all(len(rows) == 11 for rows in recorded.values())


def test_a_server_ends_soon_after_a_signal(tmp_path: Path) -> None:
    """With a request whose head never ends, one without its body, and one that was answered."""
    write_study(tmp_path)
    with server_process(tmp_path) as (process, link):
        address = urlsplit(link)
        endpoint = (address.hostname, address.port)
        assert httpx.post(f"{link}api/open", json={"parameters": {}}, trust_env=False).status_code == 200
        with socket.create_connection(endpoint) as head, socket.create_connection(endpoint) as body:
            head.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n")
            lines = f"POST {address.path}api/open HTTP/1.1", f"Host: {address.netloc}", "Content-Type: application/json"
            body.sendall("\r\n".join([*lines, "Content-Length: 100", "", '{"par']).encode())
            time.sleep(0.5)  # until both requests are in progress
            process.send_signal(signal.SIGTERM)
            start = time.monotonic()
            process.wait(timeout=30)
            assert time.monotonic() - start < MAX_STOP_SECONDS
