"""The executor of shards: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from snellen.core.errors import SnellenError

Work = TypeVar("Work")
Result = TypeVar("Result")

EXECUTORS = ("local", "ray")


class Cluster(Protocol):
    """Several machines that share the folders that shards read and write."""

    def outcomes(
        self, function: Callable[[Work], Result], works: Sequence[Work], names: Sequence[str], gpus: int
    ) -> Generator[tuple[int, Callable[[], Result]]]:
        """(index, outcome) of each work as it ends; the outcome returns the result or raises the function's error.

        Each work takes one core and `gpus` GPUs. If its worker dies, it is repeated elsewhere; if that keeps happening,
        its outcome raises BrokenExecutor. Closing the iterator ends running work.
        """
        ...


_clusters: list[Cluster] = []


def cluster() -> Cluster | None:
    """The current cluster; None for this machine."""
    return _clusters[-1] if _clusters else None


@contextmanager
def executing(name: str, folders: Sequence[Path] = (), workers: int | None = None) -> Iterator[None]:
    """Make `map_shards` use this executor (`local` or `ray`) within the block.

    `folders` are those that workers read or write, in addition to the home and the current folder; machines must share
    them. `workers` is the number of simultaneous shards in a cluster; None means one per core. Raises SnellenError for
    another name, a missing package, an unreachable cluster, and folders that are not shared.
    """
    if name not in EXECUTORS:
        raise SnellenError(f"--executor {name!r}: choose one of {', '.join(EXECUTORS)}")
    if name == "local":
        yield
        return
    from snellen.compute.ray_executor import ray_cluster

    with ray_cluster(folders, workers) as current:
        _clusters.append(current)
        try:
            yield
        finally:
            _clusters.remove(current)
