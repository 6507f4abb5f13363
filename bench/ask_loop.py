"""How fast chat models are asked, beside the practical limit.

    python bench/ask_loop.py            2,000 one-image questions; 10,000 of nine images for memory; the command
    python bench/ask_loop.py --command  only the command `snellen run` on 2,000 and 10,000 one-image questions
    python bench/ask_loop.py --quick    a tenth of all

A server in its own process answers after 50 ms. Each way of asking runs in a process of its own, 100 calls at once:
a bare `openai` client, `ChatSubject`, and a whole Snellen run, in turn, twice; the round with less processor time
counts, since other work on the machine only ever slows things down. Ratios are taken within one run of this script.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve()
MAX_CONCURRENCY = 100
QUESTION = "Which option matches the image?\nA. red\nB. green\nC. blue\nD. none\nAnswer with one letter."
ROUNDS = 2
WAYS = ("bare client", "chat subject", "snellen run")
COMMAND = "command"
WANTED = "wanted: at most 0.7 of the bare client's CPU, 0.5 s and 1 s; at least 0.55 of its pace at 10,000"
NINE = "snellen run, nine images"


def make_images(folder: Path, count: int) -> list[Path]:
    """Photo-like JPEGs of 320x240, about 19 kB each: coarse colour patches under fine noise."""
    folder.mkdir()
    rng, paths = np.random.default_rng(0), []
    for number in range(count):
        patches = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize(
            (320, 240), Image.Resampling.BICUBIC
        )
        noisy = np.asarray(patches, dtype=np.int16) + rng.normal(0, 6, (240, 320, 1)).astype(np.int16)
        paths.append(folder / f"{number:05d}.jpg")
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(paths[-1], quality=85)
    return paths


def bare_client(paths: Sequence[Path], url: str) -> dict[str, Any]:
    """The practical limit: the client's own loop, nothing kept but the answers."""
    from openai import AsyncOpenAI

    async def ask() -> list[str | None]:
        client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
        gate = asyncio.Semaphore(MAX_CONCURRENCY)

        async def one(path: Path) -> str | None:
            async with gate:
                image = "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()
                content: Any = [
                    {"type": "image_url", "image_url": {"url": image}},
                    {"type": "text", "text": QUESTION},
                ]
                told = await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": content}], max_tokens=2048, temperature=0, seed=0
                )
                return told.choices[0].message.content

        return await asyncio.gather(*(one(path) for path in paths))

    return timed(lambda: asyncio.run(ask()))


def chat_subject(paths: Sequence[Path], url: str) -> dict[str, Any]:
    """The same questions through `ChatSubject`, nothing recorded."""
    from snellen.core.prompt import Prompt
    from snellen.core.storage.media import MediaFolder
    from snellen.core.subject import Subject

    folder = MediaFolder(paths[0].parent.parent / "media")
    prompts = [Prompt((folder.add_file(path), QUESTION), ()) for path in paths]

    async def ask(subject: Subject) -> list[str]:
        gate = asyncio.Semaphore(subject.card.max_concurrency)

        async def one(number: int, prompt: Prompt) -> str:
            async with gate:
                return (await subject.answer(prompt, folder, np.random.default_rng(number))).text

        return await asyncio.gather(*(one(number, prompt) for number, prompt in enumerate(prompts)))

    subject = _subject(url)
    return timed(lambda: asyncio.run(ask(subject)))


def snellen_run(paths: Sequence[Path], url: str, items: int, images: int) -> dict[str, Any]:
    """A run as users start it: write-ahead record, responses and tables on disk."""
    from snellen.core.condition import Condition
    from snellen.core.item import Item, Option
    from snellen.core.storage.itemset import write_itemset
    from snellen.core.storage.media import MediaFolder
    from snellen.core.suite import Suite, SuiteCard, Task
    from snellen.presentation.methods import OneByOne
    from snellen.runs.asking.ask import ask
    from snellen.runs.planning.plan import Arm, Plan
    from snellen.scoring.protocols import strict

    root = Path(tempfile.mkdtemp(dir=paths[0].parent.parent))
    folder = MediaFolder(root / "set" / "media")
    media = [folder.add_file(path) for path in paths]
    options = tuple(Option(key, key) for key in ("red", "green", "blue", "none"))

    def item(n: int) -> Item:
        shown = tuple(media[(n * images + k) % len(media)] for k in range(images))
        return Item(
            f"i{n}", "bench", "look", QUESTION, shown, "red", "choice", f"s{n}", f"g{n}", f"c{n}", options=options
        )

    made = write_itemset(root / "set", map(item, range(items)), source="generated", recipe={})
    task = Task("look", "choice", (), lambda item, context: (), lambda condition: OneByOne(), {"strict": strict()})
    card = SuiteCard(name="bench", title="", measures="", paper="", version="1", counts={})
    suite = Suite(card, (), {"look": task}, {}, lambda condition, card: {})
    plan = Plan(made, suite, [Arm(_subject(url), Condition(()))])
    measured = timed(lambda: [response.text for response in ask(root / "run", plan)])
    files = [path for path in (root / "run").rglob("*") if path.is_file() and "media" not in path.parts]
    return measured | {"run_mb": sum(path.stat().st_size for path in files) / 1e6}


def write_questions(folder: Path, items: int) -> Path:
    """The same questions as items of a real suite, for the command."""
    from snellen.core.storage.itemset import write_itemset
    from snellen.core.storage.media import MediaFolder
    from snellen.suites.ava_bench.abilities.texture import texture_item
    from snellen.suites.ava_bench.items import ItemSource

    root = folder / f"set {items}"
    if root.exists():
        return root
    media = MediaFolder(root / "media")
    images = [media.add_file(path) for path in sorted((folder / "images").iterdir())]
    sources = (
        ItemSource(handle=str(n), image=images[n % len(images)], cluster=str(n), dataset="made") for n in range(items)
    )
    options = ("banded", "blotchy", "veined", "woven")
    write_itemset(root, (texture_item(source, "banded", options) for source in sources), source="made", recipe={})
    return root


def command(folder: Path, url: str, items: int) -> dict[str, Any]:
    """`snellen run` on them: CPU from first call to last reply; imports are done before the subject is made."""
    import httpx
    from typer.main import get_command

    import snellen.exam.examine  # noqa: F401  # with pandas and pyarrow
    from snellen.subjects.chat import ChatSubject, client
    from snellen.suites import SUITES

    SUITES.get("ava-bench")
    imported, marks = list[tuple[float, float]](), list[tuple[float, float]]()
    open_connections, post, answer = client.open_connections, httpx.AsyncClient.post, ChatSubject.answer

    def first_open(*arguments: Any) -> Any:
        client.open_connections = open_connections
        imported.append((_cpu(), time.monotonic()))
        return open_connections(*arguments)

    async def first_post(*arguments: Any, **more: Any) -> Any:
        httpx.AsyncClient.post = post  # type: ignore[method-assign]
        marks.append((_cpu(), time.monotonic()))
        return await post(*arguments, **more)

    async def marked_answer(*arguments: Any) -> Any:
        reply = await answer(*arguments)
        marks[1:] = [(_cpu(), time.monotonic())]
        return reply

    client.open_connections = first_open
    httpx.AsyncClient.post = first_post  # type: ignore[assignment,method-assign]
    ChatSubject.answer = marked_answer  # type: ignore[method-assign]
    from snellen.cli import GARBAGE_THRESHOLDS
    from snellen.cli.app import app

    gc.set_threshold(*GARBAGE_THRESHOLDS)  # as the command does
    os.environ |= {"BENCH_API_KEY": "k", "BENCH_BASE_URL": url}
    subject, out = f"chat:openai-api/bench/m?max_concurrency={MAX_CONCURRENCY}", tempfile.mkdtemp(dir=folder)
    options = ["--subject", subject, "--out", f"{out}/run"]
    get_command(app)(["run", str(folder / f"set {items}"), *options], standalone_mode=False)
    (cpu_first, first), (cpu_last, last) = marks
    return {
        "items": items,
        "seconds": last - first,
        "cpu": cpu_last - cpu_first,
        "begin": f"{first - imported[0][1]:.1f} ({cpu_first - imported[0][0]:.2f})",
        "end": f"{time.monotonic() - last:.1f} ({_cpu() - cpu_last:.2f})",
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _subject(url: str) -> Any:
    from snellen.subjects.chat import make_chat

    os.environ |= {"BENCH_API_KEY": "k", "BENCH_BASE_URL": url}
    return make_chat("openai-api/bench/m", {"max_concurrency": str(MAX_CONCURRENCY)})


def timed(work: Any) -> dict[str, Any]:
    """Seconds, processor seconds and memory of work that returns the answers, all of which must be A."""
    before, start = _cpu(), time.perf_counter()
    answers = work()
    seconds, cpu = time.perf_counter() - start, _cpu() - before
    if set(answers) != {"A"}:
        raise SystemExit(f"not every question was answered: {set(answers)}")
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"items": len(answers), "seconds": seconds, "cpu": cpu, "rss_mb": rss}


def _cpu(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def _work(way: str, folder: Path, url: str, items: int) -> dict[str, Any]:
    paths = sorted((folder / "images").iterdir())
    if way == "bare client":
        return bare_client((paths * (items // len(paths) + 1))[:items], url)
    if way == COMMAND:
        return command(folder, url, items)
    if way == "chat subject":
        return chat_subject(paths[:items], url)
    return snellen_run(paths, url, items, 9 if way == NINE else 1)


def _child(way: str, folder: Path, url: str, items: int) -> dict[str, Any]:
    call = [sys.executable, str(HERE), "--way", way, "--folder", str(folder), "--url", url, "--items", str(items)]
    begun, cpu_before = time.monotonic(), _cpu(resource.RUSAGE_CHILDREN)
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent.parent)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    whole = {"whole": time.monotonic() - begun, "whole_cpu": _cpu(resource.RUSAGE_CHILDREN) - cpu_before}
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as stats:
        return {**measured, **whole, **json.load(stats)}


def _measure(folder: Path, url: str, one: int, nine: int) -> list[tuple[str, dict[str, Any]]]:
    rounds = [{way: _child(way, folder, url, one) for way in WAYS} for _ in range(ROUNDS)]
    best = [(way, min((round[way] for round in rounds), key=lambda ran: float(ran["cpu"]))) for way in WAYS]
    return [*best, (NINE, _child(NINE, folder, url, nine))]


def _print(measured: Sequence[tuple[str, dict[str, Any]]]) -> None:
    print("| way | items | items/s | of bare | CPU ms an item | of bare | peak RSS MB | run folder MB |")
    print("|---|---|---|---|---|---|---|---|")
    bare = measured[0][1]
    for way, told in measured:
        pace, cpu = told["items"] / told["seconds"], told["cpu"] / told["items"] * 1000
        of_pace = f"{pace / (bare['items'] / bare['seconds']):.2f}"
        of_cpu = f"{cpu / (bare['cpu'] / bare['items'] * 1000):.2f}"
        if way == NINE:  # other work: no ratio
            of_pace = of_cpu = ""
        size = f"{told['run_mb']:.1f}" if "run_mb" in told else ""
        cells = (way, told["items"], f"{pace:.0f}", of_pace, f"{cpu:.2f}", of_cpu, f"{told['rss_mb']:.0f}", size)
        print("| " + " | ".join(map(str, cells)) + " |")


COMMAND_COLUMNS = (
    "items",
    "way",
    "CPU ms an item, sending",
    "of bare",
    "imports to first call, s (CPU s)",
    "last reply to end, s (CPU s)",
    "whole, s",
    "of the bare pace",
    "CPU s, whole",
    "of the bare pace by CPU s",
    "most at once",
    "peak RSS MB",
)


def measure_command(folder: Path, url: str, rounds: Sequence[int]) -> None:
    """The command beside the bare client, in turn: a round for each number of items."""
    print("\n| " + " | ".join(COMMAND_COLUMNS) + " |\n" + "|---" * len(COMMAND_COLUMNS) + "|", flush=True)
    for items in rounds:
        write_questions(folder, items)
        bare, run = (_child(way, folder, url, items) for way in ("bare client", COMMAND))
        for way, ran in (("bare client", bare), ("`snellen run`", run)):
            cpu = f"{ran['cpu'] / items * 1000:.2f}", f"{ran['cpu'] / bare['cpu']:.2f}"
            of_pace, of_cpu = bare["whole"] / ran["whole"], bare["whole_cpu"] / ran["whole_cpu"]
            whole = f"{ran['whole']:.1f}", f"{of_pace:.2f}", f"{ran['whole_cpu']:.1f}", f"{of_cpu:.2f}"
            times = ran.get("begin", ""), ran.get("end", "")
            cells = (f"{items:,}", way, *cpu, *times, *whole, ran["most"], f"{ran['rss_mb']:.0f}")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(WANTED)


def main() -> None:
    """Measure every way once and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the items")
    parser.add_argument("--command", action="store_true", help="only the command")
    for hidden in ("--way", "--folder", "--url", "--items"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(_work(options.way, Path(options.folder), options.url, int(options.items))))
        return
    one, nine = (200, 1000) if options.quick else (2000, 10_000)
    stub = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.stub_server", "--delay", "0.05", "--life", "3600"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parent.parent,
    )
    try:
        assert stub.stdout is not None
        url = f"http://127.0.0.1:{int(stub.stdout.readline())}/v1"
        with tempfile.TemporaryDirectory() as temp:
            make_images(Path(temp) / "images", one)
            if not options.command:
                _print(_measure(Path(temp), url, one, nine))
            measure_command(Path(temp), url, (one, one, nine))
    finally:
        stub.terminate()


if __name__ == "__main__":
    main()
