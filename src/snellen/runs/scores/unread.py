"""The protocol `judged-reading`: replies that the parser cannot read are read by a subject, all others as in `strict`.

The reading subject is asked in one fixed wording which answer the reply commits to. It sees no image and no key, and
the parser reads its reply in the form that was asked of the examined subject.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from snellen.core.item import Item, ReplySpec
from snellen.core.response import Response
from snellen.core.suite import Suite, Task
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_answer

JUDGED_READING = "judged-reading"
KINDS = ("choice", "true_false", "integer")
"""Kinds of answers that a subject can read from a reply."""
NONE = "NONE"
READING = """A respondent was asked a question about images and replied in free text. State which answer the reply \
commits to.

You do not see the images. Do not answer the question yourself, do not correct the reply, and do not guess. If the \
reply refuses, considers several answers without committing to one, or commits to something that is not offered, \
the answer is NONE.

Question: {question}
{offered}

The reply is between the lines:
----------
{reply}
----------

{request}"""
OPTIONS = "Options, one per line:\n{options}"
OPTION_REQUEST = "Write only the name of the option, exactly as written at the beginning of its line, or NONE."
NUMBER = "The answer is a whole number."
NUMBER_REQUEST = "Write only the number that the reply commits to, in digits, or NONE."


def reading_item(item: Item, response: Response) -> Item:
    """The item that asks for a reading of a reply; its id is that of the response."""
    spec = response.reply_spec
    offered, request = NUMBER, NUMBER_REQUEST
    if spec.kind != "integer":
        options = "\n".join(option_line(spec, key) for key in spec.offered)
        offered, request = OPTIONS.format(options=options), OPTION_REQUEST
    question = READING.format(question=item.question, offered=offered, reply=response.text or "", request=request)
    provenance = {"suite": item.suite, "task": item.task}
    return step_item("reading", response.response_id, question, (), "text", item.cluster_id, provenance=provenance)


def option_line(spec: ReplySpec, key: str) -> str:
    """The first name of an option, and the others in brackets: "A (red)", "T (true)"."""
    first, *others = [name for name, option_key in spec.keys if option_key == key]
    if spec.kind == "true_false" and key not in (first, *others):
        others.append(key)
    return f"{first} ({', '.join(others)})" if others else first


def says_none(text: str) -> bool:
    """True if the reading is that the reply commits to no answer."""
    return text.strip(" \n\t.*`\"'()[]").upper() == NONE


def read_reading(text: str, spec: ReplySpec) -> Any | None:
    """The answer that a reading gives, in the item's own terms, or None."""
    return None if says_none(text) else read_answer(text, spec)


def with_judged_reading(suite: Suite) -> Suite:
    """The suite with this protocol in every task whose answers are choices, truth values or whole numbers."""
    return replace(suite, tasks={name: _with_reading(task) for name, task in suite.tasks.items()})


def _with_reading(task: Task) -> Task:
    strict = task.protocols.get("strict")
    if strict is None or strict.judge is not None or task.kind not in KINDS:
        return task
    reading = replace(strict, name=JUDGED_READING, judge=reading_item, read_verdict=read_reading)
    return replace(task, protocols={**task.protocols, JUDGED_READING: reading})
