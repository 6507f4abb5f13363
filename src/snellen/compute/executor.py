"""The executor of shards: processes of this machine, or tasks of a Ray cluster.

The cluster is that of `RAY_ADDRESS`, one running on this machine, or a new one. This is the only module that imports
ray. Ray places tasks and starts workers. This module checks for shared folders and equal code, and repeats and reports
shards whose worker died.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.hashing import digest
from snellen.core.plain_text import short_reason
from snellen.core.storage.files import cannot_write
from snellen.core.storage.home import home
from snellen.core.storage.trees import code_digest
from snellen.core.storage.versions import versions

Work = TypeVar("Work")
Result = TypeVar("Result")

EXECUTORS = ("local", "ray")
RETRIES = 3
"""Repeats of a shard whose worker died; limited, since a shard may kill its worker each time."""
NAMED_SHARDS = 5
"""Repeated shards named in the final message."""
CONNECT_SECONDS = 20.0
ENVIRONMENT = ("DRJIT_LIBLLVM_PATH", "HF_", "TRANSFORMERS_")
"""Prefixes of environment variables passed to workers; API keys are not."""


_clusters: list[RayCluster] = []


def cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cluster() -> RayCluster | None:
    """The current cluster; None for this machine."""
    return _clusters[-1] if _clusters else None


@contextmanager
def executing(name: str, folders: Sequence[Path] = (), workers: int | None = None) -> Iterator[None]:
    """Make `map_shards` use this executor (`local` or `ray`) within the block.

    `folders` are those that workers read or write, in addition to the home and the current folder; machines must share
    them. `workers` is the number of simultaneous shards in a cluster; None means one per core. A cluster is joined at
    the first shard and left at the end; a new one is also shut down. Raises SnellenError for another name, a missing
    package, an unreachable cluster, and folders that are not shared.
    """
    if name not in EXECUTORS:
        raise SnellenError(f"--executor {name!r}: choose one of {', '.join(EXECUTORS)}")
    if name == "local":
        yield
        return
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise SnellenError(f"--executor ray: the package ray is missing; {install_command('cluster')}") from error
    current = RayCluster(ray, (home(), Path.cwd(), *folders), workers)
    _clusters.append(current)
    try:
        yield
    finally:
        _clusters.remove(current)
        current.leave()


@dataclass(frozen=True)
class Site:
    """Facts that each worker checks before its first shard: current folder, probe files, `environment_digest`."""

    current_folder: Path
    probes: tuple[Path, ...]
    environment: str


@dataclass
class RayCluster:
    """A Ray cluster, with the names of repeated shards. Its machines share the folders that shards read and write."""

    ray: Any
    folders: Sequence[Path]
    workers: int | None
    repeated: list[str] = field(default_factory=list)
    _probes: list[Path] = field(default_factory=list)
    _site: Site | None = None
    _is_own: bool = False

    def outcomes(
        self, function: Callable[[Work], Result], works: Sequence[Work], names: Sequence[str], gpus: int
    ) -> Generator[tuple[int, Callable[[], Result]]]:
        """(index, outcome) of each work as it ends; the outcome returns the result or raises the function's error.

        Each work takes one core and `gpus` GPUs. If its worker dies, it is repeated elsewhere; if that keeps happening,
        its outcome raises BrokenExecutor. Closing the iterator ends running work.
        """
        site = self._site or self._join()
        limit = self._limit(gpus)
        task = self.ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(_do)
        waiting, lives, under_way = list(reversed(range(len(works)))), Counter[int](), dict[Future[Result], Any]()
        try:
            while waiting or under_way:
                while waiting and len(under_way) < limit:
                    index = waiting.pop()
                    reference = task.remote(site, function, works[index])
                    under_way[reference.future()] = index, reference
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    index, _ = under_way.pop(future)
                    if self._is_lost(future) and lives[index] < RETRIES:
                        lives[index] += 1
                        self.repeated.append(names[index])
                        waiting.append(index)
                    else:
                        yield index, functools.partial(self._take, future)
        finally:
            for _, reference in under_way.values():
                self.ray.cancel(reference, force=True)

    def _join(self) -> Site:
        """Join the cluster, or start one here, and write probe files for its workers."""
        logging.getLogger("ray").setLevel(logging.ERROR)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not self.ray.is_initialized():
            with _signals_as_they_were():
                self._is_own = True
                self._init()
            # Ray would print about dead workers to stdout, into a command's output.
            with suppress(ImportError):
                vars(importlib.import_module("ray._private.worker"))["print_to_stdstream"] = lambda *lines, **prefix: (
                    None
                )
        home().mkdir(parents=True, exist_ok=True)
        probe = f".snellen-{secrets.token_hex(8)}"
        for folder in self.folders:
            self._probes.append(_leave_probe(folder, probe))
        self._site = Site(Path.cwd(), tuple(self._probes), environment_digest())
        return self._site

    def _init(self) -> None:
        variables = {name: text for name, text in os.environ.items() if name.startswith(ENVIRONMENT)}
        quiet = {"log_to_driver": False, "configure_logging": False}
        how = quiet | {"runtime_env": {"env_vars": variables | {"SNELLEN_HOME": str(home())}}}
        address = os.environ.get("RAY_ADDRESS")
        try:
            _refuse_silence(address or "")
            try:
                self.ray.init(address=address or "auto", **how)
            except ConnectionError:
                if address:
                    raise
                self.ray.init(address="local", num_cpus=self.workers or cores(), include_dashboard=False, **how)
        except (OSError, RuntimeError, ValueError) as error:
            location = f"the cluster at RAY_ADDRESS={address}" if address else "a Ray cluster on this machine"
            raise SnellenError(
                f"--executor ray: {location} cannot be used ({short_reason(str(error))}); see `ray status` there"
            ) from error

    def _limit(self, gpus: int) -> int:
        """Maximum number of simultaneous shards."""
        resources = self.ray.cluster_resources()
        cores, devices = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
        if gpus and devices < gpus:
            raise SnellenError("--executor ray: a shard needs a GPU, but the cluster has none; leave out cuda")
        if not cores:
            raise SnellenError("--executor ray: no machine in the cluster offers a core; see `ray status`")
        return self.workers or (min(cores, devices // gpus) if gpus else cores)

    def _is_lost(self, future: Future[Any]) -> bool:
        """True if the worker, or the machine that kept the result, died."""
        errors = self.ray.exceptions
        lost = errors.WorkerCrashedError, errors.NodeDiedError, errors.LocalRayletDiedError
        return isinstance(future.exception(), (*lost, errors.OutOfMemoryError, errors.ObjectLostError))

    def _take(self, future: Future[Result]) -> Result:
        """The result; raises the worker's error."""
        if self._is_lost(future):
            raise BrokenExecutor(f"{RETRIES + 1} workers died") from future.exception()
        try:
            return future.result()
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause or error
            if isinstance(cause, self.ray.exceptions.RaySystemError):  # the function could not be unpickled there
                raise SnellenError(
                    f"--executor ray: a worker cannot start ({short_reason(str(cause), 80)}); start Ray on every "
                    f"machine from an environment with this version of Snellen"
                ) from error
            raise cause from error

    def leave(self) -> None:
        """Remove the probe files, leave the cluster, and report repeated shards."""
        for probe in self._probes:
            probe.unlink(missing_ok=True)
        if self._is_own:
            self.ray.shutdown()
        if self.repeated:
            names = ", ".join(self.repeated[:NAMED_SHARDS]) + (" …" if len(self.repeated) > NAMED_SHARDS else "")
            count = len(self.repeated)
            sys.stderr.write(f"snellen: shards repeated elsewhere, since their worker died: {count} ({names})\n")


def _refuse_silence(address: str) -> None:
    """Raise OSError if nothing listens at HOST:PORT; Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


def _leave_probe(folder: Path, name: str) -> Path:
    """Create an empty file of that name in the folder, or in its nearest parent that exists."""
    existing = next(parent for parent in (folder.resolve(), *folder.resolve().parents) if parent.is_dir())
    probe = existing / name
    try:
        probe.touch()
    except OSError as error:
        raise cannot_write(probe, error) from error
    return probe


@contextmanager
def _signals_as_they_were() -> Iterator[None]:
    """Restore signal handlers that ray replaces, so that the command stops in an orderly way."""
    is_main = threading.current_thread() is threading.main_thread()
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if is_main else {}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _do(site: Site, function: Callable[[Work], Result], work: Work) -> Result:
    """On a worker: run a shard."""
    enter(site)
    return function(work)


def environment_digest() -> str:
    """A digest of this package's code and of the versions of its libraries."""
    return digest([code_digest(), versions()])


@functools.cache
def enter(site: Site) -> None:
    """On a worker, once: check for shared folders and equal code, and change to the command's folder.

    Raises SnellenError for a folder that is not shared, and for other code.
    """
    host = socket.gethostname()
    for probe in site.probes:
        if not probe.exists():
            raise SnellenError(
                f"--executor ray: {probe.parent} is not the same folder on {host}; the machines of a cluster must "
                f"share SNELLEN_HOME, --out and the working directory: put them on a shared disk"
            )
    if environment_digest() != site.environment:
        raise SnellenError(
            f"--executor ray: {host} has a different version of Snellen or of a library; install the "
            f"same versions there"
        )
    os.chdir(site.current_folder)
