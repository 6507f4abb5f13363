"""Print the size of the project: lines per folder, commands and options, long functions and modules, words of docs.

    python scripts/counts.py

`tests/test_structure.py` compares these counts with its budgets.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONG_FUNCTION, LONG_MODULE = 60, 400
"""Lines above which a function or a module is long."""


def modules(folder: str) -> list[Path]:
    """The Python files of a folder of the project."""
    return sorted((ROOT / folder).rglob("*.py"))


def sources() -> list[Path]:
    """The Python files of the packages."""
    return [*modules("src"), *modules("packages")]


def lines_of(path: Path) -> int:
    """The number of lines of a file."""
    return path.read_text("utf-8").count("\n")


def lines_by_folder() -> dict[str, int]:
    """Lines of Python in the folders of the package, its single modules as ".", in all of src and packages, and in
    tests."""
    counts = Counter[str]()
    for path in modules("src/snellen"):
        first, *rest = path.relative_to(ROOT / "src/snellen").parts
        counts[first if rest else "."] += lines_of(path)
    source = counts.total() + sum(map(lines_of, modules("packages")))
    return {**dict(sorted(counts.items())), "src": source, "tests": sum(map(lines_of, modules("tests")))}


def long_functions() -> list[str]:
    """Functions of the package with more lines than `LONG_FUNCTION`, their docstring included."""
    functions = ((path, node) for path in sources() for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return [
        f"{path.relative_to(ROOT)}:{node.name}"
        for path, node in functions
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > LONG_FUNCTION
    ]


def long_modules() -> list[str]:
    """Modules of the package with more lines than `LONG_MODULE`."""
    return [str(path.relative_to(ROOT)) for path in sources() if lines_of(path) > LONG_MODULE]


def commands_and_options() -> tuple[int, int]:
    """The numbers of commands and of their visible options, `--help` left out."""
    from typer.main import get_command

    from snellen.cli.app import app

    commands = list(_leaves(get_command(app)))
    options = (p for command in commands for p in command.params if p.param_type_name == "option" and not p.hidden)
    return len(commands), sum(option.name != "help" for option in options)


def _leaves(command: Any) -> Iterator[Any]:
    children = getattr(command, "commands", None)
    if children is None:
        yield command
    else:
        for child in children.values():
            yield from _leaves(child)


def docs_words() -> int:
    """The number of words in the documentation."""
    return sum(len(path.read_text("utf-8").split()) for path in (ROOT / "docs").rglob("*.md"))


def counts() -> dict[str, int]:
    """All counts by name."""
    commands, options = commands_and_options()
    return {
        **lines_by_folder(),
        "commands": commands,
        "options": options,
        "long functions": len(long_functions()),
        "long modules": len(long_modules()),
        "words of docs": docs_words(),
    }


if __name__ == "__main__":
    for name, count in counts().items():
        print(f"{name:<16}{count:>8,}")
