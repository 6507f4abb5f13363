"""`snellen show`: the calls that would go out, as text and as a page."""

from __future__ import annotations

import base64
import html as escaping
import tempfile
from collections.abc import Mapping
from pathlib import Path

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.curation.results import read_tables
from snellen.exam import find_items
from snellen.runs.preview import Call, first_calls
from snellen.suites import SUITES

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "section{border:1px solid #ccc;border-radius:6px;padding:1rem;margin:1rem 0}pre{white-space:pre-wrap}"
    "img,video{max-width:100%;display:block;margin:.4rem 0}.name{color:#777;font-size:.8rem}"
)


def show(
    itemset: str, item_id: str | None, condition: str, html: Path | None, seed: int, inputs: Mapping[str, Path]
) -> None:
    """Print every first call about an item (or about the first item of each task), and draw it where `html` says."""
    items = find_items(itemset)
    suite = SUITES.get(items.card.suite)
    if item_id is not None and item_id not in items.by_id:
        raise SnellenError(f"{itemset}: no item {item_id!r}; the first is {items.items[0].item_id!r}")
    with tempfile.TemporaryDirectory() as folder:
        media = MediaFolder(Path(folder), items.media)
        tables = read_tables(inputs, items)
        calls: list[Call] = []
        for point in parse_conditions(suite.axes, condition):
            calls_shown = first_calls(
                items, suite, point, SubjectCard("someone"), media, only=item_id, seed=seed, annotations=tables
            )
            calls_found = list(calls_shown)
            calls += (
                calls_found
                if item_id is not None
                else list({call.task: call for call in reversed(calls_found)}.values())[::-1]
            )
        if not calls:
            raise SnellenError(f"{itemset}: nothing is asked about {item_id or 'any item'} under {condition}")
        print("\n".join(_as_text(call) for call in calls))
        if html is not None:
            html.write_text(_as_page(calls, media), encoding="utf-8")
            print(f"\nPage: {html}")


def _name(media: Media) -> str:
    return f"[{media.kind} {media.sha256[:12]}.{media.format} {media.width}x{media.height}]"


def _as_text(call: Call) -> str:
    lines = [f"=== {call.task}: one call about {_about(call)}"]
    for part in call.prompt.parts:  # laid out by now: words and pictures alone
        lines += [part] if isinstance(part, str) else [_name(part)] if isinstance(part, Media) else []
    if call.more:
        lines.append("(further calls hang on the replies)")
    return "\n".join(lines)


def _about(call: Call) -> str:
    return call.item_ids[0] if len(call.item_ids) == 1 else f"{len(call.item_ids)} items, {call.item_ids[0]} first"


def _as_page(calls: list[Call], media: MediaFolder) -> str:
    sections = []
    for call in calls:
        blocks = []
        for part in call.prompt.parts:
            if isinstance(part, str):
                blocks.append(f"<pre>{escaping.escape(part)}</pre>")
            elif isinstance(part, Media) and part.kind == "picture":
                kind = {"jpg": "jpeg"}.get(part.format, part.format)
                data = base64.b64encode(media.read(part)).decode()
                blocks.append(
                    f'<img src="data:image/{kind};base64,{data}" alt=""><div class="name">{_name(part)}</div>'
                )
            elif isinstance(part, Media):
                data = base64.b64encode(media.read(part)).decode()
                source = f"data:video/{part.format};base64,{data}"
                blocks.append(f'<video src="{source}" controls muted></video><div class="name">{_name(part)}</div>')
        more = "<p>Further calls hang on the replies.</p>" if call.more else ""
        sections.append(
            f"<section><h2>{call.task}</h2><p>{escaping.escape(_about(call))}</p>{''.join(blocks)}{more}</section>"
        )
    return f"<!doctype html><meta charset=utf-8><title>What is sent</title><style>{_STYLE}</style>{''.join(sections)}"
