"""The HTTP of a study server: uvicorn's, without what browsers and the documented proxies never send.

Bodies in chunks, requests sent before the last one was answered, and heads of very many lines cost the server far more
than their sender, before any other limit sees them.
"""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD_LINES = 150
"""Lines of a request's head: browsers send about 20, proxies add a few."""


class _Connection(h11.Connection):
    """The state of a connection, in which a body in chunks is an error: it would be read event by event."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As h11. Raises RemoteProtocolError, which is answered by 400, for a request whose body comes in chunks."""
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError("a body in chunks", error_status_hint=411)
        return event


class StudyProtocol(H11Protocol):
    """One connection. It is closed at once if more comes than the answer to one request at a time needs."""

    def connection_made(self, transport: object) -> None:
        """Begin, with connections of the stricter kind."""
        super().connection_made(transport)  # type: ignore[arg-type]  # as uvicorn declares it
        self.conn = _Connection(h11.SERVER, self.config.h11_max_incomplete_event_size or 16 * 2**10)
        self._head_lines = 0

    def data_received(self, raw: bytes) -> None:
        """Handle what came, unless it is a further request before the answer, or a head of too many lines."""
        if self.conn.their_state is h11.IDLE:
            self._head_lines += raw.partition(b"\r\n\r\n")[0].count(b"\n")
        if self._head_lines > MAX_HEAD_LINES or (self._is_answering() and raw):
            self.transport.abort()
            return
        super().data_received(raw)
        if self.conn.their_state is not h11.IDLE:
            self._head_lines = 0
        if self._is_answering() and self.conn.trailing_data[0]:
            self.transport.abort()

    def _is_answering(self) -> bool:
        """True if a whole request came and is not yet answered."""
        return self.conn.their_state is h11.DONE and self.conn.our_state not in (h11.DONE, h11.IDLE)
