"""`snellen-sight URL MODEL`: prints what of an image arrives."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from urllib.parse import urlsplit

from snellen_sight import __version__
from snellen_sight.asking import MOST_CALLS, QUICK_CALLS, NothingAsked, sight_of_server
from snellen_sight.checks import CHOICES
from snellen_sight.results import FAULT_CODE, MARKS, SightLine, SightResult

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check models and print the results. Returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    key = os.environ.get(options.key_env, "") if options.key_env else "none"
    names = tuple(filter(None, options.checks.split(",")))
    if not key:
        parser.error(f"{options.key_env} is not set in the environment")
    if unknown := [name for name in names if name not in CHOICES]:
        parser.error(f"{unknown[0]}: no such check; choose from {', '.join(CHOICES)}")
    if options.card and len(options.models) > 1:
        parser.error("--card shows one model; use --html for several")
    if options.card and options.card.suffix.lower() != ".png":
        parser.error(f"--card {options.card}: the image is a PNG file; give a name that ends in .png")
    for path in filter(None, (options.card, options.html)):
        if not path.absolute().parent.is_dir():
            parser.error(f"{path}: no such folder")
    results, refused = list[SightResult](), dict[str, str]()
    for model in options.models:
        try:
            result = sight_of_server(
                options.url, model, key, quick=options.quick, checks=names, seed=options.seed, after_call=show_count
            )
        except NothingAsked as error:
            refused[model] = plain(str(error))
            sys.stderr.write(f"snellen-sight: {plain(model)}: {refused[model]}\n")
            continue
        results.append(result)
        if not options.json:
            print_result(result.model, result.date, len(result.calls), result.lines)
    if options.json:
        about = {"server": host_of(options.url), "seed": options.seed, "version": __version__}
        failures = [{"model": model, **about, "error": error} for model, error in refused.items()]
        print(json.dumps([*({**asdict(result), **about} for result in results), *failures]))
    _write_files(results, host_of(options.url), options.card, options.html)
    codes = [result.exit_code for result in results]
    return FAULT_CODE if FAULT_CODE in codes else max([*codes, *([BAD_INPUT] if refused else [])])


def host_of(url: str) -> str:
    """Host and port of an address, without a name and a key in it."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "snellen-sight",
        description="Check what of an image reaches a vision-language model behind an OpenAI-compatible server.",
        epilog="Exit codes: 0 no fault, 4 a fault was found, 1 nothing could be told, 2 bad input, no such server or "
        "model.",
    )
    parser.add_argument("url", help="address of the server, e.g. http://127.0.0.1:8000/v1")
    parser.add_argument("models", nargs="+", metavar="model", help="name of a model; several give a matrix (--html)")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable with the key of the server")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CALLS} calls at most instead of {MOST_CALLS}")
    parser.add_argument("--checks", default="", metavar="A,B", help=f"only these, after image: {', '.join(CHOICES)}")
    parser.add_argument("--seed", type=int, default=0, help="seed of the questions")
    parser.add_argument("--json", action="store_true", help="print all results, questions and replies as JSON")
    parser.add_argument("--card", type=Path, metavar="PNG", help="write the result of one model as an image")
    parser.add_argument("--html", type=Path, metavar="HTML", help="write a table of checks and models")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _write_files(results: Sequence[SightResult], server: str, card_path: Path | None, page_path: Path | None) -> None:
    from snellen_sight.pages import card_of, matrix_of

    if card_path and results:
        card_of(results[0], server).save(card_path, "PNG")
    if page_path and results:
        page_path.write_text(matrix_of(results, server), "utf-8")


def show_count(count: int) -> None:
    """Show the number of calls so far on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Ksnellen-sight: {count} calls")
        sys.stderr.flush()


def print_result(name: str, date: str, count: int, lines: Sequence[SightLine]) -> None:
    """Print what was checked, when and in how many calls, and one line per check, broken at 80 columns.

    Checks that cannot tell for one reason share a line.
    """
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    print(f"What reaches {plain(name)} ({date[:10]}, {count} calls)")
    topics: dict[str, list[str]] = {}
    for line in lines:
        topic, _, reason = line.text.partition(": ")
        if line.verdict == "cannot tell" and reason:
            topics.setdefault(reason, []).append(topic)
        else:
            print_line(line)
    for reason, shared in topics.items():
        print_line(SightLine(check="", verdict="cannot tell", text=f"{', '.join(shared)}: {reason}"))


def print_line(line: SightLine) -> None:
    """Print the verdict and the text of a check."""
    for number, text in enumerate(wrap(plain(line.text), 66)):
        print(f"{MARKS[line.verdict] if not number else '':<13}{text}")


def plain(text: str) -> str:
    """A text in one line without control characters, so that no terminal acts on them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def run() -> None:
    """The entry point of the shell."""
    sys.exit(main())
