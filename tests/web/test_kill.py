"""Servers that are killed while people answer: every acknowledged row is stored once, and imported once."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
import zipfile
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pandas as pd
import pytest

from snellen.web.importing import RECORDS, import_study, read_results_of
from snellen.web.participants import PEOPLE
from snellen.web.plan import RecordRow, StudyPlan
from snellen.web.record_lines import line_of
from tests.helpers.studies import make_plan, rows_by_name, rows_of_form, write_study
from tests.helpers.study_load import outlive, server_process

MAX_STOP_SECONDS = 5
CROWD, KILLS, ROWS_A_LIFE = 50, 3, 130
ON_SERVER, IN_JATOS, ON_DEVICES = 40, 30, 30
SEED = int(os.environ.get("SEED", date.today().strftime("%Y%m%d")))


@pytest.mark.slow
def test_every_acknowledged_answer_outlives_a_kill(tmp_path: Path) -> None:
    plan = write_study(tmp_path)
    ended, lost = outlive(tmp_path, plan, CROWD, [(signal.SIGKILL, ROWS_A_LIFE)] * KILLS)
    assert (ended, lost) == (KILLS, 0)
    recorded = rows_by_name(tmp_path)
    assert len(recorded) == CROWD
    assert {len(rows) for rows in recorded.values()} == {len(rows_of_form(plan, "a", 0))}


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


def with_reload(rows: list[RecordRow], after: int) -> list[RecordRow]:
    """Rows of somebody who reloads the page after so many rows."""
    again = RecordRow(sequence=after, record=rows[0].record)
    return [*rows[:after], again, *(RecordRow(sequence=row.sequence + 1, record=row.record) for row in rows[after:])]


def people_of(plan: StudyPlan, prefix: str, count: int, rng: random.Random) -> dict[str, list[RecordRow]]:
    """Rows by name; some reload, some leave early."""
    people = {}
    for number in range(count):
        name = f"{prefix}{number}"
        rows = rows_of_form(plan, name, number % len(plan.forms))
        if rng.random() < 0.3:
            rows = with_reload(rows, rng.randrange(2, len(rows) - 1))
        people[name] = rows if rng.random() < 0.8 else rows[: rng.randrange(2, len(rows))]
    return people


@pytest.mark.slow
def test_every_answer_of_a_hundred_people_arrives_once(tmp_path: Path) -> None:
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    plan = make_plan()
    # Pages of practice need no item sets.
    pages = {name: page.model_copy(update={"kind": "practice"}) for name, page in plan.pages.items()}
    plan = write_study(tmp_path / "study", plan=plan.model_copy(update={"pages": pages}))
    kills = [(signal.SIGKILL, rng.randrange(20, 120)) for _ in range(4)]
    assert outlive(tmp_path / "study", plan, ON_SERVER, kills) == (len(kills), 0)
    in_jatos, on_devices = people_of(plan, "jatos-", IN_JATOS, rng), people_of(plan, "device-", ON_DEVICES, rng)
    with zipfile.ZipFile(tmp_path / "results.zip", "w") as archive:
        for number, rows in enumerate(in_jatos.values()):
            cut = rng.randrange(1, len(rows) + 1)  # a reload begins a new component result
            parts = (rows[:cut], [*rows[cut - 1 : cut], *rows[cut:]])  # of which the last row was sent twice
            for part, some in enumerate(parts):
                text = "".join(map(line_of, some))
                archive.writestr(f"study_result_{number}/comp-result_{number}{part}/data.txt", text)
    saved = []
    for name, rows in on_devices.items():
        saved.append(tmp_path / f"{name}.jsonl")
        saved[-1].write_text("".join(map(line_of, rows)), "utf-8")
    out = tmp_path / "people"
    sources: list[list[Path]] = [[], [tmp_path / "results.zip"], saved]
    for paths in rng.sample(sources * 2, 2 * len(sources)):  # each twice, in any order
        import_study(tmp_path / "study", read_results_of(tmp_path / "study", paths), out)
    table = pd.read_csv(out / PEOPLE)
    assert len(table) == ON_SERVER + IN_JATOS + ON_DEVICES
    assert table["rows_left_out"].sum() == 0
    assert not pd.read_csv(out / "refused.csv").size
    expected = ON_SERVER * len(rows_of_form(plan, "a", 0)) + sum(map(len, [*in_jatos.values(), *on_devices.values()]))
    assert sum(len(path.read_text().splitlines()) for path in (out / RECORDS).iterdir()) == expected
