"""Estimates of time, cost, disk space and bottleneck of a study, before anything of it is rendered or asked.

A small pilot is built with blank images and asked of local subjects, and a few images are rendered. The rest is
arithmetic, with its assumptions listed.
"""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, is_itemset
from snellen.core.subject import Base, SubjectCard
from snellen.core.suite import BuildOptions, Suite
from snellen.exam.items import find_recipe
from snellen.exam.run import run
from snellen.runs.gate import open_items
from snellen.runs.generated_sets import suite_of_items
from snellen.runs.plan import Arm, Plan
from snellen.runs.preview import CALL_CPU_S, REPLY_TOKENS, Estimate, estimates, limit_faults
from snellen.runs.selection import select_items
from snellen.stimuli.render import RenderSettings
from snellen.stimuli.render.costs import drawing_cost
from snellen.stimuli.render.image_cache import wanted_specs
from snellen.subjects.registry import make_subject, split_spec
from snellen.suites import suite_of

T = TypeVar("T")
PILOT_ITEMS, FIRST_PILOT = 10, 2
"""Items per task of the pilot (ten fill a sheet), and of a smaller one before it, to separate fixed costs."""
COMMAND_MODULES = ("snellen.exam.examine", "snellen.suites.combo", "snellen.reports.loading", "scipy.stats")
COMMAND_CPU_S = 1.0
"""Modules that every command imports first, and the CPU seconds this takes if nothing is measured."""
Kind: TypeAlias = Literal["draw", "build", "ask"]


@dataclass(frozen=True)
class Machines:
    """The machines of a study: number of equal machines, cores of each, and rendering processes on each."""

    count: int
    cores: int
    workers: int


@dataclass(frozen=True)
class RemoteService:
    """Assumptions on a remote subject: seconds per call, and prices per million tokens in and out (None: unknown)."""

    latency_s: float = 2.0
    price_in: float | None = None
    price_out: float | None = None


@dataclass(frozen=True)
class StudyStep:
    """One part of a study: a number of images, items or calls, and their costs; `money` is None without a price.

    `wall_s` is the elapsed time with all machines working.
    """

    kind: Kind
    name: str
    count: int
    unit: str
    cpu_s: float
    wall_s: float
    bytes: int = 0
    tokens_in: int = 0
    money: float | None = 0.0


@dataclass(frozen=True)
class StudyEstimate:
    """The steps of a study, and the assumptions."""

    steps: tuple[StudyStep, ...]
    assumptions: tuple[str, ...]

    @property
    def bottleneck(self) -> StudyStep:
        """The step with the longest elapsed time."""
        return max(self.steps, key=lambda step: step.wall_s)

    def total(self) -> dict[str, Any]:
        """CPU seconds, elapsed seconds (one step after another), bytes, and money: None if any is unknown."""
        money = [step.money for step in self.steps]
        return {
            "cpu_s": round(sum(step.cpu_s for step in self.steps), 1),
            "wall_s": round(sum(step.wall_s for step in self.steps), 1),
            "bytes": sum(step.bytes for step in self.steps),
            "money": None if None in money else round(sum(amount or 0.0 for amount in money), 4),
        }


def estimate_study(
    itemsets: Sequence[str],
    subjects: Sequence[str],
    conditions: Sequence[str],
    options: BuildOptions,
    machines: Machines,
    service: RemoteService,
    *,
    stated: bool = False,
) -> StudyEstimate:
    """The cost of building generated sets and asking subjects under conditions.

    `itemsets` are suites, or folders with sets, which need no building. With `stated` no image is rendered: the rates
    of the recipes' plans are used, and local subjects are not timed.
    """
    if not itemsets:
        raise SnellenError("name at least one suite or item set")
    steps, start = list[StudyStep](), COMMAND_CPU_S if stated else _command_seconds()
    with tempfile.TemporaryDirectory() as folder, _home(Path(folder) / "home"):
        for number, itemset in enumerate(itemsets):
            suite, root = suite_of_items(itemset), Path(folder) / str(number)
            for text in conditions:
                parse_conditions(suite.axes, text)
            if is_itemset(Path(itemset)):
                pilot, scale = _part(open_items(Path(itemset)))
            else:
                build = _Build(suite, options, machines, root)
                pilot, scale = build.pilot(), build.item_scale()
                steps += [build.stated() if stated else build.measured(start), build.other(start)]
            asking = _Asking(suite, pilot, scale, tuple(conditions), machines, service, root)
            of_suite = [step for subject in subjects for step in asking.steps(subject, stated=stated)]
            steps += [_later(step, start if number == 0 else 0.0) for number, step in enumerate(of_suite)]
    return StudyEstimate(tuple(steps), tuple(_assumptions(steps, machines, service, stated=stated)))


def _command_seconds() -> float:
    """CPU seconds until a command starts its work. Its modules are imported here too, so that they count only once."""
    words = [sys.executable, "-c", f"import {', '.join(COMMAND_MODULES)}"]
    _, cpu, _ = _timed(lambda: subprocess.run(words, check=True))
    for name in COMMAND_MODULES:
        importlib.import_module(name)
    return cpu


def _later(step: StudyStep, seconds: float) -> StudyStep:
    return replace(step, cpu_s=step.cpu_s + seconds, wall_s=step.wall_s + seconds)


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """Use an empty home folder within the block, since cached work would appear free."""
    former = os.environ.get("SNELLEN_HOME")
    os.environ["SNELLEN_HOME"] = str(folder)
    try:
        yield
    finally:
        if former is None:
            del os.environ["SNELLEN_HOME"]
        else:
            os.environ["SNELLEN_HOME"] = former


def _part(items: ItemSet) -> tuple[ItemSet, float]:
    """A pilot from an existing set, and the ratio of the set's items that are asked to the pilot's."""
    pilot = select_items(items, PILOT_ITEMS)
    return pilot, _most_items(items) / max(_most_items(pilot), 1)


def _most_items(items: ItemSet) -> int:
    """The most test items that are asked of a set."""
    most = 0
    for task in suite_of(items).tasks.values():
        factors = [item.factors for item in items.task(task.id) if item.split == "test"]
        parts = {tuple(map(levels.get, task.split_by)) for levels in factors}
        most += task.limited(len(factors), len(parts))
    return most


def _tests(items: ItemSet) -> int:
    return sum(item.split == "test" for item in items.items)


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """The result of `work`, its CPU seconds including those of finished child processes, and its elapsed seconds."""
    begun, cpu = time.monotonic(), _cpu_seconds()
    product = work()
    return product, _cpu_seconds() - cpu, time.monotonic() - begun


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class _Build:
    """The generated set of a suite, and pilots with blank images from which its cost is estimated."""

    suite: Suite
    options: BuildOptions
    machines: Machines
    root: Path
    costs: list[tuple[float, float]] = field(default_factory=list)
    """For each pilot, its images and its CPU seconds without rendering."""

    def pilot(self) -> ItemSet:
        """Build the pilots; the larger one is what subjects are asked."""
        count = self._items_per_task()
        sizes = [size for size in (FIRST_PILOT, min(PILOT_ITEMS, count)) if size <= count]
        for size in dict.fromkeys(sizes or [count]):
            items = self._small_set(size)
        self._pilot_items = _tests(items)
        return items

    def item_scale(self) -> float:
        """The ratio of the study's test items that are asked to the pilot's."""
        tasks, plans = self.suite.tasks, (self._planned(), self._pilot_plan)
        counts = [
            sum(tasks[task].limited(count, plan.get("parts", 1)) for task, count in plan["items"].items())
            for plan in plans
        ]
        return counts[0] / max(counts[1], 1)

    def stated(self) -> StudyStep:
        """Rendering, by the rates of the recipe's plan."""
        plan = find_recipe(self.suite, "generated").plan(replace(self.options, workers=1))
        return self._draw_step(_images(plan), float(plan["seconds"]), 2 * int(plan["bytes"]), uses_all_cores=True)

    def measured(self, start: float) -> StudyStep:
        """Rendering, measured on images of the pilot; each of several workers needs `start` seconds more."""
        plan, machines = self._planned(), self.machines
        settings = RenderSettings(renderer=self.options.renderer, quality=self.options.quality)  # type: ignore[arg-type]  # which it checks
        cost = drawing_cost(self._specs, settings, machines.workers)
        scale = _images(plan) / max(_images(self._pilot_plan), 1)
        each = cost.start_s + (start if machines.workers > 1 else 0.0)
        cpu = cost.cpu_s * scale + each * machines.count * machines.workers
        size = 2 * round(cost.bytes * scale)
        return self._draw_step(_images(plan), cpu, size, uses_all_cores=cost.uses_all_cores)

    def _draw_step(self, count: int, cpu: float, size: int, *, uses_all_cores: bool) -> StudyStep:
        cores = self.machines.cores
        parallel = cores if uses_all_cores and self.machines.workers == 1 else min(self.machines.workers, cores)
        wall = cpu / (parallel * self.machines.count)
        return StudyStep("draw", self.suite.name, count, "images", cpu, wall, size)

    def other(self, start: float) -> StudyStep:
        """Everything but rendering: `start` seconds, and a fixed cost and a cost per image measured on the pilots."""
        (small, first), (large, last) = self.costs[0], self.costs[-1]
        each = last / max(large, 1)
        fixed = max(0.0, first - each * small) if len(self.costs) > 1 else 0.0
        plan = self._planned()
        cpu, count = start + fixed + each * _images(plan), sum(plan["items"].values())
        return StudyStep("build", self.suite.name, count, "items", cpu, cpu)

    def _items_per_task(self) -> int:
        counts: Mapping[str, int] = find_recipe(self.suite, "generated").parameters(self.options)["counts"]
        return max(1, *counts.values())

    def _planned(self) -> Mapping[str, Any]:
        return find_recipe(self.suite, "generated").plan(self.options)

    def _small_set(self, count: int) -> ItemSet:
        """Build a pilot of so many items per task, and note its cost without rendering."""
        recipe, renderer = find_recipe(self.suite, "generated"), self.suite.blind_renderer
        options = replace(
            self.options, out=self.root / f"pilot-{count}", n=count, full=False, renderer=renderer, workers=1
        )
        with wanted_specs() as wanted:
            items, cpu, _ = _timed(lambda: recipe.build(options))
        self._specs, self._pilot_plan = list(wanted), recipe.plan(options)
        drawn = drawing_cost(self._specs, RenderSettings(renderer=renderer), 1).cpu_s  # type: ignore[arg-type]  # a suite's own
        self.costs.append((_images(self._pilot_plan), max(0.0, cpu - drawn)))
        return items


def _images(plan: Mapping[str, Any]) -> int:
    return int(plan["images"]) + int(plan.get("frames", 0))


@dataclass(frozen=True)
class _Asking:
    """A pilot of a suite, the ratio of the study to it, and how it is asked."""

    suite: Suite
    pilot: ItemSet
    scale: float
    conditions: tuple[str, ...]
    machines: Machines
    service: RemoteService
    root: Path

    def steps(self, subject: str, *, stated: bool) -> list[StudyStep]:
        """The step of asking a subject; empty for a local one if `stated`."""
        kind, name, settings = split_spec(subject)
        if kind == "chat" and not name.startswith("hf/"):
            return [self._remote(subject, name, settings)]
        return [] if stated else [self._local(subject)]

    def _remote(self, spec: str, name: str, written: Mapping[str, str]) -> StudyStep:
        """Estimate from the pilot's calls and tokens, and the assumptions on the service; needs no key."""
        from snellen.subjects.chat.settings import read_settings

        settings = read_settings(written)
        prices = settings.price_in, settings.price_out
        price_in, price_out = (
            self.service.price_in if prices[0] is None else prices[0],
            self.service.price_out if prices[1] is None else prices[1],
        )
        card = SubjectCard(
            f"chat:{name}", {"model": name, **settings.answering()}, settings.accepts or frozenset({"image"}),
            settings.max_images, {"provider": name.split("/", 1)[0]}, is_remote=True,
        )  # fmt: skip
        estimate = self._estimate(card)
        calls, tokens = round(estimate.calls * self.scale), round(estimate.tokens_in * self.scale)
        money = None
        if price_in is not None and price_out is not None:
            money = (tokens * price_in + calls * REPLY_TOKENS * price_out) / 1e6
        cpu = calls * CALL_CPU_S
        latency = calls * self.service.latency_s / min(settings.max_concurrency, max(calls, 1))
        wall = max(cpu, latency) / self.machines.count
        return StudyStep("ask", f"{self.suite.name}, {spec}", calls, "calls", cpu, wall, 0, tokens, money)

    def _estimate(self, card: SubjectCard) -> Estimate:
        points = [point for text in self.conditions for point in parse_conditions(self.suite.axes, text)]
        plan = Plan(self.pilot, self.suite, [Arm(_Unasked(card), point) for point in points])
        by_subject = estimates(plan, self.root / "none")
        if faults := limit_faults(by_subject):
            raise SnellenError(faults)
        return by_subject[0] if by_subject else Estimate(card.name, 0, 0, 0, None)

    def _local(self, spec: str) -> StudyStep:
        """Estimate by asking the pilot, after a smaller one."""
        label = make_subject(spec, self.pilot.items).card.name.replace("/", "-")
        first = select_items(self.pilot, 1)
        cold, cold_wall = self._ask(first, spec, f"{label}-first")
        warm, warm_wall = self._ask(self.pilot, spec, label)
        items = _most_items(self.pilot)
        share = _most_items(first) / max(items, 1)
        fixed = max(0.0, cold - warm * share)
        cpu = fixed + warm * self.scale
        wall = max(0.0, cold_wall - warm_wall * share) + warm_wall * self.scale
        size = sum(path.stat().st_size for path in (self.root / label).rglob("*") if path.is_file())
        return StudyStep(
            "ask", f"{self.suite.name}, {spec}", round(items * self.scale), "items", cpu,
            wall / self.machines.count, round(size * self.scale),
        )  # fmt: skip

    def _ask(self, items: ItemSet, spec: str, label: str) -> tuple[float, float]:
        _, cpu, wall = _timed(
            lambda: run(items, [spec], self.root / label, conditions=self.conditions, show_progress=False)
        )
        return cpu, wall


class _Unasked(Base):
    """A remote subject for the estimate, which is never asked."""

    async def answer(self, prompt: Any, media: Any, rng: Any) -> Any:
        """Not called."""
        raise NotImplementedError


def _assumptions(
    steps: Sequence[StudyStep], machines: Machines, service: RemoteService, *, stated: bool
) -> Iterator[str]:
    if any(step.kind == "draw" for step in steps):
        rates = "by the rates that recipes state" if stated else "by rendering a few of the pilot's images here"
        yield f"images {rates}; none is in the cache yet; each is stored in the cache and in the set"
        yield "building without rendering uses one core, and grows with the number of images"
    yield f"{machines.count} x {machines.cores} cores like this machine's, with nothing else running"
    yield "steps follow each other; rendering and asking are spread evenly over machines"
    if any(step.unit == "calls" for step in steps):
        yield (
            f"a call is answered after {service.latency_s:g} s, with {REPLY_TOKENS} tokens; as many at once as the "
            f"subject's max_concurrency; multi-step dialogues are underestimated"
        )
    if any(step.unit == "items" and step.kind == "ask" for step in steps):
        yield "local subjects by asking them a pilot with blank images, on this machine"
    yield "reports, judges and failed calls are not counted"


def rounded(step: StudyStep) -> dict[str, Any]:
    """A step as JSON data."""
    numbers = {name: getattr(step, name) for name in ("kind", "name", "count", "unit", "bytes", "tokens_in", "money")}
    money = None if step.money is None else round(step.money, 4)
    return {**numbers, "money": money, "cpu_s": round(step.cpu_s, 2), "wall_s": round(step.wall_s, 2)}
