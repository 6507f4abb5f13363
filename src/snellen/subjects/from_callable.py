"""User-defined subjects: any callable from parts to text."""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Item, Media
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder, open_image
from snellen.core.subject import Base, Subject, SubjectCard

if TYPE_CHECKING:
    from PIL import Image

AnswerFunction = Callable[["list[str | Image.Image]"], Any]
"""Maps parts (texts, and opened images whose `filename` is the stored file) to the reply's text or its coroutine."""


@dataclass(frozen=True)
class PythonSubject(Base):
    """A callable as a subject. An exception is a failed call, never an answer."""

    function: AnswerFunction = str

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Call it; a plain function runs in a thread, so that calls may overlap."""
        opened_parts: list[str | Image.Image] = []
        for turn in prompt.history:
            opened_parts += [self._open(part, media) for part in turn.parts] + [turn.reply]
        opened_parts += [self._open(part, media) for part in prompt.parts]
        try:
            if inspect.iscoroutinefunction(self.function):
                text = await self.function(opened_parts)
            else:
                text = await asyncio.to_thread(self.function, opened_parts)
                if inspect.isawaitable(text):
                    text = await text
        except Exception as error:  # user code may raise anything; all of it is a failed call
            raise CallFailed(f"{type(error).__name__}: {error}{location_of(error)}") from error
        if not isinstance(text, str):
            raise CallFailed(f"returned {type(text).__name__} instead of a text")
        return Reply(text)

    @staticmethod
    def _open(part: Any, media: MediaFolder) -> Any:
        if isinstance(part, str):
            return part
        assert isinstance(part, Media)

        media.read(part)  # checks the hash
        return open_image(media.find(part))


def location_of(error: Exception) -> str:
    """The last line of the user's file that an error passed through, if any.

    The user's file is that of the first frame outside this package, asyncio and importlib; libraries may have raised
    the error further down.
    """
    modules = asyncio, concurrent.futures, importlib
    folders = [Path(__file__).parents[1], *(Path(inspect.getfile(module)).parent for module in modules)]
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames if not frame.filename.startswith(("<frozen ", *map(str, folders)))]
    if not foreign:
        return ""
    last = [frame for frame in foreign if frame.filename == foreign[0].filename][-1]
    return f" ({Path(last.filename).name}, line {last.lineno}: {last.line})"


def code_digest(function: Any) -> str:
    """The first digits of SHA-256 of a Python function's bytecode and constants; empty for other callables.

    Values that the function takes from outside, such as weights, are not part of it.
    """
    code = getattr(function, "__code__", None)
    return hashlib.sha256(_code_text(code).encode()).hexdigest()[:12] if code else ""


def _code_text(code: Any) -> str:
    """Bytecode, names and constants as text, the same in every process."""
    return repr((code.co_code, code.co_names, [_constant_text(part) for part in code.co_consts]))


def _constant_text(part: Any) -> str:
    """A constant as text: of inner functions the code, not the address; sets sorted, since their order varies."""
    if isinstance(part, CodeType):
        return _code_text(part)
    if isinstance(part, tuple | frozenset):
        texts = [_constant_text(entry) for entry in part]
        return repr(sorted(texts) if isinstance(part, frozenset) else texts)
    return repr(part)


def wrap(function: AnswerFunction, name: str | None = None) -> Subject:
    """A callable as a subject, e.g. `wrap(lambda parts: "A")`.

    Its settings hold a digest of the function's code: an edited function does not get the answers of an earlier run.
    """
    function_name = getattr(function, "__qualname__", type(function).__name__)
    full_name = name or f"py:{getattr(function, '__module__', '?')}:{function_name}"
    settings = {"code": code} if (code := code_digest(function)) else {}
    card = SubjectCard(full_name, settings=settings, max_concurrency=4, accepts=frozenset({"image"}))
    return cast(Subject, PythonSubject(card, function))


def make_python_subject(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Subject:
    """`MODULE:FACTORY`: import the module (also from the working folder), call the factory with the settings.

    The factory returns a subject, or a callable from parts to text. Raises SnellenError if it is missing or fails.
    """
    module, colon, factory = name.partition(":")
    if not colon:
        raise SnellenError(f"py:{name}: write py:MODULE:FACTORY")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        product = getattr(importlib.import_module(module), factory)(**settings)
    except Exception as error:  # user code may raise anything
        reason = f"{type(error).__name__}: {error}{location_of(error)}"
        raise SnellenError(f"py:{name}: cannot be made ({reason})") from error
    if hasattr(product, "answer") and hasattr(product, "card"):
        return cast(Subject, product)
    if not callable(product):
        raise SnellenError(
            f"py:{name}: the factory returned {type(product).__name__}, neither a subject nor a callable"
        )
    label = f"py:{name}" + ("?" + "&".join(f"{k}={v}" for k, v in settings.items()) if settings else "")
    return wrap(product, label)
