"""Many small tasks, several subjects and conditions, and a service with a tail of latencies: are calls kept under way?

    python bench/ask_tail.py            4 subjects x 3 conditions x 10 tasks of 40 items
    python bench/ask_tail.py --quick    a quarter of the items

A server in its own process answers after 0.2 s and more (Pareto 1.2, at most 5 s, mean 0.685 s). At most 100 calls are
under way in all, 25 a subject. Beside it, in the same run of this script: the bare client's loop with one pool of 100.
What could be reached without any work of ours is 100 / 0.685 = 146 calls a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ask_loop import MAX_CONCURRENCY, QUESTION, bare_client, make_images, timed

from snellen.core.condition import Axis, parse_conditions
from snellen.core.item import Item, Option
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Suite, SuiteCard, Task
from snellen.presentation.methods import OneByOne
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.scoring.protocols import strict
from snellen.subjects.chat import make_chat

SUBJECTS, CONDITIONS, TASKS, ITEMS = 4, 3, 10, 40
WANTED = 105
OPTIONS = tuple(Option(key, key) for key in ("red", "green", "blue", "none"))


def suite() -> Suite:
    """Tasks that differ in their names alone."""
    axis = Axis("prompt", tuple(range(CONDITIONS)))
    tasks = {
        name: Task(name, "choice", ("prompt",), lambda *_: (), lambda _: OneByOne(), {"strict": strict()})
        for name in (f"task {n}" for n in range(TASKS))
    }
    card = SuiteCard(name="bench", title="", measures="", paper="", version="1", counts={})
    return Suite(card, (axis,), tasks, {}, lambda condition, card: {})


def item_set(root: Path, images: list[Path], count: int) -> ItemSet:
    """So many items a task, each with an image."""
    media = MediaFolder(root / "media")
    files = [media.add_file(path) for path in images]
    items = [
        Item(
            name, "bench", task, QUESTION, (files[n % len(files)],), "red", "choice", name, name, name, options=OPTIONS
        )
        for task in suite().tasks
        for n in range(count)
        for name in [f"{task} {n}"]
    ]
    return write_itemset(root, items, source="generated", recipe={})


def plan(items: ItemSet, url: str) -> Plan:
    """Every subject under every condition; subjects are one model by four names, each with a quarter of the calls."""
    arms = []
    for n in range(SUBJECTS):
        os.environ |= {f"BENCH{n}_API_KEY": "k", f"BENCH{n}_BASE_URL": url}
        subject = make_chat(f"openai-api/bench{n}/m", {"max_concurrency": str(MAX_CONCURRENCY // SUBJECTS)})
        for value in range(CONDITIONS):
            arms += [Arm(subject, point) for point in parse_conditions(suite().axes, f"prompt={value}")]
    return Plan(items, suite(), arms)


def most_at_once(url: str) -> int:
    """Of the requests since the last look, by the server."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as stats:
        return int(json.load(stats)["most"])


def print_rows(run: dict[str, Any], bare: dict[str, Any]) -> None:
    """Both ways, with ratios to the bare client."""
    print("| way | calls | calls/s | of bare | CPU ms a call | of bare | most at once | peak RSS MB |")
    print("|---|---|---|---|---|---|---|---|")
    for way, ran in ((f"`snellen run`, {WANTED} wanted", run), ("bare client, one pool", bare)):
        pace, cpu = ran["items"] / ran["seconds"], ran["cpu"] / ran["items"] * 1000
        of_pace, of_cpu = bare["seconds"] / ran["seconds"], ran["cpu"] / bare["cpu"]
        cells = f"{ran['items']:,} | {pace:.0f} | {of_pace:.2f} | {cpu:.1f} | {of_cpu:.2f} | {ran['most']}"
        print(f"| {way} | {cells} | {ran['rss_mb']:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    count = ITEMS // 4 if parser.parse_args().quick else ITEMS
    command = [sys.executable, "-m", "tests.helpers.stub_server", "--tail", "--life", "3600"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parent.parent)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        with tempfile.TemporaryDirectory() as temp:
            make_images(Path(temp) / "images", 40)
            images = sorted((Path(temp) / "images").iterdir())
            items = item_set(Path(temp) / "set", images, count)
            arms = plan(items, url)
            run = timed(lambda: [response.text for response in ask(Path(temp) / "run", arms)])
            run |= {"most": most_at_once(url)}
            calls = SUBJECTS * CONDITIONS * TASKS * count
            bare = bare_client((images * calls)[:calls], url)
            print_rows(run, bare | {"most": most_at_once(url)})
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
