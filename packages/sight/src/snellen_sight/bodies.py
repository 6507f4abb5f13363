"""Limits the size of reply bodies, which are read in chunks so that no server can exhaust the memory.

The limit applies to all clients of httpx (or httpx2, its next version): ours, and those of Anthropic, Groq and Mistral
in inspect_ai. Others, such as Bedrock's, read replies through their own libraries.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from functools import cache
from importlib import import_module
from typing import Any

MAX_BODY_BYTES = 32 * 2**20
"""Limit of one body after decompression; the longest replies of current models have less than 1 MB."""
_ACCEPTED = "gzip, deflate"
"""Accepted compressions: those that can be decompressed in chunks here."""
_BOUNDED = "snellen_bounded"


class BodyRefused(Exception):
    """The body of a reply is too large or compressed in a way that was not accepted."""


def bound_bodies(api: Any) -> None:
    """Limit each httpx client of a provider (`model.api`) to MAX_BODY_BYTES, once per client.

    Called before each call, since providers create and recreate clients late. Reading more raises BodyRefused, which
    clients may wrap; `refusal` finds it.
    """
    for client in _clients(api):
        if not getattr(client, _BOUNDED, False):
            setattr(client, _BOUNDED, True)
            bound_client(client)


def bound_client(client: Any) -> None:
    """Limit a new asynchronous httpx client to MAX_BODY_BYTES per reply."""
    client.headers["accept-encoding"] = _ACCEPTED
    client.event_hooks["response"].append(_bound)


def refusal(error: BaseException) -> BodyRefused | None:
    """The BodyRefused that an error is or was caused by."""
    cause: BaseException | None = error
    for _ in range(10):
        if cause is None or isinstance(cause, BodyRefused):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def _clients(api: Any) -> Iterator[Any]:
    """Objects that look like asynchronous httpx clients, in the places where providers store theirs."""
    candidates = [getattr(api, "http_client", None), client := getattr(api, "client", None)]
    candidates += [getattr(client, "_client", None)]
    for candidate in candidates:
        if hasattr(candidate, "aclose") and isinstance(getattr(candidate, "event_hooks", None), dict):
            yield candidate


async def _bound(response: Any) -> None:
    """Replace the body's stream by one that counts and decompresses in chunks; its text is UTF-8."""
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BODY_BYTES:
        raise BodyRefused(f"the reply has {length} bytes, more than {MAX_BODY_BYTES}")
    packing = response.headers.pop("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise BodyRefused(f"the reply is compressed as {packing[:40]!r}, which was not accepted")
    response.encoding = "utf-8"  # some of the codecs that a header may name take quadratic time
    response.stream = _stream_class(type(response).__module__.partition(".")[0])(
        response.stream, packing not in ("", "identity")
    )


@cache
def _stream_class(package: str) -> type[Any]:
    base: type[Any] = import_module(package).AsyncByteStream

    class BoundedStream(base):  # type: ignore[misc]  # httpx or httpx2, whichever the client is of
        """A body's decompressed bytes, up to the limit."""

        def __init__(self, stream: Any, is_packed: bool) -> None:
            self.stream = stream
            self.unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if is_packed else None

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for chunk in self.stream:
                for part in self._unpacked(chunk):
                    count += len(part)
                    if count > MAX_BODY_BYTES:
                        raise BodyRefused(f"the reply has more than {MAX_BODY_BYTES} bytes")
                    yield part

        def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
            if self.unpacker is None:
                yield chunk
                return
            try:
                while chunk:
                    yield self.unpacker.decompress(chunk, 2**20)
                    chunk = self.unpacker.unconsumed_tail
            except zlib.error as error:
                raise BodyRefused(f"the reply cannot be decompressed ({error})") from error

        async def aclose(self) -> None:
            await self.stream.aclose()

    return BoundedStream
