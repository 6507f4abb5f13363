"""`snellen-sight`: a stub behind it, exit codes, files that it writes, and how light it is."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

import snellen_sight
from snellen.core import seeds
from snellen_sight import asking
from snellen_sight.checks import CHECKS
from snellen_sight.client import Connections, Endpoint
from snellen_sight.command import main
from snellen_sight.results import SightLine, SightResult
from tests.helpers.sight_servers import AGENTS, CLEAN, FAULTS, Images, Observer, Server, observer
from tests.helpers.stub_server import ServedRequest, Status, StubServer

PACKAGE = Path(__file__).parents[2] / "packages" / "sight" / "src"


def _answer(server: Server, text: str, images: Images, number: int) -> str:
    planted = observer(server)
    assert isinstance(planted, Observer)
    arriving = server.order([server.change(server.open(image)) for image in images])
    return ", ".join(planted._answers(text, arriving, np.random.default_rng(number))[0])


def _served(server: Server) -> Callable[[ServedRequest], str]:
    def answer(request: ServedRequest) -> str:
        images: Images = [Image.open(io.BytesIO(raw)) for raw in request.images]
        return _answer(server, next(part for part in request.parts if isinstance(part, str)), images, request.number)

    return answer


def _callable(server: Server) -> Callable[[Sequence[str | Image.Image]], str]:
    def answer(parts: Sequence[str | Image.Image]) -> str:
        images = [part for part in parts if isinstance(part, Image.Image)]
        return _answer(server, str(parts[-1]), images, len(images))

    return answer


def test_quick_takes_twelve_calls_and_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with StubServer(_served(CLEAN)) as stub:
        begun = time.process_time()
        assert main([stub.url, "model", "--quick"]) == 0
        spent = time.process_time() - begun
        assert len(stub.requests) <= 12
    printed = capsys.readouterr().out
    assert printed.splitlines()[1] == "fine         an image arrives"
    assert "2,048 px arrive" in printed
    assert spent < 5, "with the drawing of the stub's observer; under 2 s without it"


def _blind(request: ServedRequest) -> str:
    return "I cannot see any image."


@pytest.mark.parametrize(
    ("check", "answer"), [("image", _blind), ("resolution", _served(FAULTS["long edge of 448 px"]))]
)
def test_a_fault_has_exit_code_4(
    check: str, answer: Callable[[ServedRequest], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with StubServer(answer) as stub:
        assert main([stub.url, "model", "--quick", "--json", "--card", str(tmp_path / "card.png")]) == 4
    (result,) = json.loads(capsys.readouterr().out)
    assert [line["check"] for line in result["lines"] if line["verdict"] == "not so"] == [check]
    assert Image.open(tmp_path / "card.png").width == 860


def test_an_image_of_the_call_before_is_found() -> None:
    earlier: list[Image.Image] = []

    def stale(parts: Sequence[str | Image.Image]) -> str:
        image = parts[0]
        assert isinstance(image, Image.Image)
        earlier.append(image)
        return _answer(CLEAN, str(parts[-1]), earlier[-2:-1] or earlier, 0)

    result = snellen_sight.sight(stale, quick=True)
    assert result.faults() == ["images are mixed up: each call gets the image of the call before it"]


def test_chosen_checks_alone_are_asked() -> None:
    result = snellen_sight.sight(_callable(FAULTS["order reversed"]), checks=("image", "order"))
    assert [line.check for line in result.lines] == ["image", "several images"]
    assert {call.group for call in result.calls} == {"colours", "several images"}
    assert result.faults() == ["several images arrive in reverse order"]
    with pytest.raises(asking.NothingAsked, match="ordr: no such check"):
        snellen_sight.sight(_callable(CLEAN), checks=("ordr",))


def test_callables_may_be_coroutines_and_fail() -> None:
    async def red(parts: Sequence[str | Image.Image]) -> str:
        return "red"

    assert snellen_sight.sight(red, quick=True).exit_code in (1, 4)
    with pytest.raises(asking.NothingAsked, match="returned int, no text"):
        snellen_sight.sight(lambda parts: 3)


def test_very_long_replies_are_failed_calls() -> None:
    """All replies are kept, and read again after each call."""
    with pytest.raises(asking.NothingAsked, match="the reply has 100001 characters, more than 100000"):
        snellen_sight.sight(lambda parts: "r" * 100_001, quick=True)
    assert snellen_sight.sight(lambda parts: "red".ljust(100_000), quick=True).calls


def test_no_key_is_in_what_is_kept_of_a_server() -> None:
    key = "secret-" + "word" * 60
    long_words = Status(400, error={"message": f"{'x' * 190} {key} refused", "type": "auth", "code": None})
    with StubServer(f"red {key}") as stub:
        result = snellen_sight.sight_of_server(stub.url, "model", key, quick=True)
    assert result.calls[0].reply == "red [key]"
    with StubServer(long_words) as stub, pytest.raises(asking.NothingAsked, match=r"x \[key\] refused"):
        snellen_sight.sight_of_server(stub.url, "model", key, quick=True)


def test_no_cookie_of_a_server_is_kept() -> None:
    client = Connections(Endpoint("", "model", "http://host.example/v1", "key"), 9)._open()
    request = httpx.Request("GET", "http://host.example/v1")
    client.cookies.extract_cookies(httpx.Response(200, headers={"set-cookie": "a=b"}, request=request))
    assert len(client.cookies.jar) == 0


def test_a_server_that_refuses_is_named_without_the_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STUBBED_KEY", "secret-word")
    refused = Status(401, error={"message": "wrong key secret-word \x1b[2J", "type": "auth", "code": None})
    with StubServer(lambda request: refused) as stub:
        assert main([stub.url, "model", "--quick", "--key-env", "STUBBED_KEY"]) == 2
        assert stub.requests[0].headers["Authorization"] == "Bearer secret-word"
    stderr = capsys.readouterr().err
    assert "401 Unauthorized: wrong key [key]" in stderr
    assert "\x1b" not in stderr


def test_a_server_gets_earlier_turns_and_a_callable_does_not() -> None:
    counts = list[int]()
    with StubServer(_served(CLEAN)) as stub:
        url = f"{stub.url}/chat/completions/"
        result = snellen_sight.sight_of_server(url, "m", "abc", checks=("sequence",), after_call=counts.append)
    assert sorted(counts) == list(range(1, 19)) == [request.number for request in stub.requests]
    assert [call.group for call in result.calls] == ["colours"] * 6 + ["sequence"] * 12
    for request in stub.requests:
        assert (set(request.body), request.body["model"]) == ({"model", "messages"}, "m")
        assert (request.headers["Authorization"], request.headers["User-Agent"]) == ("Bearer abc", "snellen")
        turns = ["user", "assistant", "user"] if request.number > 16 else ["user"]
        assert [message["role"] for message in request.messages] == turns
        assert [part["type"] for part in request.messages[-1]["content"]] == ["image_url", "text"]
        assert len(request.images) == len(turns) // 2 + 1
    result = snellen_sight.sight(_callable(CLEAN), checks=("sequence",))
    assert [call.group for call in result.calls] == ["colours"] * 6 + ["sequence"] * 10


def test_what_a_server_needs_and_a_key_of_eight_letters_that_is_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, words in (("word-12", "no word-12"), ("word-123", "no [key]")):
        refused = Status(401, error={"message": f"no {key}"})
        with StubServer(refused) as stub, pytest.raises(asking.NothingAsked) as caught:
            snellen_sight.sight_of_server(stub.url, "m", key)
        assert words in str(caught.value)
    with pytest.raises(asking.NothingAsked, match="localhost:1: an address must begin with http:// or https://"):
        snellen_sight.sight_of_server("localhost:1", "m")
    monkeypatch.setattr(asking, "find_spec", lambda name: None)
    with pytest.raises(asking.NothingAsked, match="a server needs httpx: pip install httpx"):
        snellen_sight.sight_of_server("https://localhost:1", "m")


@pytest.mark.parametrize(
    "arguments",
    [["--checks", "ordr"], ["--key-env", "NO_SUCH_KEY_HERE"], ["other", "--card", "card.png"]],
)
def test_bad_input_has_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["http://127.0.0.1:9/v1", "model", *arguments])
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_several_models_give_a_matrix(tmp_path: Path) -> None:
    page = tmp_path / "matrix.html"

    def answer(request: ServedRequest) -> str:
        return (_served(CLEAN) if request.body["model"] == "good" else _blind)(request)

    with StubServer(answer) as stub:
        assert main([stub.url, "good", "<bad>", "--checks", "image,crop", "--html", str(page)]) == 4
    written = page.read_text("utf-8")
    assert '<th scope="col">good</th><th scope="col">&lt;bad&gt;</th>' in written
    assert "the ends of images of 3:1 arrive" in written
    assert "<td>not asked</td>" in written


def test_exit_codes_of_results() -> None:
    lines = [SightLine("a", verdict, "") for verdict in ("fine", "cannot tell", "not so")]
    codes = [SightResult("m", "", tuple(chosen)).exit_code for chosen in (lines, lines[:2], lines[1:2], [])]
    assert codes == [4, 0, 1, 1]


def test_random_streams_are_those_of_the_main_package() -> None:
    names = ("sight", 0, "several images", 2)
    assert asking.stream(*names).integers(2**40) == seeds.stream(*names).integers(2**40)


def test_every_check_expects_an_answer_for_each_explanation() -> None:
    for check in CHECKS.values():
        for number in range(check.most):
            question = check.draw(asking.stream("test", number), number)
            assert question.group == check.check
            assert set(check.explanations) <= set(question.expected)


def test_it_needs_little_and_starts_quickly() -> None:
    code = (
        "import sys, time; begun = time.process_time(); import snellen_sight; snellen_sight.sight; "
        "print(time.process_time() - begun); "
        "print(sorted(set(sys.modules) & {'snellen', 'pandas', 'pydantic', 'torch', 'scipy', 'httpx'}))"
    )
    environment = {"PYTHONPATH": str(PACKAGE), "PATH": ""}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    seconds = [float(run.stdout.split("\n")[0]) for run in runs]
    assert min(seconds) < 0.3
    assert runs[0].stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize("frame", AGENTS)
def test_the_frame_of_an_agent_s_server_is_found(frame: str, capsys: pytest.CaptureFixture[str]) -> None:
    with StubServer(_served(AGENTS[frame])) as stub:
        assert main([stub.url, "agent", "--checks", "pointing", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    (text,) = (line["text"] for line in result["lines"] if line["check"] == "pointing")
    assert text.startswith(f"points are {frame}")
    assert len(result["calls"]) <= 20
