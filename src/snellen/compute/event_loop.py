"""An event loop for a coroutine, also where another one runs already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it returns, by `asyncio.run`; in a thread of its own where a loop runs in this one, which waits for it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, "snellen") as pool:
        return pool.submit(asyncio.run, coroutine).result()
