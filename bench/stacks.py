"""Where the seconds of a command go: sampled stacks of all its processes and threads, by what they do.

    pip install py-spy
    python bench/stacks.py                        a checkup from nothing
    python bench/stacks.py run combo --limit 5    another command

Seconds are those of threads, which also wait for a processor. A stack belongs to the first row of `PARTS` that has a
frame in it. py-spy needs the right to trace its own children.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

RATE = 50
"""Samples a second."""
PARTS: Sequence[tuple[str, Sequence[str]]] = (
    ("importing", ("<frozen importlib",)),
    ("encoders", ("subjects/encoders/",)),
    ("grading: floors", ("grading/floors.py", "grading/cheap_sight.py")),
    ("grading: decisions", ("planning/deciding.py", "planning/undecided.py")),
    ("results", ("grading/results.py",)),
    ("report", ("snellen/reports/",)),
    ("drawing: paths", ("render (",)),
    ("drawing: first hits", ("first_hits", "visible")),
    ("drawing: surfaces", ("surfaces",)),
    ("drawing: scenes", ("stimuli/render/",)),
    ("saving images", ("storage/png.py", "storage/media.py")),
    ("placing objects", ("stimuli/scenes/", "/scenes/")),
    ("building sets", ("exam/build.py", "/generated/")),
    ("asking", ("runs/asking/",)),
)


def shares(stacks: Iterable[str]) -> Counter[str]:
    """Seconds by part from lines of `frame;frame;… count`. A waiting main thread of a pool counts as waiting."""
    seconds = Counter[str]()
    for line in stacks:
        stack, _, count = line.rpartition(" ")
        part = next((name for name, frames in PARTS if any(frame in stack for frame in frames)), "other")
        seconds[part] += int(count) / RATE
    return seconds


def main(words: Sequence[str]) -> None:
    """Run the command and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        stacks = Path(folder) / "stacks"
        command = words or ("checkup", "--out", f"{folder}/checkup")
        sampler = (
            "py-spy",
            "record",
            "--subprocesses",
            "--rate",
            f"{RATE}",
            "--format",
            "raw",
            "--output",
            f"{stacks}",
        )
        subprocess.run([*sampler, "--", sys.executable, "-m", "snellen", *command], check=True)
        seconds = shares(stacks.read_text("utf-8").splitlines())
    print("| part | seconds of threads | share |\n|---|---:|---:|")
    for name, count in seconds.most_common():
        print(f"| {name} | {count:.0f} | {100 * count / seconds.total():.0f} % |")


if __name__ == "__main__":
    main(sys.argv[1:])
