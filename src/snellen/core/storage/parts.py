"""The record of a run: parts with one line of JSON per exchange, each with a checksum. Each start opens a new part."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Reply
from snellen.core.response import Exchange
from snellen.core.storage.user_files import MAX_LIST_BYTES, bounded_json, read_file

_DEFAULTS = asdict(Reply(""))
_FIELDS = {"key", "digest", "reply", "error"}
_CHECKSUM = b',"crc":'


def read_exchanges(root: Path) -> Iterator[Exchange]:
    """All exchanges in the order recorded. An incomplete last line, left by a kill, is dropped.

    Raises SnellenError naming file and line for any other broken line.
    """
    for part in part_files(root):
        try:
            *lines, _ = read_file(part, MAX_LIST_BYTES).split(b"\n")
        except OSError as error:
            raise SnellenError(
                f"{part}: cannot be read ({error.strerror}); restore it, or choose another --out"
            ) from error
        for number, line in enumerate(lines, 1):
            try:
                cells = json.loads(bounded_json(_checked(line)))
                if unknown := cells.keys() - _FIELDS:
                    raise ValueError(f"unknown field {min(unknown)!r:.40}")
                if not all(isinstance(cells.get(name, ""), str) for name in ("key", "digest", "error")):
                    raise ValueError("key, digest and error must be texts")
                reply_cells = cells["reply"]
                numbers = tuple((reply_cells or {}).get("numbers", ()))
                reply = None if reply_cells is None else Reply(**{**reply_cells, "numbers": numbers})
                exchange = bounded(Exchange(cells["key"], cells["digest"], reply, cells.get("error", "")))
            except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
                raise SnellenError(
                    f"{part} line {number}: broken ({error}); restore the file or run again with another --out"
                ) from error
            yield exchange


def _checked(line: bytes) -> bytes:
    """The line without its checksum. Raises ValueError if the checksum is missing or wrong."""
    before, separator, checksum = line.rpartition(_CHECKSUM)
    if not separator or checksum != b"%d}" % zlib.crc32(before):
        raise ValueError("wrong checksum")
    return before + b"}"


def line_of(exchange: Exchange) -> str:
    """The line of an exchange in a part, with the line feed."""
    reply = exchange.reply and {
        k: v for k in _DEFAULTS if (v := getattr(exchange.reply, k)) != _DEFAULTS[k] or k == "text"
    }
    cells = {"key": exchange.key, "digest": exchange.digest, "reply": reply}
    if exchange.error:
        cells["error"] = exchange.error
    before = json.dumps(cells, separators=(",", ":")).removesuffix("}")
    return f"{before}{_CHECKSUM.decode()}{zlib.crc32(before.encode('ascii'))}}}\n"


def part_files(root: Path) -> list[Path]:
    """The parts of a run's record, in order."""
    return sorted((root / "parts").glob("*.jsonl"))


def part_sizes(root: Path) -> dict[str, int]:
    """Size in bytes of each part of a run, by file name."""
    return {part.name: part.stat().st_size for part in part_files(root)}


def bounded(exchange: Exchange) -> Exchange:
    """The exchange as it is stored: a reply with an invalid field becomes a failure, an error becomes a short line."""
    if (reply := exchange.reply) and (fault := reply.fault()):
        return Exchange(exchange.key, exchange.digest, None, fault)
    if reply and not (reply.text.isascii() and reply.reasoning.isascii()):
        text, reasoning = _joined(reply.text), _joined(reply.reasoning)
        exchange = replace(exchange, reply=replace(reply, text=text, reasoning=reasoning))
    return replace(exchange, error=short_reason(exchange.error)) if exchange.error else exchange


def _joined(text: str) -> str:
    """The text with each pair of surrogates joined into its character, as JSON reads it; single ones stay."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
