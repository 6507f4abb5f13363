"""A served study in its own process, and participants who answer it all at once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx

from snellen.web.plan import RecordRow, StudyPlan
from tests.helpers.studies import rows_by_name, rows_of_form

ROOT = Path(__file__).parents[2]
CODE = """
import json
import sys
from functools import partial
from pathlib import Path
from snellen.web.limits import VisitorLimits
from snellen.web.server import serve
from snellen.web.site import StudySite
root, site, limits = sys.argv[1:]
serve(Path(root), StudySite(**json.loads(site)), partial(print, flush=True), VisitorLimits(**json.loads(limits)))
"""
CROWD = {"participants": 100_000, "begins": 100_000}
"""Limits for many people from this machine."""


@dataclass
class Walk:
    """One participant: the id given by the server, the acknowledged rows, and the seconds of each answer."""

    secret: str = ""
    participant: str = ""
    rows: list[RecordRow] = field(default_factory=list)
    acknowledged: list[RecordRow] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    pause: float = 0.0  # longest seconds between two answers

    async def take_part(
        self, client: httpx.AsyncClient, link: str, plan: StudyPlan, on_row: Callable[[], None]
    ) -> None:
        """Open the study, or return, and send every row that is not acknowledged; every other row is sent twice."""
        body: dict[str, Any] = {"parameters": {}} | ({"secret": self.secret} if self.secret else {})
        opened = (await client.post(f"{link}api/open", json=body)).raise_for_status().json()
        self.secret, self.participant = opened["secret"], opened["participant"]
        self.rows = rows_of_form(plan, self.participant, opened["form"])
        headers = {"X-Snellen-Secret": self.secret}
        for row in self.rows[len(self.acknowledged) :]:
            await asyncio.sleep(random.Random(f"{self.participant} {row.sequence}").uniform(0, self.pause))
            for _ in range(1 + row.sequence % 2):
                before = time.perf_counter()
                response = await client.post(f"{link}api/records", json=row.plain(), headers=headers)
                self.seconds.append(time.perf_counter() - before)
                response.raise_for_status()
            self.acknowledged.append(row)
            on_row()


@contextmanager
def server_process(
    root: Path,
    limits: Mapping[str, float] = CROWD,
    site: Mapping[str, str | int] = {},
    errors: IO[str] | None = None,
    open_files: int | None = None,
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`serve` in a separate process, and the study's link; killed at the end.

    `errors` gets its stderr; `open_files` is the number that it may have.
    """
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "packages/sight/src"), str(ROOT)])
    }
    command = [sys.executable, "-c", CODE, str(root), json.dumps({"port": 0, **site}), json.dumps({**limits})]
    if open_files:
        command = ["bash", "-c", f'ulimit -n {open_files}; exec "$@"', "server", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


async def walk_all(
    walks: Sequence[Walk], link: str, plan: StudyPlan, on_row: Callable[[], None] = lambda: None
) -> None:
    """All take part at once, until they have finished or the server has ended."""
    limits = httpx.Limits(max_connections=len(walks))
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:
        tasks = [walk.take_part(client, link, plan, on_row) for walk in walks]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in outcomes:
        if outcome is not None and not isinstance(outcome, httpx.TransportError):
            raise outcome


def outlive(root: Path, plan: StudyPlan, people: int, ends: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """People answer a server that is ended by (signal, after this number of acknowledged rows) and restarted.

    Returns how often it was ended, and how many acknowledged rows were lost, duplicated or given to another
    participant. Those cut off between registration and its reply come back as a new participant without rows.
    """
    walks, ended, lost = [Walk() for _ in range(people)], 0, 0
    for signal_number, enough in [*ends, (0, 0)]:
        with server_process(root) as (process, link):
            rows = 0

            def on_row() -> None:
                nonlocal rows, ended
                rows += 1
                if rows == enough:  # noqa: B023
                    os.kill(process.pid, signal_number)  # noqa: B023
                    ended += 1

            asyncio.run(walk_all(walks, link, plan, on_row))
        recorded = rows_by_name(root)
        begun = (walk for walk in walks if walk.acknowledged)
        lost += sum(recorded[walk.participant][: len(walk.acknowledged)] != walk.acknowledged for walk in begun)
    lost += recorded != {walk.participant: walk.rows for walk in walks}
    return ended, lost
