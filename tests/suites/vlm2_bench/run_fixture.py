"""A few questions of every task, and runs about them with known answers, on which the sections are tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from snellen.analysis.grading.results import results
from snellen.analysis.tables.section import Run
from snellen.core.item import Item, Media, ReplySpec
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.scores.score import score
from snellen.suites.vlm2_bench import SUITE
from snellen.suites.vlm2_bench.items import (
    CandidateAnswer,
    Family,
    ImagePair,
    ImageSequence,
    compare_items,
    count_item,
    cue_items,
    group_item,
    sorted_pattern,
    video_item,
)
from tests.helpers.sections import UNHASHED

ORDERS, GROUPED = ("AA", "AB", "AAB", "ABC"), ("AAB", "ABA", "AABC", "ABC")
CUES = ("add/remove", "swap", "add/remove", "swap")
FAMILIES: tuple[Family, ...] = ("oc", "pc")
CUE_TASKS: tuple[Literal["gc-mat", "gc-trk"], ...] = ("gc-mat", "gc-trk")
Says = Callable[[Item, ReplySpec], str | None]
"""The reply of a subject to an item; None is a failed call."""


def media(name: str, kind: Any = "image") -> Media:
    """An image or video without a file, identified by its name."""
    return Media(name.encode().hex().ljust(64, "0")[:64], kind, "png", 8, 8)


def made_items() -> list[Item]:
    """Four pairs or questions per task, one cluster each, and two videos. The truths of Cnt are 1, 2, 2, 3."""
    rng, items = stream("test", "pieces"), list[Item]()
    for n, (order, grouped, cue) in enumerate(zip(ORDERS, GROUPED, CUES, strict=True)):
        for family in FAMILIES:
            images = _sequence(family, n, order)
            items += [*compare_items(images, family), count_item(images, family)]
            items.append(group_item(_sequence(family, n, grouped), family, rng))
        before_after = media(f"gc{n}-0"), media(f"gc{n}-1")
        pair = ImagePair(f"{n}", before_after, cluster=f"room-{n}", factors={"cue": cue})
        for task in CUE_TASKS:
            right, wrong = CandidateAnswer("a katana held", True), CandidateAnswer("a black mask", False)
            items += cue_items(task, pair, "What is new?", right, wrong, rng)
    items.append(video_item("pc", "v0", media("v0", "video"), "PQ", answer="", cluster="clip-0"))
    items.append(video_item("pc", "v1", media("v1", "video"), "PQP", answer="", cluster="clip-1"))
    return items


def _sequence(family: Family, n: int, order: str) -> ImageSequence:
    images = tuple(media(f"{family}{n}-{index}") for index in range(len(order)))
    return ImageSequence(f"{n}", images, order, sorted_pattern(order), "cup", f"{family}-{n}")


def _spec(item: Item) -> ReplySpec:
    """The reply form of an item, with letters for choices."""
    if item.answer_kind != "choice":
        return item.view().reply
    return ReplySpec("choice", tuple(zip("ABCD", (option.key for option in item.options), strict=True)))


def _itemset(items: Sequence[Item]) -> ItemSet:
    card = ItemSetCard(
        suite="vlm2-bench", version="1", source="generated", recipe={}, recipe_hash="", content_hash="",
        items=len(items), counts={},
    )  # fmt: skip
    return ItemSet(Path(), card, tuple(items), MediaFolder(Path()))


def made_run(
    replies: Mapping[tuple[str, str], Says], items: Sequence[Item], verdicts: Mapping[str, str] | None = None
) -> Run:
    """Score the replies of every arm to the items that it is asked; `verdicts` map a pattern to the judge's reply."""
    itemset = _itemset(items)
    arms, responses = [], list[Response]()
    for (subject, condition), says in replies.items():
        changes = dict(part.split("=") for part in condition.split(",")) if condition != "vanilla" else {}
        columns: dict[str, int | str] = {"method": "vanilla", "visual_prompt": "none", **changes}
        arms.append(
            ArmCard(
                subject=subject, fingerprint=subject, settings={}, attributes={}, condition=condition,
                columns=columns, repeat=0, **({"role": "person"} if subject.startswith("human:") else {}),
            )
        )  # fmt: skip
        for item in items:
            if not (item.answer_kind == "description" and changes):
                text, name = says(item, _spec(item)), f"{subject}/{condition}/0/{item.item_id}"
                status = "failed" if text is None else "ok"
                cells = (item.item_id, item.task, condition, 0, status, text, "", _spec(item), ())
                responses.append(Response(name, subject, subject, *cells))  # type: ignore[arg-type]
    judged = {
        r.response_id: Response(
            "", "judge", "judge", r.item_id, "judgement", "vanilla", 0, "ok", text, "",
            ReplySpec("integer", tuple((n, n) for n in "012")), (),
        )
        for r in responses
        if r.text and (text := (verdicts or {}).get(itemset.by_id[r.item_id].factors.get("pattern", "")))
    }  # fmt: skip
    scores = score(responses, itemset, SUITE, "strict", judged)
    card = RunCard(suite="vlm2-bench", version="1", seed=0, limit=None, arms=arms, **UNHASHED)
    rows = results(scores, itemset, SUITE, arms)
    return Run(card, SUITE, itemset, tuple(responses), {"strict": scores}, rows)
