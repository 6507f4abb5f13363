"""Where shards are done: in processes of this machine, or on a Ray cluster."""

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
    """Several machines that share the folders which shards read and write."""

    def outcomes(
        self, function: Callable[[Work], Result], works: Sequence[Work], names: Sequence[str], gpus: int
    ) -> Generator[tuple[int, Callable[[], Result]]]:
        """(index, outcome) of each work as it ends; the outcome returns the result, or raises what the function did.

        Each work takes one core and so many GPUs. One whose worker died is done again elsewhere; where that goes on,
        its outcome raises BrokenExecutor. Closing the iterator ends what is under way.
        """
        ...


_clusters: list[Cluster] = []


def cluster() -> Cluster | None:
    """Where shards are done now, None for this machine."""
    return _clusters[-1] if _clusters else None


@contextmanager
def executing(name: str, folders: Sequence[Path] = (), workers: int | None = None) -> Iterator[None]:
    """Within, `map_shards` does its shards there: `local` or `ray`.

    `folders` are those that workers read from or write to, beside the home and the current folder: machines must share
    them. `workers` is the number of shards under way in a cluster; None stands for one a core. Raises SnellenError for
    another name, a missing package, a cluster that cannot be reached, and folders that are not shared.
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
