from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.prompt import Prompt, Turn
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.subjects.from_callable import code_digest, wrap
from snellen.subjects.registry import make_subject
from tests.helpers.journey import patch

MODULE = """
from snellen.core.subject import SubjectCard
from snellen.subjects.from_callable import PythonSubject

def echo(prefix="said"):
    return lambda parts: f"{prefix} {len(parts)}"

def whole():
    return PythonSubject(SubjectCard("own:whole"), lambda parts: "whole")

def number():
    return 3

def broken():
    import no_such_module
"""


def reply_text(function: Callable[[Any], Any], prompt: Prompt, media: MediaFolder) -> str:
    return asyncio.run(wrap(function).answer(prompt, media, stream("own"))).text


def test_a_function_gets_texts_and_opened_images_in_order(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    red, blue = patch(media, (255, 0, 0)), patch(media, (0, 0, 255))
    received: list[Any] = []

    def describe(parts: list[Any]) -> str:
        for part in parts:
            is_text = isinstance(part, str)
            received.append(part if is_text else (part.convert("RGB").getpixel((3, 3)), Path(part.filename).name))
        return "fine"

    prompt = Prompt(("which?", blue), (), (Turn((red, "look"), "I did"),))
    assert reply_text(describe, prompt, media) == "fine"
    assert received == [
        ((255, 0, 0), f"{red.sha256}.png"), "look", "I did", "which?", ((0, 0, 255), f"{blue.sha256}.png"),
    ]  # fmt: skip


def test_a_function_may_be_asynchronous(tmp_path: Path) -> None:
    async def slow(parts: list[Any]) -> str:
        await asyncio.sleep(0)
        return str(len(parts))

    assert reply_text(slow, Prompt(("a", "b"), ()), MediaFolder(tmp_path)) == "2"


def test_synchronous_functions_run_concurrently(tmp_path: Path) -> None:
    import threading

    barrier = threading.Barrier(2, timeout=10)

    def meet(parts: list[Any]) -> str:
        barrier.wait()
        return "met"

    subject, prompt = wrap(meet), Prompt(("a",), ())

    async def two() -> list[str]:
        calls = [subject.answer(prompt, MediaFolder(tmp_path), stream("own", n)) for n in range(2)]
        return [reply.text for reply in await asyncio.gather(*calls)]

    assert asyncio.run(two()) == ["met", "met"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda parts: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda parts: None, "returned NoneType instead of a text"),
        (lambda parts: Image.new("L", (1, 1)), "returned Image instead of a text"),
    ],
)
def test_an_exception_or_a_result_that_is_not_a_text_is_a_failed_call(
    tmp_path: Path, function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(CallFailed) as caught:
        reply_text(function, Prompt(("a",), ()), MediaFolder(tmp_path))
    assert message in str(caught.value)


def test_an_altered_image_stops_the_run(tmp_path: Path) -> None:
    image = patch(MediaFolder(tmp_path), (1, 2, 3))
    (tmp_path / image.path).write_bytes(b"?")
    with pytest.raises(SnellenError, match="altered"):
        reply_text(lambda parts: "fine", Prompt((image,), ()), MediaFolder(tmp_path))


def test_a_module_in_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_model_of_mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    subject = make_subject("py:some_model_of_mine:echo?prefix=heard")
    assert subject.card.name == "py:some_model_of_mine:echo?prefix=heard"
    assert asyncio.run(subject.answer(Prompt(("a",), ()), MediaFolder(tmp_path), stream("own"))).text == "heard 1"
    assert make_subject("py:some_model_of_mine:echo").card.fingerprint() != subject.card.fingerprint()
    assert make_subject("py:some_model_of_mine:whole").card.name == "own:whole"
    for spec, message in {
        "py:no_such_module_of_mine:echo": "ModuleNotFoundError",
        "py:some_model_of_mine:eko": "AttributeError",
        "py:some_model_of_mine:echo?size=3": "TypeError",
        "py:some_model_of_mine:broken": "ModuleNotFoundError",
        "py:some_model_of_mine:number": "the factory returned int",
    }.items():
        with pytest.raises(SnellenError, match=message) as caught:
            make_subject(spec)
        assert str(caught.value).startswith("py:")


def test_a_failure_names_the_last_line_of_the_user_s_own_file(tmp_path: Path) -> None:
    """Of two lines of this file, before one of a library."""

    def inner(parts: list[Any]) -> str:
        return str(json.loads("{"))

    with pytest.raises(CallFailed) as caught:
        reply_text(lambda parts: inner(parts), Prompt(("a",), ()), MediaFolder(tmp_path))
    number = inner.__code__.co_firstlineno + 1
    assert str(caught.value).endswith(f' (test_from_callable.py, line {number}: return str(json.loads("{{")))')


def test_an_edited_function_is_another_subject() -> None:
    """By its bytecode, names and constants, those of inner functions too."""
    texts = ("p", "len(p)", "max(p)", "1", "2", "lambda: 1", "lambda: 2", "p in {'a', 'b'}", "(p, 1)", "(1, p)")
    functions = [eval(f"lambda p: {text}") for text in texts]
    assert len({wrap(function, "same").card.fingerprint() for function in (*functions, len)}) == len(texts) + 1
    assert code_digest(len) == ""
    assert (wrap(len).card.name, wrap(len).card.max_concurrency) == ("py:builtins:len", 4)
