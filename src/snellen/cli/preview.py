"""`snellen show`: the calls that would be sent, as text and as a page."""

from __future__ import annotations

import html as escaping
import tempfile
from collections.abc import Mapping
from pathlib import Path

from snellen.cli.prompt_page import Address, embedded, media_name, page, prompt_blocks
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.curation.results import read_tables
from snellen.exam.items import find_items
from snellen.runs.asking.preview import Call, first_calls
from snellen.suites import suite_of


def show(
    itemset: str, item_id: str | None, condition: str, html: Path | None, seed: int, inputs: Mapping[str, Path]
) -> None:
    """Print all first calls about an item (default: about the first item of each task); `html` is a page to write."""
    items = find_items(itemset, limit=1 if item_id is None else None, test_only=item_id is None)
    suite = suite_of(items)
    if item_id is not None and item_id not in items.by_id:
        raise SnellenError(f"{itemset}: no item {item_id!r}; the first is {items.items[0].item_id!r}")
    with tempfile.TemporaryDirectory() as folder:
        media = MediaFolder(Path(folder), items.media)
        tables = read_tables(inputs, items)
        calls: list[Call] = []
        for point in parse_conditions(suite.axes, condition):
            subject = SubjectCard("someone")
            first = list(first_calls(items, suite, point, subject, media, only=item_id, seed=seed, annotations=tables))
            by_task = {call.task: call for call in reversed(first)}
            calls += first if item_id is not None else list(by_task.values())[::-1]
        if not calls:
            raise SnellenError(f"{itemset}: no question about {item_id or 'any item'} under {condition}")
        print("\n".join(_as_text(call) for call in calls))
        if html is not None:
            address = embedded(media)
            sections = [(call.task, _section(call, address)) for call in calls]
            html.write_text(page("What is sent", sections), encoding="utf-8")
            print(f"\nPage: {html}")


def _as_text(call: Call) -> str:
    lines = [f"=== {call.task}: one call about {_about(call)}"]
    for part in call.prompt.parts:  # montages are drawn by now: only texts and images
        lines += [part] if isinstance(part, str) else [media_name(part)] if isinstance(part, Media) else []
    if call.more:
        lines.append("(further calls depend on the replies)")
    return "\n".join(lines)


def _about(call: Call) -> str:
    return call.item_ids[0] if len(call.item_ids) == 1 else f"{len(call.item_ids)} items, {call.item_ids[0]} first"


def _section(call: Call, address: Address) -> str:
    more = "<p>Further calls depend on the replies.</p>" if call.more else ""
    return f"<p>{escaping.escape(_about(call))}</p>{prompt_blocks(call.prompt, address)}{more}"
