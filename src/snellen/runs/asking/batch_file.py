"""The calls of a run as a file for OpenAI's Batch API or `vllm run-batch`; `recorded:FILE` reads what these return."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.runs.asking.preview import first_calls
from snellen.subjects.recorded import batch_id
from snellen.suites import suite_of


def write_batch(
    path: Path,
    items: ItemSet,
    subject: Subject,
    conditions: Sequence[Condition],
    limit: int | None = None,
    seed: int = 0,
) -> int:
    """Write a line per item: `custom_id` is a `batch_id`, and the body is the request that a run would send.

    Returns the number of lines; items that the subject declines have none. Raises SnellenError for several conditions,
    for a subject that is not behind chat completions, and for items that need several calls.
    """
    from snellen.subjects.chat.client import CompletionService
    from snellen.subjects.chat.messages import to_messages
    from snellen.subjects.chat.subject import ChatSubject

    if not isinstance(subject, ChatSubject) or not isinstance(subject.service, CompletionService):
        raise SnellenError(
            f"--batch: {subject.card.name} is not called by chat completions; give one chat:PROVIDER/MODEL"
        )
    if len(conditions) != 1:
        raise SnellenError(f"--batch: a file holds one condition, and {len(conditions)} were given")
    service, suite, lines = subject.service, suite_of(items), dict[str, dict[str, Any]]()
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        media = MediaFolder(Path(folder), items.media)
        for call in first_calls(items, suite, conditions[0], subject.card, media, seed=seed):
            if subject.declines(call.prompt):
                continue
            ids = [view.item_id for view in call.prompt.views]
            if call.more or len(ids) != 1 or ids[0] in lines:
                raise SnellenError(
                    f"--batch: {call.task} asks about an item in several calls; give other tasks or conditions"
                )
            counts[call.task] = counts.get(call.task, 0) + 1
            if limit is not None and counts[call.task] > limit:
                continue
            messages = to_messages(call.prompt, media, subject.card.settings["model"], subject.settings.max_px)
            body = {"model": service.connections.endpoint.model, "messages": messages, **service.settings}
            name = batch_id(ids[0], items, conditions[0], seed)
            lines[ids[0]] = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
    files.write_text(path, "".join(json.dumps(line) + "\n" for line in lines.values()))
    return len(lines)
