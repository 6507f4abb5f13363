"""The HTTP of a study server: uvicorn's, without what browsers and the documented proxies never send.

Bodies in chunks, requests sent before the last one was answered, and heads of very many lines cost the server far more
than their sender, before any other limit sees them.
"""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD_LINES = 150
"""Lines of a request's head: browsers send about 20, proxies add a few."""
MAX_WAITING_BYTES = 300 * 2**10
"""A request that comes before the end of the last response: some clients send it when they have all bytes of a file."""
_END = b"\r\n\r\n"


class _Connection(h11.Connection):
    """The state of a connection, in which a body in chunks is an error: it would be read event by event."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As h11. Raises RemoteProtocolError, which is answered by 400, for CONNECT, and for a body in chunks."""
        event = super().next_event()
        if isinstance(event, h11.Request) and (
            event.method == b"CONNECT" or any(name == b"transfer-encoding" for name, _ in event.headers)
        ):
            raise h11.RemoteProtocolError("a body in chunks, or a tunnel", error_status_hint=411)
        return event


class StudyProtocol(H11Protocol):
    """One connection. It is closed at once if more comes than the answer to one request at a time needs.

    `waiting` has what came before the last response ended, `head` the head of the current request so far.
    """

    def connection_made(self, transport: object) -> None:
        """Begin, with connections of the stricter kind."""
        super().connection_made(transport)  # type: ignore[arg-type]  # as uvicorn declares it
        self.conn = _Connection(h11.SERVER, self.config.h11_max_incomplete_event_size or 16 * 2**10)
        self._head, self._waiting = b"", b""

    def data_received(self, raw: bytes) -> None:
        """Handle what came; the next request waits until the response to the last one has ended."""
        if not self._is_answering():
            self._handle(raw)
            return
        self._waiting += raw
        if len(self._waiting) > MAX_WAITING_BYTES:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Go on with the request that came in the meantime; close after a response before the end of its request."""
        if self.conn.their_state is h11.SEND_BODY:
            self.transport.close()
        super().on_response_complete()
        if self._waiting and not self.transport.is_closing():
            raw, self._waiting = self._waiting, b""
            self._handle(raw)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request; without an answer if h11 cannot send one, as to HEAD."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.abort()

    def _handle(self, raw: bytes) -> None:
        if self.conn.their_state is h11.IDLE:
            self._head += raw
            head, _, _ = self._head.partition(_END)
            if head.count(b"\n") > MAX_HEAD_LINES:
                self.transport.abort()
                return
        super().data_received(raw)
        if self.conn.their_state is not h11.IDLE:
            self._head = b""
        if self._is_answering() and self.conn.trailing_data[0]:  # several requests at once
            self.transport.abort()

    def _is_answering(self) -> bool:
        """True if a whole request came and is not yet answered, also one that proposes another protocol."""
        has_come = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        return has_come and self.conn.our_state not in (h11.DONE, h11.IDLE)
