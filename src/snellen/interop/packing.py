"""Copies modules of this package into an export under another name, so that it runs without Snellen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import snellen
from snellen.core.hashing import sha256
from snellen.core.storage import files

_ROOT = Path(snellen.__file__).parent
_IMPORT = re.compile(r"^(\s*(?:from|import) )snellen\b", re.MULTILINE)
_FUTURE = "from __future__ import annotations\n"
_FOLDER_FIRST = (
    "import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).resolve().parent))  # {package}\n"
)


def write_standalone(front: str, out: Path, file: str, tail: str = "") -> None:
    """Write the module `front` as `out/file`, followed by `tail`, and a package with everything it imports of Snellen.

    The package is named after the digest of its files, so that two exports in one process never share other code.
    """
    modules = packed_modules(front)
    sources = {name: _source(name) for name in modules if name != front}
    package = f"snellen_{sha256(''.join(sources.values()).encode())[:8]}"
    for name, source in sources.items():
        files.write_text(out / _path(name, package), _IMPORT.sub(rf"\1{package}", source))
    for folder in {path for name in sources for path in _path(name, package).parents if path != Path()}:
        if not (init := out / folder / "__init__.py").is_file():
            files.write_text(init, '"""Parts of Snellen (Apache-2.0) that this export is scored by."""\n')
    head, future, body = _source(front).partition(_FUTURE)
    first = _FOLDER_FIRST.replace("{package}", f"for {package}")
    files.write_text(out / file, head + future + "\n" + first + _IMPORT.sub(rf"\1{package}", body) + tail)


@cache
def packed_modules(front: str) -> tuple[str, ...]:
    """A module and all modules of Snellen that it imports, recursively; packages only if they define something."""
    names, rest = dict[str, None](), [front]
    while rest:
        name = rest.pop()
        if name not in names:
            names[name] = None
            rest += _imports(name)
    return tuple(sorted(names))


def _imports(name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_source(name))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "snellen":
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (part for part in parts if _is_module(part))
            if any(not _is_module(part) for part in parts):
                yield str(node.module)


def _is_module(name: str) -> bool:
    return _file(name).is_file()


def _source(name: str) -> str:
    return _file(name).read_text("utf-8")


def _file(name: str) -> Path:
    path = _ROOT.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _path(name: str, package: str) -> Path:
    """The path of a module in the export."""
    return Path(package) / _file(name).relative_to(_ROOT)
