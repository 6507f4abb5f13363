"""Visitors of a study that is served in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from snellen.web.limits import VisitorLimits
from snellen.web.plan import RecordRow, StudyPlan
from snellen.web.server import StudyService, app_of, open_service
from snellen.web.site import StudySite
from tests.helpers.studies import rows_by_name, write_study


@dataclass(frozen=True)
class Visitor:
    """A visitor of one link of a served study."""

    client: TestClient
    root: Path
    plan: StudyPlan
    link: str

    def open(self, **body: Any) -> Any:
        return self.client.post(f"{self.link}api/open", json={"parameters": {}} | body)

    def send(self, row: RecordRow, secret: str, **headers: str) -> Any:
        return self.send_json(row.plain(), secret, **headers)

    def send_json(self, row: Any, secret: str, **headers: str) -> Any:
        headers = {"X-Snellen-Secret": secret, "Content-Type": "application/json"} | headers
        return self.client.post(f"{self.link}api/records", content=json.dumps(row), headers=headers)

    def begin(self, rows: Sequence[RecordRow]) -> str:
        """Open the study, send these rows, and return the secret."""
        secret: str = self.open().json()["secret"]
        for row in rows:
            assert self.send(row, secret).status_code == 200
        return secret

    def stored_rows(self) -> dict[str, list[RecordRow]]:
        return rows_by_name(self.root)


@contextmanager
def visitors_of(service: StudyService, root: Path, base_url: str = "http://testserver") -> Iterator[list[Visitor]]:
    """A visitor of each link of an open study."""
    with TestClient(app_of(service), base_url=base_url) as client:
        links = [f"/{'r' if link.reviewer else 's'}/{link.token}/" for link in service.links]
        yield [Visitor(client, root, service.plan, link) for link in links]


@contextmanager
def served(
    root: Path, *reviewers: str, plan: StudyPlan | None = None, completion_code: str = "", completion_url: str = ""
) -> Iterator[list[Visitor]]:
    """A visitor of each link of a new study."""
    write_study(root, reviewers, plan, completion_code=completion_code, completion_url=completion_url)
    with visitors_of(open_service(root), root) as visitors:
        yield visitors


@contextmanager
def limited(root: Path, site: StudySite | None = None, **limits: Any) -> Iterator[Visitor]:
    """A visitor of a new study with these limits, at localhost."""
    write_study(root)
    with visitors_of(open_service(root, site, VisitorLimits(**limits)), root, "http://localhost") as visitors:
        yield visitors[0]


def refused(response: Any, status: int, words: str = "") -> None:
    """A status, and JSON with one plain sentence, which contains these words."""
    assert response.status_code == status, response.text
    assert set(response.json()) == {"detail"}
    assert isinstance(response.json()["detail"], str)
    assert response.json()["detail"].endswith(".")
    assert words in response.json()["detail"]
