"""The body of a reply is read up to a limit, compressed or not."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import ChatSubject, make_chat
from snellen_sight import bodies
from tests.helpers.lying_server import GOOD, LyingServer, Wire, wire

_names = itertools.count()
GOOD_BYTES = json.dumps(GOOD).encode()
PADDED = GOOD_BYTES + b" " * (5000 - len(GOOD_BYTES))
"""The same JSON, 5,000 bytes long."""


def ask(response: Wire, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """The reply's text or the reason for its absence, and the number of requests."""
    with LyingServer(lambda request: response) as server:
        monkeypatch.setenv("LYING_API_KEY", "k")
        monkeypatch.setenv("LYING_BASE_URL", server.url)
        subject = make_chat(f"openai-api/lying/body-{next(_names)}", {"attempts": "2"})
        assert isinstance(subject, ChatSubject)
        prompt, rng = Prompt(("?",), ()), np.random.default_rng(0)
        try:
            reply = asyncio.run(replace(subject, first_wait=0.01).answer(prompt, MediaFolder(Path()), rng))
        except CallFailed as failure:
            return str(failure), server.count
        return reply.text, server.count


@pytest.mark.parametrize("limit", [5000, 4999])
@pytest.mark.parametrize(
    "response",
    [
        wire(PADDED),
        wire(PADDED, headers={"Content-Length": "-"}),
        wire(gzip.compress(PADDED), headers={"Content-Encoding": "gzip"}),
        wire(zlib.compress(PADDED), headers={"Content-Encoding": "deflate"}),
        Wire([*wire(PADDED).chunks[:1], *(PADDED[start : start + 999] for start in range(0, 5000, 999))]),
    ],
    ids=["stated", "unstated", "gzip", "deflate", "in chunks"],
)
def test_a_body_may_be_as_large_as_the_limit(response: Wire, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY_BYTES", limit)
    outcome, count = ask(response, monkeypatch)
    assert count == 1, "a second reply would be as large"
    assert (outcome == "T") == (limit == 5000)
    assert outcome == "T" or ("4999" in outcome and outcome.startswith("the reply has "))


def test_a_compression_bomb_is_decompressed_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 MB of blanks in 200 kB: at most 1 MB is decompressed at once, and 2 MB in total."""
    monkeypatch.setattr(bodies, "MAX_BODY_BYTES", 2**20)
    packer, sizes = zlib.compressobj(9, zlib.DEFLATED, 31), list[int]()
    bomb = b"".join(packer.compress(b" " * 2**20) for _ in range(200)) + packer.flush()
    assert len(bomb) < 250_000
    real = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self.real, self.unconsumed_tail = real(bits), b""

        def decompress(self, raw: bytes, most: int) -> bytes:
            unpacked = self.real.decompress(raw, most)
            self.unconsumed_tail = self.real.unconsumed_tail
            sizes.append(len(unpacked))
            return unpacked

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    outcome, count = ask(wire(bomb, headers={"Content-Encoding": "gzip"}), monkeypatch)
    assert (outcome, count) == ("the reply has more than 1048576 bytes (attempt 1)", 1)
    assert sum(sizes) <= 2**21
    assert max(sizes) <= 2**20


@pytest.mark.parametrize(
    ("packing", "raw", "message"),
    [
        ("br", b"\x0b", "compressed as 'br'"),
        ("gzip, gzip", b"", "compressed as"),
        ("gzip", b"no", "cannot be decompressed"),
    ],
)
def test_a_body_that_cannot_be_decompressed_is_reported(
    packing: str, raw: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, _ = ask(wire(raw, headers={"Content-Encoding": packing}), monkeypatch)
    assert message in outcome


def test_only_encodings_that_can_be_bounded_are_requested_and_hooks_are_set_once() -> None:
    import httpx

    client = httpx.AsyncClient()
    api = SimpleNamespace(http_client=client, client=SimpleNamespace(_client=client))
    for _ in range(3):
        bodies.bound_bodies(api)
    assert client.headers["accept-encoding"] == "gzip, deflate"
    assert client.event_hooks["response"] == [bodies._bound]
    bodies.bound_bodies(SimpleNamespace(client=SimpleNamespace(aclose=None)))
    bodies.bound_bodies(object())
