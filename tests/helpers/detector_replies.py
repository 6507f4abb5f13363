"""Asking a detector, and the boxes in its reply."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject


def ask(subject: Subject, media: MediaFolder, *views: View) -> Reply:
    """The reply to these views, which the subject must not decline."""
    prompt = Prompt((), views)
    assert subject.declines(prompt) is None
    return asyncio.run(subject.answer(prompt, media, stream("detectors")))


def rows(reply: Reply) -> list[dict[str, Any]]:
    """The boxes of a reply, and nothing else is in it."""
    content = json.loads(reply.text)
    assert list(content) == ["boxes"]
    return list(content["boxes"])
