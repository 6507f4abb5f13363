"""What is sent to a provider: formats, sizes, limits and tokens, and what is refused before anything is asked."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")


from snellen.core.box_units import sent_size
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.runs.asking.preflight import Preflight
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.limits import MB, ImageSize, Limits, image_tokens, limit_fault, limits_of
from snellen.subjects.chat.messages import SENT_LOG, sent_form
from snellen_sight.retry import plain_text, trouble
from tests.helpers.stub_server import Status, StubServer

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (6, 8, 3), np.uint8)
OPENAI, ANTHROPIC, GOOGLE = (limits_of(f"{name}/m") for name in ("openai", "anthropic", "google"))


def stored(folder: MediaFolder, image: Image.Image, format: str, **options: Any) -> Media:
    """An image file of this format, with Pillow's name for it."""
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    suffix = {"JPEG": "jpg", "MPO": "mpo", "TIFF": "tiff"}.get(format, format.lower())
    return folder.add(buffer.getvalue(), "image", suffix, image.size)


# Tokens


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens", "tolerance"),
    [
        # Examples of https://developers.openai.com/api/docs/guides/images-vision, and of its former versions
        ("openai/gpt-4o", 1024, 1024, 765, 0),
        ("openai/gpt-4o", 2048, 4096, 1105, 0),
        ("openai/azure/gpt-4o-mini", 512, 512, 2833 + 5667, 0),
        ("openai/gpt-4.1-mini", 1024, 1024, round(1024 * 1.62), 0),
        ("openai/gpt-4.1-mini", 1800, 2400, round(1452 * 1.62), 0),
        ("openai/gpt-5.6", 1800, 2400, 57 * 75, 0),
        ("openai/o3-2025-04-16", 512, 512, 75 + 150, 0),
        ("openrouter/openai/gpt-5-mini", 1800, 2400, round(1452 * 1.62), 0),
        ("openai/gpt-5", 512, 512, 70 + 140, 0),
        # Examples of https://platform.claude.com/docs/en/build-with-claude/vision
        ("anthropic/claude-sonnet-4-6", 200, 200, 64, 0),
        ("anthropic/claude-sonnet-4-6", 1000, 1000, 1296, 0),
        ("anthropic/claude-sonnet-4-6", 1920, 1080, 1560, 0.05),
        ("anthropic/claude-sonnet-4-6", 2000, 1500, 1564, 0.05),
        ("anthropic/claude-opus-4-7", 1920, 1080, 2691, 0),
        ("anthropic/claude-opus-4-8", 3840, 2160, 4784, 0.05),
        # The example of https://ai.google.dev/gemini-api/docs/image-understanding
        ("google/gemini-2.5-pro", 384, 300, 258, 0),
        ("google/gemini-2.5-pro", 960, 540, 6 * 258, 0),
        ("google/gemini-3-pro", 960, 540, 1120, 0),
        # By hand: 640 / 28 = 22.9 and 480 / 28 = 17.1 patches; 640 / 32 = 20 and 480 / 32 = 15
        ("vllm/Qwen/Qwen2.5-VL-7B-Instruct", 640, 480, 23 * 17, 0),
        ("openai-api/my-box/Qwen/Qwen3-VL-8B-Instruct", 640, 480, 20 * 15, 0),
        ("openai-api/my-box/m", 640, 480, 1000, 0),
    ],
)
def test_tokens_of_an_image_follow_the_published_rules(
    model: str, width: int, height: int, tokens: int, tolerance: float
) -> None:
    assert image_tokens(model, width, height) == pytest.approx(tokens, rel=tolerance)


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "openai/gpt-4.1-nano", "a/claude", "google/gemini-2.5", "v/qwen3-vl"]
)
def test_extreme_images_cost_at_least_a_token(model: str) -> None:
    for width, height in ((1, 1), (1, 30_000), (30_000, 1), (20_000, 20_000)):
        assert 1 <= image_tokens(model, width, height) < 10**6


# Limits


def test_each_limit_is_named_with_the_numbers_and_the_ways_out() -> None:
    limits = Limits("https://x.test", images=4, image_bytes=3 * MB, image_px=800, crowd=(2, 200), request_bytes=9 * MB)
    small, wide = ImageSize(10, 200, 100), ImageSize(10, 100, 800)
    large = ImageSize(3 * MB, 100, 100)  # 4 MB as base64 text
    assert limit_fault(limits, [small] * 4, 0) is None
    assert limit_fault(limits, [wide, large], 5 * MB - 16) is None
    for images, text_bytes, numbers, advice in (
        ([small] * 5, 0, "5 images, at most 4", "max_images=4"),
        ([replace(wide, height=801)], 0, "801 px in 1 images, at most 800", "max_px=800"),
        ([small, small, wide], 0, "800 px in 3 images, at most 200", "max_px=200"),
        ([replace(large, bytes=4 * MB)], 0, "4.0 MB, at most 3", "smaller ?max_px="),
        ([large, large], 2 * MB, "10.0 MB in 2 images, at most 9", "shots="),
    ):
        fault = limit_fault(limits, images, text_bytes) or ""
        assert numbers in fault
        assert advice in fault
        assert "https://x.test" in fault


def test_limits_are_found_by_provider_and_unknown_for_other_servers() -> None:
    assert limits_of("anthropic/bedrock/claude").image_bytes == 5 * MB * 3 // 4
    assert limits_of("openai/azure/gpt-4o") == OPENAI != limits_of("openai-api/my-box/m") == Limits()
    assert limits_of("vllm/Qwen/Qwen3-VL") == Limits()
    assert "gif" not in GOOGLE.formats


# Formats


@pytest.mark.parametrize(
    ("mode", "format", "limits"),
    [
        ("RGB", "BMP", OPENAI), ("RGB", "TIFF", OPENAI), ("RGBA", "TIFF", ANTHROPIC), ("L", "BMP", ANTHROPIC),
        ("P", "BMP", OPENAI), ("P", "PNG", OPENAI), ("1", "PNG", OPENAI), ("I;16", "PNG", OPENAI),
        ("I;16", "TIFF", OPENAI), ("CMYK", "JPEG", OPENAI), ("P", "GIF", GOOGLE),
        ("RGB", "WEBP", limits_of("grok/m")),
    ],
)  # fmt: skip
def test_an_image_that_is_not_accepted_becomes_a_png_of_the_same_pixels(
    tmp_path: Path, mode: str, format: str, limits: Limits
) -> None:
    folder = MediaFolder(tmp_path / "set")
    image = (
        Image.fromarray(PIXELS[..., 0].astype(np.uint16)) if mode == "I;16" else Image.fromarray(PIXELS).convert(mode)
    )
    media = stored(folder, image, format)
    run = MediaFolder(tmp_path / "run", folder)
    form = sent_form(media, run, limits, None)
    assert (form.format, form.width, form.height) == ("png", 8, 6)
    with run.open(form) as png, folder.open(media) as original:
        assert png.mode == ("RGBA" if mode == "RGBA" else "RGB")
        assert np.array_equal(np.asarray(png), np.asarray(original.convert(png.mode)))
    (line,) = (tmp_path / "run" / SENT_LOG).read_text().splitlines()
    names = {"stored": media.path.split("/")[1], "sent": form.path.split("/")[1]}
    assert json.loads(line) == {**names, "px": [8, 6], "version": 1}
    assert sent_form(media, run, limits, None) == form
    assert len((tmp_path / "run" / SENT_LOG).read_text().splitlines()) == 1, "converted once"


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_an_image_is_sent_as_stored_unless_it_moves(format: str, tmp_path: Path) -> None:
    folder, image = MediaFolder(tmp_path), Image.fromarray(PIXELS)
    still = stored(folder, image, format)
    moving = stored(folder, image, format, save_all=True, append_images=[image.rotate(180)])
    assert sent_form(still, folder, OPENAI, None) is still
    with folder.open(sent := sent_form(moving, folder, OPENAI, None)) as frame:
        assert (sent.format, getattr(frame, "is_animated", False)) == ("png", False)


def test_a_transparent_palette_stays_transparent(tmp_path: Path) -> None:
    folder = MediaFolder(tmp_path)
    media = stored(folder, Image.fromarray(PIXELS).convert("P"), "PNG", transparency=0)
    with folder.open(sent_form(media, folder, OPENAI, None)) as png, folder.open(media) as original:
        assert np.array_equal(np.asarray(png), np.asarray(original.convert("RGBA")))


@pytest.mark.parametrize(("mode", "profile"), [("CMYK", None), ("RGB", b"of a screen")])
def test_a_profile_of_inks_is_not_sent(mode: str, profile: bytes | None, tmp_path: Path) -> None:
    folder = MediaFolder(tmp_path)
    media = stored(folder, Image.fromarray(PIXELS).convert(mode), "TIFF", icc_profile=profile or b"of inks")
    with folder.open(sent_form(media, folder, OPENAI, None)) as png:
        assert png.info.get("icc_profile") == profile


@contextmanager
def served(answer: Any = "A", **settings: str) -> Iterator[tuple[ChatSubject, StubServer]]:
    with StubServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIMITS_API_KEY", "k")
        patch.setenv("LIMITS_BASE_URL", server.url)
        subject = make_chat("openai-api/limits/m", settings)
        assert isinstance(subject, ChatSubject)
        yield replace(subject, first_wait=0.01), server


def ask(subject: ChatSubject, folder: MediaFolder, *parts: str | Media) -> str:
    return asyncio.run(subject.answer(Prompt(parts, ()), folder, np.random.default_rng(0))).text


def test_large_images_are_made_smaller_and_others_sent_as_stored(tmp_path: Path) -> None:
    folder, image = MediaFolder(tmp_path), Image.fromarray(RNG.integers(0, 256, (60, 200, 3), np.uint8))
    large, small, bmp = stored(folder, image, "JPEG"), stored(folder, image.crop((0, 0, 64, 9)), "PNG"), stored(
        folder, Image.fromarray(PIXELS), "BMP"
    )  # fmt: skip
    with served(max_px="64") as (subject, server):
        ask(subject, folder, "one", large, small, bmp)
    first, second, third = server.requests[0].images
    with Image.open(io.BytesIO(first)) as sent, folder.open(large) as original:
        assert (sent.format, sent.size) == ("PNG", (64, 19))
        assert sent.size == sent_size((200, 60), 64)
        assert np.array_equal(np.asarray(sent), np.asarray(original.resize((64, 19), Image.Resampling.LANCZOS)))
    assert second == folder.read(small)
    with Image.open(io.BytesIO(third)) as sent:
        assert (sent.format, sent.size) == ("PNG", (8, 6))
    urls = [part["image_url"]["url"] for part in server.requests[0].messages[0]["content"][1:]]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    assert "max_px" not in json.dumps({**server.requests[0].body, "messages": []})


def test_the_largest_side_is_part_of_name_and_fingerprint_and_the_form_is_described() -> None:
    with served() as (plain, _), served(max_px="64") as (smaller, _):
        assert smaller.card.name == f"{plain.card.name}?max_px=64"
        assert smaller.card.fingerprint() != plain.card.fingerprint()
        assert plain.card.attributes["images"] == "gif, jpg, png, webp as stored, others as 8-bit PNG (version 1)"


def test_a_file_of_several_jpegs_is_sent_as_a_jpeg(tmp_path: Path) -> None:
    """Cameras of phones write such files (MPO): a JPEG file with more images behind it."""
    folder, image = MediaFolder(tmp_path), Image.fromarray(PIXELS)
    media = stored(folder, image, "MPO", save_all=True, append_images=[image])
    with served() as (subject, server):
        ask(subject, folder, media)
    assert server.requests[0].images == [folder.read(media)]
    assert server.requests[0].messages[0]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;")


# Refused before anything is rendered or asked


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("vllm/Qwen/Qwen2.5-VL-7B-Instruct", "VLLM_BASE_URL"), ("sglang/m", "SGLANG_BASE_URL"),
        ("bedrock/m", "aiobotocore"), ("anthropic/claude-x", "nthropic"), ("google/gemini-x", "oogle"),
        ("mistral/m", "istral"), ("groq/m", "roq"), ("together/m", "TOGETHER_API_KEY"),
        ("openrouter/a/b", "OPENROUTER_API_KEY"),
    ],
)  # fmt: skip
def test_a_missing_key_address_or_package_is_one_line(
    name: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ("ANTHROPIC", "GOOGLE", "MISTRAL", "GROQ", "TOGETHER", "OPENROUTER")
    for variable in ("VLLM_BASE_URL", "SGLANG_BASE_URL", *(f"{key}_API_KEY" for key in keys)):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(SnellenError, match=word) as caught:
        make_chat(name, {})
    line = str(caught.value)
    assert line.startswith(f"chat:{name}: ")
    assert not any(mark in line for mark in ("\n", "[bold]", "attempt"))
    assert capsys.readouterr().out == ""


def test_markup_is_removed_and_other_brackets_stay() -> None:
    message = "[bold]ERROR[/bold]: Install with:\n\n[bold]pip install vllm[/bold], not a[image] or [1, 2] [/]"
    assert plain_text(message) == "Install with: pip install vllm, not a[image] or [1, 2]"


class ServiceError(Exception):
    """An error with a status, as clients raise it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status_code = status


GOOGLE_QUOTA = "429 RESOURCE_EXHAUSTED. {'error': {'message': 'You exceeded your current quota. Quota exceeded, limit: "


@pytest.mark.parametrize(
    ("status", "text", "is_lasting"),
    [
        (429, "Error code: 429 - {'error': {'code': 'insufficient_quota'}}", True),
        (429, "Error code: 429 - {'error': {'code': 'rate_limit_exceeded'}}", False),
        (400, "Your credit balance is too low to access the Anthropic API.", True),
        (402, "Payment required", True),
        (429, GOOGLE_QUOTA + "0, model: gemini-x\\nPlease retry in 36s'}}", True),
        (429, GOOGLE_QUOTA + "15, model: gemini-x\\nPlease retry in 36s'}}", False),
        (400, "API key not valid. Please pass a valid API key.", True),
    ],
)
def test_spent_money_is_lasting_and_a_rate_limit_is_not(status: int, text: str, is_lasting: bool) -> None:
    outcome = trouble(ServiceError(status, text), provider_says=True)
    assert (outcome.is_lasting, outcome.again) == (is_lasting, not is_lasting)


def test_a_server_without_a_reply_is_named_without_the_rest_of_its_address() -> None:
    request: Any = httpx.Request("GET", "http://user:secret@127.0.0.1:9/v1/models?key=secret")
    outcome = trouble(httpx.ReadError("closed", request=request), provider_says=True)
    assert outcome.reason == "ReadError: closed (http://127.0.0.1:9)"
    assert trouble(httpx.ConnectError("refused")).reason == "ConnectError: refused"


def test_the_first_question_finds_a_spent_quota_with_one_request() -> None:
    error = {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}
    with served(Status(429, error=error)) as (subject, server):
        with pytest.raises(
            SnellenError, match=r"chat:openai-api/limits/m: 429 .*exceeded your current quota"
        ) as caught:
            Preflight().check([subject])
        assert server.count == 1
    assert "\n" not in str(caught.value)


def test_a_package_missed_at_the_first_call_is_lasting_and_without_markup() -> None:
    class PrerequisiteError(Exception):
        pass

    outcome = trouble(PrerequisiteError("[bold]ERROR[/bold]: Install with:\n\n[bold]pip install x[/bold]"), True)
    assert (outcome.is_lasting, outcome.again) == (True, False)
    assert outcome.reason == "PrerequisiteError: Install with: pip install x"


def test_a_server_of_one_image_is_quoted() -> None:
    error = {"message": "At most 1 image(s) may be provided in one request.", "type": "BadRequestError", "code": 400}
    with served(Status(400, error=error)) as (subject, _), pytest.raises(CallFailed, match=r"^400 .*At most 1 image"):
        ask(subject, MediaFolder(Path()), "q")


# Requests


class AnyServer(BaseHTTPRequestHandler):
    """Records every request, and answers like OpenAI's Responses API."""

    paths: list[str]
    bodies: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.paths.append(self.path)
        self.bodies.append(body)
        text = {"type": "output_text", "text": "A", "annotations": []}
        message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        reply = {
            "id": "r", "object": "response", "created_at": 0, "status": "completed", "model": body["model"],
            "output": [message], "parallel_tool_calls": False, "tool_choice": "none", "tools": [],
        }  # fmt: skip
        raw = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_error(404)

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing."""


@pytest.mark.parametrize("model", ["gpt-5-codex", "codex-mini-latest"])
def test_no_request_is_made_beside_ours(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model layer would first ask whether the account may have summaries of the reasoning."""
    AnyServer.paths, AnyServer.bodies = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), AnyServer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    try:
        subject = make_chat(f"openai/{model}", {"temperature": "none"})
        assert isinstance(subject, ChatSubject)
        assert [ask(subject, MediaFolder(Path()), word) for word in ("one", "two")] == ["A", "A"]
    finally:
        server.shutdown()
        server.server_close()
    assert AnyServer.paths == ["/v1/responses"] * 2
    assert [body["input"][-1]["content"][0]["text"] for body in AnyServer.bodies] == ["one", "two"]
    assert all("summary" not in body.get("reasoning", {}) for body in AnyServer.bodies)
