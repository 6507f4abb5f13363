"""The server of one study: an unguessable link, the bundle's files, and two requests that open a study and store rows.

There is no login. Anyone with the study's link can take part; only who has a participant's secret, which the browser
keeps, can continue as this participant. Nothing else of the study folder is reachable: files are looked
up among those of the bundle, and paths of requests never reach the disk.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import uvicorn
from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, BeforeValidator, Field, model_validator
from starlette.exceptions import HTTPException

from snellen.core.errors import Interrupted, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage.system_calls import allow_open_files
from snellen.web import store
from snellen.web.admission import FormProgress, row_problem
from snellen.web.guard import Guard, headers_of, sentence
from snellen.web.limits import DEFAULT_LIMITS, Brakes, VisitorLimits
from snellen.web.page import index_page
from snellen.web.plan import Frozen, RecordRow, Start, StudyPlan, few_entries, refuse_broken_text
from snellen.web.site import LOCAL, StudySite, is_local
from snellen.web.store import Job, Link, Refusal, Store
from snellen.web.study import BUNDLE, INDEX, MEDIA_TYPES, RESULTS, bundle_files, read_plan, read_study

SECRET_HEADER = "X-Snellen-Secret"
NO_PAGE = "There is no such page."
FAILURE = "The server failed and kept nothing of this request."
OPENINGS = 2
"""Participants whose rows are read at a time."""
STOP_SECONDS = 2
"""Seconds that requests may take to end when the server is stopped."""
IDLE_SECONDS = 15
"""Seconds after which a connection without a request is closed; a proxy has to close it sooner."""
MAX_HEAD_BYTES = 16 * 2**10
MAX_CONNECTIONS = 400
"""Open connections beyond which requests are refused (503), before the process has no more files to open."""
MAX_FILES = 4 * MAX_CONNECTIONS
"""Files that the process may open, if the system allows it: connections are counted once they have sent a head."""
BACKLOG = 64
"""Connections that wait to be accepted; the event loop tries as many at a time, and logs each that fails."""
_LOGGER = logging.getLogger(__name__)
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": "One sentence."} for status in (400, 403, 404, 409, 413, 415, 421, 422, 429, 503)
}

Word: TypeAlias = Annotated[str, Field(max_length=200)]
Secret: TypeAlias = Annotated[Word, Header(alias=SECRET_HEADER)]


class Opening(Frozen):
    """A participant begins (and has `consented`, if the study asks), or returns. The study's `parameters` are kept."""

    _texts = model_validator(mode="before")(refuse_broken_text)

    parameters: Annotated[
        dict[Word, Annotated[str, Field(max_length=1000)]], Field(max_length=50), BeforeValidator(few_entries)
    ] = Field(default_factory=dict)
    participant: Word | None = None
    secret: Word | None = None
    consented: bool = False


class Completion(BaseModel):
    """The code and the link of a panel, for those who answered the last page; empty for all others."""

    code: str = ""
    url: str = ""


class Opened(BaseModel):
    """The participant of the page, their secret, their form, and their stored rows."""

    participant: str
    secret: str
    form: int
    records: list[RecordRow]
    completion: Completion = Completion()


class Receipt(BaseModel):
    """Confirms that the row with this number is on the disk."""

    sequence: int
    completion: Completion = Completion()


@dataclass(frozen=True)
class StudyService:
    """A served study: its plan, page, database, links, files by path, recorded parameters, completion code, limits.

    Without a `site`, requests may call the server by any name.
    """

    plan: StudyPlan
    index: str
    database: Store
    links: tuple[Link, ...]
    files: Mapping[str, Path]
    parameters: frozenset[str]
    completion: Completion
    site: StudySite | None
    brakes: Brakes
    openings: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OPENINGS))
    known_progress: dict[int, FormProgress] = field(default_factory=dict)

    def link(self, token: str, reviews: bool) -> Link:
        """The link with this token, also if it was renewed meanwhile. Raises Refusal (404) if there is none."""
        try:
            links = self.database.links()
        except sqlite3.Error as error:
            raise Refusal(503, f"The links cannot be read ({error}).") from error
        for link in links:
            if bool(link.reviewer) == reviews and secrets.compare_digest(link.token.encode(), token.encode()):
                return link
        raise Refusal(404, NO_PAGE)

    def address(self, request: Request) -> str:
        """The network address of a visitor; empty if it is unknown."""
        peer = request.client.host if request.client else ""
        return self.site.visitor(peer, ",".join(request.headers.getlist("x-forwarded-for"))) if self.site else peer

    def refuse_strangers(self, path: str) -> None:
        """Raise Refusal (404) for a path that is under no link of the study."""
        _, prefix, token, *_ = [*path.split("/", 3), "", "", ""]
        self.link(token, prefix == "r")

    async def run(self, job: Job) -> Any:
        """The job's result after the commit."""
        try:
            return await asyncio.wrap_future(self.database.submit(job))
        except Refusal:
            raise
        except asyncio.CancelledError:
            raise Refusal(503, "The server is being stopped; the answer is sent again.") from None
        except sqlite3.Error as error:
            raise Refusal(503, f"The answer could not be kept ({error}); it is sent again.") from error
        except Exception as error:
            _LOGGER.error("a request failed and was not kept: %s", short_reason(repr(error)))
            raise Refusal(500, FAILURE) from error

    async def open(self, link: Link, opening: Opening, address: str = "") -> str:
        """Begin or return, from a network address (empty if it is unknown); `Opened` as JSON text."""
        number, opened = await self.run(partial(self._open, link, opening, address))
        try:
            async with self.openings:
                records = await asyncio.to_thread(self.database.rows_text, number)
        except sqlite3.Error as error:
            raise Refusal(503, f"The answers could not be read ({error}); open the study again.") from error
        return f'{opened[:-1]},"records":{records}}}'

    def _open(self, link: Link, opening: Opening, address: str, connection: sqlite3.Connection) -> tuple[int, str]:
        """The number of the participant, and `Opened` as JSON text, without the records."""
        if self.plan.texts.consent and not (opening.consented or opening.secret):
            raise Refusal(403, "Consent comes first; load the page again.")
        kept = {name: text for name, text in opening.parameters.items() if name in self.parameters}
        reviewers = [link.reviewer for link in self.links if link.reviewer]
        number = reviewers.index(link.reviewer) if link.reviewer else 0
        with nullcontext() if link.reviewer else self.brakes.count_begin(connection, address):
            slot = store.take_slot(connection, link, opening.secret or "", kept, len(self.plan.forms), number)
        self.brakes.count_request(slot.number)
        if opening.secret and opening.participant not in (None, slot.name):
            raise Refusal(403, "The secret is that of another participant; open the link again.")
        progress = self._progress(connection, slot.number)
        self.brakes.count_return(slot.number, progress.stored_bytes)
        completion = self._completion(progress)
        opened = Opened(participant=slot.name, secret=slot.secret, form=slot.form, records=[], completion=completion)
        return slot.number, opened.model_dump_json(exclude={"records"})

    async def keep(self, link: Link, secret: str, record_row: RecordRow) -> Receipt:
        """Store a row of the participant with the secret."""
        job = partial(self._keep, link, secret, record_row)
        return Receipt(sequence=record_row.sequence, completion=await self.run(job))

    def _keep(self, link: Link, secret: str, record_row: RecordRow, connection: sqlite3.Connection) -> Completion:
        slot = store.slot_of(connection, link, secret)
        self.brakes.count_request(slot.number)
        if isinstance(record_row.record, Start):  # the parameters are those with which the study was opened
            start = record_row.record.model_copy(update={"parameters": store.parameters_of(connection, slot.number)})
            record_row = record_row.model_copy(update={"record": start})
        progress = self._progress(connection, slot.number)
        is_new = not 0 <= record_row.sequence < progress.rows
        if is_new and (problem := row_problem(record_row, self.plan, slot.name, slot.form, progress)):
            raise Refusal(422, problem)
        size = progress.stored_bytes + store.keep_row(connection, slot, record_row)
        self.brakes.check_size(size)
        if is_new:
            progress = self.known_progress[slot.number] = replace(progress.after(record_row), stored_bytes=size)
        return self._completion(progress)

    def _progress(self, connection: sqlite3.Connection, number: int) -> FormProgress:
        """The progress of a participant; their rows are read only after a start of the server, or a rollback."""
        query = "SELECT coalesce(max(sequence) + 1, 0) FROM rows WHERE participant = ?"
        (rows,) = connection.execute(query, (number,)).fetchone()
        progress = self.known_progress.get(number)
        if progress is None or progress.rows != rows:
            progress = self.known_progress[number] = store.progress_of(connection, number)
        return progress

    def _completion(self, progress: FormProgress) -> Completion:
        """The code and link for those who answered all pages."""
        return self.completion if progress.finished else Completion()


def open_service(root: Path, site: StudySite | None = None, limits: VisitorLimits = DEFAULT_LIMITS) -> StudyService:
    """Create or open the database of a study, and its links.

    Raises SnellenError if the folder is not a study, or must not be served at this `site`.
    """
    card, plan = read_study(root), read_plan(root)
    if site is not None:
        site.check(card.design)
    files = bundle_files(root / BUNDLE)
    database = Store(root / RESULTS, plan.plan_hash)
    reviewers = card.design.reviewers if plan.kind == "review" else ()
    kept = database.submit(partial(store.links, reviewers=reviewers, open_to_all=plan.kind == "study")).result()
    texts, index, brakes = card.design.texts, index_page(plan.texts.title, "local"), Brakes(limits)
    completion = Completion(code=texts.completion_code, url=texts.completion_url)
    return StudyService(plan, index, database, tuple(kept), files, card.parameters, completion, site, brakes)


def app_of(service: StudyService, openapi: bool = False) -> FastAPI:
    """The application of an open study; it closes the database when it ends. `openapi` describes it, for tests."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.database.close)

    app = FastAPI(
        title="A Snellen study",
        openapi_url="/openapi.json" if openapi else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    headers = headers_of(service.site)
    hosts = service.site.hosts if service.site else frozenset[str]()
    app.add_middleware(Guard, headers, hosts, service.refuse_strangers)
    for prefix, reviews in (("s", False), ("r", True)):
        _add_routes(app, service, prefix, reviews)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(Exception, partial(_on_failure, headers))
    return app


def _add_routes(app: FastAPI, service: StudyService, prefix: str, reviews: bool) -> None:
    start = f"/{prefix}/{{token}}"

    @app.post(f"{start}/api/open", response_model=Opened, responses=REFUSALS)
    async def open_study(token: str, opening: Opening, request: Request) -> Response:
        opened = await service.open(service.link(token, reviews), opening, service.address(request))
        return Response(opened, media_type="application/json")

    @app.post(f"{start}/api/records", responses=REFUSALS)
    async def keep_record(token: str, record_row: RecordRow, secret: Secret) -> Receipt:
        return await service.keep(service.link(token, reviews), secret, record_row)

    @app.get(start, include_in_schema=False)
    async def redirect(token: str, request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""  # a panel's participant
        return RedirectResponse(f"{service.link(token, reviews).token}/{query}", status_code=307)

    @app.get(f"{start}/{{path:path}}", include_in_schema=False)
    async def file(token: str, path: str) -> Response:
        service.link(token, reviews)
        if path in ("", INDEX):
            return HTMLResponse(service.index)
        source = service.files.get(path)
        if source is None or not source.is_file():
            raise Refusal(404, NO_PAGE)
        # Media are named by their content.
        caching = "private, max-age=31536000, immutable" if path.startswith("media/") else "no-cache"
        return FileResponse(source, media_type=MEDIA_TYPES[source.suffix], headers={"Cache-Control": caching})


# Refusals: JSON with one sentence


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return sentence(error.status, error.sentence)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {400: "The request is no JSON.", 404: NO_PAGE, 405: "This cannot be done here."}
    response = sentence(error.status_code, sentences.get(error.status_code, "The request was refused."))
    response.headers.update(error.headers or {})
    return response


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problem = error.errors()[0]
    field = ".".join(str(name) for name in problem["loc"] if name != "body")[:200]
    return sentence(422, f"{field or 'The request'}: {problem['msg'][:300]}.")


async def _on_failure(headers: Mapping[str, str], request: Request, error: Exception) -> Response:
    # Sent outside the guard, which otherwise adds the headers.
    return sentence(500, FAILURE, headers)


def http_server(service: StudyService) -> uvicorn.Server:
    """The server of an open study; it logs no requests, since their addresses contain the links."""
    config = uvicorn.Config(
        app_of(service),
        http="h11",  # the other one has no limit on heads
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return uvicorn.Server(config)


class _Seldom(logging.Filter):
    """Passes a repeated message once a minute: out of file descriptors, the event loop would fill the log."""

    last, since = "", 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.getMessage() == self.last and record.created < self.since + 60:
            return False
        self.last, self.since = record.getMessage(), record.created
        return True


def serve(
    root: Path,
    site: StudySite = LOCAL,
    announce: Callable[[str], None] = lambda line: None,
    limits: VisitorLimits = DEFAULT_LIMITS,
) -> None:
    """Serve a study until interrupted; `announce` gets each link as a line. Port 0 takes any free one.

    Requests are not logged, since their addresses contain the links. Raises SnellenError if the folder is not a study,
    must not be served at this site, or the port is taken.
    """
    allow_open_files(MAX_FILES)
    logging.getLogger("asyncio").addFilter(_Seldom())
    service = open_service(root, site, limits)
    family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
    try:
        listener = socket.create_server((site.host, site.port), family=family)
    except OSError as error:
        place = f"{site.host}:{site.port}"
        raise SnellenError(f"{place} cannot be served ({error.strerror}); choose another by --port") from error
    port = listener.getsockname()[1]
    base = site.base(port)
    for link in service.links:
        announce(f"{link.reviewer}: {link.address(base)}" if link.reviewer else link.address(base))
    if not is_local(site.host):
        announce(f"note: let only the proxy reach {site.host}:{port}; others would pass it by, unencrypted")
    with suppress(KeyboardInterrupt, Interrupted):  # the ways to stop a server
        http_server(service).run(sockets=[listener])
