"""Loads heavy modules and models once and quietly, reports missing ones clearly; single-threaded inference."""

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
from snellen.core.extras import install_command

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


def once(load: Callable[P, T]) -> Callable[P, T]:
    """Cache the result; a second thread waits for the first instead of loading too."""
    cached = functools.cache(load)

    @functools.wraps(load)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        with _LOADING:
            return cached(*args, **kwargs)  # type: ignore[arg-type]  # hashable, or the call fails

    return wait


@once
def file_sha256(path: Path) -> str:
    """SHA-256 of a file, computed once per process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def import_extra(module: str, subject: str, extra: str = "models") -> Any:
    """A module of an extra. Raises SnellenError with the install command if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SnellenError(f"{subject} needs {module} ({error}); {install_command(extra)}") from error


@contextmanager
def quiet_transformers(subject: str) -> Iterator[Any]:
    """The module transformers without its progress bars and its report of hundreds of weights."""
    transformers = import_extra("transformers", subject)
    logging = transformers.utils.logging
    before, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield transformers
    finally:
        logging.set_verbosity(verbosity)
        if before:
            logging.enable_progress_bar()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context without torch's own threads.

    Several simultaneous batches already use all processors, and torch's threads wait for each other actively: with
    two of them on two busy processors one image took ten times as long as with one.
    """
    import torch

    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)  # of this thread only
    try:
        yield
    finally:
        if before > 1 and current_thread() is main_thread():
            torch.set_num_threads(before)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context without NumPy's linear-algebra threads: for small matrices they cost ten times what they save."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


@once
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def inference() -> Iterator[None]:
    """A context without gradients and in one thread. Raises SnellenError if a GPU's memory is full."""
    import torch

    with one_thread(), torch.inference_mode(), less_memory("a smaller batch= (encoder:NAME?batch=1)"):
        yield


@contextmanager
def less_memory(hint: str) -> Iterator[None]:
    """Convert a GPU's out-of-memory error to a one-line SnellenError with a hint at what needs less."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise SnellenError(f"out of memory on the GPU; use {hint}") from error
