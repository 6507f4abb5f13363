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

from snellen_sight import __version__
from snellen_sight.asking import MOST_CALLS, QUICK_CALLS, NothingAsked, sight_of_server
from snellen_sight.checks import CHOICES
from snellen_sight.results import FAULT_CODE, MARKS, NOTHING_CODE, SightLine, SightResult

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
    results = list[SightResult]()
    for model in options.models:
        try:
            result = sight_of_server(
                options.url, model, key, quick=options.quick, checks=names, seed=options.seed, after_call=show_count
            )
        except NothingAsked as error:
            sys.stderr.write(f"snellen-sight: {plain(model)}: {plain(str(error))}\n")
            continue
        results.append(result)
        if not options.json:
            print_result(result)
    if options.json:
        print(json.dumps([asdict(result) for result in results]))
    _write_files(results, options.card, options.html)
    codes = [result.exit_code for result in results]
    missing = [NOTHING_CODE] * (len(options.models) - len(results))
    return FAULT_CODE if FAULT_CODE in codes else max([*codes, *missing])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "snellen-sight",
        description="Check what of an image reaches a vision-language model behind an OpenAI-compatible server.",
        epilog="Exit codes: 0 no fault, 4 a fault was found, 1 nothing could be told, 2 bad input.",
    )
    parser.add_argument("url", help="address of the server, e.g. http://127.0.0.1:8000/v1")
    parser.add_argument("models", nargs="+", metavar="model", help="name of a model; several give a matrix (--html)")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable with the key of the server")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CALLS} calls at most instead of {MOST_CALLS}")
    parser.add_argument("--checks", default="", metavar="A,B", help=f"only these: {', '.join(CHOICES)}")
    parser.add_argument("--seed", type=int, default=0, help="seed of the questions")
    parser.add_argument("--json", action="store_true", help="print all results, questions and replies as JSON")
    parser.add_argument("--card", type=Path, metavar="PNG", help="write the result as an image, for an issue")
    parser.add_argument("--html", type=Path, metavar="HTML", help="write a table of checks and models")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _write_files(results: Sequence[SightResult], card_path: Path | None, page_path: Path | None) -> None:
    from snellen_sight.pages import card_of, matrix_of

    if card_path and results:
        card_of(results[0]).save(card_path, "PNG")
    if page_path and results:
        page_path.write_text(matrix_of(results), "utf-8")


def show_count(count: int) -> None:
    """Show the number of calls so far on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Ksnellen-sight: {count} calls")
        sys.stderr.flush()


def print_result(result: SightResult) -> None:
    """Print the model and one line per check, broken between words at 80 columns."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    print(f"What reaches {plain(result.model)} ({result.date[:10]}, {len(result.calls)} calls)")
    for line in result.lines:
        print_line(line)


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
