"""An examination in one call: find or build the items, ask the subject, score."""

from __future__ import annotations

import asyncio
import functools
import inspect
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    subject: str | AnswerFunction | Subject,
    itemset: str | Path = "combo",
    *,
    condition: str = "vanilla",
    out: str | Path | None = None,
    limit: int | None = None,
    show_progress: bool = True,
    after_call: Callable[[], None] = lambda: None,
) -> Examination:
    """Examine one subject: a spec such as `chat:openai/gpt-4o`, a callable from parts to text, or a subject.

    `itemset` is a suite or a folder with an item set; this and `out` may be URLs (docs/remote.md). A callable is asked
    again each time; a named subject resumes. This works in a notebook too. `after_call` may end the run by an error.

    >>> examine(lambda parts: "A", "combo").report()  # doctest: +SKIP
    """
    from snellen.subjects.from_callable import wrap

    is_callable = callable(subject) and not hasattr(subject, "answer")
    examined: Any = wrap(subject) if is_callable else subject  # type: ignore[arg-type]  # a callable without card is one from parts to text
    ready, preflight = prepare([examined], [itemset], [condition], limit=limit)
    if out is not None and not is_url(out):
        refuse_other_run(Path(out), limit=limit, suite=suite_of_items(itemset).name)
    items = find_items(itemset, limit=limit, show_progress=show_progress)
    root = out if out is not None else run_folder(items, [examined], [condition])
    if is_callable and out is None and Path(root).exists():
        shutil.rmtree(root)  # the code of the callable may have changed
    with record_folder(root, after_call) as folder:
        return run(
            items, ready, folder.root, conditions=[condition], limit=limit, show_progress=show_progress,
            after_call=folder.after_call, preflight=preflight,
        )  # fmt: skip


async def aexamine(subject: str | AnswerFunction | Subject, itemset: str | Path = "combo", **how: Any) -> Examination:
    """`examine` as a coroutine, which leaves its event loop free for other work.

    A coroutine function is called in that loop, with its clients. After cancellation no more calls are made, running
    ones are recorded, and the same call of a named subject continues.
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
