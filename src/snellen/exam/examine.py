"""An examination in one call: find or build the items, ask the subject, score."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from snellen.core.errors import SnellenError
from snellen.core.options import taking
from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import Subject
from snellen.exam.examination import Examination
from snellen.exam.session import AskingOptions, check, sessions
from snellen.runs.planning.options import MAX_ITEMS, RunOptions

if TYPE_CHECKING:
    from snellen.subjects.from_callable import AnswerFunction

P = ParamSpec("P")
R = TypeVar("R")


@taking(RunOptions)
def run(
    subjects: str | Subject | Sequence[str | AnswerFunction | Subject],
    itemset: str | Path | ItemSet,
    options: RunOptions,
) -> Examination:
    """Ask subjects about an item set, as `snellen run` does, and score the replies.

    Args:
        subjects: A name, a callable from parts (texts and images) to text, a subject, or a list of these.
        itemset: A suite, a folder with an item set, or an item set.
        options: Those of `snellen run`.
        show_progress: Whether to show progress on standard error.

    Returns:
        The finished run.

    Raises:
        SnellenError: For unknown names, missing keys, or two subjects of one name.

    >>> run(["fake:chance"], "combo", limit=2).grades()  # doctest: +SKIP

    """
    try:
        return _examine(subjects, itemset, options.out, AskingOptions(**vars(options)))[0]
    except SnellenError as error:
        raise error.with_traceback(None) from None  # the message says it all; in a notebook 200 lines hide it


def examine(
    subject: str | AnswerFunction | Subject | Sequence[str | AnswerFunction | Subject],
    itemset: str | Path = "combo",
    *,
    condition: str = "vanilla",
    out: str | Path | None = None,
    limit: int | None = None,
    until_decided: bool = False,
    max_items: int = MAX_ITEMS,
    show_progress: bool = True,
    after_call: Callable[[], None] = lambda: None,
) -> Examination:
    """Examine one subject or several. This works in a notebook too.

    Args:
        subject: A name such as `chat:openai/gpt-4o`, a callable from parts (texts and images) to text, a subject such
            as `snellen.encoder(…)`, or a list of these. Named subjects resume; callables and encoders made of functions
            are asked again each time, in a new folder, unless `out` is given. Then answers there are reused, of an
            encoder if its vectors are still the same, of a callable if its own code is, and a line says so.
        itemset: A suite, or a folder with an item set. The generated set of a suite is built on first use.
        condition: Changes of presentation, e.g. `images=none`.
        out: Folder of the run. Default: a folder in `runs` named after items and subjects.
        limit: Maximum number of test items per task.
        until_decided: Ask each task only until it is decided whether its grade is *none* or better.
        max_items: The most items asked of a task with `until_decided`.
        show_progress: Whether to show progress on standard error.
        after_call: Called after each call; it may end the run by an error.

    Returns:
        The finished run.

    Raises:
        SnellenError: For unknown names, missing keys, or two subjects of one name.

    >>> examine(lambda parts: "A", "combo").report()  # doctest: +SKIP

    """
    calls = itertools.count()

    def count_call() -> None:
        next(calls)
        after_call()

    options = AskingOptions(
        conditions=(condition,), limit=limit, until_decided=until_decided, max_items=max_items,
        show_progress=show_progress, after_call=count_call,
    )  # fmt: skip
    try:
        examination, from_code = _examine(subject, itemset, out, options)
    except SnellenError as error:
        raise error.with_traceback(None) from None  # the message says it all; in a notebook 200 lines hide it
    if from_code and next(calls) == 0:
        sys.stderr.write(
            f"snellen: nothing was asked, since {examination.root} holds these answers; another out= asks again\n"
        )
    return examination


def _examine(
    subjects: Any, itemset: str | Path | ItemSet, out: str | Path | None, options: AskingOptions
) -> tuple[Examination, bool]:
    """The examination, and whether some subject is code, which may have changed since an earlier one."""
    from snellen.subjects.from_callable import wrap

    encoders = sys.modules.get("snellen.subjects.encoders.from_function")  # imported by whoever has such an encoder
    given = list(subjects) if isinstance(subjects, list | tuple) else [subjects]
    subjects = [wrap(entry) if _is_callable(entry) else entry for entry in given]
    from_code = any(map(_is_callable, given))
    if encoders is not None:
        subjects = [encoders.as_it_is_now(subject) for subject in subjects]
        from_code = from_code or any(map(encoders.is_function_encoder, given))
    folder = None if out is None else Path(out)
    (session,) = sessions([itemset], subjects, options, [folder])
    check([session])
    if from_code and folder is None:
        session = replace(session, is_code=True).opened()
        session = replace(session, itemset=session.items, folder=unused_folder(session.root))
    return session.examine(), from_code


def unused_folder(folder: Path) -> Path:
    """The folder, or the first of `FOLDER-2`, `FOLDER-3`, … that does not exist."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], numbered) if not path.exists())


def _is_callable(subject: Any) -> bool:
    """True for a callable from parts to text."""
    return callable(subject) and not hasattr(subject, "answer")


def _as_coroutine(function: Callable[P, R]) -> Callable[[Callable[..., Any]], Callable[P, Coroutine[Any, Any, R]]]:
    """Give a coroutine function the parameters of `function` and the lines that explain them."""

    def decorate(coroutine: Callable[..., Any]) -> Callable[P, Coroutine[Any, Any, R]]:
        arguments = (inspect.getdoc(function) or "").partition("Args:")[2].partition("Returns:")[0]
        wrapped = functools.wraps(coroutine)(lambda *args, **keywords: coroutine(*args, **keywords))
        wrapped.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        wrapped.__doc__ = f"{inspect.getdoc(coroutine)}\n\nArgs:{arguments}"
        return wrapped

    return decorate


@_as_coroutine(examine)
async def aexamine(subject: Any, *itemset: str | Path, **options: Any) -> Examination:
    """`examine` as a coroutine, which leaves its event loop free for other work.

    A coroutine function as the subject is called in that loop, with its clients. After cancellation no more calls are
    made, running ones are recorded, and the same call of a named subject continues.
    """
    loop, cancelled = asyncio.get_running_loop(), threading.Event()
    after_call = options.pop("after_call", lambda: None)

    def stop_if_cancelled() -> None:
        if cancelled.is_set():
            raise SnellenError("cancelled; the same call continues from here")
        after_call()

    if inspect.iscoroutinefunction(subject):
        subject = _called_in(loop, subject)
    work = asyncio.ensure_future(asyncio.to_thread(examine, subject, *itemset, after_call=stop_if_cancelled, **options))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([work])
        raise


def _called_in(loop: asyncio.AbstractEventLoop, function: AnswerFunction) -> AnswerFunction:
    """A coroutine function whose coroutines run in `loop`, whichever loop awaits them."""

    @functools.wraps(function)
    async def answer(parts: list[Any]) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(parts), loop))

    return answer
