from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from snellen.cli import main
from tests.helpers.stub_server import Answer, ServedRequest, StubServer

Command = Callable[..., tuple[int, str, str]]
Serve = Callable[[Callable[[ServedRequest], Answer] | Answer], StubServer]


@pytest.fixture
def snellen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; return its exit code, output and messages."""

    def give(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["snellen", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return give


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    servers: list[StubServer] = []

    def serve(answer: Callable[[ServedRequest], Answer] | Answer) -> StubServer:
        server = StubServer(answer)
        servers.append(server)
        server.__enter__()
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)
