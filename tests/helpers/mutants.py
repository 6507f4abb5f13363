"""Mutants: one small change of the code each, which the tests of its area must detect.

`python -m tests.helpers.mutants` tries the sample and prints each verdict; survivors are judged in design/mutants.md.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import os
import re
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
AREAS: Mapping[str, tuple[str, ...]] = {
    "scoring": ("tests/scoring",),
    "analysis": ("tests/analysis", "tests/reports"),
    "runs": ("tests/runs", "tests/core/storage/test_runfolder.py"),
    "web": tuple(f"tests/web/test_{name}.py" for name in ("dealing", "importing", "jatos", "server")),
}
"""Packages of snellen that are mutated, each with its quick tests."""
MODULES: Mapping[str, tuple[str, ...]] = {"web": ("admission", "dealing", "forgetting", "importing", "jatos", "store")}
"""The modules of an area that are mutated; all, if none are named."""
SAMPLE, CPU_SECONDS = 12, 200
LIBRARIES = (
    "pytest", "hypothesis", "pandas", "pyarrow", "scipy.stats", "sklearn.linear_model", "PIL.Image", "pydantic",
)  # fmt: skip
OPERATORS: Mapping[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
"""The replacement of each operator."""


@dataclass(frozen=True)
class Mutant:
    """A change of one expression: module, surrounding function, text before and after, index among equals."""

    path: str
    function: str
    before: str
    after: str
    number: int

    @property
    def name(self) -> str:
        """A name that does not depend on other parts of the file."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.path} {self.function}: {self.before} -> {self.after}{again}"


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Possible replacements of this node."""
    new = copy.copy(node)
    if isinstance(new, ast.BinOp | ast.BoolOp) and type(new.op) in OPERATORS:
        new.op = OPERATORS[type(new.op)]()
        yield new
    elif isinstance(new, ast.Compare) and type(new.ops[0]) in OPERATORS:
        new.ops = [OPERATORS[type(new.ops[0])](), *new.ops[1:]]
        yield new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        yield new.operand
    elif isinstance(new, ast.IfExp | ast.If):
        new.test = ast.UnaryOp(ast.Not(), new.test)
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool | int | float):
        yield ast.Constant(not new.value if isinstance(new.value, bool) else new.value + 1)
    elif isinstance(new, ast.Return) and new.value is not None and ast.unparse(new.value) != "None":
        new.value = ast.Constant(None)
        yield new


def _sites(node: ast.AST, function: str = "module") -> Iterator[tuple[ast.AST, str, int | None, ast.AST, str]]:
    """Nodes below a node that may be changed: parent, field, index in the field, node, and the function around it.

    Annotations, decorators and code for type checkers stay.
    """
    for field, content in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for index, child in enumerate(content) if isinstance(content, list) else [(None, content)]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            is_scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            name = f"{function}.{child.name}".removeprefix("module.") if is_scope else function  # type: ignore[attr-defined]
            yield node, field, index, child, name
            yield from _sites(child, name)


def _text(node: ast.AST) -> str:
    """One line; for a branch only its test."""
    return f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else " ".join(ast.unparse(node).split())


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of a module."""
    return [mutant for mutant, *_ in _mutations(ast.parse(path.read_text("utf-8")), path.relative_to(root).as_posix())]


def source_of(mutant: Mutant, root: Path) -> str:
    """The source of the module with the change."""
    tree = ast.parse((root / mutant.path).read_text("utf-8"))
    for other, parent, field, index, change in _mutations(tree, mutant.path):
        if other == mutant:
            _put(parent, field, index, change)
            return ast.unparse(ast.fix_missing_locations(tree))
    raise ValueError(f"{mutant.name}: no such expression")


def _mutations(tree: ast.Module, path: str) -> Iterator[tuple[Mutant, ast.AST, str, int | None, ast.AST]]:
    """Each mutant, with the parent, field, index and replacement of its node."""
    counts = Counter[tuple[str, str, str]]()
    for parent, field, index, node, function in _sites(tree):
        for change in _changes(node):
            key = function, _text(node), _text(change)
            counts[key] += 1
            yield Mutant(path, *key, counts[key]), parent, field, index, change


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def sample(root: Path, number: int, seed: int = 0) -> list[Mutant]:
    """Equally many mutants of each area, drawn by a hash of seed and name, so that changes elsewhere do not matter."""

    def lot(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).hexdigest()

    chosen: list[Mutant] = []
    for area in AREAS:
        modules = sorted((root / "src" / "snellen" / area).rglob("*.py"))
        modules = [module for module in modules if module.stem in MODULES.get(area, (module.stem,))]
        mutants = [mutant for module in modules for mutant in mutants_of(module, root)]
        chosen += sorted(mutants, key=lot)[: number // len(AREAS)]
    return chosen


def copy_of_the_tree(folder: Path) -> Path:
    """A copy of the files that the tests need, in which code may be changed."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests", "docs", "design", "bench"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def survives(mutant: Mutant, tree: Path) -> bool:
    """True if the quick tests of its area that name its module pass with it; all tests of the area if none names it.

    A test that names a package inside the area names all its modules.
    """
    path, parts = tree / mutant.path, Path(mutant.path).parts
    before, module = path.read_text("utf-8"), ".".join([*parts[1:4]]).removesuffix(".py")
    files = [file for location in AREAS[parts[2]] for file in _test_files(tree / location)]
    direct = [file for file in files if module in file.read_text("utf-8")]
    path.write_text(source_of(mutant, tree), "utf-8")
    try:
        return _pass(tree, direct or files)
    finally:
        path.write_text(before, "utf-8")


def _test_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("test_*.py"))


def _pass(tree: Path, files: Sequence[Path]) -> bool:
    """True if they pass within a limit of CPU time: a mutant that never ends is detected too.

    The tests run in a child that has the libraries already: importing them takes longer than most tests.
    """
    for name in LIBRARIES:
        importlib.import_module(name)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _run_tests(tree, files)
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def _run_tests(tree: Path, files: Sequence[Path]) -> int:
    """pytest's exit code, in a process that has imported none of the tree's modules."""
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.chdir(tree)
    os.environ["PYTHONPATH"] = f"{tree / 'src'}{os.pathsep}{tree / 'packages/sight/src'}{os.pathsep}{tree}"
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(tree / "src"), str(tree / "packages/sight/src"), str(tree)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "snellen", "snellen_sight")]:
        del sys.modules[name]
    import pytest

    words = ["-x", "-q", "-n0", "-m", "not slow", "-p", "no:cacheprovider", *map(str, files)]
    return int(pytest.main(words))


def main() -> None:
    """Try the sample, or those of it with `--only` in the name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="only say which they are")
    arguments = parser.parse_args()
    mutants = [m for m in sample(ROOT, arguments.sample, arguments.seed) if re.search(arguments.only, m.name)]
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_the_tree(Path(folder))
        for mutant in mutants:
            verdict = "drawn" if arguments.list else "SURVIVED" if survives(mutant, tree) else "killed"
            print(f"{verdict} {mutant.name}", flush=True)


if __name__ == "__main__":
    main()
