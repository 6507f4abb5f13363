"""Requests made from the application's own description: none breaks it, and each response is as described."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from snellen.web.limits import VisitorLimits
from snellen.web.server import app_of, open_service
from tests.helpers.studies import rows_by_name, write_study


@contextmanager
def described() -> Iterator[tuple[Any, str, str, Path]]:
    """The description of a served study, its token, a participant's secret, and its folder."""
    from fastapi.testclient import TestClient

    with tempfile.TemporaryDirectory() as folder:
        write_study(Path(folder))
        service = open_service(
            Path(folder), limits=VisitorLimits(begins=100_000, participants=100_000, requests=100_000)
        )
        app = app_of(service, openapi=True)
        token = service.links[0].token
        client = TestClient(app)  # not entered: the application stays open for schemathesis
        secret = client.post(f"/s/{token}/api/open", json={"parameters": {}}).json()["secret"]
        yield schemathesis.openapi.from_asgi("/openapi.json", app), token, secret, Path(folder)
        service.database.close()


def _call(examples: int) -> None:
    with described() as (schema, token, secret, folder):
        for path in ("/s/{token}/api/open", "/s/{token}/api/records"):
            operation = schema[path]["POST"]

            @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(), known=st.booleans(), invited=st.booleans())
            def call(case: Any, known: bool, invited: bool) -> None:
                if invited:
                    case.path_parameters["token"] = token
                if known and case.headers is not None:
                    case.headers["X-Snellen-Secret"] = secret
                # Rules beyond the schema (pages of a form, kinds of answers) are also refused with 422.
                case.call_and_validate(excluded_checks=[positive_data_acceptance])

            call()
        for rows in rows_by_name(folder).values():
            numbers = [row.sequence for row in rows]
            assert numbers == sorted(set(numbers))


def test_a_few_requests_from_the_description() -> None:
    _call(8)


@pytest.mark.slow
def test_many_requests_from_the_description() -> None:
    _call(400)
