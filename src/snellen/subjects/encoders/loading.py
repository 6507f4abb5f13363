"""Loading what is heavy: once, quietly, with a clear word where it is missing; and looking with one processor."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock, current_thread, main_thread
from typing import Any, ParamSpec, TypeVar

from snellen.core.errors import SnellenError

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


def once(load: Callable[P, T]) -> Callable[P, T]:
    """Keep what was loaded; a second thread waits for the first instead of loading too."""
    kept = functools.cache(load)

    @functools.wraps(load)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        with _LOADING:
            return kept(*args, **kwargs)  # type: ignore[arg-type]  # hashable, or the call fails

    return wait


@once
def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read once a process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packaged(module: str) -> Any:
    """A module of the `models` extra. Raises SnellenError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SnellenError(f"{error}; this encoder needs an extra: pip install 'snellen[models]'") from error


@contextmanager
def transformers_quietly() -> Iterator[Any]:
    """The module transformers, without its bars of progress: ours are enough."""
    transformers = packaged("transformers")
    told = transformers.utils.logging
    before = told.is_progress_bar_enabled()
    told.disable_progress_bar()
    try:
        yield transformers
    finally:
        if before:
            told.enable_progress_bar()


@contextmanager
def looking() -> Iterator[None]:
    """Without gradients, and without threads of torch's own.

    Several batches at a time already keep all processors busy, and torch's threads wait for each other without sleep:
    with two of them on two busy processors one picture took ten times as long as with one.
    """
    import torch

    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)  # of this thread only
    try:
        with torch.inference_mode():
            yield
    finally:
        if before > 1 and current_thread() is main_thread():
            torch.set_num_threads(before)
