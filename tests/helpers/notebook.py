"""Notebooks, run unchanged: cell by cell in one namespace, under a running event loop, as in Jupyter.

`python -m tests.helpers.notebook --write` runs every notebook of `examples/` and rewrites its outputs.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import inspect
import io
import json
import linecache
import os
import tempfile
from pathlib import Path
from types import CodeType
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
Cell = dict[str, Any]


def read(path: Path) -> dict[str, Any]:
    """A notebook in format 4, which is JSON."""
    return dict(json.loads(path.read_text("utf-8")))


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    """The cells that are run, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs_of(notebook: dict[str, Any], folder: Path) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, in the format of notebooks, after all are run in `folder`."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return asyncio.run(_run(["".join(cell["source"]) for cell in code_cells(notebook)]))
    finally:
        os.chdir(before)


async def _run(sources: list[str]) -> list[list[dict[str, Any]]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for number, source in enumerate(sources, 1):
        name = f"cell {number}"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        body, printed = ast.parse(source).body, io.StringIO()
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            await _value(_compiled(ast.Module(body, []), name), namespace)
            value = None
            if isinstance(last, ast.Expr):
                value = await _value(_compiled(ast.Expression(last.value), name), namespace)
        outputs.append(_outputs(printed.getvalue(), value, number))
    return outputs


def _compiled(tree: ast.Module | ast.Expression, name: str) -> CodeType:
    mode = "exec" if isinstance(tree, ast.Module) else "eval"
    return compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # type: ignore[no-any-return]


async def _value(code: CodeType, namespace: dict[str, Any]) -> Any:
    result = eval(code, namespace)
    return await result if code.co_flags & inspect.CO_COROUTINE else result


def _outputs(printed: str, value: Any, number: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        texts = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            texts["text/html"] = value._repr_html_()
        content = {kind: text.splitlines(keepends=True) for kind, text in texts.items()}
        outputs.append({"data": content, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def main() -> None:
    """Run the notebooks and write their outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = read(path)
        with tempfile.TemporaryDirectory() as folder:
            outputs = outputs_of(notebook, Path(folder))
        for number, (cell, output) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
            cell.update(outputs=output, execution_count=number)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(path)


if __name__ == "__main__":
    main()
