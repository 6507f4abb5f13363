"""An examination in one call: find or build the items, ask the subject, score."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.deciding import MAX_ITEMS
from snellen.core.errors import SnellenError
from snellen.core.storage.runfolder import refuse_other_run
from snellen.core.subject import Subject
from snellen.exam.items import find_items
from snellen.exam.run import Examination, prepare, run, run_folder
from snellen.remote import is_url, record_folder
from snellen.runs.generated_sets import suite_of_items

if TYPE_CHECKING:
    from snellen.subjects.from_callable import AnswerFunction


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
        itemset: A suite, or a folder or URL with an item set. The generated set of a suite is built on first use.
        condition: Changes of presentation, e.g. `images=none`.
        out: Folder or URL of the run. Default: a folder in `runs` named after items and subjects.
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
    try:
        until = {"decide": "none" if until_decided else "", "max_items": max_items}
        return _examine(subject, itemset, condition, out, limit, show_progress, after_call, until)
    except SnellenError as error:
        raise error.with_traceback(None) from None  # the message says it all; in a notebook 200 lines hide it


def _examine(
    subject: Any,
    itemset: str | Path,
    condition: str,
    out: str | Path | None,
    limit: int | None,
    show_progress: bool,
    after_call: Callable[[], None],
    until: Mapping[str, Any],
) -> Examination:
    from snellen.subjects.encoders.from_function import as_it_is_now, is_function_encoder
    from snellen.subjects.from_callable import wrap

    given: list[Any] = list(subject) if isinstance(subject, list | tuple) else [subject]
    examined: list[Any] = [wrap(one) if _is_callable(one) else as_it_is_now(one) for one in given]
    from_code = any(_is_callable(one) or is_function_encoder(one) for one in given)
    ready, preflight = prepare(examined, [itemset], [condition], limit=limit)
    if out is not None and not is_url(out):
        refuse_other_run(Path(out), limit=limit, suite=suite_of_items(itemset).name)
    items = find_items(itemset, limit=limit, show_progress=show_progress)
    root = out if out is not None else run_folder(items, examined, [condition])
    if from_code and out is None:
        root = unused_folder(Path(root))  # the code, or what it uses, may have changed
    calls = itertools.count()

    def count_call() -> None:
        next(calls)
        after_call()

    with record_folder(root) as folder:
        examination = run(
            items, ready, folder, conditions=[condition], limit=limit, **until, show_progress=show_progress,
            after_call=count_call, preflight=preflight,
        )  # fmt: skip
    if from_code and next(calls) == 0:
        sys.stderr.write(f"snellen: nothing was asked, since {root} holds these answers; another out= asks again\n")
    return examination


def unused_folder(folder: Path) -> Path:
    """The folder, or the first of `FOLDER-2`, `FOLDER-3`, … that does not exist."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], numbered) if not path.exists())


def _is_callable(subject: Any) -> bool:
    """True for a callable from parts to text."""
    return callable(subject) and not hasattr(subject, "answer")


async def aexamine(subject: str | AnswerFunction | Subject, itemset: str | Path = "combo", **how: Any) -> Examination:
    """`examine` as a coroutine, which leaves its event loop free for other work.

    A coroutine function is called in that loop, with its clients. After cancellation no more calls are made, running
    ones are recorded, and the same call of a named subject continues.

    Args:
        subject: One subject, as for `examine`; a callable may be a coroutine function.
        itemset: As for `examine`.
        how: Further arguments of `examine`.

    Returns:
        The finished run.

    """
    loop, cancelled = asyncio.get_running_loop(), threading.Event()

    def stop_if_cancelled() -> None:
        if cancelled.is_set():
            raise SnellenError("cancelled; the same call continues from here")

    if inspect.iscoroutinefunction(subject):
        subject = _called_in(loop, subject)
    work = asyncio.ensure_future(
        asyncio.to_thread(examine, subject, itemset, **{"after_call": stop_if_cancelled, **how})
    )
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
